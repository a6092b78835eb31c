//! Programs of the project itself: console scripts, binaries of its packages, and aliases of cargo.

use crate::shell::command::PROGRAM_FOLDERS;
use crate::shell::content::Content;
use crate::shell::registry::{is_foreign, is_go_host};
use crate::shell::{Output, Shell, UNKNOWN_SPAN};
use crate::{Effect, Target, Verb};
use std::rc::Rc;

/// How many folders above the working folder belong to the project.
const ABOVE: usize = 6;
/// Folders in which a project keeps the programs of its dependencies.
const INSTALLED: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];
/// Folders of the home in which version managers keep interpreters.
const VERSIONS: [&str; 4] =
    [".pyenv/versions", ".local/share/uv/python", ".asdf/installs", ".local/share/mise/installs"];
/// Programs that install named packages into folders of the user who runs them, from registries of their own.
const ENVIRONMENTS: [&str; 7] = ["brew", "cargo", "conda", "mamba", "micromamba", "pipx", "uv"];
/// Files that only the folder of a project has.
const MARKS: [&str; 7] =
    ["pyproject.toml", "setup.py", "requirements.txt", "package.json", "Cargo.toml", "go.mod", "Makefile"];
/// Lines of the scripts that installers generate, beside an import and a call.
const LAUNCHER: [&str; 6] = [
    r"sys.argv[0] = re.sub(r'(-script\.pyw|\.exe)?$', '', sys.argv[0])",
    r"sys.argv[0] = re.sub(r'(-script\.pyw?|\.exe)?$', '', sys.argv[0])",
    "if sys.argv[0].endswith(\"-script.pyw\"):",
    "sys.argv[0] = sys.argv[0][:-11]",
    "elif sys.argv[0].endswith(\".exe\"):",
    "sys.argv[0] = sys.argv[0][:-4]",
];
/// Programs that hand a subcommand that they do not know to a program of its own (`cargo fuzz` is `cargo-fuzz`).
const PLUGINS: [&str; 3] = ["cargo", "git", "kubectl"];

impl Shell<'_> {
    /// Interprets a program without a row, if the project defines it or keeps it among its dependencies. It runs code of
    /// the project, like a test runner.
    pub(in crate::shell) fn project_program(&mut self, name: &str, arguments: &[String]) -> Option<Output> {
        if name.is_empty() || name.contains(['/', UNKNOWN_SPAN]) || name.starts_with('.') {
            return None;
        }
        let folder = self.folders().into_iter().find(|folder| self.defines(folder, name))?;
        self.step(|| format!("{name}: a program of the project in {folder}"));
        for verb in [Verb::Execute, Verb::Write] {
            self.add(Effect::new(verb, Target::Path(folder.clone()), name));
        }
        // what it does with a path is not known; reading is the least
        let mut before = "";
        for argument in arguments {
            let (option, value) = match argument.split_once('=').filter(|_| argument.starts_with('-')) {
                Some((option, value)) => (option, value),
                None => (before, argument.as_str()),
            };
            if value.starts_with(['/', '~']) {
                let verb = if changes(option) { Verb::Overwrite } else { Verb::Read };
                let effect = self.at(verb, value, name);
                self.add(effect);
            }
            before = if argument.starts_with('-') { argument } else { "" };
        }
        Some(Output::default())
    }

    /// The program of a path among the dependencies of the project: `.venv/bin/python` is `python`. Only what an installer
    /// puts there counts: a link to an installed interpreter or into `node_modules`, or a script that starts the package
    /// of that name. Anything else is read like every file that is run.
    pub(in crate::shell) fn dependency(&self, path: &str) -> Option<String> {
        let (folder, program) = path.rsplit_once('/')?;
        if !self.dependency_folders().any(|place| place == folder)
            || crate::table::Table::shipped().row(program).is_none()
            || self.contents(path).iter().any(|content| !matches!(content, Content::Before(at) if at == path))
        {
            return None;
        }
        let real = self.around.resolved(path)?;
        let (home, _) = real.rsplit_once('/')?;
        let installed = match folder.strip_suffix(".bin") {
            Some(modules) => real.starts_with(modules) && real != path,
            None if real == path => {
                self.around.script(path, crate::shell::MAX_SOURCE).is_ok_and(|text| starts(&text, program))
            }
            None => PROGRAM_FOLDERS.contains(&home) || VERSIONS.iter().any(|place| self.keeps(place, home)),
        };
        installed.then(|| program.to_owned())
    }

    /// Whether a folder is one of a version manager in the user's home.
    fn keeps(&self, place: &str, folder: &str) -> bool {
        folder.strip_prefix(&format!("{}/{place}/", self.state.home)).is_some_and(|rest| rest.ends_with("/bin"))
    }

    /// Notes which of the effects since `from` install packages for the project alone: into its virtual environment, or,
    /// by a person's account in the folder of a project, packages by plain names or from the project itself.
    pub(in crate::shell) fn note_local(&mut self, program: &str, from: usize) {
        // `pip3.11`, but not `pipx`
        let pip = program.strip_prefix("pip").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'));
        if program == "go" {
            return self.note_required(from);
        }
        if !pip && !ENVIRONMENTS.contains(&program) {
            return;
        }
        let environment = pip && self.in_environment(program);
        let person = !self.state.privileged && self.user != "root" && self.in_project();
        let paths = pip || program == "uv";
        let local = |shell: &Self, effect: &Effect| {
            let installs = effect.verb == Verb::Install && effect.operation.is_empty();
            let package = effect.target.name();
            installs && (environment || person && (is_named(package) || paths && shell.is_own_package(package)))
        };
        let foreign = |effect: &Effect| effect.verb == Verb::Install && effect.operation == "source";
        if self.reading.effects.iter().skip(from).any(foreign) {
            return;
        }
        let added: Vec<usize> = (from..self.reading.effects.len())
            .filter(|at| self.reading.effects.get(*at).is_some_and(|effect| local(self, effect)))
            .collect();
        for at in added {
            if let Some(effect) = self.reading.effects.get_mut(at) {
                "local".clone_into(&mut effect.operation);
            }
        }
    }

    /// Notes which modules that `go` installs or runs are those of the project: it requires them, or its own code names them
    /// at a host that many share.
    fn note_required(&mut self, from: usize) {
        let required = || {
            let text = |folder: &String| {
                let path = format!("{folder}/go.mod");
                let content =
                    self.read_contents(&path).ok().filter(|_| self.is_untouched(&path))?.into_iter().next()?;
                String::from_utf8(content).ok()
            };
            let text = self.folders().iter().find_map(text).unwrap_or_default();
            requirements(&text)
        };
        let (own, required) = (self.own_code && !self.state.privileged, required());
        for effect in self.reading.effects.iter_mut().skip(from).filter(|effect| effect.verb == Verb::Install) {
            let (name, version) = effect.target.name().split_once('@').unwrap_or((effect.target.name(), ""));
            let below = |(module, required): &(String, String)| {
                (version.is_empty() || version == required)
                    && name.strip_prefix(module.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let named = own && (!is_foreign(&format!("https://{name}")) || is_go_host(name));
            if matches!(effect.operation.as_str(), "" | "module") && (named || required.iter().any(below)) {
                "local".clone_into(&mut effect.operation);
            }
        }
    }

    /// Whether the working folder belongs to a project.
    fn in_project(&self) -> bool {
        self.project_root().is_some()
    }

    /// The outermost folder of the project that the working folder belongs to.
    pub(in crate::shell) fn project_root(&self) -> Option<String> {
        self.shared_root().map(|root| root.to_string())
    }

    /// The same, sought once for each state of the files.
    pub(in crate::shell) fn shared_root(&self) -> Option<Rc<str>> {
        let key = (self.state.cwd.clone(), self.state.home.clone(), self.files.version(), self.links.len());
        if let Some((known, root)) = &*self.root.borrow()
            && *known == key
        {
            return root.clone();
        }
        let root: Option<Rc<str>> = self.marked_root().map(Into::into);
        *self.root.borrow_mut() = Some((key, root.clone()));
        root
    }

    fn marked_root(&self) -> Option<String> {
        let marked = |folder: &String| {
            *folder != self.state.home
                && (self.around.folder(&format!("{folder}/.git")) == Some(true)
                    || MARKS.iter().any(|mark| text_exists(self, &format!("{folder}/{mark}"))))
        };
        let folders = self.folders();
        folders.into_iter().take_while(|folder| *folder != self.state.home).filter(marked).last()
    }

    /// Whether a package is named as in a registry, or is the project itself.
    pub(super) fn is_plain_package(&self, package: &str) -> bool {
        is_named(package) && !package.ends_with(".whl") && !package.ends_with(".gz") || self.is_own_package(package)
    }

    /// Whether a package is a path in the working folder to which nothing in this action writes.
    fn is_own_package(&self, package: &str) -> bool {
        let path = self.path(package);
        let relative = !package.starts_with(['/', '~', UNKNOWN_SPAN]) && !package.contains([':', '@']);
        relative
            && !package.split('/').any(|part| part == "..")
            && !path.contains(UNKNOWN_SPAN)
            && self.contents(&path) == [Content::Before(path.clone())]
    }

    /// Whether a program would install into an active virtual environment of the project: its own, first in `PATH`.
    fn in_environment(&self, program: &str) -> bool {
        let path = self.variable("PATH");
        let [path] = path.as_slice() else { return false };
        let first = path.split(':').next().unwrap_or_default();
        self.is_of_environment(first)
            || first.ends_with("venv/bin") && self.dependency(&format!("{first}/{program}")).is_some()
    }

    fn dependency_folders(&self) -> impl Iterator<Item = String> {
        self.folders().into_iter().flat_map(|folder| INSTALLED.map(|place| format!("{folder}/{place}")))
    }

    /// The file of a module of the project, as `python -m` would run it.
    pub(in crate::shell) fn project_module(&self, module: &str) -> Option<String> {
        let path = module.replace('.', "/");
        if module.contains(UNKNOWN_SPAN) || path.starts_with('/') {
            return None;
        }
        let folders = self.folders();
        let near = folders.first()?;
        ["", "src/"]
            .iter()
            .flat_map(|root| [format!("{near}/{root}{path}/__main__.py"), format!("{near}/{root}{path}.py")])
            .find(|file| self.read_contents(&crate::shell::tidy(file)).is_ok())
    }

    /// The file of the project that `python -m` runs instead of the installed module of this name, because Python looks
    /// into the current folder first.
    pub(in crate::shell) fn shadowing_module(&self, module: &str) -> Option<String> {
        let path = module.replace('.', "/");
        if module.contains(UNKNOWN_SPAN) || path.starts_with('/') {
            return None;
        }
        let folders = self.folders();
        let near = folders.first()?;
        let package = path.split('/').next().unwrap_or_default();
        let files = [
            format!("{near}/{path}/__main__.py"),
            format!("{near}/{path}.py"),
            // the package is imported before its module
            format!("{near}/{package}/__init__.py"),
            format!("{near}/{package}.py"),
        ];
        files.into_iter().find(|file| self.read_contents(&crate::shell::tidy(file)).is_ok())
    }

    /// The subcommand of a program that is a program of its own, or an alias of the project: its name, and the words to
    /// run.
    pub(in crate::shell) fn plugin(&self, program: &str, arguments: &[String]) -> Option<(String, Vec<String>)> {
        if !PLUGINS.contains(&program) {
            return None;
        }
        let at = Self::options_of(program, arguments).used;
        // `cargo +nightly fuzz`
        let at = at + usize::from(arguments.get(at).is_some_and(|word| word.starts_with('+')));
        let (sub, rest) = arguments.get(at..)?.split_first()?;
        let row = crate::table::Table::shipped().row(program)?;
        if row.sub(sub).is_some() || sub.contains(UNKNOWN_SPAN) {
            return None;
        }
        let name = format!("{program}-{sub}");
        if crate::table::Table::shipped().row(&name).is_some() {
            let words = std::iter::once(name.clone()).chain(rest.iter().cloned()).collect();
            return Some((name, words));
        }
        if program != "cargo" || self.via.contains(&name) {
            return None;
        }
        let alias = self.folders().iter().find_map(|folder| self.cargo_alias(folder, sub))?;
        let words = std::iter::once(program.to_owned()).chain(alias).chain(rest.iter().cloned()).collect();
        Some((name, words))
    }

    /// The working folder and those above it, nearest first.
    fn folders(&self) -> Vec<String> {
        let Some(start) = self.state.cwd.clone().filter(|cwd| cwd.starts_with('/')) else { return Vec::new() };
        let above = |folder: &String| {
            let (above, _) = folder.rsplit_once('/')?;
            (!above.is_empty()).then(|| above.to_owned())
        };
        std::iter::successors(Some(start), above).take(ABOVE).collect()
    }

    fn defines(&self, folder: &str, name: &str) -> bool {
        let text = |file: &str| {
            let contents = self.read_contents(&crate::shell::tidy(&format!("{folder}/{file}"))).ok()?;
            String::from_utf8(contents.into_iter().next()?).ok()
        };
        let installed = || {
            INSTALLED
                .iter()
                .map(|place| format!("{folder}/{place}"))
                .any(|place| self.around.folder(&place) == Some(true) && text_exists(self, &format!("{place}/{name}")))
        };
        text("pyproject.toml").is_some_and(|text| python_script(&text, name))
            || text("package.json")
                .filter(|text| text.contains(name))
                .and_then(|text| self.package_file(text.as_bytes()))
                .is_some_and(|manifest| manifest.defines(name))
            || installed()
    }

    /// An alias of `.cargo/config.toml`, as words.
    fn cargo_alias(&self, folder: &str, name: &str) -> Option<Vec<String>> {
        let path = crate::shell::tidy(&format!("{folder}/.cargo/config.toml"));
        let content = self.read_contents(&path).ok()?.into_iter().next()?;
        let file: toml::Table = toml::from_str(std::str::from_utf8(&content).ok()?).ok()?;
        match file.get("alias")?.get(name)? {
            toml::Value::String(line) => Some(line.split_whitespace().map(str::to_owned).collect()),
            toml::Value::Array(words) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
            _ => None,
        }
    }
}

/// Whether an option, by its name, takes a path that is written or deleted.
fn changes(option: &str) -> bool {
    let name = option.trim_start_matches('-');
    name == "o"
        || name.split('-').any(|part| {
            ["out", "dest", "target", "write", "save", "rm", "remove", "delete", "clean", "purge"]
                .iter()
                .any(|begin| part.starts_with(begin))
        })
}

/// Whether there is a file; a program that is not a script counts, too.
fn text_exists(shell: &Shell<'_>, path: &str) -> bool {
    let path = crate::shell::tidy(path);
    if shell.untouched(&path) {
        return !shell.around.is_missing(&path);
    }
    !shell.read_contents(&path).is_err_and(|unread| unread.is_missing())
}

/// Whether a script is one that installers of Python packages generate for a program: it starts the package of that name
/// and does nothing else.
fn starts(script: &[u8], program: &str) -> bool {
    let Ok(text) = std::str::from_utf8(script) else { return false };
    let mut package = false;
    let harmless = text.lines().map(str::trim).all(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [] | ["import", "re" | "sys"] | ["if", "__name__", "==", "'__main__':" | "\"__main__\":"] => true,
        ["from", module, "import", function] => {
            let name = module.split('.').next().unwrap_or_default();
            package |= !name.is_empty() && (program.starts_with(name) || name.starts_with(program));
            package && function.chars().all(|c| c.is_alphanumeric() || c == '_')
        }
        _ if line.starts_with('#') => true,
        _ if line.starts_with("sys.exit(") => {
            let call = line.trim_start_matches("sys.exit(").strip_suffix("())");
            call.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        }
        _ => LAUNCHER.contains(&line),
    });
    harmless && package && text.starts_with("#!") && text.lines().next().is_some_and(|line| line.contains("python"))
}

/// Whether `pyproject.toml` defines a console script.
fn python_script(text: &str, name: &str) -> bool {
    // parsing takes longer than all the rest
    let Some(file) = text.contains(name).then(|| toml::from_str::<toml::Table>(text).ok()).flatten() else {
        return false;
    };
    let scripts = [&["project", "scripts"][..], &["project", "gui-scripts"], &["tool", "poetry", "scripts"]];
    scripts.iter().any(|path| {
        let (first, rest) = path.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
        let found = rest.iter().try_fold(file.get(first), |at, key| Some(at?.get(key)));
        found.flatten().is_some_and(|scripts| scripts.get(name).is_some())
    })
}

/// The modules that a `go.mod` requires, with their versions.
fn requirements(text: &str) -> Vec<(String, String)> {
    let mut within = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["require", "("] => within = true,
            [")"] => within = false,
            ["require", module, version, ..] => found.push((module.to_owned(), version.to_owned())),
            [module, version, ..] if within => found.push((module.to_owned(), version.to_owned())),
            _ => {}
        }
    }
    found
}

/// Whether a package is named as registries name them: `name[extra]==1.0`.
fn is_named(package: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || "._-[]=<>~!,*".contains(c);
    // `x.rb` is a formula of brew
    package.chars().all(name) && package.starts_with(|c: char| c.is_ascii_alphanumeric()) && !package.ends_with(".rb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_name_their_programs() {
        assert!(python_script("[project.scripts]\nfrob = \"a:b\"", "frob"));
        assert!(python_script("[tool.poetry.scripts]\nfrob = \"a:b\"", "frob"));
        assert!(!python_script("[project]\nname = \"frob\"", "frob"));
    }
}
