//! The parts of an action that the request or an observation has to explain.

use super::rival::REACHED;
use super::spans::{holds, identifying, plain, words};
use super::weight::{Weight, host, is_address, weight};
use crate::action::Action;
use crate::effect::{UNKNOWN_SPAN, Verb, tool_call};
use serde_json::Value;

/// Longest description that is compared, in characters.
const LONGEST: usize = 300;
/// Most values of one action that are compared.
const VALUES: usize = 1_000;
/// Words of arguments that select a field of a page.
const SELECTS: [&str; 7] = ["element", "field", "input", "label", "ref", "selector", "target"];
/// Words of arguments for those who get a message.
const GETS: [&str; 6] = ["addressee", "bcc", "cc", "recipient", "recipients", "to"];
/// Longest name of a field of a page, in bytes.
const FIELD: usize = 40;
/// Words of tools and arguments with which a person proves to be the owner of an account.
const CODES: [&str; 9] = ["2fa", "code", "confirm", "mfa", "otp", "passcode", "pin", "verification", "verify"];

/// The claim that an action does something for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Claim {
    /// The action in words, for comparing meanings; empty if only its values are compared.
    pub description: String,
    /// Its values, in [`plain`] form, each once.
    pub values: Vec<String>,
    /// The values that identify one thing.
    pub named: Vec<String>,
    /// The action is read-only.
    pub reads: bool,
    /// The claim consists of text typed into a page.
    pub typed: bool,
    /// The whole text, in [`plain`] form, of an action that runs it word for word; otherwise empty.
    pub verbatim: String,
    /// The action has more values than are compared.
    pub more: bool,
    /// How much depends on its origin.
    pub weight: Weight,
    /// The words of the tool's name.
    pub tool: Vec<String>,
    /// The addresses of mail among its values.
    pub to: Vec<String>,
    /// Who gets a message, by name: the values of its slots for that, in [`plain`] form.
    pub recipients: Vec<String>,
    /// The addresses of the web among its values.
    pub sites: Vec<String>,
    /// The addresses of the web within its texts, in [`plain`] form.
    pub links: Vec<String>,
    /// The codes among its values with which a person proves to be the owner of an account.
    pub codes: Vec<String>,
    /// The words of the name of each argument, with its values in [`plain`] form.
    pub slots: Vec<(Vec<String>, String)>,
    /// The name of the folder in which it runs.
    pub project: String,
}

/// The claim of an action; `None` if it makes none.
pub(super) fn claim(action: &Action) -> Option<Claim> {
    let mut claim = Claim { weight: weight(action), ..Claim::default() };
    if let Action::Shell { cwd: Some(cwd), .. } = action {
        claim.project = cwd.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    }
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
            claim.tool = words(tool);
            claim.to = values.iter().filter(|v| is_recipient(v)).map(|v| plain(v)).collect();
            claim.sites = values.iter().filter(|v| is_address(v)).cloned().collect();
            claim.slots = slots(&claim.tool, arguments);
            let gets = |key: &[String]| key.iter().any(|word| GETS.contains(&word.as_str()));
            let named = claim.slots.iter().filter(|(key, value)| gets(key) && !value.is_empty());
            claim.recipients = named.map(|(_, value)| value.clone()).collect();
            claim.codes = codes(&claim.tool, arguments);
            claim.description = description.chars().take(LONGEST).collect();
            claim.reads = matches!(tool_call::class(tool).0, Verb::Read | Verb::List);
            claim.links = values.iter().flat_map(|v| links(v)).take(VALUES).collect();
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
        Action::Message { .. } => return None,
        // commands, code, statements, and any other kind that is one text
        other => {
            let text = &other.text();
            let quotes = |c: char| c.is_whitespace() || "\"'`;|&()<>,".contains(c);
            claim.values = text.split(quotes).map(plain).filter(|v| v.len() >= 5).collect();
            claim.to = claim.values.iter().filter(|value| is_recipient(value)).cloned().collect();
            claim.verbatim = plain(text);
        }
    }
    // a repeated value adds nothing; values beyond the limit are not compared, and do not count as clean
    let mut seen = std::collections::HashSet::new();
    claim.values.retain(|v| !v.contains(UNKNOWN_SPAN) && seen.insert(v.clone()));
    claim.more |= claim.values.len() > VALUES;
    claim.values.truncate(VALUES);
    claim.named = claim.values.iter().filter(|v| identifying(v)).cloned().collect();
    if let Action::Fetch { url } = action {
        claim.named = address(url);
    }
    claim.named.extend(claim.links.iter().cloned());
    claim.named.dedup();
    Some(claim)
}

impl Claim {
    /// Leaves out the identifying values that a text has in [`plain`] form.
    pub fn leave_out(&mut self, text: &str) {
        self.named.retain(|value| !holds(text, value));
        self.links.retain(|value| !holds(text, value));
    }
}

/// Whether a value is an address of mail.
fn is_recipient(value: &str) -> bool {
    value.trim().split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !value.trim().contains(char::is_whitespace) && !value.contains('/')
    })
}

/// The texts of each argument, with the words of its name, and with those of the tool that say what an address is for:
/// `set_webhook` with the argument `url`.
fn slots(tool: &[String], arguments: &Value) -> Vec<(Vec<String>, String)> {
    let reached = || tool.iter().filter(|word| REACHED.contains(&word.as_str())).cloned();
    let fields = arguments.as_object().into_iter().flatten();
    let of = |(key, value): (&String, &Value)| {
        let switch = value.as_bool().map(|on| on.to_string());
        let values = tool_call::strings(value).into_iter().chain(switch).take(VALUES);
        values.map(|value| (words(key).into_iter().chain(reached()).collect(), plain(&value))).collect::<Vec<_>>()
    };
    fields.flat_map(of).take(VALUES).collect()
}

/// The codes among the arguments, by their names or by that of the tool: `otp`, `verify_account`.
fn codes(tool: &[String], arguments: &Value) -> Vec<String> {
    let asks = |name: &[String]| name.iter().any(|word| CODES.contains(&word.as_str()));
    let code = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        (4..=10).contains(&text.len()) && digits * 2 >= text.len() && text.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let fields = || arguments.as_object().into_iter().flatten();
    // `browser_type` with the selector `#otp`
    let field = |(key, value): (&String, &Value)| {
        let selects = words(key).iter().any(|word| SELECTS.contains(&word.as_str()));
        selects && value.as_str().is_some_and(|text| text.len() <= FIELD && asks(&words(text)))
    };
    let selected = fields().any(field);
    let found =
        fields().filter(|(key, _)| selected || asks(&words(key)) || asks(tool)).filter_map(|(_, value)| match value {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
    found.filter(|text| code(text)).map(|text| plain(&text)).collect()
}

/// The addresses of the web within a text.
fn links(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| c.is_whitespace() || "<>()[]\"',".contains(c));
    let parts = parts.map(|part| part.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '/'));
    let is = |part: &&str| is_address(part) || part.contains('/') && !part.contains('@') && host(part).is_some();
    parts.filter(|part| part.len() < text.len()).filter(is).map(plain)
}

/// A URL and its host: the site may be mentioned only in an observation.
fn address(url: &str) -> Vec<String> {
    let host = url.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
    std::iter::once(url).chain(host).map(plain).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tool_call_is_put_into_words() {
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
    fn call_of_no_tool_makes_no_claim() {
        let call = Action::ToolCall { server: None, tool: "None".to_owned(), arguments: json!({}) };
        assert_eq!(claim(&call), None);
        let click = Action::Browse { operation: "click".to_owned(), url: None, element: None, value: None };
        assert_eq!(claim(&click), None);
    }
}
