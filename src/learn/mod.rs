//! Learning after the verdict: it can change later verdicts, never the current one.
//!
//! 1. `Journal` records every decision in the database of the memory and, if configured, learns from clean episodes.
//! 2. `Refined` is a checklist after a model has refined it; `refined.rs` turns it into a lesson.
//! 3. [`apply_feedback`] turns an operator's feedback on a recorded verdict into bounded evidence.
//! 4. `signed` identifies exactly one action of one principal, in normal form, and `answerable` decides which findings
//!    its approval answers. [`Memory::widen`] extends an approval along arguments that a person names.
//! 5. [`Memory::draft_tool`] and [`Memory::draft_program`] draft a row about an in-house tool from approved and reported calls.
//! 6. [`Memory::question`] is the question about a rule whose answer the record needs most.
//! 7. [`Memory::report`] also learns what a reporter says was wrong, and [`Memory::embed`] gives entries the vectors by which
//!    meaning recalls them.
//! 8. [`Memory::policies`] writes the rules as Cedar policies with examples.
//! 9. `triggers` recall lessons.

mod feedback;
mod induced;
mod journal;
mod meaning;
mod question;
mod refined;
mod signed;
mod tool;
mod widened;
mod written;

pub use feedback::{Feedback, FeedbackError, Learnt, apply_feedback};
pub(crate) use induced::{WITH_REASON, lookups};
pub use journal::JournalError;
pub(crate) use journal::{Episode, Journal};
pub(crate) use meaning::{MeaningError, vector};
#[cfg(feature = "serve")]
pub(crate) use question::Question;
pub(crate) use refined::Refined;
pub(crate) use signed::signed;

use crate::check::{Answerer, Finding, Outcome, Response, Source};
use crate::effect::Kind;
use crate::memory::Key;
#[cfg(doc)]
use crate::memory::Memory;
use crate::policy::EffectFacts;
use crate::shape::group;
use sha2::{Digest, Sha256};

/// What a guard with a memory learns automatically.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Learning {
    /// Nothing. Decisions are recorded, and only operators' feedback is learnt (default).
    #[default]
    Feedback,
    /// Each clean episode also supports the checks that it needed (test-time adaptation).
    Episodes,
    /// Each episode overwrites its entry at once, as in AGrail (arXiv 2502.11448). Only for ablations.
    AtOnce,
    /// The memory is only read.
    Frozen,
}

/// Most parent folders of a path that recall lessons about them.
const ABOVE: usize = 24;

/// The text of a paraphrase that is embedded for the vector index.
#[must_use]
pub(crate) fn embedded_text(key: &Key) -> String {
    format!("{}\n{}", key.natural, key.command)
}

/// A number derived from a seed and a text, the same on every machine.
#[must_use]
pub(crate) fn mixed(seed: u64, text: &str) -> u64 {
    let hash = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(text).finalize();
    hash.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// The triggers that recall a lesson without an embedding: each effect's verb with the class of its target, with the
/// target itself, with every parent folder and, if the effect reaches below its target, with everything below it.
#[must_use]
pub(crate) fn triggers(queries: &[EffectFacts]) -> Vec<(&'static str, String)> {
    let mut found = Vec::with_capacity(queries.len() * 4);
    for query in queries {
        found.push((query.verb.as_str(), query.class.as_str().to_owned()));
        let verb = group(query.verb);
        if query.kind != Kind::Path {
            found.push((verb, format!("at {} {}", query.kind, query.name)));
            continue;
        }
        let place = query.constant_part();
        found.push((verb, format!("at path {place}")));
        found.extend(above(place).map(|folder| (verb, format!("at path {folder}"))));
        if query.recursive || query.is_prefix {
            found.push((verb, format!("above path {place}")));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The kinds of the effects, without names: verb and class of target.
#[must_use]
pub(crate) fn kinds(queries: &[EffectFacts]) -> Vec<(&'static str, String)> {
    let mut found: Vec<_> = queries.iter().map(|q| (q.verb.as_str(), q.class.as_str().to_owned())).collect();
    found.sort();
    found.dedup();
    found
}

/// The triggers of a lesson about exactly these targets.
#[must_use]
pub(crate) fn targets(queries: &[EffectFacts]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for query in queries {
        let verb = group(query.verb);
        if query.kind != Kind::Path {
            found.push((verb, format!("at {} {}", query.kind, query.name)));
        } else if !query.unresolved {
            let place = query.constant_part();
            found.push((verb, format!("at path {place}")));
            found.extend(above(place).map(|folder| (verb, format!("above path {folder}"))));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Parent folders of a path, without the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter(|(at, _)| *at > 0).take(ABOVE).filter_map(|(at, _)| path.get(..at))
}

/// Whether an approval of exactly this action answers the finding: an ask of policy, or an unknown effect that the
/// `signature` covers; never a forbid, and never an ask that policy reserves for a person each time.
#[must_use]
pub(crate) fn answerable(finding: &Finding) -> bool {
    match finding.outcome {
        Outcome::Violation => finding.response == Response::Ask(Answerer::Model),
        Outcome::Unknown => finding.source == Source::NotUnderstood,
        Outcome::Pass | Outcome::Discarded => false,
    }
}

/// Whether an approval of exactly this action could answer every finding that prevents an allow.
#[must_use]
pub(crate) fn approvable(findings: &[Finding]) -> bool {
    use crate::check::Authority;
    let open = |f: &&Finding| f.outcome != Outcome::Pass && f.outcome != Outcome::Discarded;
    let binding = |f: &&Finding| f.check.required || f.check.authority == Authority::Policy;
    findings.iter().filter(open).filter(binding).all(answerable)
}
