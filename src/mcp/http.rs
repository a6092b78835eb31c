//! Client and server over streamable HTTP: the client talks to an address of this machine instead of the server's.
//!
//! 1. One endpoint, `/mcp`: `POST` with one message, `GET` for what the server sends by itself, `DELETE` at the end of a session.
//!    Headers pass, the client's credentials among them; what belongs to one connection, cookies and `Origin` do not.
//! 2. `Mcp-Method` and `Mcp-Name` must say what the body says, since a server may go by them.
//! 3. What a server answers, as JSON or as a stream of events, is read message by message, and only what was read is passed on.
//!    Text that is no message, such as that of an error, counts as something the agent has read.
//! 4. Which tools were listed is known by session (`Mcp-Session-Id`); what was read is held against every client, since a server
//!    that names the sessions must not choose what is forgotten.
//! 5. Redirects are not followed.

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

/// Sessions at a time; those that nobody uses at the moment are forgotten beyond it, and list their tools again.
const SESSIONS: usize = 1_000;
/// Refusals of what a server asks for that are under way; more are not sent.
const REFUSALS: usize = 16;
/// How long a connection with the server may take to be made.
const CONNECTING: Duration = Duration::from_secs(10);
/// Headers of one connection, or of a browser.
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

/// The proxy before one server.
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
    /// Before the server at `upstream`.
    ///
    /// # Errors
    /// The HTTP client cannot be made.
    pub fn new(house: Arc<House>, upstream: Url) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECTING)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        Ok(Self { inner: Arc::new(Inner { house, upstream, client, connections: Mutex::default(), refusals }) })
    }

    /// Answers until `stop` is ready.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let limit = usize::try_from(LONGEST).unwrap_or(usize::MAX);
        let router = Router::new()
            .route("/mcp", any(relay))
            .layer(DefaultBodyLimit::max(limit))
            .layer(middleware::from_fn(only_from_here))
            .with_state(self);
        crate::serve::answer(router, listener, stop).await;
    }

    /// The connection to which a request belongs.
    fn connection(&self, session: &str) -> Connection {
        let mut connections = self.inner.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() >= SESSIONS {
            connections.retain(|name, connection| name.is_empty() || Arc::strong_count(connection) > 1);
        }
        let made = || Arc::new(tokio::sync::Mutex::new(Proxy::new(Arc::clone(&self.inner.house))));
        Arc::clone(connections.entry(session.to_owned()).or_insert_with(made))
    }

    /// Tells the server that what it asks for is not done; it may be waiting for this before it goes on.
    fn refuse(&self, headers: &HeaderMap, answer: &Value) {
        let Ok(place) = Arc::clone(&self.inner.refusals).try_acquire_owned() else { return };
        // of the request in whose answer it asked
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

/// A URL without what may be a secret in it; another query is another server.
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

/// No page of a browser and no name that was bound to this address later can use it.
async fn only_from_here(request: Request, next: Next) -> Response {
    if crate::serve::meant_for_us(&[], request.headers(), request.uri()) {
        return next.run(request).await;
    }
    problem(StatusCode::FORBIDDEN, &Value::Null, "the Host or Origin is no name of this proxy")
}

fn problem(status: StatusCode, id: &Value, says: &str) -> Response {
    (status, axum::Json(message::error(id, -32600, says))).into_response()
}

/// Headers that are not of one connection.
fn passing(headers: &HeaderMap) -> HeaderMap {
    headers
        .iter()
        .filter(|(name, _)| !OWN.contains(&name.as_str()) && !name.as_str().starts_with("proxy-"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// What is under way: one request of the client and what answers it.
struct Under {
    front: Front,
    proxy: Connection,
    exchange: String,
    headers: HeaderMap,
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
    // in a session an answer may come on another stream than that of its request
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
    let fate = under.proxy.lock().await.from_client(&under.exchange, line).await;
    match fate {
        Fate::Pass => send(under, Method::POST, line.to_owned()).await,
        Fate::Instead(message) => send(under, Method::POST, message.to_string()).await,
        Fate::Answer(Some(answer)) => {
            let unread = answer.get("id").is_none_or(Value::is_null);
            let status = if unread { StatusCode::BAD_REQUEST } else { StatusCode::OK };
            (status, axum::Json(answer)).into_response()
        }
        Fate::Answer(None) => StatusCode::ACCEPTED.into_response(),
    }
}

/// What a header says that the body does not.
fn at_odds(headers: &HeaderMap, line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let params = message.get("params");
    let named = ["name", "uri", "taskId"].iter().find_map(|key| params?.get(*key)?.as_str());
    [("mcp-method", message.get("method").and_then(Value::as_str)), ("mcp-name", named)].into_iter().find_map(
        |(name, body)| {
            let mut said = headers.get_all(name).iter();
            let wrong = said.any(|value| value.to_str().ok().and_then(decoded).as_deref() != body);
            wrong.then(|| format!("the header {name} does not say what the body says"))
        },
    )
}

/// The value of a header, which may stand in base64 where it is not plain.
fn decoded(value: &str) -> Option<String> {
    use base64::Engine as _;
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|v| v.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(inner).ok()?;
    String::from_utf8(bytes).ok()
}

async fn send(under: Under, method: Method, body: String) -> Response {
    let response = match under.front.ask(method, &under.headers).body(body).send().await {
        Ok(response) => response,
        Err(why) => {
            let says =
                format!("{} does not answer: {}", under.front.inner.house.server, root_cause(&why.without_url()));
            return problem(StatusCode::BAD_GATEWAY, &Value::Null, &says);
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
        Err(why) => return problem(StatusCode::BAD_GATEWAY, &Value::Null, &why.to_string()),
    };
    let is_message = matches!(serde_json::from_str::<Value>(&text), Ok(Value::Object(_)));
    if !status.is_success()
        && let Err(why) = under.proxy.lock().await.said("an error", &text)
    {
        return problem(StatusCode::BAD_GATEWAY, &Value::Null, &why.to_string());
    }
    let passed = match (is_message, text.trim().is_empty(), status.is_success()) {
        (true, ..) => passed(&under, &text).await.map(Option::unwrap_or_default),
        (false, true, _) => Ok(String::new()),
        // a client might find a message in it that was not seen here
        (false, false, true) => {
            return problem(StatusCode::BAD_GATEWAY, &Value::Null, "the server's answer is no message");
        }
        (false, false, false) => {
            headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
            Ok(text)
        }
    };
    match passed {
        Ok(body) => (status, headers, body).into_response(),
        Err(why) => problem(StatusCode::BAD_GATEWAY, &Value::Null, &why.to_string()),
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The body of an answer.
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

/// One message of the server as it is passed on, if it is.
async fn passed(under: &Under, text: &str) -> Result<Option<String>, WireError> {
    let fate = under.proxy.lock().await.from_server(&under.exchange, text)?;
    Ok(match fate {
        Fate::Pass => Some(text.to_owned()),
        Fate::Instead(message) => Some(message.to_string()),
        Fate::Answer(Some(answer)) => {
            under.front.refuse(&under.headers, &answer);
            None
        }
        Fate::Answer(None) => None,
    })
}

/// The events of the server as they are passed on. What cannot be noted ends the stream.
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
    fn headers_say_what_the_body_says() {
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
