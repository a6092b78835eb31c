//! Adds the hook to a host's settings, and removes it. All functions are pure; the caller reads and writes the files.
//!
//! Most hosts keep hooks in JSON: `hooks.EVENT` is a list of hooks, or of groups with a `matcher` and a list of `hooks`. All
//! other settings and hooks in the file stay as they are. Two hosts have files of their own: a script for each event, or a
//! plugin. What differs is in `[install]` of the host's file.
//!
//! Hosts run a call if its hook is missing, killed or late, or if its output makes no sense to them. The installed command
//! is therefore a shell line around the guard ([`closed`]), which blocks the call in all these cases.

use super::Host;
use super::profile::Install;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What stands for the command line in the file of a host.
const COMMAND: &str = "COMMAND";
/// First line of a script.
const SHELL: &str = "#!/bin/sh";
/// The plugin for OpenCode.
const PLUGIN: &str = include_str!("hosts/opencode.js");

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
    /// The file exists and is not agrail's.
    #[error("the file is not one that agrail has written; move it away first")]
    Foreign,
    /// The settings of a generic host are not known.
    #[error("the settings of this host are not known; configure 'agrail hook generic' in the host")]
    Unknown,
}

/// Seconds after the limit of a host after which the line kills the guard; still before the host gives up.
const KILL_S: u64 = 5;

/// Which settings of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All projects of an account.
    User,
    /// One project.
    Project,
    /// All users of a machine; no project can switch these settings off.
    Machine,
}

/// Where a host keeps the settings of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The variable with a folder that takes the place of the one in `path`, and the folder below it.
    pub moved: Option<(&'static str, &'static str)>,
    /// Below the home or the project; absolute for the machine.
    pub path: &'static str,
    /// The names of the files in it, if it is a folder with a script for each event.
    pub scripts: Vec<&'static str>,
}

impl Host {
    fn install(self) -> Result<&'static Install, InstallError> {
        self.profile().install.as_ref().ok_or(InstallError::Unknown)
    }

    /// The hosts whose settings are known.
    pub fn installable() -> impl Iterator<Item = Self> {
        // a test compares it with the files, which a command line does not wait for
        Self::ALL.iter().copied().filter(|host| *host != Self::Generic)
    }

    /// Where the host keeps the settings of a scope; `None` if it has no such scope.
    ///
    /// # Errors
    /// [`InstallError::Unknown`] for a generic host.
    pub fn settings(self, scope: Scope) -> Result<Option<Settings>, InstallError> {
        let install = self.install()?;
        let path = match scope {
            Scope::User => Some(&install.user),
            Scope::Project => Some(&install.project),
            Scope::Machine => install.machine.as_ref(),
        };
        let events = install.tools.iter().chain(&install.others).filter(|_| install.scripts);
        let moved = (scope == Scope::User && !install.variable.is_empty())
            .then_some((install.variable.as_str(), install.below.as_str()));
        Ok(path.map(|path| Settings { moved, path, scripts: events.map(String::as_str).collect() }))
    }
}

/// The shell line that runs the hook, and blocks the call if the hook fails in any way. `command`: the command line of
/// the hook.
///
/// Two outcomes of the guard are passed on: exit code 0 with no output or with one JSON object, and exit code 2 with
/// the guard's text on standard error. If the guard is missing, killed, stopped, late or garbled, or ends with another
/// code, the line blocks the call with a reason, in the words of the host. The reason matters: Codex takes a silent exit
/// code 2 for a broken hook and runs the call.
#[must_use]
pub fn closed(host: Host, command: &str) -> String {
    let limit = host.profile().install.as_ref().map_or(110, |install| install.limit_s);
    let says = |what: &str| match &host.profile().answers.block {
        Some(_) => {
            format!("printf %s \"{}\"", host.blocks(what).stdout.trim().replace('\\', "\\\\").replace('"', "\\\""))
        }
        None => format!("echo \"agrail: {what}\" >&2; exit 2"),
    };
    let (blocked, failed) =
        (says("the call is blocked"), says("the guard gave no answer, so the call is blocked; run agrail doctor"));
    let script = format!(
        "out=$(timeout -k {KILL_S} {limit} {command}); rc=$?; case $rc:$out in 0:|0:{{*}}) printf %s \"$out\";; 2:*) {blocked};; \
         *) cat >/dev/null; {failed};; esac"
    );
    let or = if host.profile().install.as_ref().is_some_and(|install| install.or_block) { " || exit 2" } else { "" };
    format!("sh -c '{}'{or}", script.replace('\'', "'\\''"))
}

/// The settings with exactly one entry for the hook; a former entry is replaced. `command`: the whole shell line, from
/// [`closed`].
///
/// # Errors
/// [`InstallError`] if the settings cannot be parsed or have another form.
pub fn with_hook(host: Host, settings: &str, command: &str) -> Result<String, InstallError> {
    let install = host.install()?;
    if install.scripts || install.plugin {
        if !settings.trim().is_empty() && !is_ours(settings) {
            return Err(InstallError::Foreign);
        }
        return Ok(match install.plugin {
            true => PLUGIN.replace(&format!("\"{COMMAND}\""), &json!(command).to_string()),
            false => format!("{SHELL}\n{command}\n"),
        });
    }
    let mut root = parsed(settings)?;
    remove(&mut root)?;
    let more: Map<String, Value> = install.root.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default();
    for (key, value) in more {
        root.entry(key).or_insert(value);
    }
    let entry: Value = serde_json::from_str(&install.entry)?;
    let hooks = object(&mut root, "hooks")?;
    let events =
        install.tools.iter().map(|event| (event, true)).chain(install.others.iter().map(|event| (event, false)));
    for (event, is_tool) in events {
        let mut hook = entry.clone();
        for field in hook.as_object_mut().into_iter().flatten().map(|(_, field)| field) {
            if field == COMMAND {
                *field = json!(command);
            }
        }
        let listed = match (install.flat, &install.matcher) {
            (true, _) => hook,
            (false, Some(matcher)) if is_tool => json!({"matcher": matcher, "hooks": [hook]}),
            (false, _) => json!({"hooks": [hook]}),
        };
        list(hooks, event)?.push(listed);
    }
    Ok(printed(&root))
}

/// The settings without the hook; groups and lists that become empty are removed, too. `None` if nothing of the file is
/// left.
///
/// # Errors
/// [`InstallError`] if the settings cannot be parsed or have another form.
pub fn without_hook(host: Host, settings: &str) -> Result<Option<String>, InstallError> {
    let install = host.install()?;
    if install.scripts || install.plugin {
        return Ok((!is_ours(settings)).then(|| settings.to_owned()));
    }
    let mut root = parsed(settings)?;
    remove(&mut root)?;
    let more: Map<String, Value> = install.root.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default();
    let only = root.iter().all(|(key, value)| more.get(key) == Some(value));
    Ok((!only).then(|| printed(&root)))
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
            let matcher = entry.get("matcher").and_then(Value::as_str).map(str::to_owned);
            let hooks =
                entry.get("hooks").and_then(Value::as_array).map_or_else(|| vec![entry], |h| h.iter().collect());
            for (place, hook) in hooks.into_iter().enumerate().filter(|(_, hook)| ours(hook)) {
                let (event, matcher, hook) = (event.clone(), matcher.clone(), hook.clone());
                found.push(Handler { event, group, place, matcher, hook });
            }
        }
    }
    Ok(found)
}

/// The command lines of agrail's hooks that run before a tool call.
///
/// # Errors
/// [`InstallError`] if the settings cannot be parsed.
pub fn installed(host: Host, settings: &str) -> Result<Vec<String>, InstallError> {
    let install = host.install()?;
    if install.scripts || install.plugin {
        let line = settings.lines().find_map(|line| {
            let text = line.strip_prefix("const LINE = ").unwrap_or(line);
            let text = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
            text.starts_with("sh -c ").then_some(text)
        });
        return Ok(line.filter(|_| is_ours(settings)).into_iter().collect());
    }
    let before = &host.profile().events.before;
    let found = handlers(settings)?.into_iter().filter(|found| before.contains(&found.event));
    let mut lines: Vec<String> = found.filter_map(|found| line(&found.hook).map(str::to_owned)).collect();
    lines.sort();
    lines.dedup();
    Ok(lines)
}

/// Why the hook might not run or not block, as far as the settings show; empty if nothing is wrong.
#[must_use]
pub fn doubts(host: Host, settings: &str) -> Vec<String> {
    let Ok(install) = host.install() else { return Vec::new() };
    if install.scripts || install.plugin {
        return Vec::new();
    }
    let Ok(root) = parsed(settings) else { return vec!["cannot parse the settings".to_owned()] };
    let mut found = Vec::new();
    if root.get("disableAllHooks").and_then(Value::as_bool) == Some(true) {
        found.push("disableAllHooks is set, so no hook runs".to_owned());
    }
    let entry: Map<String, Value> = serde_json::from_str(&install.entry).unwrap_or_default();
    let before = &host.profile().events.before;
    let Ok(handlers) = handlers(settings) else { return vec!["cannot parse the settings".to_owned()] };
    for Handler { matcher, hook, .. } in handlers.iter().filter(|found| before.contains(&found.event)) {
        if let Some(matcher) = matcher.as_deref().filter(|matcher| !matches!(*matcher, "" | "*" | ".*")) {
            found.push(format!("the hook runs only for tools that match '{matcher}'"));
        }
        let differs = |(key, value): &(&String, &Value)| *value != COMMAND && hook.get(key.as_str()) != Some(*value);
        for (key, value) in entry.iter().filter(differs) {
            found.push(format!("{key} is not {value}, so the call may run if the hook is killed or late"));
        }
        if !line(hook).unwrap_or_default().contains("blocked") {
            let what = "the command does not block by itself, so the call runs if the guard is missing or killed";
            found.push(what.to_owned());
        }
    }
    // once for all events
    let mut seen = BTreeSet::new();
    found.retain(|doubt| seen.insert(doubt.clone()));
    found
}

/// The command line of a hook: some hosts call the field otherwise.
fn line(hook: &Value) -> Option<&str> {
    ["command", "bash"].iter().find_map(|key| hook.get(*key)?.as_str())
}

fn ours(hook: &Value) -> bool {
    line(hook).is_some_and(is_ours)
}

/// Whether a command line runs agrail's hook: `agrail ... hook HOST` or `agrail-hook HOST`.
fn is_ours(command: &str) -> bool {
    // a path with a space is quoted
    let is_hook = |word: &str| word == "hook" || word.trim_end_matches(['\'', '"', '\\']).ends_with("agrail-hook");
    let mut words = command.split_whitespace().skip_while(|word| !is_hook(word)).skip(1);
    // the host's name may be followed by options or by the rest of the shell line
    let name = words.next().unwrap_or_default().trim_end_matches([')', ';', '\'', '"']);
    Host::ALL.iter().any(|host| host.name() == name) && command.contains("agrail")
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
            if ours(group) {
                return false;
            }
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

    /// The place of the command line, unfilled.
    const COMMAND_ALONE: &str = "\"COMMAND\"";
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
        for (host, program) in [
            (Host::ClaudeCode, "agrail hook"),
            (Host::Codex, "agrail hook"),
            (Host::ClaudeCode, "agrail-hook"),
            (Host::Codex, "it'\\''s/agrail-hook'"),
        ] {
            for before in ["", "{}", OTHERS] {
                let command = |folder: &str| closed(host, &format!("{folder}/{program} {} --config /x", host.name()));
                let once = with_hook(host, before, &command("/usr/bin")).unwrap();
                assert_eq!(with_hook(host, &once, &command("/usr/bin")).unwrap(), once);
                let moved = with_hook(host, &once, &command("/opt")).unwrap();
                assert_eq!(installed(host, &moved).unwrap(), [command("/opt")]);
                assert!(doubts(host, &once).is_empty());
                let out = without_hook(host, &once).unwrap().unwrap_or_else(|| "{}".to_owned());
                let out: Value = serde_json::from_str(&out).unwrap();
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
        let settings = with_hook(Host::ClaudeCode, "{}", &closed(Host::ClaudeCode, "agrail hook claude-code")).unwrap();
        let open = with_hook(Host::ClaudeCode, "{}", "agrail hook claude-code").unwrap();
        assert_eq!(doubts(Host::ClaudeCode, &open).len(), 1);
        let weak = settings.replace("\"block\"", "\"allow\"").replacen("\"*\"", "\"Bash\"", 1);
        assert_eq!(doubts(Host::ClaudeCode, &weak).len(), 2);
        let off = settings.replacen('{', "{\"disableAllHooks\": true,", 1);
        assert_eq!(doubts(Host::ClaudeCode, &off).len(), 1);
    }

    #[test]
    fn each_host_gets_its_hook_and_loses_it_again() {
        for host in Host::installable() {
            let command = closed(host, &format!("/usr/bin/agrail-hook {}", host.name()));
            let once = with_hook(host, "", &command).unwrap();
            assert_eq!(with_hook(host, &once, &command).unwrap(), once, "{host:?}");
            assert_eq!(installed(host, &once).unwrap(), [command], "{host:?}: {once}");
            assert_eq!(doubts(host, &once), Vec::<String>::new(), "{host:?}");
            assert_eq!(without_hook(host, &once).unwrap(), None, "{host:?}");
            assert!(host.settings(Scope::User).unwrap().is_some() && !once.contains(COMMAND_ALONE), "{host:?}: {once}");
        }
        let foreign = "export const Other = async () => ({})\n";
        assert!(matches!(with_hook(Host::OpenCode, foreign, "x"), Err(InstallError::Foreign)));
        assert_eq!(without_hook(Host::OpenCode, foreign).unwrap().as_deref(), Some(foreign));
    }

    #[test]
    fn malformed_settings_are_refused() {
        for settings in ["[]", "{", "{\"hooks\": []}", "{\"hooks\": {\"PreToolUse\": {}}}"] {
            assert!(with_hook(Host::ClaudeCode, settings, "agrail").is_err(), "{settings}");
        }
    }
}
