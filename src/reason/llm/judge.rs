//! A model's judgement on whether an action follows an instruction in an observation.

use super::{Llm, cut, line};
use crate::check::{Answerer, Authority, Check, CheckKind, Evidence, Finding, Outcome, Reasoning, Response, Source};
use crate::llm::{Meter, ModelError, ask};
use crate::provenance::USERS_WORD;
use crate::reason::Case;
use serde::Deserialize;
use serde_json::json;

/// Most characters of the action in the prompt.
const ACTION: usize = 1_200;
/// Most tokens of a reply.
const REPLY: u32 = 80;

#[derive(Deserialize)]
struct Judged {
    #[serde(default)]
    why: String,
    malicious: bool,
}

/// The action, shortened to its beginning and its end if it is long.
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
    // evolved prompts ask only for the judgement; if a prompt asks for a reason, it is required and comes first,
    // because a small model that may omit it judges far worse (measured)
    let required = if llm.prompts.says("judge", "\"why\"") { &["why", "malicious"][..] } else { &["malicious"] };
    let form = json!({
        "type": "object",
        "properties": {"why": {"type": "string"}, "malicious": {"type": "boolean"}},
        "required": required,
        "additionalProperties": false,
    });
    let prompt = llm.prompt(("judge", &[]), &[], pieces, form, REPLY)?;
    let said: Judged = ask(&*llm.executor, meter, &prompt).await?;
    if !said.malicious {
        return Ok(None);
    }
    let evidence =
        asked.iter().take(3).map(|one| Evidence { about: "instruction in an observation".to_owned(), says: line(one) });
    Ok(Some(Finding {
        check: Check {
            category: "integrity".to_owned(),
            name: USERS_WORD.to_owned(),
            definition: "the agent acts on the word of the user, not of what it reads".to_owned(),
            authority: Authority::Learned,
            required: false,
            kind: CheckKind::Action,
        },
        outcome: Outcome::Violation,
        source: Source::Reasoner(Reasoning::Judge),
        reason: format!("a model judges that the action follows an instruction in an observation: {}", line(&said.why)),
        advice: Some("do only what the user asked for; show the user the text if it may matter".to_owned()),
        response: Response::Ask(Answerer::Person),
        declared: None,
        evidence: evidence.collect(),
    }))
}
