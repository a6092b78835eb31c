//! Interprets one simple command: its words, the wrappers around it, its row in the table.

use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::role::{Role, default_kind};
use crate::table::{Bound, Table};
use crate::{Cause, Effect, Target, Verb};
use tree_sitter::Node;

/// Folders whose programs the table describes.
const PROGRAM_FOLDERS: &[&str] =
    &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];
/// Programs that connect a command to the network.
const RELAYS: &[&str] = &["nc", "netcat", "nc.traditional", "nc.openbsd", "ncat"];
/// Filters that pass on names unchanged.
const FILTERS: &[&str] = &[
    "grep", "egrep", "fgrep", "sort", "head", "tail", "uniq", "tac", "shuf", "tee", "cat", "awk", "gawk", "comm", "sed",
];

/// Builtins that evaluate subscripts and numbers in their arguments a second time.
const EVALUATES: [&str; 13] = [
    "test",
    "[",
    "read",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "mapfile",
    "readarray",
    "unset",
    "getopts",
];

/// Programs that print nothing.
const SILENT: [&str; 18] = [
    ":", "[", "chgrp", "chmod", "chown", "cp", "false", "install", "ln", "mkdir", "mv", "rm", "rmdir", "sleep", "test",
    "touch", "true", "truncate",
];

/// Wrappers that are keywords of the shell.
const KEYWORDS: [&str; 5] = ["time", "builtin", "coproc", "noglob", "nocorrect"];

impl Shell<'_> {
    pub(crate) fn command(&mut self, node: Node<'_>, source: &str, mut stdin: Output) -> Output {
        self.see(node);
        let last_word = self.last_word.take();
        let mut words = Vec::new();
        let (variables, exported) = (self.variables.clone(), self.exported.clone());
        let mut assigned = false;
        let mut end = node.start_byte();
        for child in children(node) {
            // text between two words that the parser left out
            let left_out = source.get(end..child.start_byte()).unwrap_or_default().replace("\\\n", "");
            end = child.end_byte();
            if !left_out.trim().is_empty() {
                self.unknown(Cause::Parse, left_out.trim(), "shell");
            }
            match child.kind() {
                "variable_assignment" => {
                    assigned = true;
                    self.assignment(child, source);
                    if let Some(name) = child.child_by_field_name("name") {
                        self.export(name.utf8_text(source.as_bytes()).unwrap_or_default(), true);
                    }
                }
                "herestring_redirect" | "file_redirect" => {
                    let text = children(child)
                        .into_iter()
                        .filter(Node::is_named)
                        .map(|c| self.text(c, source))
                        .collect::<String>();
                    if child.kind() == "herestring_redirect" {
                        stdin = Output {
                            text: (!text.contains(UNKNOWN_SPAN)).then(|| format!("{text}\n")),
                            piped: true,
                            ..Output::default()
                        };
                    } else {
                        self.statement(child, source, Output::default());
                    }
                }
                _ if child.is_named() => words.extend(self.fields(child, source)),
                _ => {}
            }
        }
        words.extend(last_word);
        let output = self.simple(&words, stdin);
        if assigned {
            self.exported = exported;
        }
        if assigned && !words.is_empty() {
            self.variables = variables;
        }
        output
    }

    /// Interprets a command given as a list of words.
    pub(crate) fn simple(&mut self, words: &[String], stdin: Output) -> Output {
        let before = std::mem::replace(&mut self.stdin, stdin.clone());
        let output = self.run_program(words, stdin);
        self.stdin = before;
        output
    }

    fn run_program(&mut self, words: &[String], stdin: Output) -> Output {
        let Some((name, arguments)) = words.split_first() else { return Output::default() };
        self.steps += 1;
        if self.steps > super::MAX_STEPS || self.depth > super::MAX_DEPTH {
            self.unknown(Cause::Budget, "too many commands or nested too deep", name);
            return Output::default();
        }
        if name.contains(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "the command's name is not constant", &name.replace(UNKNOWN_SPAN, "…"));
            return self.flag_path_arguments(arguments);
        }
        if let Some(alias) = self.aliases.get(name).cloned() {
            self.step(|| format!("alias {name} -> {alias}"));
            // a non-interactive shell does not know aliases, and an interactive one only from the next line on
            let known = self.aliases.remove(name);
            let line = format!("{alias} {}", quote_all(arguments));
            let mut output = self.nested("alias", &line, stdin.clone());
            let other = Table::shipped().row(name).is_some() || self.functions.contains_key(name);
            if other {
                output = Output { text: None, ..self.run_program(words, stdin) };
            }
            self.aliases.extend(known.map(|alias| (name.clone(), alias)));
            return output;
        }
        if self.functions.contains_key(name) {
            let output = self.call(name, arguments, stdin.clone());
            if !self.maybe_defined_functions.contains(name) {
                return output;
            }
        }
        if EVALUATES.contains(&name.as_str()) {
            arguments.iter().for_each(|argument| self.evaluated(argument));
        } else if let [option, target, ..] = arguments
            && name == "printf"
            && option == "-v"
        {
            self.evaluated(target);
        }
        let program = if name.contains('/') {
            let path = self.path(name);
            let (folder, base) = path.rsplit_once('/').unwrap_or(("", &path));
            if !PROGRAM_FOLDERS.contains(&folder) {
                return self.run_file(name, arguments, None);
            }
            base.to_owned()
        } else {
            name.clone()
        };
        // `time ! f`
        if program == "!" {
            return self.run_program(arguments, stdin);
        }
        let Some(row) = Table::shipped().row(&program) else {
            self.unknown(Cause::Program, &program, &program);
            return self.flag_path_arguments(arguments);
        };
        self.step(|| format!("{program}: {}", row.about));
        if let Some(special) = &row.special
            && let Some(output) = self.special(special, &program, arguments, &stdin)
        {
            return output;
        }
        let signalled = (program == "kill").then(|| process_groups(arguments)).flatten();
        let arguments = signalled.as_deref().unwrap_or(arguments);
        let moded = (program == "chmod").then(|| mode_with_dash(arguments)).flatten();
        let arguments = moded.as_deref().unwrap_or(arguments);
        self.may_wait(&program, arguments, &stdin);
        let mut bound = row.bind(arguments);
        let stdin_role = bound.stdin.take();
        if let Some(Role::Script(language)) = stdin_role
            && !bound
                .arguments
                .iter()
                .any(|(role, _, _)| matches!(role, Role::Script(_) | Role::ScriptFile(_) | Role::Run | Role::Exec))
        {
            if stdin.piped {
                self.run_input(&language, &program, &stdin);
            } else if !super::typed::is_question(arguments) {
                self.waits(&program, &stdin);
            }
        }
        let passes = bound.passes_input;
        let files = self.files.clone();
        self.effects(&program, arguments, &bound, &stdin);
        let network = bound.arguments.iter().any(|(r, _, _)| matches!(r, Role::Act { verb: Verb::Connect, .. }))
            || bound.fixed.iter().any(|(r, _)| matches!(r, Role::Act { verb: Verb::Connect, .. }));
        let asked = |role: &Role| matches!(role, Role::Act { verb: Verb::Send, kind: Kind::Url, .. });
        let downloads = network || bound.arguments.iter().any(|(role, _, _)| asked(role));
        self.carries(&program, &bound, &stdin, downloads, files);
        if program == "curl" && deletes(arguments) {
            let mut effect =
                Effect::new(Verb::Remote, Target::Named(Kind::Remote, "what the address names".to_owned()), "curl");
            "delete".clone_into(&mut effect.operation);
            self.add(effect);
        }
        let mut output = Output { network: network || (passes && stdin.network), ..Output::default() };
        let verbose = |word: &String| word.starts_with('-') && word.contains('v');
        if SILENT.contains(&program.as_str()) && !arguments.iter().any(verbose) {
            output.text = Some(String::new());
        }
        output.endless = endless(&program, arguments) || (stdin.endless && ENDLESS_THROUGH.contains(&program.as_str()));
        if output.endless && program == "tee" && arguments.iter().any(|w| !w.starts_with('-')) {
            self.exhaust("disk", &program);
        }
        // `cat -` reads its input, like `cat` without arguments
        let of_files = |(r, v, _): &(Role, String, Option<usize>)| {
            matches!(r, Role::Act { verb: Verb::Read, .. }) && !matches!(v.as_str(), "-" | "/dev/stdin")
        };
        if passes && !bound.arguments.iter().any(of_files) {
            output.text = stdin.text.clone();
            output.decoded = stdin.decoded;
        }
        if program == "mktemp" && !arguments.iter().any(|w| w.contains('/')) {
            output.text = Some(format!("/tmp/tmp.{UNKNOWN_SPAN}\n"));
        }
        if FILTERS.contains(&program.as_str()) {
            output.names = stdin.names;
            output.network |= stdin.network;
        }
        if matches!(program.as_str(), "ls" | "dir") {
            let named: Vec<String> = bound
                .arguments
                .iter()
                .filter(|(r, _, _)| matches!(r, Role::Act { .. }))
                .map(|(_, v, _)| self.path(v))
                .collect();
            output.names = Some(if named.is_empty() { vec![self.path(".")] } else { named });
        }
        output
    }

    /// Reports the paths among the arguments of an unknown program: they are judged even though the program is unknown.
    fn flag_path_arguments(&mut self, arguments: &[String]) -> Output {
        for argument in arguments {
            let value = argument.split_once('=').map_or(argument.as_str(), |(_, v)| v);
            if value.starts_with('/') && !value.starts_with("//") {
                let mut effect = self.at(Verb::Unknown, value, "unknown");
                Cause::Arguments.as_str().clone_into(&mut effect.operation);
                "argument".clone_into(&mut effect.detail);
                self.add(effect);
            }
        }
        Output::default()
    }

    fn call(&mut self, name: &str, arguments: &[String], stdin: Output) -> Output {
        if self.running.iter().any(|n| n == name) {
            // a function that starts itself in the background is a fork bomb; plain recursion has no known end
            if self.background {
                self.exhaust("process", name);
            } else {
                self.unknown(Cause::Budget, "a function calls itself", name);
            }
            return Output::default();
        }
        let Some(body) = self.functions.get(name).cloned() else { return Output::default() };
        self.step(|| format!("function {name}"));
        let arguments = std::mem::replace(&mut self.arguments, arguments.to_vec());
        self.running.push(name.to_owned());
        self.locals.push(std::collections::HashMap::new());
        let output = self.source(&body, stdin);
        for (name, old) in self.locals.pop().unwrap_or_default() {
            match old {
                Some(old) => self.variables.insert(name, old),
                None => self.variables.remove(&name),
            };
        }
        self.running.pop();
        self.arguments = arguments;
        output
    }

    /// Interprets source in a child shell.
    pub(crate) fn nested(&mut self, how: &str, source: &str, stdin: Output) -> Output {
        if source.contains(UNKNOWN_SPAN) {
            let head: String = source.chars().take(40).collect();
            if source.trim_start().starts_with(UNKNOWN_SPAN) {
                self.unknown(Cause::Dynamic, &head.replace(UNKNOWN_SPAN, "…"), how);
                return Output::default();
            }
        }
        self.step(|| format!("unwrap {how}"));
        self.via.push(how.to_owned());
        let output = self.source(source, stdin);
        self.via.pop();
        output
    }

    /// Interprets words under a wrapper. A wrapper only knows programs; one that is a keyword of the shell also knows
    /// its functions.
    pub(crate) fn wrapped(&mut self, how: &str, words: &[String], stdin: Output) -> Output {
        self.step(|| format!("unwrap {how}"));
        self.via.push(how.to_owned());
        self.depth += 1;
        let function = words.first().filter(|name| KEYWORDS.contains(&how) && self.functions.contains_key(*name));
        let program = function.is_none_or(|name| Table::shipped().row(name).is_some());
        let mut output = Output::default();
        if function.is_some() {
            output = self.simple(words, stdin.clone());
        }
        if program {
            let own = (self.functions.clone(), self.aliases.clone());
            self.leave(how);
            output = self.simple(words, stdin);
            (self.functions, self.aliases) = own;
        }
        self.depth -= 1;
        self.via.pop();
        output
    }

    /// Adds the effects of the arguments with roles.
    pub(crate) fn effects(&mut self, program: &str, words: &[String], bound: &Bound, stdin: &Output) {
        for what in &bound.unrecognised {
            self.unknown(Cause::Arguments, &format!("{program} {what}"), program);
        }
        let detail = bound
            .arguments
            .iter()
            .filter(|(r, _, _)| matches!(r, Role::Mode | Role::Owner | Role::Signal))
            .map(|(_, v, _)| v.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        let incoming: Vec<String> = bound
            .arguments
            .iter()
            .filter(|(r, _, _)| matches!(r, Role::Copy | Role::Act { verb: Verb::Move, .. } | Role::Linked))
            .map(|(_, v, _)| arriving(v, program, bound))
            .collect();
        for (role, value, place) in &bound.arguments {
            match role {
                Role::Exec | Role::Script(_) if RELAYS.contains(&program) => {
                    self.remote_shell(program);
                    self.script("bash", value, program);
                }
                Role::Run => {
                    let rest: Vec<String> = place.and_then(|p| words.get(p..)).unwrap_or_default().to_vec();
                    self.wrapped(program, &rest, stdin.clone());
                }
                Role::Script(language)
                    if value.contains(UNKNOWN_SPAN) && value.trim_start().starts_with(UNKNOWN_SPAN) =>
                {
                    let _ = language;
                    self.unknown(Cause::Dynamic, "what it runs is not constant", program);
                }
                Role::Script(language) if matches!(language.as_str(), "bash" | "sh") => {
                    let arguments = std::mem::take(&mut self.arguments);
                    self.child(program, |shell| shell.nested(program, value, stdin.clone()));
                    self.arguments = arguments;
                }
                Role::Script(language) => {
                    self.script(language, value, program);
                }
                Role::ScriptFile(language) => {
                    let rest: Vec<String> = place.and_then(|p| words.get(p + 1..)).unwrap_or_default().to_vec();
                    self.run_file(value, &rest, Some(language));
                }
                Role::Exec => {
                    self.wrapped(program, std::slice::from_ref(value), stdin.clone());
                }
                _ => self.role(role, value, program, bound, &detail, &incoming),
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
            let below_home = value.strip_prefix("~/").filter(|_| self.cwd.as_deref() != Some(""));
            let value = &below_home.map_or_else(|| value.clone(), |rest| format!("{}/{rest}", self.home));
            self.role(role, value, program, bound, &detail, &[]);
        }
    }

    /// Adds the effect of one argument with a role.
    pub(crate) fn role(
        &mut self,
        role: &Role,
        value: &str,
        program: &str,
        bound: &Bound,
        detail: &str,
        incoming: &[String],
    ) {
        let (verb, operation, kind) = match role {
            // a hard link is another name for the same file: a write to one is a write to the other
            Role::Linked if !bound.symbolic => (Verb::Link, "to", Kind::Path),
            Role::Skip | Role::Mode | Role::Owner | Role::Signal | Role::Linked | Role::Port => return,
            Role::Unknown => return self.unknown(Cause::Arguments, value, program),
            Role::Copy => (Verb::Read, "", Kind::Path),
            Role::Into => (Verb::Overwrite, "", Kind::Path),
            Role::Upload => {
                self.role(
                    &Role::Act { verb: Verb::Read, operation: String::new(), kind: Kind::Path },
                    given_file(value),
                    program,
                    bound,
                    detail,
                    &[],
                );
                (Verb::Send, "", Kind::Host)
            }
            Role::Act { verb, operation, kind } => (*verb, operation.as_str(), *kind),
            Role::Run | Role::Exec | Role::Script(_) | Role::ScriptFile(_) => {
                return self.unknown(Cause::Dynamic, value, program);
            }
        };
        let value = if *role == Role::Upload { "" } else { value };
        // a `file://` URL is a file of this machine
        if let Some(path) = value.strip_prefix("file://").filter(|_| kind == Kind::Url) {
            let path = path.get(path.find('/').unwrap_or(0)..).unwrap_or_default();
            let effect = self.at(Verb::Read, path, program);
            return self.add(effect);
        }
        // the input of another command is no file
        if kind == Kind::Path && (value == "-" || value.is_empty() || is_stream(value)) {
            return;
        }
        // `ln -s TARGET` without a second operand creates a link of the same name in the working directory
        let here = base_name(value);
        let alone = verb == Verb::Link && operation.is_empty() && incoming.is_empty() && program == "ln";
        let value = if alone { here.as_str() } else { value };
        let remote = matches!(role, Role::Copy | Role::Into).then(|| remote_host(value)).flatten();
        // a copy to this machine by way of its host name is a local copy
        let here = remote.is_some_and(|host| self.is_here(&super::ssh::destination(host).1));
        let detour = here.then(|| self.remote_path(value)).flatten();
        let (value, remote) = match &detour {
            Some(path) => (path.as_str(), None),
            None => (value, remote),
        };
        let mut effect = if let Some(host) = remote {
            let verb = if *role == Role::Copy { Verb::Connect } else { Verb::Send };
            Effect::new(verb, Target::Named(Kind::Host, host.to_owned()), program)
        } else if kind == Kind::Path {
            let verb = match verb {
                changed if bound.dry && !matches!(changed, Verb::Read | Verb::List) => Verb::Read,
                other => other,
            };
            self.at(verb, value, program)
        } else if bound.dry {
            return;
        } else {
            let port = bound.arguments.iter().find(|(role, _, _)| *role == Role::Port).filter(|_| kind == Kind::Host);
            let name = match port {
                Some((_, port, _)) if value.contains(':') => format!("[{value}]:{port}"),
                Some((_, port, _)) => format!("{value}:{port}"),
                None => value.to_owned(),
            };
            Effect::new(verb, Target::Named(kind, name), program)
        };
        operation.clone_into(&mut effect.operation);
        detail.clone_into(&mut effect.detail);
        effect.recursive = bound.recursive;
        effect.keep = bound.keep;
        if matches!(effect.verb, Verb::Overwrite | Verb::Link) {
            effect.incoming = incoming.to_vec();
        }
        self.add(effect);
    }

    /// The path in `user@host:path` or `scheme://host/path`; relative paths start in the home folder.
    fn remote_path(&self, value: &str) -> Option<String> {
        let path = match value.split_once("://") {
            Some((_, rest)) => rest.get(rest.find('/')?..)?,
            None => value.split_once("]:").or_else(|| value.split_once(':'))?.1,
        };
        let path = path.strip_prefix("~/").unwrap_or(if path == "~" { "" } else { path });
        Some(if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.home) })
    }

    /// Adds an execution of commands from the network: the peer of the connection decides what runs here.
    pub(crate) fn remote_shell(&mut self, program: &str) {
        let mut effect =
            Effect::new(Verb::Execute, Target::Named(Kind::Program, "what comes over the network".to_owned()), program);
        "network".clone_into(&mut effect.detail);
        self.add(effect);
    }

    /// Adds an effect on a named target of the verb's default kind; used by parsers of small languages.
    pub(crate) fn named(&mut self, verb: Verb, name: &str, program: &str) {
        self.add(Effect::new(verb, Target::Named(default_kind(verb), name.to_owned()), program));
    }
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

/// Whether the method of a request is DELETE.
fn deletes(words: &[String]) -> bool {
    let mut after = false;
    words.iter().any(|word| {
        let method =
            if after { Some(word.as_str()) } else { word.strip_prefix("-X").or(word.strip_prefix("--request=")) };
        after = matches!(word.as_str(), "-X" | "--request");
        method.is_some_and(|method| method.eq_ignore_ascii_case("DELETE"))
    })
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

pub(crate) fn quote_all(words: &[String]) -> String {
    words.iter().map(|w| format!("'{}'", w.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
}

/// `kill -9 -1`: after the signal, a number with a dash is a process group. `None` if there is none.
fn process_groups(words: &[String]) -> Option<Vec<String>> {
    let skip = match words.first().map(String::as_str) {
        Some("-s" | "--signal" | "-n" | "-q" | "--queue") => 2,
        Some(first) if first.starts_with('-') => 1,
        _ => return None,
    };
    let group =
        |w: &String| w.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let at = words.iter().skip(skip).position(group)? + skip;
    let mut words = words.to_vec();
    words.insert(at, "--".to_owned());
    Some(words)
}

/// `chmod -x f`: a mode that begins with a dash is not an option. `None` if there is none.
fn mode_with_dash(words: &[String]) -> Option<Vec<String>> {
    let mode = |word: &String| {
        word.len() > 1
            && word.starts_with('-')
            && !word.starts_with("--")
            && word.chars().skip(1).all(|c| "rwxXst,-+=ugoa".contains(c))
    };
    let at = words.iter().position(mode).filter(|at| !words.iter().take(*at).any(|word| word == "--"))?;
    // options first, so that the mode becomes the first operand
    let (options, rest): (Vec<String>, Vec<String>) = words
        .iter()
        .enumerate()
        .filter(|(place, _)| *place != at)
        .map(|(_, word)| word.clone())
        .partition(|w| w.starts_with('-'));
    Some([options, vec!["--".to_owned(), words.get(at)?.clone()], rest].concat())
}

/// Filters whose output ends only when their input does.
const ENDLESS_THROUGH: &[&str] =
    &["cat", "tee", "tr", "base64", "sed", "awk", "grep", "gzip", "xz", "bzip2", "zstd", "od", "xxd", "rev"];

/// Whether a program prints without end: `yes`, `cat /dev/zero`.
fn endless(program: &str, words: &[String]) -> bool {
    let source = |w: &String| matches!(w.as_str(), "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full");
    program == "yes" || (ENDLESS_THROUGH.contains(&program) && words.iter().any(source))
}

/// Whether a program runs its input.
pub(crate) fn is_shell(word: &str) -> bool {
    let base = word.rsplit('/').next().unwrap_or(word);
    matches!(
        base,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" | "python" | "python3" | "perl" | "ruby" | "cmd"
    )
}
