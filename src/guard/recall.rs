//! Recall from memory: by effect, and by meaning.

use super::progress::Progress;
use super::{Guard, Retrieval};
use crate::check::Stage;
use crate::reason::{Case, Recall};
use crate::{learn, memory};

impl Guard {
    /// Memory entries that an effect recalls; takes microseconds and needs no embedding.
    pub(super) fn triggered(&self, case: &Case, progress: &mut Progress) -> Vec<Recall> {
        let Some(memory) = &self.inner.memory else { return Vec::new() };
        match memory.triggered(&learn::triggers(&case.gathered.queries)) {
            Ok(entries) => {
                entries.into_iter().map(|entry| Recall { entry, similarity: 1.0, by_effect: true }).collect()
            }
            Err(problem) => {
                progress.fail(Stage::Memory, format!("memory could not be read: {problem}"));
                Vec::new()
            }
        }
    }

    /// Recalls entries of similar meaning, in addition to those that an effect recalled.
    pub(super) async fn recall(&self, key: &memory::Key, recalled: &mut Vec<Recall>, progress: &mut Progress) {
        let inner = &self.inner;
        let (Some(memory), Some(embedder)) = (&inner.memory, &inner.embedder) else { return };
        if !memory.has_vectors() {
            return;
        }
        if let Retrieval::Random(seed) = inner.settings.retrieval {
            match memory.any(learn::mixed(seed, &key.natural)) {
                Ok(entry) => recalled.extend(entry.map(|entry| Recall { entry, similarity: 1.0, by_effect: false })),
                Err(problem) => progress.fail(Stage::Memory, format!("memory could not be read: {problem}")),
            }
            return;
        }
        let vectors = match embedder.embed(&[&learn::embedded_text(key)]).await {
            Ok(vectors) => vectors,
            Err(problem) => return progress.fail(Stage::Embedder, problem.to_string()),
        };
        match vectors.first().map(|vector| memory.recall(vector, inner.settings.neighbours)) {
            Some(Ok(near)) => {
                for neighbour in near.into_iter().filter(|n| n.similarity > inner.settings.similarity) {
                    if !recalled.iter().any(|r| r.entry.id == neighbour.entry.id) {
                        let (entry, similarity) = (neighbour.entry, neighbour.similarity);
                        recalled.push(Recall { entry, similarity, by_effect: false });
                    }
                }
            }
            Some(Err(problem)) => progress.fail(Stage::Memory, format!("memory could not be searched: {problem}")),
            None => progress.fail(Stage::Embedder, "the embedder returned nothing".to_owned()),
        }
    }
}
