//! Translates a call of a host into actions of the engine.
//!
//! 1. A tool of an MCP server becomes a tool call; paths among its arguments are resolved.
//! 2. A shell becomes a shell command, or the changes of a patch.
//! 3. A built-in tool of the host becomes code, a fetch, a patch or a tool call.

use super::{Event, EventError, unpacked};
use crate::action::Action;
use crate::effect::tool_call::class;
use crate::effect::{self, Verb, Who};
use crate::hook::patch;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Deepest nesting of arguments in which paths are resolved.
const DEPTH: usize = 16;
/// How a patch begins.
const PATCH: &str = "*** Begin Patch";

impl Event {
    /// The actions that the call would perform; empty for a tool that touches nothing outside the conversation.
    ///
    /// # Errors
    /// [`EventError::Field`] if an argument that the tool requires is missing or has the wrong form.
    pub fn actions(&self) -> Result<Vec<Action>, EventError> {
        let (tool, tools) = (self.tool(), self.tools());
        if self.is_one_of(&self.listed().conversation) {
            return Ok(Vec::new());
        }
        if self.has_twins() {
            return Err(self.lacks("arguments"));
        }
        if self.is_one_of(&tools.shells) {
            return self.shell();
        }
        if let Some((server, tool)) = self.on_server() {
            let mut arguments = self.input.clone();
            // an MCP server on this machine starts in the agent's working directory
            if let Some(cwd) = self.cwd() {
                resolve(&mut arguments, cwd);
            }
            let server = Some(server).filter(|server| !server.is_empty());
            return Ok(vec![Action::ToolCall { server, tool, arguments }]);
        }
        if let Some(code) = tools.code.get(tool) {
            let source = match code.argument.is_empty() {
                true => self.input.to_string(),
                false => self.needed(&code.argument)?.to_owned(),
            };
            return Ok(vec![Action::Code { language: code.language.clone(), source }]);
        }
        if let Some(arguments) = tools.fetches.get(tool) {
            let given = arguments.split(' ').find(|argument| self.input.get(argument).is_some());
            return self.fetch(given.unwrap_or(arguments));
        }
        if let Some(arguments) = tools.patches.get(tool) {
            let text = one(&self.input, arguments).and_then(command);
            let text = text.or_else(|| self.input.as_str().map(str::to_owned)).ok_or_else(|| self.lacks("patch"))?;
            return self.patched(&text);
        }
        if let Some(patch) = self.disguised_patch() {
            return self.patched(patch);
        }
        if let Some(argument) = tools.needs.get(tool)
            && self.needed(argument)?.trim().is_empty()
        {
            return Err(self.lacks(argument));
        }
        let mut input = match &self.input {
            Value::Array(_) | Value::String(_) if tools.like.contains_key(tool) => json!({"paths": self.input}),
            Value::Object(_) | Value::Null => self.input.clone(),
            _ => return Err(self.lacks("arguments")),
        };
        for (own, usual) in tools.renames.iter().filter(|_| tools.like.contains_key(tool)) {
            if let Some(fields) = input.as_object_mut()
                && let Some(value) = fields.shift_remove(own)
            {
                fields.insert(usual.clone(), value);
            }
        }
        let mode = tools.modes.get(tool).and_then(|argument| input.as_object_mut()?.shift_remove(argument));
        let like = mode.as_ref().and_then(Value::as_str).and_then(|mode| tools.like.get(&format!("{tool} {mode}")));
        let name = like.or_else(|| tools.like.get(tool)).map_or(tool, String::as_str);
        let mut actions: Vec<Action> = self.remote().map(|url| Action::Fetch { url: url.to_owned() }).collect();
        actions.push(self.own(name, &input)?);
        Ok(actions)
    }

    /// A patch that is all the input of a tool that edits files: so do hosts that know several names for one tool.
    fn disguised_patch(&self) -> Option<&str> {
        let tool = self.tools().like.get(self.tool()).map_or(self.tool(), String::as_str);
        let alone = |fields: &'_ Map<String, Value>| fields.len() == 1;
        let within = || {
            let fields = self.input.as_object().filter(|fields| alone(fields))?;
            ["input", "patch"].iter().find_map(|key| fields.get(*key)?.as_str())
        };
        let patch = self.input.as_str().or_else(within)?;
        (matches!(tool, "Edit" | "Write") && patch.trim_start().starts_with(PATCH)).then_some(patch)
    }

    /// Whether two arguments differ only in case: some hosts take either for the other.
    fn has_twins(&self) -> bool {
        let keys = self.input.as_object().into_iter().flat_map(|fields| fields.keys());
        let mut seen = BTreeSet::new();
        keys.into_iter().any(|key| !seen.insert(key.to_lowercase()))
    }

    /// Addresses where the tool takes paths.
    fn remote(&self) -> impl Iterator<Item = &str> {
        let paths = self.tools().paths.iter().filter_map(|key| self.input.get(key)?.as_str());
        paths.filter(|path| path.contains("://") && !path.to_ascii_lowercase().starts_with("file:"))
    }

    fn lacks(&self, field: &'static str) -> EventError {
        EventError::Field { tool: self.tool().to_owned(), field }
    }

    /// The text of an argument.
    fn needed(&self, argument: &'static str) -> Result<&str, EventError> {
        self.input.get(argument).and_then(Value::as_str).ok_or_else(|| self.lacks(argument))
    }

    /// Server and tool, if the tool belongs to an MCP server.
    fn on_server(&self) -> Option<(String, String)> {
        let pair = |(server, tool): (&str, &str)| (server.to_owned(), tool.to_owned());
        if self.is_served() {
            return Some(pair((self.text(&self.fields().server).unwrap_or_default(), self.tool())));
        }
        let servers = &self.host.profile().servers;
        let unnamed = servers.prefix.is_empty() && servers.separator.is_empty();
        if unnamed || self.host.profile().tools.know(self.tool()) {
            return None;
        }
        let rest = self.tool().strip_prefix(servers.prefix.as_str())?;
        match servers.separator.is_empty() {
            true => Some(pair(("", rest))),
            false => rest.split_once(servers.separator.as_str()).map(pair),
        }
    }

    /// A call to one of the host's shells.
    fn shell(&self) -> Result<Vec<Action>, EventError> {
        let tools = self.tools();
        let cwd = match tools.folder.iter().find_map(|name| self.input.get(name)?.as_str().map(|dir| (name, dir))) {
            Some((name, dir)) => Some(self.absolute(Path::new(dir)).ok_or_else(|| self.lacks(name))?),
            None => self.cwd().map(Path::to_owned),
        };
        // a list of commands, as an argument or as the whole input
        let lists = !tools.commands.is_empty();
        let bare = Some(&self.input).filter(|input| lists && (input.is_array() || input.is_string()));
        if let Some(lines) = bare.or_else(|| one(&self.input, &tools.commands)) {
            let run = |line: &Value| command(line).map(|command| Action::Shell { command, cwd: cwd.clone() });
            let lines = if self.packed { unpacked(lines) } else { lines.clone() };
            let actions: Option<Vec<Action>> = match lines {
                Value::Array(lines) => lines.iter().map(run).collect(),
                line => run(&line).map(|action| vec![action]),
            };
            return actions.filter(|actions| !actions.is_empty()).ok_or_else(|| self.lacks("commands"));
        }
        let given = one(&self.input, &tools.command).ok_or_else(|| self.lacks("command"))?;
        // the host runs this itself; a text would go to a shell, which may do more
        if let Some([Value::String(program), Value::String(patch)]) = given.as_array().map(Vec::as_slice)
            && program == "apply_patch"
        {
            return self.patched(patch);
        }
        // a program whose arguments stand beside it
        let apart = given.is_string() && self.input.get("args").is_some_and(|words| !words.is_null());
        let command = command(if apart { &self.input } else { given }).ok_or_else(|| self.lacks("command"))?;
        let types = self.input.get(&tools.typed).and_then(Value::as_bool) == Some(true);
        Ok(match types {
            true if is_key(&command) => Vec::new(),
            true => vec![Action::Code { language: "text typed into a running program".to_owned(), source: command }],
            false => vec![Action::Shell { command, cwd }],
        })
    }

    /// A call that fetches a URL, or all URLs in a text.
    fn fetch(&self, argument: &'static str) -> Result<Vec<Action>, EventError> {
        let fetch = |url: &str| Action::Fetch { url: url.to_owned() };
        if let Some(items) = self.input.get(argument).and_then(Value::as_array) {
            let url = |item: &Value| item.get("url").unwrap_or(item).as_str().map(fetch);
            let urls: Option<Vec<Action>> = items.iter().map(url).collect();
            return urls.filter(|urls| !urls.is_empty()).ok_or_else(|| self.lacks(argument));
        }
        let text = self.needed(argument)?;
        if !text.trim().contains(char::is_whitespace) {
            return Ok(vec![fetch(text)]);
        }
        // which characters around a URL the host leaves out is not known: what stands there is judged with and without
        let ends = |c: char| "\"'`<>()[]{}|,.;:!?".contains(c);
        let words = text.split_whitespace().filter(|word| word.contains("://"));
        let urls: BTreeSet<&str> =
            words.flat_map(|word| [word.trim_matches(['"', '\'', '<', '>']), word.trim_matches(ends)]).collect();
        if urls.is_empty() { Err(self.lacks(argument)) } else { Ok(urls.into_iter().map(fetch).collect()) }
    }

    /// The action of a call to one of the host's built-in tools. Its paths are on this machine and are made absolute.
    fn own(&self, tool: &str, input: &Value) -> Result<Action, EventError> {
        let mut arguments = input.clone();
        if let Some(fields) = arguments.as_object_mut() {
            for key in &self.tools().paths {
                let paths = match fields.get_mut(key) {
                    Some(Value::Array(items)) => items.iter_mut().collect(),
                    Some(value) => vec![value],
                    None => Vec::new(),
                };
                for path in paths {
                    let Value::String(path) = path else { continue };
                    let absolute = self.absolute(Path::new(path.as_str())).ok_or_else(|| self.lacks("cwd"))?;
                    *path = absolute.to_string_lossy().into_owned();
                }
            }
            let named = self.tools().paths.iter().any(|key| fields.get(key).is_some_and(|path| !path.is_null()));
            if let Some(cwd) = self.cwd().filter(|_| self.is_one_of(&self.tools().searches) && !named) {
                fields.insert("path".to_owned(), json!(cwd));
            }
        }
        if let Some(cwd) = self.cwd() {
            resolve(&mut arguments, cwd);
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
        self.cwd().map(|cwd| cwd.join(path))
    }

    /// Whether the result of the call may come from outside the user's own files: from a network, or from a source that
    /// cannot be determined.
    #[must_use]
    pub fn foreign(&self) -> bool {
        if self.is_one_of(&self.listed().local) && self.remote().next().is_none() {
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
        !self.is_one_of(&self.tools().shells) && class(self.tool()).0 == Verb::Call
    }
}

/// The argument with one of these names; `None` if several are present, because it is unknown which one the host uses.
fn one<'a>(input: &'a Value, names: &[String]) -> Option<&'a Value> {
    let mut found = names.iter().filter_map(|name| input.get(name)).filter(|value| !value.is_null());
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// Whether a typed text is the name of a key, or nothing.
fn is_key(text: &str) -> bool {
    const KEYS: [&str; 11] = ["UP", "DOWN", "LEFT", "RIGHT", "HOME", "END", "PGUP", "PGDN", "TAB", "ESC", "BS"];
    text.is_empty() || KEYS.contains(&text) || text.strip_prefix("C-").is_some_and(|key| key.len() == 1)
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

/// A shell command from a text, from a list of words, which are quoted, or from a program with its arguments.
fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => {
            let program = fields.get("command")?.as_str()?;
            let arguments = fields.get("args").map_or(Some(String::new()), command)?;
            Some(format!("{program} {arguments}").trim_end().to_owned())
        }
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|w| w.as_str().map(|w| format!("'{}'", w.replace('\'', "'\\''")))).collect();
            words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
        }
        _ => None,
    }
}
