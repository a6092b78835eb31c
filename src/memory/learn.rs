//! Learning: how lessons change the memory.
//!
//! 1. [`Memory::learn`] finds or creates the entry with the lesson's key and applies its [`Change`]s one by one.
//! 2. Adding a check takes one clean, untainted episode. The lesson of any other episode waits as `proposed`, separate
//!    from active entries.
//! 3. Removing or revising a check takes [`QUORUM`] distinct episodes of as many distinct principals, all clean and
//!    untainted. Until then, each episode only counts as a conflict. Required checks, and checks that policy answers,
//!    cannot be removed or revised.
//! 4. Each change that takes effect makes a new version. The operations of operators are in `govern.rs`.

use super::Memory;
use super::entry::{Authority, Entry, Key, LearnedCheck, Provenance, Status, Trigger};
use super::error::{MemoryError, Refusal};
use super::store::{Durability, Head, Vector, Write};
use crate::digest::finish;
use crate::untrusted::Secrets;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Number of distinct episodes, and of distinct principals among them, that it takes to relax a check.
pub const QUORUM: u64 = 3;

type Result<T> = std::result::Result<T, MemoryError>;

/// A lesson from one episode.
#[derive(Debug, Clone)]
pub struct Lesson {
    /// Id of the entry to change; `None`: the entry with this `key`, or a new one.
    pub entry: Option<String>,
    /// The step-back paraphrase.
    pub key: Key,
    /// Embedding of the key, with the memory's dimensions.
    pub vector: Option<Vec<f32>>,
    /// Effects that will recall the entry.
    pub triggers: Vec<Trigger>,
    /// The changes to its checks.
    pub changes: Vec<Change>,
    /// The episode.
    pub episode: Episode,
    /// The source: `episode:ID`, `feedback:incident:VERDICT` ...
    pub taught_by: String,
    /// Names of the checks that policies answered; learning cannot relax them.
    pub policy_checks: Vec<String>,
}

/// The episode from which a lesson comes.
#[derive(Debug, Clone)]
pub struct Episode {
    /// Unique id of the episode.
    pub id: String,
    /// The principal for whom the agent acted.
    pub principal: String,
    /// The project, if known.
    pub project: Option<String>,
    /// The agent had read untrusted text.
    pub tainted: bool,
    /// The outcome is known, nothing failed, nothing was denied, and there was no sign of a prompt injection.
    pub clean: bool,
}

/// One change to a checklist. Category and name identify a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "change")]
pub enum Change {
    /// Adds a check; if the check exists, adds support or makes it required. Another definition of an existing check
    /// counts as a revision.
    Add {
        /// Safety criterion.
        category: String,
        /// Name.
        name: String,
        /// The condition that the action must satisfy.
        definition: String,
        /// The check cannot be discarded.
        required: bool,
    },
    /// Removes a check.
    Remove {
        /// Safety criterion.
        category: String,
        /// Name.
        name: String,
    },
    /// Replaces a definition. Whether that weakens the check cannot be determined, so it counts as weakening.
    Revise {
        /// Safety criterion.
        category: String,
        /// Name.
        name: String,
        /// The new condition.
        definition: String,
    },
}

/// The rule by which lessons take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// Two-phase: a change that relaxes a check needs a quorum (see the module).
    #[default]
    TwoPhase,
    /// The paper's test-time adaptation: each change takes effect at once. Only for ablations.
    AtOnce,
}

impl Lesson {
    /// The same without secrets; `secrets`: those of the action from which it comes.
    pub(crate) fn redacted(&self, secrets: &Secrets) -> Self {
        let clean = |text: &str| secrets.redact(text).into_owned();
        let change = |change: &Change| {
            let mut change = change.clone();
            if let Change::Add { definition, .. } | Change::Revise { definition, .. } = &mut change {
                *definition = clean(definition);
            }
            change
        };
        Self {
            key: Key { natural: clean(&self.key.natural), command: clean(&self.key.command) },
            changes: self.changes.iter().map(change).collect(),
            ..self.clone()
        }
    }
}

impl Change {
    fn hash(&self) -> String {
        finish(Sha256::new().chain_update(serde_json::to_vec(self).unwrap_or_default()))
    }

    fn names(&self) -> (&str, &str) {
        match self {
            Self::Add { category, name, .. }
            | Self::Remove { category, name }
            | Self::Revise { category, name, .. } => (category, name),
        }
    }
}

impl Memory {
    /// Learns a lesson and returns the resulting entry: `active`, `proposed`, or with one more conflict.
    ///
    /// # Errors
    /// [`MemoryError::Refused`] if the lesson breaks a rule. Nothing is written after any error.
    pub fn learn(&self, lesson: &Lesson) -> Result<Entry> {
        self.learn_by(lesson, Rule::TwoPhase)
    }

    /// Learns a lesson by the given rule.
    ///
    /// # Errors
    /// As [`Memory::learn`].
    pub fn learn_by(&self, lesson: &Lesson, rule: Rule) -> Result<Entry> {
        let trusted = rule == Rule::AtOnce || (lesson.episode.clean && !lesson.episode.tainted);
        self.learn_as(lesson, rule, trusted)
    }

    /// Keeps a lesson as proposed, even if its episode is clean and untainted.
    ///
    /// # Errors
    /// As [`Memory::learn`].
    pub fn propose(&self, lesson: &Lesson) -> Result<Entry> {
        self.learn_as(lesson, Rule::TwoPhase, false)
    }

    fn learn_as(&self, lesson: &Lesson, rule: Rule, trusted: bool) -> Result<Entry> {
        let lesson = &lesson.redacted(&Secrets::default());
        if let Some(vector) = &lesson.vector {
            self.check_vector(vector)?;
        }
        if [&lesson.episode.id, &lesson.episode.principal, &lesson.taught_by].iter().any(|t| t.trim().is_empty()) {
            return Err(Refusal::Empty.into());
        }
        self.write(|w| {
            let target = target(w, lesson, trusted)?;
            let status = target.as_ref().map(|h| h.entry.status);
            let row = target.as_ref().and_then(|h| h.row);
            let mut entry = target.map_or_else(|| blank(lesson, w.now_ms), |h| h.entry);
            let mut altered = status.is_none();
            for change in &lesson.changes {
                altered |= apply(w, &mut entry, change, lesson, rule, trusted)?;
            }
            for trigger in &lesson.triggers {
                if !entry.triggers.contains(trigger) {
                    entry.triggers.push(trigger.clone());
                    altered = true;
                }
            }
            if trusted && entry.status == Status::Proposed {
                entry.status = Status::Active;
                entry.provenance.tainted = lesson.episode.tainted;
                altered = true;
            }
            let vector = match (&lesson.vector, row) {
                (Some(vector), None) => Vector::New(vector),
                (_, row) => Vector::Keep(row),
            };
            if rule == Rule::TwoPhase {
                entry.forget();
            }
            if !altered && matches!(vector, Vector::Keep(_)) {
                return Ok(entry);
            }
            w.put(entry, &vector, &lesson.taught_by, if status.is_none() { "learn" } else { "revise" })
        })
    }

    pub(super) fn write<T>(&self, body: impl FnOnce(&mut Write<'_>) -> Result<T>) -> Result<T> {
        let value = self.inner.store.write(Durability::Full, body)?;
        // the change is committed; if it cannot be read back, the next recall reports the error
        if !self.reads_on_demand() && self.reload().is_err() {
            self.distrust();
        }
        Ok(value)
    }
}

/// The entry that a lesson changes. A trusted lesson changes the active entry; an untrusted one stays separate from it.
/// Only a trusted lesson that itself demands all checks of a proposed entry makes that entry active.
fn target(w: &Write<'_>, lesson: &Lesson, trusted: bool) -> Result<Option<Head>> {
    if let Some(id) = &lesson.entry {
        let head = w.head(id)?;
        return match head.entry.status {
            _ if head.entry.approval.is_some() => Err(Refusal::Approval.into()),
            Status::Quarantined | Status::Retired => Err(Refusal::Withdrawn.into()),
            Status::Active if !trusted => Err(Refusal::Tainted.into()),
            Status::Proposed if trusted && !covers(lesson, &head.entry) => Err(Refusal::Tainted.into()),
            _ => Ok(Some(head)),
        };
    }
    let heads = w.of_key(&lesson.key.hash())?;
    let withdrawn = heads.iter().any(|h| h.entry.status == Status::Quarantined);
    let fits = |h: &Head| match h.entry.status {
        Status::Active => trusted,
        Status::Proposed => !trusted || covers(lesson, &h.entry),
        _ => false,
    };
    let found = heads.into_iter().filter(fits).min_by_key(|h| h.entry.status != Status::Active);
    match found {
        None if withdrawn => Err(Refusal::Withdrawn.into()),
        found => Ok(found),
    }
}

/// Whether a lesson by itself demands every check and trigger of an entry.
fn covers(lesson: &Lesson, entry: &Entry) -> bool {
    let asked = |check: &LearnedCheck| {
        lesson.changes.iter().any(|change| {
            matches!(change, Change::Add { category, name, definition, required }
                if *category == check.category && *name == check.name && *definition == check.definition
                    && *required == check.required)
        })
    };
    entry.checks.iter().all(asked) && entry.triggers.iter().all(|t| lesson.triggers.contains(t))
}

pub(super) fn new_entry(key: Key, provenance: Provenance, now_ms: i64) -> Entry {
    Entry {
        id: ulid::Ulid::new().to_string(),
        version: 0,
        parent: None,
        key,
        checks: Vec::new(),
        authority: Authority::Learned,
        status: Status::Proposed,
        provenance,
        triggers: Vec::new(),
        approval: None,
        condition: None,
        created_ms: now_ms,
        updated_ms: now_ms,
    }
}

fn blank(lesson: &Lesson, now_ms: i64) -> Entry {
    let provenance = Provenance {
        taught_by: lesson.taught_by.clone(),
        principal: lesson.episode.principal.clone(),
        project: lesson.episode.project.clone(),
        tainted: lesson.episode.tainted,
    };
    new_entry(lesson.key.clone(), provenance, now_ms)
}

/// Applies one change; true if the entry has changed.
fn apply(
    w: &Write<'_>,
    entry: &mut Entry,
    change: &Change,
    lesson: &Lesson,
    rule: Rule,
    trusted: bool,
) -> Result<bool> {
    let (category, name) = change.names();
    let place = entry.checks.iter().position(|c| c.category == category && c.name == name);
    let vote = |change: &Change, id: &str| w.vote(id, &change.hash(), &lesson.episode.id, &lesson.episode.principal);
    let id = entry.id.clone();
    let check = place.and_then(|at| entry.checks.get_mut(at));
    match (change, check) {
        (Change::Add { category, name, definition, required }, None) => {
            vote(change, &id)?;
            entry.checks.push(LearnedCheck {
                category: category.clone(),
                name: name.clone(),
                definition: definition.clone(),
                required: *required,
                support: 1,
                conflict: 0,
            });
            return Ok(true);
        }
        (Change::Add { definition, required, .. }, Some(check)) if *definition == check.definition => {
            let tightened = *required && !check.required;
            let counted = vote(change, &id)?;
            check.required |= *required;
            check.support = check.support.saturating_add(u32::from(counted));
            return Ok(tightened || counted);
        }
        (_, None) => return Err(Refusal::NoSuchCheck.into()),
        (_, Some(check)) => may_relax(check, lesson, rule, trusted)?,
    }
    let relax = relaxation(change);
    let counted = vote(&relax, &id)?;
    let (episodes, principals) = w.votes(&id, &relax.hash())?;
    let Some(check) = place.and_then(|at| entry.checks.get_mut(at)) else { return Ok(false) };
    check.conflict = check.conflict.saturating_add(u32::from(counted));
    if rule == Rule::TwoPhase && (episodes < QUORUM || principals < QUORUM) {
        return Ok(counted);
    }
    w.settle(&id, &relax.hash())?;
    match relax {
        Change::Revise { definition, .. } => {
            check.definition = definition;
            check.support = u32::try_from(episodes).unwrap_or(u32::MAX);
            check.conflict = 0;
        }
        _ => entry.checks.retain(|c| !(c.category == *category && c.name == *name)),
    }
    Ok(true)
}

/// Refuses a lesson that must not relax a check.
fn may_relax(check: &LearnedCheck, lesson: &Lesson, rule: Rule, trusted: bool) -> Result<()> {
    if !trusted {
        return Err(Refusal::Tainted.into());
    }
    if lesson.policy_checks.contains(&check.name) {
        return Err(Refusal::Policy.into());
    }
    if check.required && rule == Rule::TwoPhase {
        return Err(Refusal::Required.into());
    }
    Ok(())
}

/// The change as it is voted on: another definition of a known check revises that check.
fn relaxation(change: &Change) -> Change {
    match change {
        Change::Add { category, name, definition, .. } => {
            Change::Revise { category: category.clone(), name: name.clone(), definition: definition.clone() }
        }
        other => other.clone(),
    }
}
