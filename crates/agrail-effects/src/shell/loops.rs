//! `for`, `while` and `until`: how many rounds they have, and whether they end.

use super::braces::range_length;
use super::syntax::join;
use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Cause;
use tree_sitter::Node;

/// Most words of a loop that are interpreted one by one.
const MAX_ROUNDS: usize = 48;

impl Shell<'_> {
    pub(super) fn for_loop(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let name = node
            .child_by_field_name("variable")
            .and_then(|n| n.utf8_text(source.as_bytes()).ok())
            .unwrap_or_default()
            .to_owned();
        let body = node.child_by_field_name("body");
        let mut values: Vec<String> = Vec::new();
        let mut rounds = 0_u64;
        for child in children(node) {
            if !child.is_named() || Some(child.id()) == body.map(|b| b.id()) || child.kind() == "variable_name" {
                continue;
            }
            let raw = child.utf8_text(source.as_bytes()).unwrap_or_default();
            let fields = self.fields(child, source);
            rounds = rounds
                .saturating_add(range_length(raw).or_else(|| sequence_length(raw)).unwrap_or(fields.len() as u64));
            values.extend(fields);
        }
        if values.len() > MAX_ROUNDS {
            self.unknown(Cause::Budget, "a loop over too many words", "shell");
        }
        // without a list, the loop runs over the arguments
        let listed = children(node).iter().any(|child| child.kind() == "in");
        if !listed && self.state.arguments.len() <= MAX_ROUNDS {
            values.clone_from(&self.state.arguments);
        }
        if values.is_empty() || values.len() > MAX_ROUNDS {
            values = vec![UNKNOWN_SPAN.to_string()];
        }
        let Some(body) = body else { return Output::default() };
        self.state.plain.remove(&name);
        let saved = self.repeat;
        self.repeat = saved.saturating_mul(rounds.max(1));
        let output = match values.as_slice() {
            [value] if value.contains(UNKNOWN_SPAN) => self.rounds(|s| {
                s.state.variables.insert(name.clone(), vec![value.clone()]);
                s.statement(body, source, stdin.clone())
            }),
            _ => {
                let mut output = Output::silent();
                for value in values {
                    self.state.variables.insert(name.clone(), vec![value]);
                    output = join(output, self.statement(body, source, stdin.clone()));
                }
                output
            }
        };
        self.repeat = saved;
        output
    }

    pub(super) fn while_loop(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let endless = self.forget_and_see_end(node, source);
        let saved = (self.endless, self.repeat);
        self.endless |= endless;
        if let Some(n) = counted(node.utf8_text(source.as_bytes()).unwrap_or_default()) {
            self.repeat = self.repeat.saturating_mul(n);
        }
        let counts = node.kind() == "c_style_for_statement";
        let output = self.rounds(|s| match node.child_by_field_name("body").filter(|_| counts) {
            Some(body) => {
                s.count(node, body, source);
                s.statement(body, source, stdin.clone())
            }
            None => s.block(node, source, stdin.clone()),
        });
        (self.endless, self.repeat) = saved;
        output
    }

    /// Interprets the head of `for ((i = 0; i < 3; i++))`: the variables that it sets differ in each round.
    fn count(&mut self, node: Node<'_>, body: Node<'_>, source: &str) {
        for part in children(node).into_iter().filter(|part| part.is_named() && part.id() != body.id()) {
            let text = part.utf8_text(source.as_bytes()).unwrap_or_default();
            self.walk_substitutions(part, source);
            self.named_values(text);
            let changes = text.contains("++") || text.contains("--") || text.contains('=');
            let names = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            for name in names.filter(|name| changes && name.starts_with(|c: char| !c.is_ascii_digit())) {
                self.assign(name, vec![UNKNOWN_SPAN.to_string()]);
            }
        }
    }

    /// Makes the variables that the loop sets unknown. Returns whether the loop never ends.
    fn forget_and_see_end(&mut self, node: Node<'_>, source: &str) -> bool {
        let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
        let head: String = head_of(text).split_whitespace().collect::<Vec<_>>().join(" ");
        for name in self.state.variables.keys().cloned().collect::<Vec<_>>() {
            if text.contains(&format!("{name}=")) || text.contains(&format!("{name}+")) {
                self.state.variables.insert(name, vec![UNKNOWN_SPAN.to_string()]);
            }
        }
        let always = [
            "while true;",
            "while :;",
            "while true",
            "while :",
            "while [ 1 ];",
            "while ((1));",
            "until false;",
            "for ((;;));",
            "for (( ; ; ));",
            "for ((;;))",
            "while [ true ];",
            "while 1;",
        ];
        always.contains(&head.trim()) && !["break", "exit", "return", "read "].iter().any(|w| text.contains(w))
    }
}

/// The number of lines of `$(seq 1 100000)`.
fn sequence_length(raw: &str) -> Option<u64> {
    let inner = raw.trim_start_matches("$(").trim_start_matches('`').trim_end_matches([')', '`']);
    let mut words = inner.split_whitespace();
    if words.next()? != "seq" {
        return None;
    }
    let numbers: Vec<i64> = words.filter_map(|w| w.parse().ok()).collect();
    let span = match numbers.as_slice() {
        [last] => *last,
        [first, last] => last.saturating_sub(*first),
        [first, step, last] => last.saturating_sub(*first).checked_div(*step)?,
        _ => return None,
    };
    Some(span.unsigned_abs().saturating_add(1))
}

/// The head of a loop: its text before the word `do`.
fn head_of(text: &str) -> &str {
    let stands_alone = |at: usize| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + 2..).and_then(|text| text.chars().next());
        before.is_none_or(|c| c.is_whitespace() || c == ';') && after.is_none_or(char::is_whitespace)
    };
    let end = text.match_indices("do").map(|(at, _)| at).find(|at| stands_alone(*at));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The approximate number of rounds of `for ((i=0; i<100000; i++))` or `while [ $i -lt 100000 ]`.
fn counted(text: &str) -> Option<u64> {
    let head = head_of(text);
    let marks = ["-lt", "-le", "<=", "<"];
    let rest = marks.iter().find_map(|m| head.split_once(m).map(|(_, r)| r))?;
    rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}
