//! Approvals: what was asked waits for a person, whose word holds once.
//!
//! 1. A verdict that asks is put into the queue with what it is bound to: the action, for whom and by which agent, the facts,
//!    the policy and the memory, by their digests. It waits for [`WAITS`], then it is gone.
//! 2. A person approves or rejects it, in a terminal or over HTTP with a token that the agent does not have.
//! 3. When the same is asked again, and nothing that it was bound to has changed, an approval lets it pass: once, within
//!    [`HOLDS`]. A rejection denies it for as long. Anything else is asked anew.
//!
//! What policy denies is never in the queue, and neither is what failed.

use crate::action::{Action, Context};
use crate::verdict::{Basis, Decision, Digests, Verdict};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a question waits for a person.
pub const WAITS: Duration = Duration::from_secs(60 * 60);
/// How long a person's word holds.
pub const HOLDS: Duration = Duration::from_secs(15 * 60);
const BUSY: Duration = Duration::from_secs(2);
/// Questions that wait at a time; the oldest make room.
const MOST: i64 = 1_000;
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS ticket(
        id TEXT PRIMARY KEY, bound TEXT NOT NULL, state TEXT NOT NULL, until_ms INTEGER NOT NULL, asked_ms INTEGER NOT NULL,
        action TEXT NOT NULL, reason TEXT NOT NULL, agent TEXT NOT NULL, identity TEXT NOT NULL, by TEXT NOT NULL DEFAULT '');
    CREATE INDEX IF NOT EXISTS ticket_bound ON ticket(bound, state);";

/// Why the queue cannot be used, or a question in it not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// SQLite's words.
    #[error("the queue of approvals cannot be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// Its folder cannot be made.
    #[error("the folder of the queue of approvals cannot be made: {0}")]
    Folder(#[from] std::io::Error),
    /// Nothing of that id waits.
    #[error("nothing of the id '{0}' waits for an answer; it may have been answered, or have expired")]
    NotWaiting(String),
}

/// One question that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Id of the verdict that asks.
    pub id: String,
    /// The action as JSON, without secrets.
    pub action: String,
    /// Why it is asked.
    pub reason: String,
    /// Which agent asks.
    pub agent: String,
    /// For whom.
    pub identity: String,
    /// Milliseconds since 1970.
    pub asked_ms: i64,
    /// When it is gone.
    pub until_ms: i64,
}

/// What a person said about exactly this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It may run, once.
    Approved,
    /// It may not.
    Rejected,
}

/// The queue. Clones and processes share it.
#[derive(Debug, Clone)]
pub struct Approvals {
    database: Arc<Mutex<Connection>>,
}

impl Approvals {
    /// Opens the queue, or makes it.
    ///
    /// # Errors
    /// [`ApprovalError`]
    pub fn open(path: &Path) -> Result<Self, ApprovalError> {
        crate::hook::private(path)?;
        let database = Connection::open(path)?;
        database.busy_timeout(BUSY)?;
        if database.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? == 0 {
            database.pragma_update(None, "journal_mode", "WAL")?;
            database.execute_batch(SCHEMA)?;
            database.pragma_update(None, "user_version", 1)?;
        }
        Ok(Self { database: Arc::new(Mutex::new(database)) })
    }

    /// What a person said about exactly this; an approval is used up by it.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn take(&self, action: &Action, context: &Context, digest: &Digests) -> Result<Option<Word>, ApprovalError> {
        let (bound, now) = (bound(action, context, digest), crate::learn::now_ms());
        let database = self.database();
        let used = database.execute(
            "UPDATE ticket SET state = 'used' WHERE id = (SELECT id FROM ticket
             WHERE bound = ?1 AND state = 'approved' AND until_ms > ?2 LIMIT 1)",
            params![bound, now],
        )?;
        if used == 1 {
            return Ok(Some(Word::Approved));
        }
        let rejected: Option<i64> = database
            .query_row(
                "SELECT 1 FROM ticket WHERE bound = ?1 AND state = 'rejected' AND until_ms > ?2 LIMIT 1",
                params![bound, now],
                |row| row.get(0),
            )
            .optional()?;
        Ok(rejected.map(|_| Word::Rejected))
    }

    /// Puts a verdict that asks into the queue; the same question asked again replaces the one before. What does not ask, or
    /// asks because something failed, is left out.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn wait(&self, action: &Action, context: &Context, verdict: &Verdict) -> Result<(), ApprovalError> {
        if verdict.decision != Decision::Ask || verdict.basis == Basis::Failure {
            return Ok(());
        }
        let now = crate::learn::now_ms();
        let json = serde_json::to_string(action).unwrap_or_default();
        let shown = crate::untrusted::redact(json.get(..json.floor_char_boundary(4_000)).unwrap_or_default());
        let bound = bound(action, context, &verdict.digest);
        let mut database = self.database();
        let writing = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        writing.execute("DELETE FROM ticket WHERE until_ms <= ?1", params![now])?;
        writing.execute("DELETE FROM ticket WHERE bound = ?1 AND state = 'waiting'", params![bound])?;
        writing.execute(
            "DELETE FROM ticket WHERE state = 'waiting' AND id NOT IN
             (SELECT id FROM ticket WHERE state = 'waiting' ORDER BY asked_ms DESC LIMIT ?1)",
            params![MOST - 1],
        )?;
        writing.execute(
            "INSERT INTO ticket(id, bound, state, until_ms, asked_ms, action, reason, agent, identity)
             VALUES (?1, ?2, 'waiting', ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                verdict.id,
                bound,
                now + millis(WAITS),
                now,
                shown,
                crate::untrusted::redact(&verdict.reason),
                context.agent,
                context.identity.name
            ],
        )?;
        writing.commit()?;
        Ok(())
    }

    /// What waits, oldest first.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn waiting(&self) -> Result<Vec<Waiting>, ApprovalError> {
        let database = self.database();
        let mut rows = database.prepare_cached(
            "SELECT id, action, reason, agent, identity, asked_ms, until_ms FROM ticket
             WHERE state = 'waiting' AND until_ms > ?1 ORDER BY asked_ms, id",
        )?;
        let found = rows.query_map(params![crate::learn::now_ms()], |row| {
            Ok(Waiting {
                id: row.get(0)?,
                action: row.get(1)?,
                reason: row.get(2)?,
                agent: row.get(3)?,
                identity: row.get(4)?,
                asked_ms: row.get(5)?,
                until_ms: row.get(6)?,
            })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// A person answers. Whether it is a person is the caller's to know.
    ///
    /// # Errors
    /// [`ApprovalError::NotWaiting`] if it was answered before, or is gone.
    pub fn answer(&self, id: &str, word: Word, by: &str) -> Result<(), ApprovalError> {
        let state = match word {
            Word::Approved => "approved",
            Word::Rejected => "rejected",
        };
        let now = crate::learn::now_ms();
        let changed = self.database().execute(
            "UPDATE ticket SET state = ?1, by = ?2, until_ms = ?3 WHERE id = ?4 AND state = 'waiting' AND until_ms > ?5",
            params![state, by, now + millis(HOLDS), id, now],
        )?;
        if changed == 1 { Ok(()) } else { Err(ApprovalError::NotWaiting(id.to_owned())) }
    }

    fn database(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an answer is bound to. Not the request: a person who says "go on" has not asked for something else.
fn bound(action: &Action, context: &Context, digest: &Digests) -> String {
    crate::digest([
        serde_json::to_vec(action).unwrap_or_default(),
        serde_json::to_vec(&context.identity).unwrap_or_default(),
        context.agent.clone().into_bytes(),
        digest.facts.clone().into_bytes(),
        digest.policy.clone().into_bytes(),
        digest.memory.clone().into_bytes(),
    ])
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
