//! The history of the memory: versions, events, decisions, search and counts.
//!
//! 1. [`Memory::log`], [`Memory::show`], [`Memory::diff`] and [`Memory::entries_at`] read events and versions, which
//!    are never overwritten.
//! 2. [`Memory::record_decision`] keeps the engine's decisions, with the digests that a replay needs.

use super::Memory;
use super::entry::{Diff, Entry, Status};
use super::error::MemoryError;
use super::store::{self, Durability, parse_body, signed, unsigned};
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, MemoryError>;

/// A change to the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = MemoryEvent))]
pub struct Event {
    /// Number of the event, ascending from 1.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The author: `engine`, `seed:FILE`, an operator ...
    pub who: String,
    /// The operation: `learn`, `revise`, `approve`, `use`, `quarantine`, `rollback to 2` ...
    pub what: String,
    /// Id of the entry that changed.
    pub entry: Option<String>,
    /// The new version of the entry.
    pub version: Option<u64>,
    /// Details; may be empty.
    pub detail: String,
}

/// One version of an entry, with its author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Version {
    /// The entry in this version.
    pub entry: Entry,
    /// The author of this version.
    pub who: String,
    /// The memory version in which it was added.
    pub memory_version: u64,
}

/// A decision of the engine, kept so that it can be replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// Id of the verdict.
    pub id: String,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: i64,
    /// Digest of the action, hex.
    pub action_digest: String,
    /// Digest of the facts, hex.
    pub facts_digest: String,
    /// Digest of the policy, hex.
    pub policy_digest: String,
    /// The memory version with which it was made.
    pub memory_version: u64,
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// The whole verdict as JSON text.
    pub record: String,
}

/// Counts of entries, versions, vectors and decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Number of proposed entries.
    pub proposed: u64,
    /// Number of active entries, including approvals.
    pub active: u64,
    /// Number of quarantined entries.
    pub quarantined: u64,
    /// Number of retired entries.
    pub retired: u64,
    /// Number of versions of all entries.
    pub versions: u64,
    /// Number of vectors that similarity search covers.
    pub vectors: u64,
    /// Number of recorded decisions.
    pub decisions: u64,
    /// Number of transactions that have changed an entry.
    pub memory_version: u64,
    /// How similarity search works: `exact` or `graph`.
    pub search: &'static str,
    /// The embedder, as `id (dimensions)`.
    pub embedder: Option<String>,
}

/// Decisions that are kept, and how seldom the older ones are dropped: they are a record to learn from, the audit log
/// is the record to answer by.
const DECISIONS: i64 = 100_000;
const SELDOM: i64 = 512;

impl Memory {
    /// The last `limit` events, oldest first; only those of one entry if `id` is given.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub fn log(&self, id: Option<&str>, limit: usize) -> Result<Vec<Event>> {
        self.inner.store.with_reader(|c| {
            if let Some(id) = id {
                store::head(c, None, id)?;
            }
            let sql = "SELECT seq, at_ms, who, what, entry, version, detail FROM event \
                       WHERE ?1 IS NULL OR entry = ?1 ORDER BY seq DESC LIMIT ?2";
            let mut statement = c.prepare_cached(sql)?;
            let event = |r: &rusqlite::Row<'_>| {
                Ok(Event {
                    seq: unsigned(r.get(0)?),
                    at_ms: r.get(1)?,
                    who: r.get(2)?,
                    what: r.get(3)?,
                    entry: r.get(4)?,
                    version: r.get::<_, Option<i64>>(5)?.map(unsigned),
                    detail: r.get(6)?,
                })
            };
            let rows = statement.query_map(params![id, signed(limit as u64)], event)?;
            let mut events = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            events.reverse();
            Ok(events)
        })
    }

    /// The current version of an entry, of any status.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub fn show(&self, id: &str) -> Result<Entry> {
        self.inner.store.with_reader(|c| Ok(store::head(c, None, id)?.entry))
    }

    /// All versions of an entry, oldest first.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`].
    pub fn versions(&self, id: &str) -> Result<Vec<Version>> {
        self.inner.store.with_reader(|c| {
            store::head(c, None, id)?;
            let sql =
                "SELECT entry, body, digest, who, memory_version FROM entry_version WHERE entry = ?1 ORDER BY version";
            let mut statement = c.prepare_cached(sql)?;
            let mut rows = statement.query([id])?;
            let mut versions = Vec::new();
            while let Some(row) = rows.next()? {
                versions.push(read_version(row)?);
            }
            Ok(versions)
        })
    }

    /// The differences from version `from` to version `to` of an entry.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchEntry`], [`MemoryError::NoSuchVersion`].
    pub fn diff(&self, id: &str, from: u64, to: u64) -> Result<Diff> {
        self.inner.store.with_reader(|c| Ok(store::version(c, id, from)?.0.diff(&store::version(c, id, to)?.0)))
    }

    /// All entries as they were at a memory version, sorted by id, for replay.
    ///
    /// # Errors
    /// [`MemoryError::Corrupt`], [`MemoryError::Locked`].
    pub fn entries_at(&self, memory_version: u64) -> Result<Vec<Version>> {
        self.inner.store.with_reader(|c| {
            let sql = "SELECT entry, body, digest, who, memory_version, max(version) FROM entry_version \
                       WHERE memory_version <= ?1 GROUP BY entry ORDER BY entry";
            let mut statement = c.prepare_cached(sql)?;
            let mut rows = statement.query([signed(memory_version)])?;
            let mut versions = Vec::new();
            while let Some(row) = rows.next()? {
                versions.push(read_version(row)?);
            }
            Ok(versions)
        })
    }

    /// Current versions, of any status, that contain every word of `text`, ignoring case. At most `limit`, sorted by
    /// id.
    ///
    /// # Errors
    /// [`MemoryError::Corrupt`], [`MemoryError::Locked`].
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<Entry>> {
        self.search_of(None, text, limit)
    }

    /// The same among the entries of one status.
    pub(crate) fn search_of(&self, status: Option<Status>, text: &str, limit: usize) -> Result<Vec<Entry>> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let mut found = Vec::new();
        self.each_head(|entry, _| {
            let mut texts = vec![&entry.id, &entry.key.natural, &entry.key.command, &entry.provenance.taught_by];
            texts.extend(entry.checks.iter().flat_map(|c| [&c.category, &c.name, &c.definition]));
            texts.extend(entry.triggers.iter().flat_map(|t| [&t.verb, &t.class]));
            let all = texts.iter().map(|t| t.to_lowercase()).collect::<Vec<_>>().join("\n");
            let of_status = status.is_none_or(|status| entry.status == status);
            if of_status && found.len() < limit && words.iter().all(|w| all.contains(w)) {
                found.push(entry);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `each` with every current version and the bytes of its vector (f32, little endian), in the order of ids.
    pub(super) fn each_head(&self, mut each: impl FnMut(Entry, Option<&[u8]>) -> Result<()>) -> Result<()> {
        let embedder = self.inner.store.embedder().map(|e| e.id.clone());
        self.inner.store.with_reader(|c| {
            let sql = "SELECT v.entry, v.body, v.digest, e.vector FROM entry_head h \
                       JOIN entry_version v ON v.entry = h.entry AND v.version = h.version \
                       LEFT JOIN embedding e ON e.row = v.embedding AND e.embedder = ?1 ORDER BY h.entry";
            let mut statement = c.prepare_cached(sql)?;
            let mut rows = statement.query([embedder])?;
            while let Some(row) = rows.next()? {
                let (id, body, digest): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let vector = row.get_ref(3)?.as_blob_or_null().map_err(|e| store::corrupt(&id, &e))?;
                each(parse_body(&id, &body, &digest)?, vector)?;
            }
            Ok(())
        })
    }

    /// Counts, read from the database.
    ///
    /// # Errors
    /// [`MemoryError::Locked`], [`MemoryError::Corrupt`].
    pub fn stats(&self) -> Result<Stats> {
        self.refresh()?;
        self.inner.store.with_reader(|c| {
            let count = |sql: &str| c.query_row(sql, [], |r| r.get(0)).map(unsigned);
            let of = |status: &str| count(&format!("SELECT count(*) FROM entry_head WHERE status = '{status}'"));
            let live = self.live();
            let index = live.index.as_ref();
            Ok(Stats {
                proposed: of("proposed")?,
                active: of("active")?,
                quarantined: of("quarantined")?,
                retired: of("retired")?,
                versions: count("SELECT count(*) FROM entry_version")?,
                vectors: index.map_or(0, |i| i.len() as u64),
                decisions: count("SELECT count(*) FROM decision")?,
                memory_version: store::memory_version(c)?,
                search: if index.is_some_and(|i| i.graph.is_some()) { "graph" } else { "exact" },
                embedder: self.inner.store.embedder().map(ToString::to_string),
            })
        })
    }

    /// Lets SQLite check the whole file, and verifies the digest of every current version.
    ///
    /// # Errors
    /// [`MemoryError::Corrupt`] with the first problem.
    pub fn verify(&self) -> Result<()> {
        self.inner.store.with_reader(|c| {
            let said: String = c.query_row("PRAGMA integrity_check(1)", [], |r| r.get(0))?;
            let broken: i64 = c.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |r| r.get(0))?;
            if said == "ok" && broken == 0 {
                return Ok(());
            }
            Err(MemoryError::Corrupt { what: format!("integrity check: {said}, {broken} foreign keys") })
        })?;
        self.each_head(|_, _| Ok(()))
    }

    /// Records a decision. It survives a kill of the process; the call does not wait for the disk.
    ///
    /// # Errors
    /// [`MemoryError::Locked`] after 2 s, [`MemoryError::DiskFull`].
    pub fn record_decision(&self, d: &DecisionRecord) -> Result<()> {
        self.inner.store.write(Durability::Normal, |w| {
            let sql = "INSERT INTO decision VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let version = signed(d.memory_version);
            let row =
                params![d.id, d.at_ms, d.action_digest, d.facts_digest, d.policy_digest, version, d.decision, d.record];
            w.connection().prepare_cached(sql)?.execute(row)?;
            // only now and then, because SQLite steps over all kept rows to find the first old one
            if d.at_ms % SELDOM == 0 {
                let old = "DELETE FROM decision WHERE at_ms < (SELECT at_ms FROM decision ORDER BY at_ms DESC LIMIT 1 OFFSET ?1)";
                w.connection().prepare_cached(old)?.execute(params![DECISIONS])?;
            }
            Ok(())
        })
    }

    /// The last `limit` decisions, oldest first.
    ///
    /// # Errors
    /// [`MemoryError::Locked`], [`MemoryError::Corrupt`].
    pub fn decisions(&self, limit: usize) -> Result<Vec<DecisionRecord>> {
        let mut records = self.inner.store.with_reader(|c| {
            let sql = "SELECT id, at_ms, action, facts, policy, memory_version, decision, record FROM decision \
                       ORDER BY at_ms DESC, id DESC LIMIT ?1";
            let mut statement = c.prepare_cached(sql)?;
            let rows = statement.query_map([signed(limit as u64)], decision_record)?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })?;
        records.reverse();
        Ok(records)
    }

    /// Ids of the verdicts on actions that were approved in this memory, the last 2 000.
    ///
    /// # Errors
    /// [`MemoryError::Locked`], [`MemoryError::Corrupt`].
    pub fn approved(&self) -> Result<BTreeSet<String>> {
        self.inner.store.with_reader(|c| {
            let sql = "SELECT who FROM event WHERE what = 'approve' ORDER BY seq DESC LIMIT 2000";
            let mut statement = c.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            let found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(found.iter().filter_map(|who| who.strip_prefix("feedback:approve:")).map(str::to_owned).collect())
        })
    }

    /// The decision with this verdict id.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchDecision`].
    pub fn decision(&self, id: &str) -> Result<DecisionRecord> {
        let found = self.inner.store.with_reader(|c| {
            let sql =
                "SELECT id, at_ms, action, facts, policy, memory_version, decision, record FROM decision WHERE id = ?1";
            Ok(c.prepare_cached(sql)?.query_row([id], decision_record).optional()?)
        })?;
        found.ok_or_else(|| MemoryError::NoSuchDecision { id: id.to_owned() })
    }
}

fn read_version(row: &rusqlite::Row<'_>) -> Result<Version> {
    let (id, body, digest): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let entry = parse_body(&id, &body, &digest)?;
    Ok(Version { entry, who: row.get(3)?, memory_version: unsigned(row.get(4)?) })
}

pub(super) fn decision_record(r: &rusqlite::Row<'_>) -> rusqlite::Result<DecisionRecord> {
    Ok(DecisionRecord {
        id: r.get(0)?,
        at_ms: r.get(1)?,
        action_digest: r.get(2)?,
        facts_digest: r.get(3)?,
        policy_digest: r.get(4)?,
        memory_version: unsigned(r.get(5)?),
        decision: r.get(6)?,
        record: r.get(7)?,
    })
}
