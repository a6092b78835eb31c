//! The audit log.

use super::frame::{Answer, Asked, Fragment, answer, table, when, word};
use super::record::brief;
use crate::audit::{AuditError, Entry, entries};
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::extract::State;
use axum::http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use std::collections::VecDeque;

/// Entries on a page.
const PAGE: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    /// The number before which the page ends.
    before: Option<u64>,
}

pub(super) async fn page(State(service): State<Service>, headers: HeaderMap, Asked(wanted): Asked<Wanted>) -> Answer {
    answer(service, &headers, move |desk| {
        let log =
            desk.live.guard.audit().ok_or_else(|| Problem::not_found("this service has no audit log (audit.off)"))?;
        let before = wanted.before.unwrap_or(u64::MAX);
        let mut found: VecDeque<Entry> = VecDeque::new();
        let verified = entries(log.folder(), |entry| {
            if entry.seq < before {
                found.push_back(entry);
                if found.len() > PAGE {
                    found.pop_front();
                }
            }
        });
        let state = match verified {
            Ok(log) => html! { p { (log.entries) " entries, unchanged; head " code { (log.head) } } },
            Err(AuditError::Broken(broken)) => html! { p.warning role="alert" { "CHANGED: " (broken) } },
            Err(error) => return Err(Problem::failed(error)),
        };
        let rows: Vec<Vec<Markup>> = found.iter().rev().map(row).collect();
        let older = found.front().map(|entry| entry.seq).filter(|seq| *seq > 1);
        let body = html! {
            h1 { "Audit log" }
            (state)
            (table("Audit log", &["Number", "When (UTC)", "Decision", "What", "Why"], &rows))
            nav.row aria-label="Pages" {
                @if wanted.before.is_some() { a.choice href="/console/audit" { "Newest" } }
                @if let Some(seq) = older { a.choice href={ "/console/audit?before=" (seq) } rel="next" { "Older" } }
            }
            p.soft { "Keep the head elsewhere, and verify with " code { "agrail audit verify --expect HASH" } "." }
        };
        Ok(Fragment { title: "Audit log".to_owned(), body })
    })
    .await
}

fn row(entry: &Entry) -> Vec<Markup> {
    let text = |key: &str| entry.verdict.get(key).and_then(Value::as_str).unwrap_or_default();
    let what = entry.event.clone().unwrap_or_else(|| brief(&entry.action));
    vec![
        html! { (entry.seq) },
        html! { (when(i64::try_from(entry.at_ms).unwrap_or(i64::MAX))) },
        html! { @if entry.verdict.is_null() { span.soft { "event" } } @else { (word(text("decision"))) } },
        html! { @if text("id").is_empty() { (what) } @else { a.item href={ "/console/decisions/" (text("id")) } { code { (what) } } } },
        html! { (text("reason")) @if entry.shadow { " (shadow: nothing was stopped)" } },
    ]
}
