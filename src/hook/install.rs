//! Adds the hook to a host's settings, and removes it. All functions are pure; the caller reads and writes the files.
//!
//! Both hosts keep hooks in the same form: `hooks.EVENT` is a list of groups, each with a `matcher` and a list of
//! `hooks`. All other settings and hooks in the file stay as they are.
//!
//! Both hosts run a call if its hook is missing, killed or late, or if its output makes no sense to them. The installed
//! command is therefore a shell line around the guard ([`closed`]), which blocks the call in all these cases.

use super::Host;
use serde_json::{Map, Value, json};

/// Seconds that the host waits for the hook. The hook answers well before.
pub const TIMEOUT_S: u64 = 120;
/// The events that run the hook, and whether they concern a tool, so that they take a matcher.
const EVENTS: [(&str, bool); 3] = [("PreToolUse", true), ("PostToolUse", true), ("UserPromptSubmit", false)];
/// Further events, for Claude Code only.
const MORE: [(&str, bool); 1] = [("PostToolUseFailure", true)];

/// Why the settings cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file is not JSON.
    #[error("the settings are not valid JSON: {0}; fix the file first")]
    Json(#[from] serde_json::Error),
    /// The file is not TOML.
    #[error("the settings are not valid TOML: {0}; fix the file first")]
    Toml(String),
    /// A part of the settings has the wrong type: its name, and the type that it must have.
    #[error("in the settings, '{0}' must be {1}; fix the file first")]
    Form(String, &'static str),
}

/// Seconds after which the shell line terminates the guard; less than the host waits.
const LIMIT_S: u64 = 110;
/// Seconds after [`LIMIT_S`] after which it kills the guard; still before the host gives up.
const KILL_S: u64 = 5;

/// The shell line that runs the hook, and blocks the call if the hook fails in any way. `command`: the command line of
/// the hook.
///
/// Two outcomes of the guard are passed on: exit code 0 with no output or with one JSON object, and exit code 2 with
/// the guard's text on standard error. If the guard is missing, killed, stopped, late or garbled, or ends with another
/// code, the line exits with code 2 and a reason. The reason matters: Codex takes a silent exit code 2 for a broken
/// hook and runs the call.
#[must_use]
pub fn closed(command: &str) -> String {
    let script = format!(
        "out=$(timeout -k {KILL_S} {LIMIT_S} {command}); rc=$?; case $rc:$out in 0:|0:{{*}}) printf %s \"$out\";; 2:*) echo blocked by agrail >&2; exit 2;; \
         *) cat >/dev/null; echo agrail gave no answer, so the call is blocked: run agrail doctor >&2; exit 2;; esac"
    );
    format!("sh -c '{}'", script.replace('\'', "'\\''"))
}

/// The settings with exactly one entry for the hook; a former entry is replaced. `command`: the whole shell line, from
/// [`closed`].
///
/// # Errors
/// [`InstallError`] if the settings cannot be parsed or have another form.
pub fn with_hook(host: Host, settings: &str, command: &str) -> Result<String, InstallError> {
    let mut root = parsed(settings)?;
    remove(&mut root)?;
    let hooks = object(&mut root, "hooks")?;
    let more = if host == Host::ClaudeCode { &MORE[..] } else { &[] };
    for (event, tools) in EVENTS.iter().chain(more).copied() {
        let mut hook = json!({
            "type": "command",
            "command": command,
            "timeout": TIMEOUT_S,
        });
        if let (Host::ClaudeCode, Some(fields)) = (host, hook.as_object_mut()) {
            // read by Claude Code 2.1.295 or later; earlier versions ignore unknown keys
            fields.insert("onFailure".to_owned(), json!("block"));
        }
        let mut group = Map::new();
        if tools {
            group.insert("matcher".to_owned(), json!("*"));
        }
        group.insert("hooks".to_owned(), json!([hook]));
        list(hooks, event)?.push(Value::Object(group));
    }
    Ok(printed(&root))
}

/// The settings without the hook; groups and lists that become empty are removed, too.
///
/// # Errors
/// [`InstallError`] if the settings cannot be parsed or have another form.
pub fn without_hook(settings: &str) -> Result<String, InstallError> {
    let mut root = parsed(settings)?;
    remove(&mut root)?;
    Ok(printed(&root))
}

/// One of agrail's hooks in the settings, with its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Handler {
    pub event: String,
    pub group: usize,
    pub place: usize,
    pub matcher: Option<String>,
    pub hook: Value,
}

/// All of agrail's hooks, of any event.
pub(super) fn handlers(settings: &str) -> Result<Vec<Handler>, InstallError> {
    let root = parsed(settings)?;
    let mut found = Vec::new();
    for (event, groups) in root.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for (group, entry) in groups.as_array().into_iter().flatten().enumerate() {
            let hooks = entry.get("hooks").and_then(Value::as_array).into_iter().flatten();
            for (place, hook) in hooks.enumerate().filter(|(_, hook)| ours(hook)) {
                let matcher = entry.get("matcher").and_then(Value::as_str).map(str::to_owned);
                found.push(Handler { event: event.clone(), group, place, matcher, hook: hook.clone() });
            }
        }
    }
    Ok(found)
}

/// The command lines of agrail's hooks that run before a tool call.
///
/// # Errors
/// [`InstallError`] if the settings cannot be parsed.
pub fn installed(settings: &str) -> Result<Vec<String>, InstallError> {
    let command = |found: Handler| found.hook.get("command")?.as_str().map(str::to_owned);
    Ok(handlers(settings)?.into_iter().filter(|found| found.event == "PreToolUse").filter_map(command).collect())
}

/// Why the hook might not run or not block, as far as the settings show; empty if nothing is wrong.
#[must_use]
pub fn doubts(host: Host, settings: &str) -> Vec<String> {
    let Ok(root) = parsed(settings) else { return vec!["cannot parse the settings".to_owned()] };
    let mut found = Vec::new();
    if root.get("disableAllHooks").and_then(Value::as_bool) == Some(true) {
        found.push("disableAllHooks is set, so no hook runs".to_owned());
    }
    let groups = root.get("hooks").and_then(|h| h.get("PreToolUse")).and_then(Value::as_array);
    for group in groups.into_iter().flatten() {
        let hooks = group.get("hooks").and_then(Value::as_array);
        for hook in hooks.into_iter().flatten().filter(|hook| ours(hook)) {
            let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or_default();
            if !matches!(matcher, "" | "*" | ".*") {
                found.push(format!("the hook runs only for tools that match '{matcher}'"));
            }
            if host == Host::ClaudeCode && hook.get("onFailure").and_then(Value::as_str) != Some("block") {
                found.push("onFailure is not 'block', so the call runs if the hook is killed".to_owned());
            }
            let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
            if !command.contains("exit 2") {
                found.push(
                    "the command does not fall back to exit 2, so the call runs if the guard is missing or killed"
                        .to_owned(),
                );
            }
        }
    }
    found
}

fn ours(hook: &Value) -> bool {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default().trim();
    let hosts = Host::ALL;
    let mut words = command.split_whitespace().skip_while(|word| *word != "hook").skip(1);
    // the host's name may be followed by options or by the rest of the shell line
    let name = words.next().unwrap_or_default().trim_end_matches([')', ';', '\'', '"']);
    hosts.iter().any(|host| host.name() == name) && command.contains("agrail")
}

fn remove(root: &mut Map<String, Value>) -> Result<(), InstallError> {
    let Some(hooks) = root.get_mut("hooks") else { return Ok(()) };
    let Some(events) = hooks.as_object_mut() else {
        return Err(InstallError::Form("hooks".to_owned(), "an object"));
    };
    for (event, groups) in events.iter_mut() {
        let Some(groups) = groups.as_array_mut() else {
            return Err(InstallError::Form(format!("hooks.{event}"), "a list"));
        };
        groups.retain_mut(|group| {
            let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
            let before = hooks.len();
            hooks.retain(|hook| !ours(hook));
            hooks.len() == before || !hooks.is_empty()
        });
    }
    events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    if events.is_empty() {
        root.shift_remove("hooks");
    }
    Ok(())
}

fn parsed(settings: &str) -> Result<Map<String, Value>, InstallError> {
    if settings.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(settings)? {
        Value::Object(root) => Ok(root),
        _ => Err(InstallError::Form("the file".to_owned(), "an object")),
    }
}

fn object<'a>(root: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut Map<String, Value>, InstallError> {
    let value = root.entry(key).or_insert_with(|| json!({}));
    value.as_object_mut().ok_or_else(|| InstallError::Form(key.to_owned(), "an object"))
}

fn list<'a>(hooks: &'a mut Map<String, Value>, event: &str) -> Result<&'a mut Vec<Value>, InstallError> {
    let value = hooks.entry(event).or_insert_with(|| json!([]));
    value.as_array_mut().ok_or_else(|| InstallError::Form(format!("hooks.{event}"), "a list"))
}

fn printed(root: &Map<String, Value>) -> String {
    serde_json::to_string_pretty(root).map_or_else(|_| "{}".to_owned(), |text| text + "\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const OTHERS: &str = r#"{
  "model": "x",
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {
            "type": "command",
            "command": "lint"
          }
        ]
      }
    ],
    "Stop": []
  }
}
"#;

    #[test]
    fn hook_is_added_once_beside_others_and_removed() {
        for host in [Host::ClaudeCode, Host::Codex] {
            for before in ["", "{}", OTHERS] {
                let command = |folder: &str| closed(&format!("{folder}/agrail hook {}", host.name()));
                let once = with_hook(host, before, &command("/usr/bin")).unwrap();
                assert_eq!(with_hook(host, &once, &command("/usr/bin")).unwrap(), once);
                let moved = with_hook(host, &once, &command("/opt")).unwrap();
                assert_eq!(installed(&moved).unwrap(), [command("/opt")]);
                assert!(doubts(host, &once).is_empty());
                let out: Value = serde_json::from_str(&without_hook(&once).unwrap()).unwrap();
                let mut expected: Value = serde_json::from_str(if before.is_empty() { "{}" } else { before }).unwrap();
                if let Some(hooks) = expected.get_mut("hooks").and_then(Value::as_object_mut) {
                    hooks.remove("Stop");
                }
                assert_eq!(out, expected);
            }
        }
    }

    #[test]
    fn settings_that_disable_the_hook_are_found() {
        let settings = with_hook(Host::ClaudeCode, "{}", &closed("agrail hook claude-code")).unwrap();
        let open = with_hook(Host::ClaudeCode, "{}", "agrail hook claude-code").unwrap();
        assert_eq!(doubts(Host::ClaudeCode, &open).len(), 1);
        let weak = settings.replace("\"block\"", "\"allow\"").replacen("\"*\"", "\"Bash\"", 1);
        assert_eq!(doubts(Host::ClaudeCode, &weak).len(), 2);
        let off = settings.replacen('{', "{\"disableAllHooks\": true,", 1);
        assert_eq!(doubts(Host::ClaudeCode, &off).len(), 1);
    }

    #[test]
    fn malformed_settings_are_refused() {
        for settings in ["[]", "{", "{\"hooks\": []}", "{\"hooks\": {\"PreToolUse\": {}}}"] {
            assert!(with_hook(Host::ClaudeCode, settings, "agrail").is_err(), "{settings}");
        }
    }
}
