//! What of an action has to be explained.

use super::spans::{identifying, plain, words};
use crate::action::Action;
use crate::effect::{HOLE, Verb, tool_call};

/// Longest description that is compared, in characters.
const LONGEST: usize = 300;
/// Most values of one action.
const VALUES: usize = 1_000;

/// What an action claims to do for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// The action in words, for comparing meanings; empty if only its values are compared.
    pub description: String,
    /// Its values, [`plain`].
    pub values: Vec<String>,
    /// Values that name one thing and no other.
    pub named: Vec<String>,
    /// It only looks.
    pub reads: bool,
    /// The value is the whole claim: what is typed into a page.
    pub typed: bool,
    /// The whole text, [`plain`], for what is run word for word.
    pub verbatim: String,
    /// It has more values than are looked at.
    pub more: bool,
}

/// The claim of an action; `None` where it makes none.
pub(super) fn claim(action: &Action) -> Option<Claim> {
    let mut claim = Claim {
        description: String::new(),
        values: Vec::new(),
        named: Vec::new(),
        reads: false,
        typed: false,
        verbatim: String::new(),
        more: false,
    };
    match action {
        Action::ToolCall { tool, arguments, .. } => {
            if tool_call::nothing(tool, arguments) {
                return None;
            }
            let values = tool_call::strings(arguments);
            let mut description = words(tool).join(" ");
            for value in &values {
                description.push(' ');
                description.push_str(value);
            }
            claim.more = values.len() >= tool_call::STRINGS;
            claim.description = description.chars().take(LONGEST).collect();
            claim.reads = matches!(tool_call::class(tool).0, Verb::Read | Verb::List);
            claim.values = values.iter().map(|v| plain(v)).filter(|v| !v.is_empty()).collect();
        }
        Action::Browse { value, .. } => {
            let value = value.as_deref().map(|v| v.trim_matches(|c: char| c == '"' || c == '\'' || c.is_whitespace()));
            let value = value.filter(|v| !v.is_empty())?;
            claim.description = value.chars().take(LONGEST).collect();
            claim.values = vec![plain(value)];
            claim.typed = true;
        }
        Action::Fetch { url } => {
            claim.values = vec![plain(url)];
            claim.reads = true;
        }
        Action::Shell { command: text, .. } | Action::Code { source: text, .. } | Action::Sql { statement: text } => {
            let quotes = |c: char| c.is_whitespace() || "\"'`;|&()<>,".contains(c);
            claim.values = text.split(quotes).map(plain).filter(|v| v.len() >= 5).collect();
            claim.verbatim = plain(text);
        }
        Action::Message { .. } => return None,
    }
    // what repeats says nothing new; what is over is not looked at, and not clean
    let mut seen = std::collections::HashSet::new();
    claim.values.retain(|v| !v.contains(HOLE) && seen.insert(v.clone()));
    claim.more |= claim.values.len() > VALUES;
    claim.values.truncate(VALUES);
    claim.named = claim.values.iter().filter(|v| identifying(v)).cloned().collect();
    if let Action::Fetch { url } = action {
        // the machine, too: a page of a site that nobody but a text spoke of
        let host = url.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
        claim.named = vec![plain(url)];
        claim.named.extend(host.map(plain));
    }
    claim.named.dedup();
    Some(claim)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_put_into_words() {
        let call = Action::ToolCall {
            server: None,
            tool: "sendMail".to_owned(),
            arguments: json!({"to": ["al@x.org"], "body": "Hi there"}),
        };
        let claim = claim(&call).unwrap();
        assert_eq!(claim.description, "send mail al@x.org Hi there");
        assert_eq!(claim.named, ["al@x.org"]);
        assert!(!claim.reads);
    }

    #[test]
    fn what_calls_nothing_claims_nothing() {
        let call = Action::ToolCall { server: None, tool: "None".to_owned(), arguments: json!({}) };
        assert_eq!(claim(&call), None);
        let click = Action::Browse { operation: "click".to_owned(), url: None, element: None, value: None };
        assert_eq!(claim(&click), None);
    }
}
