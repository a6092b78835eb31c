//! Classifies the task of a web agent: rent a car, book a flight, search media ...
//!
//! 1. The task is compared by embedding with written descriptions of each operation (`operations.toml`), zero-shot: the
//!    mean of the nearest two descriptions counts, and the operation's own terms add a little.
//! 2. The class "other" has descriptions, too, so that no absolute threshold is needed.
//! 3. The operation follows from the task and the step, not from the site. Policies decide who may do it.
//!
//! The descriptions are embedded once per process (about a second); each task takes one embedding.

use crate::embed::{EmbedError, Embedder, similarity};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tokio::sync::OnceCell;

const OPERATIONS: &str = include_str!("operations.toml");
/// Number of nearest descriptions whose mean counts.
const NEAREST: usize = 2;
/// The bonus, in cosine, if the task contains a term of the operation.
const TERMS: f32 = 0.08;
/// Longest task that is embedded, in bytes; a longer one is truncated.
const LONGEST: usize = 2_000;

#[derive(Debug, Deserialize)]
struct Described {
    terms: Vec<String>,
    about: Vec<String>,
}

static DESCRIBED: LazyLock<BTreeMap<String, Described>> =
    // the test below fails if the file does not parse
    LazyLock::new(|| toml::from_str(OPERATIONS).unwrap_or_default());

/// The classifier of operations; embeds its descriptions once.
#[derive(Debug, Default)]
pub struct Operations {
    vectors: OnceCell<Vec<(&'static str, Vec<f32>)>>,
}

/// The operation of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// `car`, `flight`, ...; `other` if it is none of these.
    pub name: &'static str,
    /// Mean cosine of the task with the nearest two descriptions, plus 0.08 if the task contains a term.
    pub score: f32,
    /// The difference of this score from that of the next operation.
    pub lead: f32,
}

impl Operations {
    /// The operation of a task; `None` for an empty task.
    ///
    /// # Errors
    /// If the embedder fails.
    pub async fn of(&self, task: &str, embedder: &dyn Embedder) -> Result<Option<Operation>, EmbedError> {
        let task = task.trim();
        let task = task.get(..task.floor_char_boundary(LONGEST)).unwrap_or(task);
        if task.is_empty() {
            return Ok(None);
        }
        let described = self.vectors.get_or_try_init(|| describe(embedder)).await?;
        let own = embedder.embed(&[task]).await?;
        let Some(own) = own.first() else { return Ok(None) };
        let spaced = format!(" {} ", words(task));
        let mut scores: Vec<(&'static str, f32)> = DESCRIBED
            .iter()
            .map(|(name, described_as)| {
                let mut near: Vec<f32> =
                    described.iter().filter(|(n, _)| n == name).map(|(_, v)| similarity(own, v)).collect();
                near.sort_by(|a, b| b.total_cmp(a));
                near.truncate(NEAREST);
                let count = f32::from(u16::try_from(near.len().max(1)).unwrap_or(u16::MAX));
                let spoken = described_as.terms.iter().any(|term| spaced.contains(&format!(" {term} ")));
                (name.as_str(), near.iter().sum::<f32>() / count + if spoken { TERMS } else { 0.0 })
            })
            .collect();
        scores.sort_by(|a, b| b.1.total_cmp(&a.1));
        let next = scores.get(1).map_or(0.0, |s| s.1);
        Ok(scores.first().map(|(name, score)| Operation { name, score: *score, lead: score - next }))
    }
}

async fn describe(embedder: &dyn Embedder) -> Result<Vec<(&'static str, Vec<f32>)>, EmbedError> {
    let mut vectors = Vec::new();
    for (name, described) in DESCRIBED.iter() {
        let texts: Vec<&str> = described.about.iter().map(String::as_str).collect();
        vectors.extend(embedder.embed(&texts).await?.into_iter().map(|v| (name.as_str(), v)));
    }
    Ok(vectors)
}

/// A text in lower case, with everything but letters, digits and hyphens replaced by single spaces.
fn words(text: &str) -> String {
    let kept: String = text.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { ' ' }).collect();
    kept.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_load_and_contain_other() {
        assert!(DESCRIBED.len() >= 7);
        assert!(DESCRIBED.values().all(|d| d.about.len() >= 8));
        assert!(DESCRIBED.contains_key("other"));
        assert!(DESCRIBED.values().flat_map(|d| &d.terms).all(|t| *t == words(t)), "terms are lower-case words");
    }
}
