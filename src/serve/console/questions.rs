//! The questions that wait for a person.

use super::frame::{Answer, Desk, Form, Fragment, answer, change, done, when};
use crate::approvals::{Answer as Said, ApprovalError, Approvals, PendingApproval};
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use maud::{Markup, html};

/// Most questions on a page.
const SHOWN: usize = 20;
/// Spaces in a row from which on their number is shown instead: they could push the end of an action out of sight.
const SPACES: usize = 24;
/// Most recorded decisions that are searched for proposals.
const RECORD: usize = 2_000;

pub(super) fn queue(desk: &Desk) -> Result<&Approvals, Problem> {
    let none = || Problem::not_found("this service keeps no questions");
    desk.live.guard.approvals().ok_or_else(none)
}

pub(super) async fn page(State(service): State<Service>, headers: HeaderMap) -> Answer {
    answer(service, &headers, |desk| Ok(Fragment { title: "Questions".to_owned(), body: all(desk, None)? })).await
}

pub(super) async fn one(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    answer(service, &headers, move |desk| {
        let waiting = queue(desk)?.waiting().map_err(Problem::failed)?;
        let gone =
            || Problem::not_found("this question does not wait any more: it was answered, or an hour has passed");
        let question = waiting.into_iter().find(|one| one.id == id).ok_or_else(gone)?;
        let body = html! { p { a href="/console/questions" { "All questions" } } h1 { "Question" } (card(&question)) };
        Ok(Fragment { title: "Question".to_owned(), body })
    })
    .await
}

/// Their number, for the menu; empty if there is none.
pub(super) async fn count(State(service): State<Service>, headers: HeaderMap) -> Answer {
    answer(service, &headers, |desk| {
        let number = queue(desk).and_then(|queue| queue.count_waiting().map_err(Problem::failed)).unwrap_or_default();
        Ok(Fragment { title: String::new(), body: html! { span data-count=(number) { (number) } } })
    })
    .await
}

/// Takes a person's answer.
pub(super) async fn reply(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    answer(service, &headers, move |desk| {
        let word = match Form::of(&body).one("says") {
            "approve" => Said::Approved,
            "reject" => Said::Rejected,
            _ => return Err(Problem::new(StatusCode::BAD_REQUEST, "a question is answered with approve or reject")),
        };
        let said = match queue(desk)?.answer(&id, word, &desk.who) {
            Ok(()) if word == Said::Approved => "Approved: it may run once, within 15 minutes.".to_owned(),
            Ok(()) => "Rejected: it is denied for the next 15 minutes.".to_owned(),
            // answers to a person, not failures of the service
            Err(error @ (ApprovalError::NotPending(_) | ApprovalError::TooLong(_))) => error.to_string(),
            Err(error) => return Err(Problem::failed(error)),
        };
        Ok(Fragment { title: "Questions".to_owned(), body: all(desk, Some(&said))? })
    })
    .await
}

fn all(desk: &Desk, said: Option<&str>) -> Result<Markup, Problem> {
    let queue = queue(desk)?;
    let waiting = queue.first_waiting(SHOWN).map_err(Problem::failed)?;
    let number = queue.count_waiting().map_err(Problem::failed)?;
    let approved = queue.approved().map_err(Problem::failed)?;
    let proposals = match desk.live.guard.memory() {
        Some(memory) => memory.proposals(&approved, &memory.decisions(RECORD)?)?,
        None => Vec::new(),
    };
    Ok(html! {
        h1 { "Questions" }
        @if let Some(said) = said { (done(said)) }
        @if waiting.is_empty() { p { "No questions are waiting." } }
        @for question in &waiting { (card(question)) }
        @if number > waiting.len() { p { "These are the oldest of " (number) ". Answer them to see the others." } }
        // the script compares it with what waits now; nothing on this page is replaced under a person's hand
        span #shown data-shown=(number) {}
        @if !proposals.is_empty() {
            h2 { "Answered several times" }
            p { "You approved these actions again and again; they differ only in one argument." }
            ul {
                @for proposal in &proposals {
                    li {
                        a href={ "/console/questions/" (proposal.verdict) "/widen?open=" (proposal.argument) } {
                            "Let argument " (proposal.argument) " vary" }
                        " (approved " (proposal.approved.len()) " times)"
                    }
                }
            }
        }
    })
}

fn card(question: &PendingApproval) -> Markup {
    html! {
        article.question aria-labelledby={ "q-" (question.id) } {
            h2 id={ "q-" (question.id) } { (question.reason) }
            p.soft { (question.agent) " for " (question.identity) ", asked " (when(question.asked_ms)) ", waits until " (when(question.until_ms)) " (UTC)" }
            h3 { "What it would do" }
            ul { @for effect in &question.effects { li { code { (effect) } } } }
            h3 { @if question.cut { "The action, cut: it cannot be approved" } @else { "The whole action" } }
            pre.whole tabindex="0" { (without_gaps(&question.action)) }
            (change(&format!("/console/questions/{}", question.id), "row", &html! {
                @if !question.cut { button.good type="submit" name="says" value="approve" { "Approve once" } }
                button.bad type="submit" name="says" value="reject" { "Reject" }
                @if !question.cut { a.choice href={ "/console/questions/" (question.id) "/widen" } { "Approve more than this" } }
                a.choice href={ "/console/decisions/" (question.id) } { "Explain" }
            }))
        }
    }
}

/// The text with the number of spaces in the place of long gaps.
fn without_gaps(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&" ".repeat(SPACES)) {
        let (before, gap) = rest.split_at(at);
        let after = gap.trim_start_matches(' ');
        shown.push_str(before);
        shown.push_str(&format!(" [{} spaces] ", gap.len() - after.len()));
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_does_not_hide_what_follows() {
        let action = format!("cat a{};rm -r b", " ".repeat(4_000));
        assert_eq!(without_gaps(&action), "cat a [4000 spaces] ;rm -r b");
        assert_eq!(without_gaps("a  b"), "a  b");
        assert_eq!(without_gaps(&" ".repeat(50)), " [50 spaces] ");
    }
}
