//! The entries of the memory.
//!
//! 1. An [`Entry`] describes a kind of action (its [`Key`], the step-back paraphrase) and the checks learnt for it.
//! 2. Its [`Trigger`]s name the effects that recall it without an embedding.
//! 3. An entry may instead contain an [`Approval`]: a person's consent to one exact action.
//! 4. Texts and lists are bounded, so that a poisoned lesson cannot grow without limit.

use super::error::Refusal;
use crate::digest::finish;
use crate::shape::{Condition, Widening};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::sync::Arc;

/// Longest text in an entry, in bytes.
pub(crate) const TEXT_BYTES: usize = 8 * 1024;
/// Most checks in an entry.
pub(crate) const CHECKS: usize = 64;
/// Most bytes of the JSON of its condition and its approval.
const SHAPES: usize = 1024 * 1024;
/// Most triggers of an entry.
pub(crate) const TRIGGERS: usize = 64;

/// One version of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = MemoryEntry))]
pub struct Entry {
    /// A ULID; for a seed, an id derived from its file and name.
    pub id: String,
    /// Number of the version, from 1.
    pub version: u64,
    /// The version from which this one was made.
    pub parent: Option<u64>,
    /// The step-back paraphrase.
    pub key: Key,
    /// The checks, at most `CHECKS`.
    pub checks: Vec<LearnedCheck>,
    /// The source of its authority.
    pub authority: Authority,
    /// Whether it is in use.
    pub status: Status,
    /// Who taught it, and in which context.
    pub provenance: Provenance,
    /// The effects that recall it, at most `TRIGGERS`; any one is enough.
    pub triggers: Vec<Trigger>,
    /// Consent to one exact action; `None` for a checklist.
    pub approval: Option<Approval>,
    /// The condition that reports of operators led to: its checks apply to the actions that it covers. `None` for a
    /// checklist of a kind of action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "serve", schema(value_type = Option<Object>))]
    pub condition: Option<Condition>,
    /// When version 1 was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// When this version was made, in milliseconds since 1970.
    pub updated_ms: i64,
}

/// The step-back paraphrase: the action with its specifics generalised.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = Paraphrase))]
pub struct Key {
    /// The paraphrase in natural language.
    pub natural: String,
    /// The paraphrase in the language of the tool, e.g. `rm -r SYSTEM_DIRECTORY`.
    pub command: String,
}

/// A check with its support and conflict counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct LearnedCheck {
    /// Safety criterion, e.g. `integrity`.
    pub category: String,
    /// Unique within the entry and category.
    pub name: String,
    /// The condition that the action must satisfy.
    pub definition: String,
    /// The check cannot be discarded, and a violation is a deny.
    pub required: bool,
    /// Number of distinct episodes that demanded the check.
    pub support: u32,
    /// Number of distinct episodes that demanded its removal or revision.
    pub conflict: u32,
}

/// The source of an entry's authority. Policy is not a variant, because policies are not in the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = MemoryAuthority))]
#[serde(rename_all = "lowercase")]
pub enum Authority {
    /// Shipped in `memory-seeds`.
    Seed,
    /// Learnt from episodes or from feedback.
    Learned,
}

/// Whether an entry is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = MemoryStatus))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Waiting for support; not recalled.
    Proposed,
    /// Recalled.
    Active,
    /// Withdrawn by an operator; lessons cannot revive it.
    Quarantined,
    /// Replaced or used up.
    Retired,
}

impl Status {
    /// The lower-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Active => "active",
            Self::Quarantined => "quarantined",
            Self::Retired => "retired",
        }
    }
}

/// Who taught an entry, and in which context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Provenance {
    /// The source: `seed:FILE`, `episode:ID`, `feedback:approve:VERDICT` ...
    pub taught_by: String,
    /// The principal for whom the agent acted.
    pub principal: String,
    /// The project, if known.
    pub project: Option<String>,
    /// The agent had read untrusted text in the episode.
    pub tainted: bool,
}

/// An effect that recalls an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Trigger {
    /// Name of the effect's verb, e.g. `delete`.
    pub verb: String,
    /// Class of the target if it is a path, otherwise the target's kind.
    pub class: String,
}

/// A person's consent to one exact action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = ApprovalGrant))]
pub struct Approval {
    /// Digest of the whole effect signature: program, effects, principal, project, resolved paths, script. Of a widened
    /// approval, digest of the outline: the same without arguments and effects.
    pub signature: String,
    /// The principal for whom the agent acts.
    pub principal: String,
    /// Remaining uses.
    pub uses_left: u32,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: i64,
    /// What else it covers than the exact action; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widening: Option<Widening>,
}

impl Approval {
    /// Whether it is valid at `now_ms`, if it was made at `created_ms` (both in milliseconds since 1970). It is invalid
    /// before `created_ms`, so that setting the clock back does not prolong it.
    #[must_use]
    pub fn holds(&self, created_ms: i64, now_ms: i64) -> bool {
        self.uses_left > 0 && now_ms < self.expires_ms && now_ms >= created_ms
    }
}

impl Key {
    /// A key from literal text, for actions that are compared without a paraphrase; at most 1000 characters are kept.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        let text: String = text.chars().take(1_000).collect();
        Self { natural: if text.trim().is_empty() { "nothing".to_owned() } else { text.clone() }, command: text }
    }

    /// SHA-256 (hex) of the key. Entries with equal keys describe the same kind of action.
    #[must_use]
    pub fn hash(&self) -> String {
        finish(
            Sha256::new()
                .chain_update(self.natural.len().to_le_bytes())
                .chain_update(&self.natural)
                .chain_update(&self.command),
        )
    }
}

/// Category of a counterexample to a check: a check that stopped a benign action of this kind. Never on a checklist.
pub(crate) const CONTRAST: &str = "contrast";
/// Most checks that lessons may leave on an entry; the check with the least value is dropped first.
pub const KEPT: usize = 16;
/// Number of distinct episodes after which a learnt check is established.
const STANDS: u32 = 2;

/// Pools the checks of several entries that were recalled together, each with the entry from which it comes. Support
/// for the same check adds up over the entries. As soon as one learnt check is established, learnt checks that are not
/// are left out. Returns at most `most` checks: required ones first, then those of seeds, then by value.
#[must_use]
pub fn pooled(entries: &[Arc<Entry>], most: usize) -> Vec<(LearnedCheck, Arc<Entry>)> {
    let mut found: Vec<(LearnedCheck, Arc<Entry>)> = Vec::new();
    for entry in entries {
        for check in entry.checks.iter().filter(|c| c.category != CONTRAST) {
            let same = |(c, _): &&mut (LearnedCheck, Arc<Entry>)| {
                c.category == check.category && c.name == check.name && c.definition == check.definition
            };
            match found.iter_mut().find(same) {
                Some((known, _)) => {
                    known.support = known.support.saturating_add(check.support);
                    known.conflict = known.conflict.saturating_add(check.conflict);
                    known.required |= check.required;
                }
                None => found.push((check.clone(), Arc::clone(entry))),
            }
        }
    }
    let firm = |check: &LearnedCheck, entry: &Entry| check.required || entry.authority == Authority::Seed;
    let stands = |check: &LearnedCheck| check.support >= STANDS;
    if found.iter().any(|(c, e)| !firm(c, e) && stands(c)) {
        found.retain(|(c, e)| firm(c, e) || stands(c));
    }
    found.sort_by_key(|(c, e)| (!c.required, !firm(c, e), -c.value()));
    found.truncate(most);
    found
}

impl LearnedCheck {
    /// Support minus conflict.
    #[must_use]
    pub fn value(&self) -> i64 {
        i64::from(self.support) - i64::from(self.conflict)
    }
}

impl Entry {
    /// Whether a person reported that a similar check stopped a benign action of this kind. Similar: the same name, or
    /// at least half of the words in common.
    #[must_use]
    pub fn contrasts(&self, name: &str, definition: &str) -> bool {
        let words = |name: &str, definition: &str| -> HashSet<String> {
            let text = format!("{name} {definition}").to_lowercase();
            text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).map(str::to_owned).collect()
        };
        let asked = words(name, definition);
        let like = |check: &&LearnedCheck| {
            let known = words(&check.name, &check.definition);
            let (common, all) = (known.intersection(&asked).count(), known.union(&asked).count());
            check.name.eq_ignore_ascii_case(name) || (all > 0 && 2 * common >= all)
        };
        self.checks.iter().filter(|c| c.category == CONTRAST).any(|c| like(&c))
    }

    /// Drops the checks with the least value until [`KEPT`] are left; required ones stay. A list longer than [`CHECKS`]
    /// is left unchanged, so that validation refuses it.
    pub(super) fn forget(&mut self) {
        if self.checks.len() > CHECKS {
            return;
        }
        while self.checks.iter().filter(|c| !c.required && c.category != CONTRAST).count() > KEPT {
            let least = (0..self.checks.len()).rev().filter_map(|at| self.checks.get(at).map(|c| (at, c)));
            let least = least.filter(|(_, c)| !c.required && c.category != CONTRAST).min_by_key(|(_, c)| c.value());
            let Some((at, _)) = least else { return };
            self.checks.remove(at);
        }
    }

    /// Whether similarity search may return it: it is active and not an approval.
    pub(super) fn recallable(&self) -> bool {
        self.status == Status::Active && self.approval.is_none()
    }

    /// Checks that required texts are not empty, and that texts and lists are within their budgets.
    pub(super) fn validate(&self) -> Result<(), Refusal> {
        let mut must = vec![&self.id, &self.key.natural, &self.provenance.taught_by];
        let mut may = vec![&self.key.command, &self.provenance.principal];
        may.extend(&self.provenance.project);
        for check in &self.checks {
            must.extend([&check.category, &check.name, &check.definition]);
        }
        for trigger in &self.triggers {
            must.extend([&trigger.verb, &trigger.class]);
        }
        if let Some(approval) = &self.approval {
            must.extend([&approval.signature, &approval.principal]);
        }
        if must.iter().any(|text| text.trim().is_empty()) {
            return Err(Refusal::Empty);
        }
        let size = serde_json::to_vec(&(&self.condition, &self.approval)).map_or(usize::MAX, |bytes| bytes.len());
        if size > SHAPES {
            return Err(Refusal::TooLong);
        }
        let long = must.iter().chain(&may).any(|text| text.len() > TEXT_BYTES);
        if long || self.checks.len() > CHECKS || self.triggers.len() > TRIGGERS {
            return Err(Refusal::TooLong);
        }
        Ok(())
    }

    /// The differences from this version to a later one.
    #[must_use]
    pub fn diff(&self, later: &Self) -> Diff {
        let named = |checks: &[LearnedCheck], c: &LearnedCheck| {
            checks.iter().find(|o| o.name == c.name && o.category == c.category).cloned()
        };
        Diff {
            id: self.id.clone(),
            from: self.version,
            to: later.version,
            status: (self.status != later.status).then_some((self.status, later.status)),
            key: (self.key != later.key).then(|| (self.key.clone(), later.key.clone())),
            added: later.checks.iter().filter(|c| named(&self.checks, c).is_none()).cloned().collect(),
            removed: self.checks.iter().filter(|c| named(&later.checks, c).is_none()).cloned().collect(),
            changed: (self.checks.iter())
                .filter_map(|c| named(&later.checks, c).filter(|o| o != c).map(|o| (c.clone(), o)))
                .collect(),
            triggers_added: later.triggers.iter().filter(|t| !self.triggers.contains(t)).cloned().collect(),
            triggers_removed: self.triggers.iter().filter(|t| !later.triggers.contains(t)).cloned().collect(),
            approval: (self.approval != later.approval).then(|| (self.approval.clone(), later.approval.clone())),
        }
    }
}

/// The differences between two versions of an entry; pairs are (before, after).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = MemoryDiff))]
#[expect(missing_docs, reason = "each field is named after the field of Entry that it compares")]
pub struct Diff {
    pub id: String,
    pub from: u64,
    pub to: u64,
    pub status: Option<(Status, Status)>,
    pub key: Option<(Key, Key)>,
    pub added: Vec<LearnedCheck>,
    pub removed: Vec<LearnedCheck>,
    pub changed: Vec<(LearnedCheck, LearnedCheck)>,
    pub triggers_added: Vec<Trigger>,
    pub triggers_removed: Vec<Trigger>,
    pub approval: Option<(Option<Approval>, Option<Approval>)>,
}
