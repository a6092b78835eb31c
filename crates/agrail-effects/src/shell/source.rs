//! Interprets source that is run: from standard input, the command line and files, and in other languages.

use super::file::digest;
use super::roles::Command;
use super::state::State;
use super::{Output, ReadError, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::kept;
use crate::oneliner::OWN_FOLDER;
use crate::reading::{Call, LIBRARY, Loaded, Loader, MODULE, MODULE_FOLDER, Reading};
use crate::role::Role;
use crate::table::Bound;
use crate::{Cause, Detail, Effect, Target, Verb};
use std::cell::RefCell;

/// What a statement has that reaches beyond its own database.
const BEYOND: [&str; 8] =
    ["attach", "edit(", "fsdir", "fts3_tokenizer", "load_extension", "readfile", "vacuum", "writefile"];
/// Most arguments of a program that may be the path that it computes.
const MAX_GIVEN: usize = 32;

impl Shell<'_> {
    /// Interprets the text on standard input that an interpreter runs. `words` are those that the text gets; of other
    /// languages than the shell's, options of the interpreter are among them.
    pub(crate) fn run_input(&mut self, language: &str, program: &str, words: &[String], stdin: &Output) {
        if stdin.network {
            self.downloaded(program);
        } else if let Some(text) = stdin.text.clone() {
            if stdin.decoded {
                self.step(|| "decoded text is run".to_owned());
            }
            self.with_arguments(words, |shell| shell.script(language, &text, &format!("{program} <input>")));
        } else if let Some(file) = &stdin.file {
            let exact = matches!(language, "bash" | "sh");
            let unknown = (!exact).then(|| UNKNOWN_SPAN.to_string());
            let words: Vec<String> = unknown.into_iter().chain(words.iter().cloned()).collect();
            drop(self.run_file(file, &words, Some(language)));
        } else {
            self.unknown(Cause::Dynamic, "the source on its standard input", program);
        }
    }

    /// Adds the execution of downloaded code.
    pub(crate) fn downloaded(&mut self, program: &str) {
        let mut effect =
            Effect::new(Verb::Execute, Target::Named(Kind::Program, "downloaded code".to_owned()), program);
        effect.detail = Detail::Network;
        if self.own_code {
            "project".clone_into(&mut effect.operation);
        }
        self.add(effect);
    }

    /// Adds an unknown effect for a file that would run but cannot be read.
    ///
    /// A file that is not there cannot run: a script of the project that names one just fails, unless a program that ran
    /// before may have made it.
    pub(crate) fn unread(&mut self, path: &str, why: ReadError, program: &str) {
        if why.is_missing() && self.own_code && self.is_own_file(path) && !self.may_have_made(path) {
            return self.step(|| format!("there is no {path}"));
        }
        if self.is_built(path, &why) {
            return self.step(|| format!("{path} is built from the project"));
        }
        let mut unknown = Effect::unknown(Cause::Script, path, program);
        unknown.detail = why.into();
        self.add(unknown);
    }

    /// Whether a program of this action ran code or installed something in a folder above a path.
    fn may_have_made(&self, path: &str) -> bool {
        let above = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.reading.effects.iter().any(|effect| match (effect.verb, &effect.target) {
            (Verb::Execute | Verb::Install, Target::Path(folder)) => above(folder),
            // `aws s3 cp X scripts/x.sh`
            (Verb::Write | Verb::Overwrite | Verb::Append, Target::Path(file)) => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                file == path || effect.verb == Verb::Overwrite && file.trim_end_matches('/') == folder
            }
            _ => false,
        })
    }

    /// Interprets source text in a language.
    pub(crate) fn script(&mut self, language: &str, text: &str, how: &str) -> Output {
        if matches!(language, "sql" | "ftp") {
            self.escapes(text, how);
        }
        match language {
            "ftp" => Output::default(),
            "bash" | "sh" => self.child(how, |shell| shell.nested(how, text, Output::default())),
            "source" => self.sourced(how, text),
            "python" => {
                self.python(text, how, None);
                Output::default()
            }
            "notebook" => match super::notebook::source(text) {
                Some((language, source)) => self.script(language, &source, how),
                None => {
                    self.unknown(Cause::Parse, "the notebook", how);
                    Output::default()
                }
            },
            "js" | "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => {
                self.javascript(text, how);
                Output::default()
            }
            // commands of the client itself (`.tables`, `\d`) stand between the statements
            "sql" => {
                let statements = self.client_commands(text, how);
                if statements.trim().is_empty() {
                    return Output::default();
                }
                if crate::sql::parses(&statements) {
                    let lower = statements.to_ascii_lowercase();
                    self.scratch &= !BEYOND.iter().any(|word| lower.contains(word));
                    let scratch = self.scratch;
                    let matters = |effect: &Effect| match effect.target.kind() {
                        Kind::Table | Kind::Column | Kind::Dynamic => !scratch,
                        _ => true,
                    };
                    let effects = crate::sql::extract_effects(&statements).into_iter().filter(matters);
                    effects.for_each(|effect| self.add(effect));
                } else {
                    self.foreign(language, &statements, how);
                }
                Output::default()
            }
            "manifest" => {
                self.manifest(text, how);
                Output::default()
            }
            _ => match self.tasks(language, text, how) {
                Some(output) => output,
                None => {
                    self.foreign(language, text, how);
                    Output::default()
                }
            },
        }
    }

    /// Interprets text that this shell itself runs: what it changes holds for the commands after it.
    fn sourced(&mut self, how: &str, text: &str) -> Output {
        self.returned.push(Vec::new());
        let output = self.nested(how, text, Output::default());
        for state in self.returned.pop().unwrap_or_default() {
            self.state.join(&state);
        }
        output
    }

    /// Interprets code in a child shell, which only knows the exported variables of this one.
    pub(crate) fn child(&mut self, how: &str, run: impl FnOnce(&mut Self) -> Output) -> Output {
        self.scoped(|shell| {
            shell.leave(how);
            let State { variables, exported, .. } = &mut shell.state;
            let hidden = |name: &str| {
                name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && !exported.contains(name)
            };
            for (name, values) in variables.iter_mut() {
                if hidden(name) {
                    *values = vec![UNKNOWN_SPAN.to_string()];
                }
            }
            run(shell)
        })
    }

    /// Interprets code with other arguments in the same shell.
    pub(crate) fn with_arguments(&mut self, arguments: &[String], run: impl FnOnce(&mut Self) -> Output) -> Output {
        let before = self.state.arguments.replace(arguments.to_vec());
        let output = run(self);
        self.state.arguments = before;
        output
    }

    /// Notes the names by which a script of the shell knows itself.
    pub(super) fn named_as(&mut self, written: &str, language: &str) {
        if matches!(language, "bash" | "sh" | "source") {
            let names: &[&str] = if language == "source" { &["BASH_SOURCE"] } else { &["0", "BASH_SOURCE"] };
            for name in names {
                self.state.variables.insert((*name).to_owned(), vec![written.to_owned()]);
                // a child does not lose them
                self.state.exported.insert((*name).to_owned());
            }
        }
    }

    /// Forgets functions and aliases: they belong to this shell, and other programs do not know them.
    pub(crate) fn leave(&mut self, how: &str) {
        if self.state.exports_functions && !self.state.functions.is_empty() {
            self.unknown(Cause::Dynamic, "functions may be handed on to another shell", how);
        }
        self.state.functions.clear();
        self.state.aliases.clear();
    }

    /// Interprets JavaScript or TypeScript; `how` is the path of its file, or the command that runs it.
    fn javascript(&mut self, text: &str, how: &str) {
        if text.contains(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "parts of the source are not constant", how);
        }
        self.via.push(how.to_owned());
        // source without a file loads modules from the working folder
        let inline = self.path("[eval]");
        let path = if how.starts_with('/') { how } else { inline.as_str() };
        let modules = Modules { shell: self, read: RefCell::default() };
        let parts = ["javascript", text, path, &self.path(".")];
        let reading = kept::reading(&parts, &modules, |loader| crate::code::extract_effects(text, path, loader));
        let read = modules.read.into_inner();
        self.reading.scripts.extend(read);
        let from = self.reading.effects.len();
        self.source_read(reading, "node");
        self.carry_of_code(text, from);
        self.via.pop();
    }

    /// Interprets Python; `words` are those that it gets, if all are known.
    pub(crate) fn python(&mut self, text: &str, how: &str, words: Option<&[String]>) {
        if text.contains(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "parts of the source are not constant", how);
        }
        self.via.push(how.to_owned());
        let (inline, folder) = (self.path("[source]"), self.path("."));
        let path = if how.starts_with('/') { how } else { inline.as_str() };
        let modules = Modules { shell: self, read: RefCell::default() };
        let library = self.around.library();
        let read = |loader: &dyn Loader| {
            let place = crate::python::Place { path, folder: &folder, words, loader };
            crate::python::extract_effects(text, &place, library)
        };
        let given = if words.is_some() { "given" } else { "" };
        let mut parts = vec!["python", text, path, &folder, library.digest(), given];
        parts.extend(words.into_iter().flatten().map(String::as_str));
        let reading = kept::reading(&parts, &modules, read);
        let read = modules.read.into_inner();
        self.reading.scripts.extend(read);
        let from = self.reading.effects.len();
        self.source_read(reading, "python");
        self.carry_of_code(text, from);
        self.via.pop();
    }

    /// Adds the effects of calls of a program, which use the roles of the table.
    pub(super) fn source_read(&mut self, reading: Reading, language: &str) {
        for problem in &reading.problems {
            self.surely_unknown(problem.cause, &problem.what, language);
        }
        if reading.calls.iter().any(is_network) && reading.calls.iter().any(is_bare_shell) {
            self.remote_shell(language);
        }
        let named = reading.calls.iter().filter(|call| call.role == MODULE_FOLDER);
        let folders: Vec<String> = named.map(|call| call.target.clone()).collect();
        let mut undefined = Vec::new();
        for call in reading.calls {
            if call.role == MODULE {
                self.load_module(&call.target, language, &folders);
                continue;
            }
            if call.role == MODULE_FOLDER {
                continue;
            }
            // in code of the project, a package is one of its own dependencies
            if call.role == LIBRARY {
                if self.is_packaged() || matches!(language, "python" | "node") {
                    self.unknown(Cause::Program, &call.target, &call.via);
                } else {
                    undefined.push(call);
                }
                continue;
            }
            let Ok(role) = Role::parse(&call.role) else {
                self.surely_unknown(Cause::Program, &call.via, language);
                continue;
            };
            match role {
                Role::ScriptFile(language) if !call.dynamic => {
                    let file = self.beside(&call, &language);
                    // it has the words of the program that loads it
                    drop(self.run_file(&file, &[UNKNOWN_SPAN.to_string()], Some(&language)));
                }
                Role::Cwd => {}
                Role::Script(language) => self.source_of(&call, &language),
                Role::Unknown => undefined.push(call),
                Role::Act { kind: Kind::Column | Kind::Table, .. } if call.target.contains(UNKNOWN_SPAN) => {
                    let what = format!("which data is meant: {}", call.target);
                    self.unknown(Cause::Dynamic, &what, &call.via);
                }
                role => {
                    let bound = Bound { recursive: call.recursive, ..Bound::default() };
                    let detail = call.detail;
                    let home_relative = if call.target == "~" || call.target.starts_with("~/") {
                        call.target.replacen('~', &self.state.home, 1)
                    } else {
                        call.target
                    };
                    let command = Command { program: &call.via, bound: &bound, detail: &detail, incoming: &[] };
                    for path in self.given_paths(&role, &home_relative) {
                        self.role(&role, &path, &command);
                    }
                    self.role(&role, &home_relative, &command);
                }
            }
        }
        self.undefined(&undefined, language);
    }

    /// Interprets source that a call runs.
    fn source_of(&mut self, call: &Call, language: &str) {
        if call.role == crate::python::STATEMENT {
            // a statement that does not parse is unknown
            crate::sql::extract_effects(&call.target).into_iter().for_each(|effect| self.add(effect));
        } else if call.target.starts_with(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "the source that it runs", &call.via);
        } else {
            self.with_arguments(&[], |shell| shell.script(language, &call.target, &call.via));
        }
    }

    /// Interprets a module by its name: a file of the project, or one of an installed package.
    pub(super) fn load_module(&mut self, name: &str, language: &str, more: &[String]) {
        let source = self.via.iter().rev().find(|how| how.starts_with('/'));
        let own = source.and_then(|path| path.rsplit_once('/')).map_or(".", |(folder, _)| folder).to_owned();
        let path = &name.replace("::", "/").replace('.', "/");
        let endings: &[&str] = match language {
            "perl" => &[".pm", ".pl"],
            "lua" => &[".lua", "/init.lua"],
            _ => &[".rb"],
        };
        let folders = more.iter().cloned().chain([
            own.clone(),
            ".".to_owned(),
            "lib".to_owned(),
            "src".to_owned(),
            format!("{own}/lib"),
        ]);
        let files = folders.flat_map(|folder| endings.iter().map(move |ending| format!("{folder}/{path}{ending}")));
        let there = |file: &String| !self.read_contents(&self.path(file)).is_err_and(|unread| unread.is_missing());
        match files.into_iter().find(there) {
            Some(file) if self.via.iter().any(|how| *how == self.path(&file)) => {}
            Some(file) => drop(self.run_file(&file, &[], Some(language))),
            None => self.unknown(Cause::Program, name, language),
        }
    }

    /// The file that a call loads: relative to the source's own folder where the language says so.
    fn beside(&self, call: &Call, language: &str) -> String {
        let source = self.via.iter().rev().find(|how| how.starts_with('/'));
        let folder = source.and_then(|path| path.rsplit_once('/')).map_or(".", |(folder, _)| folder);
        let ending = if language == "ruby" && !call.target.ends_with(".rb") { ".rb" } else { "" };
        match call.target.strip_prefix(OWN_FOLDER) {
            Some(rest) => format!("{folder}{rest}{ending}"),
            None if call.via == "require_relative" || call.via == "include" && language == "julia" => {
                format!("{folder}/{}{ending}", call.target)
            }
            None => format!("{}{ending}", call.target),
        }
    }

    /// What a path that the program computes may be: each path among its arguments.
    fn given_paths(&self, role: &Role, computed: &str) -> Vec<String> {
        let on_path = matches!(role, Role::Act { kind: Kind::Path, .. } | Role::Into | Role::Mirror | Role::Copy);
        let Some(rest) = computed.strip_prefix(UNKNOWN_SPAN).filter(|_| on_path) else { return Vec::new() };
        let value = |word: &String| match word.split_once('=') {
            Some((_, value)) => Some(value.to_owned()),
            None => Some(word.clone()).filter(|word| !word.starts_with('-')),
        };
        let is_path = |word: &String| {
            (word.contains('/') || word.starts_with(['.', '~']))
                && !word.contains("://")
                && !word.contains(UNKNOWN_SPAN)
        };
        // nothing is below a file
        let fits = |path: &String| !rest.starts_with('/') || self.around.folder(&self.path(path)) != Some(false);
        let given = self.state.arguments.iter().flatten().filter_map(value).filter(is_path).filter(fits);
        given.take(MAX_GIVEN).map(|path| format!("{path}{rest}")).collect()
    }
}

/// The modules of the project that a script loads, as far as they are constant.
struct Modules<'a, 's> {
    shell: &'a Shell<'s>,
    /// Path and digest of each that was read.
    read: RefCell<Vec<(String, String)>>,
}

impl Loader for Modules<'_, '_> {
    fn load(&self, path: &str) -> Loaded {
        let path = self.shell.path(path);
        match self.shell.read_contents(&path) {
            Ok(contents) => match contents.as_slice() {
                [content] => {
                    self.read.borrow_mut().push((path, digest(content)));
                    Loaded::Text(String::from_utf8_lossy(content).into_owned())
                }
                _ => Loaded::Unreadable,
            },
            Err(unread) if unread.is_missing() => Loaded::Missing,
            // a program that wrote somewhere did not make each module that a search tries
            Err(_) if self.shell.is_hardly_made(&path) => Loaded::Missing,
            Err(_) => Loaded::Unreadable,
        }
    }
}

/// Whether a call opens a connection, or waits for one.
fn is_network(call: &Call) -> bool {
    let verb = call.role.split([':', '/']).next().unwrap_or_default();
    matches!(verb, "connect" | "listen" | "send")
}

/// Whether a call starts a shell without a script: it reads commands from its input.
fn is_bare_shell(call: &Call) -> bool {
    if call.role != "script:bash" {
        return false;
    }
    // with an input that the program computes
    let line = match call.target.rsplit_once('|') {
        Some((input, line)) if input.contains(UNKNOWN_SPAN) => line,
        Some(_) => return false,
        None => call.target.as_str(),
    };
    let mut words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let shell = matches!(program, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" | "cmd.exe" | "powershell");
    shell && words.all(|word| word.starts_with(['-', '<', '>', '&', '2']) && word != "-c")
}
