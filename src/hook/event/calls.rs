//! Translates a call of a host into actions of the engine.
//!
//! 1. A tool of an MCP server becomes a tool call; paths among its arguments are resolved.
//! 2. A shell becomes a shell command, or the changes of a patch.
//! 3. A built-in tool of the host becomes code, a fetch, a patch or a tool call.

use super::{Event, EventError};
use crate::action::Action;
use crate::effect::tool_call::class;
use crate::effect::{self, Verb, Who};
use crate::hook::{Host, patch};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Deepest nesting of arguments in which paths are resolved.
const DEPTH: usize = 16;

/// Built-in tools of the hosts that touch nothing outside the conversation. A subagent's calls arrive as separate
/// events.
pub(super) const CONVERSATION_TOOLS: [&str; 20] = [
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
/// Arguments of the hosts' built-in tools that are paths; they may be relative to the working directory.
const PATHS: [&str; 4] = ["file_path", "notebook_path", "path", "absolute_path"];

impl Event {
    /// The actions that the call would perform; empty for a tool that touches nothing outside the conversation.
    ///
    /// # Errors
    /// [`EventError::Field`] if an argument that the tool requires is missing or has the wrong form.
    pub fn actions(&self) -> Result<Vec<Action>, EventError> {
        let tool = self.tool();
        let nothing = Value::Null;
        let input = self.raw.tool_input.as_ref().unwrap_or(&nothing);
        let missing = |field: &'static str| EventError::Field { tool: tool.to_owned(), field };
        if CONVERSATION_TOOLS.contains(&tool) {
            return Ok(Vec::new());
        }
        if let Some((server, tool)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            let (server, tool) = (Some(server.to_owned()), tool.to_owned());
            let mut arguments = input.clone();
            // an MCP server on this machine starts in the agent's working directory
            if let Some(cwd) = &self.raw.cwd {
                resolve(&mut arguments, cwd);
            }
            return Ok(vec![Action::ToolCall { server, tool, arguments }]);
        }
        if SHELLS.contains(&tool) {
            return self.shell(tool, input);
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
            "Read" | "Write" | "Edit" | "MultiEdit" => self.on_file(tool, "file_path", input),
            "NotebookEdit" => self.on_file(tool, "notebook_path", input),
            _ => Ok(vec![self.own(tool, input)?]),
        }
    }

    /// A call to one of the host's shells.
    fn shell(&self, tool: &str, input: &Value) -> Result<Vec<Action>, EventError> {
        let missing = |field: &'static str| EventError::Field { tool: tool.to_owned(), field };
        let command = one(input, &["command", "cmd"]).and_then(command);
        // Claude Code has no such argument; Codex has
        let elsewhere = input.get("workdir").and_then(Value::as_str).filter(|_| self.host != Host::ClaudeCode);
        let cwd = match elsewhere {
            Some(dir) => Some(self.absolute(Path::new(dir)).ok_or_else(|| missing("workdir"))?),
            None => self.raw.cwd.clone(),
        };
        let command = command.ok_or_else(|| missing("command"))?;
        if let Some(patch) = command.strip_prefix("'apply_patch' ").or_else(|| command.strip_prefix("apply_patch ")) {
            return self.patched(patch);
        }
        Ok(vec![Action::Shell { command, cwd }])
    }

    /// A call to one of the host's tools that requires a path in `field`.
    fn on_file(&self, tool: &str, field: &'static str, input: &Value) -> Result<Vec<Action>, EventError> {
        let path = input.get(field).and_then(Value::as_str).filter(|path| !path.trim().is_empty());
        path.ok_or_else(|| EventError::Field { tool: tool.to_owned(), field })?;
        Ok(vec![self.own(tool, input)?])
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
                let reading = effect::extract_effects(action, who, &effect::shell::NoFiles);
                let reaches = [Verb::Connect, Verb::Send, Verb::Remote, Verb::Unknown];
                reading.effects.iter().any(|effect| reaches.contains(&effect.verb))
            }
            _ => true,
        };
        actions.is_empty() || actions.iter().any(fetches)
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

/// Makes a relative path absolute, below `cwd`. `sure`: the text is a path even if it does not look like one.
fn join(text: &mut String, cwd: &Path, sure: bool) {
    let looks = text.contains('/') || text.starts_with('.');
    let path = Path::new(text.as_str());
    let local = path.is_relative() && !path.starts_with("~") && !text.contains("://") && !text.contains(['\n', '@']);
    if local && (sure || looks) && !text.is_empty() && !text.to_lowercase().starts_with("file:") {
        *text = cwd.join(path).to_string_lossy().into_owned();
    }
}

/// Makes the paths among the arguments of a tool absolute: relative ones are below `cwd`. The names of the arguments
/// tell which ones are paths.
pub(crate) fn resolve(arguments: &mut Value, cwd: &Path) {
    nested(arguments, cwd, 0);
}

fn nested(value: &mut Value, cwd: &Path, depth: usize) {
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
                                other => nested(other, cwd, depth + 1),
                            }
                        }
                    }
                    other => nested(other, cwd, depth + 1),
                }
            }
        }
        Value::Array(items) if depth < DEPTH => items.iter_mut().for_each(|item| nested(item, cwd, depth + 1)),
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
