//! The tables of the session database. All that one event changes is changed in one transaction.

#[cfg(feature = "mcp")]
use super::Caller;
use super::{Open, READ, SessionError};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use std::time::Duration;
use strum::IntoStaticStr;

/// Most rows of one kind that are kept per session, except credentials.
const ROWS: usize = 1_000;
/// Most observations that are kept per session, and recalled; instructions are kept separately.
const TEXTS: usize = 24;
/// Most calls of one session that may be open.
const OPEN: i64 = 1_000;
/// Most sessions that are kept.
const SESSIONS: usize = 1_000;
/// Most digests of removed sessions that are kept.
const REMOVED: usize = 100_000;

/// What a row holds. The text form is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Kind {
    #[strum(serialize = "request")]
    Prompt,
    /// Instructions in an observation that anyone may have written.
    Order,
    Observation,
    LocalOrder,
    Local,
    /// A call that has read credentials.
    Held,
    /// A file that a call has made, as JSON.
    Made,
    /// A place that a person has agreed to send data to.
    Place,
    /// The id of a verdict that asked about a call which the host's user then let run.
    Permitted,
}

impl Kind {
    fn most(self) -> usize {
        match self {
            Self::Observation | Self::Local => TEXTS,
            // credentials that were read stay on record
            Self::Held => usize::MAX,
            Self::Prompt | Self::Order | Self::LocalOrder | Self::Made | Self::Place | Self::Permitted => ROWS,
        }
    }
}

/// A row that holds a text.
pub(super) struct Row {
    /// Later rows have higher numbers.
    pub id: i64,
    pub source: String,
    pub text: String,
}

/// What is known of a session itself.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// When it began, in milliseconds since 1970; `None`: it has no record.
    pub began: Option<i64>,
    /// It had one that was removed.
    pub removed: bool,
    /// Its host reports prompts or results.
    pub reports: bool,
    pub unread: Option<String>,
}

/// One session in one transaction. Dropping it without [`commit`](Self::commit) changes nothing.
pub(super) struct Rows<'a> {
    transaction: Transaction<'a>,
    session: &'a str,
}

impl<'a> Rows<'a> {
    pub fn begin(database: &'a mut Connection, session: &'a str) -> Result<Self, SessionError> {
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        Ok(Self { transaction, session })
    }

    /// The same for reading alone, which waits for no writer.
    pub fn look(database: &'a mut Connection, session: &'a str) -> Result<Self, SessionError> {
        Ok(Self { transaction: database.transaction()?, session })
    }

    /// Ends the transaction, with the session as the one used last, and removes those that were not used for `age` or are
    /// too many.
    pub fn commit(self, age: Duration) -> Result<(), SessionError> {
        self.touch()?;
        self.remove_old(age)?;
        Ok(self.transaction.commit()?)
    }

    fn touch(&self) -> Result<(), SessionError> {
        self.run(
            "INSERT INTO session(id, began, turn, used, prompted, reports)
             VALUES (?1, ?3, (SELECT coalesce(max(turn), 0) + 1 FROM session), ?2, 0, 0)
             ON CONFLICT(id) DO UPDATE SET turn = excluded.turn, used = excluded.used",
            params![self.session, now(), crate::clock::now_ms()],
        )
    }

    /// Adds a row, and removes the oldest of its kind beyond the bound.
    pub fn add(&self, kind: Kind, source: &str, text: &str) -> Result<(), SessionError> {
        let name: &str = kind.into();
        self.run(
            "INSERT INTO seen(session, at, kind, source, text) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.session, now(), name, source, text],
        )?;
        let Ok(most) = i64::try_from(kind.most()) else { return Ok(()) };
        self.run(
            "DELETE FROM seen WHERE session = ?1 AND kind = ?2 AND id <=
             (SELECT id FROM seen WHERE session = ?1 AND kind = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
            params![self.session, name, most],
        )
    }

    /// Adds instructions, unless the same are on record. If more of them were read since the last prompt than are
    /// compared with an action, something counts as unread.
    pub fn add_orders(&self, kind: Kind, source: &str, text: &str) -> Result<(), SessionError> {
        let name: &str = kind.into();
        // what is read again becomes the newest
        self.run(
            "DELETE FROM seen WHERE session = ?1 AND kind = ?2 AND source = ?3 AND text = ?4",
            params![self.session, name, source, text],
        )?;
        let cut = super::ends(text, READ / 2);
        self.touch()?;
        let since = "SELECT prompted FROM session WHERE id = ?1";
        let prompted: i64 = self.transaction.query_row(since, [self.session], |row| row.get(0))?;
        self.add(kind, source, &cut)?;
        let (bytes, number): (i64, i64) = self.transaction.query_row(
            "SELECT coalesce(sum(length(CAST(text AS BLOB))), 0), count(*) FROM seen
             WHERE session = ?1 AND kind = ?2 AND id > ?3",
            params![self.session, name, prompted],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let many = |number: i64, most: usize| usize::try_from(number).unwrap_or(usize::MAX) >= most;
        if kind == Kind::Order && (many(bytes, READ + 1) || many(number, kind.most()) || cut.len() < text.len()) {
            self.mark("more instructions were read than can be kept")?;
        }
        // no more are recalled
        self.run(
            "DELETE FROM seen WHERE id IN (SELECT id FROM
             (SELECT id, sum(length(CAST(text AS BLOB))) OVER (ORDER BY id DESC) AS bytes FROM seen
              WHERE session = ?1 AND kind = ?2) WHERE bytes > ?3)",
            params![self.session, name, i64::try_from(READ).unwrap_or(i64::MAX)],
        )
    }

    /// Records that something may have been read that is not on record.
    pub fn mark(&self, why: &str) -> Result<(), SessionError> {
        self.touch()?;
        self.run("UPDATE session SET unread = ?2 WHERE id = ?1", params![self.session, why])
    }

    /// The user has sent a prompt: nothing is unread any more.
    pub fn prompted(&self) -> Result<(), SessionError> {
        self.touch()?;
        self.run("UPDATE open_call SET settled = 1 WHERE session = ?1", params![self.session])?;
        self.run("DELETE FROM removed WHERE session = ?1", params![digest(self.session)])?;
        self.run(
            "UPDATE session SET unread = NULL, reports = 1, prompted = (SELECT coalesce(max(id), 0) FROM seen)
             WHERE id = ?1",
            params![self.session],
        )
    }

    /// The host has reported a result.
    pub fn reports(&self) -> Result<(), SessionError> {
        self.touch()?;
        self.run("UPDATE session SET reports = 1 WHERE id = ?1", params![self.session])
    }

    /// Records a call as open. A call with the id of an open one may be either of both.
    pub fn open(&self, call: &str, name: &str, digest: Option<&str>, mut open: Open) -> Result<(), SessionError> {
        if let Some((_, before)) = self.close(call)? {
            open = open.or(before);
        }
        let count = "SELECT count(*) FROM open_call WHERE session = ?1";
        let number: i64 = self.transaction.query_row(count, [self.session], |row| row.get(0))?;
        if number >= OPEN {
            self.run("DELETE FROM open_call WHERE session = ?1", params![self.session])?;
            self.mark("more calls were open than can be kept")?;
        }
        self.run(
            "INSERT OR REPLACE INTO open_call(session, call, name, body, settled, digest)
             VALUES (?1, ?2, ?3, ?4, 0, ?5)",
            params![self.session, call, name, serde_json::to_string(&open)?, digest],
        )
    }

    /// Removes an open call, and returns it with its name.
    pub fn close(&self, call: &str) -> Result<Option<(String, Open)>, SessionError> {
        let found: Option<(String, String)> = self
            .transaction
            .query_row(
                "DELETE FROM open_call WHERE session = ?1 AND call = ?2 RETURNING name, body",
                [self.session, call],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        found.map(|(name, body)| Ok((name, serde_json::from_str(&body)?))).transpose()
    }

    /// The open calls since the last prompt: id, name, record.
    pub fn open_calls(&self) -> Result<Vec<(String, String, Open)>, SessionError> {
        let sql = "SELECT call, name, body FROM open_call WHERE session = ?1 AND settled = 0 ORDER BY rowid";
        let mut rows = self.transaction.prepare_cached(sql)?;
        let found = rows.query_map([self.session], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))?;
        found
            .map(|row| {
                row.map_err(SessionError::from).and_then(|(c, n, body)| Ok((c, n, serde_json::from_str(&body)?)))
            })
            .collect()
    }

    /// The newest open call with this digest, of any session but those of the HTTP service, whose clients name themselves.
    #[cfg(feature = "mcp")]
    pub fn caller(&self, digest: &str) -> Result<Option<Caller>, SessionError> {
        let sql = r#"SELECT session, call, body FROM open_call WHERE digest = ?1 AND settled = 0
                   AND session NOT LIKE '["http",%' ORDER BY rowid DESC LIMIT 1"#;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?));
        let found = self.transaction.query_row(sql, [digest], row).optional()?;
        found
            .map(|(session, call, body)| {
                Ok(Caller { session, call, agreed: serde_json::from_str::<Open>(&body)?.asked })
            })
            .transpose()
    }

    /// The newest rows of a kind, newest first: source and text.
    pub fn newest(&self, kind: Kind, most: usize) -> Result<Vec<(String, String)>, SessionError> {
        Ok(self.numbered(kind, most)?.into_iter().map(|row| (row.source, row.text)).collect())
    }

    /// The same with their numbers.
    pub fn numbered(&self, kind: Kind, most: usize) -> Result<Vec<Row>, SessionError> {
        let name: &str = kind.into();
        let sql = "SELECT id, source, text FROM seen WHERE session = ?1 AND kind = ?2 ORDER BY id DESC LIMIT ?3";
        let mut rows = self.transaction.prepare_cached(sql)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let row = |row: &rusqlite::Row<'_>| Ok(Row { id: row.get(0)?, source: row.get(1)?, text: row.get(2)? });
        Ok(rows.query_map(params![self.session, name, most], row)?.collect::<Result<_, _>>()?)
    }

    pub fn known(&self) -> Result<Known, SessionError> {
        let sql = "SELECT began, reports, unread FROM session WHERE id = ?1";
        let row = |row: &rusqlite::Row<'_>| {
            Ok(Known { began: row.get(0)?, reports: row.get(1)?, unread: row.get(2)?, removed: false })
        };
        let known = self.transaction.query_row(sql, [self.session], row).optional()?.unwrap_or_default();
        let mut removed = self.transaction.prepare_cached("SELECT 1 FROM removed WHERE session = ?1")?;
        Ok(Known { removed: removed.exists([digest(self.session)])?, ..known })
    }

    /// Removes sessions that were not used for long, or that are too many, and keeps a digest of each.
    fn remove_old(&self, age: Duration) -> Result<(), SessionError> {
        let old: Vec<String> = {
            let mut rows = self.transaction.prepare(
                "SELECT id FROM session WHERE id <> ?1 AND (used < ?2 OR turn <=
                 (SELECT turn FROM session ORDER BY turn DESC LIMIT 1 OFFSET ?3))",
            )?;
            let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
            let many = i64::try_from(SESSIONS).unwrap_or(i64::MAX);
            let found = rows.query_map(params![self.session, now() - age, many], |row| row.get(0))?;
            found.collect::<Result<_, _>>()?
        };
        for id in &old {
            for sql in [
                "DELETE FROM seen WHERE session = ?1",
                "DELETE FROM open_call WHERE session = ?1",
                "DELETE FROM session WHERE id = ?1",
            ] {
                self.run(sql, params![id])?;
            }
            self.run("INSERT OR REPLACE INTO removed(session) VALUES (?1)", params![digest(id)])?;
        }
        if old.is_empty() {
            return Ok(());
        }
        let most = i64::try_from(REMOVED).unwrap_or(i64::MAX);
        self.run(
            "DELETE FROM removed WHERE rowid NOT IN (SELECT rowid FROM removed ORDER BY rowid DESC LIMIT ?1)",
            params![most],
        )
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), SessionError> {
        self.transaction.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }
}

fn digest(session: &str) -> String {
    crate::digest([session.as_bytes().to_vec()])
}

/// Seconds since 1970.
fn now() -> i64 {
    crate::clock::now_ms() / 1000
}
