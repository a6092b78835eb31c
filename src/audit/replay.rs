//! A logged decision, made again.

use super::Entry;
use crate::Guard;
use crate::action::{Action, Context};
use crate::facts::Environment;
use crate::verdict::Verdict;
use serde_json::Value;

/// What came of it.
#[derive(Debug)]
pub struct Replayed {
    /// The decision that was logged.
    pub before: String,
    /// The verdict now.
    pub verdict: Verdict,
    /// What is not as it was: `action`, `facts`, `policy`, `memory`; `secrets` where something was left out of the log.
    pub changed: Vec<&'static str>,
}

impl Replayed {
    /// The decision is the same.
    #[must_use]
    pub fn same(&self) -> bool {
        self.before == self.verdict.decision.to_string()
    }
}

/// Puts the action of an entry to a guard again; `None` if it holds no decision.
///
/// # Errors
/// If the action is of a form that this version does not know.
pub async fn replay(
    guard: &Guard,
    entry: &Entry,
    environment: Option<Environment>,
) -> Result<Option<Replayed>, serde_json::Error> {
    let Some(before) = entry.verdict.get("decision").and_then(Value::as_str) else { return Ok(None) };
    let action: Action = serde_json::from_value(entry.action.clone())?;
    let mut context = Context::new(entry.identity.clone(), environment);
    context.request.clone_from(&entry.request);
    context.agent.clone_from(&entry.agent);
    context.observations.clone_from(&entry.observations);
    context.held.clone_from(&entry.held);
    let verdict = guard.check(&action, &context).await;
    let was =
        |part: &str| entry.verdict.pointer(&format!("/digest/{part}")).and_then(Value::as_str).unwrap_or_default();
    let digest = &verdict.digest;
    let now =
        [("action", &digest.action), ("facts", &digest.facts), ("policy", &digest.policy), ("memory", &digest.memory)];
    let mut changed: Vec<&'static str> =
        now.into_iter().filter(|(part, now)| was(part) != now.as_str()).map(|(part, _)| part).collect();
    if entry.redacted {
        changed.push("secrets");
    }
    Ok(Some(Replayed { before: before.to_owned(), verdict, changed }))
}
