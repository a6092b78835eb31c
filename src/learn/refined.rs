//! Lessons of a checklist that a model has refined.
//!
//! 1. A check that was answered gains support. A check that was discarded counts against itself, but only if the action
//!    was allowed and the agent had read nothing untrusted ([`crate::memory::QUORUM`] decides when a check is removed).
//! 2. A new check with the same meaning as a recalled one ([`SAME`], cosine of the texts) supports the recalled one in
//!    its wording, so that rephrased duplicates do not accumulate.
//! 3. The paper's test-time adaptation ([`Learning::AtOnce`]) overwrites the entry with the new list; it is an
//!    ablation.

use super::Learning;
use super::{embedded_text, kinds};
use crate::action::Context;
use crate::check::{Authority, Check, Finding, Outcome};
use crate::embed::Embedder;
use crate::memory::{self, Change, Entry, Key, Lesson};
use crate::reason::Case;
use crate::verdict::{Decision, Verdict};
use std::sync::Arc;

/// Cosine similarity above which two checks of one category mean the same, for all-MiniLM-L6-v2 on `name: definition`.
pub(crate) const SAME: f32 = 0.7;
/// Most triggers of a learnt entry.
const TRIGGERS: usize = 8;

/// The checklist as it was after reasoning.
#[derive(Debug, Clone)]
pub(crate) struct Refined {
    /// The entry from which it was recalled, if the action is of the same kind.
    pub target: Option<Arc<Entry>>,
    /// All recalled entries. Their wording is used for checks with the same meaning.
    pub recalled: Vec<Arc<Entry>>,
    /// The paraphrase of the action.
    pub key: Key,
    /// The model's finding for each check.
    pub findings: Vec<Finding>,
    /// Pairs of checks with the same meaning: (removed, kept).
    pub merged: Vec<(Check, Check)>,
    /// Checks with their new definitions.
    pub revised: Vec<(Check, String)>,
}

/// The lesson of one episode, by the rule of `learning`.
pub(super) async fn lesson(
    refined: &Refined,
    case: &Case,
    context: &Context,
    verdict: &Verdict,
    learning: Learning,
    embedder: Option<&dyn Embedder>,
) -> Option<Lesson> {
    let target = refined.target.as_deref();
    let known: Vec<&memory::LearnedCheck> = target.map(|t| t.checks.iter().collect()).unwrap_or_default();
    let used: Vec<&Check> = (refined.findings.iter())
        .filter(|f| matches!(f.outcome, Outcome::Pass | Outcome::Violation) && f.check.authority == Authority::Learned)
        .map(|f| &f.check)
        .collect();
    let changes = if learning == Learning::AtOnce {
        overwrite(&known, &used)
    } else {
        let familiar = refined.recalled.iter().filter(|e| target.is_none_or(|t| t.id != e.id));
        let familiar: Vec<&memory::LearnedCheck> =
            known.iter().copied().chain(familiar.flat_map(|e| &e.checks)).collect();
        let named = merge(&familiar, &used, embedder).await;
        let relaxing = verdict.decision == Decision::Allow && context.observations.is_empty();
        gentle(&known, named, refined, relaxing)
    };
    let mut vector = None;
    if let Some(embedder) = embedder {
        vector = embedder.embed(&[&embedded_text(&refined.key)]).await.ok().and_then(|v| v.into_iter().next());
    }
    let recalled_by = kinds(&case.gathered.queries).into_iter();
    (!changes.is_empty()).then(|| Lesson {
        // a lesson that an untrusted text may have influenced stays separate from active entries
        entry: target.filter(|_| context.observations.is_empty()).map(|t| t.id.clone()),
        key: refined.key.clone(),
        vector,
        triggers: match target {
            // the entry keeps the triggers of the action from which it was learnt
            Some(_) => Vec::new(),
            None => (recalled_by.take(TRIGGERS))
                .map(|(verb, class)| memory::Trigger { verb: verb.to_owned(), class })
                .filter(|_| learning != Learning::AtOnce)
                .collect(),
        },
        changes,
        episode: memory::Episode {
            id: verdict.id.clone(),
            principal: context.identity.name.clone(),
            project: Some(context.agent.clone()),
            tainted: !context.observations.is_empty(),
            clean: true,
        },
        taught_by: format!("episode:{}", verdict.id),
        policy_checks: Vec::new(),
    })
}

/// The paper's rule: the entry becomes the new list.
fn overwrite(known: &[&memory::LearnedCheck], used: &[&Check]) -> Vec<Change> {
    let stays = |k: &memory::LearnedCheck| used.iter().any(|u| u.category == k.category && u.name == k.name);
    let gone = known.iter().filter(|k| !stays(k));
    let gone = gone.map(|k| Change::Remove { category: k.category.clone(), name: k.name.clone() });
    gone.chain(used.iter().map(|u| added(u))).collect()
}

/// Support for the used checks; votes against discarded and duplicate ones.
fn gentle(known: &[&memory::LearnedCheck], named: Vec<Change>, refined: &Refined, relaxing: bool) -> Vec<Change> {
    let mut changes = named;
    let on_entry = |c: &Check| known.iter().any(|k| k.category == c.category && k.name == c.name && !k.required);
    if relaxing {
        let aside = refined.findings.iter().filter(|f| f.outcome == Outcome::Discarded).map(|f| &f.check);
        let double = refined.merged.iter().map(|(goes, _)| goes);
        for check in aside.chain(double).filter(|c| on_entry(c)) {
            changes.push(Change::Remove { category: check.category.clone(), name: check.name.clone() });
        }
        for (check, definition) in refined.revised.iter().filter(|(c, _)| on_entry(c)) {
            let (category, name) = (check.category.clone(), check.name.clone());
            changes.push(Change::Revise { category, name, definition: definition.clone() });
        }
    }
    let mut seen = Vec::new();
    changes.retain(|c| {
        let new = !seen.contains(c);
        if new {
            seen.push(c.clone());
        }
        new
    });
    changes
}

/// Each used check, under the name that the entry has for it. Without an embedder, only equal names match.
async fn merge(known: &[&memory::LearnedCheck], used: &[&Check], embedder: Option<&dyn Embedder>) -> Vec<Change> {
    let text = |name: &str, definition: &str| format!("{name}: {definition}");
    let texts: Vec<String> = (known.iter().map(|k| text(&k.name, &k.definition)))
        .chain(used.iter().map(|u| text(&u.name, &u.definition)))
        .collect();
    let vectors = match embedder {
        Some(embedder) if !known.is_empty() && !used.is_empty() => {
            embedder.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let mut changes = Vec::new();
    for (place, check) in used.iter().enumerate() {
        let exact = known.iter().find(|k| k.category == check.category && k.name.eq_ignore_ascii_case(&check.name));
        let near = || {
            let mine = vectors.get(known.len() + place)?;
            let scored = known.iter().zip(&vectors).filter(|(k, _)| k.category != memory::CONTRAST);
            let scored = scored.map(|(k, v)| (k, dot(mine, v))).filter(|(_, score)| *score > SAME);
            scored.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(k, _)| k)
        };
        changes.push(match exact.or_else(near) {
            Some(k) => Change::Add {
                category: k.category.clone(),
                name: k.name.clone(),
                definition: k.definition.clone(),
                required: false,
            },
            None => added(check),
        });
    }
    changes
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn added(check: &Check) -> Change {
    Change::Add {
        category: check.category.clone(),
        name: check.name.clone(),
        definition: check.definition.clone(),
        required: false,
    }
}
