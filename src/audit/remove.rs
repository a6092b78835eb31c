//! Removes entries that hold a leaked secret.
//!
//! 1. The entry that names the removed ones is written first, at the beginning of a new file. A log whose writer is killed
//!    from here on is intact, and a second call removes the rest.
//! 2. Each file with such entries is written anew beside the old one and takes its place. In the new one a tombstone keeps
//!    number, time and hash of each entry, so that the chain goes on.

use super::log::empty;
use super::verify::verify_locked;
use super::{Audit, AuditError, Entry, HEAD, Line, failed, name};
use crate::untrusted::Leak;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// An entry that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = RemovedEntry))]
pub(crate) struct Removed {
    /// Its number.
    pub seq: u64,
    /// Its time in milliseconds since 1970.
    pub at_ms: u64,
    /// The hash of its line.
    pub hash: String,
}

/// What is left of a removed entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tombstone {
    pub seq: u64,
    pub at_ms: u64,
}

impl Tombstone {
    /// An event in the place of the entry.
    pub fn entry(&self) -> Entry {
        let event = Some("an operator has removed this entry, because it held a secret".to_owned());
        Entry { seq: self.seq, at_ms: self.at_ms, event, ..empty() }
    }
}

/// Number and time of an entry, among its other fields.
#[derive(Deserialize)]
struct When {
    seq: u64,
    at_ms: u64,
}

impl Audit {
    /// Replaces each entry that holds a leaked secret by a tombstone, on behalf of `by`; returns how many there were.
    ///
    /// # Errors
    /// [`AuditError::Broken`] if the log is not intact; [`AuditError::File`]. Then some entries may be left.
    pub fn remove(&self, leak: &Leak, by: &str) -> Result<u64, AuditError> {
        let path = self.folder().join(HEAD);
        let mut file = self.locked(&path)?;
        let mut head = self.head(&mut file, &path)?;
        verify_locked(self.folder(), |_| {})?;
        let first = super::retain::Base::read(self.folder())?.files + 1;
        let mut removed = Vec::new();
        for number in first..=head.file {
            let path = self.folder().join(name(number));
            let bytes = std::fs::read(&path).map_err(failed(&path))?;
            removed.extend(held(&bytes, leak));
        }
        let count = removed.len() as u64;
        if count == 0 {
            return Ok(0);
        }
        let last = head.file;
        (head.file, head.bytes) = (head.file + 1, 0);
        let noun = if count == 1 { "entry" } else { "entries" };
        let event = Some(format!("{by} removed {count} {noun} that held a secret"));
        self.write(&mut file, &path, &mut head, Entry { event, removed, ..empty() })?;
        for number in first..=last {
            bury(&self.folder().join(name(number)), leak)?;
        }
        Ok(count)
    }
}

/// What names the lines that hold a secret.
fn held(bytes: &[u8], leak: &Leak) -> Vec<Removed> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| leak.is_in(line));
    let named = |line: &[u8]| {
        let line = Line::parse(line)?;
        let when: When = serde_json::from_slice(line.entry.ok()?).ok()?;
        Some(Removed { seq: when.seq, at_ms: when.at_ms, hash: line.hash.to_owned() })
    };
    lines.filter_map(named).collect()
}

/// Writes a file anew, with tombstones in the place of the entries that hold a secret.
fn bury(path: &Path, leak: &Leak) -> Result<(), AuditError> {
    let bytes = std::fs::read(path).map_err(failed(path))?;
    if held(&bytes, leak).is_empty() {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match stone(line, leak) {
            Some(stone) => kept.extend_from_slice(&stone),
            None => kept.extend_from_slice(line),
        }
    }
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(&new).map_err(failed(&new))?;
    out.write_all(&kept).and_then(|()| out.sync_all()).map_err(failed(&new))?;
    let old = OpenOptions::new().write(true).open(path).map_err(failed(path))?;
    std::fs::rename(&new, path).map_err(failed(path))?;
    old.set_len(0).map_err(failed(path))
}

/// The tombstone of a line that holds a secret.
fn stone(line: &[u8], leak: &Leak) -> Option<Vec<u8>> {
    let line = line.strip_suffix(b"\n").filter(|line| leak.is_in(line))?;
    let line = Line::parse(line)?;
    let When { seq, at_ms } = serde_json::from_slice(line.entry.ok()?).ok()?;
    let stone = serde_json::to_string(&Tombstone { seq, at_ms }).ok()?;
    Some(format!("{{\"hash\":\"{}\",\"removed\":{stone}}}\n", line.hash).into_bytes())
}
