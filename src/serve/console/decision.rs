//! One decision in full.

use super::frame::{Answer, Desk, Form, Fragment, answer, change, done, pairs, segment, table, when, word};
use super::record::brief;
use crate::check::Response;
use crate::learn::{Feedback, FeedbackError, Learnt, apply_feedback};
use crate::memory::{DecisionRecord, Entry};
use crate::picture::{Tree, svg};
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How often and for how many days an approved action may run, as in the JSON route.
const USES: u32 = 5;
const DAYS: u32 = 7;
/// Most memory entries about actions of its kind.
const ALIKE: usize = 10;
/// What an operator may say: value, label, what it does.
const WORDS: [(&str, &str, &str); 4] = [
    ("approve", "It is fine", "lets exactly this action pass five times within a week"),
    ("reject", "It should be asked about", "asks a person about such actions from now on"),
    ("incident", "It does harm", "denies such actions from now on"),
    ("false-positive", "It was stopped wrongly", "counts against what was learnt and stopped it"),
];

pub(super) async fn page(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    answer(service, &headers, move |desk| {
        let record = desk.memory()?.decision(&id)?;
        Ok(Fragment { title: "Decision".to_owned(), body: shown(desk, &record, None)? })
    })
    .await
}

/// What an operator says of a decision.
pub(super) async fn rate(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    answer(service, &headers, move |desk| {
        let form = Form::of(&body);
        let said = rated(desk, &id, form.one("says"), form.one("reason").trim())?;
        let record = desk.memory()?.decision(&id)?;
        Ok(Fragment { title: "Decision".to_owned(), body: shown(desk, &record, Some(&said))? })
    })
    .await
}

fn rated(desk: &Desk, id: &str, says: &str, reason: &str) -> Result<String, Problem> {
    let feedback = match says {
        "approve" => Feedback::Approve { uses: USES, days: DAYS },
        "reject" => Feedback::Reject,
        "incident" => Feedback::Incident,
        "false-positive" => Feedback::FalsePositive,
        _ => return Err(Problem::new(StatusCode::BAD_REQUEST, "choose what you think of the decision")),
    };
    let memory = desk.memory()?;
    let with_reason = !reason.is_empty() && matches!(feedback, Feedback::Reject | Feedback::Incident);
    let learnt = match with_reason {
        true => memory.report(id, feedback, reason, &desk.who),
        false => apply_feedback(memory, id, feedback, &desk.who),
    };
    Ok(match learnt {
        Ok(Learnt::Entry(entry)) => format!("Noted: \"{}\". {}", label(says), sentence(&entry)),
        Ok(Learnt::PolicyDecided(policy)) => {
            format!(
                "Noted. The policy '{policy}' decided, which feedback does not change; agrail tune shows how to loosen it."
            )
        }
        // these are answers to a person, not failures of the service
        Err(error @ (FeedbackError::NotApprovable { .. } | FeedbackError::NoTarget { .. })) => error.to_string(),
        Err(error) => return Err(error.into()),
    })
}

fn label(says: &str) -> &'static str {
    WORDS.iter().find(|(value, ..)| *value == says).map_or("", |(_, label, _)| label)
}

/// What an entry says, in one sentence.
pub(super) fn sentence(entry: &Entry) -> String {
    entry.condition.as_ref().map_or_else(|| entry.key.natural.clone(), |condition| condition.sentence())
}

fn shown(desk: &Desk, record: &DecisionRecord, said: Option<&str>) -> Result<Markup, Problem> {
    let all: Value = serde_json::from_str(&record.record).unwrap_or_default();
    let null = Value::Null;
    let verdict = all.get("verdict").unwrap_or(&null);
    let action = all.get("action").unwrap_or(&null);
    let text = |from: &Value, key: &str| from.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let rules = desk.live.guard.policy().rules();
    let asks = |by: &str| {
        let id = by.strip_prefix("policy:");
        rules.iter().any(|rule| Some(rule.id.as_str()) == id && matches!(rule.response, Response::Ask(_)))
    };
    let tree = Tree::of(verdict, asks);
    let alike = alike(desk, &all)?;
    Ok(html! {
        p { a href="/console/decisions" { "All decisions" } }
        h1 { (word(&record.decision)) " " (text(verdict, "reason")) }
        @if let Some(said) = said { (done(said)) }
        @if let Some(advice) = &tree.advice { p { strong { "Instead: " } (advice) } }
        pre.action tabindex="0" { (brief(action)) }
        @if record.decision == "ask" { p { a href={ "/console/questions/" (record.id) } { "Answer the question" } ", if it still waits." } }
        h2 { "What it would do, and what was found" }
        div.scroll tabindex="0" role="region" aria-label="Picture of the decision" { (PreEscaped(svg(&tree))) }
        details { summary { "As text" } pre.tree-text tabindex="0" { @for (_, line) in tree.lines() { (line) "\n" } } }
        (texts(desk, verdict))
        h2 { "What do you think of it?" }
        (opinion(&record.id))
        h2 { "What is known about such actions" }
        @if alike.is_empty() { p { "Nothing was learnt about actions with these effects." } } @else {
            ul { @for entry in &alike { li { a href={ "/console/memory/" (entry.id) } { (sentence(entry)) } " " span.soft { (entry.status.as_str()) } } } }
        }
        h2 { "Details" }
        (pairs(&[
            ("When (UTC)", html! { (when(record.at_ms)) }),
            ("Id", html! { code { (record.id) } }),
            ("Agent", html! { (text(&all, "agent")) }),
            ("For", html! { (all.get("identity").map(|one| text(one, "name")).unwrap_or_default()) }),
            ("Request", html! { (text(&all, "request")) }),
            ("Rests on", html! { (text(verdict, "basis")) }),
            ("Cost", cost(verdict)),
            ("Policies", html! { code { (record.policy_digest.get(..16).unwrap_or_default()) } }),
            ("Facts", html! { code { (record.facts_digest.get(..16).unwrap_or_default()) } }),
        ]))
        details { summary { "The action as JSON" } pre tabindex="0" { (serde_json::to_string_pretty(action).unwrap_or_default()) } }
    })
}

fn cost(verdict: &Value) -> Markup {
    let number = |key| verdict.pointer(key).and_then(Value::as_u64).unwrap_or_default();
    html! { (format!("{:.1} ms, {} model calls", number("/cost/wall_us") as f64 / 1000.0, number("/cost/model_calls"))) }
}

/// The text of each policy that stopped it.
fn texts(desk: &Desk, verdict: &Value) -> Markup {
    let findings = verdict.get("findings").and_then(Value::as_array).into_iter().flatten();
    let stops =
        |found: &&Value| found.get("outcome").and_then(Value::as_str).is_some_and(|outcome| outcome == "violation");
    let by = findings.filter(stops).filter_map(|found| found.get("by")?.as_str()?.strip_prefix("policy:"));
    let ids: BTreeSet<&str> = by.collect();
    let policy = desk.live.guard.policy();
    html! {
        @for id in ids {
            details { summary { "Policy " code { (id) } }
                pre tabindex="0" { (policy.text(id).unwrap_or_else(|| "It is not in force any more.".to_owned())) }
                p { a href={ "/console/policies/" (segment(id)) } { "More about it" } }
            }
        }
    }
}

/// Two forms: a text belongs to some answers only, and Enter in it must not give another one.
fn opinion(id: &str) -> Markup {
    let path = format!("/console/decisions/{id}");
    let rows = |harm: bool| -> Vec<Vec<Markup>> {
        let of_kind = WORDS.iter().filter(|(value, ..)| matches!(*value, "reject" | "incident") == harm);
        let row = |(value, label, does): &(&str, &str, &str)| {
            vec![html! { button type="submit" name="says" value=(value) { (label) } }, html! { (does) }]
        };
        of_kind.map(row).collect()
    };
    html! {
        (change(&path, "", &table("It was right or too strict", &["Say", "What it does"], &rows(false))))
        (change(&path, "", &html! {
            (table("It was too lax", &["Say", "What it does"], &rows(true)))
            label for="reason" { "What was wrong? (optional; leave out the subject: " q { "told a guest that breakfast is free" } ")" }
            input #reason .wide name="reason" maxlength="300";
        }))
    }
}

/// The active entries that its effects recall.
fn alike(desk: &Desk, all: &Value) -> Result<Vec<Arc<Entry>>, Problem> {
    let kinds: Vec<(String, String)> =
        all.get("kinds").and_then(|kinds| serde_json::from_value(kinds.clone()).ok()).unwrap_or_default();
    let mut found = desk.memory()?.triggered(&kinds)?;
    found.truncate(ALIKE);
    Ok(found)
}
