//! Opening the database.
//!
//! 1. [`Store::open`] makes the file (mode 600), or checks that it is ours: application id, schema, embedder.
//! 2. Two connections: one writes, the other sees what anyone committed.

use super::error::MemoryError;
use super::store::{Embedder, Store, signed};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// "AGRL": marks the file as ours.
pub const APPLICATION_ID: i64 = 0x4147_524C;
/// Schema version that this program reads and writes.
pub const SCHEMA: i64 = 1;
const READ_WAIT: Duration = Duration::from_millis(250);
const WRITE_WAIT: Duration = Duration::from_secs(2);

type Result<T> = std::result::Result<T, MemoryError>;

/// What to do when the file has vectors of another embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnMismatch {
    Refuse,
    /// Take the new one; the old vectors no longer count.
    Change,
}

impl Store {
    pub fn open(path: &Path, embedder: Option<Embedder>, on_mismatch: OnMismatch) -> Result<Self> {
        create_private(path)?;
        let at = |e| MemoryError::opening(path, e);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut writer = Connection::open_with_flags(path, flags).map_err(at)?;
        writer.busy_timeout(WRITE_WAIT).map_err(at)?;
        // in one transaction: another process may be making the tables at this moment
        {
            let snapshot = writer.transaction().map_err(at)?;
            check_ours(&snapshot, path)?;
        }
        if writer.is_readonly(rusqlite::MAIN_DB).map_err(at)? {
            return Err(MemoryError::ReadOnly);
        }
        use_wal(&writer).map_err(at)?;
        prepare(&writer).map_err(at)?;
        let (identity, embedder) = initialise(&mut writer, path, embedder, on_mismatch)?;
        let watcher = Connection::open_with_flags(path, flags).map_err(at)?;
        watcher.busy_timeout(READ_WAIT).map_err(at)?;
        prepare(&watcher).map_err(at)?;
        let watcher = Some(Mutex::new((watcher, -1)));
        Ok(Self { path: Some(path.to_owned()), identity, embedder, writer: Mutex::new(writer), watcher })
    }

    pub fn in_memory(embedder: Option<Embedder>) -> Result<Self> {
        let mut writer = Connection::open_in_memory()?;
        prepare(&writer)?;
        let (identity, embedder) = initialise(&mut writer, Path::new(":memory:"), embedder, OnMismatch::Refuse)?;
        Ok(Self { path: None, identity, embedder, writer: Mutex::new(writer), watcher: None })
    }
}

/// Makes the file with mode 600, so that nobody else reads what was learnt.
fn create_private(path: &Path) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::ReadOnlyFilesystem => Err(MemoryError::ReadOnly),
        Err(e) if e.kind() == std::io::ErrorKind::StorageFull => Err(MemoryError::DiskFull),
        Err(e) => Err(MemoryError::Open { path: path.to_owned(), reason: e.to_string() }),
    }
}

fn check_ours(connection: &Connection, path: &Path) -> Result<bool> {
    let at = |e| MemoryError::opening(path, e);
    let number = |sql: &str| connection.query_row(sql, [], |r| r.get::<_, i64>(0)).map_err(at);
    let application = number("PRAGMA application_id")?;
    let schema = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_master")?;
    if application == 0 && schema == 0 && tables == 0 {
        return Ok(false);
    }
    if application != APPLICATION_ID {
        let found = format!("an SQLite database of another program, application id {application:#x}, {tables} objects");
        return Err(MemoryError::NotOurs { path: path.to_owned(), found });
    }
    if schema > SCHEMA {
        return Err(MemoryError::NewerSchema { path: path.to_owned(), found: schema, known: SCHEMA });
    }
    Ok(true)
}

/// Switching to WAL does not wait for other connections by itself, so wait here.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + WRITE_WAIT;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;")
}

/// Makes the tables if the file is new, and settles which embedder it has.
fn initialise(
    writer: &mut Connection,
    path: &Path,
    given: Option<Embedder>,
    on_mismatch: OnMismatch,
) -> Result<(String, Option<Embedder>)> {
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !check_ours(&tx, path)? {
        tx.execute_batch(include_str!("schema.sql"))?;
        tx.execute("INSERT INTO meta VALUES (1, ?1, NULL, NULL, 0)", [ulid::Ulid::new().to_string()])?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", SCHEMA)?;
    }
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
    tx.commit()?;
    Ok((identity, embedder))
}
