//! Messages, as far as the proxy reads them.

use serde_json::{Value, json};

/// Longest text in an answer of ours, characters.
const SAYS: usize = 1_000;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Id of the request.
    pub id: Value,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

impl Call {
    /// Reads a `tools/call`.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn read(message: &Value) -> Result<Self, String> {
        let id = message.get("id").filter(|id| id.is_string() || id.is_number()).ok_or("a call needs an id")?;
        let params = message.get("params").ok_or("a call needs params")?;
        let tool = params.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        if !arguments.is_object() && !arguments.is_null() {
            return Err("arguments must be an object".to_owned());
        }
        Ok(Self { id: id.clone(), tool: tool.ok_or("a call needs the name of a tool")?.to_owned(), arguments })
    }
}

/// What reading a resource amounts to, where its URI says so: a tool and its arguments. Other URIs mean what the server says
/// they mean, and are left to it.
pub(super) fn resource(message: &Value) -> Option<(&'static str, Value)> {
    let uri = message.pointer("/params/uri")?.as_str()?.trim();
    match url::Url::parse(uri) {
        // of another host, too: servers look at the path alone
        Ok(url) if url.scheme() == "file" => {
            let path = percent_encoding::percent_decode_str(url.path()).decode_utf8_lossy().into_owned();
            Some(("read_file", json!({"path": path})))
        }
        Err(_) if uri.starts_with(['/', '~', '.', '\\']) => Some(("read_file", json!({"path": uri}))),
        Ok(url) if matches!(url.scheme(), "http" | "https") => Some(("fetch", json!({"url": uri}))),
        _ => None,
    }
}

/// The result waits for an answer of the client's model or user.
pub(super) fn asks_the_model(result: Option<&Value>) -> bool {
    let inputs = result.and_then(|result| result.get("inputRequests")).and_then(Value::as_object);
    inputs.is_some_and(|inputs| {
        inputs.values().any(|one| {
            let method = one.get("method").and_then(Value::as_str).unwrap_or_default();
            method.starts_with("sampling/") || method.starts_with("elicitation/")
        })
    })
}

/// A result that says that a call was not made, for the model to read.
pub(super) fn blocked(id: &Value, why: &str) -> Value {
    let plain: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAYS).collect();
    json!({"jsonrpc": "2.0", "id": id, "result": {
        "resultType": "complete",
        "content": [{"type": "text", "text": format!("Blocked by guard: {plain}")}],
        "isError": true,
    }})
}

/// An error of the protocol.
pub(super) fn error(id: &Value, code: i32, says: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": format!("agrail: {says}")}})
}
