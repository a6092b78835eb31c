//! What needs no token: the OpenAPI document and the frame of the web console.

use crate::serve::console::frame;
use crate::serve::openapi::{AnyRoute, document};
use axum::Json;
use axum::response::IntoResponse;
use serde_json::Value;

/// Get this document
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "operation",
    responses((status = 200, description = "the OpenAPI document", body = Object), AnyRoute),
    security(())
)]
pub(super) async fn openapi_document() -> Json<&'static Value> {
    Json(document())
}

/// Get the frame of the web console
///
/// The pages of the console are below `/console`. They are for browsers and not part of this document.
#[utoipa::path(
    get,
    path = "/",
    tag = "console",
    responses(
        (status = 200, description = "the frame, without data", body = String, content_type = "text/html; charset=utf-8"),
        AnyRoute
    ),
    security(())
)]
pub(super) async fn page() -> impl IntoResponse {
    frame().await
}
