//! Sessions of agents: what was asked for, and what was read.

use super::frame::{Answer, Asked, Desk, Fragment, answer, pairs, query, table, when};
use crate::serve::Service;
use crate::serve::api::Problem;
use crate::session::{Happened, Sessions};
use axum::extract::State;
use axum::http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;

/// Most sessions of the list, and most rows of a timeline.
const LISTED: usize = 200;
const ROWS: usize = 500;
/// Most characters of a text that are shown.
const TEXT: usize = 2_000;
/// What a row is, for people: kind, label, whose word it is.
const KINDS: [(&str, &str, &str); 9] = [
    ("request", "prompt of the user", "the user's word"),
    ("order", "instructions in what was read", "untrusted: not from the user"),
    ("observation", "read", "untrusted: not from the user"),
    ("local-order", "instructions in the user's files", "the user's own files"),
    ("local", "read", "the user's own files"),
    ("held", "read credentials", "from now on, sending is judged by it"),
    ("made", "made a file", "made by the agent"),
    ("place", "a person agreed to send data there", "a person's word"),
    ("permitted", "the host's user let it run", "a person's word"),
];

fn sessions(desk: &Desk) -> Result<Sessions, Problem> {
    let none = || Problem::not_found("this service keeps no sessions");
    desk.live.settings.sessions.clone().ok_or_else(none)
}

pub(super) async fn page(State(service): State<Service>, headers: HeaderMap) -> Answer {
    answer(service, &headers, |desk| {
        let all = sessions(desk)?.list(LISTED).map_err(Problem::failed)?;
        let rows: Vec<Vec<Markup>> = all
            .iter()
            .map(|one| {
                let link = query([("id", one.id.as_str())]);
                vec![
                    html! { a.item href={ "/console/sessions/one?" (link) } { code { (one.id) } } },
                    html! { (when(one.began_ms)) },
                    html! { (when(one.used_ms)) },
                    html! { (one.prompts) },
                    html! { (one.foreign) },
                    html! { (one.unread.as_deref().unwrap_or("-")) },
                ]
            })
            .collect();
        let body = html! {
            h1 { "Sessions" }
            p.soft { "Sessions of hosts and of callers that name one. What an agent has read decides whose word its next action follows." }
            @if rows.is_empty() { p { "No session is on record." } } @else {
                (table("Sessions", &["Session", "Began (UTC)", "Last used (UTC)", "Prompts", "Untrusted texts", "May have read unrecorded text"], &rows))
            }
        };
        Ok(Fragment { title: "Sessions".to_owned(), body })
    })
    .await
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    id: String,
}

pub(super) async fn one(State(service): State<Service>, headers: HeaderMap, Asked(wanted): Asked<Wanted>) -> Answer {
    answer(service, &headers, move |desk| {
        let sessions = sessions(desk)?;
        let rows = sessions.timeline(&wanted.id, ROWS).map_err(Problem::failed)?;
        let history = sessions.recall(&wanted.id, "").map_err(Problem::failed)?;
        let body = html! {
            p { a href="/console/sessions" { "All sessions" } }
            h1 { "Session" }
            (pairs(&[
                ("Id", html! { code { (wanted.id) } }),
                ("Not on record", html! { (history.unread().unwrap_or_else(|| "nothing: all that it has read is on record".to_owned())) }),
            ]))
            @if rows.is_empty() { p { "Nothing is on record of this session." } }
            ol.timeline { @for row in &rows { (entry(row)) } }
            @if rows.len() == ROWS { p.soft { "These are the newest " (ROWS) "." } }
        };
        Ok(Fragment { title: "Session".to_owned(), body })
    })
    .await
}

fn entry(row: &Happened) -> Markup {
    let (_, label, whose) =
        KINDS.iter().find(|(kind, ..)| *kind == row.kind).copied().unwrap_or(("", row.kind.as_str(), ""));
    let shown: String = row.text.chars().take(TEXT).collect();
    let more = row.text.chars().count().saturating_sub(TEXT);
    html! {
        li class={ "kind-" (row.kind) } {
            p { time { (when(row.at_ms)) } " " strong { (label) } @if !row.source.is_empty() { " " code { (row.source) } } " " span.soft { (whose) } }
            pre { (shown) @if more > 0 { "… [" (more) " more]" } }
        }
    }
}
