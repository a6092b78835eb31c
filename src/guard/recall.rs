//! Recall from memory: by effect, and by meaning.

use super::progress::Progress;
use super::{Guard, Retrieval};
use crate::check::Stage;
use crate::memory::Entry;
use crate::reason::{Case, Recall};
use crate::{learn, memory};
use std::borrow::Cow;
use std::sync::Arc;

impl Guard {
    /// Memory entries that an effect recalls; takes microseconds and needs no embedding.
    pub(super) fn triggered(&self, case: &Case, progress: &mut Progress) -> Vec<Recall> {
        let Some(memory) =
            self.inner.memory.as_ref().filter(|_| self.inner.settings.retrieval != Retrieval::MeaningOnly)
        else {
            return Vec::new();
        };
        let mut triggers: Vec<(Cow<'_, str>, String)> =
            learn::triggers(&case.gathered.queries).into_iter().map(|(verb, class)| (verb.into(), class)).collect();
        triggers.extend(learn::lookups(&case.events).into_iter().map(|trigger| (trigger.verb.into(), trigger.class)));
        let applies = |entry: &Arc<Entry>| entry.condition.as_ref().is_none_or(|c| c.matches(&case.events));
        let recall = |entry: Arc<Entry>| {
            let firm = entry.condition.as_ref().is_none_or(|c| c.is_firm() || c.repeats(&case.events));
            Recall { entry, similarity: 1.0, by_effect: true, firm }
        };
        match memory.triggered(&triggers) {
            Ok(entries) => entries.into_iter().filter(applies).map(recall).collect(),
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
        if !memory.has_vectors() || inner.settings.retrieval == Retrieval::RulesOnly {
            return;
        }
        if let Retrieval::Random(seed) = inner.settings.retrieval {
            match memory.any(learn::mixed(seed, &key.natural)) {
                Ok(entry) => {
                    recalled.extend(entry.map(|entry| Recall { entry, similarity: 1.0, by_effect: false, firm: true }))
                }
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
                        recalled.push(Recall { entry, similarity, by_effect: false, firm: true });
                    }
                }
            }
            Some(Err(problem)) => progress.fail(Stage::Memory, format!("memory could not be searched: {problem}")),
            None => progress.fail(Stage::Embedder, "the embedder returned nothing".to_owned()),
        }
    }
}
