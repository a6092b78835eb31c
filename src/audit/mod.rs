//! The audit log: every decision in order, in tamper-evident files.
//!
//! 1. A line is `{"hash":"…","entry":{…}}`. The hash is SHA-256 over the hash of the previous line and the exact bytes
//!    of the entry, so that [`verify`] detects every changed, removed or inserted line.
//! 2. `HEAD` records where the log ends, so that lines removed from the end are detected, too. An attacker who can
//!    write both can forge a whole log: keep the head's hash elsewhere (`agrail audit verify --expect HASH`).
//! 3. The writers of all processes append under one exclusive lock, and begin a new file when one is over 32 MiB. The
//!    next writer removes a line that a crash cut short, and logs that it did. An entry contains the observations of
//!    the agent only if the action was not allowed.
//! 4. Secrets are redacted before anything is written (`untrusted::redact`). If one was written all the same, an operator
//!    removes the entries that hold it ([`Audit::remove`]): a tombstone keeps the number, the time and the hash of each,
//!    and a later entry names all of them. A tombstone that no later entry names is a change.
//! 5. [`Audit::retain`] bounds the log by age and size. `BASE` records where the log begins then; a later entry names it,
//!    too.
//!
//! [`replay`] gives a logged action to a guard again and reports the differences.

mod log;
mod remove;
mod replay;
mod retain;
mod verify;

pub(crate) use log::cleaned;
pub use log::{Audit, Entry};
pub use replay::{Replayed, replay};
pub use retain::Retention;
pub use verify::{Broken, Verified, entries, verify};

use std::path::PathBuf;

/// The hash that precedes the first line.
const BEGIN: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Name of the file that records where the log ends.
const HEAD: &str = "HEAD";

/// Why the log cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A file or folder of the log cannot be accessed.
    #[error("cannot access the audit log {path}: {why}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        why: std::io::Error,
    },
    /// Another process held the lock for longer than 1.5 s.
    #[error("the audit log {0} is locked by another process; try again")]
    Held(PathBuf),
    /// The log is not intact; nothing is appended to it.
    #[error(
        "the audit log is not intact: {0}; inspect it, then run 'agrail audit reseal' to put it aside and begin a new one"
    )]
    Broken(#[from] Broken),
    /// An entry cannot be converted to or from JSON.
    #[error("cannot convert an entry of the audit log to or from JSON: {0}")]
    Json(#[from] serde_json::Error),
}

fn failed(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> AuditError + '_ {
    move |why| AuditError::File { path: path.to_owned(), why }
}

/// The hash of a line.
fn link(before: &str, entry: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    crate::hex(&Sha256::new().chain_update(before).chain_update(entry).finalize())
}

/// A line of the log without its line feed.
struct Line<'a> {
    hash: &'a str,
    /// The entry; or the tombstone of an entry that was removed.
    entry: std::result::Result<&'a [u8], &'a [u8]>,
}

impl<'a> Line<'a> {
    /// `None` if the line has another form.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let rest = line.strip_prefix(br#"{"hash":""#)?;
        let (hash, rest) = rest.split_at_checked(64)?;
        let hash = std::str::from_utf8(hash).ok()?;
        let rest = rest.strip_suffix(b"}")?;
        let entry = match rest.strip_prefix(br#"","entry":"#) {
            Some(entry) => Ok(entry),
            None => Err(rest.strip_prefix(br#"","removed":"#)?),
        };
        Some(Self { hash, entry })
    }
}

/// The end of the log: number of the last file, number of entries, hash of the last line, length of that file in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    file: u32,
    entries: u64,
    hash: String,
    bytes: u64,
}

impl Head {
    fn begin() -> Self {
        Self { file: 1, entries: 0, hash: BEGIN.to_owned(), bytes: 0 }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let file = words.next()?.parse().ok()?;
        let entries = words.next()?.parse().ok()?;
        let (hash, bytes) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let head = Self { file, entries, hash, bytes };
        (head.hash.len() == 64 && head.text() == text).then_some(head)
    }

    fn text(&self) -> String {
        format!("{} {} {} {}\n", self.file, self.entries, self.hash, self.bytes)
    }
}

/// Name of a file of the log.
fn name(file: u32) -> String {
    format!("audit-{file:08}.jsonl")
}
