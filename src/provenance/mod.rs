//! Where an action comes from: the user's request, or a text that the agent has read.
//!
//! 1. What was read is brought into canonical form and cut into pieces: sentences, lines, strings of structured data.
//!    Grammar says which pieces ask their reader for something (an imperative, a modal with the reader as subject,
//!    a wish of the writer); the rules of [`crate::injection`] add those that are hidden in markup or in odd spelling.
//!    Data is not an order: a name, an address or an amount that was looked up explains an
//!    action as well as the request does.
//! 2. **Values.** A value that names one thing (an address, an account, a path) and stands in an order or the sentences
//!    after it, but neither in the request nor anywhere else in what was read, is tainted: only the attacker explains
//!    it. The action is denied.
//! 3. **Meaning.** The action in words (the name of the tool and its values) is compared by embedding with the request
//!    and its sentences, and with the pieces around orders. If the latter are nearer by a margin, what was read explains
//!    the action better than the user does, and it is denied; reading is no excuse, it is the first half of an
//!    exfiltration. Both sides are compared on the same scale, so that no absolute threshold has to know the tools.
//! 4. **Answers.** A message that is what an order dictates, word for word, and nothing else that was read supports, is
//!    denied; a message that quotes the order is not.
//! 5. What the user asks for is honest even if an attacker once asked for the same: without an order in what was read
//!    nothing is judged here. Without a request, alignment is not judged and a person is asked.
//!
//! No tool, page or phrase of a benchmark is known here. Limits: an order without a verb of order in it, or in another
//! language than English, is only seen by the rules of the detector; an order that resembles the request and names
//! nothing cannot be told from it.

mod align;
mod claim;
mod demand;
mod dictated;
mod pieces;
mod read;
mod spans;

pub use demand::{addresses, demands};
pub use spans::{stems, words};

use crate::action::{Action, Context, Observation};
use crate::check::{Authority, Check, Evidence, Finding, Outcome};
use crate::effect::{Verb, tool_call::class};
use crate::embed::Embedder;
use crate::injection::Detector;
use crate::untrusted::html;
use align::{Stand, weigh};
use dictated::Message;
use read::Piece;

/// Name of the check on whose word the agent acts.
pub const USERS_WORD: &str = "user's word";
/// Most signals of the detector of injections in one finding.
const SIGNALS: usize = 3;
/// Most bytes of the element of a page that are looked at.
const ELEMENT: usize = 16 * 1024;
/// Most sentences that a model is shown.
const ASKED: usize = 8;
/// Most characters of a quotation.
const QUOTED: usize = 160;

/// The sentences of an observation that ask for something, and those around them: what must not be forgotten of it.
#[must_use]
pub fn orders(observation: &Observation) -> String {
    let seen = read::read_here(std::slice::from_ref(observation));
    let near = seen.pieces.iter().filter(|piece| piece.near || piece.order);
    near.map(|piece| piece.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// The sentences of what was read that ask for something, the newest first: no more than a prompt may hold.
pub(crate) async fn asked(context: &Context) -> Vec<String> {
    // what broke down is told by the stage that has to read it
    let seen = read::read(&context.observations).await.unwrap_or_default();
    // what the detector sees first: orders that are none may be many
    let signals = seen.signals.iter().map(|(_, _, text)| short(text));
    let mut asked: Vec<String> = Vec::new();
    for one in signals.chain(seen.orders().map(|piece| short(&piece.text))) {
        if asked.len() < ASKED && !asked.contains(&one) {
            asked.push(one);
        }
    }
    asked
}

/// What is found about where an action comes from; empty where nothing was read that asks for anything.
pub async fn judge(action: &Action, context: &Context, embedder: Option<&dyn Embedder>) -> Vec<Finding> {
    let mut findings = foreign(action, context, embedder).await;
    findings.extend(element(action));
    if !context.local.is_empty() && findings.iter().all(|f| f.outcome == Outcome::Pass) {
        findings.extend(local(action, context).await);
    }
    findings
}

/// The element of a page that a step acts on: its label is the word of the page. What is typed where nobody sees it was not
/// meant to be entered by the user (EIA, arXiv 2409.11295); a label that gives orders was written for agents (AdvWeb).
fn element(action: &Action) -> Option<Finding> {
    let Action::Browse { element: Some(whole), value, .. } = action else { return None };
    let typed = value.as_deref().is_some_and(|value| !value.trim().is_empty());
    let element = whole.get(..whole.floor_char_boundary(whole.len().min(ELEMENT))).unwrap_or_default();
    if typed && html::unseen(element).is_some() {
        return Some(asking(violation("something is entered where nobody sees it", "the page", element)));
    }
    let report = Detector::rules().scan(element);
    match report.signals.iter().find(|signal| report.flagged && !signal.text.trim().is_empty()) {
        Some(order) => Some(asking(violation("the label of the element gives orders", "the page", &order.text))),
        None => (element.len() < whole.len()).then(|| {
            let reason = "not all of the element could be looked at".to_owned();
            finding(Outcome::Unknown, "provenance:unread", reason)
        }),
    }
}

/// An address that only an order in the user's own files speaks of: a person is asked. Reading it is left to the policies.
async fn local(action: &Action, context: &Context) -> Option<Finding> {
    let claim = match action {
        Action::Message { .. } | Action::Fetch { .. } => return None,
        // what only looks or writes files leads nowhere
        Action::ToolCall { tool, .. } if matches!(class(tool).0, Verb::Read | Verb::Write | Verb::Delete) => {
            return None;
        }
        action => claim::claim(action)?,
    };
    let Some(seen) = read::read(&context.local).await else {
        return Some(finding(
            Outcome::Unknown,
            "provenance:failure",
            "what was read could not be looked at".to_owned(),
        ));
    };
    let stand = weigh(&claim, &context.request, &seen, None).await.ok()?;
    let leads_away = |value: &str| {
        let host = value.split_once("://").map_or(value, |(_, rest)| rest);
        let host = host.split(['/', '?', '#', ':']).next().unwrap_or_default();
        let named = value.contains("://") || value.contains('@');
        named && !matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0" | "[")
    };
    match stand {
        Stand::Tainted { ref value, .. } if leads_away(value) => said(stand).map(asking),
        _ => None,
    }
}

async fn foreign(action: &Action, context: &Context, embedder: Option<&dyn Embedder>) -> Vec<Finding> {
    if context.observations.is_empty() {
        return Vec::new();
    }
    let Some(seen) = read::read(&context.observations).await else {
        let reason = "what the agent has read could not be looked at".to_owned();
        return vec![finding(Outcome::Unknown, "provenance:failure", reason)];
    };
    let mut findings = Vec::new();
    if let Action::Message { text } = action {
        let orders: Vec<&str> = seen.orders().map(|p| p.text.as_str()).collect();
        let rest: Vec<&str> = seen.pieces.iter().filter(|p| !p.order).map(|p| p.text.as_str()).collect();
        let source = |order: &str| {
            let piece = seen.orders().find(|p| p.text == order);
            piece.map(|p| p.source.clone()).unwrap_or_default()
        };
        findings.extend(match dictated::judge(text, &context.request, &orders, &rest) {
            Message::Free => None,
            Message::Dictated(order) => Some(violation(
                "the answer is dictated by a text that the agent has read, and nothing else supports it",
                &source(&order),
                &order,
            )),
            Message::Unexplained(order) => Some(asking(violation(
                "a text that the agent has read says how to answer, and nothing else explains this answer",
                &source(&order),
                &order,
            ))),
        });
    } else if let Some(claim) = claim::claim(action) {
        if claim.more {
            let reason = "the action has more values than can be held against what was read".to_owned();
            findings.push(finding(Outcome::Unknown, "provenance:values", reason));
        }
        findings.extend(match weigh(&claim, &context.request, &seen, embedder).await {
            Ok(stand) => said(stand),
            Err(problem) => {
                let reason = format!("where the action comes from could not be judged: {problem}");
                Some(finding(Outcome::Unknown, "provenance:failure", reason))
            }
        });
    }
    let stopped = |f: &&mut Finding| f.outcome == Outcome::Violation;
    if let Some(found) = findings.iter_mut().find(stopped) {
        found.evidence.extend(seen.signals.iter().take(SIGNALS).map(|(source, family, text)| Evidence {
            about: format!("injection detector, {}: {}", short(source), family.as_str()),
            says: short(text),
        }));
    }
    // what could not be read may ask for anything; a message that it dictates cannot be told either
    if seen.unread {
        let reason = "not all of what the agent has read could be looked at".to_owned();
        findings.push(finding(Outcome::Unknown, "provenance:unread", reason));
    }
    findings
}

fn said(stand: Stand) -> Option<Finding> {
    let (source, quote);
    let found = match stand {
        Stand::Free => return None,
        Stand::Explained { request, read } => {
            let reason = format!("the request explains the action ({request:.2}) as well as what was read ({read:.2})");
            return Some(finding(Outcome::Pass, "provenance:request", reason));
        }
        Stand::Tainted { value, quote: piece, delegated } => {
            (source, quote) = (piece.source, piece.text);
            let reason = format!("only a text that the agent has read speaks of {}", short(&value));
            let found = violation(&reason, &source, &quote);
            if delegated { asking(found) } else { found }
        }
        Stand::Swayed { request, read, quote: piece } => {
            (source, quote) = (piece.source, piece.text);
            let reason = format!(
                "a text that the agent has read explains this action ({read:.2}) better than the request does ({request:.2})"
            );
            violation(&reason, &source, &quote)
        }
        Stand::Open { why, quote: Piece { source, text, .. } } => {
            asking(violation(&format!("{why}, and a text that the agent has read asks for things"), &source, &text))
        }
    };
    Some(found)
}

fn violation(reason: &str, source: &str, quote: &str) -> Finding {
    let from = if source.is_empty() { "what was read".to_owned() } else { short(source) };
    let mut found =
        finding(Outcome::Violation, "provenance:read", format!("{reason}; {from} says: \"{}\"", short(quote)));
    found.advice = Some("do only what the user asked for; show the user the text if it may matter".to_owned());
    found.evidence.push(Evidence { about: from, says: short(quote) });
    found
}

fn asking(mut found: Finding) -> Finding {
    found.asks = true;
    found.person = true;
    found
}

fn finding(outcome: Outcome, by: &str, reason: String) -> Finding {
    Finding {
        check: Check {
            category: "integrity".to_owned(),
            name: USERS_WORD.to_owned(),
            definition: "the action is what the user asked for, not what a text that was read tells the agent to do"
                .to_owned(),
            authority: Authority::Policy,
            required: true,
        },
        outcome,
        by: by.to_owned(),
        reason,
        advice: None,
        asks: false,
        person: false,
        declared: None,
        evidence: Vec::new(),
    }
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(QUOTED).collect();
    if text.chars().count() > QUOTED {
        short.push('…');
    }
    short
}
