//! A model's answer to whether an action does what operators reported, in whatever words.

use super::{Llm, line};
use crate::llm::{Meter, ModelError, Prompt, Role, Turn, ask_whether};
use crate::reason::Case;
use crate::shape::{Condition, Example, statement, told};
use crate::untrusted::gather;
use serde_json::json;

/// Most reasons of one rule that it is asked about.
const REASONS: usize = 2;
/// Most false alarms, and as many reports, that the question shows as examples.
const EXAMPLES: usize = 2;
/// Most tokens of a reply.
const REPLY: u32 = 4;

/// The reason that the model finds true of the action, if any.
pub(super) async fn recognize(
    llm: &Llm,
    case: &Case,
    report: &Condition,
    meter: &Meter,
) -> Result<Option<String>, ModelError> {
    let text = told(&case.action);
    for reason in report.reasons().into_iter().take(REASONS) {
        let mut prompt = question(llm, &text, reason)?;
        let place = prompt.turns.len().saturating_sub(1);
        let examples = examples(llm, report, reason, &prompt.nonce)?;
        prompt.turns.splice(place..place, examples);
        if ask_whether(&*llm.executor, meter, &prompt).await? {
            return Ok(Some(line(reason)));
        }
    }
    Ok(None)
}

/// The question whether a reason is true of a text. Only the text is fenced: an operator said the reason.
fn question(llm: &Llm, text: &str, reason: &str) -> Result<Prompt, ModelError> {
    let fenced = gather(vec![("text", json!(text))]).map_err(|e| ModelError::Budget(format!("randomness: {e}")))?;
    let statement = line(statement(reason));
    let slots = [("data", fenced.text.as_str()), ("statement", statement.as_str())];
    let turns = llm.prompts.fill("reported", &slots).map_err(|e| ModelError::Malformed(e.to_string()))?;
    Ok(Prompt { turns, schema: None, reply_tokens: REPLY, nonce: fenced.nonce })
}

/// After false alarms, the last of them as examples, each beside a report; without any, none: its own reports alone lead a
/// small model to find every text alike.
fn examples(llm: &Llm, report: &Condition, reason: &str, nonce: &str) -> Result<Vec<Turn>, ModelError> {
    let texts = |examples: &[Example]| -> Vec<String> {
        let told = examples.iter().rev().map(|example| example.told.clone());
        told.filter(|text| !text.is_empty()).take(EXAMPLES).collect()
    };
    let mut turns = Vec::new();
    for (reported, alarm) in texts(&report.examples).into_iter().zip(texts(&report.against)) {
        for (text, answer) in [(reported, "Yes"), (alarm, "No")] {
            let asked = question(llm, &text, reason)?;
            let question = asked.turns.into_iter().filter(|turn| turn.role == Role::User);
            // one nonce for the whole request
            turns.extend(question.map(|turn| Turn { text: turn.text.replace(&asked.nonce, nonce), ..turn }));
            turns.push(Turn { role: Role::Assistant, text: answer.to_owned() });
        }
    }
    Ok(turns)
}
