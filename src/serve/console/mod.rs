//! The console: pages for operators.
//!
//! 1. Every address below `/console` is a page with a link of its own. A browser that opens one gets the frame, which
//!    holds no data and needs no token ([`frame`]). Its script then asks for the same address with the operator's token and
//!    puts the answer into the frame. So the token is in no cookie, which other services of the same host would receive.
//! 2. Pages are rendered here. They need the same rights as the JSON routes; beyond those, an operator may widen an approval.
//! 3. Everything is embedded: one style sheet, one script of our own, and htmx. The Content Security Policy allows nothing
//!    else.
//! 4. Text of agents is escaped twice: as HTML where it is inserted, and its hidden characters on the finished page.

mod audit;
mod decision;
mod decisions;
mod frame;
mod memory;
mod overview;
mod policies;
mod questions;
mod record;
mod sessions;
mod widen;

pub(super) use frame::frame;

use super::Service;
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

/// The header that htmx adds to its requests.
const HTMX: HeaderName = HeaderName::from_static("hx-request");

/// The pages and what they load.
pub(super) fn routes() -> Router<Service> {
    Router::new()
        .route("/console/overview", get(overview::page))
        .route("/console/decisions", get(decisions::page))
        .route("/console/decisions/{id}", get(decision::page).post(decision::rate))
        .route("/console/questions", get(questions::page))
        .route("/console/questions/count", get(questions::count))
        .route("/console/questions/{id}", get(questions::one).post(questions::reply))
        .route("/console/questions/{id}/widen", get(widen::page).post(widen::widen))
        .route("/console/memory", get(memory::page))
        .route("/console/memory/{id}", get(memory::entry).post(memory::change))
        .route("/console/sessions", get(sessions::page))
        .route("/console/sessions/one", get(sessions::one))
        .route("/console/policies", get(policies::page))
        .route("/console/policies/{id}", get(policies::rule))
        .route("/console/audit", get(audit::page))
        .layer(middleware::from_fn(frame_first))
        .route("/console/console.css", get(async || asset("text/css", include_str!("assets/console.css"))))
        .route("/console/console.js", get(async || asset("text/javascript", include_str!("assets/console.js"))))
        .route("/console/htmx.js", get(async || asset("text/javascript", include_str!("assets/htmx.min.js"))))
}

/// Answers a browser that opens an address with the frame.
async fn frame_first(request: Request, next: Next) -> Response {
    if request.method() == Method::GET && !request.headers().contains_key(HTMX) {
        return frame().await.into_response();
    }
    next.run(request).await
}

fn asset(kind: &str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, format!("{kind}; charset=utf-8"))], text).into_response()
}
