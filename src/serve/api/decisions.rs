//! Recorded decisions.

use super::memory::memory_of;
use super::problem::Problem;
use super::{Answer, PageQuery, blocking, item_limit, operator, parse_query};
use crate::action::{Action, Identity};
use crate::memory::DecisionRecord;
use crate::serve::Service;
use crate::serve::openapi::{AnyRoute, MemoryErrors, OperatorErrors, RequestErrors};
use crate::verdict::Verdict;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};

/// A decision as it was recorded: JSON of this or of an earlier release, which is passed on unchanged.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(transparent)]
#[schema(value_type = DecisionFields)]
pub(super) struct RecordedDecision(Value);

/// A recorded decision, without secrets.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "documents JSON that is stored as text")]
struct DecisionFields {
    /// Milliseconds since 1970.
    at_ms: i64,
    action: Action,
    /// The request of the user.
    request: String,
    /// Name of the agent.
    agent: String,
    identity: Identity,
    verdict: Verdict,
}

impl From<&DecisionRecord> for RecordedDecision {
    fn from(decision: &DecisionRecord) -> Self {
        let mut value: Value = serde_json::from_str(&decision.record).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("at_ms".to_owned(), json!(decision.at_ms));
        }
        Self(value)
    }
}

/// List decisions
///
/// The latest decisions, newest first.
#[utoipa::path(
    get,
    path = "/v1/decisions",
    tag = "decisions",
    params(PageQuery),
    responses(
        (status = 200, description = "the decisions", body = Vec<RecordedDecision>),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors
    ),
    security(("token" = []))
)]
pub(super) async fn list_decisions(
    State(service): State<Service>,
    headers: HeaderMap,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let (memory, PageQuery { limit }) = (memory_of(&service)?, parse_query(query)?);
    service.live().guard.settle().await.map_err(Problem::failed)?;
    blocking(move || {
        Ok(memory.decisions(item_limit(limit))?.iter().rev().map(RecordedDecision::from).collect::<Vec<_>>())
    })
    .await
}

/// Get one decision
#[utoipa::path(
    get,
    path = "/v1/decisions/{id}",
    tag = "decisions",
    params(("id" = String, Path, description = "id of the verdict")),
    responses(
        (status = 200, description = "the decision", body = RecordedDecision),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors
    ),
    security(("token" = []))
)]
pub(super) async fn get_decision(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let memory = memory_of(&service)?;
    service.live().guard.settle().await.map_err(Problem::failed)?;
    blocking(move || Ok(RecordedDecision::from(&memory.decision(&id)?))).await
}
