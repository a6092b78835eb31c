//! Interprets one simple command: its words, the wrappers around it, its row in the table.

use super::flow::Flow;
use super::parameter::spread;
use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::budget;
use crate::role::Role;
use crate::table::{Row, Table};
use crate::tree::Node;
use crate::{Cause, Detail, Effect, Target, Verb};

/// Folders whose programs the table describes.
pub(super) const PROGRAM_FOLDERS: &[&str] =
    &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];
/// Most variables, and bytes of one, that are listed with a command.
const VARIABLES: usize = 16;
const VALUE: usize = 200;
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

/// Wrappers that are keywords of the shell.
const KEYWORDS: [&str; 5] = ["time", "builtin", "coproc", "noglob", "nocorrect"];

/// Bytes of a word, roughly.
const WORD: usize = 32;

impl Shell<'_> {
    pub(crate) fn command(&mut self, node: Node<'_>, source: &str, mut stdin: Output) -> Output {
        self.see(node);
        let last_word = self.last_word.take_if(|(command, _)| *command == node.id()).map(|(_, word)| word);
        let (mut words, mut flow) = (Vec::new(), Flow::default());
        let (variables, exported) = (self.state.variables.clone(), self.state.exported.clone());
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
                "herestring_redirect" => stdin = self.here_string(child, source, &mut flow),
                "file_redirect" => {
                    children(child).into_iter().filter(Node::is_named).for_each(|part| drop(self.text(part, source)));
                    self.statement(child, source, Output::default());
                }
                _ if child.is_named() => {
                    let fields = self.marked_fields(child, source);
                    flow.add(&self.flow_of(child, source, &fields));
                    words.extend(fields);
                }
                _ => {}
            }
        }
        words.extend(last_word);
        let mut lines = combinations(&words);
        let from = self.reading.effects.len();
        let output = match (lines.pop(), lines.is_empty()) {
            (Some(line), true) => self.simple(&line, stdin),
            (last, _) => {
                lines.extend(last);
                let starts = vec![self.state.fork(); lines.len()];
                let mut lines = lines.into_iter();
                self.each_way(starts, |shell| shell.simple(&lines.next().unwrap_or_default(), stdin.clone()))
            }
        };
        // the project's own scripts know where its secrets belong
        if let Some(program) = words.first().filter(|_| flow != Flow::default() && !self.own_code) {
            self.carry(Some(program), from, &flow);
            self.show(program, node, &flow);
        }
        if assigned {
            self.state.exported = exported;
        }
        if assigned && !words.is_empty() {
            self.state.variables = variables;
        }
        output
    }

    /// The input of a command after `<<<`.
    fn here_string(&mut self, node: Node<'_>, source: &str, flow: &mut Flow) -> Output {
        let parts = children(node).into_iter().filter(Node::is_named);
        let text: String = parts.map(|part| self.text(part, source)).collect();
        flow.add(&self.flow_of(node, source, std::slice::from_ref(&text)));
        Output {
            text: (!text.contains(UNKNOWN_SPAN)).then(|| format!("{text}\n")),
            piped: true,
            private: true,
            ..Output::default()
        }
    }

    /// Interprets a command given as a list of words.
    pub(crate) fn simple(&mut self, words: &[String], stdin: Output) -> Output {
        let before = std::mem::replace(&mut self.stdin, stdin.clone());
        let from = self.reading.effects.len();
        // what a program has printed from the network is not the user's
        let streams = stdin.piped && !stdin.network && stdin.file.is_none();
        let streams = streams && stdin.text.as_ref().is_none_or(|text| text.contains(UNKNOWN_SPAN));
        let output = self.run_program(words, stdin);
        if let Some(program) = words.first().filter(|_| streams) {
            self.carry(Some(program), from, &Flow::printed(true));
        }
        self.stdin = before;
        output
    }

    /// A command with the variables that the script sets in its environment.
    fn with_environment(&self, words: &[String]) -> Vec<String> {
        let set = |name: &String| match self.state.variables.get(name).map(Vec::as_slice) {
            Some([value]) if !value.contains(UNKNOWN_SPAN) && value.len() <= VALUE => Some(format!("{name}={value}")),
            _ => None,
        };
        let mut names: Vec<&String> = self.state.exported.iter().filter(|name| *name != "PATH").collect();
        names.sort_unstable();
        words.iter().cloned().chain(names.into_iter().take(VARIABLES).filter_map(set)).collect()
    }

    fn run_program(&mut self, words: &[String], stdin: Output) -> Output {
        // `time ! f`
        let words = words.get(words.iter().take_while(|word| *word == "!").count()..).unwrap_or_default();
        let Some((name, arguments)) = words.split_first() else { return Output::default() };
        self.reading.list(&self.with_environment(words));
        self.steps += 1;
        // each program in front of another hands all words on
        let spent = budget::produces(words.len() * WORD) || budget::is_spent();
        if self.steps > super::MAX_STEPS || self.depth > super::MAX_DEPTH || spent {
            self.unknown(Cause::Budget, "too many commands or nested too deep", name);
            return Output::default();
        }
        if name.contains(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "the command's name is not constant", &name.replace(UNKNOWN_SPAN, "…"));
            return self.flag_path_arguments("unknown", arguments);
        }
        if let Some(alias) = self.state.aliases.get(name).cloned() {
            return self.run_alias(&alias, words, stdin);
        }
        if self.state.functions.contains_key(name) {
            let before = self.state.fork();
            let output = self.call(name, arguments, stdin.clone());
            if !before.maybe_defined_functions.contains(name) {
                return output;
            }
            self.state.join(&before);
        }
        if name == "return"
            && let Some(states) = self.returned.last_mut()
        {
            states.push(self.state.fork());
        }
        self.unsettle(name, arguments);
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
            if let Some(program) = self.dependency(&path) {
                return self.run_dependency(&path, &program, arguments, stdin);
            }
            if let Some(output) = self.run_installed(&path, arguments, &stdin) {
                return output;
            }
            if let Some(output) = self.wrapper_script(&path, arguments, &stdin) {
                return output;
            }
            let (folder, base) = path.rsplit_once('/').unwrap_or(("", &path));
            if !PROGRAM_FOLDERS.contains(&folder) {
                return self.run_file(name, arguments, None);
            }
            base.to_owned()
        } else if let Some(path) = self.put_into_path(name) {
            return self.run_file(&path, arguments, None);
        } else {
            name.clone()
        };
        self.run_named(&program, arguments, stdin)
    }

    /// Interprets a program among the dependencies of the project, with their folder first in `PATH`.
    fn run_dependency(&mut self, path: &str, program: &str, arguments: &[String], stdin: Output) -> Output {
        self.add(Effect::new(Verb::Execute, Target::Path(path.to_owned()), program));
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.first_in_path(folder, |shell| shell.run_named(program, arguments, stdin))
    }

    /// Interprets something with a folder first in `PATH`.
    pub(super) fn first_in_path(&mut self, folder: &str, run: impl FnOnce(&mut Self) -> Output) -> Output {
        let before = self.state.variables.insert("PATH".to_owned(), vec![format!("{folder}:{UNKNOWN_SPAN}")]);
        let output = run(self);
        match before {
            Some(before) => self.state.variables.insert("PATH".to_owned(), before),
            None => self.state.variables.remove("PATH"),
        };
        output
    }

    /// Interprets a program by its row; `frob@latest` is `frob`.
    pub(super) fn run_named(&mut self, program: &str, arguments: &[String], stdin: Output) -> Output {
        let program = match program.rsplit_once('@') {
            Some((name, _)) if !name.is_empty() => name,
            _ => program,
        };
        let Some(row) = Table::shipped().row(program) else {
            if let Some(output) = self.project_program(program, arguments) {
                return output;
            }
            if let Some(output) = self.installed_program(program, arguments) {
                return output;
            }
            self.unknown(Cause::Program, program, program);
            return self.flag_path_arguments(program, arguments);
        };
        self.step(|| format!("{program}: {}", row.about));
        if let Some(special) = &row.special
            && let Some(output) = self.special(special, program, arguments, &stdin)
        {
            return output;
        }
        if let Some((plugin, words)) = self.plugin(program, arguments) {
            self.via.push(plugin);
            let output = self.run_program(&words, stdin);
            self.via.pop();
            return output;
        }
        self.run_listed(row, program, arguments, stdin)
    }

    /// Interprets a name that may be an alias: a non-interactive shell does not know aliases, and an interactive one
    /// only from the next line on.
    fn run_alias(&mut self, alias: &str, words: &[String], stdin: Output) -> Output {
        let Some((name, arguments)) = words.split_first() else { return Output::default() };
        self.step(|| format!("alias {name} -> {alias}"));
        let known = self.state.aliases.remove(name);
        let line = format!("{alias} {}", quote_all(arguments));
        let mut output = self.nested("alias", &line, stdin.clone());
        let other = Table::shipped().row(name).is_some() || self.state.functions.contains_key(name);
        if other {
            output = Output { text: None, ..self.run_program(words, stdin) };
        }
        self.state.aliases.extend(known.map(|alias| (name.clone(), alias)));
        output
    }

    /// Adds the effects of a program by the roles of its row.
    fn run_listed(&mut self, row: &Row, program: &str, arguments: &[String], stdin: Output) -> Output {
        let respelt = match program {
            "kill" => process_groups(arguments),
            "chmod" => mode_with_dash(arguments),
            _ => None,
        };
        let arguments = respelt.as_deref().unwrap_or(arguments);
        self.may_wait(program, arguments, &stdin);
        let mut bound = row.bind(arguments);
        self.note_sources(program, arguments, &stdin);
        let scratch = self.is_scratch(program, &bound);
        let scratch = std::mem::replace(&mut self.scratch, scratch);
        if let Some(Role::Script(language)) = bound.stdin.take()
            && !bound
                .arguments
                .iter()
                .any(|(role, _, _)| matches!(role, Role::Script(_) | Role::ScriptFile(_) | Role::Run | Role::Exec))
        {
            if stdin.piped {
                self.run_input(&language, program, arguments, &stdin);
            } else if !super::typed::is_question(arguments) {
                self.waits(program, &stdin);
            }
        }
        let files = self.files.clone();
        let from = self.reading.effects.len();
        self.effects(program, arguments, &bound, &stdin);
        self.scratch = scratch;
        self.note_local(program, from);
        self.note_environment(program, &bound, from);
        self.note_contained(program, &bound, arguments, (from, stdin.piped));
        let network = super::output::connects(&bound);
        let asked = |role: &Role| matches!(role, Role::Act { verb: Verb::Send, kind: Kind::Url, .. });
        let downloads = network || bound.arguments.iter().any(|(role, _, _)| asked(role));
        self.carries(program, &bound, &stdin, downloads, files);
        self.note_brought(&bound, from);
        if program == "helm" {
            self.chart(&bound, arguments);
        }
        self.load_files(program, &bound);
        self.survey(program, arguments, &bound);
        if program == "curl" && deletes(arguments) {
            let mut effect =
                Effect::new(Verb::Remote, Target::Named(Kind::Remote, "the server in the address".to_owned()), "curl");
            "delete".clone_into(&mut effect.operation);
            self.add(effect);
        }
        self.output_of(program, arguments, &bound, stdin)
    }

    /// Reports the paths among the arguments of an unknown program: they are judged even though the program is unknown.
    pub(crate) fn flag_path_arguments(&mut self, program: &str, arguments: &[String]) -> Output {
        for argument in arguments {
            let value = argument.split_once('=').map_or(argument.as_str(), |(_, v)| v);
            if value.starts_with('/') && !value.starts_with("//") {
                let mut effect = self.at(Verb::Unknown, value, program);
                Cause::Arguments.as_str().clone_into(&mut effect.operation);
                effect.detail = Detail::Argument;
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
        let Some(body) = self.state.functions.get(name).cloned() else { return Output::default() };
        self.step(|| format!("function {name}"));
        self.running.push(name.to_owned());
        self.state.locals.push(foldhash::HashMap::default());
        self.returned.push(Vec::new());
        let output = self.with_arguments(arguments, |shell| shell.source(&body, stdin));
        for state in self.returned.pop().unwrap_or_default() {
            self.state.join(&state);
        }
        for (name, old) in self.state.locals.pop().unwrap_or_default() {
            match old {
                Some(old) => self.state.variables.insert(name, old),
                None => self.state.variables.remove(&name),
            };
        }
        self.running.pop();
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
        let function = words.first().filter(|name| KEYWORDS.contains(&how) && self.state.functions.contains_key(*name));
        let program = function.is_none_or(|name| Table::shipped().row(name).is_some());
        let mut output = Output::default();
        if function.is_some() {
            output = self.simple(words, stdin.clone());
        }
        if program {
            let own = (self.state.functions.clone(), self.state.aliases.clone());
            self.leave(how);
            output = self.simple(words, stdin);
            (self.state.functions, self.state.aliases) = own;
        }
        self.depth -= 1;
        self.via.pop();
        output
    }
}

/// Most command lines of a command whose words have several possible values.
const LINES: usize = 8;

/// The possible command lines of words with alternatives.
fn combinations(words: &[String]) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = vec![Vec::new()];
    for word in words {
        let choices = spread(word);
        if choices.len() == 1 {
            lines.iter_mut().for_each(|line| line.extend(choices.iter().cloned()));
            continue;
        }
        if lines.len() * choices.len() > LINES {
            lines.iter_mut().for_each(|line| line.push(UNKNOWN_SPAN.to_string()));
            continue;
        }
        lines = choices
            .iter()
            .flat_map(|choice| lines.iter().map(|line| [&line[..], std::slice::from_ref(choice)].concat()))
            .collect();
    }
    lines
}

/// Whether the method of a request is DELETE, or its address asks for the same.
fn deletes(words: &[String]) -> bool {
    let mut after = false;
    // Elasticsearch and OpenSearch
    if words.iter().any(|word| word.contains("/_delete_by_query")) {
        return true;
    }
    words.iter().any(|word| {
        let method =
            if after { Some(word.as_str()) } else { word.strip_prefix("-X").or(word.strip_prefix("--request=")) };
        after = matches!(word.as_str(), "-X" | "--request");
        method.is_some_and(|method| method.eq_ignore_ascii_case("DELETE"))
    })
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

/// Whether a program runs its input.
pub(crate) fn is_shell(word: &str) -> bool {
    let base = word.rsplit('/').next().unwrap_or(word);
    matches!(
        base,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" | "python" | "python3" | "perl" | "ruby" | "cmd"
    )
}
