//! The list of decisions, with a search.

use super::frame::{Answer, Asked, Fragment, answer, query, table, when, word};
use super::record::{Seen, brief};
use crate::memory::{DecisionFilter, DecisionRecord, Place};
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use serde::Deserialize;

/// Decisions on a page.
const PAGE: usize = 50;
const DAY_MS: i64 = 86_400_000;

/// What the form of the page holds.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    words: String,
    decision: String,
    rule: String,
    folder: String,
    agent: String,
    identity: String,
    from: String,
    until: String,
    /// From when on, in milliseconds since 1970.
    since: String,
    /// The place after which the page begins: time and id.
    before: String,
}

pub(super) async fn page(State(service): State<Service>, headers: HeaderMap, Asked(wanted): Asked<Wanted>) -> Answer {
    answer(service, &headers, move |desk| {
        let filter = wanted.filter()?;
        let before: Option<Place> = wanted.before.split_once('.').and_then(|(at, id)| Some((at.parse().ok()?, id.to_owned())));
        let mut found = desk.memory()?.find_decisions(&filter, before.as_ref(), PAGE + 1)?;
        let more = found.len() > PAGE;
        found.truncate(PAGE);
        // a search may take a while, so only the newest of all are looked up again and again
        let is_live = before.is_none() && wanted.fields().iter().all(|(_, value)| value.is_empty());
        let body = html! {
            h1 { "Decisions" }
            (form(&wanted))
            @if filter.from_ms > 0 { p.soft { "Since " (when(filter.from_ms)) " (UTC)" } }
            div #found data-live[is_live] {
                @if found.is_empty() { p { "No decision matches." } } @else { (list(&found)) }
            }
            nav.row aria-label="Pages" {
                @if before.is_some() { a.choice href={ "/console/decisions?" (wanted.query("")) } { "Newest" } }
                @if let Some(last) = found.last().filter(|_| more) {
                    a.choice href={ "/console/decisions?" (wanted.query(&format!("{}.{}", last.at_ms, last.id))) } rel="next" { "Older" }
                }
            }
        };
        Ok(Fragment { title: "Decisions".to_owned(), body })
    })
    .await
}

impl Wanted {
    fn filter(&self) -> Result<DecisionFilter, Problem> {
        let since = self.since.parse().unwrap_or_default();
        let from = day(&self.from)?.unwrap_or(since);
        Ok(DecisionFilter {
            decision: self.decision.clone(),
            agent: self.agent.clone(),
            identity: self.identity.clone(),
            rule: self.rule.clone(),
            folder: self.folder.clone(),
            words: self.words.clone(),
            from_ms: from,
            until_ms: day(&self.until)?.map(|day| day + DAY_MS - 1),
        })
    }

    /// The same search, from `before` on.
    fn query(&self, before: &str) -> String {
        query(self.fields().into_iter().chain([("before", before)]))
    }

    fn fields(&self) -> [(&'static str, &str); 9] {
        [
            ("words", &self.words),
            ("decision", &self.decision),
            ("rule", &self.rule),
            ("folder", &self.folder),
            ("agent", &self.agent),
            ("identity", &self.identity),
            ("from", &self.from),
            ("until", &self.until),
            ("since", &self.since),
        ]
    }
}

/// The beginning of a day, in milliseconds since 1970.
fn day(text: &str) -> Result<Option<i64>, Problem> {
    if text.is_empty() {
        return Ok(None);
    }
    let date: Result<Date, _> = text.parse();
    let begin = date.and_then(|date| date.to_zoned(TimeZone::UTC)).map(|begin| begin.timestamp().as_millisecond());
    let wrong = |_| Problem::new(StatusCode::BAD_REQUEST, format!("'{text}' is not a day; write it like 2026-01-31"));
    begin.map(Some).map_err(wrong)
}

fn form(wanted: &Wanted) -> Markup {
    let field = |name: &str, label: &str, value: &str, kind: &str| {
        html! { div { label for=(name) { (label) } input id=(name) name=(name) type=(kind) value=(value); } }
    };
    let narrowed = wanted.fields().iter().skip(2).take(6).any(|(_, value)| !value.is_empty());
    html! {
        form.search method="get" action="/console/decisions" role="search" {
            @if !wanted.since.is_empty() { input type="hidden" name="since" value=(wanted.since); }
            div.row {
                (field("words", "Words in action, request or reason", &wanted.words, "search"))
                div {
                    label for="decision" { "Decision" }
                    select #decision name="decision" {
                        @for (value, name) in [("", "any"), ("allow", "allow"), ("ask", "ask"), ("deny", "deny")] {
                            option value=(value) selected[wanted.decision == value] { (name) }
                        }
                    }
                }
                button type="submit" { "Search" }
                a.choice href="/console/decisions" { "Clear" }
            }
            details open[narrowed] {
                summary { "More" }
                div.row {
                    (field("rule", "Stopped by (rule)", &wanted.rule, "text"))
                    (field("folder", "Folder", &wanted.folder, "text"))
                    (field("agent", "Agent", &wanted.agent, "text"))
                    (field("identity", "For", &wanted.identity, "text"))
                    (field("from", "From (UTC)", &wanted.from, "date"))
                    (field("until", "Until (UTC)", &wanted.until, "date"))
                }
            }
        }
    }
}

/// Decisions as a table; the arrow keys go from one to the next.
pub(super) fn list(found: &[DecisionRecord]) -> Markup {
    let rows: Vec<Vec<Markup>> = found
        .iter()
        .map(|record| {
            let seen = Seen::of(record);
            vec![
                html! { time { (when(record.at_ms)) } },
                word(&record.decision),
                html! { a.item href={ "/console/decisions/" (record.id) } { code { (brief(&seen.action)) } } },
                html! { (seen.verdict.reason) },
                html! { (seen.agent) " for " (seen.identity.name) },
            ]
        })
        .collect();
    table("Decisions", &["When (UTC)", "Decision", "Action", "Why", "Who"], &rows)
}
