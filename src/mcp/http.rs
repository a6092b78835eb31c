//! The proxy over streamable HTTP: the client connects to an address of this machine instead of the server's.
//!
//! 1. There is one endpoint, `/mcp`: `POST` with one message, `GET` for messages that the server sends on its own, and
//!    `DELETE` at the end of a session. Headers are forwarded, including the client's credentials; hop-by-hop headers,
//!    cookies and `Origin` are not.
//! 2. `Mcp-Method` and `Mcp-Name` must match the body, because a server may rely on them.
//! 3. Answers of the server, as JSON or as an event stream, are parsed message by message, and only parsed messages are
//!    forwarded. Text that is not a message, such as the body of an error, is recorded as an observation.
//! 4. The listed tools are tracked per session (`Mcp-Session-Id`). Observations apply to all clients: the server
//!    chooses session ids, and must not be able to discard observations by choosing a new one.
//! 5. Redirects are not followed.
//! 6. If the server does not answer, or not with a message, the client gets an error with the id of its request.

use super::stdio::{LONGEST, WireError};
use super::{Fate, House, Proxy, message, sse};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncBufRead;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::io::StreamReader;
use url::Url;

/// Most sessions at a time. Beyond that, sessions without a request in progress are dropped; their clients have to list
/// the tools again.
const SESSIONS: usize = 1_000;
/// Most refusals to the server that are being sent at a time; further ones are dropped.
const REFUSALS: usize = 16;
/// Timeout for connecting to the server, and for sending a refusal.
const CONNECTING: Duration = Duration::from_secs(10);
/// Headers that are not forwarded: they belong to one connection or to a browser.
const OWN: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "origin",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The proxy in front of one server.
#[derive(Debug, Clone)]
pub struct Front {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    house: Arc<House>,
    upstream: Url,
    client: reqwest::Client,
    connections: Mutex<HashMap<String, Connection>>,
    refusals: Arc<Semaphore>,
}

type Connection = Arc<tokio::sync::Mutex<Proxy>>;

impl Front {
    /// A proxy in front of the server at `upstream`.
    ///
    /// # Errors
    /// If the HTTP client cannot be created.
    pub fn new(house: Arc<House>, upstream: Url) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECTING)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        Ok(Self { inner: Arc::new(Inner { house, upstream, client, connections: Mutex::default(), refusals }) })
    }

    /// Serves requests until `stop` is ready.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let limit = usize::try_from(LONGEST).unwrap_or(usize::MAX);
        let router = Router::new()
            .route("/mcp", any(relay))
            .layer(DefaultBodyLimit::max(limit))
            .layer(middleware::from_fn(only_from_here))
            .with_state(self);
        crate::serve::serve_router(router, listener, stop).await;
    }

    /// The connection of a session; created if it does not exist.
    fn connection(&self, session: &str) -> Connection {
        let mut connections = self.inner.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() >= SESSIONS {
            connections.retain(|name, connection| name.is_empty() || Arc::strong_count(connection) > 1);
        }
        let made = || Arc::new(tokio::sync::Mutex::new(Proxy::new(Arc::clone(&self.inner.house))));
        Arc::clone(connections.entry(session.to_owned()).or_insert_with(made))
    }

    /// Sends the refusal of a server's request to the server, which may wait for it before it continues.
    fn refuse(&self, headers: &HeaderMap, answer: &Value) {
        let Ok(place) = Arc::clone(&self.inner.refusals).try_acquire_owned() else { return };
        // headers of the client's request whose answer carried the server's request
        let own = |name: &HeaderName| {
            let name = name.as_str();
            let of_protocol = name.starts_with("mcp-") && name != "mcp-session-id" && name != "mcp-protocol-version";
            !of_protocol && !matches!(name, "accept" | "content-type" | "last-event-id")
        };
        let kept = headers.iter().filter(|(name, _)| own(name)).map(|(name, value)| (name.clone(), value.clone()));
        let request = self.ask(Method::POST, &kept.collect());
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let request = request.header(header::ACCEPT, "application/json, text/event-stream").body(answer.to_string());
        tokio::spawn(async move {
            let _ = request.timeout(CONNECTING).send().await;
            drop(place);
        });
    }

    fn ask(&self, method: Method, headers: &HeaderMap) -> reqwest::RequestBuilder {
        self.inner.client.request(method, self.inner.upstream.clone()).headers(passing(headers))
    }
}

/// A URL for display, without the parts that may contain secrets. A digest replaces the query, so that URLs with
/// different queries still name different servers.
#[must_use]
pub fn shown(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    match url.query() {
        Some(query) => {
            let mut digest = crate::digest([query.as_bytes().to_vec()]);
            digest.truncate(8);
            format!("{bare} (query {digest})")
        }
        None => bare.to_string(),
    }
}

/// Rejects requests from web pages, and requests under a host name that was rebound to this address (DNS rebinding).
async fn only_from_here(request: Request, next: Next) -> Response {
    if crate::serve::host_and_origin_allowed(&[], request.headers(), request.uri()) {
        return next.run(request).await;
    }
    problem(StatusCode::FORBIDDEN, &Value::Null, "the Host or Origin header does not name this proxy")
}

fn problem(status: StatusCode, id: &Value, says: &str) -> Response {
    (status, axum::Json(message::error(id, -32600, says))).into_response()
}

/// The headers to forward.
fn passing(headers: &HeaderMap) -> HeaderMap {
    headers
        .iter()
        .filter(|(name, _)| !OWN.contains(&name.as_str()) && !name.as_str().starts_with("proxy-"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// One request of the client, until its answer has been sent.
struct Under {
    front: Front,
    proxy: Connection,
    exchange: String,
    headers: HeaderMap,
}

impl Under {
    /// The answer to a request that the server has not answered.
    async fn failed(&self, id: &Value, says: &str) -> Response {
        self.proxy.lock().await.forget(&self.exchange, id);
        problem(StatusCode::BAD_GATEWAY, id, says)
    }
}

impl Drop for Under {
    fn drop(&mut self) {
        if self.exchange.is_empty() {
            return;
        }
        let (proxy, exchange) = (Arc::clone(&self.proxy), std::mem::take(&mut self.exchange));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { proxy.lock().await.over(&exchange) });
        }
    }
}

async fn relay(State(front): State<Front>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let session = headers.get(SESSION).and_then(|name| name.to_str().ok()).unwrap_or_default().to_owned();
    let proxy = front.connection(&session);
    // within a session, an answer may arrive on a different stream than that of its request
    let exchange = if session.is_empty() { ulid::Ulid::new().to_string() } else { String::new() };
    let under = Under { front, proxy, exchange, headers };
    match method {
        Method::POST => post(under, &body).await,
        Method::GET => send(under, Method::GET, String::new()).await,
        Method::DELETE => {
            let inner = Arc::clone(&under.front.inner);
            let response = send(under, Method::DELETE, String::new()).await;
            if response.status().is_success() {
                inner.connections.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
            }
            response
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, POST, DELETE")]).into_response(),
    }
}

async fn post(under: Under, body: &Bytes) -> Response {
    let Ok(line) = std::str::from_utf8(body) else {
        return problem(StatusCode::BAD_REQUEST, &Value::Null, "the body is not UTF-8");
    };
    if let Some(says) = at_odds(&under.headers, line) {
        return problem(StatusCode::BAD_REQUEST, &Value::Null, &says);
    }
    let mut fate = under.proxy.lock().await.from_client(&under.exchange, line).await;
    if let Fate::Learn(list) = fate {
        // a list that does not come leaves the tool unlisted
        let _ = tokio::time::timeout(CONNECTING, learn(&under, list)).await;
        fate = under.proxy.lock().await.again(&under.exchange, line).await;
    }
    match fate {
        Fate::Pass => send(under, Method::POST, line.to_owned()).await,
        Fate::Instead(message) => send(under, Method::POST, message.to_string()).await,
        Fate::Answer(Some(answer)) => {
            let unread = answer.get("id").is_none_or(Value::is_null);
            let status = if unread { StatusCode::BAD_REQUEST } else { StatusCode::OK };
            (status, axum::Json(answer)).into_response()
        }
        Fate::Answer(None) | Fate::Learn(_) => StatusCode::ACCEPTED.into_response(),
    }
}

/// Lets the server list its tools, page by page, as the client would.
async fn learn(under: &Under, mut list: Value) -> Result<(), WireError> {
    let mut headers = under.headers.clone();
    headers.remove("mcp-name");
    if headers.contains_key("mcp-method") {
        headers.insert("mcp-method", header::HeaderValue::from_static("tools/list"));
    }
    loop {
        let request = under.front.ask(Method::POST, &headers).body(list.to_string());
        let response = request.send().await.map_err(std::io::Error::other)?;
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let mut next = None;
        if kind.to_ascii_lowercase().starts_with("text/event-stream") {
            let mut input = StreamReader::new(response.bytes_stream().map_err(std::io::Error::other));
            while next.is_none() && under.proxy.lock().await.is_learning(&under.exchange) {
                let Some(event) = sse::next(&mut input).await? else { break };
                next = page(under, &event.data).await?;
            }
        } else {
            next = page(under, &whole(response).await?).await?;
        }
        match next {
            Some(more) => list = more,
            None => return Ok(()),
        }
    }
}

/// Hands a message of the server to the proxy while its tools are listed. Returns the request for the next page.
async fn page(under: &Under, text: &str) -> Result<Option<Value>, WireError> {
    let fate = under.proxy.lock().await.from_server(&under.exchange, text)?;
    let Fate::Answer(Some(answer)) = fate else { return Ok(None) };
    if answer.get("method").is_some() {
        return Ok(Some(answer));
    }
    under.front.refuse(&under.headers, &answer);
    Ok(None)
}

/// A description of a header that does not match the body, if there is one.
fn at_odds(headers: &HeaderMap, line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let params = message.get("params");
    let named = ["name", "uri", "taskId"].iter().find_map(|key| params?.get(*key)?.as_str());
    [("mcp-method", message.get("method").and_then(Value::as_str)), ("mcp-name", named)].into_iter().find_map(
        |(name, body)| {
            let mut said = headers.get_all(name).iter();
            let wrong = said.any(|value| value.to_str().ok().and_then(decoded).as_deref() != body);
            wrong.then(|| format!("the header {name} does not match the body"))
        },
    )
}

/// The value of a header, which may be plain or base64-encoded; `None` if the encoding is invalid.
fn decoded(value: &str) -> Option<String> {
    use base64::Engine as _;
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|v| v.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(inner).ok()?;
    String::from_utf8(bytes).ok()
}

async fn send(under: Under, method: Method, body: String) -> Response {
    let id = serde_json::from_str::<Value>(&body).ok().and_then(|message| message.get("id").cloned());
    let id = id.unwrap_or_default();
    let response = match under.front.ask(method, &under.headers).body(body).send().await {
        Ok(response) => response,
        Err(why) => {
            let server = under.front.inner.house.server();
            return under.failed(&id, &format!("{server} does not answer: {}", root_cause(&why.without_url()))).await;
        }
    };
    let (status, mut headers) = (response.status(), passing(response.headers()));
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.to_ascii_lowercase().starts_with("text/event-stream") {
        let bytes = StreamReader::new(response.bytes_stream().map_err(std::io::Error::other));
        let body = Body::from_stream(events(under, bytes));
        return (status, headers, body).into_response();
    }
    let text = match whole(response).await {
        Ok(text) => text,
        Err(why) => return under.failed(&id, &why.to_string()).await,
    };
    let is_message = matches!(serde_json::from_str::<Value>(&text), Ok(Value::Object(_)));
    if !status.is_success()
        && let Err(why) = under.front.inner.house.said("an error", &text)
    {
        return under.failed(&id, &why.to_string()).await;
    }
    let passed = match (is_message, text.trim().is_empty(), status.is_success()) {
        (true, ..) => passed(&under, &text).await.map(Option::unwrap_or_default),
        (false, true, _) => Ok(String::new()),
        // a client might find a message in it that the proxy has not seen
        (false, false, true) => {
            return under.failed(&id, "the server's answer is not a JSON-RPC message").await;
        }
        (false, false, false) => {
            headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
            Ok(text)
        }
    };
    match passed {
        Ok(body) => (status, headers, body).into_response(),
        Err(why) => under.failed(&id, &why.to_string()).await,
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The whole body of an answer, at most [`LONGEST`] bytes.
async fn whole(response: reqwest::Response) -> Result<String, WireError> {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(part) = stream.next().await {
        bytes.extend_from_slice(&part.map_err(std::io::Error::other)?);
        if bytes.len() as u64 > LONGEST {
            return Err(WireError::Long);
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The message of the server to forward; `None` if nothing is forwarded.
async fn passed(under: &Under, text: &str) -> Result<Option<String>, WireError> {
    let fate = under.proxy.lock().await.from_server(&under.exchange, text)?;
    Ok(match fate {
        Fate::Pass => Some(text.to_owned()),
        Fate::Instead(message) => Some(message.to_string()),
        Fate::Answer(Some(answer)) => {
            under.front.refuse(&under.headers, &answer);
            None
        }
        Fate::Answer(None) | Fate::Learn(_) => None,
    })
}

/// The stream of events to forward. A message that cannot be recorded ends the stream.
fn events(
    under: Under,
    input: impl AsyncBufRead + Unpin + Send + 'static,
) -> impl stream::Stream<Item = Result<String, WireError>> + Send {
    stream::try_unfold((under, input), |(under, mut input)| async move {
        while let Some(mut event) = sse::next(&mut input).await? {
            if !event.comment && !event.data.is_empty() {
                match passed(&under, &event.data).await? {
                    Some(data) => event.data = data,
                    None => continue,
                }
            }
            return Ok(Some((sse::write(&event), (under, input))));
        }
        Ok(None)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn headers_must_match_the_body() {
        let call = r#"{"method":"tools/call","params":{"name":"a b"}}"#;
        let odd = |name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value.parse().unwrap())]);
            at_odds(&headers, call).is_some()
        };
        assert!(!odd("mcp-method", "tools/call") && !odd("mcp-name", "a b"));
        assert!(!odd("mcp-name", "=?base64?YSBi?="));
        assert!(odd("mcp-method", "tools/list") && odd("mcp-name", "b") && odd("mcp-name", "=?base64?!?="));
        assert!(at_odds(&HeaderMap::new(), "not json").is_none());
    }
}
