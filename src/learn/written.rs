//! Learnt rules written as Cedar policies with examples, so that an operator can review them, keep them under version
//! control and load them like any other policy.
//!
//! Each pattern of a rule becomes one policy, which asks a person, or denies if the rule does. The reported actions are its
//! positive examples, and like actions on record that passed are the negative ones. Both are verified when the file is
//! loaded. What stays with the memory: a repetition of a reported action is denied, texts are recalled by meaning.

use super::FeedbackError;
use super::induced::{honest, rules};
use crate::memory::{Entry, Memory, MemoryError};
use crate::policy::EventFacts;
use crate::reason::rules::INCIDENT;
use crate::shape::{Event, Honest, Pattern, forbid};
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;

/// Most examples of each side for one policy.
const EXAMPLES: usize = 4;

/// An examples file.
#[derive(Debug, Serialize)]
struct File {
    example: Vec<Example>,
}

#[derive(Debug, Serialize)]
struct Example {
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    expect: &'static str,
    event: EventFacts,
}

impl Memory {
    /// The active rules as Cedar policies, and the examples beside them as TOML; of one rule, if its id is given.
    ///
    /// # Errors
    /// If the memory cannot be read, or no rule has the id.
    pub fn policies(&self, only: Option<&str>) -> Result<(String, String), FeedbackError> {
        let rules = rules(self)?;
        let honest = honest(self, &rules, None)?;
        if let Some(id) = only {
            self.show(id)?;
        }
        let chosen: Vec<&Arc<Entry>> = rules.iter().filter(|rule| only.is_none_or(|id| rule.id == id)).collect();
        let patterns: Vec<(&Pattern, bool)> = chosen
            .iter()
            .filter_map(|rule| Some((rule, rule.condition.as_ref()?)))
            .flat_map(|(rule, condition)| condition.patterns.iter().map(|pattern| (pattern, denies(rule))))
            .collect();
        let (mut text, mut file) = (String::new(), File { example: Vec::new() });
        for rule in &chosen {
            let Some(condition) = &rule.condition else { continue };
            for (number, pattern) in condition.patterns.iter().enumerate() {
                let id = format!("{}-{}", rule.id, number + 1);
                text.push_str(&policy(rule, &id, pattern));
                let reported = condition.examples.iter().flat_map(|example| &example.events);
                // what spreads is covered by more of a text than of its pattern
                let covered = reported.filter(|event| !event.spreads && pattern.matches(event)).take(EXAMPLES);
                file.example.extend(covered.map(|event| Example::new(Some(id.clone()), event, &patterns)));
            }
        }
        let mut passed: Vec<&Event> = passed(&patterns, &honest).collect();
        // small ones, because people read them
        passed.sort_by_key(|event| event.literals.len());
        let passed = passed.into_iter().take(EXAMPLES * chosen.len());
        file.example.extend(passed.map(|event| Example::new(None, event, &patterns)));
        let examples = toml::to_string(&file).map_err(|error| MemoryError::Export(std::io::Error::other(error)))?;
        Ok((text, examples))
    }
}

impl Example {
    fn new(policy: Option<String>, event: &Event, patterns: &[(&Pattern, bool)]) -> Self {
        let covering = || patterns.iter().filter(|(pattern, _)| pattern.matches(event));
        let expect = match (covering().count(), covering().any(|(_, denies)| *denies)) {
            (0, _) => "allow",
            (_, true) => "deny",
            (_, false) => "ask",
        };
        Self { policy, expect, event: event.facts() }
    }
}

/// Events on record that passed and that no pattern covers, of the kinds that the patterns are about.
fn passed<'h>(patterns: &'h [(&Pattern, bool)], honest: &'h Honest) -> impl Iterator<Item = &'h Event> {
    honest.passed.iter().filter(|event| {
        !event.spreads
            && patterns.iter().any(|(pattern, _)| pattern.family == event.family)
            && !patterns.iter().any(|(pattern, _)| pattern.matches(event))
    })
}

fn policy(rule: &Entry, id: &str, pattern: &Pattern) -> String {
    let check = rule.checks.first();
    let (name, reason) = check.map_or(("", ""), |check| (check.name.as_str(), check.definition.as_str()));
    // a reason of a policy may have placeholders, what reporters and agents wrote has none
    let reason = reason.replace('{', "(").replace('}', ")");
    let mut text = String::new();
    // written to a text, which does not fail
    let _ = writeln!(text, "@id({id:?})\n@category(\"integrity\")\n@check({name:?})\n@reason({reason:?})");
    if !denies(rule) {
        text.push_str("@decision(\"ask\")\n@by(\"person\")\n");
    }
    let exact = rule.condition.as_ref().is_some_and(|condition| condition.exact);
    let repeated = exact.then(|| pattern.repeated());
    text + &forbid(repeated.as_ref().unwrap_or(pattern)) + "\n"
}

/// Whether the rule denies whatever it covers.
fn denies(rule: &Entry) -> bool {
    let incident = rule.checks.iter().any(|check| check.name == INCIDENT);
    incident && rule.condition.as_ref().is_some_and(|condition| condition.is_firm())
}
