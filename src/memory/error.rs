//! Errors of the memory.
//!
//! 1. SQLite's result codes become variants on which a caller can decide ([`MemoryError::from`]).
//! 2. Each message names the problem, the place, and the next command to type.
//! 3. No variant is a reason to allow: without the memory a caller has no checklist.

use crate::store::StoreError;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why an operation on the memory failed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file could not be opened or created.
    #[error("cannot open the memory {path}: {reason}; check that its folder exists and is yours (`ls -ld`)", path = .path.display())]
    Open {
        /// The database file.
        path: PathBuf,
        /// The error of the operating system or of SQLite.
        reason: String,
    },
    /// Another process kept the database locked for longer than the limit (250 ms for reading, 2 s for writing).
    #[error("the memory is locked by another process; try again, or find that process with `fuser FILE`")]
    Locked,
    /// A search of the record was stopped because it took too long.
    #[error("the search took too long and was stopped; narrow it to a day, a decision or an agent")]
    TooSlow,
    /// The file was not made by `agrail`.
    #[error("{path} is not an agrail memory ({found}); set another file with `memory.path` in the configuration", path = .path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// Description of the actual contents.
        found: String,
    },
    /// The file was made by a newer agrail.
    #[error("the memory {path} has schema version {found}, but this agrail supports up to {known}; update agrail", path = .path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// The newest schema version that this program supports.
        known: i64,
    },
    /// The file, its folder or its disk is read-only.
    #[error(
        "cannot write the memory (read-only file, folder or disk); run `chmod u+w` on it, or move it and set `memory.path`"
    )]
    ReadOnly,
    /// No space is left on the disk.
    #[error("no space is left for the memory, so nothing was learnt; free some space on its disk (`df -h`)")]
    DiskFull,
    /// The file is damaged, according to SQLite or to the digest of a row.
    #[error("the memory is damaged ({what}); restore a copy, or move it away and `agrail memory import` an export")]
    Corrupt {
        /// Description of the damage.
        what: String,
    },
    /// The vectors in the file come from another embedding model.
    #[error(
        "the memory was embedded with {stored}, but the engine uses {given}; set the former model, or move the file away to start over"
    )]
    EmbedderMismatch {
        /// Embedder of the file, as `id (dimensions)`.
        stored: String,
        /// Embedder of the engine, as `id (dimensions)`.
        given: String,
    },
    /// An operation needs vectors, but the memory was opened without an embedder.
    #[error("this memory has no embedder yet; open it with the id and dimensions of one")]
    NoEmbedder,
    /// A vector has the wrong length.
    #[error("a vector has {got} dimensions instead of {expected}; use the model with which the memory was embedded")]
    Dimensions {
        /// Length of the vectors in this memory.
        expected: usize,
        /// Length of the given vector.
        got: usize,
    },
    /// A vector contains a NaN or an infinity, or has length zero: it has no direction.
    #[error("a vector has no direction (NaN, infinite or all zero); check the embedder")]
    NotFinite,
    /// No entry has this id.
    #[error("the memory has no entry {id}; `agrail memory log` lists the entries")]
    NoSuchEntry {
        /// The requested id.
        id: String,
    },
    /// The entry has no such version.
    #[error("entry {id} has no version {version}; `agrail memory log {id}` lists its versions")]
    NoSuchVersion {
        /// Id of the entry.
        id: String,
        /// The requested version.
        version: u64,
    },
    /// No decision has this id.
    #[error("the memory has no decision {id}; `agrail memory log --decisions` lists the decisions")]
    NoSuchDecision {
        /// The requested id.
        id: String,
    },
    /// The lesson would break a rule of learning. Nothing was written.
    #[error("lesson refused: {0}")]
    Refused(Refusal),
    /// The approval is used up, expired or withdrawn, or the clock was set back.
    #[error("approval {id} is no longer valid; approve again with `agrail memory feedback VERDICT approve`")]
    ApprovalSpent {
        /// Id of the approval's entry.
        id: String,
    },
    /// A seed file is invalid. Nothing was seeded.
    #[error("{file}: {problem}")]
    Seed {
        /// The file.
        file: String,
        /// The problem.
        problem: SeedProblem,
    },
    /// A line of an import is invalid. Nothing was imported.
    #[error("import line {line}: {reason}; nothing was imported; correct the line and import again")]
    Import {
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        reason: String,
    },
    /// Writing an export failed.
    #[error("cannot write the export: {0}")]
    Export(#[source] std::io::Error),
    /// SQLite failed in a way that no other variant covers.
    #[error("the memory's database failed: {0}; check it with `sqlite3 FILE 'pragma integrity_check'`")]
    Database(#[source] rusqlite::Error),
}

/// What is wrong with a seed file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedProblem {
    /// It is not TOML of the right form; the message names line and column.
    #[error(transparent)]
    Form(#[from] toml::de::Error),
    /// Two seeds of the file have the same name.
    #[error("two seeds have the same name")]
    SameName,
    /// Examples of one kind are missing.
    #[error("seed '{seed}' needs examples in both 'match' and 'not'")]
    NoExamples {
        /// Name of the seed.
        seed: String,
    },
    /// An example of `match` does not recall the seed.
    #[error("seed '{seed}' is not recalled by its example \"{example}\"")]
    NotRecalled {
        /// Name of the seed.
        seed: String,
        /// The example.
        example: String,
    },
    /// An example of `not` recalls the seed.
    #[error("seed '{seed}' is recalled by its example \"{example}\"")]
    Recalled {
        /// Name of the seed.
        seed: String,
        /// The example.
        example: String,
    },
    /// A seed without a check would change nothing.
    #[error("seed '{seed}' has no check")]
    NoCheck {
        /// Name of the seed.
        seed: String,
    },
    /// Two checks have the same name and category.
    #[error("seed '{seed}' has two checks \"{check}\" of {category}")]
    SameCheck {
        /// Name of the seed.
        seed: String,
        /// Name of the checks.
        check: String,
        /// Their category.
        category: String,
    },
    /// A trigger or an example has the wrong form.
    #[error("seed '{seed}': \"{text}\" should be a verb and a class, e.g. \"delete system-config\"")]
    NotATrigger {
        /// Name of the seed.
        seed: String,
        /// The trigger.
        text: String,
    },
    /// A trigger names an unknown verb.
    #[error("seed '{seed}': there is no verb \"{verb}\"; the verbs are {verbs}")]
    NoSuchVerb {
        /// Name of the seed.
        seed: String,
        /// The unknown verb.
        verb: String,
        /// All verbs, separated by commas.
        verbs: String,
    },
    /// The memory refused the entry.
    #[error("seed '{seed}': {why}")]
    Refused {
        /// The seed, by its paraphrase.
        seed: String,
        /// The rule that it breaks.
        why: Refusal,
    },
}

/// The rule of learning that a lesson broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A removal or revision comes from a tainted or unclean episode.
    #[error("a tainted or unclean episode may not relax a check")]
    Tainted,
    /// Policy answers the check.
    #[error("learning cannot change a check that policy answers; change the policy")]
    Policy,
    /// The check is required.
    #[error("learning cannot relax a required check; use `agrail memory rollback` or `agrail memory quarantine`")]
    Required,
    /// The change names a check that the entry does not have.
    #[error("the entry has no such check")]
    NoSuchCheck,
    /// The entry is quarantined or retired.
    #[error("the entry is quarantined or retired; restore it first with `agrail memory rollback`")]
    Withdrawn,
    /// Lessons, activation and rollback do not apply to an approval, which can only be used or withdrawn.
    #[error("an approval cannot be changed, only used or withdrawn; approve again instead")]
    Approval,
    /// A required text is empty: an id, name, definition, signature or principal.
    #[error("a required text is empty, such as an id, name, definition, signature or principal")]
    Empty,
    /// A text or a list exceeds its limit.
    #[error("a text or list is too long for one entry")]
    TooLong,
    /// An approval has no uses, or expires in the past.
    #[error("an approval needs at least one use and an expiry in the future")]
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
            Some(ErrorCode::OperationInterrupted) => Self::TooSlow,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { what: error.to_string() },
            _ => Self::Database(error),
        }
    }
}

impl MemoryError {
    /// Converts an error of opening the file; the result names the file.
    pub(super) fn opening_store(path: &Path, error: StoreError) -> Self {
        match error {
            StoreError::Create { path, error } => match error.kind() {
                std::io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
                std::io::ErrorKind::StorageFull => Self::DiskFull,
                _ => Self::Open { path, reason: error.to_string() },
            },
            StoreError::Foreign { path, found, .. } => Self::NotOurs { path, found },
            StoreError::Newer { path, found, known, .. } => Self::NewerSchema { path, found, known },
            StoreError::Sqlite(error) => Self::opening(path, error),
        }
    }

    /// Converts as [`MemoryError::from`] does, but names the file.
    fn opening(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotOurs { path, found: "not an SQLite file".to_owned() },
            Some(ErrorCode::CannotOpen) => Self::Open { path, reason: error.to_string() },
            _ => error.into(),
        }
    }
}
