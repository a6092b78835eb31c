//! The routes.
//!
//! 1. [`guard_request`] checks `Host` and `Origin` and sets the request timeout for every route.
//! 2. A handler authenticates the caller, then reads path, query and body, then answers with JSON.
//! 3. [`routes`] lists the handlers. Router and OpenAPI document are built from this one list.

mod approvals;
mod audit;
mod check;
mod console;
mod decisions;
mod feedback;
mod memory;
mod problem;
mod sessions;
mod status;

pub(super) use problem::{ErrorBody, Problem, header_for};

use super::auth::{Caller, authenticate, host_and_origin_allowed};
use super::openapi::ApiDoc;
use super::{Service, load};
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Largest number of items in one response.
const MAX_ITEMS: usize = 500;
/// Number of items in a response to a request that sets no limit.
const DEFAULT_ITEMS: usize = 50;
/// Headers that restrict the use of a response by a browser.
const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
];

type Answer = Result<Response, Problem>;

/// The handlers with their descriptions.
pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::with_openapi(ApiDoc::openapi())
        .routes(routes!(check::check))
        .routes(routes!(check::check_batch))
        .routes(routes!(sessions::observe))
        .routes(routes!(feedback::give_feedback))
        .routes(routes!(feedback::get_question, feedback::answer_question))
        .routes(routes!(approvals::list_approvals))
        .routes(routes!(approvals::answer_approval))
        .routes(routes!(decisions::list_decisions))
        .routes(routes!(decisions::get_decision))
        .routes(routes!(memory::search_memory))
        .routes(routes!(memory::get_entry))
        .routes(routes!(memory::get_history))
        .routes(routes!(memory::diff_versions))
        .routes(routes!(memory::roll_back))
        .routes(routes!(memory::quarantine))
        .routes(routes!(audit::get_audit))
        .routes(routes!(status::reload))
        .routes(routes!(status::health))
        .routes(routes!(status::metrics))
        .routes(routes!(console::openapi_document))
        .routes(routes!(console::page))
}

/// The routes, served by `service`.
pub(super) fn router(service: &Service) -> Router {
    guarded(Router::from(routes()).merge(super::console::routes()), service)
}

/// Adds what applies to every route; the last layer is the outermost.
fn guarded(routes: Router<Service>, service: &Service) -> Router {
    let router = routes
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "no such path; /openapi.json lists them"))
        // not tower-http's limit, which also refuses a body that no handler reads
        .layer(DefaultBodyLimit::max(service.live().settings.body))
        .layer(CatchPanicLayer::custom(|_| Problem::internal().into_response()))
        .layer(middleware::from_fn_with_state(service.clone(), guard_request))
        .with_state(service.clone());
    SECURITY_HEADERS.into_iter().fold(router, |router, (name, value)| {
        router.layer(SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value)))
    })
}

/// Refuses a request that is not meant for this service, limits its time, and counts errors.
///
/// The timeout is not tower-http's, whose duration is fixed when the router is built: a reload may change it.
async fn guard_request(State(service): State<Service>, request: Request, next: Next) -> Response {
    let live = service.live();
    let settings = &live.settings;
    let response = if host_and_origin_allowed(&settings.hosts, request.headers(), request.uri()) {
        let in_time = tokio::time::timeout(settings.patience, next.run(request)).await;
        in_time.unwrap_or_else(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the request timed out").into_response())
    } else {
        let message =
            "the Host or Origin header does not name this service; serve.hosts lists the names that it accepts";
        Problem::new(StatusCode::FORBIDDEN, message).into_response()
    };
    if response.status().is_client_error() || response.status().is_server_error() {
        service.inner.load.record_refusal(response.status().as_u16());
    }
    response
}

/// Name of the calling operator.
pub(super) fn operator(service: &Service, headers: &HeaderMap) -> Result<String, Problem> {
    match authenticate(&service.live().settings, headers) {
        Caller::Known(token) if token.operates => Ok(token.name.clone()),
        Caller::Known(token) => {
            let message = format!("token '{}' lacks the rights of an operator (operates = true)", token.name);
            Err(Problem::new(StatusCode::FORBIDDEN, message))
        }
        Caller::Anonymous | Caller::Unknown => {
            let message = "this route requires the token of an operator: Authorization: Bearer ...";
            Err(Problem::new(StatusCode::UNAUTHORIZED, message))
        }
    }
}

/// Not axum's `Json` extractor: it runs before the handler, so it would report errors in the body to a caller without a
/// token, and it answers 415 and 422 where this answers 400.
fn parse_body<T: for<'a> Deserialize<'a>>(body: &Bytes) -> Result<T, Problem> {
    serde_json::from_slice(body)
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, format!("invalid request body: {error}")))
}

fn parse_query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(query)| query).map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.body_text()))
}

/// Runs work that blocks on files or a database, and encodes its result, off the threads that serve requests.
async fn blocking<T: Serialize>(work: impl FnOnce() -> Result<T, Problem> + Send + 'static) -> Answer {
    let encoded = move || work().map(|value| Json(value).into_response());
    tokio::task::spawn_blocking(encoded).await.map_err(|_| Problem::internal())?
}

/// How many items to return.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct PageQuery {
    /// Number of items, 1 to 500; default 50.
    limit: Option<usize>,
}

fn item_limit(limit: Option<usize>) -> usize {
    limit.unwrap_or(DEFAULT_ITEMS).clamp(1, MAX_ITEMS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::Guard;
    use crate::serve::Settings;
    use axum::body::Body;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;

    #[tokio::test]
    async fn a_panic_is_answered_with_500() {
        let service = Service::new(Guard::builder().build().unwrap(), None, Settings::default());
        let routes = Router::new().route("/", axum::routing::get(async || -> Response { panic!("a secret") }));
        let request = Request::get("http://localhost/").body(Body::empty()).unwrap();
        let response = TowerToHyperService::new(guarded(routes, &service)).call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()["cache-control"], "no-store");
        let body = axum::body::to_bytes(response.into_body(), 1_000).await.unwrap();
        assert_eq!(body, r#"{"error":"internal error"}"#);
        assert!(service.inner.load.metrics().contains("agrail_refused_total{status=\"500\"} 1"));
    }
}
