//! Code that may or may not run: choices, `&&` and `||`, loops.
//!
//! After a part that may not have run, each variable and working directory that it changed may have the old or the new
//! value: it is not constant, and a function has both bodies. So `X=/etc; false && X=/tmp; rm -rf $X` is not mistaken
//! for a deletion in `/tmp`.

use super::state::State;
use super::word::children;
use super::{Output, Shell};
use tree_sitter::Node;

impl Shell<'_> {
    /// Interprets `if` and `case`: each branch starts in a state in which earlier branches may have run.
    pub(crate) fn choice(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let before = self.state.fork();
        let mut output = Output::silent();
        for child in children(node) {
            if matches!(child.kind(), "elif_clause" | "else_clause" | "case_item") {
                self.state.join(&before);
            }
            if child.is_named() && !is_word(child.kind()) {
                output = super::syntax::join(output, self.statement(child, source, stdin.clone()));
            }
        }
        self.state.join(&before);
        output
    }

    /// Interprets `a && b || c`: the first part runs; each of the others may run.
    pub(crate) fn list(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let mut parts = Vec::new();
        flatten(node, &mut parts);
        let mut output = Output::silent();
        let mut first: Option<State> = None;
        for (operator, part) in parts {
            // the part after `||` runs if something before it failed
            if let Some(before) = first.as_ref().filter(|_| operator == "||") {
                self.state.join(before);
            }
            output = super::syntax::join(output, self.statement(part, source, stdin.clone()));
            if first.is_none() {
                first = Some(self.state.fork());
            }
        }
        if let Some(before) = first {
            self.state.join(&before);
        }
        output
    }

    /// Interprets the body of a loop, and once more if a later round could see changes of an earlier one.
    pub(crate) fn rounds(&mut self, mut body: impl FnMut(&mut Self) -> Output) -> Output {
        let (before, files) = (self.state.fork(), self.files.clone());
        let mut output = body(self);
        if self.state != before || self.files != files {
            self.state.join(&before);
            output = super::syntax::join(output, body(self));
            self.state.join(&before);
        }
        output
    }
}

fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "concatenation"
            | "variable_name"
            | "number"
            | "simple_expansion"
            | "expansion"
    )
}

/// The parts of nested lists from left to right, each with the operator before it.
fn flatten<'t>(node: Node<'t>, parts: &mut Vec<(&'static str, Node<'t>)>) {
    let mut operator = "";
    for child in children(node) {
        match child.kind() {
            "&&" => operator = "&&",
            "||" => operator = "||",
            "list" if parts.is_empty() => flatten(child, parts),
            _ if child.is_named() => parts.push((operator, child)),
            _ => {}
        }
    }
}
