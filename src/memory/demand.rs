//! Recall by effect and by approval straight from the database, for a process that judges one action and ends: it reads
//! the entries that the action concerns, not all.
//!
//! The tables `recalled` and `bound` and the sum in `meta` are derived from the versions, in the same transactions. The
//! entries themselves are read from their versions, whose digests are verified. Recall by similarity needs the vectors,
//! and loads everything first.

use super::Memory;
use super::entry::{Approval, Entry};
use super::error::MemoryError;
use super::store::{self, Head};
use super::sum::Sum;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::sync::Arc;

type Result<T> = std::result::Result<T, MemoryError>;

/// Fills the derived tables, for files of earlier releases and after texts were removed.
pub(super) const DERIVED: &str = include_str!("derived.sql");

impl Memory {
    /// Whether the entries are read from the database as they are needed.
    pub(super) fn reads_on_demand(&self) -> bool {
        self.inner.on_demand && self.live().seen == 0
    }

    /// Loads all entries, for a process that goes on and judges many actions. Without effect if they are loaded.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn load(&self) -> Result<()> {
        if self.live().seen == 0 { self.reload() } else { Ok(()) }
    }

    /// The active entries that any of these effects recalls, sorted by id.
    pub(super) fn read_triggered<V: AsRef<str>, C: AsRef<str>>(&self, effects: &[(V, C)]) -> Result<Vec<Arc<Entry>>> {
        self.inner.store.with_reader(|c| {
            let any: bool = c.prepare_cached("SELECT EXISTS (SELECT 1 FROM recalled)")?.query_row([], |r| r.get(0))?;
            let mut ids = BTreeSet::new();
            let mut statement = c.prepare_cached("SELECT entry FROM recalled WHERE verb = ?1 AND class = ?2")?;
            for (verb, class) in effects.iter().filter(|_| any) {
                let found = statement.query_map(params![verb.as_ref(), class.as_ref()], |row| row.get(0))?;
                ids.extend(found.collect::<rusqlite::Result<Vec<String>>>()?);
            }
            ids.iter().map(|id| Ok(Arc::new(store::head(c, None, id)?.entry))).collect()
        })
    }

    /// The active approvals that are bound to this digest.
    pub(super) fn read_bound(&self, bound: &str) -> Result<Vec<Arc<Entry>>> {
        self.inner.store.with_reader(|c| {
            let mut statement = c.prepare_cached("SELECT entry FROM bound WHERE bound = ?1 ORDER BY entry")?;
            let ids = statement.query_map([bound], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
            ids.iter().map(|id| Ok(Arc::new(store::head(c, None, id)?.entry))).collect()
        })
    }

    /// Digest of the active entries.
    pub(super) fn read_digest(&self) -> Result<String> {
        self.inner.store.with_reader(|c| Ok(sum(c)?.map_or_else(|| computed(c), Ok)?.digest()))
    }
}

/// The sum of the active entries; `None` if it has to be computed.
pub(super) fn sum(connection: &Connection) -> Result<Option<Sum>> {
    let mut statement = connection.prepare_cached("SELECT terms, active FROM meta")?;
    let found = statement.query_row([], |row| Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, i64>(1)?)))?;
    Ok(found.0.and_then(|bytes| Sum::read(&bytes, store::unsigned(found.1))))
}

/// Writes the sum.
pub(super) fn write_sum(connection: &Connection, sum: &Sum) -> Result<()> {
    let (bytes, count) = sum.written();
    let mut statement = connection.prepare_cached("UPDATE meta SET terms = ?1, active = ?2")?;
    statement.execute(params![bytes, store::signed(count)])?;
    Ok(())
}

/// Computes the sum from the heads and writes it.
pub(super) fn compute_sum(connection: &Connection) -> Result<Sum> {
    let sum = computed(connection)?;
    write_sum(connection, &sum)?;
    Ok(sum)
}

/// The sum, computed from the heads.
fn computed(connection: &Connection) -> Result<Sum> {
    let sql =
        "SELECT h.entry, v.digest FROM entry_head h JOIN entry_version v ON v.entry = h.entry AND v.version = h.version
               WHERE h.status = 'active'";
    let mut sum = Sum::default();
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        sum.add(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?);
    }
    Ok(sum)
}

/// Brings the derived rows of one entry up to date. `old`: its head before, if it was active.
pub(super) fn derive(connection: &Connection, old: Option<&Head>, entry: &Entry, digest: &str) -> Result<()> {
    let mut total = match sum(connection)? {
        Some(total) => total,
        None => compute_sum(connection)?,
    };
    if let Some(old) = old {
        total.subtract(&entry.id, &old.digest);
        for trigger in &old.entry.triggers {
            let sql = "DELETE FROM recalled WHERE verb = ?1 AND class = ?2 AND entry = ?3";
            connection.prepare_cached(sql)?.execute(params![trigger.verb, trigger.class, entry.id])?;
        }
        if let Some(Approval { signature, .. }) = &old.entry.approval {
            let sql = "DELETE FROM bound WHERE bound = ?1 AND entry = ?2";
            connection.prepare_cached(sql)?.execute(params![signature, entry.id])?;
        }
    }
    if entry.status == super::entry::Status::Active {
        total.add(&entry.id, digest);
        for trigger in &entry.triggers {
            let sql = "INSERT OR IGNORE INTO recalled VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![trigger.verb, trigger.class, entry.id])?;
        }
        if let Some(Approval { signature, .. }) = &entry.approval {
            connection
                .prepare_cached("INSERT OR IGNORE INTO bound VALUES (?1, ?2)")?
                .execute(params![signature, entry.id])?;
        }
    }
    write_sum(connection, &total)
}
