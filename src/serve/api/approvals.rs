//! The queue of pending approvals.

use super::problem::Problem;
use super::{Answer, blocking, operator, parse_body};
use crate::approvals::{self, ApprovalError, Approvals, PendingApproval};
use crate::serve::Service;
use crate::serve::openapi::{AnyRoute, BodyErrors, ConflictError, NotFoundError, OperatorErrors};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalBody {
    says: ApprovalAnswer,
}

/// The answer of a person.
#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum ApprovalAnswer {
    Approve,
    Reject,
}

/// The approval that was answered.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct ApprovalResponse {
    /// Id of the verdict that asked.
    id: String,
}

fn queue_of(service: &Service) -> Result<Approvals, Problem> {
    let queue = service.live().guard.approvals().cloned();
    queue.ok_or_else(|| Problem::not_found("this service has no approval queue"))
}

/// List pending approvals
///
/// Actions that wait for the answer of a person, oldest first.
#[utoipa::path(
    get,
    path = "/v1/approvals",
    tag = "approvals",
    responses(
        (status = 200, description = "the pending approvals", body = Vec<PendingApproval>),
        AnyRoute, OperatorErrors, NotFoundError
    ),
    security(("token" = []))
)]
pub(super) async fn list_approvals(State(service): State<Service>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let queue = queue_of(&service)?;
    blocking(move || queue.waiting().map_err(Problem::failed)).await
}

/// Answer a pending approval
///
/// `approve` lets exactly this action pass once, `reject` denies it.
#[utoipa::path(
    post,
    path = "/v1/approvals/{id}",
    tag = "approvals",
    params(("id" = String, Path, description = "id of the verdict that asked")),
    request_body = ApprovalBody,
    responses(
        (status = 200, description = "the answer was recorded", body = ApprovalResponse),
        AnyRoute, BodyErrors, OperatorErrors, NotFoundError, ConflictError
    ),
    security(("token" = []))
)]
pub(super) async fn answer_approval(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let who = operator(&service, &headers)?;
    let ApprovalBody { says } = parse_body(&body)?;
    let word = match says {
        ApprovalAnswer::Approve => approvals::Answer::Approved,
        ApprovalAnswer::Reject => approvals::Answer::Rejected,
    };
    let queue = queue_of(&service)?;
    blocking(move || match queue.answer(&id, word, &who) {
        Ok(()) => Ok(ApprovalResponse { id }),
        Err(error @ ApprovalError::NotPending(_)) => Err(Problem::not_found(error)),
        Err(error @ ApprovalError::TooLong(_)) => Err(Problem::conflict(error)),
        Err(error) => Err(Problem::failed(error)),
    })
    .await
}
