//! The hosts whose events are known. To support another one, see "a host" in `CONTRIBUTING.md`.

use super::profile::Profile;
use serde_json::{Value, json};
use std::str::FromStr;
use std::sync::OnceLock;

/// The host that runs the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Cursor.
    Cursor,
    /// GitHub Copilot CLI.
    Copilot,
    /// Cline.
    Cline,
    /// Windsurf's Cascade.
    Windsurf,
    /// Devin CLI and Devin Local.
    Devin,
    /// OpenHands.
    #[strum(serialize = "openhands")]
    OpenHands,
    /// Crush.
    Crush,
    /// Gemini CLI.
    GeminiCli,
    /// Qwen Code.
    QwenCode,
    /// OpenCode.
    #[strum(serialize = "opencode")]
    OpenCode,
    /// goose.
    Goose,
    /// Any host that blocks on exit code 2.
    Generic,
}

impl Host {
    /// All hosts.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The name, as given on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What it is called by its makers.
    #[must_use]
    pub fn title(self) -> &'static str {
        &self.profile().title
    }

    /// Versions, and how its events are known: from a run, from source code, or from documentation.
    #[must_use]
    pub fn known_from(self) -> &'static str {
        &self.profile().known_from
    }

    /// Calls that the guard does not see, and what the host does where it should ask or block.
    #[must_use]
    pub fn gaps(self) -> &'static str {
        &self.profile().gaps
    }

    /// An event before a call of the shell, as the host would write it.
    #[must_use]
    pub fn sample(self, command: &str) -> Value {
        let profile = self.profile();
        let mut event = json!({});
        let name = profile.events.before.first().map(String::as_str).unwrap_or_default();
        let mut put = |field: Option<&String>, value: Value| {
            let Some(field) = field else { return };
            let mut place = &mut event;
            for key in field.trim_start_matches('/').split('/') {
                place = &mut place[key];
            }
            *place = value;
        };
        put(profile.event.first(), json!(name));
        if let Some(implied) = profile.implied.get(name) {
            put(implied.arguments.get("command"), json!(command));
            return event;
        }
        put(profile.fields.tool.last(), json!(profile.tools.shells.first()));
        let argument = profile.tools.commands.first().or(profile.tools.command.first()).cloned().unwrap_or_default();
        let value = if profile.tools.commands.is_empty() { json!(command) } else { json!([command]) };
        put(profile.fields.input.last(), json!({argument: value}));
        event
    }

    /// What it calls things.
    pub(crate) fn profile(self) -> &'static Profile {
        static PROFILES: [OnceLock<Profile>; Host::ALL.len()] = [const { OnceLock::new() }; Host::ALL.len()];
        let text = match self {
            Self::ClaudeCode => include_str!("hosts/claude-code.toml"),
            Self::Codex => include_str!("hosts/codex.toml"),
            Self::Cursor => include_str!("hosts/cursor.toml"),
            Self::Copilot => include_str!("hosts/copilot.toml"),
            Self::Cline => include_str!("hosts/cline.toml"),
            Self::Windsurf => include_str!("hosts/windsurf.toml"),
            Self::Devin => include_str!("hosts/devin.toml"),
            Self::OpenHands => include_str!("hosts/openhands.toml"),
            Self::Crush => include_str!("hosts/crush.toml"),
            Self::GeminiCli => include_str!("hosts/gemini-cli.toml"),
            Self::QwenCode => include_str!("hosts/qwen-code.toml"),
            Self::OpenCode => include_str!("hosts/opencode.toml"),
            Self::Goose => include_str!("hosts/goose.toml"),
            Self::Generic => include_str!("hosts/generic.toml"),
        };
        // a test loads each file; without its names, each event is one that cannot be parsed
        let place = PROFILES.get(self as usize).unwrap_or(&PROFILES[0]);
        place.get_or_init(|| toml::from_str(text).unwrap_or_default())
    }
}

/// The name of a host is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown host '{0}'; use one of: {known}", known = Host::ALL.iter().map(|host| host.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownHost(String);

impl FromStr for Host {
    type Err = UnknownHost;

    fn from_str(name: &str) -> Result<Self, UnknownHost> {
        Self::ALL.iter().copied().find(|host| host.name() == name).ok_or_else(|| UnknownHost(name.to_owned()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_file_loads() {
        for host in Host::ALL {
            let text =
                std::fs::read_to_string(format!("{}/src/hook/hosts/{}.toml", env!("CARGO_MANIFEST_DIR"), host.name()));
            let profile: Profile = toml::from_str(&text.unwrap()).unwrap();
            assert!(
                !profile.event.is_empty() && !profile.fields.tool.is_empty() && host.title() == profile.title,
                "{host:?}"
            );
            let super::super::profile::Answers { allow, ask, deny, block, .. } = &profile.answers;
            for answer in [allow, ask, deny, block].into_iter().flatten() {
                let json: serde_json::Value = serde_json::from_str(answer).unwrap();
                assert!(json.is_object() && answer.contains("REASON"), "{answer}");
            }
            assert_eq!(profile.answers.ask.is_some(), !profile.asks_in.is_empty(), "{host:?}");
            assert_eq!(profile.install.is_some(), Host::installable().any(|other| other == *host), "{host:?}");
        }
    }
}
