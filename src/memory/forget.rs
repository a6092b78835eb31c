//! What leaves the memory for good: leaked secrets, and decisions that are too old.

use super::Memory;
use super::demand::DERIVED;
use super::entry::Entry;
use super::error::MemoryError;
use crate::digest::finish;
use crate::store::forget;
use crate::untrusted::{Leak, REMOVED};
use rusqlite::{Transaction, params};
use sha2::{Digest, Sha256};
use std::path::Path;

impl Memory {
    /// Removes a leaked secret from a memory's file; returns the number of texts that held it. Entries stay, with a mark in
    /// its place; an event records the removal.
    ///
    /// # Errors
    /// [`MemoryError`]; then the file is as it was.
    pub fn forget(path: &Path, leak: &Leak, who: &str) -> Result<usize, MemoryError> {
        forget(path, leak, |writing| mend(writing, who)).map_err(|error| MemoryError::opening_store(path, error))
    }

    /// Deletes the records of decisions that are older than a time, in milliseconds since 1970; returns their number. They
    /// can no longer be rated; what was learnt from them stays.
    ///
    /// # Errors
    /// [`MemoryError`]
    pub fn drop_decisions(&self, before_ms: i64) -> Result<usize, MemoryError> {
        self.write(|w| w.drop_decisions(before_ms))
    }
}

/// Brings digests and hashes up to date after texts were replaced, and lets other processes load the entries anew.
fn mend(writing: &Transaction<'_>, who: &str) -> rusqlite::Result<()> {
    let changed: Vec<(String, i64, String)> = {
        let mut rows = writing.prepare("SELECT entry, version, body FROM entry_version WHERE instr(body, ?1) > 0")?;
        let found = rows.query_map([REMOVED], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        found.collect::<Result<_, _>>()?
    };
    writing.execute("UPDATE meta SET memory_version = memory_version + 1", [])?;
    for (entry, version, body) in changed {
        let digest = finish(Sha256::new().chain_update(&body));
        let sql = "UPDATE entry_version SET digest = ?3 WHERE entry = ?1 AND version = ?2";
        writing.execute(sql, params![entry, version, digest])?;
        let key = serde_json::from_str::<Entry>(&body).ok().map(|entry| entry.key.hash());
        let sql = "UPDATE entry_head SET changed = (SELECT memory_version FROM meta),
                   key_hash = CASE WHEN key_hash IS NULL THEN NULL ELSE ?3 END WHERE entry = ?1 AND version = ?2";
        writing.execute(sql, params![entry, version, key])?;
    }
    writing.execute_batch(DERIVED)?;
    let sql = "INSERT INTO event (at_ms, who, what, detail) VALUES (?1, ?2, 'forget', 'a leaked secret was removed')";
    writing.execute(sql, params![crate::clock::now_ms(), who])?;
    Ok(())
}
