//! The memory: its entries, their history, and changes by an operator.

use super::problem::Problem;
use super::{Answer, MAX_ITEMS, blocking, item_limit, operator, parse_body, parse_query};
use crate::memory::{Diff, Entry, Event, Memory};
use crate::serve::Service;
use crate::serve::openapi::{AnyRoute, BodyErrors, ConflictError, MemoryErrors, OperatorErrors, RequestErrors};
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use serde::Deserialize;

pub(super) fn memory_of(service: &Service) -> Result<Memory, Problem> {
    let memory = service.live().guard.memory().cloned();
    memory.ok_or_else(|| Problem::not_found("this service has no memory"))
}

/// Which entries to return.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// Number of entries, 1 to 500; default 50.
    limit: Option<usize>,
    /// Words that each entry contains, in upper or lower case.
    #[serde(default)]
    words: String,
}

/// Search the memory
///
/// Entries that contain every given word, by id.
#[utoipa::path(
    get,
    path = "/v1/memory",
    tag = "memory",
    params(SearchQuery),
    responses(
        (status = 200, description = "the current versions", body = Vec<Entry>),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors
    ),
    security(("token" = []))
)]
pub(super) async fn search_memory(
    State(service): State<Service>,
    headers: HeaderMap,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let (memory, SearchQuery { limit, words }) = (memory_of(&service)?, parse_query(query)?);
    blocking(move || Ok(memory.search(&words, item_limit(limit))?)).await
}

/// Get one entry
#[utoipa::path(
    get,
    path = "/v1/memory/{id}",
    tag = "memory",
    params(("id" = String, Path, description = "id of the entry")),
    responses(
        (status = 200, description = "the current version", body = Entry),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors
    ),
    security(("token" = []))
)]
pub(super) async fn get_entry(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let memory = memory_of(&service)?;
    blocking(move || Ok(memory.show(&id)?)).await
}

/// Get the history of an entry
#[utoipa::path(
    get,
    path = "/v1/memory/{id}/history",
    tag = "memory",
    params(("id" = String, Path, description = "id of the entry")),
    responses(
        (status = 200, description = "the latest events, oldest first", body = Vec<Event>),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors
    ),
    security(("token" = []))
)]
pub(super) async fn get_history(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let memory = memory_of(&service)?;
    blocking(move || Ok(memory.log(Some(&id), MAX_ITEMS)?)).await
}

/// Two versions of an entry.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffQuery {
    /// The earlier version.
    from: u64,
    /// The later version.
    to: u64,
}

/// Compare two versions of an entry
#[utoipa::path(
    get,
    path = "/v1/memory/{id}/diff",
    tag = "memory",
    params(("id" = String, Path, description = "id of the entry"), DiffQuery),
    responses(
        (status = 200, description = "what differs", body = Diff),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors
    ),
    security(("token" = []))
)]
pub(super) async fn diff_versions(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    query: Result<Query<DiffQuery>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let (memory, DiffQuery { from, to }) = (memory_of(&service)?, parse_query(query)?);
    blocking(move || Ok(memory.diff(&id, from, to)?)).await
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RollbackBody {
    /// The version to restore.
    #[schema(minimum = 1)]
    version: u64,
}

/// Roll an entry back
///
/// Adds a new version with the content of an earlier one.
#[utoipa::path(
    post,
    path = "/v1/memory/{id}/rollback",
    tag = "memory",
    params(("id" = String, Path, description = "id of the entry")),
    request_body = RollbackBody,
    responses(
        (status = 200, description = "the new version", body = Entry),
        AnyRoute, BodyErrors, OperatorErrors, MemoryErrors, ConflictError
    ),
    security(("token" = []))
)]
pub(super) async fn roll_back(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let who = operator(&service, &headers)?;
    let (memory, RollbackBody { version }) = (memory_of(&service)?, parse_body(&body)?);
    blocking(move || Ok(memory.rollback(&id, version, &who)?)).await
}

/// Quarantine an entry
///
/// The entry takes no part in later checks, and no lesson can revive it. A request body is ignored.
#[utoipa::path(
    post,
    path = "/v1/memory/{id}/quarantine",
    tag = "memory",
    params(("id" = String, Path, description = "id of the entry")),
    responses(
        (status = 200, description = "the new version", body = Entry),
        AnyRoute, RequestErrors, OperatorErrors, MemoryErrors, ConflictError
    ),
    security(("token" = []))
)]
pub(super) async fn quarantine(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    let who = operator(&service, &headers)?;
    let memory = memory_of(&service)?;
    blocking(move || Ok(memory.quarantine(&id, &who)?)).await
}
