//! What the service is, for other programs: OpenAPI 3.1. A test compares it with the router.

use serde_json::{Value, json};

/// Path, method, what it is for, whether an operator's token is needed.
const PATHS: &[(&str, &str, &str, bool)] = &[
    ("/v1/check", "post", "May this action run? Answers with a verdict.", false),
    ("/v1/check/batch", "post", "The same for up to 64 actions.", false),
    ("/v1/feedback", "post", "Say what you think of a verdict: approve, reject, incident, false-positive.", true),
    ("/v1/approvals", "get", "Questions that wait for a person.", true),
    ("/v1/approvals/{id}", "post", "Approve a question, for this once, or reject it.", true),
    ("/v1/decisions", "get", "The newest decisions, newest first.", true),
    ("/v1/decisions/{id}", "get", "One decision in full.", true),
    ("/v1/memory", "get", "Entries of the memory, by words.", true),
    ("/v1/memory/{id}", "get", "One entry.", true),
    ("/v1/memory/{id}/history", "get", "What happened to an entry.", true),
    ("/v1/memory/{id}/diff", "get", "What differs between two versions.", true),
    ("/v1/memory/{id}/rollback", "post", "Make an earlier version the current one.", true),
    ("/v1/memory/{id}/quarantine", "post", "Take an entry out.", true),
    ("/v1/audit", "get", "Whether the audit log is whole, and its newest entries.", true),
    (
        "/v1/reload",
        "post",
        "Read the configuration anew; a broken one, or a weaker one that is not accepted, keeps the old.",
        true,
    ),
    ("/health", "get", "It answers.", false),
    ("/metrics", "get", "Figures for Prometheus.", false),
];

/// The document.
pub(super) fn document() -> Value {
    let mut paths = serde_json::Map::new();
    for (path, method, about, operator) in PATHS {
        let mut operation = json!({
            "summary": about,
            "responses": {
                "200": {"description": "done"},
                "400": {"description": "the request cannot be read"},
                "401": {"description": "a token is needed, or is not known"},
                "403": {"description": "the token may not do that, or the Host or Origin is not of this service"},
                "404": {"description": "there is no such thing"},
                "409": {"description": "it cannot be done as things are; the error says why"},
                "429": {"description": "more than this service takes; ask again later"},
                "503": {"description": "too much is waiting; do not act, and ask again"},
            },
        });
        let Some(fields) = operation.as_object_mut() else { continue };
        let security = if *operator { json!([{"token": []}]) } else { json!([{}, {"token": []}]) };
        fields.insert("security".to_owned(), security);
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let named =
            names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
        fields.insert("parameters".to_owned(), named.collect());
        if let Some(body) = body(path) {
            let content = json!({"application/json": {"schema": body}});
            fields.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
        }
        if *path == "/v1/check" {
            let content = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Verdict"}}});
            let answer = json!({"description": "a verdict", "content": content});
            if let Some(responses) = fields.get_mut("responses").and_then(Value::as_object_mut) {
                responses.insert("200".to_owned(), answer);
            }
        }
        let entry = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
        if let Some(methods) = entry.as_object_mut() {
            methods.insert((*method).to_owned(), operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "agrail", "version": env!("CARGO_PKG_VERSION"), "description": "A guardrail for LLM agents"},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Asked": asked(), "Verdict": verdict()},
        },
    })
}

fn body(path: &str) -> Option<Value> {
    let words = |words: &[&str]| json!({"type": "string", "enum": words});
    Some(match path {
        "/v1/check" => json!({"$ref": "#/components/schemas/Asked"}),
        "/v1/check/batch" => json!({"type": "array", "maxItems": 64, "items": {"$ref": "#/components/schemas/Asked"}}),
        "/v1/feedback" => json!({"type": "object", "required": ["verdict", "says"], "properties": {
            "verdict": {"type": "string"}, "says": words(&["approve", "reject", "incident", "false-positive"]),
            "uses": {"type": "integer", "minimum": 1, "maximum": 1000}, "days": {"type": "integer", "minimum": 1, "maximum": 365}}}),
        "/v1/approvals/{id}" => {
            json!({"type": "object", "required": ["says"], "properties": {"says": words(&["approve", "reject"])}})
        }
        "/v1/reload" => json!({"type": "object", "properties": {"weaker": {"type": "boolean", "default": false,
            "description": "accept that it stops less than before"}}}),
        "/v1/memory/{id}/rollback" => {
            json!({"type": "object", "required": ["version"], "properties": {"version": {"type": "integer", "minimum": 1}}})
        }
        _ => return None,
    })
}

fn asked() -> Value {
    let text = || json!({"type": "string"});
    let kind = |name: &str, required: &[&str], fields: Value| {
        let mut properties = json!({"type": {"const": name}});
        if let (Some(all), Some(more)) = (properties.as_object_mut(), fields.as_object()) {
            all.extend(more.clone());
        }
        let required: Vec<&str> = std::iter::once("type").chain(required.iter().copied()).collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    json!({"type": "object", "required": ["action"], "properties": {
        "action": {"oneOf": [
            kind("shell", &["command"], json!({"command": text(), "cwd": text()})),
            kind("code", &["language", "source"], json!({"language": text(), "source": text()})),
            kind("sql", &["statement"], json!({"statement": text()})),
            kind("browse", &["operation"], json!({"operation": text(), "url": text(), "element": text(), "value": text()})),
            kind("tool_call", &["tool"], json!({"server": text(), "tool": text(), "arguments": {}})),
            kind("fetch", &["url"], json!({"url": text()})),
            kind("message", &["text"], json!({"text": text()})),
        ]},
        "context": {"type": "object", "properties": {
            "request": text(), "agent": text(),
            "identity": {"type": "object", "properties": {"name": text(), "roles": {"type": "array", "items": text()}, "attributes": {"type": "object"}}},
            "observations": {"type": "array", "items": {"type": "object", "properties": {"source": text(), "text": text()}}},
        }},
    }})
}

fn verdict() -> Value {
    json!({"type": "object", "required": ["version", "id", "decision", "basis", "mode", "reason", "findings", "effects", "cost", "digest"],
    "properties": {
        "version": {"const": 1}, "id": {"type": "string"}, "decision": {"enum": ["allow", "ask", "deny"]},
        "basis": {"enum": ["policy", "findings", "memory", "unknown", "failure"]}, "mode": {"enum": ["rules", "tiered", "llm"]},
        "reason": {"type": "string"}, "advice": {"type": ["string", "null"]}, "ask_of": {"enum": ["person", "model", null]},
        "findings": {"type": "array"}, "effects": {"type": "array"}, "memory": {"type": ["object", "null"]},
        "cost": {"type": "object"}, "digest": {"type": "object"},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_and_the_router_know_the_same_paths() {
        let router = include_str!("api.rs");
        for (path, method, ..) in PATHS {
            assert!(router.contains(&format!(".route(\"{path}\", {method}(")), "{method} {path}");
        }
        let own = ["/openapi.json", "/", "/console.js", "/console.css"];
        let routes = router.matches(".route(\"").count();
        assert_eq!(routes, PATHS.len() + own.len());
    }
}
