//! Feedback of operators on verdicts.

use super::memory::memory_of;
use super::problem::Problem;
use super::{Answer, blocking, operator, parse_body};
use crate::learn::{Feedback, Learnt, Question, apply_feedback};
use crate::memory::{Entry, Memory};
use crate::serve::Service;
use crate::serve::openapi::{AnyRoute, BodyErrors, ConflictError, MemoryErrors, OperatorErrors, RequestErrors};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FeedbackBody {
    /// Id of the verdict.
    verdict: String,
    says: Rating,
    /// How often an approved action may run.
    #[serde(default = "default_uses")]
    #[schema(minimum = 1, maximum = 1000)]
    uses: u32,
    /// For how many days an approval is valid.
    #[serde(default = "default_days")]
    #[schema(minimum = 1, maximum = 365)]
    days: u32,
    /// What was wrong with a rejected or reported action, as a statement without its subject: `told a guest that breakfast
    /// is free`. What it and the action both name, such as a program or a table, is what the rule is about; a model is asked
    /// whether it is true of later actions of like meaning.
    #[serde(default)]
    #[schema(max_length = 300)]
    reason: Option<String>,
}

/// The operator's opinion of the verdict.
#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Rating {
    Approve,
    Reject,
    Incident,
    FalsePositive,
}

fn default_uses() -> u32 {
    5
}

fn default_days() -> u32 {
    7
}

/// The lesson drawn from feedback.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct FeedbackResponse {
    /// The entry that was added or changed; null if a policy decided.
    #[schema(required)]
    learnt: Option<Box<Entry>>,
    /// The question about the rule whose answer the record needs most, if there is one. Nothing depends on the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<Question>,
    /// The policy that decided, which feedback does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
}

/// Rate a verdict
///
/// `approve` lets exactly this action pass a limited number of times; `reject` asks a person from now on; `incident`
/// denies from now on; `false-positive` counts against the learnt checks that decided.
#[utoipa::path(
    post,
    path = "/v1/feedback",
    tag = "feedback",
    request_body = FeedbackBody,
    responses(
        (status = 200, description = "the new lesson", body = FeedbackResponse),
        AnyRoute, BodyErrors, OperatorErrors, MemoryErrors, ConflictError
    ),
    security(("token" = []))
)]
pub(super) async fn give_feedback(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    let who = operator(&service, &headers)?;
    let FeedbackBody { verdict, says, uses, days, reason } = parse_body(&body)?;
    if !(1..=1000).contains(&uses) || !(1..=365).contains(&days) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "uses must be 1 to 1000 and days 1 to 365"));
    }
    if reason.is_some() && !matches!(says, Rating::Reject | Rating::Incident) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "a reason belongs to reject and incident"));
    }
    let feedback = match says {
        Rating::Approve => Feedback::Approve { uses, days },
        Rating::Reject => Feedback::Reject,
        Rating::Incident => Feedback::Incident,
        Rating::FalsePositive => Feedback::FalsePositive,
    };
    let memory = memory_of(&service)?;
    service.live().guard.settle().await.map_err(Problem::failed)?;
    let learn = move |memory: &Memory| match &reason {
        Some(reason) => memory.report(&verdict, feedback, reason, &who),
        None => apply_feedback(memory, &verdict, feedback, &who),
    };
    blocking(move || match learn(&memory) {
        Ok(Learnt::Entry(entry)) => {
            let question = memory.question(&entry.id)?;
            Ok(FeedbackResponse { learnt: Some(entry), question, decided_by: None })
        }
        Ok(Learnt::PolicyDecided(policy)) => {
            Ok(FeedbackResponse { learnt: None, question: None, decided_by: Some(policy) })
        }
        Err(error) => Err(error.into()),
    })
    .await
}

/// How far a rule reaches.
#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Reach {
    Every,
    Only,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    answer: Reach,
}

/// Get the question about a rule
///
/// The question whose answer the record needs most; null if there is none.
#[utoipa::path(
    get,
    path = "/v1/memory/{id}/question",
    tag = "feedback",
    params(("id" = String, Path, description = "id of the rule")),
    responses(
        (status = 200, description = "the question", body = Option<Question>),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors
    ),
    security(("token" = []))
)]
pub(super) async fn get_question(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let memory = memory_of(&service)?;
    blocking(move || Ok(memory.question(&id)?)).await
}

/// Answer the question about a rule
///
/// `every` makes the rule cover all that the question names; `only` leaves the rest alone.
#[utoipa::path(
    post,
    path = "/v1/memory/{id}/question",
    tag = "feedback",
    params(("id" = String, Path, description = "id of the rule")),
    request_body = AnswerBody,
    responses(
        (status = 200, description = "the next version of the rule", body = Entry),
        AnyRoute, BodyErrors, OperatorErrors, MemoryErrors, ConflictError
    ),
    security(("token" = []))
)]
pub(super) async fn answer_question(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let who = operator(&service, &headers)?;
    let AnswerBody { answer } = parse_body(&body)?;
    let memory = memory_of(&service)?;
    blocking(move || {
        let every = matches!(answer, Reach::Every);
        let next = memory.answer_question(&id, every, &who)?;
        next.ok_or_else(|| Problem::conflict("there is no question about this entry"))
    })
    .await
}
