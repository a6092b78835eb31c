//! What an action tells in words.

use crate::action::Action;
use crate::effect::tool_call;
use serde_json::Value;

/// Most bytes of it that are compared.
const LONGEST: usize = 1_200;
/// Fewest words of a text that is told, not named.
const WORDS: usize = 4;

/// The text of an action: of a message and of a call of a tool what a reader is told, of any other action its source.
pub(crate) fn told(action: &Action) -> String {
    let text = match action {
        Action::ToolCall { tool, arguments, .. } => called(tool, arguments),
        other => other.text().into_owned(),
    };
    let text = text.trim();
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default().to_owned()
}

/// Whether a value is a text for a reader.
pub(super) fn is_prose(value: &str) -> bool {
    value.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).nth(WORDS - 1).is_some()
}

/// The texts among the arguments; without any, the tool's name with all its values.
fn called(tool: &str, arguments: &Value) -> String {
    let texts = tool_call::strings(arguments);
    let prose: Vec<&str> = texts.iter().map(AsRef::as_ref).filter(|text: &&str| is_prose(text)).collect();
    if prose.is_empty() {
        return format!("{} {arguments}", crate::effect::words::words(tool).join(" "));
    }
    prose.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(arguments: Value) -> String {
        told(&Action::ToolCall { server: None, tool: "send_email".to_owned(), arguments })
    }

    #[test]
    fn of_a_call_the_texts_are_told() {
        let body = "We will pay you back in full.";
        assert_eq!(call(json!({"to": "ann@shop.example", "body": body, "retries": 3})), body);
        assert_eq!(call(json!({"id": 7})), "send email {\"id\":7}");
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = told(&Action::Message { text: "ä".repeat(LONGEST) });
        assert_eq!(text.len(), LONGEST);
    }
}
