//! One connection: what happens to each of its messages.

use super::house::House;
use super::message::{self, Call};
use super::{PinError, Tool, announced};
use crate::action::Action;
use crate::session::{SessionError, origin};
use crate::untrusted::Content;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Most requests of one connection that wait for an answer; further requests are refused.
const PENDING: usize = 10_000;
/// Most pages of a list that the proxy asks for.
const PAGES: usize = 100;

/// Why a request is refused.
const MANY: &str = "a request with this id is already pending, or too many requests are pending";

/// What the proxy does with a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// Forward it unchanged.
    Pass,
    /// Drop it, and send this answer to its sender, if there is one.
    Answer(Option<Value>),
    /// Forward this message in its place.
    Instead(Value),
    /// Send this request to the server first, and hand its answers to [`Proxy::from_server`]. Once the proxy is
    /// [no longer learning](Proxy::is_learning), hand the message to [`Proxy::again`].
    Learn(Value),
}

/// The request to which an answer of the server belongs.
#[derive(Debug, Clone)]
enum Pending {
    List,
    Call {
        tool: String,
        /// The tool with its arguments.
        origin: String,
    },
    /// What the server says of itself.
    Introduction,
    Other,
    /// A list that the proxy has asked for: its request, and how many pages came before it.
    Own(Value, usize),
}

/// One connection between a client and the server.
#[derive(Debug)]
pub struct Proxy {
    house: Arc<House>,
    pending: HashMap<String, Pending>,
    /// The listed tools; if calls of a tool are blocked, with the reason.
    tools: BTreeMap<String, Option<String>>,
    /// Those of them that work on a closed set of things ([`Tool::is_closed`]).
    closed: BTreeSet<String>,
}

impl Proxy {
    /// Starts a new connection.
    #[must_use]
    pub fn new(house: Arc<House>) -> Self {
        Self { house, pending: HashMap::new(), tools: BTreeMap::new(), closed: BTreeSet::new() }
    }

    /// Handles a message of the client. `exchange`: id of the exchange that will carry the answer, if one connection
    /// has several exchanges; otherwise empty.
    pub async fn from_client(&mut self, exchange: &str, line: &str) -> Fate {
        self.handle(exchange, line, true).await
    }

    /// Handles a message again whose fate was [`Fate::Learn`].
    pub async fn again(&mut self, exchange: &str, line: &str) -> Fate {
        self.handle(exchange, line, false).await
    }

    /// `learns`: the server may be asked for its tools first.
    async fn handle(&mut self, exchange: &str, line: &str, learns: bool) -> Fate {
        let mut message = match message::parse(line) {
            Ok(message @ Value::Object(_)) => message,
            Ok(_) => return Fate::Answer(Some(message::error(&Value::Null, -32600, "expected one JSON object"))),
            Err(why) => {
                return Fate::Answer(Some(message::error(&Value::Null, -32700, &format!("invalid message: {why}"))));
            }
        };
        let withheld = announced::withhold(&mut message);
        let id = message.get("id").cloned();
        let fate = match message.get("method").map(Value::as_str) {
            Some(Some("tools/call")) => match Call::read(&message) {
                Ok(call) if learns && !self.tools.contains_key(&call.tool) => self.learns(exchange, &message),
                Ok(call) => match self.called(exchange, &call).await {
                    Fate::Pass => return Fate::Instead(message),
                    fate => fate,
                },
                Err(why) => Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32602, &why.to_string()))),
            },
            Some(Some("resources/read")) => match self.read(exchange, &message).await {
                Fate::Pass => return Fate::Instead(message),
                fate => fate,
            },
            Some(Some("tools/list")) => self.waits(exchange, id.as_ref(), Pending::List),
            Some(Some("notifications/cancelled")) => {
                self.forget(exchange, message.pointer("/params/requestId").unwrap_or(&Value::Null));
                Fate::Pass
            }
            Some(Some("initialize" | "server/discover")) => self.waits(exchange, id.as_ref(), Pending::Introduction),
            Some(Some(_)) if id.as_ref().is_some_and(|id| !id.is_null()) => {
                self.waits(exchange, id.as_ref(), Pending::Other)
            }
            // an answer to the server, or a notification
            None | Some(Some(_)) => Fate::Pass,
            Some(None) => {
                Fate::Answer(Some(message::error(&id.unwrap_or_default(), -32600, "the method must be a string")))
            }
        };
        if withheld && fate == Fate::Pass { Fate::Instead(message) } else { fate }
    }

    /// A `resources/read`, which is judged if it reads a file or a page.
    async fn read(&mut self, exchange: &str, message: &Value) -> Fate {
        let id = message.get("id");
        if let Some((tool, arguments)) = message::resource(message)
            && let Err(why) = self.house.judge(tool, arguments).await
        {
            return Fate::Answer(Some(message::error(id.unwrap_or(&Value::Null), -32000, &why.to_string())));
        }
        self.waits(exchange, id, Pending::Other)
    }

    async fn called(&mut self, exchange: &str, call: &Call) -> Fate {
        let against = match self.tools.get(&call.tool) {
            None => Some("the server does not list it".to_owned()),
            Some(against) => against.clone(),
        };
        if let Some(why) = against {
            return Fate::Answer(Some(message::blocked(&call.id, &format!("{} was not called: {why}", call.tool))));
        }
        match self.house.judge(&call.tool, call.arguments.clone()).await {
            Err(why) => Fate::Answer(Some(message::blocked(&call.id, &why.to_string()))),
            Ok(()) => {
                let action =
                    Action::ToolCall { server: None, tool: call.tool.clone(), arguments: call.arguments.clone() };
                let made = Pending::Call { tool: call.tool.clone(), origin: origin(&action) };
                self.waits(exchange, Some(&call.id), made)
            }
        }
    }

    /// Asks the server for its tools, in the name of the client that calls one of them.
    fn learns(&mut self, exchange: &str, call: &Value) -> Fate {
        let mut params = serde_json::Map::new();
        if let Some(Value::Object(meta)) = call.pointer("/params/_meta") {
            let mut meta = meta.clone();
            meta.shift_remove("progressToken");
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        match self.own_list(exchange, Value::Object(params), 0) {
            Some(list) => Fate::Learn(list),
            None => Fate::Answer(Some(message::error(call.get("id").unwrap_or(&Value::Null), -32600, MANY))),
        }
    }

    /// A request for a page of the server's tools; `None` if too many requests are pending, or too many pages came.
    fn own_list(&mut self, exchange: &str, params: Value, page: usize) -> Option<Value> {
        let id = json!(format!("agrail-{}", ulid::Ulid::new()));
        if self.pending.len() >= PENDING || page >= PAGES {
            return None;
        }
        let list = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
        self.pending.insert(key(exchange, &id), Pending::Own(list.clone(), page));
        Some(list)
    }

    /// Whether the server has not yet answered a request of the proxy's own in this exchange.
    #[must_use]
    pub fn is_learning(&self, exchange: &str) -> bool {
        let of = |key: &str| key.split_once(' ').is_some_and(|(of, _)| of == exchange);
        self.pending.iter().any(|(key, what)| matches!(what, Pending::Own(..)) && of(key))
    }

    /// No answer to a request is waited for any longer.
    pub fn forget(&mut self, exchange: &str, id: &Value) {
        self.pending.remove(&key(exchange, id));
    }

    /// The ids of the client's requests that the server has not answered, now that it has ended.
    pub fn unanswered(&mut self) -> Vec<Value> {
        let open = self.pending.drain().filter(|(_, what)| !matches!(what, Pending::Own(..)));
        open.filter_map(|(key, _)| serde_json::from_str(key.split_once(' ')?.1).ok()).collect()
    }

    fn waits(&mut self, exchange: &str, id: Option<&Value>, what: Pending) -> Fate {
        let Some(id) = id.filter(|id| !id.is_null()) else { return Fate::Answer(None) };
        let key = key(exchange, id);
        if self.pending.len() >= PENDING || self.pending.contains_key(&key) {
            return Fate::Answer(Some(message::error(id, -32600, MANY)));
        }
        self.pending.insert(key, what);
        Fate::Pass
    }

    /// Ends an exchange: no more answers come within it.
    pub fn over(&mut self, exchange: &str) {
        self.pending.retain(|key, _| key.split_once(' ').is_none_or(|(of, _)| of != exchange));
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
        let (told, whole) = ([result, message.get("error")], &message);
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
        let pending = id.and_then(|id| self.pending.remove(&key(exchange, id)));
        // also without a pending request of that id: a client may take "1" or 1.0 for 1
        if let Some(result) = result {
            self.listed(result)?;
        }
        match (pending, result, id) {
            (Some(Pending::Own(list, page)), result, _) => {
                return Ok(Fate::Answer(result.and_then(|result| self.next_page(exchange, list, result, page))));
            }
            (Some(Pending::List), Some(_), _) if !message::asks_the_model(result) => {}
            (Some(Pending::Introduction), Some(result), _) if !message::asks_the_model(Some(result)) => {
                self.house.introduced(&Content::of(result).text)?;
            }
            (_, result, None) if message::asks_the_model(result) => return Ok(Fate::Answer(None)),
            (pending, result, id) => {
                let (tool, closed) = match pending {
                    Some(Pending::Call { tool, origin }) => (origin, self.closed.contains(&tool)),
                    _ => ("an answer".to_owned(), false),
                };
                let id = id.unwrap_or(&Value::Null);
                if message::asks_the_model(result) {
                    let why =
                        format!("{tool} queries the client's model or user, which the guard does not allow a server");
                    return Ok(Fate::Instead(message::blocked(id, &why)));
                }
                // a message with neither result nor error is not an answer, but its text may still reach the model
                let told: Vec<&Value> = told.into_iter().flatten().collect();
                let told = if told.is_empty() { std::slice::from_ref(&whole) } else { &told };
                self.house.answered(&tool, told, closed)?;
            }
        }
        Ok(Fate::Pass)
    }

    /// The request for the next page of a list that the proxy has asked for; `None` if there is none.
    fn next_page(&mut self, exchange: &str, list: Value, result: &Value, page: usize) -> Option<Value> {
        let cursor = result.get("nextCursor").filter(|cursor| cursor.is_string())?;
        let mut params = list.get("params").cloned()?;
        params.as_object_mut()?.insert("cursor".to_owned(), cursor.clone());
        self.own_list(exchange, params, page + 1)
    }

    fn listed(&mut self, result: &Value) -> Result<(), ProxyError> {
        let tools = result.get("tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten().filter_map(Tool::from_entry) {
            let drifted = self.house.drifted(&tool)?;
            let orders = tool.orders();
            if orders.is_some() {
                // the model reads the description even if the tool is never called
                self.house.said("the description of a tool", &tool.text())?;
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
            match tool.is_closed() {
                true => self.closed.insert(tool.name.clone()),
                false => self.closed.remove(&tool.name),
            };
            // if two tools have the same name, one that is blocked blocks both
            let known = self.tools.entry(tool.name).or_insert(None);
            *known = against.or_else(|| known.take());
        }
        Ok(())
    }
}

/// The name under which a request waits for its answer.
fn key(exchange: &str, id: &Value) -> String {
    format!("{exchange} {id}")
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
