//! What can be asked of the service.

use super::auth::{Caller, caller, identity, meant_for_us};
use super::load::Refused;
use super::{ReloadError, Service, openapi};
use crate::action::{Context, Question};
use crate::approvals::{ApprovalError, Approvals, Word};
use crate::learn::{
    Feedback, Learnt,
    feedback::{FeedbackError, learn},
};
use crate::memory::{Memory, MemoryError};
use crate::verdict::{Decision, Verdict};
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

/// Most actions of one batch.
const BATCH: usize = 64;
/// Most lines of one answer.
const LINES: usize = 500;
const PAGE: &str = include_str!("console/index.html");
const SCRIPT: &str = include_str!("console/console.js");
const STYLE: &str = include_str!("console/console.css");

/// What went wrong, for the caller.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    says: String,
}

impl Problem {
    fn new(status: StatusCode, says: impl Into<String>) -> Self {
        Self { status, says: says.into() }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(json!({"error": self.says}))).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

type Answer<T = Response> = Result<T, Problem>;

/// Every path of the service.
pub(super) fn router(service: &Service) -> Router {
    let body = service.now().settings.body;
    Router::new()
        .route("/v1/check", post(check))
        .route("/v1/check/batch", post(batch))
        .route("/v1/feedback", post(feedback))
        .route("/v1/approvals", get(approvals))
        .route("/v1/approvals/{id}", post(answer))
        .route("/v1/decisions", get(decisions))
        .route("/v1/decisions/{id}", get(decision))
        .route("/v1/memory", get(memory))
        .route("/v1/memory/{id}", get(entry))
        .route("/v1/memory/{id}/history", get(history))
        .route("/v1/memory/{id}/diff", get(diff))
        .route("/v1/memory/{id}/rollback", post(rollback))
        .route("/v1/memory/{id}/quarantine", post(quarantine))
        .route("/v1/audit", get(audit))
        .route("/v1/reload", post(reload))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(async || axum::Json(openapi::document())))
        .route("/", get(async || ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], PAGE)))
        .route("/console.js", get(async || ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)))
        .route("/console.css", get(async || ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)))
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "there is no such path; see /openapi.json"))
        .layer(DefaultBodyLimit::max(body))
        .layer(middleware::from_fn_with_state(service.clone(), around))
        .with_state(service.clone())
}

/// What holds for every request: where it comes from, how long it may take, what a browser may do with the answer.
async fn around(State(service): State<Service>, request: Request, next: Next) -> Response {
    let now = service.now();
    let settings = &now.settings;
    let mut response = if meant_for_us(&settings.hosts, request.headers(), request.uri()) {
        match tokio::time::timeout(settings.patience, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Problem::new(StatusCode::REQUEST_TIMEOUT, "the request took too long").into_response(),
        }
    } else {
        let says = "the Host or Origin is no name of this service; add it to serve.hosts if it should be";
        Problem::new(StatusCode::FORBIDDEN, says).into_response()
    };
    if response.status().is_client_error() || response.status().is_server_error() {
        service.inner.load.refused(response.status().as_u16());
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}

/// A call of a token that operates; its name.
fn operator(service: &Service, headers: &HeaderMap) -> Answer<String> {
    match caller(&service.now().settings, headers) {
        Caller::Known(token) if token.operates => Ok(token.name.clone()),
        Caller::Known(token) => {
            let says = format!("the token '{}' may not do that; it needs operates = true", token.name);
            Err(Problem::new(StatusCode::FORBIDDEN, says))
        }
        Caller::Nobody | Caller::Wrong => Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "that needs the token of an operator: Authorization: Bearer ...",
        )),
    }
}

fn read<T: for<'a> Deserialize<'a>>(body: &Bytes) -> Answer<T> {
    serde_json::from_slice(body)
        .map_err(|e| Problem::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {e}")))
}

fn query<T>(query: Result<Query<T>, QueryRejection>) -> Answer<T> {
    query.map(|Query(found)| found).map_err(|e| Problem::new(StatusCode::BAD_REQUEST, e.body_text()))
}

/// Work that waits for files or a database, away from the threads that answer.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
    let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "it broke down");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

fn failed(problem: impl std::fmt::Display) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, problem.to_string())
}

async fn judged(service: &Service, headers: &HeaderMap, asked: Question) -> Answer<Verdict> {
    let (inner, now) = (&service.inner, service.now());
    let who = caller(&now.settings, headers);
    match who {
        Caller::Wrong => return Err(Problem::new(StatusCode::UNAUTHORIZED, "the token is not known")),
        Caller::Nobody if now.settings.check_needs_token => {
            return Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "a check needs a token here: Authorization: Bearer ...",
            ));
        }
        Caller::Nobody | Caller::Known(_) => {}
    }
    let place = inner.load.place().await.map_err(|why| match why {
        Refused::Rate => Problem::new(StatusCode::TOO_MANY_REQUESTS, "more checks than this service takes a second"),
        Refused::Busy => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many checks are waiting; do not act, and ask again")
        }
    })?;
    let _at_work = inner.load.begins();
    let identity = identity(&now.settings, who, asked.context.identity);
    let trusted = matches!(who, Caller::Known(token) if token.acts_for_others || token.identity.is_some());
    let superuser = inner.environment.as_ref().is_some_and(|e| e.account_by_uid(0).as_deref() == Some(&identity.name));
    if superuser && !trusted && identity.name != now.settings.identity.name {
        let says = "only a token that acts for others may ask for the superuser";
        return Err(Problem::new(StatusCode::FORBIDDEN, says));
    }
    let mut context = Context::new(identity, inner.environment.clone());
    context.request = asked.context.request;
    context.observations = asked.context.observations;
    if let Some(agent) = asked.context.agent {
        context.agent = agent;
    }
    let mut verdict = now.guard.check(&asked.action, &context).await;
    drop(place);
    inner.load.decided(&verdict);
    if now.settings.shadow && verdict.decision != Decision::Allow {
        verdict.reason = format!("shadow mode; it would be {}: {}", verdict.decision, verdict.reason);
        verdict.decision = Decision::Allow;
        verdict.ask_of = None;
    }
    Ok(verdict)
}

async fn check(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    Ok(axum::Json(judged(&service, &headers, read(&body)?).await?).into_response())
}

/// Each is answered by itself; the first that is refused ends it.
async fn batch(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    let asked: Vec<Question> = read(&body)?;
    if asked.len() > BATCH {
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a batch holds at most {BATCH} actions")));
    }
    let mut verdicts = Vec::with_capacity(asked.len());
    for one in asked {
        verdicts.push(judged(&service, &headers, one).await?);
    }
    Ok(axum::Json(verdicts).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Says {
    verdict: String,
    says: String,
    #[serde(default = "five")]
    uses: u32,
    #[serde(default = "seven")]
    days: u32,
}

fn five() -> u32 {
    5
}

fn seven() -> u32 {
    7
}

async fn feedback(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    let who = operator(&service, &headers)?;
    let Says { verdict, says, uses, days } = read(&body)?;
    if !(1..=1000).contains(&uses) || !(1..=365).contains(&days) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "uses may be 1 to 1000, and days 1 to 365"));
    }
    let feedback = match says.as_str() {
        "approve" => Feedback::Approve { uses, days },
        "reject" => Feedback::Reject,
        "incident" => Feedback::Incident,
        "false-positive" => Feedback::FalsePositive,
        _ => {
            let says = "says may be approve, reject, incident or false-positive";
            return Err(Problem::new(StatusCode::BAD_REQUEST, says));
        }
    };
    let memory = store(&service)?;
    service.now().guard.settle().await.map_err(failed)?;
    apart(move || match learn(&memory, &verdict, feedback, &who) {
        Ok(Learnt::Entry(entry)) => Ok(axum::Json(json!({"learnt": entry})).into_response()),
        Ok(Learnt::PolicyDecided(by)) => Ok(axum::Json(json!({"learnt": null, "decided_by": by})).into_response()),
        Err(FeedbackError::Memory(problem)) => Err(missing(&problem)),
        Err(problem @ (FeedbackError::NotApprovable { .. } | FeedbackError::NoTarget { .. })) => {
            Err(Problem::new(StatusCode::CONFLICT, problem.to_string()))
        }
        Err(problem) => Err(failed(problem)),
    })
    .await
}

fn store(service: &Service) -> Answer<Memory> {
    let memory = service.now().guard.memory().cloned();
    memory.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "this service has no memory"))
}

fn queue(service: &Service) -> Answer<Approvals> {
    let queue = service.now().guard.approvals().cloned();
    queue.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "this service has no queue of approvals"))
}

fn missing(problem: &MemoryError) -> Problem {
    let status = match problem {
        MemoryError::NoSuchEntry { .. } | MemoryError::NoSuchVersion { .. } | MemoryError::NoSuchDecision { .. } => {
            StatusCode::NOT_FOUND
        }
        MemoryError::Refused(_) | MemoryError::ApprovalSpent { .. } => StatusCode::CONFLICT,
        MemoryError::Locked => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Problem::new(status, problem.to_string())
}

async fn approvals(State(service): State<Service>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let queue = queue(&service)?;
    apart(move || Ok(axum::Json(queue.waiting().map_err(failed)?).into_response())).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    says: String,
}

async fn answer(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap, body: Bytes) -> Answer {
    let who = operator(&service, &headers)?;
    let word = match read::<Said>(&body)?.says.as_str() {
        "approve" => Word::Approved,
        "reject" => Word::Rejected,
        _ => return Err(Problem::new(StatusCode::BAD_REQUEST, "says may be approve or reject")),
    };
    let queue = queue(&service)?;
    apart(move || match queue.answer(&id, word, &who) {
        Ok(()) => Ok(axum::Json(json!({"id": id})).into_response()),
        Err(problem @ ApprovalError::NotWaiting(_)) => Err(Problem::new(StatusCode::NOT_FOUND, problem.to_string())),
        Err(problem @ ApprovalError::TooLong(_)) => Err(Problem::new(StatusCode::CONFLICT, problem.to_string())),
        Err(problem) => Err(failed(problem)),
    })
    .await
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    words: String,
}

impl Page {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(50).clamp(1, LINES)
    }
}

async fn decisions(
    State(service): State<Service>,
    headers: HeaderMap,
    page: Result<Query<Page>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let (memory, page) = (store(&service)?, query(page)?);
    service.now().guard.settle().await.map_err(failed)?;
    apart(move || {
        let found = memory.decisions(page.limit()).map_err(|e| missing(&e))?;
        let found: Vec<Value> = found.iter().rev().map(|d| recorded(&d.record, d.at_ms)).collect();
        Ok(axum::Json(found).into_response())
    })
    .await
}

async fn decision(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let memory = store(&service)?;
    service.now().guard.settle().await.map_err(failed)?;
    apart(move || {
        let found = memory.decision(&id).map_err(|e| missing(&e))?;
        Ok(axum::Json(recorded(&found.record, found.at_ms)).into_response())
    })
    .await
}

/// A recorded decision with its time.
fn recorded(record: &str, at_ms: i64) -> Value {
    let mut value: Value = serde_json::from_str(record).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("at_ms".to_owned(), json!(at_ms));
    }
    value
}

async fn memory(
    State(service): State<Service>,
    headers: HeaderMap,
    page: Result<Query<Page>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let (memory, page) = (store(&service)?, query(page)?);
    apart(move || Ok(axum::Json(memory.search(&page.words, page.limit()).map_err(|e| missing(&e))?).into_response()))
        .await
}

async fn entry(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let memory = store(&service)?;
    apart(move || Ok(axum::Json(memory.show(&id).map_err(|e| missing(&e))?).into_response())).await
}

async fn history(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    operator(&service, &headers)?;
    let memory = store(&service)?;
    apart(move || Ok(axum::Json(memory.log(Some(&id), LINES).map_err(|e| missing(&e))?).into_response())).await
}

#[derive(Deserialize)]
struct Between {
    from: u64,
    to: u64,
}

async fn diff(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    between: Result<Query<Between>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let (memory, Between { from, to }) = (store(&service)?, query(between)?);
    apart(move || Ok(axum::Json(memory.diff(&id, from, to).map_err(|e| missing(&e))?).into_response())).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct To {
    version: u64,
}

async fn rollback(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap, body: Bytes) -> Answer {
    let who = operator(&service, &headers)?;
    let (memory, To { version }) = (store(&service)?, read(&body)?);
    apart(move || Ok(axum::Json(memory.rollback(&id, version, &who).map_err(|e| missing(&e))?).into_response())).await
}

async fn quarantine(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    let who = operator(&service, &headers)?;
    let memory = store(&service)?;
    apart(move || Ok(axum::Json(memory.quarantine(&id, &who).map_err(|e| missing(&e))?).into_response())).await
}

/// Whether the audit log holds together, and its newest entries.
async fn audit(
    State(service): State<Service>,
    headers: HeaderMap,
    page: Result<Query<Page>, QueryRejection>,
) -> Answer {
    operator(&service, &headers)?;
    let page = query(page)?;
    let log = service.now().guard.audit().cloned();
    let log = log.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "this service keeps no audit log"))?;
    apart(move || {
        let mut newest = std::collections::VecDeque::new();
        let read = crate::audit::entries(log.folder(), |entry| {
            newest.push_back(entry);
            if newest.len() > page.limit() {
                newest.pop_front();
            }
        });
        match read {
            Ok(good) => {
                Ok(axum::Json(json!({"whole": true, "entries": good.entries, "head": good.head, "newest": newest}))
                    .into_response())
            }
            Err(crate::audit::AuditError::Broken(broken)) => {
                Ok(axum::Json(json!({"whole": false, "why": broken.to_string(), "newest": newest})).into_response())
            }
            Err(problem) => Err(failed(problem)),
        }
    })
    .await
}

/// How the configuration is read anew.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Reload {
    /// Also if it stops less than before.
    weaker: bool,
}

/// Reads the configuration anew.
async fn reload(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    let who = operator(&service, &headers)?;
    let Reload { weaker } = if body.is_empty() { Reload::default() } else { read(&body)? };
    apart(move || match service.reload(&who, weaker) {
        Ok(reloaded) => Ok(axum::Json(reloaded).into_response()),
        Err(problem @ ReloadError::Fixed) => Err(Problem::new(StatusCode::NOT_FOUND, problem.to_string())),
        Err(problem) => Err(Problem::new(StatusCode::CONFLICT, problem.to_string())),
    })
    .await
}

async fn health(State(service): State<Service>) -> Response {
    let policy = service.now().guard.policy().digest().get(..16).unwrap_or_default().to_owned();
    axum::Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "policy": policy})).into_response()
}

async fn metrics(State(service): State<Service>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], service.inner.load.figures()).into_response()
}
