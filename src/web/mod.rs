//! Classifies the task of a web agent: rent a car, book a flight, search media ...
//!
//! 1. A classifier of short texts ([`crate::classify`]) gives each operation a probability; its weights are
//!    `operations.json`. The class `other` covers everything that is none of these.
//! 2. The operation follows from the task, not from the site. Policies decide who may do it.
//! 3. If a second operation is nearly as probable, the task has two readings ([`Operation::or`]); where policies decide
//!    them differently, a person is asked.

use crate::classify::Classifier;
use crate::embed::{EmbedError, Embedder};
use std::sync::LazyLock;

/// The probability from which on a second operation is a reading of the task.
const POSSIBLE: f32 = 0.3;

static WEIGHTS: LazyLock<Option<Classifier>> =
    // the test below fails if the file does not parse
    LazyLock::new(|| serde_json::from_str(include_str!("operations.json")).ok());

/// The operation of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// `car`, `flight`, ...; `other` if it is none of these.
    pub name: &'static str,
    /// Its probability.
    pub score: f32,
    /// The difference of this probability from that of the next operation.
    pub lead: f32,
    /// The next operation, if the task can be read as this one as well.
    pub or: Option<&'static str>,
}

/// The operation of a task; `None` for an empty task, and with an embedder for which there are no weights.
///
/// # Errors
/// If the embedder fails.
pub async fn operation(task: &str, embedder: &dyn Embedder) -> Result<Option<Operation>, EmbedError> {
    let Some(weights) = WEIGHTS.as_ref().filter(|_| !task.trim().is_empty()) else { return Ok(None) };
    let scores = weights.classify(&[task], embedder).await?.and_then(|all| all.into_iter().next());
    let Some(scores) = scores else { return Ok(None) };
    let mut named: Vec<(&'static str, f32)> = weights.labels.iter().map(String::as_str).zip(scores).collect();
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(name, score), (next, second), ..] = named.as_slice() else { return Ok(None) };
    let or = (*second >= POSSIBLE).then_some(*next);
    Ok(Some(Operation { name, score: *score, lead: score - second, or }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_load_and_contain_other() {
        let weights = WEIGHTS.as_ref();
        assert!(weights.is_some_and(|one| one.is_sound(crate::embed::MINILM_DIMENSIONS)));
        assert!(weights.is_some_and(|one| one.labels.len() == 7 && one.labels.iter().any(|label| label == "other")));
    }
}
