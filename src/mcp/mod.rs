//! A proxy between an MCP client and a tool server: over standard input and output ([`stdio`]), or over HTTP
//! ([`http`]).
//!
//! These rules apply to each JSON-RPC message, over either transport:
//!
//! 1. Messages pass unchanged in both directions, unless a rule below applies. Every protocol version therefore works.
//! 2. The guard checks `tools/call`, and `resources/read` of a file or a web page. If a call is not allowed, the proxy
//!    answers in place of the server, with a result that has `isError`, so that the model can read the reason. The
//!    server never sees the call.
//! 3. Everything that the server answers becomes an observation: tool results, resources, prompts and the server's own
//!    instructions. A later call that follows an injected instruction is denied ([`Sessions`]).
//! 4. Each `tools/list` is compared with the server's first one ([`Pins`]). If the description or schema of a tool has
//!    changed, its calls are denied until a person accepts the change. Calls are also denied if the description
//!    contains a prompt injection, or if the tool was not listed.
//! 5. Requests of the server to the client's model or user (`sampling`, `elicitation`) are refused on behalf of the
//!    client.
//!
//! A message that cannot be parsed is not forwarded, nor is an ambiguous one: with a duplicate key, or with a key that
//! differs from a key of the protocol only in case. Messages are parsed as JSON and not into the types of an SDK, so
//! that additions of later protocol versions pass unchanged, and exactly the checked message is forwarded. The tests
//! run the official SDK's client and server on both sides. Specification: modelcontextprotocol.io, 2025-11-25 and
//! 2026-07-28.

pub mod http;
mod message;
mod pins;
mod sse;
pub mod stdio;

pub use message::{Call, MessageError};
pub use pins::{PinError, Pins, Tool};

use crate::Guard;
use crate::action::{Action, Context, Observation};
use crate::hook::{HookTarget, words};
use crate::session::{Author, SessionError, Sessions};
use crate::verdict::{Decision, Verdict};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Most requests of one connection that wait for an answer; further requests are refused.
const PENDING: usize = 10_000;

/// What the proxy does with a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// Forward it unchanged.
    Pass,
    /// Drop it, and send this answer to its sender, if there is one.
    Answer(Option<Value>),
    /// Forward this message in its place.
    Instead(Value),
}

/// The request to which an answer of the server belongs.
#[derive(Debug, Clone)]
enum Pending {
    List,
    Call(String),
}

/// The state that all connections with one server share.
#[derive(Debug)]
pub struct House {
    guard: Guard,
    target: HookTarget,
    sessions: Sessions,
    pins: Mutex<Pins>,
    /// The one session with the observations of all connections: the server chooses session ids, and must not be
    /// able to discard observations by choosing a new one.
    session: String,
    /// Name of the server.
    server: String,
    /// The user's request; empty if unknown.
    request: String,
}

impl House {
    /// `server`: the command line or the URL of the server; `request`: the user's request, empty if unknown.
    #[must_use]
    pub fn new(
        guard: Guard,
        target: HookTarget,
        sessions: Sessions,
        pins: Pins,
        server: &str,
        request: &str,
    ) -> Arc<Self> {
        let (pins, session) = (Mutex::new(pins), format!("mcp-{}", ulid::Ulid::new()));
        Arc::new(Self {
            guard,
            target,
            sessions,
            pins,
            session,
            server: server.to_owned(),
            request: request.to_owned(),
        })
    }
}

/// Why a call must not be made. The model reads the text.
#[derive(Debug, thiserror::Error)]
enum Blocked {
    #[error(transparent)]
    Observations(#[from] SessionError),
    #[error("cannot record that the call reads credentials")]
    Unrecorded(#[source] SessionError),
    #[error("{} [{}]", said(.0), .0.id)]
    Deny(Box<Verdict>),
    #[error("{}; to allow it once, a person runs: agrail approvals approve {}; then try again", said(.0), .0.id)]
    Ask(Box<Verdict>),
}

/// Reason and advice of a verdict.
fn said(verdict: &Verdict) -> String {
    let advice = verdict.advice.as_deref().map(|advice| format!(" ({advice})")).unwrap_or_default();
    format!("{}{advice}", verdict.reason)
}

/// One connection between a client and the server.
#[derive(Debug)]
pub struct Proxy {
    house: Arc<House>,
    pending: HashMap<String, Pending>,
    /// The listed tools; if calls of a tool are blocked, with the reason.
    tools: BTreeMap<String, Option<String>>,
}

impl Proxy {
    /// Starts a new connection.
    #[must_use]
    pub fn new(house: Arc<House>) -> Self {
        Self { house, pending: HashMap::new(), tools: BTreeMap::new() }
    }

    /// Handles a message of the client. `exchange`: id of the exchange that will carry the answer, if one connection
    /// has several exchanges; otherwise empty.
    pub async fn from_client(&mut self, exchange: &str, line: &str) -> Fate {
        let message = match message::parse(line) {
            Ok(message @ Value::Object(_)) => message,
            Ok(_) => return Fate::Answer(Some(message::error(&Value::Null, -32600, "expected one JSON object"))),
            Err(why) => {
                return Fate::Answer(Some(message::error(&Value::Null, -32700, &format!("invalid message: {why}"))));
            }
        };
        let id = message.get("id").cloned();
        match message.get("method").map(Value::as_str) {
            Some(Some("tools/call")) => match Call::read(&message) {
                Ok(call) => match self.called(exchange, &call).await {
                    Fate::Pass => Fate::Instead(message),
                    fate => fate,
                },
                Err(why) => Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32602, &why.to_string()))),
            },
            Some(Some("resources/read")) => match message::resource(&message) {
                None => Fate::Pass,
                Some((tool, arguments)) => match self.judged(tool, arguments).await {
                    Ok(()) => Fate::Instead(message),
                    Err(why) => Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32000, &why.to_string()))),
                },
            },
            Some(Some("tools/list")) => self.waits(exchange, id.as_ref(), Pending::List),
            // an answer to the server, or a request without effects
            None | Some(Some(_)) => Fate::Pass,
            Some(None) => {
                Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32600, "the method must be a string")))
            }
        }
    }

    async fn called(&mut self, exchange: &str, call: &Call) -> Fate {
        let against = match self.tools.get(&call.tool) {
            None => Some("the server has not listed it; send tools/list first".to_owned()),
            Some(against) => against.clone(),
        };
        if let Some(why) = against {
            return Fate::Answer(Some(message::blocked(&call.id, &format!("{} was not called: {why}", call.tool))));
        }
        match self.judged(&call.tool, call.arguments.clone()).await {
            Err(why) => Fate::Answer(Some(message::blocked(&call.id, &why.to_string()))),
            Ok(()) => self.waits(exchange, Some(&call.id), Pending::Call(call.tool.clone())),
        }
    }

    /// Asks the guard about a call. `Err`: the call must not be made.
    async fn judged(&mut self, tool: &str, arguments: Value) -> Result<(), Blocked> {
        let house = Arc::clone(&self.house);
        let mut context = Context::new(house.target.identity.clone(), house.target.environment.clone());
        "mcp".clone_into(&mut context.agent);
        context.home.clone_from(&house.target.home);
        context.request.clone_from(&house.request);
        // what the server answers is recorded before the client sees it, so no call is open
        house.sessions.recall(&house.session, "")?.apply(&mut context);
        let action = Action::ToolCall { server: Some(house.server.clone()), tool: tool.to_owned(), arguments };
        let verdict = house.guard.check(&action, &context).await;
        match verdict.decision {
            Decision::Allow if verdict.footprint.secrets => {
                house.sessions.hold(&house.session, tool).map_err(Blocked::Unrecorded)
            }
            Decision::Allow => Ok(()),
            Decision::Deny => Err(Blocked::Deny(Box::new(verdict))),
            Decision::Ask => Err(Blocked::Ask(Box::new(verdict))),
        }
    }

    fn waits(&mut self, exchange: &str, id: Option<&Value>, what: Pending) -> Fate {
        let Some(id) = id.filter(|id| !id.is_null()) else { return Fate::Answer(None) };
        let key = format!("{exchange} {id}");
        if self.pending.len() >= PENDING || self.pending.contains_key(&key) {
            let says = "a request with this id is already pending, or too many requests are pending";
            return Fate::Answer(Some(message::error(id, -32600, says)));
        }
        self.pending.insert(key, what);
        Fate::Pass
    }

    /// Ends an exchange: no more answers come within it.
    pub fn over(&mut self, exchange: &str) {
        self.pending.retain(|key, _| key.split_once(' ').is_none_or(|(of, _)| of != exchange));
    }

    /// Records text of the server as an observation. `what`: its kind, for the name of the source.
    ///
    /// # Errors
    /// [`SessionError`]: the text could not be recorded and must not be forwarded.
    pub fn said(&mut self, what: &str, text: &str) -> Result<(), SessionError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let seen = Observation { source: format!("{what} of {}", self.house.server), text: text.into() };
        self.house.sessions.observe(&self.house.session, &seen, Author::Anyone)
    }

    /// Handles a message of the server.
    ///
    /// # Errors
    /// [`SessionError`], [`PinError`]: an observation or a listed tool could not be recorded; the message must not be
    /// forwarded.
    pub fn from_server(&mut self, exchange: &str, line: &str) -> Result<Fate, ProxyError> {
        let Ok(message @ Value::Object(_)) = message::parse(line) else {
            // not a message, so the client loses nothing
            return Ok(Fate::Answer(None));
        };
        let id = message.get("id").filter(|id| !id.is_null());
        let result = message.get("result");
        let told = [result, message.get("error")];
        if message.get("method").is_some() && told.iter().any(Option::is_some) {
            // ambiguous: a client may take it for a request or for an answer
            return Ok(Fate::Answer(None));
        }
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            let asks = method.starts_with("sampling/") || method.starts_with("elicitation/");
            return Ok(match (asks, id) {
                (true, Some(id)) => {
                    let says = "the guard does not allow a server to query the client's model or user";
                    Fate::Answer(Some(message::error(id, -32601, says)))
                }
                (true, None) => Fate::Answer(None),
                (false, _) => Fate::Pass,
            });
        }
        let pending = id.and_then(|id| self.pending.remove(&format!("{exchange} {id}")));
        // also without a pending request of that id: a client may take "1" or 1.0 for 1
        if let Some(result) = result {
            self.listed(result)?;
        }
        match (pending, result, id) {
            (Some(Pending::List), Some(_), _) if !message::asks_the_model(result) => {}
            (_, result, None) if message::asks_the_model(result) => return Ok(Fate::Answer(None)),
            (pending, result, id) => {
                let tool = match pending {
                    Some(Pending::Call(tool)) => tool,
                    _ => "an answer".to_owned(),
                };
                let id = id.unwrap_or(&Value::Null);
                if message::asks_the_model(result) {
                    let why =
                        format!("{tool} queries the client's model or user, which the guard does not allow a server");
                    return Ok(Fate::Instead(message::blocked(id, &why)));
                }
                // a message with neither result nor error is not an answer, but its text may still reach the model
                let told: Vec<&Value> = told.into_iter().flatten().collect();
                let text: String =
                    if told.is_empty() { words(&message) } else { told.into_iter().map(words).collect() };
                self.said(&tool, &text)?;
            }
        }
        Ok(Fate::Pass)
    }

    fn listed(&mut self, result: &Value) -> Result<(), ProxyError> {
        let tools = result.get("tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten().filter_map(Tool::from_entry) {
            let drifted = {
                let mut pins = self.house.pins.lock().unwrap_or_else(PoisonError::into_inner);
                pins.drifted(&self.house.server, &tool)?
            };
            let orders = tool.orders();
            if orders.is_some() {
                // the model reads the description even if the tool is never called
                self.said("the description of a tool", &tool.text())?;
            }
            let against = match (drifted, orders) {
                (true, _) => Some(
                    "its description or schema has changed since it was first listed; to accept the change, a person \
                     starts this proxy once with --accept"
                        .to_owned(),
                ),
                (false, Some(order)) => Some(format!("its description contains a prompt injection: \"{order}\"")),
                (false, None) => None,
            };
            // if two tools have the same name, one that is blocked blocks both
            let known = self.tools.entry(tool.name).or_insert(None);
            *known = against.or_else(|| known.take());
        }
        Ok(())
    }
}

/// Why a message of the server cannot be forwarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// An observation could not be recorded.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The listed tools could not be compared with their pins.
    #[error(transparent)]
    Pins(#[from] PinError),
}
