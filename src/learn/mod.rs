//! Learning, after the verdict: it can change later verdicts, never this one.
//!
//! 1. [`Journal`] records every decision in the memory's database, and learns from clean episodes where asked to.
//! 2. [`Refined`] is what a model made of a checklist; it teaches by the rules in `refined.rs`.
//! 3. [`feedback`] turns what an operator says of a recorded verdict into bounded evidence.
//! 4. [`signature`] names exactly one action for one principal, in normal form; [`answerable`] says which findings an
//!    approval of it answers; [`triggers`] are what recalls a lesson.

pub mod feedback;
mod journal;
mod refined;

pub use feedback::{Feedback, FeedbackError, Learnt};
pub use journal::{Episode, Journal};
pub use refined::{Refined, SAME};

use crate::action::Context;
use crate::check::{Finding, Outcome};
use crate::effect::shell::CHANGED;
use crate::effect::{self, Cause, HOLE, Verb};
use crate::facts;
use crate::memory::Key;
use crate::policy::Query;
use crate::reason::Case;
use sha2::{Digest, Sha256};
use std::time::{SystemTime, UNIX_EPOCH};

/// The verb of triggers about any change to a file.
pub(crate) const CHANGE: &str = "change";
/// Most folders above a path that recall what was learnt about them.
const ABOVE: usize = 24;

/// Milliseconds since 1970.
#[must_use]
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|d| i64::try_from(d.as_millis()).ok()).unwrap_or(0)
}

/// The text that stands for a paraphrase in the vector index.
#[must_use]
pub fn embedded_text(key: &Key) -> String {
    format!("{}\n{}", key.natural, key.command)
}

/// A number that depends on a seed and a text, the same on every machine.
#[must_use]
pub(crate) fn mixed(seed: u64, text: &str) -> u64 {
    let hash = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(text).finalize();
    hash.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// What recalls a lesson without an embedding: each effect's verb with the class of its target, with the target
/// itself, with every folder above it, and, where the effect reaches what is below, with whatever is there.
#[must_use]
pub fn triggers(queries: &[Query]) -> Vec<(&'static str, String)> {
    let mut found = Vec::with_capacity(queries.len() * 4);
    for query in queries {
        found.push((query.verb.as_str(), query.class.clone()));
        let verb = group(query.verb);
        if query.kind != "path" {
            found.push((verb, format!("at {} {}", query.kind, query.name)));
            continue;
        }
        let place = query.constant_part();
        found.push((verb, format!("at path {place}")));
        found.extend(above(place).map(|folder| (verb, format!("at path {folder}"))));
        if query.recursive || query.below {
            found.push((verb, format!("above path {place}")));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What the effects are, without names: verb and class of target.
#[must_use]
pub fn kinds(queries: &[Query]) -> Vec<(&'static str, String)> {
    let mut found: Vec<_> = queries.iter().map(|q| (q.verb.as_str(), q.class.clone())).collect();
    found.sort();
    found.dedup();
    found
}

/// The triggers of a lesson about exactly these targets.
#[must_use]
pub(crate) fn targets(queries: &[Query]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for query in queries {
        let verb = group(query.verb);
        if query.kind != "path" {
            found.push((verb, format!("at {} {}", query.kind, query.name)));
        } else if !query.anywhere {
            let place = query.constant_part();
            found.push((verb, format!("at path {place}")));
            found.extend(above(place).map(|folder| (verb, format!("above path {folder}"))));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Ways to change a file are one to a lesson: what must not be deleted must not be moved or overwritten either.
fn group(verb: Verb) -> &'static str {
    match verb {
        Verb::Write
        | Verb::Append
        | Verb::Create
        | Verb::Overwrite
        | Verb::Delete
        | Verb::Move
        | Verb::Encrypt
        | Verb::Chmod
        | Verb::Chown
        | Verb::Link => CHANGE,
        other => other.as_str(),
    }
}

/// Folders above a path, but for the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter(|(at, _)| *at > 0).take(ABOVE).filter_map(|(at, _)| path.get(..at))
}

/// A finding that an approval of exactly this action answers: an ask of policy, or an effect that no policy understands and
/// that the [`signature`] covers. Never a forbid, and never an ask that policy wants of a person each time.
#[must_use]
pub fn answerable(finding: &Finding) -> bool {
    match finding.outcome {
        Outcome::Violation => finding.asks && !finding.person,
        Outcome::Unknown => finding.by == "policy:understood",
        Outcome::Pass | Outcome::Discarded => false,
    }
}

/// Every finding that keeps the action from being allowed could be answered by an approval of exactly this action.
#[must_use]
pub fn approvable(findings: &[Finding]) -> bool {
    use crate::check::Authority;
    let open = |f: &&Finding| f.outcome != Outcome::Pass && f.outcome != Outcome::Discarded;
    let binding = |f: &&Finding| f.check.required || f.check.authority == Authority::Policy;
    findings.iter().filter(open).filter(binding).all(answerable)
}

/// Names exactly this action for this principal and agent: its normal form with all arguments, its effects on resolved
/// paths, the digests of programs that no table knows. `None` where something is unknown that has no digest, or is not
/// constant, so that no approval can cover it.
#[must_use]
pub fn signature(case: &Case, context: &Context) -> Option<String> {
    let account = facts::account(context);
    let mut lines = Vec::with_capacity(case.gathered.queries.len());
    for query in &case.gathered.queries {
        let open = query.anywhere || query.below || query.name.contains(HOLE) || query.detail.contains(HOLE);
        if open {
            return None;
        }
        let resolved = match &context.environment {
            Some(environment) if query.kind == "path" => environment.path(&query.name, &account).resolved,
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
            u8::from(query.into),
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

/// What stands for the content of something that is not understood: where the program lies that no table knows, and the
/// digest of its file. A path that such a program is given has none of its own. `None` for every other unknown.
fn unknown_content(query: &Query, context: &Context) -> Option<String> {
    let environment = context.environment.as_ref()?;
    let at = |path: &str| Some(format!("{path}\u{0}{}", environment.file_digest(path)?));
    match query.kind.as_str() {
        "path" => Some(String::new()),
        kind if kind == Cause::Program.as_str() => at(&environment.program(&query.name)?),
        kind if kind == Cause::Script.as_str() && query.detail != CHANGED => at(&query.name),
        _ => None,
    }
}
