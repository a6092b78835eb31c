//! What operators reported, done again in other words: recall by meaning proposes, and a model answers.
//!
//! Without a model nothing happens here: similarity alone stops as many honest texts as harmful ones. The model can only
//! make a person be asked.

use super::progress::Progress;
use super::{Guard, Retrieval};
use crate::check::{Answerer, Authority, Check, CheckKind, Finding, Outcome, Response, Source, Stage};
use crate::learn::{self, Learning, MeaningError, WITH_REASON};
use crate::llm::Meter;
use crate::memory::{Entry, Neighbour};
use crate::reason::{Case, Reasoner};
use crate::shape::told;
use crate::verdict::{Decision, Recalled, decide};

/// Most rules that the model is asked about.
const ASKED: usize = 2;
/// Cosine similarity below which a text has nothing to do with a rule.
const UNLIKE: f32 = 0.2;
/// Most rules that get their vectors in one check.
const EMBEDDED: usize = 16;

impl Guard {
    /// Asks the model whether the action does what operators reported with a reason, about the rules of nearest meaning.
    pub(super) async fn recognized(&self, case: &Case, meter: &Meter, progress: &mut Progress) {
        let Some(model) = &self.inner.model else { return };
        if progress.failed || decide(&progress.findings).0 == Decision::Deny {
            return;
        }
        let near = match self.reported(case).await {
            Ok(near) => near,
            Err(MeaningError::Memory(problem)) => {
                return progress.fail(Stage::Memory, format!("memory could not be searched: {problem}"));
            }
            Err(MeaningError::Embedder(problem)) => return progress.fail(Stage::Embedder, problem.to_string()),
        };
        for Neighbour { entry, similarity } in near {
            let decided = |finding: &Finding| finding.source == Source::Memory(entry.id.clone());
            if progress.findings.iter().any(decided) {
                continue;
            }
            let found = self.asked_about(&**model, case, &entry, meter, progress).await;
            progress.trace(|| format!("reported {} ({similarity:.2}): {}", entry.id, found.is_some()));
            let Some(found) = found else { continue };
            progress.findings.push(found);
            let recalled = || Recalled { entry: entry.id.clone(), similarity, version: entry.version };
            progress.recalled.get_or_insert_with(recalled);
        }
    }

    /// The rules with reasons whose meaning is nearest to what the action tells.
    async fn reported(&self, case: &Case) -> Result<Vec<Neighbour>, MeaningError> {
        let inner = &self.inner;
        let (Some(memory), Some(embedder)) = (&inner.memory, &inner.embedder) else { return Ok(Vec::new()) };
        let text = told(&case.action);
        if text.is_empty() || !matches!(inner.settings.retrieval, Retrieval::Nearest | Retrieval::MeaningOnly) {
            return Ok(Vec::new());
        }
        let rules = memory.triggered(&[WITH_REASON])?;
        if rules.is_empty() {
            return Ok(Vec::new());
        }
        let vector = learn::vector(&**embedder, &text).await?;
        let mut near = memory.similar(&rules, &vector)?;
        if near.len() < rules.len() && inner.settings.learning != Learning::Frozen {
            let known = |rule: &Entry| near.iter().any(|neighbour| neighbour.entry.id == rule.id);
            let new: Vec<_> = rules.iter().filter(|rule| !known(rule)).take(EMBEDDED).cloned().collect();
            memory.embed_entries(&**embedder, &new).await?;
            near = memory.similar(&rules, &vector)?;
        }
        near.retain(|neighbour| neighbour.similarity >= UNLIKE);
        let mut found: Vec<Neighbour> = Vec::new();
        for neighbour in near {
            let same = |other: &Entry| reasons(other) == reasons(&neighbour.entry);
            let alarm = rules.iter().filter(|rule| same(rule)).any(|rule| was_alarm(rule, &text));
            if !alarm && !found.iter().any(|other| same(&other.entry)) && found.len() < ASKED {
                found.push(neighbour);
            }
        }
        Ok(found)
    }

    /// The finding about one rule, if the model finds a reason of it true of the action.
    async fn asked_about(
        &self,
        model: &dyn Reasoner,
        case: &Case,
        entry: &Entry,
        meter: &Meter,
        progress: &mut Progress,
    ) -> Option<Finding> {
        let (condition, check) = (entry.condition.as_ref()?, entry.checks.first()?);
        let reason = progress.ok_or_fail(Stage::Model, model.recognize(case, condition, meter).await)??;
        let check = Check {
            category: check.category.clone(),
            name: check.name.clone(),
            definition: check.definition.clone(),
            authority: Authority::Learned,
            required: false,
            kind: CheckKind::Action,
        };
        let said = format!("operators reported a like action (\"{reason}\"), and a model finds the same in this one");
        let finding = Finding::new(check, Outcome::Violation, Source::Memory(entry.id.clone()), said);
        Some(Finding { response: Response::Ask(Answerer::Person), ..finding })
    }
}

/// The reasons of a rule. Rules with the same ones are asked about once.
fn reasons(entry: &Entry) -> Vec<&str> {
    entry.condition.iter().flat_map(|condition| condition.reasons()).collect()
}

/// Whether exactly this text was reported as a false alarm of a rule.
fn was_alarm(entry: &Entry, text: &str) -> bool {
    let against = entry.condition.iter().flat_map(|condition| &condition.against);
    against.map(|example| &example.told).any(|told| told == text)
}
