//! Source in languages that are read word by word, scripts of editors, commands of database clients.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::{Cause, Verb};

/// Words with which a statement that is no SQL acts.
const ACTS: [&str; 22] = [
    "drop",
    "delete",
    "update",
    "insert",
    "alter",
    "truncate",
    "copy",
    "outfile",
    "load_file",
    "exec",
    "create",
    "grant",
    "revoke",
    "attach",
    ".shell",
    ".system",
    "\\!",
    "do ",
    "call",
    "set ",
    "into",
    "system",
];
/// Calls of several languages that run a command line, and the character that ends it.
const RUNS: [(&str, char); 4] = [("system(", ')'), ("exec(", ')'), ("`", '`'), ("os.execute(", ')')];
/// Marks at the beginning of a line with which a database client runs a shell.
const ESCAPES: [&str; 7] = ["\\!", ".shell ", ".system ", "system ", "shell ", "host ", "!"];

impl Shell<'_> {
    /// Interprets lines with which a client runs a shell: `\! rm`, `.shell rm`, `!rm`.
    pub(super) fn escapes(&mut self, text: &str, how: &str) {
        for line in text.lines().map(str::trim_start) {
            if let Some(command) = ESCAPES.iter().find_map(|mark| line.strip_prefix(mark)) {
                self.nested(how, command, Output::default());
            }
        }
    }

    /// Interprets a language without a parser here: constant text that clearly starts commands is parsed as shell.
    pub(crate) fn foreign(&mut self, language: &str, text: &str, how: &str) {
        if language == "sed" {
            return self.sed(text, how);
        }
        let reading = match language {
            "ed" | "ex" => Some(crate::oneliner::editor::extract_effects(text, language == "ex")),
            "sql" => None,
            _ => crate::oneliner::extract_effects(language, text),
        };
        let constant = !text.contains(UNKNOWN_SPAN);
        let complete = reading.as_ref().is_some_and(|reading| reading.problems.is_empty());
        if let Some(reading) = reading {
            self.via.push(how.to_owned());
            let from = self.reading.effects.len();
            self.source_read(reading, language);
            self.carry_of_code(text, from);
            self.via.pop();
        } else if language != "sql" || !is_harmless(text) {
            self.unknown(Cause::Language, &format!("{language} source"), how);
        }
        if !constant {
            self.unknown(Cause::Dynamic, "parts of the source are not constant", how);
        }
        if !complete {
            self.visible_commands(text, how);
        }
    }

    /// Constant text that clearly starts commands, in source that is not read completely.
    fn visible_commands(&mut self, text: &str, how: &str) {
        for (head, tail) in RUNS {
            for part in text.split(head).skip(1) {
                let inner = part.split(tail).next().unwrap_or_default().trim().trim_matches(['"', '\'']);
                if !inner.is_empty() && inner.len() < part.len() {
                    self.nested(&format!("{how} {head}"), inner, Output::default());
                }
            }
        }
    }

    /// Interprets a sed script.
    fn sed(&mut self, text: &str, how: &str) {
        let sed = super::sed::parse_script(text);
        for command in &sed.commands {
            self.nested(how, command, Output::default());
        }
        for (files, verb) in [(&sed.writes, Verb::Write), (&sed.reads, Verb::Read)] {
            for file in files {
                let effect = self.at(verb, file, how);
                self.add(effect);
            }
        }
        if sed.opaque {
            self.unknown(Cause::Language, "sed runs generated text, or its script has no parser", how);
        }
    }
}

/// Whether commands of a database client that are no SQL only show something.
fn is_harmless(text: &str) -> bool {
    if text.lines().any(|line| line.trim_start().starts_with(['\\', '.'])) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    !text.contains(UNKNOWN_SPAN)
        && !ACTS.iter().any(|act| lower.contains(act))
        && !["source ", "tee ", "pager "].iter().any(|act| lower.contains(act))
}
