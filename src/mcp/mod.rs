//! Between an MCP client and a server of tools: over standard input and output ([`stdio`]), or over HTTP ([`http`]).
//!
//! What follows holds for each message of JSON-RPC, however it came.
//!
//! 1. Everything passes as it is, in both directions, but for what follows; so every version of the protocol does.
//! 2. `tools/call` is put to the guard, and so is `resources/read` of a file or a web page. What is not allowed is answered in the server's stead, as a result with `isError`, so
//!    that the model can read why; the server never sees it.
//! 3. Whatever the server answers, a tool's result, a resource, a prompt, its own instructions, becomes an observation: an
//!    order in it is not followed by a later call ([`Sessions`]).
//! 4. `tools/list` is compared with what the server said when it was first asked ([`Pins`]): a tool whose name stays and whose
//!    description or schema has changed is denied until a person accepts it, and so is one whose description gives orders. A
//!    tool that was not listed is denied.
//! 5. What a server asks of the client's model or user (`sampling`, `elicitation`) is refused in the client's stead.
//!
//! Messages that cannot be read are not passed on, nor those that could be read in two ways: with a key that stands twice, or
//! that differs from one of the protocol by its case alone. They are read as JSON, not as the types of an SDK: what a later version of
//! the protocol adds passes through unharmed, and what is checked is what is passed. The tests put client and server of the
//! official SDK on both sides. Contract: modelcontextprotocol.io, 2025-11-25 and 2026-07-28.

pub mod http;
mod message;
mod pins;
mod sse;
pub mod stdio;

pub use message::Call;
pub use pins::{PinError, Pins, Tool};

use crate::Guard;
use crate::action::{Action, Context, Observation};
use crate::hook::{Desk, SessionError, Sessions, words};
use crate::verdict::Decision;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Requests that wait for an answer; more are refused.
const PENDING: usize = 10_000;

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It passes as it is.
    Pass,
    /// It does not pass; this is the answer to whoever sent it, if it wants one.
    Answer(Option<Value>),
    /// Another passes in its place.
    Instead(Value),
}

/// What an answer of the server belongs to.
#[derive(Debug, Clone)]
enum Pending {
    List,
    Call(String),
}

/// What the connections with one server share.
#[derive(Debug)]
pub struct House {
    guard: Guard,
    desk: Desk,
    sessions: Sessions,
    pins: Mutex<Pins>,
    /// Name of what is read and held, of all connections together: a server that names its sessions must not choose what is
    /// forgotten.
    session: String,
    /// Name of the server.
    server: String,
    /// What the user asked for, if it is known.
    request: String,
}

impl House {
    /// `server`: how it is started, or where it is; `request`: what the user asked for, empty if it is not known.
    #[must_use]
    pub fn new(guard: Guard, desk: Desk, sessions: Sessions, pins: Pins, server: &str, request: &str) -> Arc<Self> {
        let (pins, session) = (Mutex::new(pins), format!("mcp-{}", ulid::Ulid::new()));
        Arc::new(Self { guard, desk, sessions, pins, session, server: server.to_owned(), request: request.to_owned() })
    }
}

/// One connection of a client with a server.
#[derive(Debug)]
pub struct Proxy {
    house: Arc<House>,
    pending: HashMap<String, Pending>,
    /// Tools that were listed, and what speaks against one.
    tools: BTreeMap<String, Option<String>>,
}

impl Proxy {
    /// A new connection.
    #[must_use]
    pub fn new(house: Arc<House>) -> Self {
        Self { house, pending: HashMap::new(), tools: BTreeMap::new() }
    }

    /// A message of the client. `exchange`: within which its answer comes, where one connection carries several; else empty.
    pub async fn from_client(&mut self, exchange: &str, line: &str) -> Fate {
        let message = match message::read(line) {
            Ok(message @ Value::Object(_)) => message,
            Ok(_) => return Fate::Answer(Some(message::error(&Value::Null, -32600, "one message at a time"))),
            Err(why) => {
                return Fate::Answer(Some(message::error(&Value::Null, -32700, &format!("it cannot be read: {why}"))));
            }
        };
        let id = message.get("id").cloned();
        match message.get("method").map(Value::as_str) {
            Some(Some("tools/call")) => match Call::read(&message) {
                Ok(call) => match self.called(exchange, &call).await {
                    Fate::Pass => Fate::Instead(message),
                    fate => fate,
                },
                Err(why) => Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32602, &why))),
            },
            Some(Some("resources/read")) => match message::resource(&message) {
                None => Fate::Pass,
                Some((tool, arguments)) => match self.judged(tool, arguments).await {
                    Ok(()) => Fate::Instead(message),
                    Err(why) => Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32000, &why))),
                },
            },
            Some(Some("tools/list")) => self.waits(exchange, id.as_ref(), Pending::List),
            // an answer to the server, or anything else that has no effect by itself
            None | Some(Some(_)) => Fate::Pass,
            Some(None) => Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32600, "the method is no text"))),
        }
    }

    async fn called(&mut self, exchange: &str, call: &Call) -> Fate {
        let against = match self.tools.get(&call.tool) {
            None => Some("the server has not listed it; list its tools first".to_owned()),
            Some(against) => against.clone(),
        };
        if let Some(why) = against {
            return Fate::Answer(Some(message::blocked(&call.id, &format!("{} is not called: {why}", call.tool))));
        }
        match self.judged(&call.tool, call.arguments.clone()).await {
            Err(why) => Fate::Answer(Some(message::blocked(&call.id, &why))),
            Ok(()) => self.waits(exchange, Some(&call.id), Pending::Call(call.tool.clone())),
        }
    }

    /// Whether a call may be made; if not, why.
    async fn judged(&mut self, tool: &str, arguments: Value) -> Result<(), String> {
        let house = Arc::clone(&self.house);
        let mut context = Context::new(house.desk.identity.clone(), house.desk.environment.clone());
        "mcp".clone_into(&mut context.agent);
        context.request.clone_from(&house.request);
        match house.sessions.observed(&house.session) {
            Ok((observations, held)) => (context.observations, context.held) = (observations, held),
            Err(problem) => return Err(problem.to_string()),
        }
        let action = Action::ToolCall { server: Some(house.server.clone()), tool: tool.to_owned(), arguments };
        let verdict = house.guard.check(&action, &context).await;
        let advice = verdict.advice.as_deref().map(|advice| format!(" ({advice})")).unwrap_or_default();
        match verdict.decision {
            // without the id of a call it counts at once
            Decision::Allow if verdict.secrets => (house.sessions.may_hold(&house.session, None, tool))
                .map_err(|_| "what it reads could not be noted".to_owned()),
            Decision::Allow => Ok(()),
            Decision::Deny => Err(format!("{}{advice} [{}]", verdict.reason, verdict.id)),
            Decision::Ask => Err(format!(
                "{}{advice}; a person decides with: agrail approvals approve {}; then try again",
                verdict.reason, verdict.id
            )),
        }
    }

    fn waits(&mut self, exchange: &str, id: Option<&Value>, what: Pending) -> Fate {
        let Some(id) = id.filter(|id| !id.is_null()) else { return Fate::Answer(None) };
        let key = format!("{exchange} {id}");
        if self.pending.len() >= PENDING || self.pending.contains_key(&key) {
            return Fate::Answer(Some(message::error(id, -32600, "an id that waits already, or too many that do")));
        }
        self.pending.insert(key, what);
        Fate::Pass
    }

    /// No more answers come within this exchange.
    pub fn over(&mut self, exchange: &str) {
        self.pending.retain(|key, _| key.split_once(' ').is_none_or(|(of, _)| of != exchange));
    }

    /// Something of the server that is no message, such as the text of an error.
    ///
    /// # Errors
    /// [`SessionError`]: it could not be noted, and must not pass.
    pub fn said(&mut self, what: &str, text: &str) -> Result<(), SessionError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let seen = Observation { source: format!("{what} of {}", self.house.server), text: text.into() };
        self.house.sessions.seen(&self.house.session, &seen, true)
    }

    /// A message of the server.
    ///
    /// # Errors
    /// [`SessionError`], [`PinError`]: what was read or listed could not be noted, and must not pass.
    pub fn from_server(&mut self, exchange: &str, line: &str) -> Result<Fate, ProxyError> {
        let Ok(message @ Value::Object(_)) = message::read(line) else {
            // nothing that a client could act on
            return Ok(Fate::Answer(None));
        };
        let id = message.get("id").filter(|id| !id.is_null());
        let result = message.get("result");
        let told = [result, message.get("error")];
        if message.get("method").is_some() && told.iter().any(Option::is_some) {
            // a client may take it for the one or for the other
            return Ok(Fate::Answer(None));
        }
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            let asks = method.starts_with("sampling/") || method.starts_with("elicitation/");
            return Ok(match (asks, id) {
                (true, Some(id)) => {
                    let says = "the guard does not let a server ask the client's model or user";
                    Fate::Answer(Some(message::error(id, -32601, says)))
                }
                (true, None) => Fate::Answer(None),
                (false, _) => Fate::Pass,
            });
        }
        let pending = id.and_then(|id| self.pending.remove(&format!("{exchange} {id}")));
        // whatever it answers: a client may take "1" or 1.0 for 1
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
                        format!("{tool} asks the client's model or user, which the guard does not let a server do");
                    return Ok(Fate::Instead(message::blocked(id, &why)));
                }
                // neither a result nor an error is no answer, but text all the same
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
        for tool in tools.into_iter().flatten().filter_map(Tool::read) {
            let drifted = {
                let mut pins = self.house.pins.lock().unwrap_or_else(PoisonError::into_inner);
                pins.drifted(&self.house.server, &tool)?
            };
            let orders = tool.orders();
            if orders.is_some() {
                // the model reads it all the same
                self.said("the description of a tool", &tool.text())?;
            }
            let against = match (drifted, orders) {
                (true, _) => Some(
                    "its description or schema is not what it was when it was first listed; a person accepts it by starting \
                     this proxy once with --accept"
                        .to_owned(),
                ),
                (false, Some(order)) => Some(format!("its description gives orders: \"{order}\"")),
                (false, None) => None,
            };
            // of two tools of one name the worse one counts
            let known = self.tools.entry(tool.name).or_insert(None);
            *known = against.or_else(|| known.take());
        }
        Ok(())
    }
}

/// Why a message of the server cannot pass.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// What was read could not be noted.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What was listed could not be compared.
    #[error(transparent)]
    Pins(#[from] PinError),
}
