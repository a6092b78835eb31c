//! Exports and imports entries as JSON lines.
//!
//! An import takes all lines or none. Approvals are never imported. Imported entries are proposed unless an operator
//! chooses otherwise, and never have the authority of a seed.

use super::Memory;
use super::entry::{Authority, Entry, Status};
use super::error::MemoryError;
use super::store::Vector;
use serde::Serialize;
use std::io::{BufRead, Read, Write};

/// Longest line of an import, in bytes.
const LINE: u64 = 4 * 1024 * 1024;

/// Status of imported entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportAs {
    /// Proposed: they wait for support.
    Proposed,
    /// Active at once, if they were active in the exporting memory.
    Active,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Number of imported entries.
    pub added: usize,
    /// Number of entries whose id exists in this memory; they are skipped.
    pub known: usize,
    /// Number of approvals and of quarantined or retired entries; they are skipped.
    pub left_out: usize,
}

impl Memory {
    /// Writes the current version of every entry, one JSON object per line; returns their number.
    ///
    /// # Errors
    /// [`MemoryError::Export`] if writing fails.
    pub fn export(&self, out: &mut dyn Write) -> Result<usize, MemoryError> {
        let mut count = 0;
        self.each_head(|entry, _| {
            let line = serde_json::to_string(&entry).map_err(|e| MemoryError::Export(e.into()))?;
            writeln!(out, "{line}").map_err(MemoryError::Export)?;
            count += 1;
            Ok(())
        })?;
        out.flush().map_err(MemoryError::Export)?;
        Ok(count)
    }

    /// Imports entries that [`Memory::export`] wrote. `who`: the operator.
    ///
    /// # Errors
    /// [`MemoryError::Import`] with the invalid line; nothing is imported then.
    pub fn import(&self, mut from: impl BufRead, how: ImportAs, who: &str) -> Result<ImportReport, MemoryError> {
        let mut entries: Vec<Entry> = Vec::new();
        for number in 1.. {
            let wrong = |reason: String| MemoryError::Import { line: number, reason };
            let mut line = String::new();
            let read = (&mut from).take(LINE).read_line(&mut line).map_err(|e| wrong(e.to_string()))?;
            if read == 0 {
                break;
            }
            if read as u64 == LINE {
                return Err(wrong(format!("it is longer than {LINE} bytes")));
            }
            if !line.trim().is_empty() {
                let entry: Entry = serde_json::from_str(&line).map_err(|e| wrong(e.to_string()))?;
                if entry.id.len() > 64 || !entry.id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
                    return Err(wrong("its id is not an agrail id".to_owned()));
                }
                entry.validate().map_err(|why| wrong(why.to_string()))?;
                entries.push(entry);
            }
        }
        self.write(|w| {
            let mut report = ImportReport::default();
            for mut entry in entries {
                if entry.approval.is_some() || matches!(entry.status, Status::Retired | Status::Quarantined) {
                    report.left_out += 1;
                    continue;
                }
                match w.head(&entry.id) {
                    Ok(_) => {
                        report.known += 1;
                        continue;
                    }
                    Err(MemoryError::NoSuchEntry { .. }) => {}
                    Err(error) => return Err(error),
                }
                let shipped = entry.authority == Authority::Seed;
                if how == ImportAs::Proposed || shipped {
                    // a seed becomes active only from its own file, so that an import cannot pose as one
                    entry.status = Status::Proposed;
                }
                entry.authority = Authority::Learned;
                // who confirmed it did not see what is done here
                entry.condition.iter_mut().for_each(|condition| condition.confirmed = false);
                w.put(entry, &Vector::Keep(None), who, "import")?;
                report.added += 1;
            }
            Ok(report)
        })
    }
}
