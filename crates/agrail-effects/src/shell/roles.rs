//! The effects of the arguments of a program, by their roles.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::role::{Role, default_kind};
use crate::table::{Bound, Unlisted, is_plain};
use crate::{Attribute, Cause, Detail, Effect, Target, Verb};

/// Programs that run a Python file as well as a program.
const PYTHON_RUNNERS: [&str; 3] = ["uv", "pdm", "rye"];
/// Programs that connect a command to the network.
const RELAYS: &[&str] = &["nc", "netcat", "nc.traditional", "nc.openbsd", "ncat"];

/// A command that loads the machine for at most this long, in seconds, harms nobody.
const BRIEF: u64 = 60;

/// The context of one argument of a command: its program, and the other arguments that qualify it.
pub(crate) struct Command<'a> {
    /// The program or call.
    pub program: &'a str,
    /// Its flags and ports.
    pub bound: &'a Bound,
    /// Modes, owners and signals among its operands.
    pub detail: &'a Detail,
    /// The names that a copy or move creates in its destination.
    pub incoming: &'a [String],
}

fn attributes(bound: &Bound) -> Detail {
    let attributes = bound.arguments.iter().filter_map(|(role, value, _)| match role {
        Role::Mode => Some(Attribute::Mode(value.clone())),
        Role::Owner => Some(Attribute::Owner(value.clone())),
        Role::Signal => Some(Attribute::Signal(value.clone())),
        _ => None,
    });
    let attributes: Vec<Attribute> = attributes.collect();
    if attributes.is_empty() { Detail::None } else { Detail::Attributes(attributes) }
}

fn is_output(verb: Verb) -> bool {
    matches!(verb, Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite)
}

/// Whether a load ends soon, or only reaches this machine's own servers.
fn is_bounded(resource: &str, bound: &Bound) -> bool {
    let brief = |(role, value, _): &(Role, String, Option<usize>)| *role == Role::Duration && is_brief(value);
    let mut hosts =
        bound.arguments.iter().filter(|(role, ..)| matches!(role, Role::Act { verb: Verb::Connect | Verb::Send, .. }));
    let first = hosts.next();
    let local = first.into_iter().chain(hosts).all(|(_, address, _)| is_loopback(address));
    bound.arguments.iter().any(brief) || (resource == "network" && first.is_some() && local)
}

/// Whether a value names something below the working folder by a plain path.
fn is_own_path(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./@+,:*".contains(c);
    !value.starts_with('/')
        && value.chars().all(plain)
        && value.split('/').all(|part| part != "..")
        && !value.contains("://")
}

/// Whether the text is a duration of at most [`BRIEF`] seconds: `10`, `10s`, `1m`.
fn is_brief(text: &str) -> bool {
    let (number, factor) = match text.strip_suffix(['s', 'm']) {
        Some(number) => (number, if text.ends_with('m') { 60 } else { 1 }),
        None => (text, 1),
    };
    number.parse::<u64>().is_ok_and(|number| (1..=BRIEF / factor).contains(&number))
}

pub(super) fn is_loopback(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    host == "localhost" || host.starts_with("127.") || rest.starts_with("[::1]")
}

/// Programs that copy on this machine only: a colon is part of a name.
const LOCAL: [&str; 4] = ["cp", "install", "ln", "mv"];

impl Shell<'_> {
    /// Adds the effects of the arguments with roles, in the folder in which the program works.
    pub(crate) fn effects(&mut self, program: &str, words: &[String], bound: &Bound, stdin: &Output) {
        match bound.folder() {
            Some(folder) => drop(self.scoped(|shell| {
                shell.work_in(folder);
                shell.effects_here(program, words, bound, stdin);
                Output::default()
            })),
            None => self.effects_here(program, words, bound, stdin),
        }
    }

    fn effects_here(&mut self, program: &str, words: &[String], bound: &Bound, stdin: &Output) {
        for what in &bound.unrecognised {
            if bound.perhaps_own {
                self.own_subcommand(program, what);
            } else {
                self.unknown(Cause::Arguments, &format!("{program} {what}"), program);
            }
        }
        let (before, first) = (self.produced.len(), self.reading.effects.len());
        let detail = attributes(bound);
        let incoming: Vec<String> = bound
            .arguments
            .iter()
            .filter(|(r, _, _)| matches!(r, Role::Copy | Role::Act { verb: Verb::Move, .. } | Role::Linked))
            .map(|(_, v, _)| arriving(v, program, bound))
            .collect();
        let command = Command { program, bound, detail: &detail, incoming: &incoming };
        for (at, (role, value, place)) in bound.arguments.iter().enumerate() {
            if let Some(folder) = bound.base(at) {
                self.scoped(|shell| {
                    shell.work_in(folder);
                    shell.role(role, value, &command);
                    Output::default()
                });
                continue;
            }
            match role {
                Role::Run | Role::Exec | Role::Script(_) | Role::ScriptFile(_) => {
                    self.run_argument(role, value, *place, program, words, stdin);
                }
                _ => self.role(role, value, &command),
            }
        }
        if let [
            (Role::Linked, target, _),
            (Role::Act { verb: Verb::Link | Verb::Overwrite, .. } | Role::Into, link, _),
        ] = bound.arguments.as_slice()
        {
            self.note_link(target, link);
        }
        for (role, value) in &bound.fixed {
            let below_home = value.strip_prefix("~/").filter(|_| self.state.cwd.as_deref() != Some(""));
            let value = &below_home.map_or_else(|| value.clone(), |rest| format!("{}/{rest}", self.state.home));
            self.role(role, value, &Command { incoming: &[], ..command });
        }
        let own = self.produced.get(before..).unwrap_or_default();
        let looks = own.iter().all(|(verb, _)| matches!(verb, Verb::Read | Verb::List | Verb::Select));
        let runs_project = own.iter().any(|(_, runs)| *runs);
        let label: String = bound.subcommands.iter().fold(program.to_owned(), |label, name| format!("{label} {name}"));
        self.unlisted_options(&label, &bound.unlisted, looks, runs_project);
        self.add_grade(program, words, bound, first);
        self.add_search(program, words, first);
        self.list_what_is_not_shown(program, words, first);
    }

    /// A subcommand that the row lacks, of a program whose subcommands run the project's code.
    fn own_subcommand(&mut self, program: &str, name: &str) {
        let mut effect = Effect::unknown(Cause::Arguments, &format!("{program} {name}"), program);
        "own".clone_into(&mut effect.operation);
        self.step(|| format!("unknown subcommand of a tool for projects: {program} {name}"));
        self.add(effect);
        for verb in [Verb::Execute, Verb::Write] {
            let effect = self.at(verb, ".", program);
            self.add(effect);
        }
    }

    /// Adds an unknown effect for each option that the row does not list. `label`: the program and its subcommands.
    /// `looks`: whether the command only reads otherwise. `runs_project`: whether it runs the project's code, which can
    /// define options of its own. A value that is a path is judged as a path that an unknown program gets.
    pub(super) fn unlisted_options(&mut self, label: &str, options: &[Unlisted], looks: bool, runs_project: bool) {
        if self.packaged && !self.state.privileged {
            return;
        }
        let program = label.split(' ').next().unwrap_or_default();
        for option in options {
            let mut effect = Effect::unknown(Cause::Option, &format!("{label} {}", option.name), program);
            if looks && option.perhaps_harmless {
                "flag".clone_into(&mut effect.operation);
            } else if runs_project && (option.perhaps_own || option.value.as_deref().is_some_and(is_own_path)) {
                "own".clone_into(&mut effect.operation);
            }
            self.step(|| format!("unknown option: {label} {}", option.name));
            self.add(effect);
            self.flag_path_arguments(program, option.value.as_slice());
        }
    }

    /// Interprets an argument that the program runs.
    fn run_argument(
        &mut self,
        role: &Role,
        value: &str,
        place: Option<usize>,
        program: &str,
        words: &[String],
        stdin: &Output,
    ) {
        let after = |skip: usize| place.and_then(|at| words.get(at + skip..)).unwrap_or_default();
        match role {
            Role::Exec | Role::Script(_) if RELAYS.contains(&program) => {
                self.remote_shell(program);
                self.script("bash", value, program);
            }
            Role::Run if PYTHON_RUNNERS.contains(&program) && value.ends_with(".py") => {
                drop(self.run_file(value, after(1), Some("python")));
            }
            Role::Run => drop(self.wrapped(program, after(0), stdin.clone())),
            Role::Script(_) if value.trim_start().starts_with(UNKNOWN_SPAN) => {
                self.unknown(Cause::Dynamic, "the source that it runs", program);
            }
            Role::Script(language) if matches!(language.as_str(), "bash" | "sh") => {
                self.child(program, |shell| {
                    shell.state.arguments = Some(Vec::new());
                    shell.nested(program, value, stdin.clone())
                });
            }
            Role::Script(language) => {
                let others = except(words, place);
                self.with_arguments(&others, |shell| shell.script(language, value, program));
            }
            // variables of awk are options
            Role::ScriptFile(language) if language == "awk" => {
                drop(self.run_file(value, &except(words, place), Some(language)));
            }
            // vim: no file at all
            Role::ScriptFile(language) if language == "ex" && matches!(value, "NONE" | "NORC" | "DEFAULTS") => {}
            Role::ScriptFile(language) => drop(self.run_file(value, after(1), Some(language))),
            _ => drop(self.wrapped(program, &[value.to_owned()], stdin.clone())),
        }
    }

    /// Adds the effect of one argument with a role.
    pub(crate) fn role(&mut self, role: &Role, value: &str, command: &Command<'_>) {
        let program = command.program;
        let (verb, operation, kind) = match role {
            // a hard link is another name for the same file: a write to one is a write to the other
            Role::Linked if !command.bound.symbolic => (Verb::Link, "to", Kind::Path),
            Role::Size => return self.size(value, command.bound, program),
            Role::Skip | Role::Rest | Role::Cwd | Role::Base | Role::Duration => return,
            Role::Mode | Role::Owner | Role::Signal | Role::Linked | Role::Port => return,
            Role::Plain if value.split(['=', ',']).all(is_plain) => return,
            Role::Unknown | Role::Plain => return self.unknown(Cause::Arguments, value, program),
            Role::Copy => (Verb::Read, "", Kind::Path),
            Role::Mirror => return self.mirror(value, command),
            Role::Into => (Verb::Overwrite, "", Kind::Path),
            Role::Upload => {
                let read = Role::Act { verb: Verb::Read, operation: String::new(), kind: Kind::Path };
                self.role(&read, given_file(value), &Command { incoming: &[], ..*command });
                (Verb::Send, "", Kind::Host)
            }
            Role::Act { verb, operation, kind } => (*verb, operation.as_str(), *kind),
            Role::Run | Role::Exec | Role::Script(_) | Role::ScriptFile(_) => {
                return self.unknown(Cause::Dynamic, value, program);
            }
        };
        if self.source_or_loopback(verb, operation, value, program) {
            return;
        }
        // a server of the project
        if verb == Verb::Listen && self.packaged && !self.state.privileged {
            return self.step(|| format!("{program} listens on {value}: a server of the project"));
        }
        // `read/requirements`: its lines act
        let operation = if verb == Verb::Read && !operation.is_empty() {
            self.load_operand(operation, value, program);
            ""
        } else {
            operation
        };
        let value = if *role == Role::Upload { "" } else { value };
        // a `file://` URL is a file of this machine
        if let Some(path) = value.strip_prefix("file://").filter(|_| kind == Kind::Url) {
            let path = path.get(path.find('/').unwrap_or(0)..).unwrap_or_default();
            let effect = self.at(Verb::Read, path, program);
            return self.add(effect);
        }
        // `psql -o '|command'`
        if let Some(command) = value.strip_prefix('|').filter(|_| kind == Kind::Path && is_output(verb)) {
            return drop(self.child(program, |shell| shell.nested(program, command, Output::default())));
        }
        // the input of another command is no file
        if kind == Kind::Path && (value == "-" || value.is_empty() || is_stream(value)) {
            return;
        }
        // `ln -s TARGET` without a second operand creates a link of the same name in the working directory
        let here = base_name(value);
        let alone = verb == Verb::Link && operation.is_empty() && command.incoming.is_empty() && program == "ln";
        let value = if alone { here.as_str() } else { value };
        let Some(mut effect) = self.acting(role, verb, kind, value, command) else { return };
        operation.clone_into(&mut effect.operation);
        if verb == Verb::Exhaust && is_bounded(value, command.bound) {
            "bounded".clone_into(&mut effect.operation);
        }
        effect.detail.clone_from(command.detail);
        effect.recursive = command.bound.recursive;
        effect.keep = command.bound.keep;
        if matches!(effect.verb, Verb::Overwrite | Verb::Link) {
            effect.incoming = command.incoming.to_vec();
        }
        self.add(effect);
    }

    /// Adds the effects of a copy that deletes what its source does not have.
    fn mirror(&mut self, place: &str, command: &Command<'_>) {
        let kept = command.bound.dry;
        let host = remote_host(place);
        // a path of this machine by way of its host name
        let here = host.filter(|host| self.is_here(&super::ssh::destination(host).1));
        let detour = here.and_then(|_| self.remote_path(place));
        match host.filter(|_| detour.is_none()) {
            Some(_) if kept => {}
            Some(host) => {
                let mut effect =
                    Effect::new(Verb::Remote, Target::Named(Kind::Remote, host.to_owned()), command.program);
                "delete".clone_into(&mut effect.operation);
                self.add(effect);
            }
            None => {
                let local = detour.as_deref().unwrap_or(place);
                for name in command.incoming.iter().filter(|_| !kept) {
                    let folder = if name.contains(UNKNOWN_SPAN) { local.to_owned() } else { format!("{local}/{name}") };
                    let mut effect = self.at(Verb::Delete, &folder, command.program);
                    "mirror".clone_into(&mut effect.operation);
                    effect.recursive = true;
                    self.add(effect);
                }
            }
        }
        self.role(&Role::Into, place, command);
    }

    /// The effect of a verb on its target; `None` if a dry run leaves the target alone.
    fn acting(&mut self, role: &Role, verb: Verb, kind: Kind, value: &str, command: &Command<'_>) -> Option<Effect> {
        let (program, bound) = (command.program, command.bound);
        // `tar -f user@host:archive`
        let addressed =
            kind == Kind::Path && value.split(':').next().is_some_and(|host| host.contains('@') && !host.contains('/'));
        let copies = matches!(role, Role::Copy | Role::Into) && !LOCAL.contains(&program);
        let remote = (copies || addressed).then(|| remote_host(value)).flatten();
        // a copy to this machine by way of its host name is a local copy
        let here = remote.is_some_and(|host| self.is_here(&super::ssh::destination(host).1));
        let detour = here.then(|| self.remote_path(value)).flatten();
        let (value, remote) = match &detour {
            Some(path) => (path.as_str(), None),
            None => (value, remote),
        };
        if let Some(host) = remote {
            let reads = *role == Role::Copy || verb == Verb::Read;
            let verb = if reads { Verb::Connect } else { Verb::Send };
            return Some(Effect::new(verb, Target::Named(Kind::Host, host.to_owned()), program));
        }
        if kind == Kind::Path {
            let changes = !matches!(verb, Verb::Read | Verb::List);
            return Some(self.at(if bound.dry && changes { Verb::Read } else { verb }, value, program));
        }
        if bound.dry {
            return None;
        }
        let value = if program == "curl" { rerouted(value).unwrap_or(value) } else { value };
        let port = bound.arguments.iter().find(|(role, _, _)| *role == Role::Port).filter(|_| kind == Kind::Host);
        let name = match port {
            Some((_, port, _)) if value.contains(':') => format!("[{value}]:{port}"),
            Some((_, port, _)) => format!("{value}:{port}"),
            None => value.to_owned(),
        };
        Some(Effect::new(verb, Target::Named(kind, name), program))
    }

    /// The path in `user@host:path` or `scheme://host/path`; relative paths start in the home folder.
    fn remote_path(&self, value: &str) -> Option<String> {
        let path = match value.split_once("://") {
            Some((_, rest)) => rest.get(rest.find('/')?..)?,
            None => value.split_once("]:").or_else(|| value.split_once(':'))?.1,
        };
        let path = path.strip_prefix("~/").unwrap_or(if path == "~" { "" } else { path });
        Some(if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.state.home) })
    }

    /// Adds an execution of commands from the network: the peer of the connection decides what runs here.
    pub(crate) fn remote_shell(&mut self, program: &str) {
        let mut effect =
            Effect::new(Verb::Execute, Target::Named(Kind::Program, "commands from the network".to_owned()), program);
        effect.detail = Detail::Network;
        self.add(effect);
    }

    /// Adds an effect on a named target of the verb's default kind; used by parsers of small languages.
    pub(crate) fn named(&mut self, verb: Verb, name: &str, program: &str) {
        self.add(Effect::new(verb, Target::Named(default_kind(verb), name.to_owned()), program));
    }
}

/// The host in `HOST:PORT:ADDRESS` and `HOST:PORT:HOST:PORT` to which requests for the first one go instead.
fn rerouted(route: &str) -> Option<&str> {
    let (_, rest) = route.split_once(':').filter(|_| !route.contains('/'))?;
    let (port, to) = rest.split_once(':')?;
    if !port.chars().all(|c| c.is_ascii_digit() || c == '*') {
        return None;
    }
    let end = match to.find(']') {
        Some(bracket) => bracket + 1,
        None => to.find([':', ',']).unwrap_or(to.len()),
    };
    to.get(..end).filter(|to| !to.is_empty())
}

/// `host` of `user@host:path`; `None` if the text is a local path.
pub(crate) fn remote_host(text: &str) -> Option<&str> {
    if let Some(rest) = text.split_once("://").map(|(_, r)| r) {
        return rest.split('/').next();
    }
    if let Some(end) = text.find("]:").filter(|_| text.rsplit('@').next().is_some_and(|host| host.starts_with('['))) {
        return text.get(..=end);
    }
    let (host, _) = text.split_once(':')?;
    (!host.is_empty() && !host.contains('/') && !host.starts_with('.')).then_some(host)
}

/// Whether a path is exactly that of a process substitution.
fn is_stream(path: &str) -> bool {
    path.strip_prefix("/dev/fd/").is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
}

/// The file in `@FILE`, `name=@FILE` or `name=<FILE`; otherwise the value itself.
fn given_file(value: &str) -> &str {
    let value = match value.split_once('=') {
        Some((name, rest)) if rest.starts_with(['@', '<']) && !name.contains('/') => rest,
        _ => value,
    };
    let path = match value.strip_prefix(['@', '<']) {
        Some(path) => path,
        // `name@FILE`, but not an address
        None => match value.split_once('@') {
            Some((name, path)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') && !path.is_empty() => path,
            _ => return value,
        },
    };
    path.split(';').next().unwrap_or(path)
}

/// The name that a source gets in the target folder; [`UNKNOWN_SPAN`] if instead its contents are copied under their
/// own names.
fn arriving(source: &str, program: &str, bound: &Bound) -> String {
    let merged = bound.seen.iter().any(|option| matches!(option.as_str(), "-T" | "--no-target-directory"));
    let path = match source.split_once(':') {
        Some((host, path)) if !host.contains('/') && !path.is_empty() => path,
        _ => source,
    };
    let name = base_name(path);
    let contents = merged || matches!(name.as_str(), "." | ".." | "") || (program == "rsync" && path.ends_with('/'));
    if contents { UNKNOWN_SPAN.to_string() } else { name }
}

fn base_name(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}

/// All words but the one at a place.
fn except(words: &[String], place: Option<usize>) -> Vec<String> {
    words.iter().enumerate().filter(|(at, _)| Some(*at) != place).map(|(_, word)| word.clone()).collect()
}
