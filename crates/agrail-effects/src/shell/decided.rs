//! Conditions whose outcome is certain: `$cygwin` after `cygwin=false`, `case "$(uname)"` of scripts for several systems.
//! A branch that cannot be taken has no effects.
//!
//! A wrong answer hides effects, so little decides: `true` and `false`, comparisons of plain words, and variables to
//! which this text itself assigned a plain word. Not what the environment, another text (a function, a child shell), an
//! expansion or the output of a program says, but for the name of the system for which this program was built. After
//! anything that changes what words mean (`trap`, `alias`, `shopt`, attributes of variables), nothing decides any more.

use super::word::children;
use super::{Shell, UNKNOWN_SPAN};
use crate::tree::Node;

/// The output of `uname`, if it is certain.
pub(super) const SYSTEM: Option<&str> = match std::env::consts::OS.as_bytes() {
    b"linux" => Some("Linux"),
    b"macos" => Some("Darwin"),
    _ => None,
};
/// Commands after which words or variables may mean something else.
const UNSETTLING: [&str; 12] = [
    "alias",
    "builtin",
    "coproc",
    "declare",
    "enable",
    "getopts",
    "hash",
    "mapfile",
    "readarray",
    "select",
    "shopt",
    "typeset",
];
/// Conditions of `trap` that end a script, or come from a person who ends it.
const ENDING: [&str; 8] = ["0", "EXIT", "HUP", "INT", "QUIT", "TERM", "SIGINT", "SIGTERM"];

impl Shell<'_> {
    /// Notes what a text contains: a command in it may run before a condition that stands above it.
    pub(super) fn unsettle_by(&mut self, text: &str) {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let mut words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        // `exec {x}>file` gives a variable a number
        self.unsettled |= text.contains("}>") || text.contains("}<") || words.any(|word| UNSETTLING.contains(&word));
        self.unsettled |= text.contains("trap") && !traps_end(text);
    }

    /// Notes that a command runs: after some, no condition is certain.
    pub(super) fn unsettle(&mut self, name: &str, arguments: &[String]) {
        let says = |option: &str| arguments.iter().any(|word| word == option);
        self.unsettled |= UNSETTLING.contains(&name)
            || name == "trap" && !arguments.iter().skip(1).all(|word| ENDING.contains(&word.as_str()))
            || name == "wait" && says("-p")
            || name == "set" && (says("-k") || says("keyword") || says("posix"));
    }

    /// Notes the plain words that a statement assigns.
    pub(super) fn note_plain(&mut self, statement: Node<'_>, source: &str) {
        let assignments = match statement.kind() {
            "variable_assignments" => children(statement),
            _ => vec![statement],
        };
        for assignment in assignments {
            let text = |node: Node<'_>| node.utf8_text(source.as_bytes()).unwrap_or_default();
            let Some(name) = assignment.child_by_field_name("name").map(text) else { continue };
            let value = assignment.child_by_field_name("value");
            // no `+=`, no element of an array
            let is_plain = text(assignment).strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
            let value = match value {
                Some(value) => self.literal(value, source).or_else(|| self.system(text(value))),
                None => Some(String::new()),
            };
            if let Some(value) = value.filter(|_| is_plain && is_own(name)) {
                self.state.plain.insert(name.to_owned(), (self.text, value));
            }
        }
    }

    /// Whether a condition is certainly true or false; nothing if that is open.
    pub(super) fn decided(&self, node: Node<'_>, source: &str) -> Option<bool> {
        if self.unsettled {
            return None;
        }
        match node.kind() {
            "command" => {
                let [name] = children(node)[..] else { return None };
                let [word] = children(name)[..] else { return None };
                let name = self.constant(word, source)?;
                match name.as_str() {
                    _ if self.is_redefined(&name) => None,
                    "true" | ":" => Some(true),
                    "false" => Some(false),
                    _ => None,
                }
            }
            "list" => {
                let [left, operator, right] = children(node)[..] else { return None };
                let (left, right) = (self.decided(left, source), self.decided(right, source));
                match operator.kind() {
                    "||" if left == Some(true) || right == Some(true) => Some(true),
                    "||" => (left.is_some() && right.is_some()).then_some(false),
                    "&&" if left == Some(false) || right == Some(false) => Some(false),
                    "&&" => (left.is_some() && right.is_some()).then_some(true),
                    _ => None,
                }
            }
            "test_command" => {
                let [_, test, _] = children(node)[..] else { return None };
                let [left, operator, right] = children(test)[..] else { return None };
                let (left, right) = (self.constant(left, source)?, self.constant(right, source)?);
                // `nocasematch` may come from the environment
                let same = left.eq_ignore_ascii_case(&right);
                match operator.kind() {
                    "=" | "==" if left == right => Some(true),
                    "=" | "==" => (!same).then_some(false),
                    "!=" if left == right => Some(false),
                    "!=" => (!same).then_some(true),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The subject of a `case`, if it is certain.
    pub(super) fn subject(&self, value: Node<'_>, source: &str) -> Option<String> {
        if self.unsettled {
            return None;
        }
        let text = value.utf8_text(source.as_bytes()).unwrap_or_default();
        self.constant(value, source).or_else(|| self.system(text))
    }

    /// The value of a word without anything to expand, or of a variable that has such a value.
    fn constant(&self, node: Node<'_>, source: &str) -> Option<String> {
        let text = node.utf8_text(source.as_bytes()).ok()?;
        let name = match node.kind() {
            "simple_expansion" => text.strip_prefix('$'),
            "string" => text.strip_prefix("\"$").and_then(|rest| rest.strip_suffix('"')),
            _ => None,
        };
        match name {
            Some("OSTYPE") if SYSTEM == Some("Linux") && !self.state.variables.contains_key("OSTYPE") => {
                Some("linux-gnu".to_owned())
            }
            Some(name) if name == "#" || name.starts_with(|c: char| c.is_ascii_digit()) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '+' | '=');
                self.positional(name).filter(|value| value.chars().all(plain))
            }
            Some(name) => {
                let (text, value) = self.state.plain.get(name)?;
                let current = self.state.variables.get(name)?;
                (*text == self.text && current.as_slice() == std::slice::from_ref(value)).then(|| value.clone())
            }
            None => self.literal(node, source),
        }
    }

    /// The text of a plain word: letters, digits and a few signs, so that no shell splits or expands it.
    fn literal(&self, node: Node<'_>, source: &str) -> Option<String> {
        let text = node.utf8_text(source.as_bytes()).ok()?;
        let inner = match node.kind() {
            "word" | "number" => text,
            "string" => text.strip_prefix('"')?.strip_suffix('"')?,
            "raw_string" => text.strip_prefix('\'')?.strip_suffix('\'')?,
            _ => return None,
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '+');
        // with another separator, a shell may split even this
        let whole = !self.state.variables.contains_key("IFS");
        (whole && !inner.is_empty() && !inner.starts_with('-') && inner.chars().all(plain)).then(|| inner.to_owned())
    }

    /// The name of the system, if a word is the output of `uname`.
    fn system(&self, word: &str) -> Option<String> {
        let word = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word);
        let inner = match word.strip_prefix("$(") {
            Some(rest) => rest.strip_suffix(')')?,
            None => word.strip_prefix('`')?.strip_suffix('`')?,
        };
        let asks = matches!(inner.trim(), "uname" | "uname -s");
        let usual = !self.is_redefined("uname") && !self.state.variables.contains_key("PATH");
        SYSTEM.filter(|_| asks && usual).map(str::to_owned)
    }

    fn is_redefined(&self, name: &str) -> bool {
        self.state.functions.contains_key(name) || self.state.aliases.contains_key(name)
    }
}

/// Whether everything in a text that says `trap` waits for the end of the script, which sends itself no signal.
fn traps_end(text: &str) -> bool {
    let lines = text.lines().filter(|line| line.contains("trap"));
    let ends = |line: &str| {
        let Some((_, rest)) = line.split_once("trap ").filter(|(_, rest)| !rest.contains("trap")) else { return false };
        let quoted = rest.rsplit_once(['\'', '"']);
        let mut signals = quoted.map_or(rest, |(_, signals)| signals).split_whitespace();
        let handler = quoted.is_some() || signals.next().is_some();
        handler && signals.all(|word| ENDING.contains(&word))
    };
    !text.contains("kill") && lines.filter(|line| !line.trim_start().starts_with('#')).all(ends)
}

/// Whether a variable belongs to the script: those in capitals may be the shell's (`RANDOM`, `SECONDS`).
fn is_own(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_lowercase())
}

/// Whether an item of `case` matches a constant value; nothing if its patterns are not constant.
pub(super) fn matches_item(item: Node<'_>, value: &str, source: &str) -> Option<bool> {
    let mut open = false;
    for pattern in children(item).into_iter().take_while(|child| child.kind() != ")").filter(Node::is_named) {
        let text = pattern.utf8_text(source.as_bytes()).unwrap_or_default();
        let Some(pattern) = constant_pattern(text) else {
            open = true;
            continue;
        };
        let any_case = glob::MatchOptions { case_sensitive: false, ..glob::MatchOptions::new() };
        match (pattern.matches(value), pattern.matches_with(value, any_case)) {
            (true, _) => return Some(true),
            // `nocasematch` may come from the environment
            (false, true) => open = true,
            (false, false) => {}
        }
    }
    if open { None } else { Some(false) }
}

/// A pattern of plain text, `*` and `?`.
fn constant_pattern(text: &str) -> Option<glob::Pattern> {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '*' | '?' | '=' | '@' | '+');
    if text.chars().all(plain) && !text.contains(UNKNOWN_SPAN) { glob::Pattern::new(text).ok() } else { None }
}
