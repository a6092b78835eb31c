//! Sessions: what the user has asked for, and what the agent has read, made and sent, across the calls of one
//! conversation. Kept in a small local database that library, hooks, MCP proxy and HTTP service share.
//!
//! 1. [`Sessions::prompt`] records a prompt of the user.
//! 2. [`Sessions::check`] judges a call in the light of the session ([`History`]). If the call may run, it is recorded as
//!    **open** before it does.
//! 3. [`Sessions::close`] records in one transaction what the call has returned, that the credentials which it reads are
//!    known now, which files it has made, and that it is no longer open.
//!
//! This is not the memory: nothing is learnt here.
//!
//! **What is not on record counts as unread.** The agent may have read a text that the guard cannot know if a call is
//! still open (its result was lost, or the call still runs), if instructions were dropped or cut to bound the database,
//! or if the record of the session itself was removed. [`History::unread`] says why; policies then ask about everything
//! that leaves the machine or cannot be undone, until the user's next prompt. An unusable database is an error and never
//! an empty session. No decision depends on the time: the clock only tells which sessions are old enough to be removed,
//! and a digest of each removed one is kept.

mod check;
mod history;
#[cfg(feature = "serve")]
mod listed;
mod rows;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use check::{Call, OnAsk};
pub use history::History;
pub(crate) use history::ends;
#[cfg(feature = "hook")]
pub(crate) use history::newest;
#[cfg(feature = "serve")]
pub(crate) use listed::Happened;

use crate::action::{Action, Observation};
use crate::machine::{Environment, MadeFile};
use crate::provenance::orders;
use crate::store::{Format, StoreError, forget};
use crate::untrusted::{self, Leak, Secrets, holds_key, redact};
use crate::verdict::Footprint;
use rows::{Kind, Rows};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most bytes that are kept of one observation.
const KEPT_OF_ONE: usize = 16 * 1024;
/// Most bytes of instructions that are compared with an action; also of the other excerpts.
const READ: usize = 96 * 1024;
/// For how long a session is kept after its last use, if nothing else is said.
const AGE: Duration = Duration::from_secs(14 * 24 * 3600);
/// Longest name of a call, in characters.
const NAMED: usize = 200;
const FORMAT: Format = Format {
    name: "sessions",
    application: 0,
    migrations: &[
        "CREATE TABLE IF NOT EXISTS seen(
            id INTEGER PRIMARY KEY, session TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
            source TEXT NOT NULL, text TEXT NOT NULL);
        CREATE INDEX IF NOT EXISTS seen_session ON seen(session, kind, id);",
        // settled: a prompt came after it, so it counts only once it ends. began: the first use, in ms; turn: order of the last use; used: the same as a time, in s; prompted: last row before the
        // newest prompt
        "CREATE TABLE session(
            id TEXT PRIMARY KEY, began INTEGER NOT NULL, turn INTEGER NOT NULL, used INTEGER NOT NULL,
            prompted INTEGER NOT NULL, reports INTEGER NOT NULL, unread TEXT);
        CREATE INDEX session_turn ON session(turn);
        CREATE TABLE open_call(
            session TEXT NOT NULL, call TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
            settled INTEGER NOT NULL, PRIMARY KEY(session, call));
        CREATE TABLE removed(session TEXT PRIMARY KEY);
        INSERT INTO session SELECT session, min(at) * 1000, max(id), max(at), 0, 1, NULL FROM seen GROUP BY session;
        DELETE FROM seen WHERE kind = 'may-hold';",
        // digest: of a call to a tool, as its server receives it
        "ALTER TABLE open_call ADD COLUMN digest TEXT;
        CREATE INDEX open_call_digest ON open_call(digest) WHERE digest IS NOT NULL",
    ],
    pragmas: "PRAGMA synchronous = NORMAL",
    folder: true,
    wait: Duration::from_secs(2),
};

/// Why the sessions cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// SQLite failed.
    #[error("cannot use the session database: {0}")]
    Database(#[from] rusqlite::Error),
    /// The file cannot be opened.
    #[error("cannot open the session database: {0}")]
    Open(#[from] StoreError),
    /// A record cannot be parsed or written.
    #[error("cannot use a record of the session database: {0}")]
    Record(#[from] serde_json::Error),
    /// The work was stopped before it ended.
    #[error("the session database was not used to the end: {0}")]
    Stopped(#[from] tokio::task::JoinError),
}

/// Who may have written a text that the agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// Anyone: it may come from outside the user's own files.
    Anyone,
    /// The user, or a program that works on the user's own files.
    User,
}

/// A call that may run. Serialized into the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    /// Who may have written its result; `None`: it returns only what the agent has written.
    author: Option<Author>,
    /// A person was asked about it: that it was made means that the person agreed.
    asked: bool,
    /// Id of the verdict that asked; empty if none did.
    #[serde(default)]
    verdict: String,
    footprint: Footprint,
    /// What was called, with its arguments: the origin of what it returns.
    #[serde(default)]
    origin: String,
}

/// A call that begins.
#[derive(Debug)]
struct Begun {
    id: String,
    what: String,
    /// [`sent`], if it is one call of a tool.
    digest: Option<String>,
}

/// An open call, and the session that makes it.
#[cfg(feature = "mcp")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub session: String,
    pub call: String,
    /// A person was asked about the call, which is being made: the person has agreed.
    pub agreed: bool,
}

impl Open {
    /// A call that is either of two.
    fn or(mut self, other: Self) -> Self {
        self.footprint.join(other.footprint);
        let anyone = [self.author, other.author].contains(&Some(Author::Anyone));
        let author = if anyone { Some(Author::Anyone) } else { self.author.or(other.author) };
        let (asked, verdict) = (self.asked && other.asked, self.verdict);
        Self { author, asked, verdict, footprint: self.footprint, origin: other.origin }
    }
}

/// The sessions of one account. Clones share the database.
#[derive(Debug, Clone)]
pub struct Sessions {
    database: Arc<Mutex<Connection>>,
    /// For how long a session is kept after its last use.
    age: Duration,
}

impl Sessions {
    /// Opens the database; creates the file if it does not exist.
    ///
    /// # Errors
    /// [`SessionError::Open`]
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        let database = FORMAT.open(path)?;
        // what is stored is searched for secrets
        untrusted::prepare();
        Ok(Self { database: Arc::new(Mutex::new(database)), age: AGE })
    }

    /// The same, but a session is kept for `age` after its last use, instead of two weeks.
    #[must_use]
    pub fn keep(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }

    /// Removes a leaked secret from the file and from its copies; returns the number of texts that held it.
    ///
    /// # Errors
    /// [`SessionError::Open`]; then the file is as it was.
    pub fn forget(path: &Path, leak: &Leak) -> Result<usize, SessionError> {
        Ok(forget(path, leak, |_| Ok(()))?)
    }

    /// Records a prompt of the user. Calls that are still open count as unread no longer, but may still end.
    ///
    /// # Errors
    /// [`SessionError`]; then the prompt is not on record, and what was unread remains so.
    pub fn prompt(&self, session: &str, text: &str) -> Result<(), SessionError> {
        let mut database = self.database();
        let rows = Rows::begin(&mut database, session)?;
        rows.add(Kind::Prompt, "", &redact(text))?;
        rows.prompted()?;
        rows.commit(self.age)
    }

    /// Ids of the verdicts that asked about calls which the users of hosts then let run, in all sessions on record.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn permitted(&self) -> Result<BTreeSet<String>, SessionError> {
        let kind: &str = Kind::Permitted.into();
        let database = self.database();
        let mut rows = database.prepare_cached("SELECT text FROM seen WHERE kind = ?1")?;
        let found = rows.query_map([kind], |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Records that the agent has read a text, outside of a call or as part of one that goes on.
    ///
    /// # Errors
    /// [`SessionError`]; then the text is not on record, and the agent must not be given it.
    pub fn observe(&self, session: &str, observation: &Observation, author: Author) -> Result<(), SessionError> {
        let mut database = self.database();
        let rows = Rows::begin(&mut database, session)?;
        observe(&rows, observation, author)?;
        rows.commit(self.age)
    }

    /// Records that a call was made, with what it has returned. If the source of that says no more than the tool, it is
    /// the call. `environment`: the machine on which it was made, for the identity of the files that it has made.
    ///
    /// # Errors
    /// [`SessionError`]; then the call remains open.
    pub fn close(
        &self,
        session: &str,
        call: &str,
        returned: Option<(&Observation, Author)>,
        environment: Option<&Environment>,
    ) -> Result<(), SessionError> {
        let mut database = self.database();
        let rows = Rows::begin(&mut database, session)?;
        let mut origin = String::new();
        if let Some((name, open)) = rows.close(call)? {
            if open.footprint.secrets {
                rows.add(Kind::Held, call, &name)?;
            }
            let made = |path: &String| environment?.made_file(path);
            for file in open.footprint.makes.iter().filter_map(made) {
                rows.add(Kind::Made, "", &serde_json::to_string::<MadeFile>(&file)?)?;
            }
            for place in open.footprint.places.iter().filter(|_| open.asked) {
                rows.add(Kind::Place, "", place)?;
            }
            if open.asked && !open.verdict.is_empty() {
                rows.add(Kind::Permitted, "", &open.verdict)?;
            }
            origin = open.origin;
        }
        if let Some((observation, author)) = returned {
            let says_more = observation.source.trim().contains(char::is_whitespace) || origin.is_empty();
            let source = if says_more { observation.source.clone() } else { origin };
            observe(&rows, &Observation { source, text: observation.text.clone() }, author)?;
        }
        rows.reports()?;
        rows.commit(self.age)
    }

    /// Records that a call was not made, and has returned nothing.
    ///
    /// # Errors
    /// [`SessionError`]; then the call remains open.
    pub fn cancel(&self, session: &str, call: &str) -> Result<(), SessionError> {
        let mut database = self.database();
        let rows = Rows::begin(&mut database, session)?;
        rows.close(call)?;
        rows.commit(self.age)
    }

    /// Records that the agent has read credentials. `how`: a short description.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn hold(&self, session: &str, how: &str) -> Result<(), SessionError> {
        let mut database = self.database();
        let rows = Rows::begin(&mut database, session)?;
        rows.add(Kind::Held, "", &name(how))?;
        rows.commit(self.age)
    }

    /// What is known of a session when it makes the call `call`, which is not counted as open itself.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn recall(&self, session: &str, call: &str) -> Result<History, SessionError> {
        let mut database = self.database();
        history::recall(&Rows::look(&mut database, session)?, call)
    }

    /// Records that the agent was given something that the guard cannot read, such as an image. `what`: a short
    /// description.
    ///
    /// # Errors
    /// [`SessionError`]; then it is not on record, and the agent must not be given it.
    pub fn unread(&self, session: &str, what: &str) -> Result<(), SessionError> {
        let mut database = self.database();
        let rows = Rows::begin(&mut database, session)?;
        rows.mark(&name(what))?;
        rows.commit(self.age)
    }

    /// The session whose agent is making this call of a tool: a hook has recorded it as open, with the same arguments.
    /// If several are, the newest.
    ///
    /// # Errors
    /// [`SessionError`]
    #[cfg(feature = "mcp")]
    pub(crate) fn caller(&self, tool: &str, arguments: &Value) -> Result<Option<Caller>, SessionError> {
        let mut database = self.database();
        Rows::look(&mut database, "")?.caller(&sent(tool, arguments))
    }

    /// Records a call as open. `reports`: the host is known to report results.
    fn begin(&self, session: &str, call: &Begun, mut open: Open, reports: bool) -> Result<(), SessionError> {
        let Begun { id, what, digest } = call;
        // a name that holds a secret is not written, so nothing is known of it later
        let secrets = Secrets::of([what.as_str()]);
        let plain = |name: &String| matches!(secrets.redact(name), Cow::Borrowed(_));
        open.footprint.makes.retain(plain);
        open.footprint.places.retain(plain);
        let mut database = self.database();
        let rows = Rows::begin(&mut database, session)?;
        rows.open(id, &name(what), digest.as_deref(), open)?;
        if reports {
            rows.reports()?;
        }
        rows.commit(self.age)
    }

    fn database(&self) -> MutexGuard<'_, Connection> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds an observation. Instructions in it are also kept separately, so that later observations do not push them out; a key
/// in it counts as read credentials, whatever was read.
fn observe(rows: &Rows<'_>, observation: &Observation, author: Author) -> Result<(), SessionError> {
    let (order, other) = match author {
        Author::Anyone => (Kind::Order, Kind::Observation),
        Author::User => (Kind::LocalOrder, Kind::Local),
    };
    let clean = |text: &str| redact(text).into_owned();
    if holds_key(observation.text.expose_untrusted()) {
        rows.add(Kind::Held, "", &name(&format!("a key in what {} returned", observation.source)))?;
    }
    let text = clean(observation.text.expose_untrusted());
    let observation = Observation { source: clean(&observation.source), text: text.as_str().into() };
    let orders = orders(&observation);
    if !orders.trim().is_empty() {
        rows.add_orders(order, &observation.source, &orders)?;
    }
    rows.add(other, &observation.source, &ends(&text, KEPT_OF_ONE))
}

/// Digest of a call of a tool, as its server receives it.
fn sent(tool: &str, arguments: &Value) -> String {
    let nothing = Value::Object(serde_json::Map::new());
    let arguments = if arguments.is_null() { &nothing } else { arguments };
    crate::digest([tool.as_bytes().to_vec(), crate::sorted(arguments).to_string().into_bytes()])
}

/// What is called by an action, with its arguments: `read_file path=notes.txt`.
pub(crate) fn origin(action: &Action) -> String {
    let text = match action {
        Action::ToolCall { tool, arguments, .. } => {
            let fields = arguments.as_object().into_iter().flatten();
            let said = fields.filter_map(|(key, value)| match value {
                Value::String(text) => Some(format!(" {key}={text}")),
                Value::Number(number) => Some(format!(" {key}={number}")),
                _ => None,
            });
            [tool.clone()].into_iter().chain(said).collect()
        }
        Action::Shell { command, .. } => format!("shell command={command}"),
        Action::Fetch { url } => format!("fetch url={url}"),
        _ => String::new(),
    };
    name(&text)
}

/// A short description of a call, with secrets redacted.
fn name(text: &str) -> String {
    let text: String = text.chars().take(NAMED).collect();
    redact(&text).into_owned()
}

const _: () = assert!(history::REQUEST < READ && KEPT_OF_ONE * 2 < READ);
