//! Code that may or may not run: choices, `&&` and `||`, loops.
//!
//! After a part that may not have run, each variable and working directory that it changed may have the old or the new
//! value: it is not constant, and a function has both bodies. So `X=/etc; false && X=/tmp; rm -rf $X` is not mistaken
//! for a deletion in `/tmp`.

use super::content::Files;
use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// The state that statements can change for later statements.
#[derive(Clone, PartialEq)]
pub(crate) struct State {
    cwd: Option<String>,
    variables: HashMap<String, Vec<String>>,
    functions: HashMap<String, String>,
    aliases: HashMap<String, String>,
    exported: HashSet<String>,
    files: Files,
}

impl Shell<'_> {
    /// Restores everything but the files, which do not belong to the shell.
    pub(crate) fn restore(&mut self, state: State) {
        State {
            cwd: self.cwd,
            variables: self.variables,
            functions: self.functions,
            aliases: self.aliases,
            exported: self.exported,
            files: _,
        } = state;
    }

    pub(crate) fn state(&self) -> State {
        State {
            cwd: self.cwd.clone(),
            exported: self.exported.clone(),
            files: self.files.clone(),
            variables: self.variables.clone(),
            functions: self.functions.clone(),
            aliases: self.aliases.clone(),
        }
    }

    /// Merges the current state with the one of `before`: the code in between may not have run.
    pub(crate) fn perhaps(&mut self, before: &State) {
        if self.cwd != before.cwd {
            self.cwd = None;
        }
        self.exported.retain(|name| before.exported.contains(name));
        let maybe_defined_functions = |name: &String| !name.starts_with('\0');
        for (name, old) in &before.variables {
            if self.variables.get(name) != Some(old) {
                self.variables.insert(name.clone(), vec![UNKNOWN_SPAN.to_string()]);
            }
        }
        for (name, value) in &mut self.variables {
            if maybe_defined_functions(name)
                && !before.variables.contains_key(name)
                && value.iter().any(|v| !v.contains(UNKNOWN_SPAN))
            {
                *value = vec![UNKNOWN_SPAN.to_string()];
            }
        }
        for (name, old) in &before.functions {
            match self.functions.get_mut(name) {
                Some(new) if new != old => *new = format!("{old}\n{new}"),
                Some(_) => {}
                None => {
                    self.functions.insert(name.clone(), old.clone());
                }
            }
        }
        self.maybe_defined_functions
            .extend(self.functions.keys().filter(|name| !before.functions.contains_key(*name)).cloned());
        for (name, old) in &before.aliases {
            if self.aliases.get(name) != Some(old) {
                self.aliases.insert(name.clone(), UNKNOWN_SPAN.to_string());
            }
        }
    }

    /// Interprets `if` and `case`: each branch starts in a state in which earlier branches may have run.
    pub(crate) fn choice(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let before = self.state();
        let mut output = Output::silent();
        for child in children(node) {
            if matches!(child.kind(), "elif_clause" | "else_clause" | "case_item") {
                self.perhaps(&before);
            }
            if child.is_named() && !is_word(child.kind()) {
                output = super::syntax::join(output, self.statement(child, source, stdin.clone()));
            }
        }
        self.perhaps(&before);
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
                let before = before.clone();
                self.perhaps(&before);
            }
            output = super::syntax::join(output, self.statement(part, source, stdin.clone()));
            if first.is_none() {
                first = Some(self.state());
            }
        }
        if let Some(before) = first {
            self.perhaps(&before);
        }
        output
    }

    /// Interprets the body of a loop, and once more if a later round could see changes of an earlier one.
    pub(crate) fn rounds(&mut self, mut body: impl FnMut(&mut Self) -> Output) -> Output {
        let before = self.state();
        let mut output = body(self);
        if self.state() != before {
            self.perhaps(&before);
            output = super::syntax::join(output, body(self));
            self.perhaps(&before);
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
