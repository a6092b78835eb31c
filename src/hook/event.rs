//! Parses a host's event: one JSON object on standard input.
//!
//! 1. [`Event::parse`] parses the event; each host has its own names for the same fields.
//! 2. [`Event::kind`] classifies it: before a call, after a call, a prompt of the user, or irrelevant.
//! 3. [`Event::actions`] translates a call into actions of the engine (`event/calls.rs`).
//! 4. [`Event::returned`] extracts what a call has returned to the agent.

mod calls;

#[cfg(feature = "mcp")]
pub(crate) use calls::resolve;

use super::{Host, transcript};
use crate::action::Observation;
use crate::session::Author;
use crate::untrusted::Content;
use calls::CONVERSATION_TOOLS;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Longest accepted event, in bytes.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The events of all hosts. An event that is not listed counts as before a call.
const EVENTS: [(Kind, &[&str]); 4] = [
    (Kind::PreToolUse, &["PreToolUse", "preToolUse", "BeforeTool"]),
    (Kind::PostToolUse, &["PostToolUse", "postToolUse", "AfterTool", "PostToolUseFailure", "afterShellExecution"]),
    (Kind::UserPrompt, &["UserPromptSubmit", "userPromptSubmitted", "BeforeAgent", "beforeSubmitPrompt"]),
    (
        Kind::Ignored,
        &[
            "afterFileEdit",
            "afterAgentResponse",
            "afterAgentThought",
            "Setup",
            "SessionStart",
            "sessionStart",
            "SessionEnd",
            "sessionEnd",
            "Stop",
            "stop",
            "agentStop",
            "StopFailure",
            "SubagentStart",
            "SubagentStop",
            "subagentStop",
            "Notification",
            "notification",
            "PreCompact",
            "preCompact",
            "PostCompact",
            "TeammateIdle",
            "ConfigChange",
            "AfterAgent",
        ],
    ),
];
/// The names under which hosts give the id of the session.
const SESSION: [&str; 3] = ["session_id", "sessionId", "conversation_id"];
/// Permission modes of Claude Code in which a call with an `ask` does not run without an answer (observed in 2.1.330).
const ASKS: [&str; 5] = ["default", "acceptEdits", "plan", "dontAsk", "auto"];
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

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Raw {
    #[serde(alias = "sessionId", alias = "conversation_id")]
    session_id: Option<String>,
    transcript_path: Option<PathBuf>,
    cwd: Option<PathBuf>,
    #[serde(alias = "hookEventName", alias = "event")]
    hook_event_name: Option<String>,
    #[serde(alias = "toolName", alias = "tool")]
    tool_name: Option<String>,
    #[serde(alias = "toolArgs", alias = "tool_args", alias = "arguments", alias = "input")]
    tool_input: Option<Value>,
    #[serde(alias = "toolResponse", alias = "tool_output", alias = "tool_result", alias = "output")]
    tool_response: Option<Value>,
    tool_use_id: Option<String>,
    /// How the host treats an `ask`.
    #[serde(alias = "permissionMode")]
    permission_mode: Option<String>,
    /// Error text of a failed call.
    error: Option<Value>,
    prompt: Option<String>,
    request: Option<String>,
    /// Argument at the top level, in events whose name implies the tool (see [`Raw::name_tool`]).
    command: Option<Value>,
    file_path: Option<String>,
}

impl Raw {
    /// Fills in tool and input for hosts that have one event per kind of call instead of a tool name.
    fn name_tool(&mut self) {
        if self.tool_name.is_some() {
            return;
        }
        let (tool, input) = match (self.hook_event_name.as_deref(), &self.command, &self.file_path) {
            (Some("beforeShellExecution" | "afterShellExecution"), Some(command), None) => {
                ("shell", json!({"command": command}))
            }
            (Some("beforeReadFile"), None, Some(path)) => ("Read", json!({"file_path": path})),
            _ => return,
        };
        (self.tool_name, self.tool_input) = (Some(tool.to_owned()), Some(input));
    }
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
    raw: Raw,
}

impl Event {
    /// Parses an event. An event before or after a call must name the tool; unknown events count as before a call.
    ///
    /// # Errors
    /// [`EventError::Large`], [`EventError::Json`]; [`EventError::Field`] if the tool's name is missing.
    pub fn parse(host: Host, bytes: &[u8]) -> Result<Self, EventError> {
        if bytes.len() > MOST_BYTES {
            return Err(EventError::Large);
        }
        let mut event = Self { host, raw: serde_json::from_slice(bytes)? };
        event.raw.name_tool();
        if matches!(event.kind(), Kind::PreToolUse | Kind::PostToolUse) && event.tool().is_empty() {
            let name = event.raw.hook_event_name.as_deref().unwrap_or("without a name");
            return Err(EventError::Field { tool: format!("host event {}", first(name, 40)), field: "tool_name" });
        }
        Ok(event)
    }

    /// The kind of the event. An unknown event counts as [`Kind::PreToolUse`], so that it is decided and never ignored.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let Some(name) = self.raw.hook_event_name.as_deref() else {
            // one with a result comes after the call
            let answered = self.raw.tool_response.as_ref().is_some_and(|said| *said != json!(""));
            return if answered { Kind::PostToolUse } else { Kind::PreToolUse };
        };
        EVENTS.iter().find(|(_, names)| names.contains(&name)).map_or(Kind::PreToolUse, |(kind, _)| *kind)
    }

    /// Id of the session. If the host gives none, all events in one working directory share a session, so that
    /// observations are not lost.
    #[must_use]
    pub fn session(&self) -> String {
        let named = self.raw.session_id.clone().filter(|id| !id.is_empty());
        named.unwrap_or_else(|| {
            let folder = self.raw.cwd.as_deref().map(Path::to_string_lossy).unwrap_or_default();
            format!("{} in {folder}", self.host.name())
        })
    }

    /// Id of the call. If the host gives none, a digest of the tool and its arguments, which the event after the call
    /// repeats.
    #[must_use]
    pub fn call(&self) -> String {
        let named = self.raw.tool_use_id.clone().filter(|id| !id.is_empty());
        named.unwrap_or_else(|| {
            let input = self.raw.tool_input.as_ref().map(Value::to_string).unwrap_or_default();
            crate::digest([self.tool().as_bytes().to_vec(), input.into_bytes()])
        })
    }

    /// Whether the host's transcript shows that the agent has made this call without the result of another one.
    #[must_use]
    pub fn is_made_beside(&self, other: &str) -> bool {
        self.raw.transcript_path.as_deref().is_some_and(|path| transcript::is_beside(path, &self.call(), other))
    }

    /// Whether the host's transcript holds results of calls.
    #[must_use]
    pub fn has_history(&self) -> bool {
        self.raw.transcript_path.as_deref().is_some_and(transcript::has_results)
    }

    /// Whether the host can type into a running program without running the hook. Claude Code gives its commands no
    /// input; every other host is assumed to be able to.
    #[must_use]
    pub fn types(&self) -> bool {
        self.host != Host::ClaudeCode
    }

    /// Whether the host puts an ask to a person in its present permission mode. Only Claude Code does. In
    /// `bypassPermissions` it drops an ask exactly where it would have asked by itself; unknown modes are assumed to
    /// do the same.
    #[must_use]
    pub fn asks(&self) -> bool {
        let mode = self.raw.permission_mode.as_deref();
        self.host == Host::ClaudeCode && mode.is_none_or(|mode| ASKS.contains(&mode))
    }

    /// The user's prompt; empty if the event has none.
    #[must_use]
    pub fn prompt(&self) -> &str {
        self.raw.prompt.as_deref().unwrap_or_default()
    }

    /// The host's name; policies see it as the agent.
    #[must_use]
    pub fn host_name(&self) -> &'static str {
        self.host.name()
    }

    /// The name of the tool, as the host writes it.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.raw.tool_name.as_deref().unwrap_or_default().trim()
    }

    /// The user's request, from the event itself or else from the host's transcript; empty if unknown.
    #[must_use]
    pub fn request(&self) -> String {
        if let Some(request) = &self.raw.request {
            return request.clone();
        }
        self.raw.transcript_path.as_deref().map(transcript::request).unwrap_or_default()
    }

    /// Whether the tool returns only what the agent itself has written.
    fn returns_own(&self) -> bool {
        let tool = self.tool();
        matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "apply_patch")
            || CONVERSATION_TOOLS.contains(&tool) && !matches!(tool, "BashOutput" | "TaskOutput" | "Task" | "Agent")
    }

    /// Whether the call runs a subagent, whose calls reach the hook, too.
    #[must_use]
    pub fn starts_agent(&self) -> bool {
        matches!(self.tool(), "Task" | "Agent")
    }

    /// Who may have written the result of the call; `None` if the tool returns only what the agent itself has written.
    #[must_use]
    pub fn author(&self) -> Option<Author> {
        match self.returns_own() {
            true => None,
            false if self.foreign() => Some(Author::Anyone),
            false => Some(Author::User),
        }
    }

    /// What the call has returned to the agent; `None` if the tool returns only what the agent itself has written.
    #[must_use]
    pub fn returned(&self) -> Option<Returned> {
        if self.returns_own() {
            return None;
        }
        let both = [self.raw.tool_response.as_ref(), self.raw.error.as_ref()];
        let said = both.into_iter().flatten().cloned().collect();
        let content = Content::of(&Value::Array(said));
        let from = self.raw.tool_input.as_ref().and_then(|input| {
            ["url", "file_path", "path", "command", "cmd", "query"].iter().find_map(|key| input.get(*key)?.as_str())
        });
        let tool = self.tool();
        let source = from.map_or_else(|| tool.to_owned(), |from| format!("{tool} {}", first(from, 200)));
        let unread = content.unread().map(|what| format!("{what} that {source} has returned"));
        let text = content.text.trim_end();
        let observation = (!text.trim().is_empty()).then(|| Observation { source, text: text.into() });
        Some(Returned { observation, unread })
    }

    /// Recovers session id and text from an event after a call that cannot be parsed: the whole text counts as an
    /// observation. `None` for other events, and if no session id is found.
    #[must_use]
    pub fn salvaged(bytes: &[u8]) -> Option<(String, Observation)> {
        let text = String::from_utf8_lossy(bytes);
        let after = EVENTS.iter().filter(|(kind, _)| *kind == Kind::PostToolUse).flat_map(|(_, names)| *names);
        if !after.into_iter().any(|name| text.contains(&format!("\"{name}\""))) {
            return None;
        }
        let (_, rest) = SESSION.iter().find_map(|key| text.split_once(&format!("\"{key}\"")))?;
        let session = rest.split_once('"')?.1.split_once('"')?.0.to_owned();
        let plain = text.replace("\\n", "\n").replace("\\\"", "\"");
        Some((session, Observation { source: "an event that cannot be read".to_owned(), text: plain.into() }))
    }
}

fn first(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
