//! Commands of database clients between SQL statements: those of psql begin with `\\`, those of sqlite3 with a dot.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::role::Role;
use crate::table::Bound;
use crate::{Cause, Verb};

/// What a command of a client does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Nothing,
    /// It runs the SQL of a file.
    Runs,
    /// It writes a file, or hands its output to a program after a bar.
    Writes,
    Reads,
    /// It copies between a file and a table.
    Copies,
}

/// Commands by name; anything else is unknown. Lines that run a shell are interpreted apart, see `escapes`.
const COMMANDS: [(&[&str], Does); 5] = [
    (
        &[
            "\\a",
            "\\C",
            "\\conninfo",
            "\\copyright",
            "\\echo",
            "\\elif",
            "\\else",
            "\\encoding",
            "\\endif",
            "\\errverbose",
            "\\f",
            "\\gdesc",
            "\\gset",
            "\\gx",
            "\\H",
            "\\h",
            "\\if",
            "\\l",
            "\\p",
            "\\pset",
            "\\q",
            "\\qecho",
            "\\r",
            "\\set",
            "\\sf",
            "\\sv",
            "\\t",
            "\\T",
            "\\timing",
            "\\unset",
            "\\warn",
            "\\watch",
            "\\x",
            "\\z",
            "\\?",
            "\\bind",
            ".bail",
            ".binary",
            ".changes",
            ".databases",
            ".dbinfo",
            ".dump",
            ".echo",
            ".eqp",
            ".exit",
            ".explain",
            ".fullschema",
            ".headers",
            ".header",
            ".help",
            ".indexes",
            ".indices",
            ".limit",
            ".lint",
            ".mode",
            ".nullvalue",
            ".param",
            ".parameter",
            ".print",
            ".prompt",
            ".quit",
            ".schema",
            ".separator",
            ".sha3sum",
            ".show",
            ".stats",
            ".tables",
            ".timeout",
            ".timer",
            ".width",
            ".shell",
            ".system",
        ],
        Does::Nothing,
    ),
    (&["\\i", "\\ir", "\\include", "\\include_relative", "\\.", ".read"], Does::Runs),
    (&["\\o", "\\out", "\\w", "\\write", "\\s", "\\g", ".output", ".once", ".log", ".backup", ".save"], Does::Writes),
    (&["\\lo_import", ".open", ".restore"], Does::Reads),
    (&["\\copy", ".import"], Does::Copies),
];

impl Shell<'_> {
    /// Whether the database of sqlite3 is in memory, in a new file, or in one below `/tmp` that the action has deleted.
    pub(super) fn is_scratch(&self, program: &str, bound: &Bound) -> bool {
        if !matches!(program, "sqlite3" | "sqlite") {
            return false;
        }
        let reads = |role: &Role| matches!(role, Role::Act { verb: Verb::Read, .. });
        let Some((_, file, _)) = bound.arguments.iter().find(|(role, ..)| reads(role)) else { return true };
        if matches!(file.as_str(), "" | ":memory:") {
            return true;
        }
        let path = self.path(file);
        let deleted =
            self.reading.effects.iter().any(|effect| effect.verb == Verb::Delete && effect.target.name() == path);
        let deleted = deleted && path.starts_with("/tmp/");
        let plain = !file.starts_with("file:") && self.untouched(&path);
        plain && path.starts_with('/') && !path.contains(UNKNOWN_SPAN) && (deleted || self.is_new(&path))
    }

    /// Adds the effects of the client's commands in a text, and returns the SQL between them.
    pub(super) fn client_commands(&mut self, text: &str, how: &str) -> String {
        let mut statements = String::with_capacity(text.len());
        let mut ended = true;
        for line in text.lines() {
            let start = line.trim_start();
            if ended && start.starts_with(['\\', '.']) && start.len() > 1 {
                backslashed(start).into_iter().for_each(|command| self.client_command(command, how));
                continue;
            }
            // a command of psql may follow a statement on its line
            let (statement, command) = match line.split_once("; \\").or_else(|| line.split_once(" \\g")) {
                Some((statement, _)) => (
                    statement,
                    line.get(statement.len()..).and_then(|rest| rest.find('\\').and_then(|at| rest.get(at..))),
                ),
                None => (line, None),
            };
            let commands = command.map(backslashed).unwrap_or_default();
            commands.into_iter().for_each(|command| self.client_command(command, how));
            statements.push_str(statement);
            statements.push_str(if command.is_some() { ";\n" } else { "\n" });
            let code = statement.split("--").next().unwrap_or_default().trim_end();
            ended = code.is_empty() && ended || code.ends_with(';') || command.is_some();
        }
        statements
    }

    fn client_command(&mut self, line: &str, how: &str) {
        if let Some(command) = line.strip_prefix("\\!") {
            return drop(self.nested(how, command, Output::default()));
        }
        let words = shlex_words(line);
        let Some((name, arguments)) = words.split_first() else { return };
        let name = name.trim_end_matches(['+', 'S']);
        let operand = || arguments.iter().find(|word| !word.starts_with('-')).cloned();
        let listing = name.starts_with("\\d");
        let does = COMMANDS.iter().find(|(names, _)| names.contains(&name)).map(|(_, does)| *does);
        match does {
            _ if listing && !line.contains('|') => {}
            Some(Does::Nothing) if !line.contains('|') && !line.contains('`') => {}
            Some(Does::Runs) => {
                if let Some(file) = operand() {
                    drop(self.run_file(&file, &[], Some("sql")));
                }
            }
            Some(Does::Writes) => match operand() {
                Some(command) if command.starts_with('|') => {
                    let (_, command) = line.split_once('|').unwrap_or_default();
                    self.nested(how, command, Output::default());
                }
                Some(file) => {
                    let effect = self.at(Verb::Write, arguments.last().unwrap_or(&file), how);
                    self.add(effect);
                }
                None => {}
            },
            Some(Does::Reads) => {
                // another database is open now
                self.scratch = false;
                if let Some(file) = operand() {
                    let effect = self.at(Verb::Read, &file, how);
                    self.add(effect);
                }
            }
            Some(Does::Copies) => self.client_copy(name, arguments, how),
            _ => self.unknown(Cause::Language, name, how),
        }
    }

    /// `\\copy TABLE from|to FILE|program COMMAND`, `.import FILE TABLE`.
    fn client_copy(&mut self, name: &str, arguments: &[String], how: &str) {
        if name == ".import" {
            let file = arguments.iter().rev().nth(1);
            match file {
                Some(command) if command.starts_with('|') => {
                    drop(self.nested(how, command.trim_start_matches('|'), Output::default()));
                }
                Some(file) => {
                    let effect = self.at(Verb::Read, file, how);
                    self.add(effect);
                }
                None => {}
            }
            return;
        }
        let place = arguments.iter().position(|word| matches!(word.to_ascii_lowercase().as_str(), "from" | "to"));
        let (Some(way), Some(target)) =
            (place.and_then(|at| arguments.get(at)), place.and_then(|at| arguments.get(at + 1)))
        else {
            return self.unknown(Cause::Language, name, how);
        };
        let to = way.eq_ignore_ascii_case("to");
        match target.to_ascii_lowercase().as_str() {
            "program" => {
                let command = place.and_then(|at| arguments.get(at + 2)).cloned().unwrap_or_default();
                self.nested(how, &command, Output::default());
            }
            "stdin" | "stdout" | "pstdin" | "pstdout" => {}
            _ => {
                let effect = self.at(if to { Verb::Write } else { Verb::Read }, target, how);
                self.add(effect);
            }
        }
    }
}

/// The commands of psql on one line: a backslash after a blank begins the next one, and `\!` takes the rest.
fn backslashed(line: &str) -> Vec<&str> {
    let (mut all, mut begin, mut quote, mut blank) = (Vec::new(), 0, None, false);
    for (at, c) in line.char_indices() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c == '\\' && blank => {
                all.extend(line.get(begin..at));
                begin = at;
                if line.get(at..).is_some_and(|rest| rest.starts_with("\\!")) {
                    break;
                }
            }
            None => {}
        }
        blank = c.is_whitespace();
    }
    all.extend(line.get(begin..));
    all
}

/// The words of a line, with quotes.
fn shlex_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.trim_end_matches(';').chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => word.push(c),
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            None => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}
