//! What the user could say so that an action which only a text explains becomes the user's own.

use super::claim::Claim;
use super::spans::{holds, plain};

/// Most slots that the example names.
const SLOTS: usize = 3;
/// Most characters of one value, and of an action without slots.
const SHOWN: usize = 60;

/// Advice with an example in the words of the tool and of the slots that the request does not name yet.
pub(super) fn advice(claim: &Claim, request: &str) -> String {
    format!("if the user wants this, the user can say so, for example: \"{}\"", example(claim, request))
}

fn example(claim: &Claim, request: &str) -> String {
    let asked = plain(request);
    let missing = claim.slots.iter().filter(|(_, value)| !value.is_empty() && !holds(&asked, value)).take(SLOTS);
    let slots: Vec<String> = missing.map(|(key, value)| format!("{} {}", key.join(" "), shown(value))).collect();
    let said = match claim.tool.is_empty() {
        true if claim.verbatim.is_empty() => shown(&claim.description),
        true => shown(&claim.verbatim),
        false => claim.tool.join(" "),
    };
    if slots.is_empty() { said } else { format!("{said}, {}", slots.join(", ")) }
}

fn shown(value: &str) -> String {
    let mut shown: String = value.chars().filter(|c| !c.is_control() && *c != '"').take(SHOWN).collect();
    if value.chars().count() > SHOWN {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::claim::claim;
    use super::*;
    use crate::action::Action;
    use serde_json::json;

    #[test]
    fn the_example_names_the_slots_that_the_request_lacks() {
        let arguments = json!({"recipient": "DE89 3704", "amount": 500, "subject": "Rent \"May\""});
        let action = Action::ToolCall { server: None, tool: "send_money".to_owned(), arguments };
        let said = advice(&claim(&action).unwrap(), "Pay 500 of rent");
        assert!(said.contains("\"send money, ") && said.contains("recipient de89 3704"), "{said}");
        assert!(!said.contains("amount"), "{said}");
        assert_eq!(said.matches('"').count(), 2, "{said}");
    }

    #[test]
    fn a_long_value_is_cut() {
        let action =
            Action::ToolCall { server: None, tool: "post".to_owned(), arguments: json!({"text": "ab ".repeat(900)}) };
        assert!(advice(&claim(&action).unwrap(), "").len() < 200);
    }
}
