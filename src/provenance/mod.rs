//! Where an action comes from: the user's request, or a text that the agent has read.
//!
//! 1. Observations, the texts that the agent has read, are brought into canonical form, cut into records (the mails of an
//!    inbox, the entries of a list) and these into pieces: sentences, lines, strings of structured data. Grammar decides
//!    which pieces are instructions to their reader (an imperative, a modal with the reader as subject, a wish of the
//!    writer; in ten other languages a list of indicators). The rules of [`crate::injection`] add instructions that are
//!    hidden in markup or in odd spelling, and a line that is a command which changes something is one (`command`). Fields without a sentence, lines of logs and tracebacks are data. Data is not an
//!    instruction: a name, an address or an amount that was looked up explains an action as well as the request does.
//! 2. **Delegation** (`delegate`). A request can point to a source: a person ("do what Nora asks in her mail"), a page, a
//!    file, a ticket, the project's docs, a text by its title. The agent may act on that text as if the user had written it,
//!    for the purpose that the request gives. This never covers a passage that addresses an agent. Access for others,
//!    payments, deletions and messages to strangers have to be in the request itself. A name that fits two writers, or a
//!    writer whose address differs from the one in a directory, delegates nothing. The short answer of a service to an act
//!    of the agent may name the next step with that service.
//! 3. **Weight** (`weight`). A look reads within what the agent may read; a local step changes the agent's own place and
//!    can be taken back; everything else is a sink. A look or a local step is judged only against a text that orders it: one
//!    that has a value of it, or a word of its tool that says more than that it reads. Nothing is embedded before that.
//! 4. **Values.** A value that identifies one thing (an address, an account, a path) is tainted if it occurs in an
//!    instruction or in the sentences after it, but neither in the request nor anywhere else in the observations: only
//!    the attacker explains it. The action is denied, or a person is asked if the request names the source for something
//!    else. For a sink, two kinds of text do not count as an explanation unless they concern what the request asks for:
//!    what was looked up after the instruction, and what stands beside a passage that addresses an agent. An identifier
//!    without a meaning of its own stands for the name in its record.
//! 5. **Steps.** A code that a service has sent, entered where one is demanded, is a step of the task.
//! 6. **Meaning.** The action in words (the name of the tool and its values) is compared by embedding with the request,
//!    its sentences and what is the user's word, and with the other instructions and, for a sink, the sentences around
//!    them. If the latter are nearer by a margin, the observations explain the action better than the user does, and it is
//!    denied. Both sides are compared on the same scale, so that no absolute threshold has to know the tools.
//! 7. **Answers.** A message is denied if it repeats word for word an answer that an instruction dictates, and no other
//!    observation supports it. A message that quotes the instruction is not denied. A piece that tells a machine, or
//!    whoever answers, what to answer is compared with each sentence of the message by words, numbers, names and meaning.
//!    A classifier finds such pieces in other wordings (`dictates`), and messages that only speak of them.
//! 8. **Sinks that nothing orders** (`unasked`). A third party also gets what it wants by a polite wish, by a statement that
//!    something "is to be" done, or by a planted account. After texts of others were read, a person is asked about a sink if
//!    the request only asks to look at something, or has no word for a payment, a grant or a deletion; if a recipient or an
//!    account stands only in a sentence, or in a text that shares no word with the request; and if there are two candidates
//!    for one slot: what somebody says against a field of a record, two addresses of one person, an identifier that stands
//!    for another thing than the request is about; if an instruction asks for the verb of the tool and the request does
//!    not; if an instruction dictates a text of it; and if an instruction puts another day in the place of those that the
//!    request names, or changes who is paid, a credential or who gets in, without a word of it in the request (`replaced`); and
//!    about a text, of a local step too, that has a line of a passage which speaks to an agent. What a file had before it is
//!    written again is nothing new (`before`). On the other hand, a call that the request asks for by its verb or its
//!    object, and of which no instruction has a value, is not compared by meaning.
//! 9. A request of the user is legitimate even if an attacker once asked for the same: without an instruction in the
//!    observations, and with a request that explains the action, nothing is judged here.
//! 10. **Without a request** (`unknown`), a person is asked about an action that a text may have ordered: one that speaks to
//!     an agent, is to be obeyed because it is read, or wants nobody to be asked.
//!
//! This module knows no tool, page or phrase of a benchmark. Limits: delegation is grammar of English requests; one in
//! another form delegates nothing. What a request asks for is read from its verbs, in other languages from a short list. An
//! amount, and a setting of the kind that was asked for are not compared with rivals. An instruction in another language
//! is found by its words of politeness and by few verbs. A plain order within a delegated record, for the kind of action that it was named for, cannot be told from the rest of
//! the record. An instruction that resembles the request and names nothing specific cannot be distinguished from it.

mod advice;
mod align;
mod before;
mod claim;
mod command;
mod dates;
mod delegate;
mod demand;
mod dictated;
mod dictates;
mod kinds;
mod pieces;
mod prescribed;
mod read;
mod record;
mod replaced;
mod rival;
mod spans;
mod taint;
mod unasked;
mod unknown;
mod voices;
mod weight;

#[cfg(any(feature = "mcp", feature = "research"))]
pub(crate) use demand::addresses;
#[cfg(feature = "research")]
pub(crate) use demand::demands;
pub use spans::{stems, words};

use crate::action::{Action, Context};
use crate::check::{Answerer, Check, Evidence, Finding, Origin, Outcome, Response, Source};
use crate::effect::{Verb, tool_call::class};
use crate::embed::Embedder;
use crate::injection::Detector;
use crate::untrusted::html;
use align::{Alignment, weigh};
use dictated::Answer;
use read::Piece;
use unasked::Unasked;

/// Name of the check that the agent acts for the user and not for the author of an observation.
pub(crate) const USERS_WORD: &str = "user's word";
/// Most signals of the injection detector in one finding.
const SIGNALS: usize = 3;
/// Most bytes of a page element that are examined.
const ELEMENT: usize = 16 * 1024;
/// Most sentences that are shown to a model.
const ASKED: usize = 8;
/// Most characters of a quotation.
const QUOTED: usize = 160;

/// The instructions in an observation with the pieces around them, one per line: the part of it that must be kept.
pub(crate) fn orders(observation: &crate::action::Observation) -> String {
    let seen = read::segment_here(std::slice::from_ref(observation));
    let near = seen.pieces.iter().filter(|piece| piece.near || piece.order);
    near.map(|piece| piece.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// The instructions in the observations, those of the newest first, at most [`ASKED`]: as many as a prompt may hold.
pub(crate) async fn asked(context: &Context) -> Vec<String> {
    // a failure is reported by the stage that depends on the observations
    let seen = read::segment(&context.observations).await.unwrap_or_default();
    // the detector's signals come first: grammar may find many sentences that are no instructions
    let signals = seen.signals.iter().map(|(_, _, text)| short(text));
    let mut asked: Vec<String> = Vec::new();
    for one in signals.chain(seen.orders().map(|piece| short(&piece.text))) {
        if asked.len() < ASKED && !asked.contains(&one) {
            asked.push(one);
        }
    }
    asked
}

/// Findings about the origin of an action; empty if no observation contains an instruction.
pub(crate) async fn judge(action: &Action, context: &Context, embedder: Option<&dyn Embedder>) -> Vec<Finding> {
    let mut findings = foreign(action, context, embedder).await;
    findings.extend(element(action));
    if !context.local.is_empty() && findings.iter().all(|f| f.outcome == Outcome::Pass) {
        findings.extend(local(action, context).await);
    }
    findings
}

/// Checks the page element that a step acts on; its label is written by the page. The user did not mean to type into a
/// field that nobody can see (EIA, arXiv 2409.11295); a label that contains instructions was written for agents
/// (AdvWeb).
fn element(action: &Action) -> Option<Finding> {
    let Action::Browse { element: Some(whole), value, .. } = action else { return None };
    let typed = value.as_deref().is_some_and(|value| !value.trim().is_empty());
    let element = whole.get(..whole.floor_char_boundary(whole.len().min(ELEMENT))).unwrap_or_default();
    if typed && html::unseen(element).is_some() {
        return Some(asking(violation("the step types into a field that the user cannot see", "the page", element)));
    }
    let report = Detector::rules().scan(element);
    match report.signals.iter().find(|signal| report.flagged && !signal.text.trim().is_empty()) {
        Some(order) => {
            Some(asking(violation("the label of the page element contains instructions", "the page", &order.text)))
        }
        None => (element.len() < whole.len()).then(|| {
            let reason = "the page element is too long to be checked completely".to_owned();
            finding(Outcome::Unknown, Origin::Unread, reason)
        }),
    }
}

/// Asks a person about an address that occurs only in an instruction in the user's own files. Whether it may be read is
/// left to the policies.
async fn local(action: &Action, context: &Context) -> Option<Finding> {
    let claim = match action {
        Action::Message { .. } | Action::Fetch { .. } => return None,
        // a tool that only reads or changes files sends nothing to an address
        Action::ToolCall { tool, .. } if matches!(class(tool).0, Verb::Read | Verb::Write | Verb::Delete) => {
            return None;
        }
        action => claim::claim(action)?,
    };
    let Some(seen) = read::segment(&context.local).await else {
        return Some(finding(
            Outcome::Unknown,
            Origin::Failure,
            "the files that the agent has read could not be analysed".to_owned(),
        ));
    };
    let alignment = weigh(&claim, &context.request, &seen, None).await.ok()?;
    let leads_away = |value: &str| {
        let host = value.split_once("://").map_or(value, |(_, rest)| rest);
        let host = host.split(['/', '?', '#', ':']).next().unwrap_or_default();
        let named = value.contains("://") || value.contains('@');
        named && !matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0" | "[")
    };
    match alignment {
        Alignment::Tainted { ref value, .. } if leads_away(value) => said(alignment).map(asking),
        _ => None,
    }
}

/// The finding about an answer that a text may dictate.
async fn answer(text: &str, context: &Context, seen: &read::Seen, embedder: Option<&dyn Embedder>) -> Option<Finding> {
    let pieces: Vec<(&str, bool)> = seen.pieces.iter().map(|p| (p.text.as_str(), p.order)).collect();
    let source = |order: &str| {
        let piece = seen.pieces.iter().find(|p| p.text.contains(order));
        piece.map(|p| p.source.clone()).unwrap_or_default()
    };
    match dictated::judge(text, &context.request, &pieces, embedder).await {
        Err(problem) => {
            let reason = format!("the answer could not be compared with what was read: {problem}");
            Some(finding(Outcome::Unknown, Origin::Failure, reason))
        }
        Ok(Answer::Own) => None,
        Ok(Answer::Dictated(order)) => Some(violation(
            "a text that the agent has read dictates this answer, and nothing else supports it",
            &source(&order),
            &order,
        )),
        Ok(Answer::Unsupported(order)) => Some(asking(violation(
            "a text that the agent has read prescribes an answer, and nothing else explains this one",
            &source(&order),
            &order,
        ))),
    }
}

async fn foreign(action: &Action, context: &Context, embedder: Option<&dyn Embedder>) -> Vec<Finding> {
    if context.observations.is_empty() {
        return Vec::new();
    }
    let Some(seen) = read::segment(&context.observations).await else {
        let reason = "the texts that the agent has read could not be analysed".to_owned();
        return vec![finding(Outcome::Unknown, Origin::Failure, reason)];
    };
    let mut findings = Vec::new();
    if let Action::Message { text } = action {
        findings.extend(answer(text, context, &seen, embedder).await);
    } else if let Some(mut claim) = claim::claim(action) {
        if claim.more {
            let reason = "the action has too many values to compare all of them with the texts that the agent has read";
            findings.push(finding(Outcome::Unknown, Origin::Values, reason.to_owned()));
        }
        let mut weighed = weigh(&claim, &context.request, &seen, embedder).await;
        if !matches!(weighed, Ok(Alignment::NoInstructions | Alignment::Explained { .. }) | Err(_)) {
            // what a file had before it is written again is nothing new
            let before = before::text(action, context).await;
            if !before.is_empty() {
                claim.leave_out(&before);
                weighed = weigh(&claim, &context.request, &seen.without(&before).await, embedder).await;
            }
        }
        findings.extend(match weighed {
            Ok(alignment) => said(alignment).map(|mut found| {
                // an ask says how it can be answered for good
                if matches!(found.response, Response::Ask(_)) {
                    found.advice = Some(advice::advice(&claim, &context.request));
                }
                found
            }),
            Err(problem) => {
                let reason = format!("the origin of the action could not be determined: {problem}");
                Some(finding(Outcome::Unknown, Origin::Failure, reason))
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
    // the part that was not analysed may contain any instruction, and a message that it dictates cannot be recognised
    if seen.unread {
        let reason = "the texts that the agent has read could not be analysed completely".to_owned();
        findings.push(finding(Outcome::Unknown, Origin::Unread, reason));
    }
    findings
}

fn said(alignment: Alignment) -> Option<Finding> {
    let (source, quote);
    let found = match alignment {
        Alignment::NoInstructions => return None,
        Alignment::Explained { request, read } => {
            let reason = format!(
                "the request explains the action ({request:.2}) as well as the texts that the agent has read ({read:.2})"
            );
            return Some(finding(Outcome::Pass, Origin::Request, reason));
        }
        Alignment::Tainted { value, quote: piece, delegated } => {
            (source, quote) = (piece.source, piece.text);
            let reason = format!("only a text that the agent has read mentions {}", short(&value));
            let found = violation(&reason, &source, &quote);
            if delegated { asking(found) } else { found }
        }
        Alignment::FollowsObservation { request, read, quote: piece } => {
            (source, quote) = (piece.source, piece.text);
            let reason = format!(
                "a text that the agent has read explains this action ({read:.2}) better than the request does ({request:.2})"
            );
            violation(&reason, &source, &quote)
        }
        Alignment::Unasked(Unasked { why, quote: Piece { source, text, .. } }) => {
            asking(violation(&why, &source, &text))
        }
        Alignment::Undetermined { why, quote: Piece { source, text, .. } } => asking(violation(
            &format!("{why}, and a text that the agent has read contains instructions"),
            &source,
            &text,
        )),
    };
    Some(found)
}

fn violation(reason: &str, source: &str, quote: &str) -> Finding {
    let from = if source.is_empty() { "an unnamed source".to_owned() } else { short(source) };
    let mut found =
        finding(Outcome::Violation, Origin::Read, format!("{reason}; {from} contains: \"{}\"", short(quote)));
    found.advice = Some("do only what the user asked for; show the user the text if it may matter".to_owned());
    found.evidence.push(Evidence { about: from, says: short(quote) });
    found
}

fn asking(mut found: Finding) -> Finding {
    found.response = Response::Ask(Answerer::Person);
    found
}

fn finding(outcome: Outcome, origin: Origin, reason: String) -> Finding {
    let definition = "the action follows the user's request, not an instruction in a text that the agent has read";
    Finding::new(Check::integrity(USERS_WORD, definition), outcome, Source::Provenance(origin), reason)
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(QUOTED).collect();
    if text.chars().count() > QUOTED {
        short.push('…');
    }
    short
}
