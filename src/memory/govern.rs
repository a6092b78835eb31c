//! Changes to the memory by a person instead of an episode.
//!
//! 1. [`Memory::approve`] and [`Memory::use_approval`] keep consent to one exact action. Uses are counted in the
//!    database, so that several processes together cannot exceed the limit.
//! 2. Operators `activate`, `quarantine`, `retire` and `rollback` entries. Each operation makes a new version.

use super::Memory;
use super::entry::{Approval, Entry, Key, Provenance, Status};
use super::error::{MemoryError, Refusal};
use super::learn::new_entry;
use super::store::{Head, Vector, version};
use crate::shape::Widening;

type Result<T> = std::result::Result<T, MemoryError>;

/// A person's consent to one exact action.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The step-back paraphrase, for people to read.
    pub key: Key,
    /// Digest of the whole effect signature.
    pub signature: String,
    /// The principal for whom the agent acts.
    pub principal: String,
    /// The project, if known.
    pub project: Option<String>,
    /// Number of uses, at least 1.
    pub uses: u32,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: i64,
    /// The source: `feedback:approve:VERDICT` or `feedback:widen:VERDICT`.
    pub taught_by: String,
    /// What else it covers; then `signature` is the digest of the outline.
    pub widening: Option<Widening>,
}

impl Memory {
    /// Records a person's consent to one exact action.
    ///
    /// # Errors
    /// [`Refusal::NoUses`] if it has no uses or expires in the past; [`Refusal::Empty`].
    pub fn approve(&self, grant: &Grant) -> Result<Entry> {
        self.write(|w| {
            if grant.uses == 0 || grant.expires_ms <= w.now_ms {
                return Err(Refusal::NoUses.into());
            }
            let provenance = Provenance {
                taught_by: grant.taught_by.clone(),
                principal: grant.principal.clone(),
                project: grant.project.clone(),
                tainted: false,
            };
            let mut entry = new_entry(grant.key.clone(), provenance, w.now_ms);
            entry.status = Status::Active;
            entry.approval = Some(Approval {
                signature: grant.signature.clone(),
                principal: grant.principal.clone(),
                uses_left: grant.uses,
                expires_ms: grant.expires_ms,
                widening: grant.widening.clone(),
            });
            w.put(entry, &Vector::Keep(None), &grant.taught_by, "approve")
        })
    }

    /// Uses an approval once, and counts the use in the database. Only `Ok` is consent.
    ///
    /// # Errors
    /// [`MemoryError::ApprovalSpent`] if it is used up, expired or withdrawn, or if the clock was set back.
    pub fn use_approval(&self, id: &str, now_ms: i64) -> Result<Entry> {
        self.write(|w| {
            let now_ms = now_ms.max(w.latest_decision()?);
            let Head { mut entry, .. } = w.head(id)?;
            let created = entry.created_ms;
            let active = entry.status == Status::Active;
            match &mut entry.approval {
                Some(approval) if active && approval.holds(created, now_ms) => {
                    approval.uses_left -= 1;
                    if approval.uses_left == 0 {
                        entry.status = Status::Retired;
                    }
                }
                _ => return Err(MemoryError::ApprovalSpent { id: id.to_owned() }),
            }
            w.put(entry, &Vector::Keep(None), "engine", "use")
        })
    }

    /// Makes an entry active on behalf of an operator (`who`). A rule that was induced from reports is confirmed by it: it
    /// denies from then on, where it only asked.
    ///
    /// # Errors
    /// [`Refusal::Approval`] for an approval: approve again instead.
    pub fn activate(&self, id: &str, who: &str) -> Result<Entry> {
        self.set_status(id, who, Status::Active, "activate")
    }

    /// Withdraws an entry or an approval. Lessons cannot revive it.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub fn quarantine(&self, id: &str, who: &str) -> Result<Entry> {
        self.set_status(id, who, Status::Quarantined, "quarantine")
    }

    /// Retires an entry. A later lesson with the same key starts a new entry.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub fn retire(&self, id: &str, who: &str) -> Result<Entry> {
        self.set_status(id, who, Status::Retired, "retire")
    }

    /// Retires an entry if it still has this version. If somebody changed it meanwhile, it stays.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub(crate) fn retire_unchanged(&self, id: &str, version: u64, who: &str) -> Result<()> {
        self.write(|w| {
            let Head { mut entry, row, .. } = w.head(id)?;
            if entry.version == version && entry.status != Status::Retired {
                entry.status = Status::Retired;
                w.put(entry, &Vector::Keep(row), who, "retire")?;
            }
            Ok(())
        })
    }

    fn set_status(&self, id: &str, who: &str, status: Status, what: &str) -> Result<Entry> {
        self.write(|w| {
            let Head { mut entry, row, .. } = w.head(id)?;
            if entry.approval.is_some() && status == Status::Active {
                return Err(Refusal::Approval.into());
            }
            let open = entry.condition.as_mut().filter(|condition| status == Status::Active && !condition.confirmed);
            if entry.status == status && open.is_none() {
                return Ok(entry);
            }
            if let Some(condition) = open {
                condition.confirmed = true;
            }
            entry.status = status;
            w.put(entry, &Vector::Keep(row), who, what)
        })
    }

    /// Makes a new version that equals an old one, including status and vector.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchVersion`]; [`Refusal::Approval`] for an approval, whose uses must not come back.
    pub fn rollback(&self, id: &str, to: u64, who: &str) -> Result<Entry> {
        self.write(|w| {
            let (entry, row) = version(w.connection(), id, to)?;
            if entry.approval.is_some() {
                return Err(Refusal::Approval.into());
            }
            w.put(entry, &Vector::Keep(row), who, &format!("rollback to {to}"))
        })
    }

    /// Sets the vector of an entry: of a seed without one, after an import, or after a change of embedder.
    ///
    /// # Errors
    /// [`MemoryError::Dimensions`], [`MemoryError::NotFinite`], [`MemoryError::NoEmbedder`].
    pub fn set_vector(&self, id: &str, vector: &[f32]) -> Result<Entry> {
        self.check_vector(vector)?;
        self.write(|w| {
            let entry = w.head(id)?.entry;
            w.put(entry, &Vector::New(vector), "embedder", "embed")
        })
    }
}
