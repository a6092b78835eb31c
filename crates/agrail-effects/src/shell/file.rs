//! Files that are run: their language, their content as the action leaves it, and whose they are.

use super::content::Content;
use super::{Output, ReadError, Shell};
use crate::{Cause, Detail, Effect, Target, Verb};
use std::rc::Rc;

/// Endings of scripts whose readers follow what they load.
const FOLLOWED: [&str; 7] = ["py", "js", "mjs", "cjs", "ts", "sh", "bash"];

impl Shell<'_> {
    /// Interprets the execution of a script or program at a path.
    pub(crate) fn run_file(&mut self, written: &str, arguments: &[String], language: Option<&str>) -> Output {
        if let Some(language) = language.filter(|language| written == "-" && *language != "source") {
            let stdin = self.stdin.clone();
            if stdin.piped {
                self.run_input(language, written, arguments, &stdin);
            } else {
                self.waits(language, &stdin);
            }
            return Output::default();
        }
        let mut path = self.path(written);
        if language == Some("source") && self.activates(&path) {
            self.step(|| format!("{path}: of an environment that the action makes"));
            return Output::silent();
        }
        if language == Some("js") {
            path = self.module_file(&path);
        }
        // the loader of the project's dependencies
        if language == Some("php") && path.ends_with("/vendor/autoload.php") && self.is_untouched(&path) {
            self.add(Effect::new(Verb::Execute, Target::Path(path), written));
            return Output::default();
        }
        if language != Some("source")
            && let Some(output) = self.entry_script(&path, arguments)
        {
            return output;
        }
        if let Some(stream) = self.stream(&path) {
            let language = language.filter(|name| *name != "source").unwrap_or("bash");
            self.run_input(language, written, arguments, &stream);
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
        let there =
            |path: &str| self.contents(path) != [Content::Before(path.to_owned())] || { !self.around.is_missing(path) };
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
        let unchanged = matches!(&content, Content::Before(at) if at == path);
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
                let digest = digest(&content);
                self.reading.scripts.push((path.to_owned(), digest.clone()));
                effect.detail = Detail::Digest(digest);
                self.add(effect);
                // a file from elsewhere that the project's code runs is none of the project
                let own = unchanged && self.is_own_file(path);
                if own {
                    let followed = path.rsplit_once('.').is_some_and(|(_, ending)| FOLLOWED.contains(&ending));
                    self.survey_file(written, path, followed);
                }
                self.as_own_code(own, |shell| shell.run_text(path, written, &content, arguments, language))
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

    /// Interprets the content of a script in a language, or in the one that its first line names.
    fn run_text(
        &mut self,
        path: &str,
        written: &str,
        content: &[u8],
        arguments: &[String],
        language: Option<&str>,
    ) -> Output {
        let text = String::from_utf8_lossy(content).into_owned();
        let own = if language == Some("source") { None } else { shebang(&text) };
        let found = own.or(language.map(str::to_owned)).unwrap_or_else(|| "bash".to_owned());
        if content.contains(&0) {
            let mut effect = Effect::unknown(Cause::Script, path, written);
            crate::BINARY.clone_into(&mut effect.operation);
            self.add(effect);
            return self.flag_path_arguments(path, arguments);
        }
        if self.via.iter().filter(|v| v.as_str() == path).count() > 1 {
            self.unknown(Cause::Budget, "a script runs itself", written);
            return Output::default();
        }
        if found == "source" && arguments.is_empty() {
            // it has the arguments of this shell
            let outer = self.state.variables.get("BASH_SOURCE").cloned();
            self.named_as(written, &found);
            let output = self.script(&found, &text, path);
            match outer {
                Some(outer) => drop(self.state.variables.insert("BASH_SOURCE".to_owned(), outer)),
                None => drop(self.state.variables.remove("BASH_SOURCE")),
            }
            return output;
        }
        self.scoped(|shell| {
            shell.named_as(written, &found);
            shell.with_arguments(arguments, |shell| match found.as_str() {
                "python" => {
                    shell.python(&text, path, Some(arguments));
                    Output::default()
                }
                language => shell.script(language, &text, path),
            })
        })
    }

    /// Interprets code that is, or is not, a file of the project or the recipe of one.
    pub(super) fn as_own_code<R>(&mut self, own: bool, run: impl FnOnce(&mut Self) -> R) -> R {
        let before = (std::mem::replace(&mut self.packaged, own), std::mem::replace(&mut self.own_code, own));
        let result = run(self);
        (self.packaged, self.own_code) = before;
        result
    }

    /// Whether a file belongs to the project, and the action has not changed it.
    pub(super) fn is_untouched(&self, path: &str) -> bool {
        self.is_own_file(path) && self.untouched(path)
    }

    /// Whether the action has not changed a file.
    pub(super) fn untouched(&self, path: &str) -> bool {
        self.changes_nothing() || self.contents(path) == [Content::Before(path.to_owned())]
    }

    /// Whether a file belongs to the project around the working folder: a script that uses what the table lacks is code of
    /// the project.
    pub(super) fn is_own_file(&self, path: &str) -> bool {
        let temporary = path.starts_with("/tmp/") || path.starts_with("/var/tmp/");
        let below = |root: Rc<str>| path.strip_prefix(&*root).is_some_and(|rest| rest.starts_with('/'));
        !temporary && !self.state.privileged && self.shared_root().is_some_and(below)
    }
}

/// The language that the first line of a script names.
pub(crate) fn shebang(text: &str) -> Option<String> {
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

/// The beginning of the SHA-256 digest of a content, as hexadecimal digits.
pub(crate) fn digest(content: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(content).iter().take(16).map(|b| format!("{b:02x}")).collect()
}
