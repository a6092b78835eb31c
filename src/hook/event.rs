//! Parses a host's event: one JSON object on standard input.
//!
//! 1. [`Event::parse`] parses the event; each host has its own names for the same fields (`profile.rs`).
//! 2. [`Event::kind`] classifies it: before a call, after a call, a prompt of the user, or irrelevant.
//! 3. [`Event::actions`] translates a call into actions of the engine (`event/calls.rs`).
//! 4. [`Event::returned`] extracts what a call has returned to the agent.

mod calls;

#[cfg(feature = "mcp")]
pub(crate) use calls::resolve;

pub use agrail_resident::MOST_BYTES;

use super::profile::{Fields, Tools};
use super::{Answer, Host, transcript};
use crate::action::Observation;
use crate::session::Author;
use crate::untrusted::Content;
use crate::verdict::Verdict;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Why an event cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The event is longer than [`MOST_BYTES`].
    #[error("the event is larger than {} MiB", MOST_BYTES >> 20)]
    Large,
    /// The event is not JSON, or does not follow the host's contract.
    #[error("cannot parse the event: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is missing, or does not have the form that the tool requires.
    #[error("{tool}: the field '{field}' of the event is missing or invalid")]
    Field {
        /// The tool; or the host's event, if it names no tool.
        tool: String,
        /// The field.
        field: &'static str,
    },
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call is about to be made; the host waits for an answer.
    PreToolUse,
    /// A call was made.
    PostToolUse,
    /// The user has sent a prompt.
    UserPrompt,
    /// Irrelevant to the guard.
    Ignored,
}

/// What a call has returned to the agent.
#[derive(Debug, Default)]
pub struct Returned {
    /// Its text; `None` if there is none.
    pub observation: Option<Observation>,
    /// What of it is not text, such as an image; `None` if all is.
    pub unread: Option<String>,
}

/// One event of a host.
#[derive(Debug)]
pub struct Event {
    host: Host,
    raw: Value,
    /// What the host calls the event; `None` if it does not say.
    name: Option<String>,
    tool: String,
    input: Value,
    /// The input may hold JSON in texts.
    packed: bool,
}

impl Event {
    /// Parses an event. An event before or after a call must name the tool; unknown events count as before a call.
    ///
    /// # Errors
    /// [`EventError::Large`], [`EventError::Json`]; [`EventError::Field`] if the tool's name is missing, or a field has the
    /// wrong type.
    pub fn parse(host: Host, bytes: &[u8]) -> Result<Self, EventError> {
        if bytes.len() > MOST_BYTES {
            return Err(EventError::Large);
        }
        let raw: Map<String, Value> = serde_json::from_slice(bytes)?;
        let (tool, input) = (String::new(), Value::Null);
        let mut event = Self { host, raw: Value::Object(raw), name: None, tool, input, packed: false };
        let profile = host.profile();
        event.typed()?;
        event.name = event.text(&profile.event).map(str::to_owned);
        event.tool = event.text(&profile.fields.tool).unwrap_or_default().trim().to_owned();
        let given = profile.fields.input.iter().find(|name| at(&event.raw, name).is_some_and(|value| !value.is_null()));
        event.packed = given.is_some_and(|name| profile.fields.packed.contains(name));
        let input = given.and_then(|name| at(&event.raw, name));
        event.input = input.map(|input| if event.packed { unpacked(input) } else { input.clone() }).unwrap_or_default();
        if let Some(arguments) = event.marked().cloned() {
            event.input = arguments;
        }
        event.imply();
        if matches!(event.kind(), Kind::PreToolUse | Kind::PostToolUse) && event.tool.is_empty() {
            let name = event.name.as_deref().unwrap_or("without a name");
            return Err(EventError::Field { tool: format!("host event {}", first(name, 40)), field: "tool_name" });
        }
        Ok(event)
    }

    /// Fields with a text or nothing.
    fn typed(&self) -> Result<(), EventError> {
        let profile = self.host.profile();
        let Fields { session, call, cwd, tool, prompt, request, transcript, mode, server, .. } = &profile.fields;
        let texts = [&profile.event, session, call, cwd, tool, prompt, request, transcript, mode, server];
        let wrong = texts.into_iter().flatten().find(|name| {
            let value = at(&self.raw, name);
            value.is_some_and(|value| !value.is_string() && !value.is_null())
        });
        wrong.map_or(Ok(()), |field| Err(EventError::Field { tool: self.host.name().to_owned(), field }))
    }

    /// Fills in tool and arguments for hosts that have one event per kind of call instead of a tool name.
    fn imply(&mut self) {
        let Some(implied) = self.name.as_ref().and_then(|name| self.host.profile().implied.get(name)) else { return };
        if !self.tool.is_empty() {
            return;
        }
        implied.tool.clone_into(&mut self.tool);
        let argument = |(name, field): (&String, &String)| Some((name.clone(), at(&self.raw, field)?.clone()));
        self.input = Value::Object(implied.arguments.iter().filter_map(argument).collect());
    }

    /// The first of these fields that the event has.
    fn field(&self, names: &[String]) -> Option<&Value> {
        names.iter().find_map(|name| at(&self.raw, name).filter(|value| !value.is_null()))
    }

    fn text(&self, names: &[String]) -> Option<&str> {
        self.field(names).and_then(Value::as_str)
    }

    fn fields(&self) -> &'static Fields {
        &self.host.profile().fields
    }

    /// What is known of the tool: by the host's own file, or else by the general one.
    fn tools(&self) -> &'static Tools {
        let own = &self.host.profile().tools;
        if own.know(&self.tool) { own } else { &Host::Generic.profile().tools }
    }

    /// The lists of tools that are harmless, or whose results are. Only the host's own file counts: a server may offer a
    /// tool that is called like one of another host.
    fn listed(&self) -> &'static Tools {
        &self.host.profile().tools
    }

    /// Whether the tool is one of these tools of the host. A server may call its tool whatever it likes.
    fn is_one_of(&self, tools: &[String]) -> bool {
        tools.contains(&self.tool) && !self.is_served()
    }

    /// Whether the event says that an MCP server offers the tool.
    fn is_served(&self) -> bool {
        self.text(&self.fields().server).is_some() || self.marked().is_some()
    }

    /// The arguments of a tool that is marked as one of an MCP server.
    fn marked(&self) -> Option<&Value> {
        let (field, value, arguments) = self.host.profile().servers.marked.as_ref()?;
        let is_marked = at(&self.raw, field).and_then(Value::as_str) == Some(value);
        is_marked.then(|| at(&self.raw, arguments).unwrap_or(&Value::Null))
    }

    fn cwd(&self) -> Option<&Path> {
        self.text(&self.fields().cwd).map(Path::new)
    }

    fn transcript(&self) -> Option<&Path> {
        self.text(&self.fields().transcript).map(Path::new)
    }

    /// The kind of the event. An unknown event counts as [`Kind::PreToolUse`], so that it is decided and never ignored.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let Some(name) = &self.name else {
            // one with a result comes after the call
            let answered = self.field(&self.fields().result).is_some_and(|said| *said != json!(""));
            return if answered { Kind::PostToolUse } else { Kind::PreToolUse };
        };
        let events = &self.host.profile().events;
        let kinds =
            [(&events.after, Kind::PostToolUse), (&events.prompt, Kind::UserPrompt), (&events.ignored, Kind::Ignored)];
        kinds.iter().find(|(names, _)| names.contains(name)).map_or(Kind::PreToolUse, |(_, kind)| *kind)
    }

    /// Id of the session. If the host gives none, all events in one working directory share a session, so that
    /// observations are not lost.
    #[must_use]
    pub fn session(&self) -> String {
        let named = self.text(&self.fields().session).filter(|id| !id.is_empty());
        named.map_or_else(
            || {
                let folder = self.cwd().map(Path::to_string_lossy).unwrap_or_default();
                format!("{} in {folder}", self.host.name())
            },
            str::to_owned,
        )
    }

    /// Id of the call. If the host gives none, a digest of the tool and its arguments, which the event after the call
    /// repeats.
    #[must_use]
    pub fn call(&self) -> String {
        let named = self.text(&self.fields().call).filter(|id| !id.is_empty());
        named.map_or_else(
            || {
                let input = if self.input.is_null() { String::new() } else { self.input.to_string() };
                crate::digest([self.tool.as_bytes().to_vec(), input.into_bytes()])
            },
            str::to_owned,
        )
    }

    /// Whether the host's transcript shows that the agent has made this call without the result of another one.
    #[must_use]
    pub fn is_made_beside(&self, other: &str) -> bool {
        self.transcript().is_some_and(|path| transcript::is_beside(path, &self.call(), other))
    }

    /// Whether the host's transcript holds results of calls.
    #[must_use]
    pub fn has_history(&self) -> bool {
        self.transcript().is_some_and(transcript::has_results)
    }

    /// Whether the host can type into a running program without running the hook.
    #[must_use]
    pub fn types(&self) -> bool {
        self.host.profile().types
    }

    /// Whether the host puts an ask to a person in its present permission mode. A mode that is not known is assumed to
    /// drop it.
    #[must_use]
    pub fn asks(&self) -> bool {
        let asks_in = &self.host.profile().asks_in;
        let mode = self.text(&self.fields().mode);
        !asks_in.is_empty() && mode.is_none_or(|mode| asks_in.iter().any(|known| known == mode))
    }

    /// The user's prompt; empty if the event has none.
    #[must_use]
    pub fn prompt(&self) -> &str {
        self.prompted().0
    }

    /// Whether the user has written the prompt. An empty one, or one that begins with a tag, was written by the host or a
    /// timer, and one to a subagent by the agent.
    #[must_use]
    pub fn is_the_users(&self) -> bool {
        let prompt = self.prompt().trim_start();
        let users = &self.host.profile().prompters.users;
        let named = self.text(&self.fields().prompter).is_none_or(|who| users.iter().any(|user| user == who));
        // what an agent tells its subagent
        let subagent = self.field(&self.fields().subagent).is_some();
        named && !subagent && !prompt.is_empty() && !prompt.starts_with('<')
    }

    /// The answer for a verdict. `says_allow`: print an explicit allow, which overrides the host's own permissions.
    pub fn answer(&self, verdict: &Verdict, says_allow: bool) -> Answer {
        self.host.answer_to(self.name.as_deref(), verdict, says_allow, self.asks())
    }

    /// The content of the files that the user has named in the prompt, which the host has added to it.
    #[must_use]
    pub fn attached(&self) -> Option<Observation> {
        let text = self.prompted().1.filter(|text| !text.trim().is_empty())?;
        Some(Observation { source: "the files that the prompt names".to_owned(), text: text.into() })
    }

    fn prompted(&self) -> (&str, Option<&str>) {
        let text = self.text(&self.fields().prompt).unwrap_or_default();
        let mark = &self.host.profile().attached;
        let cut = (!mark.is_empty()).then(|| text.split_once(mark.as_str())).flatten();
        cut.map_or((text, None), |(prompt, attached)| (prompt, Some(attached)))
    }

    /// The host's name; policies see it as the agent.
    #[must_use]
    pub fn host_name(&self) -> &'static str {
        self.host.name()
    }

    /// The name of the tool, as the host writes it.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The user's request, from the event itself or else from the host's transcript; empty if unknown.
    #[must_use]
    pub fn request(&self) -> String {
        if let Some(request) = self.text(&self.fields().request) {
            return request.to_owned();
        }
        self.transcript().map(transcript::request).unwrap_or_default()
    }

    /// Whether the call runs a subagent, whose calls reach the hook, too.
    #[must_use]
    pub fn starts_agent(&self) -> bool {
        self.is_one_of(&self.listed().agents)
    }

    /// Who may have written the result of the call; `None` if the tool returns only what the agent itself has written.
    #[must_use]
    pub fn author(&self) -> Option<Author> {
        match self.is_one_of(&self.listed().own) {
            true => None,
            false if self.foreign() => Some(Author::Anyone),
            false => Some(Author::User),
        }
    }

    /// What the call has returned to the agent; `None` if the tool returns only what the agent itself has written.
    #[must_use]
    pub fn returned(&self) -> Option<Returned> {
        if self.is_one_of(&self.listed().own) {
            return None;
        }
        let both = [self.field(&self.fields().result), self.field(&self.fields().error)];
        let said = both.into_iter().flatten().map(unpacked).collect();
        let content = Content::of(&Value::Array(said));
        let from = ["url", "file_path", "path", "command", "cmd", "query"]
            .iter()
            .find_map(|key| self.input.get(*key)?.as_str());
        let tool = self.tool();
        let source = from.map_or_else(|| tool.to_owned(), |from| format!("{tool} {}", first(from, 200)));
        let unseen = self.name.as_ref().is_some_and(|name| self.host.profile().events.unseen.contains(name));
        let unread = match unseen {
            true => Some(format!("the output of {source}, which the host does not pass on")),
            false => content.unread().map(|what| format!("{what} that {source} has returned")),
        };
        let text = content.text.trim_end();
        let observation = (!text.trim().is_empty()).then(|| Observation { source, text: text.into() });
        Some(Returned { observation, unread })
    }

    /// Recovers session id and text from an event after a call that cannot be parsed: the whole text counts as an
    /// observation. `None` for other events, and if no session id is found.
    #[must_use]
    pub fn salvaged(host: Host, bytes: &[u8]) -> Option<(String, Observation)> {
        let text = String::from_utf8_lossy(bytes);
        let profile = host.profile();
        if !profile.events.after.iter().any(|name| text.contains(&format!("\"{name}\""))) {
            return None;
        }
        let keys = profile.fields.session.iter().filter_map(|name| name.rsplit('/').next());
        let (_, rest) = keys.into_iter().find_map(|key| text.split_once(&format!("\"{key}\"")))?;
        let session = rest.split_once('"')?.1.split_once('"')?.0.to_owned();
        let plain = text.replace("\\n", "\n").replace("\\\"", "\"");
        Some((session, Observation { source: "an event that cannot be read".to_owned(), text: plain.into() }))
    }
}

/// A field by its name, or by a JSON pointer.
fn at<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    if name.starts_with('/') { value.pointer(name) } else { value.get(name) }
}

/// The value; if it is a text with a JSON object or list, what that holds.
fn unpacked(value: &Value) -> Value {
    let parsed = || value.as_str().filter(|text| text.trim_start().starts_with(['{', '['])).map(serde_json::from_str);
    parsed().and_then(Result::ok).unwrap_or_else(|| value.clone())
}

fn first(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
