//! The audit log: every decision in its order, in files that show each change made to them.
//!
//! 1. A line is `{"hash":"…","entry":{…}}`. The hash is SHA-256 over the hash of the line before it and the very bytes of the
//!    entry, so that no byte can change, and no line be taken out or put in, without [`verify`] finding it.
//! 2. `HEAD` says where the log ends, so that lines cut off its end are missed, too. Whoever may write both can forge a whole
//!    log: keep the head's hash elsewhere (`agrail audit verify --expect HASH`).
//! 3. Files are appended to under a lock that processes share, and a new one is begun when one is large. A line that a crash
//!    cut short is taken out by the next writer, which says so in the log. What an agent had read stands in an entry only where
//!    the action was not allowed.
//! 4. Secrets are taken out before anything is written ([`crate::untrusted::redact`]).
//!
//! [`replay`] puts a logged action to a guard again and says what has changed.

mod log;
mod replay;
mod verify;

pub(crate) use log::cleaned;
pub use log::{Audit, Entry};
pub use replay::{Replayed, replay};
pub use verify::{Broken, Verified, entries, verify};

use std::path::PathBuf;

/// Hash before the first line.
const BEGIN: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Name of the file that says where the log ends.
const HEAD: &str = "HEAD";

/// Why the log cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A file of it.
    #[error("the audit log {path}: {why}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        why: std::io::Error,
    },
    /// Another process holds it for too long.
    #[error("the audit log {0} is held by another process")]
    Held(PathBuf),
    /// It does not hold together, and is not added to.
    #[error(
        "the audit log does not hold together: {0}; look at it, then 'agrail audit reseal' puts it aside and begins another"
    )]
    Broken(#[from] Broken),
    /// An entry cannot be written as JSON.
    #[error("an entry of the audit log cannot be written: {0}")]
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

/// Hash and entry of a line without its end; `None` if it has another form.
fn parts(line: &[u8]) -> Option<(&str, &[u8])> {
    let rest = line.strip_prefix(br#"{"hash":""#)?;
    let (hash, rest) = rest.split_at_checked(64)?;
    let entry = rest.strip_prefix(br#"","entry":"#)?.strip_suffix(b"}")?;
    Some((std::str::from_utf8(hash).ok()?, entry))
}

/// Where the log ends: file, number of entries, hash of the last, length of the file in bytes.
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
