//! A queue of pending approvals; each approval is valid once.
//!
//! 1. A verdict of ask enters the queue. It is bound to the action in normal form with all arguments, the identity, the
//!    agent, and the digests of facts, policy and memory. It expires after `PENDING_TTL`.
//! 2. A person approves or rejects it, in a terminal or over HTTP with a token that the agent does not have.
//! 3. If the same action is checked again and nothing that the answer is bound to has changed, an approval allows it
//!    once, within `APPROVAL_TTL`. A rejection denies it for the same time. Any other action is asked about anew.
//! 4. A place to which data would go, and which nobody named before, is known from the approval on, until it is revoked.
//!
//! Actions that policy denies never enter the queue, nor do checks that failed. The person sees the whole action and
//! its effects, with hidden characters escaped. An action that is too long to be shown in full cannot be approved.

use crate::action::{Action, Context};
use crate::store::{Format, StoreError, forget};
use crate::untrusted::{Leak, Secrets, visible, visible_json};
use crate::verdict::{Basis, Decision, Digests, ShownEffect, Verdict};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a pending approval waits for a person before it expires.
pub(crate) const PENDING_TTL: Duration = Duration::from_secs(60 * 60);
/// How long a person's answer is valid.
pub(crate) const APPROVAL_TTL: Duration = Duration::from_secs(15 * 60);
/// Most pending approvals, and most of one identity with one agent: nobody's flood pushes another's question out.
const MOST: i64 = 1_000;
const SHARE: i64 = 200;
/// Most verdicts of which it is known that a person approved them.
const APPROVED: i64 = 2_000;
/// Longest action that can be shown, and therefore approved, in bytes of JSON.
const LONGEST: usize = 256 * 1024;
/// The policy that asks about new places.
const DESTINATION: &str = "policy:destination";
/// The file. Migration to version 2 empties the queue: the first release did not show actions in full, and bound
/// answers to the text of an action.
const FORMAT: Format = Format {
    name: "approvals",
    application: 0,
    migrations: &[
        "CREATE TABLE ticket(
            id TEXT PRIMARY KEY, bound TEXT NOT NULL, state TEXT NOT NULL, until_ms INTEGER NOT NULL,
            asked_ms INTEGER NOT NULL, action TEXT NOT NULL, reason TEXT NOT NULL, agent TEXT NOT NULL,
            identity TEXT NOT NULL, by TEXT NOT NULL DEFAULT '');
        CREATE INDEX ticket_bound ON ticket(bound, state);",
        "DELETE FROM ticket;
        ALTER TABLE ticket ADD COLUMN effects TEXT NOT NULL DEFAULT '[]';
        ALTER TABLE ticket ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;",
        "CREATE TABLE destination(host TEXT PRIMARY KEY, by TEXT NOT NULL, since_ms INTEGER NOT NULL);
        ALTER TABLE ticket ADD COLUMN hosts TEXT NOT NULL DEFAULT '[]';",
        "CREATE TABLE latest(id INTEGER PRIMARY KEY CHECK (id = 1), ms INTEGER NOT NULL);",
        "CREATE TABLE approved(place INTEGER PRIMARY KEY, id TEXT NOT NULL);",
    ],
    pragmas: "",
    folder: true,
    wait: Duration::from_secs(2),
};

/// Why the queue cannot be used, or why a pending approval cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// SQLite failed.
    #[error("cannot use the approval queue: {0}")]
    Database(#[from] rusqlite::Error),
    /// The file cannot be opened.
    #[error("cannot open the approval queue: {0}")]
    Open(#[from] StoreError),
    /// The action with this id is too long to be shown in full.
    #[error("'{0}' is too long to be shown in full, so it cannot be approved; let the agent use smaller steps")]
    TooLong(String),
    /// Too many questions wait.
    #[error("too many questions wait already; answer some of them: agrail ask")]
    Full,
    /// No approval with this id is pending.
    #[error("no approval with the id '{0}' is pending; it may have been answered or may have expired")]
    NotPending(String),
}

/// A pending approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = PendingApproval))]
pub struct PendingApproval {
    /// Id of the verdict (of ask).
    pub id: String,
    /// The effects of the action, one line each, those with open findings first. Hidden characters are escaped.
    pub effects: Vec<String>,
    /// The whole action as JSON, without secrets; hidden characters are escaped.
    pub action: String,
    /// The action is too long to be shown: its end is cut, with a mark, and it cannot be approved.
    pub cut: bool,
    /// Reason of the verdict.
    pub reason: String,
    /// The agent that wants to act.
    pub agent: String,
    /// Name of the identity for which the agent acts.
    pub identity: String,
    /// When the verdict was made, in milliseconds since 1970.
    pub asked_ms: i64,
    /// When it expires, in milliseconds since 1970.
    pub until_ms: i64,
}

/// A place to which data may go because a person approved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Destination {
    /// The host, in lower case; for mail the address; on a host that many share, the host with the owner (`github.com/a`).
    pub host: String,
    /// Who approved it first.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub since_ms: i64,
}

/// A person's answer to a pending approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The action may run, once.
    Approved,
    /// The action may not run.
    Rejected,
}

/// The queue. Clones share one connection; several processes may open the same file.
#[derive(Debug, Clone)]
pub struct Approvals {
    database: Arc<Mutex<Connection>>,
}

/// Makes room for one more question of an identity with an agent: if too many wait, the newest of whoever has most goes.
///
/// # Errors
/// [`ApprovalError::Full`] if these have their share already, or as many as anybody.
fn make_room(database: &Connection, agent: &str, identity: &str) -> Result<(), ApprovalError> {
    let count = |sql: &str, values: &[&str]| -> rusqlite::Result<i64> {
        database.prepare_cached(sql)?.query_row(rusqlite::params_from_iter(values), |row| row.get(0))
    };
    let own = count(
        "SELECT count(*) FROM ticket WHERE state = 'waiting' AND agent = ?1 AND identity = ?2",
        &[agent, identity],
    )?;
    if own >= SHARE {
        return Err(ApprovalError::Full);
    }
    if count("SELECT count(*) FROM ticket WHERE state = 'waiting'", &[])? < MOST {
        return Ok(());
    }
    let sql =
        "SELECT max(place), count(*) FROM (SELECT rowid AS place, agent, identity FROM ticket WHERE state = 'waiting')
               GROUP BY agent, identity ORDER BY count(*) DESC LIMIT 1";
    let (newest, most): (i64, i64) = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if most <= own + 1 {
        return Err(ApprovalError::Full);
    }
    database.execute("DELETE FROM ticket WHERE rowid = ?1", params![newest])?;
    Ok(())
}

impl Approvals {
    /// Opens the queue; creates the file if it does not exist.
    ///
    /// # Errors
    /// [`ApprovalError::Open`]
    pub fn open(path: &Path) -> Result<Self, ApprovalError> {
        let database = FORMAT.open(path)?;
        Ok(Self { database: Arc::new(Mutex::new(database)) })
    }

    /// Takes a person's answer to exactly this action in this context; `None` if there is none. This uses up an
    /// approval. `contents`: digest of the files that the action reads.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn take(
        &self,
        action: &Action,
        context: &Context,
        digest: &Digests,
        contents: &str,
    ) -> Result<Option<Answer>, ApprovalError> {
        let bound = bound(action, context, digest, contents);
        let mut database = self.database();
        let writing = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let now = latest(&writing)?;
        let answer = taken(&writing, &bound, now)?;
        writing.commit()?;
        Ok(answer)
    }

    /// Adds a verdict to the queue. A pending approval for the same action is replaced. Ignores verdicts other than
    /// ask, and asks that result from a failure. `contents`: as for [`Approvals::take`].
    ///
    /// # Errors
    /// [`ApprovalError::Database`]; [`ApprovalError::Full`] if too many others wait.
    pub fn wait(
        &self,
        action: &Action,
        context: &Context,
        verdict: &Verdict,
        contents: &str,
    ) -> Result<(), ApprovalError> {
        if verdict.decision != Decision::Ask || verdict.basis == Basis::Failure {
            return Ok(());
        }
        let secrets = Secrets::in_values([&serde_json::to_value(action).unwrap_or_default()]);
        let (shown, cut) = shown(action, &secrets);
        let effects = serde_json::to_string(&effects(verdict, &secrets)).unwrap_or_default();
        let bound = bound(action, context, &verdict.digest, contents);
        let mut database = self.database();
        let writing = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let now = latest(&writing)?;
        writing.execute("DELETE FROM ticket WHERE until_ms <= ?1", params![now])?;
        writing.execute("DELETE FROM ticket WHERE bound = ?1 AND state = 'waiting'", params![bound])?;
        let (agent, identity) = (visible(&context.agent), visible(&context.identity.name));
        make_room(&writing, &agent, &identity)?;
        writing.execute(
            "INSERT INTO ticket(id, bound, state, until_ms, asked_ms, action, reason, agent, identity, effects, cut, hosts)
             VALUES (?1, ?2, 'waiting', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                verdict.id,
                bound,
                now + millis(PENDING_TTL),
                now,
                shown,
                visible(&secrets.redact(&verdict.reason)),
                agent,
                identity,
                effects,
                cut,
                serde_json::to_string(&hosts(verdict)).unwrap_or_default()
            ],
        )?;
        writing.commit()?;
        Ok(())
    }

    /// Removes a leaked secret from the file and from its copies; returns the number of texts that held it. A pending
    /// approval that showed it stays, and is still bound to its action.
    ///
    /// # Errors
    /// [`ApprovalError::Open`]; then the file is as it was.
    pub fn forget(path: &Path, leak: &Leak) -> Result<usize, ApprovalError> {
        Ok(forget(path, leak, |_| Ok(()))?)
    }

    /// The pending approvals, oldest first.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn waiting(&self) -> Result<Vec<PendingApproval>, ApprovalError> {
        self.first_waiting(usize::MAX)
    }

    /// Their number.
    #[cfg(feature = "serve")]
    pub(crate) fn count_waiting(&self) -> Result<usize, ApprovalError> {
        let sql = "SELECT count(*) FROM ticket
                   WHERE state = 'waiting' AND until_ms > max(?1, coalesce((SELECT ms FROM latest), 0))";
        let count: i64 =
            self.database().prepare_cached(sql)?.query_row(params![crate::clock::now_ms()], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// The oldest of them.
    pub(crate) fn first_waiting(&self, most: usize) -> Result<Vec<PendingApproval>, ApprovalError> {
        let database = self.database();
        let mut rows = database.prepare_cached(
            "SELECT id, action, reason, agent, identity, asked_ms, until_ms, effects, cut FROM ticket
             WHERE state = 'waiting' AND until_ms > max(?1, coalesce((SELECT ms FROM latest), 0))
             ORDER BY asked_ms, id LIMIT ?2",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found = rows.query_map(params![crate::clock::now_ms(), most], |row| {
            Ok(PendingApproval {
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

    /// Records a person's answer; `by` names the person. The caller has to make sure that it is a person.
    ///
    /// # Errors
    /// [`ApprovalError::NotPending`] if it was answered before or has expired; [`ApprovalError::TooLong`] if `word`
    /// approves an action that cannot be shown in full.
    pub fn answer(&self, id: &str, word: Answer, by: &str) -> Result<(), ApprovalError> {
        let state = match word {
            Answer::Approved => "approved",
            Answer::Rejected => "rejected",
        };
        let mut database = self.database();
        let writing = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let now = latest(&writing)?;
        let found: Option<(bool, String)> = writing
            .query_row("SELECT cut, hosts FROM ticket WHERE id = ?1", params![id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (cut, hosts) = found.unwrap_or_default();
        if word == Answer::Approved && cut {
            return Err(ApprovalError::TooLong(id.to_owned()));
        }
        let changed = writing.execute(
            "UPDATE ticket SET state = ?1, by = ?2, until_ms = ?3 WHERE id = ?4 AND state = 'waiting' AND until_ms > ?5",
            params![state, by, now + millis(APPROVAL_TTL), id, now],
        )?;
        if changed != 1 {
            return Err(ApprovalError::NotPending(id.to_owned()));
        }
        if word == Answer::Approved {
            writing.execute("INSERT INTO approved(id) VALUES (?1)", params![id])?;
            writing.execute(
                "DELETE FROM approved WHERE place <= (SELECT max(place) FROM approved) - ?1",
                params![APPROVED],
            )?;
        }
        let hosts: Vec<String> = serde_json::from_str(&hosts).unwrap_or_default();
        for host in hosts.iter().filter(|_| word == Answer::Approved) {
            writing.execute(
                "INSERT OR IGNORE INTO destination(host, by, since_ms) VALUES (?1, ?2, ?3)",
                params![host, by, now],
            )?;
        }
        writing.commit()?;
        Ok(())
    }

    /// Ids of the verdicts that a person approved here, the last 2 000.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn approved(&self) -> Result<BTreeSet<String>, ApprovalError> {
        let database = self.database();
        let mut rows = database.prepare_cached("SELECT id FROM approved")?;
        let found = rows.query_map([], |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The places to which data may go because a person approved it, by name.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn destinations(&self) -> Result<Vec<Destination>, ApprovalError> {
        let database = self.database();
        let mut rows = database.prepare_cached("SELECT host, by, since_ms FROM destination ORDER BY host")?;
        let found =
            rows.query_map([], |row| Ok(Destination { host: row.get(0)?, by: row.get(1)?, since_ms: row.get(2)? }))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Whether a person approved that data goes to a place; false if the file cannot be read.
    pub(crate) fn knows(&self, place: &str) -> bool {
        let database = self.database();
        let found = database.prepare_cached("SELECT 1 FROM destination WHERE host = ?1");
        found.and_then(|mut found| found.exists(params![place])).unwrap_or(false)
    }

    /// Forgets such a place, and the approvals of transfers to it that are not used yet; returns whether it was known.
    ///
    /// # Errors
    /// [`ApprovalError::Database`]
    pub fn revoke(&self, host: &str) -> Result<bool, ApprovalError> {
        let host = host.to_ascii_lowercase();
        let mut database = self.database();
        let writing = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        writing.execute(
            "DELETE FROM ticket WHERE state = 'approved' AND EXISTS
             (SELECT 1 FROM json_each(ticket.hosts) WHERE value = ?1)",
            params![host],
        )?;
        let known = writing.execute("DELETE FROM destination WHERE host = ?1", params![host])? == 1;
        writing.commit()?;
        Ok(known)
    }

    fn database(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The latest time that the queue has seen, in milliseconds since 1970: a clock that goes back renews no answer.
fn latest(writing: &rusqlite::Transaction<'_>) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO latest(id, ms) VALUES (1, ?1) ON CONFLICT(id) DO UPDATE SET ms = max(ms, excluded.ms) RETURNING ms";
    writing.query_row(sql, params![crate::clock::now_ms()], |row| row.get(0))
}

/// The answer to an action that is bound to `bound`. This uses up an approval.
fn taken(writing: &rusqlite::Transaction<'_>, bound: &str, now: i64) -> rusqlite::Result<Option<Answer>> {
    let used = writing.execute(
        "UPDATE ticket SET state = 'used' WHERE id = (SELECT id FROM ticket
         WHERE bound = ?1 AND state = 'approved' AND until_ms > ?2 LIMIT 1)",
        params![bound, now],
    )?;
    if used == 1 {
        return Ok(Some(Answer::Approved));
    }
    let sql = "SELECT 1 FROM ticket WHERE bound = ?1 AND state = 'rejected' AND until_ms > ?2 LIMIT 1";
    let rejected = writing.prepare_cached(sql)?.exists(params![bound, now])?;
    Ok(rejected.then_some(Answer::Rejected))
}

/// The whole action as a person sees it, and whether its end was cut.
fn shown(action: &Action, secrets: &Secrets) -> (String, bool) {
    let mut json = serde_json::to_value(action).unwrap_or_default();
    secrets.redact_json(&mut json);
    let json = visible_json(&json);
    let cut = json.len() > LONGEST;
    if !cut {
        return (json, false);
    }
    let end = json.floor_char_boundary(LONGEST);
    (format!("{}… [{} more bytes]", json.get(..end).unwrap_or_default(), json.len() - end), true)
}

/// The effects, one line each, those named by an open finding first.
fn effects(verdict: &Verdict, secrets: &Secrets) -> Vec<String> {
    // evidence names an effect by verb and name of the target; a shown effect has the target's kind before that name
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
    first.iter().map(|line| visible(&secrets.redact(line)).into_owned()).collect()
}

/// The places to which data would go and that nobody named; constant ones only.
fn hosts(verdict: &Verdict) -> BTreeSet<String> {
    let asks = verdict.findings.iter().filter(|f| f.is_open() && f.source.to_string() == DESTINATION);
    let sent = asks.flat_map(|finding| &finding.evidence).filter_map(|evidence| evidence.about.strip_prefix("send "));
    let constant = |place: &String| !place.is_empty() && !place.contains(crate::effect::UNKNOWN_SPAN);
    sent.map(crate::facts::place_of).filter(constant).collect()
}

/// Digest of everything that an answer is bound to. The request is left out: a user who says "go on" has not asked for
/// a different action.
fn bound(action: &Action, context: &Context, digest: &Digests, contents: &str) -> String {
    let home = crate::facts::account(context).home;
    crate::digest([
        crate::effect::normal(action, &home).to_string().into_bytes(),
        serde_json::to_vec(&context.identity).unwrap_or_default(),
        context.agent.clone().into_bytes(),
        digest.facts.clone().into_bytes(),
        digest.policy.clone().into_bytes(),
        digest.memory.clone().into_bytes(),
        contents.as_bytes().to_vec(),
    ])
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
