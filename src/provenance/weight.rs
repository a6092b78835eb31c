//! How much depends on whose word an action follows.

use crate::action::Action;
use crate::effect::shell::NoFiles;
use crate::effect::{self, Target, Verb, Who, tool_call};
use std::path::Path;

/// What an action does, as far as its origin matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Weight {
    /// It reads within what the agent may read.
    Look,
    /// It changes what lies at the agent's own place, and can be taken back.
    Local,
    /// It sends, pays, publishes, deletes, grants, contacts a place, or nobody knows what it does.
    #[default]
    Sink,
}

/// Words of the names of tools that work on files of the agent's own place.
const FILES: [&str; 12] =
    ["dir", "directory", "document", "draft", "file", "files", "folder", "node", "note", "notebook", "path", "todo"];
/// Changes that are taken back by another change.
const UNDONE: [&str; 12] =
    ["add", "append", "copy", "create", "edit", "make", "move", "rename", "save", "update", "write", "mkdir"];

/// Words of arguments that say who gets something.
const RECIPIENTS: [&str; 9] = ["bcc", "cc", "deliver", "forward", "recipient", "recipients", "send", "share", "to"];

/// The weight of an action.
pub(super) fn weight(action: &Action) -> Weight {
    let (tool, arguments) = match action {
        Action::ToolCall { tool, arguments, .. } => (tool, arguments),
        Action::Shell { cwd, .. } => return command(action, cwd.as_deref()),
        _ => return Weight::Sink,
    };
    let values = tool_call::strings(arguments);
    let name = super::words(tool);
    let has = |list: &[&str]| name.iter().any(|word| list.contains(&word.as_str()));
    // `export_clients` with an address to send them to
    let slots = arguments.as_object().into_iter().flatten();
    let sends = |(key, value): (&String, &serde_json::Value)| {
        let to = super::words(key).iter().any(|word| RECIPIENTS.contains(&word.as_str()));
        to && tool_call::strings(value).iter().any(|value| value.contains('@'))
    };
    let sends = slots.into_iter().any(sends);
    let outside = values.iter().any(|value| is_address(value) || value.contains('@'));
    match tool_call::class(tool) {
        (Verb::Read | Verb::List, _) if !sends && !values.iter().any(|value| is_address(value)) => Weight::Look,
        (Verb::Write, "") if has(&FILES) && has(&UNDONE) && !outside => Weight::Local,
        _ => Weight::Sink,
    }
}

/// The weight of a command line: what it reads is a look, what it writes below the working folder is local. The content
/// of no file is known here, so that a script is a sink.
fn command(action: &Action, cwd: Option<&Path>) -> Weight {
    let who = Who { name: "user", home: "/home/user" };
    let reading = effect::extract_effects(action, who, &NoFiles);
    let mut weight = if reading.effects.is_empty() { Weight::Sink } else { Weight::Look };
    for effect in &reading.effects {
        let below = || cwd.is_some_and(|cwd| Path::new(effect.target.name()).starts_with(cwd));
        match (&effect.verb, &effect.target) {
            (Verb::Read | Verb::List, Target::Path(_)) => {}
            (Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite, Target::Path(_)) if below() => {
                weight = Weight::Local;
            }
            _ => return Weight::Sink,
        }
    }
    weight
}

/// Whether a value is the address of a place on the web.
pub(super) fn is_address(value: &str) -> bool {
    let value = value.trim();
    let host =
        value.split_once("://").map_or(value, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let named = host.contains('.') && host.split('.').all(|label| !label.is_empty());
    let plain = host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:".contains(&b));
    value.contains("://") || named && plain && host.starts_with("www.")
}

/// The host of an address without `www.`, in lower case.
pub(super) fn host(value: &str) -> Option<String> {
    let rest = value.trim().split_once("://").map_or(value.trim(), |(_, rest)| rest);
    let host = rest.split(['/', '?', '#', ':', ',', ' ', ')', '"', '\'']).next()?.trim_end_matches('.').to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host).to_owned();
    let end = host.rsplit_once('.')?.1;
    (end.len() >= 2 && end.bytes().all(|b| b.is_ascii_alphabetic())).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_weighed_by_what_they_do() {
        let of = |tool: &str, arguments| weight(&Action::ToolCall { server: None, tool: tool.to_owned(), arguments });
        assert_eq!(of("read_inbox", json!({})), Weight::Look);
        assert_eq!(of("searchOrders", json!({"query": "pens"})), Weight::Look);
        assert_eq!(of("export_clients", json!({"send_to": "ann@x.example"})), Weight::Sink);
        assert_eq!(of("search_mails", json!({"sender": "ann@x.example"})), Weight::Look);
        assert_eq!(of("open_page", json!({"url": "https://a.example"})), Weight::Sink);
        assert_eq!(of("fetch", json!({"url": "www.a.example/x"})), Weight::Sink);
        assert_eq!(of("move_file", json!({"source": "/a", "destination": "/b"})), Weight::Local);
        assert_eq!(of("share_file", json!({"path": "/a", "with": "ann@x.example"})), Weight::Sink);
        assert_eq!(of("delete_file", json!({"path": "/a"})), Weight::Sink);
        assert_eq!(of("send_mail", json!({"to": "ann@x.example"})), Weight::Sink);
        assert_eq!(of("frobnicate", json!({})), Weight::Sink);
    }

    #[test]
    fn commands_are_weighed_by_their_effects() {
        let of = |line: &str| weight(&Action::Shell { command: line.to_owned(), cwd: Some("/srv/p".into()) });
        assert_eq!(of("head -20 a.py && ls -la"), Weight::Look);
        assert_eq!(of("cat <<'E' > a.py\nprint(1)\nE"), Weight::Local);
        for sink in ["echo x > /srv/q/a", "curl https://a.example", "python3 a.py", "rm a.py", ""] {
            assert_eq!(of(sink), Weight::Sink, "{sink}");
        }
    }

    #[test]
    fn hosts_of_addresses_are_found() {
        assert_eq!(host("https://www.A.example/x?y").as_deref(), Some("a.example"));
        assert_eq!(host("www.a.example").as_deref(), Some("a.example"));
        assert_eq!(host("v1.2"), None);
        assert!(!is_address("12.50") && !is_address("ann@x.example") && !is_address("/srv/www.x"));
    }
}
