//! Conditions whose outcome is certain: `$cygwin` after `cygwin=false`, `case "$(uname)"` of scripts for several systems,
//! `[ "$mode" = fast ]` after `mode=slow`. A branch that cannot be taken has no effects.
//!
//! Only constant words decide. What the environment, a file or a program's output could change is not constant, but for
//! the name of the system for which this program was built.

use super::word::children;
use super::{Shell, UNKNOWN_SPAN};
use tree_sitter::Node;

/// The output of `uname`, if it is certain.
pub(super) const SYSTEM: Option<&str> = match std::env::consts::OS.as_bytes() {
    b"linux" => Some("Linux"),
    b"macos" => Some("Darwin"),
    _ => None,
};

impl Shell<'_> {
    /// Whether a condition is certainly true or false; nothing if that is open.
    pub(super) fn decided(&mut self, node: Node<'_>, source: &str) -> Option<bool> {
        match node.kind() {
            "command" => {
                let [name] = children(node)[..] else { return None };
                let name = self.constant(name, source)?;
                match name.as_str() {
                    _ if self.state.functions.contains_key(&name) || self.state.aliases.contains_key(&name) => None,
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
            "negated_command" => self.decided(children(node).last().copied()?, source).map(|outcome| !outcome),
            "test_command" => {
                let [open, test, _] = children(node)[..] else { return None };
                self.test(test, open.kind() == "[[", source)
            }
            _ => None,
        }
    }

    /// The outcome of a comparison of constant words.
    fn test(&mut self, node: Node<'_>, patterns: bool, source: &str) -> Option<bool> {
        let parts = children(node);
        match (node.kind(), parts.as_slice()) {
            ("binary_expression", [left, operator, right]) => {
                let left = self.constant(*left, source)?;
                let quoted = matches!(right.kind(), "string" | "raw_string");
                let right = self.constant(*right, source)?;
                if patterns && !quoted && right.contains(['*', '?', '[', '(', '\\']) {
                    return None;
                }
                // `nocasematch` may be set
                if patterns && left != right && left.eq_ignore_ascii_case(&right) {
                    return None;
                }
                match operator.kind() {
                    "=" | "==" => Some(left == right),
                    "!=" => Some(left != right),
                    _ => None,
                }
            }
            ("unary_expression", [operator, word]) => {
                let word = self.constant(*word, source)?;
                match operator.utf8_text(source.as_bytes()).ok()? {
                    "-z" => Some(word.is_empty()),
                    "-n" => Some(!word.is_empty()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The text of a word without substitutions, if it is constant.
    fn constant(&mut self, node: Node<'_>, source: &str) -> Option<String> {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if matches!(
                node.kind(),
                "command_substitution" | "process_substitution" | "expansion" | "arithmetic_expansion"
            ) {
                return None;
            }
            open.extend(children(node));
        }
        let text = self.text(node, source);
        (!text.contains(UNKNOWN_SPAN)).then_some(text)
    }
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
            // `nocasematch` may be set
            (false, true) => open = true,
            (false, false) => {}
        }
    }
    if open { None } else { Some(false) }
}

/// A pattern of plain text, `*` and `?`.
fn constant_pattern(text: &str) -> Option<glob::Pattern> {
    if text.contains(['$', '`', '"', '\'', '\\', '(', '[', '~', UNKNOWN_SPAN]) {
        None
    } else {
        glob::Pattern::new(text).ok()
    }
}
