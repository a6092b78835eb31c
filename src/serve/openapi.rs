//! The OpenAPI 3.1 document of the service, generated from the handlers and from the types that they read and answer
//! with.
//!
//! 1. Each handler in `api` describes itself with `#[utoipa::path]`, and the router is built from those descriptions.
//! 2. Errors are described once, in [`ERRORS`]. A handler names the groups of errors that apply to it, such as
//!    [`BodyErrors`].
//! 3. Responses that belong to no operation are in the general description: 404 for an unknown path, 405 for another
//!    method.

use super::api::{self, ErrorBody, header_for};
use crate::check::Source;
use crate::untrusted::Untrusted;
use axum::http::StatusCode;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify, PartialSchema, ToSchema};

/// The parts of the document other than its paths.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "agrail",
        description = "A guardrail for LLM agents. A path that is not listed answers 404 with an error. A method that is not listed \
                       for a path answers 405 with an empty body and the header `Allow`."
    ),
    components(schemas(ErrorBody)),
    modifiers(&Shared)
)]
pub(super) struct ApiDoc;

/// Components that operations refer to: the bearer token and the error responses.
struct Shared;

impl Modify for Shared {
    fn modify(&self, openapi: &mut OpenApi) {
        let components = openapi.components.get_or_insert_with(Components::new);
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        components.responses.extend(ERRORS.iter().map(|error| (component_name(error.status), error.response().into())));
    }
}

/// One error status, whatever the route.
struct ErrorResponse {
    status: StatusCode,
    body: ErrorFormat,
    description: &'static str,
}

/// Body of an error response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ErrorFormat {
    /// [`ErrorBody`].
    Json,
    /// [`ErrorBody`] from a handler, plain text from the framework.
    JsonOrText,
    /// Empty: the server answers before the request reaches a route.
    Empty,
}

const fn error(status: StatusCode, body: ErrorFormat, description: &'static str) -> ErrorResponse {
    ErrorResponse { status, body, description }
}

const ERRORS: [ErrorResponse; 11] = [
    error(StatusCode::BAD_REQUEST, ErrorFormat::JsonOrText, "the path, query or body is invalid"),
    error(StatusCode::UNAUTHORIZED, ErrorFormat::Json, "a token is missing, or unknown"),
    error(
        StatusCode::FORBIDDEN,
        ErrorFormat::Json,
        "the token lacks the right to do this, or the header Host or Origin does not name this service",
    ),
    error(
        StatusCode::NOT_FOUND,
        ErrorFormat::Json,
        "there is no such item, or the service is set up without its store",
    ),
    error(StatusCode::REQUEST_TIMEOUT, ErrorFormat::Json, "the request timed out"),
    error(StatusCode::CONFLICT, ErrorFormat::Json, "the current state does not permit this; the error says why"),
    error(StatusCode::PAYLOAD_TOO_LARGE, ErrorFormat::JsonOrText, "the body or the batch is too large"),
    error(StatusCode::TOO_MANY_REQUESTS, ErrorFormat::Json, "the rate limit for checks is exceeded; retry later"),
    error(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, ErrorFormat::Empty, "the head of the request is too large"),
    error(StatusCode::INTERNAL_SERVER_ERROR, ErrorFormat::Json, "the service failed; do not act"),
    error(StatusCode::SERVICE_UNAVAILABLE, ErrorFormat::Json, "the service is busy; do not act, retry later"),
];

impl ErrorResponse {
    fn response(&self) -> Response {
        let mut response = ResponseBuilder::new().description(self.description);
        if self.body != ErrorFormat::Empty {
            let schema = Ref::from_schema_name(ErrorBody::name());
            response = response.content("application/json", ContentBuilder::new().schema(Some(schema)).build());
        }
        if self.body == ErrorFormat::JsonOrText {
            let text = String::schema();
            response = response.content("text/plain; charset=utf-8", ContentBuilder::new().schema(Some(text)).build());
        }
        if let Some((name, value)) = header_for(self.status) {
            let header =
                HeaderBuilder::new().schema(Some(String::schema())).description(Some(format!("`{value}`"))).build();
            response = response.header(name.as_str(), header);
        }
        response.build()
    }
}

/// `Not Found` is the component `NotFound`.
fn component_name(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or_default().split(' ').collect()
}

macro_rules! error_groups {
    ($($(#[$doc:meta])* $group:ident: $($status:ident)|+;)+) => {$(
        $(#[$doc])*
        pub(super) enum $group {}

        impl IntoResponses for $group {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                [$(StatusCode::$status),+]
                    .into_iter()
                    .map(|status| {
                        let component = Ref::from_response_name(component_name(status));
                        (status.as_str().to_owned(), RefOr::Ref(component))
                    })
                    .collect()
            }
        }
    )+};
}

error_groups! {
    /// Errors of every route.
    AnyRoute: FORBIDDEN | REQUEST_TIMEOUT | REQUEST_HEADER_FIELDS_TOO_LARGE | INTERNAL_SERVER_ERROR;
    /// Errors of a route with parameters.
    RequestErrors: BAD_REQUEST;
    /// Errors of a route that reads a body.
    BodyErrors: BAD_REQUEST | PAYLOAD_TOO_LARGE;
    /// Errors of a check that is not admitted.
    AdmissionErrors: UNAUTHORIZED | TOO_MANY_REQUESTS | SERVICE_UNAVAILABLE;
    /// Errors of a route for operators.
    OperatorErrors: UNAUTHORIZED;
    /// Errors of a route that reads the memory, which another process may lock.
    MemoryErrors: NOT_FOUND | SERVICE_UNAVAILABLE;
    /// Errors of a route that looks up an item.
    NotFoundError: NOT_FOUND;
    /// Errors of a route that changes state.
    ConflictError: CONFLICT;
}

impl PartialSchema for Untrusted {
    fn schema() -> RefOr<Schema> {
        text("text that the user did not write")
    }
}

impl ToSchema for Untrusted {}

impl PartialSchema for Source {
    fn schema() -> RefOr<Schema> {
        text("who answered a check: `policy:ID`, `memory:ENTRY`, `tool:NAME`, `reasoner:rules` ...")
    }
}

impl ToSchema for Source {}

fn text(description: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
    RefOr::T(Schema::Object(text.description(Some(description)).build()))
}

/// The document.
pub(super) fn document() -> &'static Value {
    // a document of string keys always has a JSON form
    static DOCUMENT: LazyLock<Value> =
        LazyLock::new(|| serde_json::to_value(api::routes().into_openapi()).unwrap_or_default());
    &DOCUMENT
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::Guard;
    use crate::serve::{Service, Settings};
    use std::collections::BTreeSet;

    #[test]
    fn every_route_of_the_router_is_described() {
        let service = Service::new(Guard::builder().build().unwrap(), None, Settings::default());
        // axum lists its paths in no other way
        let router = format!("{:?}", api::router(&service));
        let routed: BTreeSet<&str> = router.split('"').filter(|text| text.starts_with('/')).collect();
        // pages for browsers are not part of the document
        let is_api = |path: &&str| !path.contains("__private__axum") && !path.starts_with("/console/");
        let routed: BTreeSet<&str> = routed.into_iter().filter(is_api).collect();
        let described = document()["paths"].as_object().unwrap();
        assert_eq!(routed, described.keys().map(String::as_str).collect());
    }

    #[test]
    fn every_reference_of_the_document_resolves() {
        let mut pending = vec![document()];
        while let Some(value) = pending.pop() {
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                assert!(document().pointer(target.trim_start_matches('#')).is_some(), "{target}");
            }
            pending.extend(value.as_object().into_iter().flat_map(serde_json::Map::values));
            pending.extend(value.as_array().into_iter().flatten());
        }
    }
}
