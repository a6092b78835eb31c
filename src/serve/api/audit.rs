//! The audit log.

use super::problem::Problem;
use super::{Answer, PageQuery, blocking, item_limit, operator, parse_query};
use crate::audit::{AuditError, Entry, entries};
use crate::serve::Service;
use crate::serve::openapi::{AnyRoute, NotFoundError, OperatorErrors, RequestErrors};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use serde::Serialize;
use std::collections::VecDeque;

/// State of the audit log.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct AuditReport {
    /// No byte of the log was changed.
    whole: bool,
    /// Number of entries; absent if the log is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    /// SHA-256 of the last line; absent if the log is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// Where the log is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The latest entries, oldest first; of a broken log, those before the break.
    #[schema(value_type = Vec<Entry>)]
    newest: VecDeque<Entry>,
}

/// Verify the audit log
///
/// Verifies the whole log and answers with its latest entries.
#[utoipa::path(
    get,
    path = "/v1/audit",
    tag = "audit",
    params(PageQuery),
    responses(
        (status = 200, description = "state and latest entries of the log", body = AuditReport),
        AnyRoute, RequestErrors, OperatorErrors, NotFoundError
    ),
    security(("token" = []))
)]
pub(super) async fn get_audit(
    State(service): State<Service>,
    headers: HeaderMap,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let PageQuery { limit } = parse_query(query)?;
    let log = service.live().guard.audit().cloned();
    let log = log.ok_or_else(|| Problem::not_found("this service has no audit log"))?;
    blocking(move || {
        let mut newest = VecDeque::new();
        let verified = entries(log.folder(), |entry| {
            newest.push_back(entry);
            if newest.len() > item_limit(limit) {
                newest.pop_front();
            }
        });
        let report = AuditReport { whole: false, entries: None, head: None, why: None, newest };
        match verified {
            Ok(log) => Ok(AuditReport { whole: true, entries: Some(log.entries), head: Some(log.head), ..report }),
            Err(AuditError::Broken(broken)) => Ok(AuditReport { why: Some(broken.to_string()), ..report }),
            Err(error) => Err(Problem::failed(error)),
        }
    })
    .await
}
