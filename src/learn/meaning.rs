//! What entries mean: the vectors by which similarity recalls them, and the reasons of reports.
//!
//! 1. The vector of a lesson is that of its paraphrase. That of a rule is the mean of what its examples tell and of the
//!    reasons that reporters gave, so that one odd report does not move it far.
//! 2. A reason is a statement about the reported action (`told a guest that breakfast is free`). Similarity only chooses the
//!    reasons that a model is asked about: on texts, near misses are as similar to reports as repetitions in other words are.

use super::embedded_text;
use crate::embed::{EmbedError, Embedder};
use crate::memory::{Entry, Memory, MemoryError};
use std::sync::Arc;

/// Most examples whose texts make the vector of a rule.
const EXAMPLES: usize = 8;

/// Why entries have no vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeaningError {
    /// The memory could not be read or written.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The texts could not be embedded.
    #[error(transparent)]
    Embedder(#[from] EmbedError),
}

impl Memory {
    /// Gives vectors to active entries that have none of this embedder, at most `most` of them; returns how many got one. A
    /// vector becomes a new version of its entry.
    ///
    /// # Errors
    /// If the memory or the embedder fails. The entries before have their vectors.
    pub async fn embed(&self, embedder: &dyn Embedder, most: usize) -> Result<usize, MeaningError> {
        let entries: Vec<Arc<Entry>> = self.without_vector()?.into_iter().take(most).collect();
        self.embed_entries(embedder, &entries).await?;
        Ok(entries.len())
    }

    /// Gives vectors to these entries, as [`Memory::embed`].
    pub(crate) async fn embed_entries(
        &self,
        embedder: &dyn Embedder,
        entries: &[Arc<Entry>],
    ) -> Result<(), MeaningError> {
        for entry in entries {
            let texts = texts(entry);
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vector = mean(&embedder.embed(&texts).await?);
            // somebody may have withdrawn it, or changed it: then its new version gets one
            if self.show(&entry.id)?.version == entry.version {
                self.set_vector(&entry.id, &vector)?;
            }
        }
        Ok(())
    }
}

/// The texts whose mean is the vector of an entry.
fn texts(entry: &Entry) -> Vec<String> {
    let condition = entry.condition.iter();
    let of = condition.flat_map(|condition| {
        let told = condition.examples.iter().take(EXAMPLES).map(|example| example.told.as_str());
        told.chain(condition.reasons()).filter(|text| !text.is_empty()).map(str::to_owned)
    });
    let found: Vec<String> = of.collect();
    if found.is_empty() { vec![embedded_text(&entry.key)] } else { found }
}

/// The mean of vectors of one length; its length may differ from 1.
fn mean(vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vectors.first().cloned().unwrap_or_default();
    for vector in vectors.iter().skip(1) {
        sum.iter_mut().zip(vector).for_each(|(sum, component)| *sum += component);
    }
    sum
}

/// The vector of one text.
///
/// # Errors
/// [`EmbedError`]; also if there is no vector.
pub(crate) async fn vector(embedder: &dyn Embedder, text: &str) -> Result<Vec<f32>, EmbedError> {
    let vectors = embedder.embed(&[text]).await?;
    vectors.into_iter().next().ok_or_else(|| EmbedError::BadVector("the embedder returned nothing".to_owned()))
}
