//! A model's answer to whether an action does what operators reported, in whatever words.

use super::{Llm, line, object};
use crate::llm::{Meter, ModelError, Role, Turn, ask};
use crate::reason::Case;
use crate::shape::{Condition, Example, told};
use crate::untrusted::gather;
use serde::Deserialize;
use serde_json::{Value, json};

/// Most reasons of one rule that it is asked about.
const REASONS: usize = 2;
/// Most false alarms, and as many reports, that the question shows as examples.
const EXAMPLES: usize = 2;
/// Most tokens of a reply.
const REPLY: u32 = 16;

#[derive(Deserialize)]
struct Said {
    #[serde(rename = "true")]
    is_true: bool,
}

/// The reason that the model finds true of the action, if any.
pub(super) async fn recognize(
    llm: &Llm,
    case: &Case,
    report: &Condition,
    meter: &Meter,
) -> Result<Option<String>, ModelError> {
    let text = told(&case.action);
    for reason in report.reasons().into_iter().take(REASONS) {
        let form = object(json!({"true": {"type": "boolean"}}));
        let mut prompt = llm.prompt("reported", &[], pieces(&text, reason), form, REPLY)?;
        let nonce = prompt.nonce.clone();
        let place = prompt.turns.len().saturating_sub(1);
        prompt.turns.splice(place..place, examples(report, reason, &nonce)?);
        if ask::<Said>(&*llm.executor, meter, &prompt).await?.is_true {
            return Ok(Some(line(reason)));
        }
    }
    Ok(None)
}

fn pieces(text: &str, reason: &str) -> Vec<(&'static str, Value)> {
    vec![("text", json!(text)), ("statement", json!(line(reason)))]
}

/// After false alarms, the last of them as examples, each beside a report; without any, none: its own reports alone lead a
/// small model to find every text alike.
fn examples(report: &Condition, reason: &str, nonce: &str) -> Result<Vec<Turn>, ModelError> {
    let texts = |examples: &[Example]| -> Vec<String> {
        let told = examples.iter().rev().map(|example| example.told.clone());
        told.filter(|text| !text.is_empty()).take(EXAMPLES).collect()
    };
    let mut turns = Vec::new();
    for (reported, alarm) in texts(&report.examples).into_iter().zip(texts(&report.against)) {
        for (text, is_true) in [(reported, true), (alarm, false)] {
            let fenced = gather(pieces(&text, reason)).map_err(|e| ModelError::Budget(format!("randomness: {e}")))?;
            // one nonce for the whole request
            turns.push(Turn { role: Role::User, text: fenced.text.replace(&fenced.nonce, nonce) });
            turns.push(Turn { role: Role::Assistant, text: json!({"true": is_true}).to_string() });
        }
    }
    Ok(turns)
}
