//! What a host says: one JSON object on standard input.

use super::{Host, patch, transcript};
use crate::action::{Action, Observation};
use crate::effect::tool_call::class;
use crate::effect::{self, Verb, Who};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Longest event that is read, bytes.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How deep arguments are looked at.
const DEPTH: usize = 16;

/// Tools of the hosts themselves that touch nothing outside the conversation. A subagent's calls are events of their own.
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
/// Tools of the hosts that run a command of a shell.
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
/// Events of the hosts that ask nothing of the guard and tell nothing that was read.
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
/// Modes of Claude Code in which a call that is asked about does not run without an answer (2.1.330, observed).
const ASKS: [&str; 5] = ["default", "acceptEdits", "plan", "dontAsk", "auto"];
/// Arguments of the hosts' own tools that are paths, and may be relative to the working directory.
const PATHS: [&str; 4] = ["file_path", "notebook_path", "path", "absolute_path"];

/// Why an event cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// It is too large.
    #[error("the event is larger than {} MiB", MOST_BYTES >> 20)]
    Large,
    /// It is not what the host's contract says.
    #[error("the event cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is missing or not what the tool needs.
    #[error("the event of {tool} has no usable {field}")]
    Field {
        /// The tool.
        tool: String,
        /// The field.
        field: &'static str,
    },
}

/// What kind of event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call is about to be made: the host waits for an answer.
    Before,
    /// A call was made.
    After,
    /// The user has said something.
    Asked,
    /// Nothing that concerns the guard.
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
    /// How the host answers what is asked.
    #[serde(alias = "permissionMode")]
    permission_mode: Option<String>,
    /// What a call that failed said.
    error: Option<Value>,
    prompt: Option<String>,
    request: Option<String>,
    /// Where the event itself says what would be done, and its name which tool does it.
    command: Option<Value>,
    file_path: Option<String>,
}

impl Raw {
    /// Some hosts have an event for each kind of call instead of the name of a tool.
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
    /// Reads an event. One of another name that asks for something must say which tool would do it.
    ///
    /// # Errors
    /// [`EventError`]
    pub fn read(host: Host, bytes: &[u8]) -> Result<Self, EventError> {
        if bytes.len() > MOST_BYTES {
            return Err(EventError::Large);
        }
        let mut event = Self { host, raw: serde_json::from_slice(bytes)? };
        event.raw.name_tool();
        if matches!(event.kind(), Kind::Before | Kind::After) && event.tool().is_empty() {
            let name = event.raw.hook_event_name.as_deref().unwrap_or("without a name");
            return Err(EventError::Field { tool: format!("the host, {}", first(name, 40)), field: "tool_name" });
        }
        Ok(event)
    }

    /// What kind of event it is. One that is not known is a question, never nothing.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.raw.hook_event_name.as_deref() {
            Some("PreToolUse" | "preToolUse" | "BeforeTool") => Kind::Before,
            Some("PostToolUse" | "postToolUse" | "AfterTool" | "PostToolUseFailure" | "afterShellExecution") => {
                Kind::After
            }
            Some("UserPromptSubmit" | "userPromptSubmitted" | "BeforeAgent" | "beforeSubmitPrompt") => Kind::Asked,
            Some(name) if IDLE.contains(&name) => Kind::Other,
            // without a name what it holds says what it is
            None if self.raw.tool_response.as_ref().is_some_and(|said| *said != json!("")) => Kind::After,
            _ => Kind::Before,
        }
    }

    /// The session. Where the host names none, all that it does in one folder is one: what was read is not forgotten.
    #[must_use]
    pub fn session(&self) -> String {
        let named = self.raw.session_id.clone().filter(|id| !id.is_empty());
        named.unwrap_or_else(|| {
            let folder = self.raw.cwd.as_deref().map(Path::to_string_lossy).unwrap_or_default();
            format!("{} in {folder}", self.host.name())
        })
    }

    /// The call, if the host names it.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        self.raw.tool_use_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The host can type into a program that it keeps running, and asks no hook about it. Claude Code gives its commands no
    /// input; of a host that is not known it is assumed.
    #[must_use]
    pub fn types(&self) -> bool {
        self.host != Host::ClaudeCode
    }

    /// An ask is put to a person in the mode in which the host runs. Claude Code drops it in `bypassPermissions` just where
    /// it would ask itself; of a mode that is not known it is assumed.
    #[must_use]
    pub fn asks(&self) -> bool {
        let mode = self.raw.permission_mode.as_deref();
        self.host == Host::ClaudeCode && mode.is_none_or(|mode| ASKS.contains(&mode))
    }

    /// What the user has said.
    #[must_use]
    pub fn prompt(&self) -> &str {
        self.raw.prompt.as_deref().unwrap_or_default()
    }

    /// The host's name, as policies see the agent.
    #[must_use]
    pub fn host_name(&self) -> &'static str {
        self.host.name()
    }

    /// The name of the tool, as the host writes it.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.raw.tool_name.as_deref().unwrap_or_default().trim()
    }

    /// What the user has asked for, from the event itself or the host's transcript; empty if it is not known.
    #[must_use]
    pub fn request(&self) -> String {
        if let Some(request) = &self.raw.request {
            return request.clone();
        }
        self.raw.transcript_path.as_deref().map(transcript::request).unwrap_or_default()
    }

    /// What the call would do; empty for a tool that touches nothing outside the conversation.
    ///
    /// # Errors
    /// [`EventError::Field`] if the arguments are not what such a tool takes.
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
            // a server of this machine starts where the agent does
            if let Some(cwd) = &self.raw.cwd {
                resolve(&mut arguments, cwd, 0);
            }
            return Ok(vec![Action::ToolCall { server, tool, arguments }]);
        }
        if SHELLS.contains(&tool) {
            let command = one(input, &["command", "cmd"]).and_then(command);
            // only Codex lets a command run elsewhere
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

    /// A call of a tool of the host itself: its paths are on this machine.
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
            // they look where they are, if nothing else is said
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

    /// A path as the host means it: `~` is left for the engine. `None` if it is relative, and to what is not known.
    fn absolute(&self, path: &Path) -> Option<PathBuf> {
        if path.is_absolute() || path.starts_with("~") {
            return Some(path.to_owned());
        }
        self.raw.cwd.as_ref().map(|cwd| cwd.join(path))
    }

    /// What the agent has read by the call; none where it only sees what it wrote itself.
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

    /// What the call has read comes from elsewhere, or from where cannot be told: not from the user's own files.
    #[must_use]
    pub fn foreign(&self) -> bool {
        if matches!(self.tool(), "Read" | "Grep" | "Glob" | "LS" | "NotebookRead") {
            return false;
        }
        let Ok(actions) = self.actions() else { return true };
        let fetches = |action: &Action| match action {
            Action::Shell { .. } => {
                let who = Who { name: "user", home: "/home/user" };
                let reading = effect::read(action, who, &effect::shell::Nowhere);
                let reaches = [Verb::Connect, Verb::Send, Verb::Remote, Verb::Unknown];
                reading.effects.iter().any(|effect| reaches.contains(&effect.verb))
            }
            _ => true,
        };
        actions.is_empty() || actions.iter().any(fetches)
    }

    /// What can be told of an event that is not readable: its session, and all of its text as what was read.
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

    /// The call may reach beyond what the engine can see: its name says nothing.
    #[must_use]
    pub fn opaque(&self) -> bool {
        !SHELLS.contains(&self.tool()) && class(self.tool()).0 == Verb::Call
    }
}

/// The argument of one of these names; none where there are several, since it is not known which of them counts.
fn one<'a>(input: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let mut found = names.iter().filter_map(|name| input.get(*name)).filter(|value| !value.is_null());
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// Every string of a value, but for the bytes of images and sounds, which are no text.
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

/// A relative path below `cwd`. `sure`: it is a path, whatever it looks like.
fn join(text: &mut String, cwd: &Path, sure: bool) {
    let looks = text.contains('/') || text.starts_with('.');
    let path = Path::new(text.as_str());
    let local = path.is_relative() && !path.starts_with("~") && !text.contains("://") && !text.contains(['\n', '@']);
    if local && (sure || looks) && !text.is_empty() && !text.to_lowercase().starts_with("file:") {
        *text = cwd.join(path).to_string_lossy().into_owned();
    }
}

/// Makes paths among arguments absolute, by the names under which they stand.
fn resolve(value: &mut Value, cwd: &Path, depth: usize) {
    match value {
        Value::Object(fields) if depth < DEPTH => {
            for (key, field) in fields.iter_mut() {
                let named = effect::file::names_a_path(key);
                // the name alone says it, or the value looks like one: `to` may also be a person
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

/// A command as text, or as a list of words.
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

/// The beginning and the end of a text that is longer than `most` bytes.
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
    fn calls_are_said_in_the_engines_terms() {
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
            "Claude Code has none"
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
    fn what_lacks_its_argument_is_an_error() {
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
    fn an_event_that_is_not_known_and_names_a_tool_is_a_question() {
        let kind = |event: Value| Event::read(Host::Generic, event.to_string().as_bytes()).unwrap().kind();
        assert_eq!(kind(json!({"hook_event_name": "PreTool", "tool_name": "Bash"})), Kind::Before);
        assert_eq!(kind(json!({"tool_name": "Bash"})), Kind::Before);
        assert_eq!(kind(json!({"toolName": "Bash", "toolArgs": {}})), Kind::Before);
        assert_eq!(kind(json!({"tool_name": "Bash", "tool_response": "x"})), Kind::After);
        assert_eq!(kind(json!({"hook_event_name": "SessionStart"})), Kind::Other);
    }

    #[test]
    fn what_was_read_is_kept_with_its_source() {
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
        assert!(!own("Bash", json!({"command": "frobnicate"})), "what it prints may come from anywhere");
    }
}
