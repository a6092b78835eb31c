//! The origin of a report: version, time and command.

use crate::untrusted::{redact, visible};
use jiff::Timestamp;

/// Most characters of a command.
const COMMAND: usize = 400;

/// `agrail 0.1.0, 2026-01-31 11:20 UTC: agrail evolve run --rounds 3`, without secrets. `words`: the command line.
#[must_use]
pub fn made(words: impl IntoIterator<Item = String>) -> String {
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let quoted = |word: String| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c));
        if plain { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    let command = std::iter::once(program).chain(words.map(quoted)).collect::<Vec<_>>().join(" ");
    let command = visible(&redact(&command)).chars().take(COMMAND).collect::<String>();
    format!("agrail {}, {}: {command}", env!("CARGO_PKG_VERSION"), Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_repeated_and_holds_no_secret() {
        let words =
            ["/usr/bin/agrail", "check", "it's", "--set", "model.key=sk-ant-api03-Zk3Jq8Lw2Xv9Bn4Mc7Rt1Yp6Hs5Df0Gg"];
        let text = made(words.map(str::to_owned));
        assert!(text.starts_with(concat!("agrail ", env!("CARGO_PKG_VERSION"), ", 2")), "{text}");
        assert!(text.contains(" UTC: agrail check 'it'\\''s' --set "), "{text}");
        assert!(!text.contains("Zk3Jq8Lw2Xv9"), "{text}");
    }
}
