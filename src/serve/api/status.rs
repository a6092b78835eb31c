//! Operation of the service: reload, health and metrics.

use super::problem::Problem;
use super::{Answer, blocking, operator, parse_body};
use crate::serve::openapi::{AnyRoute, BodyErrors, ConflictError, NotFoundError, OperatorErrors};
use crate::serve::{ReloadError, Reloaded, Service};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReloadBody {
    /// Accept a configuration that stops fewer actions.
    weaker: bool,
}

/// Reload the configuration
///
/// Replaces settings and policies together. A broken configuration, or a weaker one that the request does not accept,
/// changes nothing.
#[utoipa::path(
    post,
    path = "/v1/reload",
    tag = "operation",
    request_body = Option<ReloadBody>,
    responses(
        (status = 200, description = "the configuration was replaced", body = Reloaded),
        AnyRoute, BodyErrors, OperatorErrors, NotFoundError, ConflictError
    ),
    security(("token" = []))
)]
pub(super) async fn reload(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    let who = operator(&service, &headers)?;
    let ReloadBody { weaker } = if body.is_empty() { ReloadBody::default() } else { parse_body(&body)? };
    blocking(move || match service.reload(&who, weaker) {
        Ok(reloaded) => Ok(reloaded),
        Err(error @ ReloadError::Fixed) => Err(Problem::not_found(error)),
        Err(error) => Err(Problem::conflict(error)),
    })
    .await
}

#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// Version of agrail.
    version: &'static str,
    /// First 16 characters of the digest of the policies.
    policy: String,
}

/// Report that the service is up
#[utoipa::path(
    get,
    path = "/health",
    tag = "operation",
    responses((status = 200, description = "the service is up", body = Health), AnyRoute),
    security(())
)]
pub(super) async fn health(State(service): State<Service>) -> Json<Health> {
    let policy = service.live().guard.policy().digest().get(..16).unwrap_or_default().to_owned();
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), policy })
}

/// Get metrics for Prometheus
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operation",
    responses(
        (
            status = 200, description = "metrics in the OpenMetrics text format", body = String,
            content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8"
        ),
        AnyRoute
    ),
    security(())
)]
pub(super) async fn metrics(State(service): State<Service>) -> impl IntoResponse {
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], service.inner.load.metrics())
}
