//! Client capabilities that are hidden from the server: `sampling` (querying the client's model) and `elicitation`
//! (querying its user). The proxy refuses such requests. A server that is told of them would rely on them and fail; one
//! that is not can fall back to something else.

use serde_json::{Map, Value};

/// What is withheld.
const REFUSED: [&str; 2] = ["sampling", "elicitation"];
/// Where each request announces it, since version 2026-07-28.
const IN_REQUEST: &str = "io.modelcontextprotocol/clientCapabilities";

/// Removes the refused capabilities from a client's message. Returns whether the message has changed.
pub(super) fn withhold(message: &mut Value) -> bool {
    let is_first = message.get("method").and_then(Value::as_str) == Some("initialize");
    let Some(params) = message.get_mut("params") else { return false };
    let mut changed = false;
    if is_first && let Some(Value::Object(capabilities)) = params.get_mut("capabilities") {
        changed |= remove(capabilities);
    }
    if let Some(Value::Object(capabilities)) = params.get_mut("_meta").and_then(|meta| meta.get_mut(IN_REQUEST)) {
        changed |= remove(capabilities);
    }
    changed
}

fn remove(capabilities: &mut Map<String, Value>) -> bool {
    let before = capabilities.len();
    capabilities.retain(|name, _| !REFUSED.contains(&name.as_str()));
    let changed = capabilities.len() < before;
    // the same as tasks
    let tasks = capabilities.get_mut("tasks").and_then(|tasks| tasks.get_mut("requests"));
    tasks.and_then(Value::as_object_mut).is_some_and(remove) || changed
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_refused_is_withheld() {
        let announced = json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}},
            "tasks": {"list": {}, "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}}});
        let left = json!({"roots": {}, "tasks": {"list": {}, "requests": {}}});
        let mut message = json!({"method": "initialize", "params": {"capabilities": announced}});
        assert!(withhold(&mut message));
        assert_eq!(message.pointer("/params/capabilities"), Some(&left));
        assert!(!withhold(&mut message));
        let mut message = json!({"method": "tools/call", "params": {"name": "a", "_meta": {IN_REQUEST: announced}}});
        assert!(withhold(&mut message));
        assert_eq!(message.pointer("/params/_meta").unwrap().get(IN_REQUEST), Some(&left));
        // arguments of a call are not announcements
        let mut message = json!({"method": "tools/call", "params": {"capabilities": announced}});
        assert!(!withhold(&mut message));
    }
}
