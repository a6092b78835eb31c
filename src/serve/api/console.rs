//! Files that need no token: the OpenAPI document and the web console.

use crate::serve::openapi::{AnyRoute, document};
use axum::Json;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::Value;

const PAGE: &str = include_str!("../console/index.html");
const SCRIPT: &str = include_str!("../console/console.js");
const STYLE: &str = include_str!("../console/console.css");

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

/// Get the page of the web console
#[utoipa::path(
    get,
    path = "/",
    tag = "console",
    responses(
        (status = 200, description = "the page", body = String, content_type = "text/html; charset=utf-8"),
        AnyRoute
    ),
    security(())
)]
pub(super) async fn page() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], PAGE)
}

/// Get the script of the web console
#[utoipa::path(
    get,
    path = "/console.js",
    tag = "console",
    responses(
        (status = 200, description = "the script", body = String, content_type = "text/javascript; charset=utf-8"),
        AnyRoute
    ),
    security(())
)]
pub(super) async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)
}

/// Get the style sheet of the web console
#[utoipa::path(
    get,
    path = "/console.css",
    tag = "console",
    responses(
        (status = 200, description = "the style sheet", body = String, content_type = "text/css; charset=utf-8"),
        AnyRoute
    ),
    security(())
)]
pub(super) async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}
