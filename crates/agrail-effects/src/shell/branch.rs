//! Code that may or may not run: choices, `&&` and `||`, loops.
//!
//! After a part that may not have run, each variable and working directory that it changed may have the old or the new
//! value: it is not constant, and a function has both bodies. So `X=/etc; false && X=/tmp; rm -rf $X` is not mistaken
//! for a deletion in `/tmp`.

use super::decided::matches_item;
use super::state::State;
use super::word::children;
use super::{Output, Shell};
use tree_sitter::Node;

impl Shell<'_> {
    /// Interprets `if`: each branch that may be taken starts in a state in which earlier branches may have run.
    pub(crate) fn conditional(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let before = self.state.fork();
        let mut output = Output::silent();
        let (mut in_body, mut decided) = (false, None);
        for child in children(node) {
            match child.kind() {
                "then" => in_body = true,
                // a job in the background always succeeds
                "&" if !in_body => decided = None,
                "elif_clause" | "else_clause" if decided == Some(true) => self.skip(child),
                "elif_clause" => {
                    self.state.join(&before);
                    output = super::syntax::join(output, self.conditional(child, source, stdin));
                }
                "else_clause" => {
                    self.state.join(&before);
                    output = super::syntax::join(output, self.statement(child, source, stdin.clone()));
                }
                _ if !child.is_named() => {}
                _ if in_body && decided == Some(false) => self.skip(child),
                _ => {
                    output = super::syntax::join(output, self.statement(child, source, stdin.clone()));
                    if !in_body {
                        decided = self.decided(child, source);
                    }
                }
            }
        }
        self.state.join(&before);
        output
    }

    /// Interprets `case`: each item that may match starts in a state in which earlier items may have run.
    pub(crate) fn case(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let value = node.child_by_field_name("value");
        value.into_iter().for_each(|value| self.walk_substitutions(value, source));
        let items: Vec<Node<'_>> = children(node).into_iter().filter(|child| child.kind() == "case_item").collect();
        // `;&` goes on with the next item, whatever its patterns are
        let falls_through = items.iter().any(|item| item.child_by_field_name("fallthrough").is_some());
        let value = value.filter(|_| !falls_through).and_then(|value| self.subject(value, source));
        let before = self.state.fork();
        let (mut output, mut taken) = (Output::silent(), false);
        for item in items {
            let matches = value.as_deref().and_then(|value| matches_item(item, value, source));
            if matches == Some(false) || taken {
                self.skip(item);
                continue;
            }
            self.state.join(&before);
            let mut in_body = false;
            for child in children(item) {
                match child.kind() {
                    ")" => in_body = true,
                    _ if !child.is_named() => {}
                    _ if in_body => output = super::syntax::join(output, self.statement(child, source, stdin.clone())),
                    _ => self.walk_substitutions(child, source),
                }
            }
            taken |= matches == Some(true);
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
