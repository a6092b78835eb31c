//! `for`, `while` and `until`: how many rounds they have, and whether they end.

use super::amount::JOBS;
use super::braces::range_length;
use super::syntax::join;
use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::tree::Node;

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
        // without a list, the loop runs over the arguments
        let listed = children(node).iter().any(|child| child.kind() == "in");
        let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
        let head: Vec<&str> = head_of(text).trim_end().trim_end_matches(';').split_whitespace().collect();
        let of_arguments = !listed || matches!(head.as_slice(), ["for", _, "in", "\"$@\"" | "$@" | "$*" | "\"${@}\""]);
        if let Some(arguments) = self.state.arguments.clone().filter(|all| of_arguments && all.len() <= MAX_ROUNDS) {
            if arguments.is_empty() {
                body.into_iter().for_each(|body| self.skip(body));
                return Output::silent();
            }
            values = arguments;
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
        self.exhaust_jobs(node, source, rounds);
        self.repeat = saved;
        output
    }

    /// Reports a loop that starts a job in each of many rounds. The rounds of loops around it count if nothing waits.
    fn exhaust_jobs(&mut self, node: Node<'_>, source: &str, own: u64) {
        let around = if self.endless { u64::MAX } else { self.repeat };
        let rounds = if waits(source) { own } else { own.max(around) };
        if rounds >= JOBS && starts_more(node, source) {
            self.exhaust("process", "shell");
        }
    }

    pub(super) fn while_loop(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        let known = self.argument_loop(node, source, &stdin).or_else(|| self.known_loop(node, source, &stdin));
        if let Some(output) = known {
            return output;
        }
        let endless = self.forget_and_see_end(node, source);
        let saved = (self.endless, self.repeat);
        self.endless |= endless;
        let rounds = counted(node.utf8_text(source.as_bytes()).unwrap_or_default()).unwrap_or(1);
        self.repeat = self.repeat.saturating_mul(rounds);
        let counts = node.kind() == "c_style_for_statement";
        let output = self.rounds(|s| match node.child_by_field_name("body").filter(|_| counts) {
            Some(body) => {
                s.count(node, body, source);
                s.statement(body, source, stdin.clone())
            }
            None => s.block(node, source, stdin.clone()),
        });
        self.exhaust_jobs(node, source, if endless { u64::MAX } else { rounds });
        (self.endless, self.repeat) = saved;
        output
    }

    /// Interprets `while [ $# -gt 0 ]; do ... shift; done` with known arguments, round by round. `None` if the loop is
    /// another one.
    fn argument_loop(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Option<Output> {
        let text = node.utf8_text(source.as_bytes()).unwrap_or_default();
        let head: String = head_of(text).split_whitespace().collect::<Vec<_>>().join(" ");
        if self.unsettled || !ARGUMENTS_LEFT.contains(&head.trim_end_matches(';').trim()) {
            return None;
        }
        let known = |shell: &Self| {
            shell.state.arguments.clone().filter(|all| !all.iter().any(|one| one.contains(UNKNOWN_SPAN)))
        };
        let body = node.child_by_field_name("body")?;
        let mut left = known(self)?;
        let mut output = Output::silent();
        if left.is_empty() || left.len() > MAX_ROUNDS {
            self.skip(body);
            return left.is_empty().then_some(output);
        }
        let before = (self.state.fork(), self.files.clone(), self.reading.effects.len());
        while !left.is_empty() {
            output = join(output, self.statement(body, source, stdin.clone()));
            match known(self) {
                Some(rest) if rest.len() < left.len() => left = rest,
                // it does not take its arguments one by one
                _ => {
                    (self.state, self.files) = (before.0, before.1);
                    return None;
                }
            }
        }
        Some(output)
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

/// Whether each round of a loop starts something in the background, and nothing in the foreground takes time.
fn starts_more(node: Node<'_>, source: &str) -> bool {
    let waits = |node: Node<'_>| waits(node.utf8_text(source.as_bytes()).unwrap_or_default());
    let starts = |body: Node<'_>| {
        let parts = children(body);
        let in_background = |place: usize| parts.get(place + 1).is_some_and(|next| next.kind() == "&");
        let mut foreground = parts.iter().enumerate().filter(|(place, part)| part.is_named() && !in_background(*place));
        parts.iter().any(|part| part.kind() == "&") && !foreground.any(|(_, part)| waits(*part))
    };
    children(node).into_iter().any(starts)
}

/// Whether a word of a text takes time.
fn waits(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "read" | "sleep" | "wait"))
}

/// Heads of loops that run while there are arguments.
const ARGUMENTS_LEFT: [&str; 12] = [
    "while [ $# -gt 0 ]",
    "while [[ $# -gt 0 ]]",
    "while [ \"$#\" -gt 0 ]",
    "while [[ \"$#\" -gt 0 ]]",
    "while (( $# > 0 ))",
    "while (($# > 0))",
    "while (( $# ))",
    "while (($#))",
    "while [ $# -ne 0 ]",
    "while [[ $# -ne 0 ]]",
    "while [ $# != 0 ]",
    "until [ $# -eq 0 ]",
];

/// The number of lines of `$(seq 1 100000)`.
fn sequence_length(raw: &str) -> Option<u64> {
    let inner = raw.trim_start_matches("$(").trim_start_matches('`').trim_end_matches([')', '`']);
    let mut words = inner.split_whitespace();
    if words.next()? != "seq" {
        return None;
    }
    sequence(&words.map(str::to_owned).collect::<Vec<_>>())
}

/// The number of lines that `seq` prints with these arguments.
pub(super) fn sequence(arguments: &[String]) -> Option<u64> {
    let numbers: Vec<i64> = arguments.iter().filter_map(|word| word.parse().ok()).collect();
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
