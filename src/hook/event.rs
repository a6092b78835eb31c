//! Parses a host's event: one JSON object on standard input.
//!
//! 1. [`Event::read`] parses the event; each host has its own names for the same fields.
//! 2. [`Event::kind`] classifies it: before a call, after a call, a prompt of the user, or irrelevant.
//! 3. [`Event::actions`] translates a call into actions of the engine.
//! 4. [`Event::observation`] extracts the text that a call has returned to the agent.

use super::{Host, patch, transcript};
use crate::action::{Action, Observation};
use crate::effect::tool_call::class;
use crate::effect::{self, Verb, Who};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Longest accepted event, in bytes.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Deepest nesting of arguments in which paths are resolved.
const DEPTH: usize = 16;

/// Built-in tools of the hosts that touch nothing outside the conversation. A subagent's calls arrive as separate
/// events.
const INWARD: [&str; 20] = [
    "TodoWrite",
    "TodoRead",
    "Task",
    "Agent",
    "TaskCreate",
    "TaskUpdate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "BashOutput",
    "KillShell",
    "KillBash",
    "ExitPlanMode",
    "EnterPlanMode",
    "AskUserQuestion",
    "ToolSearch",
    "Skill",
    "StructuredOutput",
    "update_plan",
];
/// Built-in tools of the hosts that run a shell command.
const SHELLS: [&str; 12] = [
    "Bash",
    "bash",
    "Monitor",
    "shell",
    "local_shell",
    "exec_command",
    "execute_command",
    "run_shell_command",
    "run_terminal_cmd",
    "run_in_terminal",
    "shell_command",
    "container.exec",
];
/// Events that need no decision and carry nothing that the agent has read.
const IDLE: [&str; 23] = [
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
];
/// Permission modes of Claude Code in which a call with an `ask` does not run without an answer (observed in 2.1.330).
const ASKS: [&str; 5] = ["default", "acceptEdits", "plan", "dontAsk", "auto"];
/// Arguments of the hosts' built-in tools that are paths; they may be relative to the working directory.
const PATHS: [&str; 4] = ["file_path", "notebook_path", "path", "absolute_path"];

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
    Before,
    /// A call was made.
    After,
    /// The user has sent a prompt.
    Asked,
    /// Irrelevant to the guard.
    Other,
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
    pub fn read(host: Host, bytes: &[u8]) -> Result<Self, EventError> {
        if bytes.len() > MOST_BYTES {
            return Err(EventError::Large);
        }
        let mut event = Self { host, raw: serde_json::from_slice(bytes)? };
        event.raw.name_tool();
        if matches!(event.kind(), Kind::Before | Kind::After) && event.tool().is_empty() {
            let name = event.raw.hook_event_name.as_deref().unwrap_or("without a name");
            return Err(EventError::Field { tool: format!("host event {}", first(name, 40)), field: "tool_name" });
        }
        Ok(event)
    }

    /// The kind of the event. An unknown event counts as [`Kind::Before`], so that it is decided and never ignored.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.raw.hook_event_name.as_deref() {
            Some("PreToolUse" | "preToolUse" | "BeforeTool") => Kind::Before,
            Some("PostToolUse" | "postToolUse" | "AfterTool" | "PostToolUseFailure" | "afterShellExecution") => {
                Kind::After
            }
            Some("UserPromptSubmit" | "userPromptSubmitted" | "BeforeAgent" | "beforeSubmitPrompt") => Kind::Asked,
            Some(name) if IDLE.contains(&name) => Kind::Other,
            // an event without a name: one with a result comes after the call
            None if self.raw.tool_response.as_ref().is_some_and(|said| *said != json!("")) => Kind::After,
            _ => Kind::Before,
        }
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

    /// Id of the call, if the host gives one.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        self.raw.tool_use_id.as_deref().filter(|id| !id.is_empty())
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

    /// The actions that the call would perform; empty for a tool that touches nothing outside the conversation.
    ///
    /// # Errors
    /// [`EventError::Field`] if an argument that the tool requires is missing or has the wrong form.
    pub fn actions(&self) -> Result<Vec<Action>, EventError> {
        let tool = self.tool();
        let nothing = Value::Null;
        let input = self.raw.tool_input.as_ref().unwrap_or(&nothing);
        let missing = |field: &'static str| EventError::Field { tool: tool.to_owned(), field };
        if INWARD.contains(&tool) {
            return Ok(Vec::new());
        }
        if let Some((server, tool)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            let (server, tool) = (Some(server.to_owned()), tool.to_owned());
            let mut arguments = input.clone();
            // an MCP server on this machine starts in the agent's working directory
            if let Some(cwd) = &self.raw.cwd {
                resolve(&mut arguments, cwd, 0);
            }
            return Ok(vec![Action::ToolCall { server, tool, arguments }]);
        }
        if SHELLS.contains(&tool) {
            let command = one(input, &["command", "cmd"]).and_then(command);
            // Claude Code has no such argument; Codex has
            let elsewhere = input.get("workdir").and_then(Value::as_str).filter(|_| self.host != Host::ClaudeCode);
            let cwd = match elsewhere {
                Some(dir) => Some(self.absolute(Path::new(dir)).ok_or_else(|| missing("workdir"))?),
                None => self.raw.cwd.clone(),
            };
            let command = command.ok_or_else(|| missing("command"))?;
            if let Some(patch) = command.strip_prefix("'apply_patch' ").or_else(|| command.strip_prefix("apply_patch "))
            {
                return self.patched(patch);
            }
            return Ok(vec![Action::Shell { command, cwd }]);
        }
        match tool {
            "PowerShell" => {
                let source = input.get("command").and_then(Value::as_str).ok_or_else(|| missing("command"))?;
                Ok(vec![Action::Code { language: "powershell".to_owned(), source: source.to_owned() }])
            }
            "WebFetch" => {
                let url = input.get("url").and_then(Value::as_str).ok_or_else(|| missing("url"))?;
                Ok(vec![Action::Fetch { url: url.to_owned() }])
            }
            "apply_patch" => {
                let text = one(input, &["input", "patch", "command"]).and_then(command);
                let text = text.or_else(|| input.as_str().map(str::to_owned)).ok_or_else(|| missing("input"))?;
                self.patched(&text)
            }
            "Read" | "Write" | "Edit" | "MultiEdit" => {
                let path = input.get("file_path").and_then(Value::as_str).filter(|p| !p.trim().is_empty());
                path.ok_or_else(|| missing("file_path"))?;
                Ok(vec![self.own(tool, input)?])
            }
            "NotebookEdit" => {
                let path = input.get("notebook_path").and_then(Value::as_str).filter(|p| !p.trim().is_empty());
                path.ok_or_else(|| missing("notebook_path"))?;
                Ok(vec![self.own(tool, input)?])
            }
            _ => Ok(vec![self.own(tool, input)?]),
        }
    }

    /// The action of a call to one of the host's built-in tools. Its paths are on this machine and are made absolute.
    fn own(&self, tool: &str, input: &Value) -> Result<Action, EventError> {
        let mut arguments = input.clone();
        if let Some(fields) = arguments.as_object_mut() {
            for key in PATHS {
                if let Some(Value::String(path)) = fields.get_mut(key) {
                    let field = EventError::Field { tool: tool.to_owned(), field: "cwd" };
                    let absolute = self.absolute(Path::new(path.as_str())).ok_or(field)?;
                    *path = absolute.to_string_lossy().into_owned();
                }
            }
            // without a path they search the working directory
            let looks = matches!(tool, "Grep" | "Glob" | "LS");
            if let Some(cwd) = self.raw.cwd.as_ref().filter(|_| looks && !fields.contains_key("path")) {
                fields.insert("path".to_owned(), json!(cwd));
            }
        }
        Ok(Action::ToolCall { server: None, tool: tool.to_owned(), arguments })
    }

    fn patched(&self, text: &str) -> Result<Vec<Action>, EventError> {
        let none = || EventError::Field { tool: "apply_patch".to_owned(), field: "patch" };
        let text = text.trim().trim_matches(['\'', '"']);
        patch::changes(text).ok_or_else(none)?.into_iter().map(|change| self.change(change)).collect()
    }

    fn change(&self, change: patch::Change) -> Result<Action, EventError> {
        match change {
            patch::Change::Write { path, added } => self.own("Write", &json!({"file_path": path, "content": added})),
            patch::Change::Delete { path } => self.own("delete_file", &json!({"file_path": path})),
        }
    }

    /// An absolute path; `~` is left for the engine. `None` if the path is relative and the working directory is
    /// unknown.
    fn absolute(&self, path: &Path) -> Option<PathBuf> {
        if path.is_absolute() || path.starts_with("~") {
            return Some(path.to_owned());
        }
        self.raw.cwd.as_ref().map(|cwd| cwd.join(path))
    }

    /// The text that the call has returned to the agent; `None` if there is none, or if the tool returns only what the
    /// agent itself has written.
    #[must_use]
    pub fn observation(&self) -> Option<Observation> {
        let tool = self.tool();
        let own = matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "apply_patch");
        if own || (INWARD.contains(&tool) && !matches!(tool, "BashOutput" | "TaskOutput" | "Task" | "Agent")) {
            return None;
        }
        let said = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => words(other),
        };
        let both = [self.raw.tool_response.as_ref(), self.raw.error.as_ref()];
        let text = both.into_iter().flatten().map(said).collect::<Vec<_>>().join("\n");
        let from = self.raw.tool_input.as_ref().and_then(|input| {
            ["url", "file_path", "path", "command", "cmd", "query"].iter().find_map(|key| input.get(*key)?.as_str())
        });
        let source = from.map_or_else(|| tool.to_owned(), |from| format!("{tool} {}", first(from, 200)));
        (!text.trim().is_empty()).then_some(Observation { source, text: text.into() })
    }

    /// Whether the result of the call may come from outside the user's own files: from a network, or from a source that
    /// cannot be determined.
    #[must_use]
    pub fn foreign(&self) -> bool {
        if matches!(self.tool(), "Read" | "Grep" | "Glob" | "LS" | "NotebookRead") {
            return false;
        }
        let Ok(actions) = self.actions() else { return true };
        let fetches = |action: &Action| match action {
            Action::Shell { .. } => {
                let who = Who { name: "user", home: "/home/user" };
                let reading = effect::read(action, who, &effect::shell::NoFiles);
                let reaches = [Verb::Connect, Verb::Send, Verb::Remote, Verb::Unknown];
                reading.effects.iter().any(|effect| reaches.contains(&effect.verb))
            }
            _ => true,
        };
        actions.is_empty() || actions.iter().any(fetches)
    }

    /// Recovers session id and text from an event after a call that cannot be parsed: the whole text counts as an
    /// observation. `None` for other events, and if no session id is found.
    #[must_use]
    pub fn salvaged(bytes: &[u8]) -> Option<(String, Observation)> {
        let text = String::from_utf8_lossy(bytes);
        if !["\"PostToolUse", "\"postToolUse", "\"AfterTool"].iter().any(|name| text.contains(name)) {
            return None;
        }
        let (_, rest) = text.split_once("\"session_id\"")?;
        let session = rest.split_once('"')?.1.split_once('"')?.0.to_owned();
        let plain = text.replace("\\n", "\n").replace("\\\"", "\"");
        Some((session, Observation { source: "an event that cannot be read".to_owned(), text: plain.into() }))
    }

    /// Whether the engine cannot tell from the tool's name what the call does.
    #[must_use]
    pub fn opaque(&self) -> bool {
        !SHELLS.contains(&self.tool()) && class(self.tool()).0 == Verb::Call
    }
}

/// The argument with one of these names; `None` if several are present, because it is unknown which one the host uses.
fn one<'a>(input: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let mut found = names.iter().filter_map(|name| input.get(*name)).filter(|value| !value.is_null());
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// All strings of a value, one per line, except the encoded bytes of images and audio, which are not text.
pub(crate) fn words(value: &Value) -> String {
    let mut text = String::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(part) => {
                text.push_str(part);
                text.push('\n');
            }
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(fields) => {
                let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
                let media = matches!(kind, "image" | "audio") && fields.contains_key("mimeType");
                let said = fields.iter().filter(|(key, _)| !(media && *key == "data"));
                open.extend(said.map(|(_, value)| value).rev());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    text
}

/// Makes a relative path absolute, below `cwd`. `sure`: the text is a path even if it does not look like one.
fn join(text: &mut String, cwd: &Path, sure: bool) {
    let looks = text.contains('/') || text.starts_with('.');
    let path = Path::new(text.as_str());
    let local = path.is_relative() && !path.starts_with("~") && !text.contains("://") && !text.contains(['\n', '@']);
    if local && (sure || looks) && !text.is_empty() && !text.to_lowercase().starts_with("file:") {
        *text = cwd.join(path).to_string_lossy().into_owned();
    }
}

/// Makes the paths among arguments absolute. The names of the arguments tell which ones are paths.
fn resolve(value: &mut Value, cwd: &Path, depth: usize) {
    match value {
        Value::Object(fields) if depth < DEPTH => {
            for (key, field) in fields.iter_mut() {
                let named = effect::file::names_a_path(key);
                // for other names the value must look like a path, too: `to` may also be a person
                let sure = ["path", "file"].iter().any(|word| key.to_lowercase().contains(word));
                match field {
                    Value::String(text) if named || sure => join(text, cwd, sure),
                    Value::Array(items) if named || sure => {
                        for item in items {
                            match item {
                                Value::String(text) => join(text, cwd, sure),
                                other => resolve(other, cwd, depth + 1),
                            }
                        }
                    }
                    other => resolve(other, cwd, depth + 1),
                }
            }
        }
        Value::Array(items) if depth < DEPTH => items.iter_mut().for_each(|item| resolve(item, cwd, depth + 1)),
        _ => {}
    }
}

/// A shell command from a text, or from a list of words, which are quoted.
fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|w| w.as_str().map(|w| format!("'{}'", w.replace('\'', "'\\''")))).collect();
            words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
        }
        _ => None,
    }
}

fn first(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// The text; if it is longer than `most` bytes, its beginning and its end with a mark between them.
pub(super) fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{}\n[…]\n{}", text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn actions(event: &Value) -> Result<Vec<Action>, EventError> {
        Event::read(Host::ClaudeCode, event.to_string().as_bytes())?.actions()
    }

    #[test]
    fn host_calls_become_engine_actions() {
        let call = |tool: &str, input: Value| {
            let event = json!({"hook_event_name": "PreToolUse", "cwd": "/p", "tool_name": tool, "tool_input": input});
            serde_json::to_value(actions(&event).unwrap()).unwrap()
        };
        let shell = |command: &str, cwd: &str| json!([{"type": "shell", "command": command, "cwd": cwd}]);
        assert_eq!(call("Bash", json!({"command": "ls"})), shell("ls", "/p"));
        assert_eq!(
            call("shell", json!({"command": ["bash", "-lc", "a 'b'"]})),
            shell(r"'bash' '-lc' 'a '\''b'\'''", "/p")
        );
        assert_eq!(
            call("exec_command", json!({"cmd": "ls", "workdir": "q"})),
            shell("ls", "/p"),
            "Claude Code has no workdir"
        );
        assert_eq!(call("WebFetch", json!({"url": "http://x/"})), json!([{"type": "fetch", "url": "http://x/"}]));
        assert_eq!(call("TodoWrite", json!({"todos": []})), json!([]));
        let write = call("Write", json!({"file_path": "a.txt", "content": "x"}));
        assert_eq!(write.pointer("/0/arguments/file_path"), Some(&json!("/p/a.txt")));
        let mcp = call("mcp__files__delete_file", json!({"path": "/x"}));
        assert_eq!(mcp.pointer("/0/server"), Some(&json!("files")));
        assert_eq!(mcp.pointer("/0/tool"), Some(&json!("delete_file")));
        let patch = "*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+hi\n*** End Patch";
        let patched = call("apply_patch", json!({"input": patch}));
        assert_eq!(patched.pointer("/0/tool"), Some(&json!("delete_file")));
        assert_eq!(patched.pointer("/1/arguments/content"), Some(&json!("hi\n")));
    }

    #[test]
    fn missing_argument_is_an_error() {
        for (tool, input) in [
            ("Bash", json!({})),
            ("Bash", json!({"command": 7})),
            ("Bash", json!({"command": "ls", "cmd": "rm -rf /"})),
            ("Edit", json!({"file_path": ".claude/settings.json"})),
            ("Bash", json!({"command": []})),
            ("WebFetch", json!({"link": "x"})),
            ("Write", json!({"file_path": " "})),
            ("Read", json!(null)),
            ("apply_patch", json!({"input": "nonsense"})),
        ] {
            let event = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
            assert!(actions(&event).is_err(), "{tool} {input}");
        }
        for text in ["", "[]", "{", "null", "{\"hook_event_name\":\"PreToolUse\"}", "{}", "{\"tool_name\":3}"] {
            assert!(Event::read(Host::ClaudeCode, text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_event_with_a_tool_is_decided() {
        let kind = |event: Value| Event::read(Host::Generic, event.to_string().as_bytes()).unwrap().kind();
        assert_eq!(kind(json!({"hook_event_name": "PreTool", "tool_name": "Bash"})), Kind::Before);
        assert_eq!(kind(json!({"tool_name": "Bash"})), Kind::Before);
        assert_eq!(kind(json!({"toolName": "Bash", "toolArgs": {}})), Kind::Before);
        assert_eq!(kind(json!({"tool_name": "Bash", "tool_response": "x"})), Kind::After);
        assert_eq!(kind(json!({"hook_event_name": "SessionStart"})), Kind::Other);
    }

    #[test]
    fn observation_has_its_source_and_both_ends() {
        let event = json!({"hook_event_name": "PostToolUse", "tool_name": "WebFetch", "tool_input": {"url": "http://x/"},
            "tool_response": {"result": "a".repeat(200_000), "end": "the end"}});
        let event = Event::read(Host::ClaudeCode, event.to_string().as_bytes()).unwrap();
        let seen = event.observation().unwrap();
        assert_eq!(seen.source, "WebFetch http://x/");
        assert!(seen.text.read().trim_end().ends_with("the end") && event.foreign());
        let own = |tool: &str, input: Value| {
            let event =
                json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": "x"});
            !Event::read(Host::ClaudeCode, event.to_string().as_bytes()).unwrap().foreign()
        };
        assert!(own("Read", json!({"file_path": "/p/README.md"})) && own("Bash", json!({"command": "ls -la"})));
        assert!(!own("Bash", json!({"command": "curl https://x.example"})) && !own("mcp__mail__read", json!({})));
        assert!(!own("Bash", json!({"command": "frobnicate"})), "the origin of its output is unknown");
    }
}
