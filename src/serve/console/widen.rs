//! An approval that covers more than one exact action.

use super::decisions::list;
use super::frame::{Answer, Desk, Form, Fragment, answer, change};
use super::questions::queue;
use crate::approvals::{Answer as Said, ApprovalError};
use crate::memory::DecisionRecord;
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Recorded decisions over which a widening is tried.
const RECORD: usize = 2_000;
/// Most of those that are shown.
const SHOWN: usize = 20;
/// What is suggested.
const USES: u32 = 50;
const DAYS: u32 = 30;

/// Shows the arguments; those that `open` names are tried over the record.
pub(super) async fn page(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Answer {
    answer(service, &headers, move |desk| {
        let open = opened(&Form::of(&Bytes::from(query.unwrap_or_default())))?;
        let arguments = desk.memory()?.arguments(&id)?;
        let passes = match open.is_empty() {
            true => None,
            false => Some(would_pass(desk, &id, &open)?),
        };
        let body = html! {
            p { a href="/console/questions" { "All questions" } }
            h1 { "Approve more than this" }
            p { "Choose the arguments that may have another value. Everything else stays bound: the program, the other arguments, \
                 the identity, the agent, and what the action would do. What policy denies stays denied." }
            form method="get" action={ "/console/questions/" (id) "/widen" } {
                fieldset {
                    legend { "Arguments" }
                    @for one in &arguments {
                        div {
                            input type="checkbox" name="open" value=(one.number) id={ "open-" (one.number) }
                                checked[open.contains(&one.number)] disabled[!one.opens];
                            " " label for={ "open-" (one.number) } { code { (one.value) } @if !one.opens { " (cannot vary)" } }
                        }
                    }
                }
                button type="submit" { "Test it on recorded decisions" }
            }
            @if let Some((found, all)) = &passes { (preview(&id, &open, found, *all)) }
        };
        Ok(Fragment { title: "Approve more than this".to_owned(), body })
    })
    .await
}

/// Keeps the widening, and answers the question if it still waits.
pub(super) async fn widen(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    answer(service, &headers, move |desk| {
        let form = Form::of(&body);
        let open: Vec<usize> = opened(&form)?.into_iter().collect();
        let (uses, days) = (number(form.one("uses"))?, number(form.one("days"))?);
        if open.is_empty() || !(1..=1000).contains(&uses) || !(1..=365).contains(&days) {
            let message = "choose at least one argument, 1 to 1000 uses, and 1 to 365 days";
            return Err(Problem::new(StatusCode::BAD_REQUEST, message));
        }
        let queue = queue(desk)?;
        let entry = desk.memory()?.widen(&id, &open, uses, days)?;
        let also = match queue.answer(&id, Said::Approved, &desk.who) {
            Ok(()) | Err(ApprovalError::NotPending(_)) => String::new(),
            Err(error) => format!("The question itself was not answered: {error}"),
        };
        let body = html! {
            h1 { "Approved" }
            @if !also.is_empty() { p.warning role="alert" { (also) } }
            p.done role="status" { "Such actions may run " (uses) " times within " (days) " days. "
                a href={ "/console/memory/" (entry.id) } { "Look at it, or take it back" } "." }
            p { a href="/console/questions" { "All questions" } }
        };
        Ok(Fragment { title: "Approved".to_owned(), body })
    })
    .await
}

fn would_pass(desk: &Desk, id: &str, open: &BTreeSet<usize>) -> Result<(Vec<DecisionRecord>, usize), Problem> {
    let open: Vec<usize> = open.iter().copied().collect();
    let mut record = desk.memory()?.decisions(RECORD)?;
    let passes: BTreeSet<String> = desk.memory()?.would_pass(id, &open, &record)?.into_iter().collect();
    let all = record.len();
    record.retain(|one| passes.contains(&one.id));
    record.reverse();
    Ok((record, all))
}

fn preview(id: &str, open: &BTreeSet<usize>, found: &[DecisionRecord], all: usize) -> Markup {
    html! {
        h2 { "It would let " (found.len()) " of the last " (all) " decisions pass" }
        (list(found.get(..SHOWN).unwrap_or(found)))
        @if found.len() > SHOWN { p { "and " (found.len() - SHOWN) " more" } }
        (change(&format!("/console/questions/{id}/widen"), "row", &html! {
            @for number in open { input type="hidden" name="open" value=(number); }
            div { label for="uses" { "Uses" } input #uses name="uses" type="number" min="1" max="1000" value=(USES); }
            div { label for="days" { "Days" } input #days name="days" type="number" min="1" max="365" value=(DAYS); }
            button.good type="submit" { "Approve such actions" }
        }))
    }
}

fn opened(form: &Form) -> Result<BTreeSet<usize>, Problem> {
    let wrong = |_| Problem::new(StatusCode::BAD_REQUEST, "arguments are numbers from 1");
    form.all("open").map(|number| number.parse().map_err(wrong)).collect()
}

fn number(text: &str) -> Result<u32, Problem> {
    text.parse().map_err(|_| Problem::new(StatusCode::BAD_REQUEST, format!("'{text}' is not a whole number")))
}
