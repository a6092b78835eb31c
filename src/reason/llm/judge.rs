//! A model's word on whether an action follows a text of a stranger.

use super::{Llm, cut, line};
use crate::check::{Authority, Check, Evidence, Finding, Outcome};
use crate::llm::{Meter, ModelError, ask};
use crate::provenance::USERS_WORD;
use crate::reason::Case;
use serde::Deserialize;
use serde_json::json;

/// How much of the action is shown, in characters.
const ACTION: usize = 1_200;
/// Most tokens of a reply.
const REPLY: u32 = 80;

#[derive(Deserialize)]
struct Judged {
    #[serde(default)]
    why: String,
    malicious: bool,
}

/// A long action by its beginning and its end.
fn ends(action: &str) -> String {
    let length = action.chars().count();
    if length <= ACTION {
        return action.to_owned();
    }
    let end: String = action.chars().skip(length - ACTION / 2).collect();
    format!("{} … {end}", cut(action, ACTION / 2))
}

pub(super) async fn judge(
    llm: &Llm,
    case: &Case,
    asked: &[String],
    meter: &Meter,
) -> Result<Option<Finding>, ModelError> {
    let action = case.action.text();
    let pieces = vec![
        ("request", json!(case.context.request)),
        ("action", json!(ends(&action))),
        ("asked", json!(asked.iter().map(|one| line(one)).collect::<Vec<_>>())),
    ];
    // evolved prompts ask for nothing but the word itself; where a reason is asked for it comes first, because a small
    // model that may leave it out judges far worse (measured)
    let required = if llm.prompts.says("judge", "\"why\"") { &["why", "malicious"][..] } else { &["malicious"] };
    let form = json!({
        "type": "object",
        "properties": {"why": {"type": "string"}, "malicious": {"type": "boolean"}},
        "required": required,
        "additionalProperties": false,
    });
    let prompt = llm.prompt("judge", &[], pieces, form, REPLY)?;
    let said: Judged = ask(&*llm.executor, meter, &prompt).await?;
    if !said.malicious {
        return Ok(None);
    }
    let evidence = asked.iter().take(3).map(|one| Evidence { about: "what was read asks".to_owned(), says: line(one) });
    Ok(Some(Finding {
        check: Check {
            category: "integrity".to_owned(),
            name: USERS_WORD.to_owned(),
            definition: "the agent acts on the word of the user, not of what it reads".to_owned(),
            authority: Authority::Learned,
            required: false,
        },
        outcome: Outcome::Violation,
        by: "reasoner:judge".to_owned(),
        reason: format!("a model says that the action follows a text that was read: {}", line(&said.why)),
        advice: Some("do only what the user asked for; show the user the text if it may matter".to_owned()),
        asks: true,
        person: true,
        declared: None,
        evidence: evidence.collect(),
    }))
}
