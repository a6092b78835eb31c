//! Interprets source that is run: from standard input, the command line and files, and in other languages.

use super::content::Content;
use super::roles::Command;
use super::state::State;
use super::{Output, ReadError, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::reading::{Loaded, Loader, Reading};
use crate::role::Role;
use crate::table::Bound;
use crate::{Cause, Detail, Effect, Target, Verb};
use std::cell::RefCell;

/// Most arguments of a program that may be the path that it computes.
const MAX_GIVEN: usize = 32;

impl Shell<'_> {
    /// Interprets the text on standard input that an interpreter runs.
    pub(crate) fn run_input(&mut self, language: &str, program: &str, stdin: &Output) {
        if stdin.network {
            self.downloaded(program);
        } else if let Some(text) = stdin.text.clone() {
            if stdin.decoded {
                self.step(|| "decoded text is run".to_owned());
            }
            self.with_arguments(&[], |shell| shell.script(language, &text, &format!("{program} <input>")));
        } else {
            self.unknown(Cause::Dynamic, "the source on its standard input", program);
        }
    }

    /// Adds the execution of downloaded code.
    fn downloaded(&mut self, program: &str) {
        let mut effect =
            Effect::new(Verb::Execute, Target::Named(Kind::Program, "downloaded code".to_owned()), program);
        effect.detail = Detail::Network;
        self.add(effect);
    }

    /// Adds an unknown effect for a file that would run but cannot be read.
    pub(crate) fn unread(&mut self, path: &str, why: ReadError, program: &str) {
        let mut unknown = Effect::unknown(Cause::Script, path, program);
        unknown.detail = why.into();
        self.add(unknown);
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
                self.python(text, how);
                Output::default()
            }
            "js" | "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => {
                self.javascript(text, how);
                Output::default()
            }
            // commands of the client itself (`.tables`, `\d`) are not SQL: `foreign` judges them by their words
            "sql" if crate::sql::parses(text) => {
                for effect in crate::sql::extract_effects(text) {
                    self.add(effect);
                }
                Output::default()
            }
            _ => {
                self.foreign(language, text, how);
                Output::default()
            }
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
        let before = std::mem::take(&mut self.state.arguments);
        self.state.arguments = arguments.to_vec();
        let output = run(self);
        self.state.arguments = before;
        output
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
        let reading = crate::code::extract_effects(text, path, &modules);
        let read = modules.read.into_inner();
        self.reading.scripts.extend(read);
        self.source_read(reading, "node");
        self.via.pop();
    }

    pub(crate) fn python(&mut self, text: &str, how: &str) {
        if text.contains(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "parts of the source are not constant", how);
        }
        self.via.push(how.to_owned());
        let (inline, folder) = (self.path("[source]"), self.path("."));
        let path = if how.starts_with('/') { how } else { inline.as_str() };
        let modules = Modules { shell: self, read: RefCell::default() };
        let place = crate::python::Place { path, folder: &folder, loader: &modules };
        let reading = crate::python::extract_effects(text, &place, self.around.library());
        let read = modules.read.into_inner();
        self.reading.scripts.extend(read);
        self.source_read(reading, "python");
        self.via.pop();
    }

    /// Adds the effects of calls of a program, which use the roles of the table.
    pub(super) fn source_read(&mut self, reading: Reading, language: &str) {
        for problem in &reading.problems {
            self.unknown(problem.cause, &problem.what, language);
        }
        for call in reading.calls {
            let Ok(role) = Role::parse(&call.role) else {
                self.unknown(Cause::Program, &call.via, language);
                continue;
            };
            match role {
                Role::ScriptFile(language) if !call.dynamic => drop(self.run_file(&call.target, &[], Some(&language))),
                Role::Cwd => {}
                Role::Script(language) => {
                    if call.role == crate::python::STATEMENT {
                        // a statement that does not parse is unknown
                        for effect in crate::sql::extract_effects(&call.target) {
                            self.add(effect);
                        }
                    } else if call.target.starts_with(UNKNOWN_SPAN) {
                        self.unknown(Cause::Dynamic, "the source that it runs", &call.via);
                    } else {
                        self.with_arguments(&[], |shell| shell.script(&language, &call.target, &call.via));
                    }
                }
                Role::Unknown => self.unknown(Cause::Program, &call.target, &call.via),
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
    }

    /// What a path that the program computes may be: each path among its arguments.
    fn given_paths(&self, role: &Role, computed: &str) -> Vec<String> {
        let on_path = matches!(role, Role::Act { kind: Kind::Path, .. } | Role::Into | Role::Copy);
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
        let given = self.state.arguments.iter().filter_map(value).filter(is_path).filter(fits);
        given.take(MAX_GIVEN).map(|path| format!("{path}{rest}")).collect()
    }

    /// Interprets the execution of a script or program at a path.
    pub(crate) fn run_file(&mut self, written: &str, arguments: &[String], language: Option<&str>) -> Output {
        if let Some(language) = language.filter(|language| written == "-" && *language != "source") {
            let stdin = self.stdin.clone();
            if stdin.piped {
                self.run_input(language, written, &stdin);
            } else {
                self.waits(language, &stdin);
            }
            return Output::default();
        }
        let mut path = self.path(written);
        if language == Some("js") {
            path = self.module_file(&path);
        }
        if let Some(stream) = self.stream(&path) {
            self.run_input(language.filter(|name| *name != "source").unwrap_or("bash"), written, &stream);
            return Output::default();
        }
        let mut effect = Effect::new(Verb::Execute, Target::Path(path.clone()), written);
        if language.is_some() {
            // an interpreter only reads the file
            "source".clone_into(&mut effect.operation);
        }
        self.step(|| format!("runs the file {path}"));
        let (mut output, before) = (Output::silent(), self.state.fork());
        let mut ends = Vec::new();
        for content in self.contents(&path) {
            let one = self.run_content(&path, &effect, content, arguments, language);
            output = super::syntax::join(output, one);
            ends.push(std::mem::replace(&mut self.state, before.fork()));
        }
        self.resume(ends);
        output
    }

    /// The file that Node.js runs for a path: its ending may be left out, and a folder has an index.
    pub(super) fn module_file(&self, path: &str) -> String {
        let there = |path: &str| {
            self.contents(path) != [Content::Before(path.to_owned())] || {
                !self.around.script(path, super::MAX_SOURCE).is_err_and(|unread| unread.is_missing())
            }
        };
        let endings = [".js", ".cjs", ".mjs", ".json", ".ts", ".tsx", ".mts", ".cts", "/index.js", "/index.ts"];
        if self.around.folder(path) != Some(true) && there(path) {
            return path.to_owned();
        }
        let other = endings.iter().map(|ending| format!("{path}{ending}")).find(|path| there(path));
        other.unwrap_or_else(|| path.to_owned())
    }

    /// Interprets one of the possible contents of a file.
    fn run_content(
        &mut self,
        path: &str,
        execute: &Effect,
        content: Content,
        arguments: &[String],
        language: Option<&str>,
    ) -> Output {
        let (mut effect, written) = (execute.clone(), execute.program.as_str());
        let content = match content {
            Content::Before(at) => self.around.script(&at, super::MAX_SOURCE),
            Content::Text(text) => Ok(text.as_bytes().to_vec()),
            Content::Downloaded => {
                self.add(effect);
                self.downloaded(written);
                return Output::default();
            }
            Content::Brought => Err(ReadError::Brought),
            Content::By(program) => {
                self.step(|| format!("{program} changes {path} before"));
                Err(ReadError::Changed)
            }
        };
        match content {
            Ok(content) => {
                let text = String::from_utf8_lossy(&content).into_owned();
                let own = if language == Some("source") { None } else { shebang(&text) };
                let found = own.or(language.map(str::to_owned)).unwrap_or_else(|| "bash".to_owned());
                let digest = digest(&content);
                self.reading.scripts.push((path.to_owned(), digest.clone()));
                effect.detail = Detail::Digest(digest);
                self.add(effect);
                if content.contains(&0) {
                    self.unknown(Cause::Script, "a binary file", written);
                    return Output::default();
                }
                if self.via.iter().filter(|v| v.as_str() == path).count() > 1 {
                    self.unknown(Cause::Budget, "a script runs itself", written);
                    return Output::default();
                }
                if found == "source" && arguments.is_empty() {
                    // it has the arguments of this shell
                    return self.script(&found, &text, path);
                }
                self.with_arguments(arguments, |shell| shell.script(&found, &text, path))
            }
            Err(unread) => {
                self.add(effect);
                self.step(|| format!("cannot read {path}: {unread}"));
                // the word is not the name of a missing file, but something else that would run
                if unread.is_missing() && (written.contains(char::is_whitespace) || written.contains(':')) {
                    self.unknown(Cause::Arguments, written, written);
                }
                self.unread(path, unread, written);
                Output::default()
            }
        }
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
            Err(_) => Loaded::Unreadable,
        }
    }
}

fn shebang(text: &str) -> Option<String> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let program = line
        .split_whitespace()
        .map(|w| w.rsplit('/').next().unwrap_or(w))
        .find(|w| *w != "env" && !w.starts_with('-'))?;
    let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match base {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => "bash".to_owned(),
        other => other.to_owned(),
    })
}

pub(crate) fn digest(content: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(content).iter().take(16).map(|b| format!("{b:02x}")).collect()
}
