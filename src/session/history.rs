//! What is known of a session when a call is judged.

use super::rows::{Kind, Row, Rows};
use super::{READ, SessionError};
use crate::action::{Context, Observation, SessionFacts};
use crate::untrusted::Untrusted;
use std::collections::VecDeque;

/// Longest request that is kept, in bytes.
pub(super) const REQUEST: usize = 16 * 1024;
/// Most rows of one kind that are recalled, newest first.
const NEWEST: usize = 1_000;

/// A call whose result is not on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenCall {
    /// Its id.
    pub id: String,
    /// What it does.
    pub name: String,
}

/// The history of one session.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct History {
    /// The user's newest prompts, oldest first, one per line.
    pub request: String,
    /// Observations that anyone may have written: excerpts with instructions, then the others, each oldest first.
    pub observations: Vec<Observation>,
    /// The same from the user's own files.
    pub local: Vec<Observation>,
    /// Calls that have read credentials, newest first.
    pub held: Vec<String>,
    /// Other calls that are open and whose results anyone may have written, oldest first.
    pub(crate) open: Vec<OpenCall>,
    /// What is known besides texts; open calls are not part of it.
    pub(crate) facts: SessionFacts,
    /// No event of the session is on record.
    pub is_new: bool,
    /// The host of the session reports prompts or results.
    #[cfg(feature = "mcp")]
    pub(crate) reports: bool,
}

impl History {
    /// Why the agent may have read a text that is not on record; `None`: all that it has read is.
    #[must_use]
    pub fn unread(&self) -> Option<String> {
        let open = || self.open.last().map(|call| format!("the result of '{}' is not on record", call.name));
        self.facts.unread.clone().or_else(open)
    }

    /// Together with the texts that the agent has read through a proxy. Calls that are made beside the present one do not
    /// count as unread. Nor does what the proxy has not read, if the host of this session reports results itself.
    #[cfg(feature = "mcp")]
    pub(crate) fn with_texts(mut self, other: Self) -> Self {
        self.observations.extend(other.observations);
        self.local.extend(other.local);
        self.held.extend(other.held);
        self.open.clear();
        if !self.reports {
            self.facts.unread = self.facts.unread.or(other.facts.unread);
        }
        self
    }

    /// The session begins now, if it has no record: its agent has read nothing.
    #[cfg(feature = "mcp")]
    pub(crate) fn begin(&mut self) {
        if self.is_new {
            self.facts.began = Some(crate::clock::now_ms());
        }
    }

    /// Adds the history to the context of a call. A request in the context holds.
    pub fn apply(self, context: &mut Context) {
        let unread = self.unread();
        if context.request.trim().is_empty() {
            context.request = self.request;
        }
        context.observations.splice(0..0, self.observations);
        context.local.splice(0..0, self.local);
        context.held.extend(self.held);
        context.session = SessionFacts { unread, ..self.facts };
    }
}

pub(super) fn recall(rows: &Rows<'_>, call: &str) -> Result<History, SessionError> {
    let mut prompts = rows.newest(Kind::Prompt, NEWEST)?;
    prompts.reverse();
    let request = newest(prompts.into_iter().map(|(_, text)| text));
    let observations = texts(rows, Kind::Order, Kind::Observation)?;
    let local = texts(rows, Kind::LocalOrder, Kind::Local)?;
    let mut held: Vec<String> = rows.newest(Kind::Held, NEWEST)?.into_iter().map(|(_, name)| name).collect();
    let made = rows.newest(Kind::Made, NEWEST)?;
    let made = made.iter().map(|(_, file)| serde_json::from_str(file)).collect::<Result<_, _>>()?;
    let places = rows.newest(Kind::Place, NEWEST)?.into_iter().map(|(_, place)| place).collect();
    let known = rows.known()?;
    let removed = known.removed.then(|| "the record of this session was removed".to_owned());
    let unread = removed.or(known.unread);
    let mut calls = Vec::new();
    for (id, name, open) in rows.open_calls()?.into_iter().filter(|(id, ..)| id != call) {
        // a host that never reports results would have every call open for ever
        if open.author == Some(super::Author::Anyone) && known.reports {
            calls.push(OpenCall { id, name: name.clone() });
        }
        if open.footprint.secrets {
            held.push(name);
        }
    }
    Ok(History {
        request,
        observations,
        local,
        held,
        open: calls,
        facts: SessionFacts { began: known.began, unread, made, places },
        is_new: known.began.is_none() && !known.removed,
        #[cfg(feature = "mcp")]
        reports: known.reports,
    })
}

/// The instructions of a session, then the newest other excerpts, each oldest first.
fn texts(rows: &Rows<'_>, order: Kind, other: Kind) -> Result<Vec<Observation>, SessionError> {
    let fit = |kind| {
        let mut bytes = 0;
        let fits = move |row: &Row| {
            bytes += row.text.len();
            bytes <= READ
        };
        Ok::<_, SessionError>(rows.numbered(kind, NEWEST)?.into_iter().take_while(fits).collect::<Vec<_>>())
    };
    let (others, mut orders) = (fit(other)?, fit(order)?);
    // the instructions of a text that is recalled as a whole stand in it, in their record; they were recorded just before it
    let whole =
        |row: &Row| others.iter().any(|o| o.id == row.id + 1 && o.source == row.source && !o.text.contains(CUT));
    orders.retain(|row| !whole(row));
    let found = others.into_iter().chain(orders).rev();
    Ok(found.map(|row| Observation { source: row.source, text: Untrusted::from(row.text) }).collect())
}

/// The newest turns that fit into [`REQUEST`] bytes, in their order.
pub(crate) fn newest(turns: impl Iterator<Item = String>) -> String {
    let mut kept = VecDeque::new();
    let mut bytes = 0;
    for turn in turns {
        bytes += turn.len() + 1;
        kept.push_back(turn);
        while bytes > REQUEST && kept.len() > 1 {
            bytes -= kept.pop_front().map_or(0, |turn| turn.len() + 1);
        }
    }
    let text = Vec::from(kept).join("\n");
    ends(&text, REQUEST)
}

/// Where a text was cut.
const CUT: &str = "\n[…]\n";

/// The text; if it is longer than `most` bytes, its beginning and its end with a mark between them.
pub(crate) fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{}{CUT}{}", text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default())
}
