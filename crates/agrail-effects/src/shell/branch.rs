//! Code that may or may not run: choices, `&&` and `||`, loops.
//!
//! After a part that may not have run, each variable and working directory that it changed may have the old or the new
//! value: it is not constant, and a function has both bodies. So `X=/etc; false && X=/tmp; rm -rf $X` is not mistaken
//! for a deletion in `/tmp`.

use super::decided::matches_item;
use super::state::State;
use super::word::children;
use super::{Output, Shell};
use crate::tree::Node;

impl Shell<'_> {
    /// Interprets `if`: each branch that may be taken starts in the state after the conditions before it.
    pub(crate) fn conditional(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let (mut ends, mut output) = (Vec::new(), Output::silent());
        let mut taken = self.branch(node, source, stdin, &mut ends, &mut output);
        for child in children(node) {
            match child.kind() {
                "elif_clause" | "else_clause" if taken => self.skip(child),
                "elif_clause" => taken = self.branch(child, source, stdin, &mut ends, &mut output),
                "else_clause" => {
                    let before = self.state.fork();
                    output = super::syntax::join(output, self.statement(child, source, stdin.clone()));
                    self.end(&children(child), source, before, &mut ends);
                    taken = true;
                }
                _ => {}
            }
        }
        if !taken {
            ends.push(self.state.fork());
        }
        self.resume(ends);
        output
    }

    /// Interprets a condition and its body. Returns whether the body certainly runs; the state is that after the condition.
    fn branch(
        &mut self,
        node: Node<'_>,
        source: &str,
        stdin: &Output,
        ends: &mut Vec<State>,
        output: &mut Output,
    ) -> bool {
        let parts: Vec<Node<'_>> =
            children(node).into_iter().filter(|child| !matches!(child.kind(), "elif_clause" | "else_clause")).collect();
        let then = parts.iter().position(|child| child.kind() == "then").unwrap_or(parts.len());
        let (condition, body) = parts.split_at(then);
        let mut decided = None;
        for child in condition {
            match child.kind() {
                // a job in the background always succeeds
                "&" => decided = None,
                _ if !child.is_named() => {}
                _ => {
                    self.tolerant += 1;
                    let one = self.statement(*child, source, stdin.clone());
                    self.tolerant -= 1;
                    *output = super::syntax::join(std::mem::take(output), one);
                    decided = self.decided(*child, source);
                }
            }
        }
        let before = self.state.fork();
        for child in body.iter().filter(|child| child.is_named()) {
            if decided == Some(false) {
                self.skip(*child);
            } else {
                let one = self.statement(*child, source, stdin.clone());
                *output = super::syntax::join(std::mem::take(output), one);
            }
        }
        if decided != Some(false) {
            self.end(body, source, before, ends);
        }
        decided == Some(true)
    }

    /// Ends a body that may have run: code after it continues in its state unless it exits. Restores the state `before`.
    fn end(&mut self, body: &[Node<'_>], source: &str, before: State, ends: &mut Vec<State>) {
        let last = body.iter().rfind(|child| child.is_named() && child.kind() != "comment");
        let exits = last.is_some_and(|last| self.ends_script(*last, source));
        let after = std::mem::replace(&mut self.state, before);
        if !exits {
            ends.push(after);
        }
    }

    /// Continues in any of these states.
    pub(crate) fn resume(&mut self, ends: Vec<State>) {
        let mut ends = ends.into_iter();
        if let Some(first) = ends.next() {
            self.state = first;
        }
        for state in ends {
            self.state.join(&state);
        }
    }

    /// Interprets `case`: each item that may match starts in the state before it.
    pub(crate) fn case(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let value = node.child_by_field_name("value");
        value.into_iter().for_each(|value| self.walk_substitutions(value, source));
        let items: Vec<Node<'_>> = children(node).into_iter().filter(|child| child.kind() == "case_item").collect();
        // `;&` goes on with the next item, whatever its patterns are
        let falls_through = items.iter().any(|item| item.child_by_field_name("fallthrough").is_some());
        let value = value.filter(|_| !falls_through).and_then(|value| self.subject(value, source));
        let (mut output, mut taken, mut ends) = (Output::silent(), false, Vec::new());
        for item in items {
            let matches = value.as_deref().and_then(|value| matches_item(item, value, source));
            if matches == Some(false) || taken {
                self.skip(item);
                continue;
            }
            let mut in_body = false;
            let parts = children(item);
            let mut before = self.state.fork();
            for child in &parts {
                match child.kind() {
                    ")" if !in_body => {
                        in_body = true;
                        before = self.state.fork();
                    }
                    _ if !child.is_named() => {}
                    _ if in_body => output = super::syntax::join(output, self.statement(*child, source, stdin.clone())),
                    _ => self.walk_substitutions(*child, source),
                }
            }
            if falls_through {
                // the next item may start in the state after this one
                self.state.join(&before);
            } else {
                self.end(&parts, source, before, &mut ends);
            }
            taken |= matches == Some(true);
        }
        if !taken {
            ends.push(self.state.fork());
        }
        self.resume(ends);
        output
    }

    /// Interprets `a && b || c`: what follows `&&` runs in the states in which everything before it succeeded, what follows
    /// `||` in those in which it failed.
    pub(crate) fn list(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Output {
        let mut parts = Vec::new();
        flatten(node, &mut parts);
        let mut output = Output::silent();
        let (mut succeeded, mut failed): (Option<State>, Option<State>) = (Some(self.state.fork()), None);
        let last = parts.len().saturating_sub(1);
        for (place, (operator, part)) in parts.into_iter().enumerate() {
            let start = if operator == "||" { &mut failed } else { &mut succeeded };
            let runs = start.is_some();
            // the effects of a part count even if it certainly does not run
            self.state = start.take().unwrap_or_else(|| self.state.fork());
            let before = self.state.fork();
            self.created.clear();
            self.part = self.reading.effects.len();
            self.tolerant += usize::from(place < last);
            output = super::syntax::join(output, self.statement(part, source, stdin.clone()));
            self.tolerant -= usize::from(place < last);
            let ends = self.ends_script(part, source);
            if !runs || ends {
                self.state = before;
                continue;
            }
            let enters = changes_folder(part, source);
            let mut after = self.state.fork();
            if enters && before.elsewhere.is_empty() {
                // it is the folder that was meant, or the part failed
                after.elsewhere.clear();
            }
            let fails =
                (!self.certainly_succeeds(part, source, &before)).then(|| if enters { before } else { after.fork() });
            after.containers.extend(self.created.drain(..));
            add(&mut succeeded, after);
            fails.into_iter().for_each(|state| add(&mut failed, state));
        }
        self.resume(succeeded.into_iter().chain(failed).collect());
        output
    }

    /// Whether a command ends the script or the function.
    fn ends_script(&self, part: Node<'_>, source: &str) -> bool {
        let last = match part.kind() {
            "compound_statement" => {
                children(part).into_iter().rfind(|child| child.is_named() && child.kind() != "comment")
            }
            _ => Some(part),
        };
        let name = last.filter(|last| last.kind() == "command").and_then(|last| last.child_by_field_name("name"));
        let name = name.and_then(|name| name.utf8_text(source.as_bytes()).ok()).unwrap_or_default();
        // the call continues in the state of a `return`, see `call`
        (name == "exit" || name == "return" && !self.returned.is_empty())
            && !self.state.functions.contains_key(name)
            && !self.state.aliases.contains_key(name)
    }

    /// Whether a part of a list certainly succeeds: then what follows `&&` runs.
    fn certainly_succeeds(&self, part: Node<'_>, source: &str, before: &State) -> bool {
        let text = part.utf8_text(source.as_bytes()).unwrap_or_default();
        if matches!(part.kind(), "variable_assignment" | "variable_assignments") {
            return !text.contains(['$', '`']);
        }
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./~".contains(c));
        let own = self.state.functions.contains_key(name) || self.state.aliases.contains_key(name);
        if part.kind() != "command" || own || !text.split_whitespace().all(plain) {
            return false;
        }
        match name {
            "echo" | "true" | "printf" => true,
            "mkdir" => words.next() == Some("-p") && words.all(|word| !word.starts_with('/') && !word.contains("..")),
            // the state is already that after it
            "cd" => {
                let target = match (words.next(), before.cwd.as_deref()) {
                    (Some(target), _) if target.starts_with('/') => super::tidy(target),
                    (Some(target), Some(cwd)) if cwd.starts_with('/') => super::tidy(&format!("{cwd}/{target}")),
                    _ => return false,
                };
                let there = self.around.folder(&target) == Some(true) || self.is_made(&target);
                self.state.cwd.as_ref() == Some(&target) && there && !self.is_gone(&target)
            }
            "touch" => words.all(|word| !word.contains('/') && !word.starts_with('-')),
            _ => false,
        }
    }

    /// Whether this action has certainly made a folder.
    pub(super) fn is_made(&self, folder: &str) -> bool {
        self.state.made.contains(folder) && !self.is_gone(folder)
    }

    /// Interprets the body of a loop, and once more if a later round could see changes of an earlier one.
    pub(crate) fn rounds(&mut self, mut body: impl FnMut(&mut Self) -> Output) -> Output {
        let (before, files) = (self.state.fork(), self.files.clone());
        let mut output = body(self);
        if self.state != before || self.files != files {
            self.state.widen(&before);
            output = super::syntax::join(output, body(self));
            self.state.widen(&before);
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

/// Adds a possible state.
fn add(to: &mut Option<State>, state: State) {
    match to {
        Some(one) => one.join(&state),
        None => *to = Some(state),
    }
}

/// Whether a part of a list enters a folder: if it fails, the folder is the one before.
fn changes_folder(part: Node<'_>, source: &str) -> bool {
    let text = part.utf8_text(source.as_bytes()).unwrap_or_default();
    matches!(text.split_whitespace().next(), Some("cd" | "pushd" | "popd"))
}
