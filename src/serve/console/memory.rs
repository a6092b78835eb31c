//! What was learnt: entries, rules, approvals, and their history.

use super::decision::sentence;
use super::frame::{Answer, Asked, Desk, Form, Fragment, answer, change as form, done, pairs, table, when};
use crate::memory::{Entry, Event, Status};
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;

/// Most entries on a page, and most events of one.
const ENTRIES: usize = 200;
const EVENTS: usize = 100;
const STATUSES: [Status; 4] = [Status::Active, Status::Proposed, Status::Quarantined, Status::Retired];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    words: String,
    status: String,
}

pub(super) async fn page(State(service): State<Service>, headers: HeaderMap, Asked(wanted): Asked<Wanted>) -> Answer {
    answer(service, &headers, move |desk| {
        let status = STATUSES.into_iter().find(|status| status.as_str() == wanted.status);
        let found = desk.memory()?.search_of(status, &wanted.words, ENTRIES)?;
        let stats = desk.memory()?.stats()?;
        let rows: Vec<Vec<Markup>> = found.iter().map(row).collect();
        let body = html! {
            h1 { "Memory and rules" }
            p.soft { (stats.active) " active, " (stats.proposed) " proposed, " (stats.quarantined) " quarantined, " (stats.retired) " retired; "
                (stats.decisions) " decisions on record" }
            form.search method="get" action="/console/memory" role="search" {
                div.row {
                    div { label for="words" { "Words" } input #words name="words" type="search" value=(wanted.words); }
                    div {
                        label for="status-of" { "Status" }
                        select #status-of name="status" {
                            option value="" { "any" }
                            @for value in STATUSES.map(Status::as_str) {
                                option value=(value) selected[wanted.status == value] { (value) }
                            }
                        }
                    }
                    button type="submit" { "Search" }
                }
            }
            @if rows.is_empty() { p { "The memory has no such entry." } } @else {
                (table("Entries", &["What", "Kind", "Status", "Support", "Changed (UTC)"], &rows))
            }
            @if found.len() == ENTRIES { p.soft { "These are the first " (ENTRIES) "; search for more." } }
        };
        Ok(Fragment { title: "Memory".to_owned(), body })
    })
    .await
}

fn row(entry: &Entry) -> Vec<Markup> {
    let support: u32 = entry.checks.iter().map(|check| check.support).max().unwrap_or_default();
    vec![
        html! { a.item href={ "/console/memory/" (entry.id) } { (sentence(entry)) } },
        html! { (kind(entry)) },
        html! { (entry.status.as_str()) },
        html! { (support) },
        html! { (when(entry.updated_ms)) },
    ]
}

fn kind(entry: &Entry) -> &'static str {
    match (&entry.approval, &entry.condition) {
        (Some(_), _) => "approval",
        (None, Some(_)) => "rule",
        (None, None) => "checks",
    }
}

pub(super) async fn entry(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Asked(wanted): Asked<Compared>,
) -> Answer {
    answer(service, &headers, move |desk| {
        Ok(Fragment { title: "Entry".to_owned(), body: shown(desk, &id, wanted.with, None)? })
    })
    .await
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Compared {
    /// The version with which the present one is compared.
    with: Option<u64>,
}

/// Changes an entry: back to a version, into quarantine, or a rule by the answer to its question.
pub(super) async fn change(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    answer(service, &headers, move |desk| {
        let (given, memory) = (Form::of(&body), desk.memory()?);
        let wrong =
            || Problem::new(StatusCode::BAD_REQUEST, "an entry is rolled back, quarantined, or its question answered");
        let said = match given.one("do") {
            "quarantine" => {
                memory.quarantine(&id, &desk.who)?;
                "Quarantined: it is not recalled any more.".to_owned()
            }
            "rollback" => {
                let version = given.one("version").parse().map_err(|_| wrong())?;
                memory.rollback(&id, version, &desk.who)?;
                format!("Rolled back to version {version}.")
            }
            "every" | "only" => {
                let next = memory.answer_question(&id, given.one("do") == "every", &desk.who)?;
                let next = next.ok_or_else(|| Problem::conflict("there is no question about this entry any more"))?;
                format!("The rule is now: {}", sentence(&next))
            }
            _ => return Err(wrong()),
        };
        Ok(Fragment { title: "Entry".to_owned(), body: shown(desk, &id, None, Some(&said))? })
    })
    .await
}

fn shown(desk: &Desk, id: &str, with: Option<u64>, said: Option<&str>) -> Result<Markup, Problem> {
    let (memory, path) = (desk.memory()?, format!("/console/memory/{id}"));
    let entry = memory.show(id)?;
    let history = memory.log(Some(id), EVENTS)?;
    let diff = with.map(|version| memory.diff(id, version, entry.version)).transpose()?;
    let question = memory.question(id)?;
    let checks: Vec<Vec<Markup>> = entry
        .checks
        .iter()
        .map(|check| {
            vec![
                html! { (check.category) ": " (check.name) },
                html! { (check.definition) },
                html! { (check.support) },
                html! { (check.conflict) },
            ]
        })
        .collect();
    Ok(html! {
        p { a href="/console/memory" { "All entries" } }
        h1 { (sentence(&entry)) }
        @if let Some(said) = said { (done(said)) }
        (pairs(&[
            ("Kind", html! { (kind(&entry)) }),
            ("Status", html! { (entry.status.as_str()) }),
            ("Version", html! { (entry.version) }),
            ("Taught by", html! { code { (entry.provenance.taught_by) } @if entry.provenance.tainted { " (the agent had read untrusted text)" } }),
            ("For", html! { (entry.provenance.principal) }),
            ("Command", html! { code { (entry.key.command) } }),
        ]))
        @if let Some(approval) = &entry.approval {
            p { (approval.uses_left) " uses left, until " (when(approval.expires_ms)) " (UTC)" @if approval.widening.is_some() { "; widened" } }
        }
        @if let Some(question) = &question {
            h2 { "A question about it" }
            p { "Your answer decides which actions this rule covers. The narrower choice stops fewer." }
            (form(&path, "row", &html! {
                button type="submit" name="do" value="every" { (question.every) }
                button type="submit" name="do" value="only" { (question.only) }
            }))
            @if !question.others.is_empty() {
                p { "Decisions that only the wider choice covers: "
                    @for (place, other) in question.others.iter().enumerate() {
                        @if place > 0 { ", " } a href={ "/console/decisions/" (other) } { code { (other) } }
                    } }
            }
        }
        h2 { "Checks" }
        @if checks.is_empty() { p { "None." } } @else { (table("Checks", &["Check", "What it means", "Support", "Conflict"], &checks)) }
        h2 { "History" }
        (versions(id, &entry, &history))
        @if let Some(diff) = diff {
            h2 { "Changes since version " (with.unwrap_or_default()) }
            pre #diff tabindex="0" { (serde_json::to_string_pretty(&diff).unwrap_or_default()) }
        }
        (form(&path, "", &html! {
            button.bad type="submit" name="do" value="quarantine" { "Quarantine" } " " span.soft { "It is kept, but not used any more." }
        }))
    })
}

fn versions(id: &str, entry: &Entry, history: &[Event]) -> Markup {
    let mut seen = std::collections::BTreeSet::new();
    let rows: Vec<Vec<Markup>> = history
        .iter()
        .rev()
        .map(|event| {
            let earlier = event.version.filter(|version| *version < entry.version && seen.insert(*version));
            vec![
                html! { (when(event.at_ms)) },
                html! { (event.who) },
                html! { (event.what) @if !event.detail.is_empty() { ": " (event.detail) } },
                html! { @if let Some(version) = event.version { (version) } },
                html! {
                    @if let Some(version) = earlier {
                        a href={ "/console/memory/" (id) "?with=" (version) } { "Compare with version " (version) }
                        // what an approval has used up does not come back
                        @if entry.approval.is_none() {
                            (form(&format!("/console/memory/{id}"), "inline", &html! {
                                input type="hidden" name="version" value=(version);
                                button type="submit" name="do" value="rollback" { "Roll back to version " (version) }
                            }))
                        }
                    }
                },
            ]
        })
        .collect();
    table("History", &["When (UTC)", "Who", "What", "Version", "Do"], &rows)
}
