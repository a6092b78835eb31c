//! Approvals: what was asked waits for a person, whose word holds once.
//!
//! 1. A verdict that asks is put into the queue with what it is bound to: the action in normal form with all arguments, for
//!    whom and by which agent, the facts, the policy and the memory, by their digests. It waits for [`WAITS`], then it is gone.
//! 2. A person approves or rejects it, in a terminal or over HTTP with a token that the agent does not have.
//! 3. When the same is asked again, and nothing that it was bound to has changed, an approval lets it pass: once, within
//!    [`HOLDS`]. A rejection denies it for as long. Anything else is asked anew.
//!
//! What policy denies is never in the queue, and neither is what failed. A person sees the whole action and its effects,
//! with hidden characters escaped; what is too long to be shown in full cannot be approved.

use crate::action::{Action, Context};
use crate::untrusted::{redact, visible, visible_json};
use crate::verdict::{Basis, Decision, Digests, ShownEffect, Verdict};
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
/// Longest action that can be shown, and so approved, bytes of JSON.
const LONGEST: usize = 256 * 1024;
/// Version of the tables; the first release wrote 1.
const VERSION: i64 = 2;
const SCHEMA: &str = "
    CREATE TABLE ticket(
        id TEXT PRIMARY KEY, bound TEXT NOT NULL, state TEXT NOT NULL, until_ms INTEGER NOT NULL, asked_ms INTEGER NOT NULL,
        action TEXT NOT NULL, reason TEXT NOT NULL, agent TEXT NOT NULL, identity TEXT NOT NULL, by TEXT NOT NULL DEFAULT '',
        effects TEXT NOT NULL DEFAULT '[]', cut INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX ticket_bound ON ticket(bound, state);";
/// What waits in a queue of the first release was not shown in full, and is bound to the text of an action.
const FROM_1: &str = "
    DELETE FROM ticket;
    ALTER TABLE ticket ADD COLUMN effects TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE ticket ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;";

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
    /// A newer release has written it.
    #[error("the queue of approvals is of a newer agrail (version {0}); use that one")]
    Newer(i64),
    /// The action cannot be shown in full.
    #[error("'{0}' is too long to be shown in full, so it cannot be approved; let the agent do it in smaller steps")]
    TooLong(String),
    /// Nothing of that id waits.
    #[error("nothing of the id '{0}' waits for an answer; it may have been answered, or have expired")]
    NotWaiting(String),
}

/// One question that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Id of the verdict that asks.
    pub id: String,
    /// What the action would do, one effect each, those that are asked about first. Hidden characters are escaped.
    pub effects: Vec<String>,
    /// The whole action as JSON, without secrets; hidden characters are escaped.
    pub action: String,
    /// The action is longer than can be shown: its end is cut, with a mark, and it cannot be approved.
    pub cut: bool,
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
        let mut database = Connection::open(path)?;
        database.busy_timeout(BUSY)?;
        migrate(&mut database)?;
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
        let (shown, cut) = shown(action);
        let effects = serde_json::to_string(&effects(verdict)).unwrap_or_default();
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
            "INSERT INTO ticket(id, bound, state, until_ms, asked_ms, action, reason, agent, identity, effects, cut)
             VALUES (?1, ?2, 'waiting', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                verdict.id,
                bound,
                now + millis(WAITS),
                now,
                shown,
                visible(&redact(&verdict.reason)),
                visible(&context.agent),
                visible(&context.identity.name),
                effects,
                cut
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
            "SELECT id, action, reason, agent, identity, asked_ms, until_ms, effects, cut FROM ticket
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
                effects: serde_json::from_str(&row.get::<_, String>(7)?).unwrap_or_default(),
                cut: row.get(8)?,
            })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// A person answers. Whether it is a person is the caller's to know.
    ///
    /// # Errors
    /// [`ApprovalError::NotWaiting`] if it was answered before, or is gone; [`ApprovalError::TooLong`] if it cannot be shown in
    /// full and should be approved.
    pub fn answer(&self, id: &str, word: Word, by: &str) -> Result<(), ApprovalError> {
        let state = match word {
            Word::Approved => "approved",
            Word::Rejected => "rejected",
        };
        let now = crate::learn::now_ms();
        let database = self.database();
        let cut =
            database.query_row("SELECT cut FROM ticket WHERE id = ?1", params![id], |row| row.get(0)).optional()?;
        if word == Word::Approved && cut == Some(true) {
            return Err(ApprovalError::TooLong(id.to_owned()));
        }
        let changed = database.execute(
            "UPDATE ticket SET state = ?1, by = ?2, until_ms = ?3 WHERE id = ?4 AND state = 'waiting' AND until_ms > ?5",
            params![state, by, now + millis(HOLDS), id, now],
        )?;
        if changed == 1 { Ok(()) } else { Err(ApprovalError::NotWaiting(id.to_owned())) }
    }

    fn database(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the tables, or brings those of an earlier release up to date; other processes may be about to do the same.
fn migrate(database: &mut Connection) -> Result<(), ApprovalError> {
    let version = |database: &Connection| database.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version(database)? == VERSION {
        return Ok(());
    }
    database.pragma_update(None, "journal_mode", "WAL")?;
    let writing = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    match version(&writing)? {
        VERSION => {}
        0 => writing.execute_batch(SCHEMA)?,
        1 => writing.execute_batch(FROM_1)?,
        newer => return Err(ApprovalError::Newer(newer)),
    }
    writing.pragma_update(None, "user_version", VERSION)?;
    writing.commit()?;
    Ok(())
}

/// The whole action for a person's eyes, and whether its end had to be cut.
fn shown(action: &Action) -> (String, bool) {
    let json = visible_json(&serde_json::to_value(action).unwrap_or_default());
    let json = redact(&json).into_owned();
    let cut = json.len() > LONGEST;
    if !cut {
        return (json, false);
    }
    let end = json.floor_char_boundary(LONGEST);
    (format!("{}… [{} more bytes]", json.get(..end).unwrap_or_default(), json.len() - end), true)
}

/// The effects, those that a finding speaks of first.
fn effects(verdict: &Verdict) -> Vec<String> {
    // evidence names an effect by its verb and the name of its target; an effect that is shown has the kind before the name
    let asked: Vec<&str> =
        verdict.findings.iter().filter(|f| f.is_open()).flat_map(|f| &f.evidence).map(|e| e.about.as_str()).collect();
    let open = |effect: &&ShownEffect| {
        let name =
            |about: &&str| about.strip_prefix(effect.verb.as_str()).map(str::trim_start).unwrap_or_default().to_owned();
        asked.iter().map(name).any(|name| !name.is_empty() && effect.target.ends_with(&name))
    };
    let (first, rest): (Vec<&ShownEffect>, Vec<&ShownEffect>) = verdict.effects.iter().partition(open);
    let line = |effect: &ShownEffect| format!("{} {}", effect.verb, effect.target);
    let mut first: Vec<String> = first.into_iter().chain(rest).map(line).collect();
    if verdict.effects_left_out > 0 {
        first.push(format!("… [{} more effects]", verdict.effects_left_out));
    }
    first.iter().map(|line| visible(&redact(line)).into_owned()).collect()
}

/// What an answer is bound to. Not the request: a person who says "go on" has not asked for something else.
fn bound(action: &Action, context: &Context, digest: &Digests) -> String {
    let home = crate::facts::account(context).home;
    crate::digest([
        crate::effect::normal(action, &home).to_string().into_bytes(),
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
