//! Opens the database.
//!
//! 1. [`Store::open`] creates the file (mode 0600), or verifies that it is a memory: application id, schema, embedder.
//! 2. It opens the connection that writes. A second one sees everything that any process has committed.

use super::demand;
use super::error::MemoryError;
use super::store::{Embedder, Store, signed};
use crate::store::Format;
use rusqlite::{Connection, TransactionBehavior, params};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// SQLite's `application_id` of a memory: "AGRL".
pub const APPLICATION_ID: i64 = 0x4147_524C;
/// Number of prepared statements that a connection caches.
const STATEMENTS: usize = 32;
const READ_WAIT: Duration = Duration::from_millis(250);
const FORMAT: Format = Format {
    name: "memory",
    application: APPLICATION_ID,
    migrations: &[include_str!("schema.sql"), concat!(include_str!("schema-2.sql"), include_str!("derived.sql"))],
    pragmas: "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;",
    folder: false,
    wait: Duration::from_secs(2),
};

type Result<T> = std::result::Result<T, MemoryError>;

/// What to do if the file has vectors of another embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnMismatch {
    /// Return an error.
    Refuse,
    /// Switch to the new embedder; the old vectors are no longer used.
    Change,
}

impl Store {
    pub fn open(path: &Path, embedder: Option<Embedder>, on_mismatch: OnMismatch) -> Result<Self> {
        let mut writer = FORMAT.open(path).map_err(|error| MemoryError::opening_store(path, error))?;
        writer.set_prepared_statement_cache_capacity(STATEMENTS);
        if writer.is_readonly(rusqlite::MAIN_DB)? {
            return Err(MemoryError::ReadOnly);
        }
        let (identity, embedder) = initialise(&mut writer, embedder, on_mismatch)?;
        Ok(Self {
            path: Some(path.to_owned()),
            identity,
            embedder,
            writer: Mutex::new(writer),
            watcher: Mutex::new(None),
        })
    }

    pub fn in_memory(embedder: Option<Embedder>) -> Result<Self> {
        let mut writer =
            FORMAT.open_in_memory().map_err(|error| MemoryError::opening_store(Path::new(":memory:"), error))?;
        let (identity, embedder) = initialise(&mut writer, embedder, OnMismatch::Refuse)?;
        Ok(Self { path: None, identity, embedder, writer: Mutex::new(writer), watcher: Mutex::new(None) })
    }
}

/// A second connection, which sees everything that any process has committed.
pub(super) fn watching(path: &Path) -> Result<Connection> {
    let watcher = FORMAT.open(path).map_err(|error| MemoryError::opening_store(path, error))?;
    watcher.set_prepared_statement_cache_capacity(STATEMENTS);
    watcher.busy_timeout(READ_WAIT)?;
    Ok(watcher)
}

/// Gives a new database its identity, and determines its embedder.
fn initialise(
    writer: &mut Connection,
    given: Option<Embedder>,
    on_mismatch: OnMismatch,
) -> Result<(String, Option<Embedder>)> {
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute(
        "INSERT OR IGNORE INTO meta (id, identity, memory_version) VALUES (1, ?1, 0)",
        [ulid::Ulid::new().to_string()],
    )?;
    let (identity, id, dimensions) = tx.query_row("SELECT identity, embedder, dimensions FROM meta", [], |r| {
        Ok((r.get::<_, String>(0)?, r.get::<_, Option<String>>(1)?, r.get::<_, Option<i64>>(2)?))
    })?;
    let stored = id.zip(dimensions).map(|(id, n)| Embedder { id, dimensions: usize::try_from(n).unwrap_or(0) });
    let embedder = match (stored, given) {
        (stored, None) => stored,
        (Some(stored), Some(given)) if stored == given => Some(stored),
        (Some(stored), Some(given)) if on_mismatch == OnMismatch::Refuse => {
            return Err(MemoryError::EmbedderMismatch { stored: stored.to_string(), given: given.to_string() });
        }
        (_, Some(given)) => {
            let dimensions = signed(given.dimensions as u64);
            tx.execute("UPDATE meta SET embedder = ?1, dimensions = ?2", params![given.id, dimensions])?;
            Some(given)
        }
    };
    if demand::sum(&tx)?.is_none() {
        demand::compute_sum(&tx)?;
    }
    tx.commit()?;
    Ok((identity, embedder))
}
