//! What may or may not have run: choices, `&&` and `||`, loops.
//!
//! After a part that may not have run, a variable, working directory or function that it changed may be as before
//! or as after: it is not constant, and a function is both. So `X=/etc; false && X=/tmp; rm -rf $X` is not
//! taken for a deletion in `/tmp`.

use super::content::Files;
use super::word::children;
use super::{HOLE, Output, Shell};
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// What statements can change for those after them.
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
    /// All of it but the files, which are not the shell's own.
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

    /// What ran since `before` may not have run.
    pub(crate) fn perhaps(&mut self, before: &State) {
        if self.cwd != before.cwd {
            self.cwd = None;
        }
        self.exported.retain(|name| before.exported.contains(name));
        let unsure = |name: &String| !name.starts_with('\0');
        for (name, old) in &before.variables {
            if self.variables.get(name) != Some(old) {
                self.variables.insert(name.clone(), vec![HOLE.to_string()]);
            }
        }
        for (name, value) in &mut self.variables {
            if unsure(name) && !before.variables.contains_key(name) && value.iter().any(|v| !v.contains(HOLE)) {
                *value = vec![HOLE.to_string()];
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
        self.unsure.extend(self.functions.keys().filter(|name| !before.functions.contains_key(*name)).cloned());
        for (name, old) in &before.aliases {
            if self.aliases.get(name) != Some(old) {
                self.aliases.insert(name.clone(), HOLE.to_string());
            }
        }
    }

    /// `if` and `case`: each branch starts as if the ones before it perhaps ran.
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

    /// `a && b || c`: the first runs; each of the others perhaps does.
    pub(crate) fn list(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let mut parts = Vec::new();
        flatten(node, &mut parts);
        let mut output = Output::silent();
        let mut first: Option<State> = None;
        for (operator, part) in parts {
            // what stands behind `||` runs where something before it failed
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

    /// Runs the body of a loop; once more where a later round could see what an earlier one changed.
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
