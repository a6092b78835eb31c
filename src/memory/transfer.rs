//! Export and import of entries as JSON lines.
//!
//! An import takes every line or none. Approvals are never imported, and what is imported waits as proposed
//! unless an operator says otherwise; its authority is never that of a seed.

use super::Memory;
use super::entry::{Authority, Entry, Status};
use super::error::MemoryError;
use super::store::Vector;
use serde::Serialize;
use std::io::{BufRead, Read, Write};

/// Longest line of an import, bytes.
const LINE: u64 = 4 * 1024 * 1024;

/// How imported entries come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportAs {
    /// They wait for support.
    Proposed,
    /// They take part at once, if they did where they come from.
    Active,
}

/// What an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Entries that came in.
    pub added: usize,
    /// Entries of which this memory has one with the same id already.
    pub known: usize,
    /// Approvals and what had ended, left out.
    pub left_out: usize,
}

impl Memory {
    /// Writes the current version of every entry, one JSON object a line; returns how many.
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

    /// Reads what [`Memory::export`] wrote.
    ///
    /// # Errors
    /// [`MemoryError::Import`] with the line that cannot be taken; then nothing was.
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
                    return Err(wrong("its id is not one of agrail's".to_owned()));
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
                    // A seed becomes active from its own file, so an import cannot pass for it.
                    entry.status = Status::Proposed;
                }
                entry.authority = Authority::Learned;
                w.put(entry, &Vector::Keep(None), who, "import")?;
                report.added += 1;
            }
            Ok(report)
        })
    }
}
