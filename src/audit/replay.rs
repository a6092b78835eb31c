//! Replays a logged decision.

use super::Entry;
use crate::Guard;
use crate::action::{Action, Context};
use crate::machine::Environment;
use crate::verdict::Verdict;
use serde_json::Value;

/// The result of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// The logged decision.
    pub before: String,
    /// The verdict of the replay.
    pub verdict: Verdict,
    /// The inputs that differ: `action`, `facts`, `policy`, `memory`; `secrets` if the log omits part of the input.
    pub changed: Vec<&'static str>,
}

impl Replayed {
    /// Whether the decision is the same.
    #[must_use]
    pub fn same(&self) -> bool {
        self.before == self.verdict.decision.to_string()
    }
}

/// Gives the action of an entry to a guard again; `None` if the entry contains no decision.
///
/// # Errors
/// If this version cannot parse the action.
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
    context.session.clone_from(&entry.session);
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
