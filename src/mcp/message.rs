//! Parses the parts of MCP messages that the proxy needs, and builds its answers.

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;

/// Longest text in an answer of the proxy, in characters.
const SAYS: usize = 1_000;

/// Keys with a meaning in the protocol, in messages, parameters, results and tools.
const KNOWN: [&str; 17] = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "name",
    "arguments",
    "uri",
    "tools",
    "description",
    "inputSchema",
    "annotations",
    "title",
    "content",
    "inputRequests",
    "inputResponses",
];

/// Why a message, or a call in it, cannot be used. The peer reads the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// It is not JSON, or an object has a key twice.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A key could be taken for a key of the protocol.
    #[error("the key {0:?} differs from a key of the protocol only in case")]
    Ambiguous(String),
    /// A call has no id.
    #[error("a call needs an id")]
    NoId,
    /// A call has no parameters.
    #[error("a call needs params")]
    NoParams,
    /// A call names no tool.
    #[error("a call needs the name of a tool")]
    NoTool,
    /// The arguments of a call are neither an object nor null.
    #[error("arguments must be an object")]
    Arguments,
}

/// Parses a message and rejects ambiguous ones: duplicate keys, and keys that differ from a key of the protocol only in
/// case. Of two such keys, the parser on the other side might use the one that was not checked.
///
/// # Errors
/// [`MessageError::Json`], [`MessageError::Ambiguous`]
pub(super) fn parse(line: &str) -> Result<Value, MessageError> {
    let mut reader = serde_json::Deserializer::from_str(line);
    let value = Once.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value))?;
    let parts = [Some(&value), value.get("params"), value.get("result")];
    let tools = value.pointer("/result/tools").and_then(Value::as_array);
    for part in parts.into_iter().flatten().chain(tools.into_iter().flatten()) {
        let twin = |key: &&String| KNOWN.iter().any(|known| known.eq_ignore_ascii_case(key) && known != key);
        if let Some(key) = part.as_object().and_then(|fields| fields.keys().find(twin)) {
            return Err(MessageError::Ambiguous(key.clone()));
        }
    }
    Ok(value)
}

/// Deserializes a value and rejects objects with duplicate keys.
struct Once;

impl<'de> DeserializeSeed<'de> for Once {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Once)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(Once)?;
            if all.insert(key.clone(), value).is_some() {
                return Err(de::Error::custom(format!("the key {key:?} occurs twice")));
            }
        }
        Ok(Value::Object(all))
    }
}

/// A `tools/call` request.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Id of the request, a string or a number.
    pub id: Value,
    /// Name of the tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

impl Call {
    /// Parses a `tools/call`.
    ///
    /// # Errors
    /// [`MessageError`] names what is missing.
    pub fn read(message: &Value) -> Result<Self, MessageError> {
        let id = message.get("id").filter(|id| id.is_string() || id.is_number()).ok_or(MessageError::NoId)?;
        let params = message.get("params").ok_or(MessageError::NoParams)?;
        let tool = params.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        if !arguments.is_object() && !arguments.is_null() {
            return Err(MessageError::Arguments);
        }
        Ok(Self { id: id.clone(), tool: tool.ok_or(MessageError::NoTool)?.to_owned(), arguments })
    }
}

/// The tool and the arguments to which reading a resource is equivalent, if its URI names a file or a web page. Only
/// the server knows the meaning of other URIs; these yield `None`.
pub(super) fn resource(message: &Value) -> Option<(&'static str, Value)> {
    let uri = message.pointer("/params/uri")?.as_str()?.trim();
    match url::Url::parse(uri) {
        // also with a host in the URI: servers look only at the path
        Ok(url) if url.scheme() == "file" => {
            let path = percent_encoding::percent_decode_str(url.path()).decode_utf8_lossy().into_owned();
            Some(("read_file", json!({"path": path})))
        }
        Err(_) if uri.starts_with(['/', '~', '.', '\\']) => Some(("read_file", json!({"path": uri}))),
        Ok(url) if matches!(url.scheme(), "http" | "https") => Some(("fetch", json!({"url": uri}))),
        _ => None,
    }
}

/// Whether a result requests input from the client's model or user.
pub(super) fn asks_the_model(result: Option<&Value>) -> bool {
    let inputs = result.and_then(|result| result.get("inputRequests")).and_then(Value::as_object);
    inputs.is_some_and(|inputs| {
        inputs.values().any(|one| {
            let method = one.get("method").and_then(Value::as_str).unwrap_or_default();
            method.starts_with("sampling/") || method.starts_with("elicitation/")
        })
    })
}

/// The result of a blocked call, with the reason for the model to read.
pub(super) fn blocked(id: &Value, why: &str) -> Value {
    let plain: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAYS).collect();
    json!({"jsonrpc": "2.0", "id": id, "result": {
        "resultType": "complete",
        "content": [{"type": "text", "text": format!("Blocked by guard: {plain}")}],
        "isError": true,
    }})
}

/// A JSON-RPC error.
pub(super) fn error(id: &Value, code: i32, says: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": format!("agrail: {says}")}})
}

/// The answer to a request that the server has left open.
pub(super) fn ended(id: &Value) -> Value {
    error(id, -32000, "the server has ended without an answer to this request")
}
