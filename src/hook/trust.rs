//! Trust in a hook of Codex: Codex runs a hook only if the user's `config.toml` contains the hash of its definition.
//!
//! As observed in Codex 0.169: `[hooks.state."FILE:event:GROUP:HANDLER"]` with `trusted_hash`, the SHA-256 of the
//! handler as compact JSON with sorted keys. The hash covers command, timeout and matcher. Codex silently skips a hook
//! that has changed. Hooks in `/etc/codex` are managed and need no trust.

use super::install::{InstallError, handlers};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

/// Codex's entry for one trusted hook: its key below `hooks.state`, and the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// `FILE:event:GROUP:HANDLER`
    pub key: String,
    /// `sha256:` followed by 64 hexadecimal digits.
    pub hash: String,
}

/// The trust entries that agrail's hooks in a `hooks.json` need. `file`: the absolute path of that file, as Codex
/// spells it; `hooks`: its content.
///
/// # Errors
/// [`InstallError`] if `hooks` cannot be parsed.
pub fn needed(file: &str, hooks: &str) -> Result<Vec<Trust>, InstallError> {
    let of = |found: super::install::Handler| {
        let event = snake(&found.event);
        Trust { key: format!("{file}:{event}:{}:{}", found.group, found.place), hash: hash(&event, &found) }
    };
    Ok(handlers(hooks)?.into_iter().map(of).collect())
}

/// The configuration of Codex with these trust entries; everything else stays as it is.
///
/// # Errors
/// [`InstallError`] if the configuration cannot be parsed, or `hooks.state` is not a table.
pub fn with_trust(config: &str, trust: &[Trust]) -> Result<String, InstallError> {
    let mut document = parsed(config)?;
    let state = state(&mut document)?;
    for one in trust {
        let mut entry = Table::new();
        entry.insert("trusted_hash", value(&one.hash));
        state.insert(&one.key, Item::Table(entry));
    }
    Ok(document.to_string())
}

/// The configuration without these trust entries.
///
/// # Errors
/// [`InstallError`] if the configuration cannot be parsed.
pub fn without_trust(config: &str, trust: &[Trust]) -> Result<String, InstallError> {
    let mut document = parsed(config)?;
    let table = document.get_mut("hooks").and_then(|hooks| hooks.get_mut("state")).and_then(Item::as_table_like_mut);
    if let Some(state) = table {
        trust.iter().for_each(|one| drop(state.remove(&one.key)));
    }
    Ok(document.to_string())
}

/// The machine's `requirements.toml` with `features.hooks` required: without it, `codex --disable hooks` disables even
/// managed hooks.
///
/// # Errors
/// [`InstallError`] if the requirements cannot be parsed, or `features` is not a table.
pub fn with_hooks_required(requirements: &str) -> Result<String, InstallError> {
    let mut document = parsed(requirements)?;
    let features = document.entry("features").or_insert_with(|| Item::Table(Table::new()));
    let features = features.as_table_mut().ok_or_else(|| InstallError::Form("features".to_owned(), "a table"))?;
    features.insert("hooks", value(true));
    Ok(document.to_string())
}

/// Why Codex would skip a hook, as far as its configuration shows; empty if nothing is wrong.
#[must_use]
pub fn doubts(config: &str, trust: &[Trust]) -> Vec<String> {
    let Ok(document) = parsed(config) else { return vec!["cannot parse Codex's config.toml".to_owned()] };
    let mut found = Vec::new();
    if document.get("features").and_then(|f| f.get("hooks")).and_then(Item::as_bool) == Some(false) {
        found.push("features.hooks is false, so Codex runs no hooks".to_owned());
    }
    let state = document.get("hooks").and_then(|hooks| hooks.get("state"));
    let hash = |one: &Trust| state?.get(&one.key)?.get("trusted_hash")?.as_str();
    if trust.iter().any(|one| hash(one) != Some(one.hash.as_str())) {
        found.push("nobody has trusted the hook in its present form, so Codex skips it".to_owned());
    }
    found
}

fn parsed(config: &str) -> Result<DocumentMut, InstallError> {
    config.parse().map_err(|problem: toml_edit::TomlError| InstallError::Toml(problem.to_string()))
}

fn state(document: &mut DocumentMut) -> Result<&mut Table, InstallError> {
    let form = |what: &str| InstallError::Form(what.to_owned(), "a table");
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let hooks = document.entry("hooks").or_insert_with(implicit).as_table_mut().ok_or_else(|| form("hooks"))?;
    hooks.entry("state").or_insert_with(implicit).as_table_mut().ok_or_else(|| form("hooks.state"))
}

/// The name of an event in snake case: `PreToolUse` becomes `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for c in event.chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}

/// The hash of a handler as Codex computes it: over JSON with sorted keys and without spaces.
fn hash(event: &str, found: &super::install::Handler) -> String {
    let timeout = found.hook.get("timeout").and_then(Value::as_u64).unwrap_or(600).max(1);
    let command = found.hook.get("command").cloned().unwrap_or_default();
    let mut identity = json!({
        "event_name": event,
        "hooks": [{"async": false, "command": command, "timeout": timeout, "type": "command"}],
    });
    if let (Some(matcher), Some(fields)) = (&found.matcher, identity.as_object_mut()) {
        fields.insert("matcher".to_owned(), json!(matcher));
    }
    format!("sha256:{}", sha256(identity.to_string().as_bytes()))
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    crate::hex(&Sha256::digest(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FILE: &str = "/home/a/.codex/hooks.json";

    fn hooks(command: &str) -> String {
        super::super::install::with_hook(super::super::Host::Codex, "", command).unwrap()
    }

    #[test]
    fn hash_equals_that_of_codex() {
        // by the rule found with `hooks/list` of the app-server of Codex 0.169.0; `.ci/long hosts` tests the real Codex
        let hooks = r#"{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
            {"type": "command", "command": "/tmp/hosts/hooks/agrail hook codex", "timeout": 20}]}]}}"#;
        let trust = needed("/tmp/hosts/home/.codex/hooks.json", hooks).unwrap();
        assert_eq!(trust.first().unwrap().key, "/tmp/hosts/home/.codex/hooks.json:pre_tool_use:0:0");
        assert_eq!(
            trust.first().unwrap().hash,
            "sha256:68aec882082843eca295b8b6220cb8e05c4ad5f9b868547d9df7967b07858625"
        );
    }

    #[test]
    fn trust_is_added_beside_others_and_removed() {
        let before = "model = \"x\" # mine\n\n[hooks.state.\"/other:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
        let trust = needed(FILE, &hooks("/usr/bin/agrail hook codex")).unwrap();
        assert_eq!(trust.len(), 3);
        for config in ["", before] {
            let with = with_trust(config, &trust).unwrap();
            assert!(doubts(&with, &trust).is_empty(), "{with}");
            assert_eq!(with_trust(&with, &trust).unwrap(), with);
            assert!(with.contains("model = \"x\" # mine") || config.is_empty());
            let without = without_trust(&with, &trust).unwrap();
            assert!(!without.contains(FILE) && without.contains("/other") == config.contains("/other"), "{without}");
            // a changed hook is no longer trusted
            let moved = needed(FILE, &hooks("/opt/agrail hook codex")).unwrap();
            assert_eq!(doubts(&with, &moved).len(), 1);
            let off = format!("{with}\n[features]\nhooks = false\n");
            assert_eq!(doubts(&off, &trust).len(), 1);
        }
        assert_eq!(doubts("", &trust).len(), 1);
        assert!(with_trust("hooks = 1", &trust).is_err() && with_trust("[", &trust).is_err());
    }
}
