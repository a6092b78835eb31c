//! The question about a rule whose answer the record needs most.
//!
//! Nothing depends on the answer: without it, the rule stays what its reports and the record make of it. `every` can only
//! make it wider, and never over an action that passed; `only` counts what the record has beside it as false positives.

use super::FeedbackError;
use super::induced::{Of, honest, keep, rules, version};
use crate::memory::{DecisionRecord, Entry, Memory};
use crate::shape::{Condition, Example, Pair, Recorded};
use serde::Serialize;

/// Most recorded decisions over which a question is asked.
const RECORD: usize = 2_000;
/// Most recorded actions that an answer counts as false positives.
const WRONG: usize = 3;
/// Most recorded actions that a question names.
const NAMED: usize = 5;

/// A question about how far a rule reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Question {
    /// Id of the rule.
    pub rule: String,
    /// What it covers if the answer is `every`.
    pub every: String,
    /// What it covers if the answer is `only`.
    pub only: String,
    /// Whether it now covers every one of them.
    pub covers_every: bool,
    /// Ids of recorded decisions that asked a person and belong to `every` alone: at most five.
    pub others: Vec<String>,
}

impl Memory {
    /// The question about a rule whose answer the record needs most; `None` if the record tells nothing apart.
    ///
    /// # Errors
    /// If there is no such entry, or the memory cannot be read.
    pub fn question(&self, rule: &str) -> Result<Option<Question>, FeedbackError> {
        let Some((entry, _, pair)) = pair(self, rule)? else { return Ok(None) };
        let (every, only) = pair.sentences();
        let others = told(&pair, &self.decisions(RECORD)?).take(NAMED).map(|example| example.verdict).collect();
        Ok(Some(Question { rule: entry.id, every, only, covers_every: pair.is_wide, others }))
    }

    /// Answers the question about a rule, and returns its next version; `None` if there is no question. The answer `only`
    /// may narrow the rule, so the caller has to make sure that a person gives it.
    ///
    /// # Errors
    /// If there is no such entry, or the memory cannot be read or written.
    pub fn answer_question(&self, rule: &str, every: bool, who: &str) -> Result<Option<Entry>, FeedbackError> {
        let Some((entry, condition, pair)) = pair(self, rule)? else { return Ok(None) };
        let Some(check) = entry.checks.first() else { return Ok(None) };
        let next = if every {
            condition.with_every(&pair)
        } else {
            let of = |example: Example| Example { by: who.to_owned(), ..example };
            let others = told(&pair, &self.decisions(RECORD)?).take(WRONG).map(of).collect();
            condition.with_only(&pair, others, &honest(self, &rules(self)?, None)?)
        };
        if next.patterns.is_empty() || next.examples.is_empty() {
            return Ok(None);
        }
        let source = format!("feedback:{}:{rule}", if every { "every" } else { "only" });
        let of = Of { key: &entry.key, project: entry.provenance.project.as_ref(), who, note: None };
        Ok(Some(keep(self, Some(version(&entry)), next, &check.name, of, source)?))
    }
}

/// A rule with the pair of patterns that the question about it is about.
fn pair(memory: &Memory, rule: &str) -> Result<Option<(Entry, Condition, Pair)>, FeedbackError> {
    let entry = memory.show(rule)?;
    let Some(condition) = entry.condition.clone() else { return Ok(None) };
    let honest = honest(memory, &rules(memory)?, None)?;
    Ok(condition.question(&honest).map(|pair| (entry, condition, pair)))
}

/// The recorded actions that a person was asked about and that the pair tells apart.
fn told<'r>(pair: &'r Pair, record: &'r [DecisionRecord]) -> impl Iterator<Item = Example> + 'r {
    let asked = record.iter().filter(|decision| decision.decision == "ask");
    asked.filter_map(|decision| {
        let Recorded { events } = serde_json::from_str(&decision.record).ok()?;
        let told = events.iter().any(|event| pair.tells(event)) && !events.iter().any(|event| pair.only.matches(event));
        told.then(|| Example {
            verdict: decision.id.clone(),
            by: String::new(),
            events,
            told: String::new(),
            reason: None,
        })
    })
}
