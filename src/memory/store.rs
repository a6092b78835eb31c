//! The store: SQLite as the source of truth.
//!
//! 1. `open.rs` creates the file, or verifies that it is a memory.
//! 2. [`Store::write`] runs one transaction. A lesson is on disk when it returns (WAL, `synchronous=FULL`).
//! 3. Each new version of an entry is a new row. The head row points to the current version and records the memory
//!    version of its last change.
//! 4. [`Store::changes`] reads the changes after a memory version, in one snapshot. [`Store::moved`] is a cheap test
//!    (`PRAGMA data_version`) whether another process has written at all.

use super::demand;
use super::entry::{Entry, Status};
use super::error::MemoryError;
use super::open;
use crate::digest::finish;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Result<T> = std::result::Result<T, MemoryError>;

/// The embedding model of the vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Embedder {
    pub id: String,
    pub dimensions: usize,
}

impl std::fmt::Display for Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.id, self.dimensions)
    }
}

/// Whether the commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// A commit survives a kill and a power failure.
    Full,
    /// A commit survives a kill; a power failure may lose the last commits.
    Normal,
}

/// The current version of an entry, read from the database.
pub(super) struct Head {
    pub entry: Entry,
    pub digest: String,
    /// Row of its vector.
    pub row: Option<u64>,
    /// The vector, if it was requested.
    pub vector: Option<Vec<f32>>,
}

pub(super) struct Store {
    pub(super) path: Option<PathBuf>,
    pub(super) identity: String,
    pub(super) embedder: Option<Embedder>,
    pub(super) writer: Mutex<Connection>,
    /// A second connection, which sees the commits of other processes and of `writer`, and the data version up to which
    /// changes are loaded. It is opened when changes are looked for, so that a process that judges one action needs one
    /// connection. A database in memory has none.
    pub(super) watcher: Mutex<Option<(Connection, i64)>>,
}

impl Store {
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub fn identity(&self) -> &str {
        &self.identity
    }

    pub fn embedder(&self) -> Option<&Embedder> {
        self.embedder.as_ref()
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watcher(&self) -> MutexGuard<'_, Option<(Connection, i64)>> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `body` in one transaction, and commits if it succeeds.
    pub fn write<T>(&self, durability: Durability, body: impl FnOnce(&mut Write<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.writer();
        let level = if durability == Durability::Full { "FULL" } else { "NORMAL" };
        connection.pragma_update(None, "synchronous", level)?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let embedder = self.embedder.as_ref();
        let mut write = Write { tx, embedder, now_ms: crate::clock::now_ms(), memory_version: None };
        let value = body(&mut write)?;
        write.tx.commit()?;
        Ok(value)
    }

    /// Runs `body` on one read-only snapshot.
    pub fn with_reader<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut watcher = self.watcher();
        if let Some((connection, _)) = &mut *watcher {
            let tx = connection.transaction()?;
            return body(&tx);
        }
        drop(watcher);
        let mut connection = self.writer();
        let tx = connection.transaction()?;
        body(&tx)
    }

    /// Runs `body` on one read-only snapshot of a connection of its own, which nothing else waits for. It is stopped after
    /// `limit`.
    #[cfg(feature = "serve")]
    pub fn with_slow_reader<T>(
        &self,
        limit: std::time::Duration,
        body: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let Some(path) = &self.path else { return self.with_reader(body) };
        let mut connection = open::watching(path)?;
        let end = std::time::Instant::now() + limit;
        connection.progress_handler(10_000, Some(move || std::time::Instant::now() > end))?;
        let tx = connection.transaction()?;
        body(&tx)
    }

    /// Whether another connection has committed since the last call of [`Store::settled`]: if so, a token. Pass it to
    /// `settled` once the changes are loaded.
    pub fn moved(&self) -> Result<Option<i64>> {
        let Some(path) = &self.path else { return Ok(None) };
        let mut watcher = self.watcher();
        let (connection, loaded) = match &mut *watcher {
            Some(open) => open,
            none => none.insert((open::watching(path)?, -1)),
        };
        let version: i64 = connection.prepare_cached("PRAGMA data_version")?.query_row([], |r| r.get(0))?;
        Ok((version != *loaded).then_some(version))
    }

    pub fn settled(&self, token: i64) {
        if let Some((_, loaded)) = &mut *self.watcher() {
            *loaded = token;
        }
    }

    /// The memory version, and the heads that changed after memory version `since` (0: all active heads).
    pub fn changes(&self, since: u64) -> Result<(u64, Vec<Head>)> {
        self.with_reader(|connection| {
            let version = memory_version(connection)?;
            if version == since {
                return Ok((version, Vec::new()));
            }
            let sql =
                format!("{HEADS}, e.vector {HEADS_FROM} WHERE h.changed > ?1 AND (?1 > 0 OR h.status = 'active')");
            let mut statement = connection.prepare_cached(&sql)?;
            let embedder = self.embedder.as_ref();
            let mut rows = statement.query(params![signed(since), embedder.map(|e| &e.id)])?;
            let mut heads = Vec::new();
            while let Some(row) = rows.next()? {
                let mut head = read_head(row)?;
                if let (Some(_), Some(embedder)) = (head.row, embedder) {
                    let blob = row.get_ref(4)?.as_blob().map_err(|e| corrupt(&head.entry.id, &e))?;
                    head.vector = Some(decode(blob, embedder.dimensions, &head.entry.id)?);
                }
                heads.push(head);
            }
            Ok((version, heads))
        })
    }
}

const HEADS: &str = "SELECT v.entry, v.body, v.digest, e.row";
const HEADS_FROM: &str = "FROM entry_head h JOIN entry_version v ON v.entry = h.entry AND v.version = h.version \
                          LEFT JOIN embedding e ON e.row = v.embedding AND e.embedder = ?2";

fn read_head(row: &rusqlite::Row<'_>) -> Result<Head> {
    let id: String = row.get(0)?;
    let body: String = row.get(1)?;
    let digest: String = row.get(2)?;
    let entry = parse_body(&id, &body, &digest)?;
    let row: Option<i64> = row.get(3)?;
    Ok(Head { entry, digest, row: row.map(unsigned), vector: None })
}

/// The time of the latest decision, in milliseconds since 1970; 0 if there is none.
pub(super) fn latest_decision(connection: &Connection) -> Result<i64> {
    let latest: Option<i64> =
        connection.prepare_cached("SELECT max(at_ms) FROM decision")?.query_row([], |row| row.get(0))?;
    Ok(latest.unwrap_or_default())
}

/// Parses the body of an entry, after verifying its digest.
pub(super) fn parse_body(id: &str, body: &str, digest: &str) -> Result<Entry> {
    if finish(Sha256::new().chain_update(body)) != digest {
        return Err(MemoryError::Corrupt { what: format!("the digest of entry {id} does not match") });
    }
    serde_json::from_str(body).map_err(|e| corrupt(id, &e))
}

pub(super) fn corrupt(id: &str, why: &dyn std::fmt::Display) -> MemoryError {
    MemoryError::Corrupt { what: format!("entry {id}: {why}") }
}

pub(super) fn memory_version(connection: &Connection) -> Result<u64> {
    let version: i64 = connection.prepare_cached("SELECT memory_version FROM meta")?.query_row([], |r| r.get(0))?;
    Ok(unsigned(version))
}

/// The current version of an entry.
pub(super) fn head(connection: &Connection, embedder: Option<&Embedder>, id: &str) -> Result<Head> {
    let sql = format!("{HEADS} {HEADS_FROM} WHERE h.entry = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![id, embedder.map(|e| &e.id)])?;
    match rows.next()? {
        Some(row) => read_head(row),
        None => Err(MemoryError::NoSuchEntry { id: id.to_owned() }),
    }
}

/// Any version of an entry, with the row of its vector.
pub(super) fn version(connection: &Connection, id: &str, version: u64) -> Result<(Entry, Option<u64>)> {
    let sql = "SELECT body, digest, embedding FROM entry_version WHERE entry = ?1 AND version = ?2";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![id, signed(version)], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    let Some((body, digest, row)): Option<(String, String, Option<i64>)> = found else {
        head(connection, None, id)?;
        return Err(MemoryError::NoSuchVersion { id: id.to_owned(), version });
    };
    Ok((parse_body(id, &body, &digest)?, row.map(unsigned)))
}

/// One open transaction.
pub(super) struct Write<'a> {
    tx: Transaction<'a>,
    embedder: Option<&'a Embedder>,
    pub now_ms: i64,
    memory_version: Option<u64>,
}

/// The vector of a new version.
pub(super) enum Vector<'a> {
    New(&'a [f32]),
    /// The row of an earlier version, or none.
    Keep(Option<u64>),
}

impl Write<'_> {
    pub fn connection(&self) -> &Connection {
        &self.tx
    }

    pub fn head(&self, id: &str) -> Result<Head> {
        head(&self.tx, self.embedder, id)
    }

    /// The latest version of an entry by this author; `None` if there is none.
    pub fn last_by(&self, id: &str, who: &str) -> Result<Option<Entry>> {
        let sql = "SELECT body, digest FROM entry_version WHERE entry = ?1 AND who = ?2 ORDER BY version DESC LIMIT 1";
        let mut statement = self.tx.prepare_cached(sql)?;
        let found = statement.query_row([id, who], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
        found.map(|(body, digest): (String, String)| parse_body(id, &body, &digest)).transpose()
    }

    /// The entries with this key that are neither retired nor approvals, oldest first.
    pub fn of_key(&self, key_hash: &str) -> Result<Vec<Head>> {
        let sql = "SELECT entry FROM entry_head WHERE key_hash = ?1 AND status <> 'retired' ORDER BY entry";
        let mut statement = self.tx.prepare_cached(sql)?;
        let ids = statement.query_map([key_hash], |r| r.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        ids.iter().map(|id| self.head(id)).collect()
    }

    /// Adds `entry` as the version after its head (version 1 if it has none), and makes it the head.
    pub fn put(&mut self, mut entry: Entry, vector: &Vector<'_>, who: &str, what: &str) -> Result<Entry> {
        let sql = "SELECT version FROM entry_head WHERE entry = ?1";
        let parent: Option<i64> = self.tx.prepare_cached(sql)?.query_row([&entry.id], |r| r.get(0)).optional()?;
        let before =
            parent.map(|_| self.head(&entry.id)).transpose()?.filter(|head| head.entry.status == Status::Active);
        entry.parent = parent.map(unsigned);
        entry.version = entry.parent.unwrap_or(0) + 1;
        entry.updated_ms = self.now_ms;
        entry.validate()?;
        let memory_version = match self.memory_version {
            Some(version) => version,
            None => {
                self.tx.execute("UPDATE meta SET memory_version = memory_version + 1", [])?;
                memory_version(&self.tx)?
            }
        };
        self.memory_version = Some(memory_version);
        let number = signed(entry.version);
        let row = match vector {
            Vector::Keep(row) => row.map(signed),
            Vector::New(vector) => {
                let embedder = self.embedder.ok_or(MemoryError::NoEmbedder)?;
                let sql = "INSERT INTO embedding (entry, version, embedder, vector) VALUES (?1, ?2, ?3, ?4)";
                self.tx.prepare_cached(sql)?.execute(params![entry.id, number, embedder.id, encode(vector)])?;
                Some(self.tx.last_insert_rowid())
            }
        };
        let body = serde_json::to_string(&entry).map_err(|e| corrupt(&entry.id, &e))?;
        let digest = finish(Sha256::new().chain_update(&body));
        let stamp = signed(memory_version);
        self.tx
            .prepare_cached("INSERT INTO entry_version VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
            .execute(params![entry.id, number, parent, stamp, self.now_ms, who, body, &digest, row])?;
        let key_hash = entry.approval.is_none().then(|| entry.key.hash());
        self.tx.prepare_cached("INSERT OR REPLACE INTO entry_head VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
            entry.id,
            number,
            entry.status.as_str(),
            key_hash,
            stamp
        ])?;
        demand::derive(&self.tx, before.as_ref(), &entry, &digest)?;
        self.event(who, what, Some(&entry), "")?;
        Ok(entry)
    }

    /// The time of the latest decision, in milliseconds since 1970; 0 if there is none.
    pub fn latest_decision(&self) -> Result<i64> {
        latest_decision(&self.tx)
    }

    /// Deletes decisions that are older than a time; returns their number.
    pub fn drop_decisions(&self, before_ms: i64) -> Result<usize> {
        Ok(self.tx.execute("DELETE FROM decision WHERE at_ms < ?1", [before_ms])?)
    }

    pub fn event(&self, who: &str, what: &str, entry: Option<&Entry>, detail: &str) -> Result<()> {
        let sql = "INSERT INTO event (at_ms, who, what, entry, version, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (id, version) = (entry.map(|e| &e.id), entry.map(|e| signed(e.version)));
        self.tx.prepare_cached(sql)?.execute(params![self.now_ms, who, what, id, version, detail])?;
        Ok(())
    }

    /// Counts the vote of an episode for a change; false if the episode has voted for it before.
    pub fn vote(&self, entry: &str, change: &str, episode: &str, principal: &str) -> Result<bool> {
        let sql = "INSERT OR IGNORE INTO vote VALUES (?1, ?2, ?3, ?4, ?5)";
        let votes = self.tx.prepare_cached(sql)?.execute(params![entry, change, episode, principal, self.now_ms])?;
        Ok(votes == 1)
    }

    /// Number of distinct (episodes, principals) that have voted for a change.
    pub fn votes(&self, entry: &str, change: &str) -> Result<(u64, u64)> {
        let sql =
            "SELECT count(DISTINCT episode), count(DISTINCT principal) FROM vote WHERE entry = ?1 AND change = ?2";
        let (episodes, principals): (i64, i64) =
            self.tx.prepare_cached(sql)?.query_row([entry, change], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok((unsigned(episodes), unsigned(principals)))
    }

    /// Deletes the votes for a change that has taken effect, so that they cannot cause it a second time.
    pub fn settle(&self, entry: &str, change: &str) -> Result<()> {
        self.tx.prepare_cached("DELETE FROM vote WHERE entry = ?1 AND change = ?2")?.execute([entry, change])?;
        Ok(())
    }
}

fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn decode(blob: &[u8], dimensions: usize, id: &str) -> Result<Vec<f32>> {
    let (numbers, rest) = blob.as_chunks::<4>();
    if numbers.len() != dimensions || !rest.is_empty() {
        return Err(corrupt(id, &format!("its vector has {} bytes instead of {}", blob.len(), dimensions * 4)));
    }
    Ok(numbers.iter().map(|n| f32::from_le_bytes(*n)).collect())
}

pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
