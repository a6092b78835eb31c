//! Learning after the verdict: it can change later verdicts, never the current one.
//!
//! 1. `Journal` records every decision in the database of the memory and, if configured, learns from clean episodes.
//! 2. `Refined` is a checklist after a model has refined it; `refined.rs` turns it into a lesson.
//! 3. [`apply_feedback`] turns an operator's feedback on a recorded verdict into bounded evidence.
//! 4. `signature` identifies exactly one action of one principal, in normal form. `answerable` decides which
//!    findings its approval answers. `triggers` recall lessons.

mod feedback;
mod induced;
mod journal;
mod refined;

pub use feedback::{Feedback, FeedbackError, Learnt, apply_feedback};
pub(crate) use induced::lookups;
pub use journal::JournalError;
pub(crate) use journal::{Episode, Journal};
pub(crate) use refined::Refined;

use crate::action::Context;
use crate::check::{Answerer, Finding, Outcome, Response, Source};
use crate::effect::Kind;
use crate::effect::{self, Cause, UNKNOWN_SPAN, Verb};
use crate::facts;
use crate::memory::Key;
use crate::policy::EffectFacts;
use crate::reason::Case;
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

/// SHA-256 (hexadecimal) that identifies exactly this action of this principal and agent: its normal form with all
/// arguments, its effects on resolved paths, and the digests of unknown programs. `None` if a part is not constant, or
/// is unknown and has no digest, so that no approval can cover it.
#[must_use]
pub(crate) fn signature(case: &Case, context: &Context) -> Option<String> {
    let account = facts::account(context);
    let mut lines = Vec::with_capacity(case.gathered.queries.len());
    for query in &case.gathered.queries {
        let open = query.unresolved
            || query.is_prefix
            || query.name.contains(UNKNOWN_SPAN)
            || query.detail.contains(UNKNOWN_SPAN);
        if open {
            return None;
        }
        let resolved = match &context.environment {
            Some(environment) if query.kind == Kind::Path => environment.path(&query.name, &account).resolved,
            _ => String::new(),
        };
        let content = if query.verb == Verb::Unknown { unknown_content(query, context)? } else { String::new() };
        lines.push(format!(
            "{}\u{0}{}\u{0}{}\u{0}{}\u{0}{resolved}\u{0}{}\u{0}{}\u{0}{}{}{}{}\u{0}{content}",
            query.verb,
            query.operation,
            query.kind,
            query.name,
            query.program,
            query.detail,
            u8::from(query.recursive),
            u8::from(query.keep),
            u8::from(query.privileged),
            u8::from(query.into_existing_dir),
        ));
    }
    if lines.is_empty() {
        return None;
    }
    lines.sort();
    let form = effect::normal(&case.action, &account.home);
    let identity = serde_json::to_string(&context.identity).ok()?;
    let mut hash = Sha256::new();
    for part in [&identity, &context.agent, &form.to_string()].into_iter().chain(&lines) {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    Some(crate::hex(&hash.finalize()))
}

/// The content of an unknown effect for the signature: for an unknown program or a script, the path and the digest of
/// its file; empty for a path argument of such a program. `None` for every other unknown.
fn unknown_content(query: &EffectFacts, context: &Context) -> Option<String> {
    let environment = context.environment.as_ref()?;
    let at = |path: &str| Some(format!("{path}\u{0}{}", environment.file_digest(path)?));
    match query.kind.as_str() {
        "path" => Some(String::new()),
        kind if kind == Cause::Program.as_str() => at(&environment.program(&query.name)?),
        kind if kind == Cause::Script.as_str() && !query.changed_before_run() => at(&query.name),
        _ => None,
    }
}
