//! Environments of Python that the action makes itself, and programs that it installs: they are not there yet when the
//! action is judged, but what they are is known.

use crate::shell::content::Content;
use crate::shell::{Output, Shell, UNKNOWN_SPAN};
use crate::table::{Bound, Table};
use crate::{Effect, Target, Verb};

/// Package managers, and the folders of the home into which they install programs.
const TOOLS: [(&str, &str); 6] = [
    ("cargo", ".cargo/bin"),
    ("rustup", ".cargo/bin"),
    ("go", "go/bin"),
    ("pipx", ".local/bin"),
    ("pip", ".local/bin"),
    ("uv", ".local/bin"),
];

impl Shell<'_> {
    /// Notes the environment that `uv venv` or `virtualenv` makes.
    pub(in crate::shell) fn note_environment(&mut self, program: &str, bound: &Bound, from: usize) {
        let uv = program == "uv" && bound.subcommands.last().is_some_and(|sub| sub == "venv");
        if !uv && program != "virtualenv" || bound.dry {
            return;
        }
        let made = self.reading.effects.iter().skip(from).filter(|effect| effect.verb == Verb::Create);
        let mut paths: Vec<String> = made.map(|effect| effect.target.name().to_owned()).collect();
        if uv && paths.is_empty() {
            paths.push(self.path(".venv"));
        }
        paths.iter().for_each(|path| self.makes_environment(path));
    }

    /// Notes that an environment is made in a folder, if nothing is in its place before.
    pub(in crate::shell) fn makes_environment(&mut self, path: &str) {
        let path = path.trim_end_matches('/');
        let deleted = self
            .reading
            .effects
            .iter()
            .any(|effect| effect.verb == Verb::Delete && effect.target.name().trim_end_matches('/') == path);
        let new = path.starts_with('/') && !path.contains(UNKNOWN_SPAN) && !self.state.privileged;
        if new && (deleted || self.is_new(path)) && self.untouched(&format!("{path}/bin/python")) {
            self.state.environments.insert(path.to_owned());
        }
    }

    /// Forgets environments into which something else than their own tools puts files.
    pub(in crate::shell) fn forget_environments(&mut self, effect: &Effect) {
        let changes = matches!(
            effect.verb,
            Verb::Write | Verb::Append | Verb::Overwrite | Verb::Create | Verb::Move | Verb::Link | Verb::Mount
        );
        let program = effect.program.as_str();
        let own = program.starts_with("pip") || matches!(program, "python" | "uv" | "virtualenv");
        let Target::Path(path) = &effect.target else { return };
        if self.state.environments.is_empty() || !changes || own {
            return;
        }
        let (begin, open) = path.split_once(UNKNOWN_SPAN).map_or((path.as_str(), false), |(begin, _)| (begin, true));
        let reached = |environment: &String| {
            begin.strip_prefix(environment.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                || open && environment.starts_with(begin)
        };
        // in whatever child that happens, it holds for the others
        let spoiled: Vec<String> = self.state.environments.iter().filter(|one| reached(one)).cloned().collect();
        self.spoiled.extend(spoiled);
    }

    /// Takes over an environment that the action has made, as its `activate` does. Whether the file is one.
    pub(in crate::shell) fn activates(&mut self, path: &str) -> bool {
        let Some(folder) = path.strip_suffix("/activate").filter(|folder| self.is_of_environment(folder)) else {
            return false;
        };
        if !self.untouched(path) {
            return false;
        }
        let before = self.variable("PATH").into_iter().next().unwrap_or_else(|| UNKNOWN_SPAN.to_string());
        self.state.variables.insert("PATH".to_owned(), vec![format!("{folder}:{before}")]);
        let environment = folder.strip_suffix("/bin").unwrap_or(folder).to_owned();
        self.state.variables.insert("VIRTUAL_ENV".to_owned(), vec![environment]);
        self.state.exported.extend(["PATH", "VIRTUAL_ENV"].map(str::to_owned));
        self.state.functions.insert("deactivate".to_owned(), "unset VIRTUAL_ENV PATH".to_owned());
        true
    }

    /// The path of a program that the action has put into the first folder of `PATH`.
    pub(in crate::shell) fn put_into_path(&self, name: &str) -> Option<String> {
        let path = self.state.variables.get("PATH")?;
        let first = path.first()?.split(':').next()?;
        let program = format!("{first}/{name}");
        self.puts(&program).then_some(program)
    }

    /// Whether a folder is the one with the programs of an environment that the action has made.
    pub(super) fn is_of_environment(&self, folder: &str) -> bool {
        let made = |path: &str| self.state.environments.contains(path) && !self.spoiled.contains(path);
        folder.strip_suffix("/bin").is_some_and(made)
    }

    /// Interprets the program at a path that will be there when it runs: in an environment that the action has made, or
    /// among the programs of the user, after the action has installed it.
    pub(in crate::shell) fn run_installed(
        &mut self,
        path: &str,
        arguments: &[String],
        stdin: &Output,
    ) -> Option<Output> {
        let (folder, program) = path.rsplit_once('/')?;
        if self.contents(path) != [Content::Before(path.to_owned())] {
            return None;
        }
        if !self.is_of_environment(folder) {
            let place = folder.strip_prefix(self.state.home.as_str())?.strip_prefix('/')?;
            let by: Vec<&str> = TOOLS.iter().filter(|(_, tools)| *tools == place).map(|(by, _)| *by).collect();
            if by.is_empty() || !self.around.is_missing(path) || !self.has_installed(program, &by) {
                return None;
            }
        } else if Table::shipped().row(program).is_none() && !self.has_packages() {
            return None;
        }
        Some(self.first_in_path(folder, |shell| shell.run_named(program, arguments, stdin.clone())))
    }

    /// Whether one of these package managers has installed a package of that name in this action, or any, if the program is
    /// a known one.
    fn has_installed(&self, program: &str, by: &[&str]) -> bool {
        let known = Table::shipped().row(program).is_some();
        self.reading.effects.iter().filter(|effect| effect.verb == Verb::Install).any(|effect| {
            let name = effect.target.name().split(['@', '=', '<', '>', '[', '~']).next().unwrap_or_default();
            by.iter().any(|by| effect.program.starts_with(by)) && (known || name.rsplit('/').next() == Some(program))
        })
    }

    /// Whether the action has installed packages for the project, and none from elsewhere, which may bring any program.
    fn has_packages(&self) -> bool {
        let local = |effect: &&Effect| effect.verb == Verb::Install && effect.operation == "local";
        let mut packages = self.reading.effects.iter().filter(local).map(|effect| effect.target.name()).peekable();
        packages.peek().is_some() && packages.all(|package| self.is_plain_package(package))
    }

    /// Interprets a program without a row from the environment in use: it runs the code of a package.
    pub(in crate::shell) fn installed_program(&mut self, name: &str, arguments: &[String]) -> Option<Output> {
        let path = self.variable("PATH");
        let first = path.first().and_then(|path| path.split(':').next()).unwrap_or_default();
        let runs = self.is_of_environment(first) && self.has_packages();
        if !runs || self.state.privileged || name.contains(UNKNOWN_SPAN) || self.project_root().is_none() {
            return None;
        }
        self.step(|| format!("{name}: a program of a package that the action installs"));
        let folder = self.path(".");
        for verb in [Verb::Execute, Verb::Write] {
            self.add(Effect::new(verb, Target::Path(folder.clone()), name));
        }
        Some(self.flag_path_arguments(name, arguments))
    }
}
