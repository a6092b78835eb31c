//! What a person decides over the memory, rather than an episode.
//!
//! 1. [`Memory::approve`] and [`Memory::use_approval`] keep consent to one exact action; a use is counted in
//!    the database, so that several processes together cannot exceed it.
//! 2. Operators `activate`, `quarantine`, `retire` and `rollback`. All of it makes new versions.

use super::Memory;
use super::entry::{Approval, Entry, Key, Provenance, Status};
use super::error::{MemoryError, Refusal};
use super::learn::new_entry;
use super::store::{Head, Vector, version};

type Result<T> = std::result::Result<T, MemoryError>;

/// A person's consent to one exact action.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The step-back paraphrase, for people to read.
    pub key: Key,
    /// Digest of the whole effect signature.
    pub signature: String,
    /// For whom the agent acts.
    pub principal: String,
    /// The project, where known.
    pub project: Option<String>,
    /// At least 1.
    pub uses: u32,
    /// End, milliseconds since 1970.
    pub expires_ms: i64,
    /// `feedback:approve:VERDICT`.
    pub taught_by: String,
}

impl Memory {
    /// Keeps a person's consent to one exact action.
    ///
    /// # Errors
    /// [`Refusal::NoUses`] without uses or with an end that has passed, [`Refusal::Empty`].
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
            });
            w.put(entry, &Vector::Keep(None), &grant.taught_by, "approve")
        })
    }

    /// Uses an approval once. Only `Ok` is consent: the count is taken in the database.
    ///
    /// # Errors
    /// [`MemoryError::ApprovalSpent`] if it is used up, expired, withdrawn, or the clock went back.
    pub fn use_approval(&self, id: &str, now_ms: i64) -> Result<Entry> {
        self.write(|w| {
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

    /// Makes an entry take part, on an operator's word.
    ///
    /// # Errors
    /// [`Refusal::Approval`] for an approval: approve again instead.
    pub fn activate(&self, id: &str, who: &str) -> Result<Entry> {
        self.set_status(id, who, Status::Active, "activate")
    }

    /// Takes an entry out; lessons cannot revive it. Withdraws an approval.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub fn quarantine(&self, id: &str, who: &str) -> Result<Entry> {
        self.set_status(id, who, Status::Quarantined, "quarantine")
    }

    /// Ends an entry; a lesson of the same key starts anew.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub fn retire(&self, id: &str, who: &str) -> Result<Entry> {
        self.set_status(id, who, Status::Retired, "retire")
    }

    fn set_status(&self, id: &str, who: &str, status: Status, what: &str) -> Result<Entry> {
        self.write(|w| {
            let Head { mut entry, row, .. } = w.head(id)?;
            if entry.approval.is_some() && status == Status::Active {
                return Err(Refusal::Approval.into());
            }
            if entry.status == status {
                return Ok(entry);
            }
            entry.status = status;
            w.put(entry, &Vector::Keep(row), who, what)
        })
    }

    /// Makes a new version that equals an old one, its status and vector included.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchVersion`]; [`Refusal::Approval`] for an approval: uses do not come back.
    pub fn rollback(&self, id: &str, to: u64, who: &str) -> Result<Entry> {
        self.write(|w| {
            let (entry, row) = version(w.connection(), id, to)?;
            if entry.approval.is_some() {
                return Err(Refusal::Approval.into());
            }
            w.put(entry, &Vector::Keep(row), who, &format!("rollback to {to}"))
        })
    }

    /// Gives an entry a vector: after a seed without one, an import, or a change of embedder.
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
