//! What can go wrong with the memory.
//!
//! 1. SQLite's result codes become variants that a caller can decide on ([`MemoryError::from`]).
//! 2. Each message says what, where, and what to type next.
//! 3. No variant is a reason to allow: a caller that cannot ask the memory has no checklist.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why the memory did not answer.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file could not be opened or created.
    #[error("cannot open the memory {path}: {reason}; check that its folder exists and is yours (`ls -ld`)", path = .path.display())]
    Open {
        /// The database file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Another process held the database for longer than the bound (250 ms reading, 2 s writing).
    #[error("the memory is locked by another process; try again, or see who holds it with `fuser FILE`")]
    Locked,
    /// A file that `agrail` did not make.
    #[error("{path} is not a memory of agrail ({found}); name another file with `memory.path` in the configuration", path = .path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// Made by a newer agrail.
    #[error("the memory {path} has schema {found}, this agrail knows up to {known}; update agrail", path = .path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// The file, its folder or its disk cannot be written.
    #[error(
        "the memory cannot be written (read-only file, folder or disk); `chmod u+w` it or move it with `memory.path`"
    )]
    ReadOnly,
    /// No space left.
    #[error("no space left for the memory; nothing was learnt; free space on its disk (`df -h`)")]
    DiskFull,
    /// SQLite or a row's own digest says that the file is damaged.
    #[error("the memory is damaged ({what}); restore a copy, or move it away and `agrail memory import` an export")]
    Corrupt {
        /// What does not hold.
        what: String,
    },
    /// The vectors in the file come from another embedding model.
    #[error(
        "the memory was embedded by {stored}, the engine uses {given}; set the model back, or move the file away to begin anew"
    )]
    EmbedderMismatch {
        /// `id (dimensions)` in the file.
        stored: String,
        /// `id (dimensions)` given.
        given: String,
    },
    /// A vector was given or asked for, but the memory was opened without an embedder.
    #[error("this memory has no embedder yet; open it with the id and dimensions of one")]
    NoEmbedder,
    /// A vector of another length.
    #[error("a vector has {got} dimensions, this memory has {expected}; embed with the model it was made with")]
    Dimensions {
        /// Length of the vectors in this memory.
        expected: usize,
        /// Length given.
        got: usize,
    },
    /// A vector with a NaN, an infinity, or of length zero: it has no direction.
    #[error("a vector is not a direction (NaN, infinite or all zero); the embedder is at fault")]
    NotFinite,
    /// No entry has that id.
    #[error("no entry {id} in the memory; `agrail memory log` lists them")]
    NoSuchEntry {
        /// What was asked for.
        id: String,
    },
    /// The entry has no such version.
    #[error("entry {id} has no version {version}; `agrail memory log {id}` lists them")]
    NoSuchVersion {
        /// The entry.
        id: String,
        /// What was asked for.
        version: u64,
    },
    /// No decision has that id.
    #[error("no decision {id} is recorded; `agrail memory log --decisions` lists them")]
    NoSuchDecision {
        /// What was asked for.
        id: String,
    },
    /// The lesson would break a rule of learning. Nothing was written.
    #[error("lesson refused: {0}")]
    Refused(Refusal),
    /// The approval is used up, has expired, was withdrawn, or the clock went back.
    #[error("approval {id} is no longer valid; approve again with `agrail memory feedback VERDICT approve`")]
    ApprovalSpent {
        /// The approval's entry.
        id: String,
    },
    /// A seed file that cannot be taken. Nothing was seeded.
    #[error("{file}: {problem}")]
    Seed {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// Line of an import that cannot be taken. Nothing was imported.
    #[error("import line {line}: {reason}; correct the line and import again, nothing was taken")]
    Import {
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Writing an export failed.
    #[error("cannot write the export: {0}")]
    Export(#[source] std::io::Error),
    /// SQLite failed in a way that none of the above covers.
    #[error("the memory's database failed: {0}; check it with `sqlite3 FILE 'pragma integrity_check'`")]
    Database(#[source] rusqlite::Error),
}

/// Which rule of learning a lesson broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A removal or revision from a tainted or unclean episode.
    #[error("a tainted or unclean episode may not relax a check")]
    Tainted,
    /// The check is answered by policy.
    #[error("a check of authority policy cannot be changed by learning; change the policy")]
    Policy,
    /// The check is required.
    #[error("a required check cannot be relaxed by learning; use `agrail memory rollback` or `quarantine`")]
    Required,
    /// The change names a check that the entry does not have.
    #[error("the entry has no such check")]
    NoSuchCheck,
    /// The entry is quarantined or retired.
    #[error("the entry is quarantined or retired; `agrail memory rollback` it first")]
    Withdrawn,
    /// An approval cannot be learnt from or changed other than by using it up.
    #[error("an approval is not a lesson")]
    Approval,
    /// An empty id, name, definition, signature or principal.
    #[error("a text that must say something is empty")]
    Empty,
    /// A text or a list is over its budget.
    #[error("a text or list is too long for one entry")]
    TooLong,
    /// No uses, or an end that has passed.
    #[error("an approval needs at least one use and an end in the future")]
    NoUses,
}

impl From<Refusal> for MemoryError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<rusqlite::Error> for MemoryError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { what: error.to_string() },
            _ => Self::Database(error),
        }
    }
}

impl MemoryError {
    /// The error of an opening: as [`MemoryError::from`], with the file named.
    pub(super) fn opening(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotOurs { path, found: "not an SQLite file".to_owned() },
            Some(ErrorCode::CannotOpen) => Self::Open { path, reason: error.to_string() },
            _ => error.into(),
        }
    }
}
