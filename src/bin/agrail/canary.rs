//! A canary through the coding agent itself: does it ask the guard before it acts?
//!
//! 1. An endpoint on 127.0.0.1 replaces the model. It makes one tool call: a shell command that the guard denies. If
//!    the command runs after all, it does nothing, because it names a file that does not exist.
//! 2. The host is started headless on that endpoint, with the user's own settings, in an empty folder, so that no code
//!    of a project runs.
//! 3. The result that the host reports shows whether the guard was asked: it contains the guard's message, or anything
//!    else. Without a report nothing is known.

use agrail::hook::Host;
use anyhow::{Context as _, Result, bail};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time limit for the host.
const PATIENCE: Duration = Duration::from_secs(60);
/// Prefix of each reason of the guard.
const MARK: &str = "agrail";

/// Outcome of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The guard blocked it.
    Denied,
    /// The host went on without the guard; contains the reported result.
    NotAsked(String),
    /// The host is not on the PATH.
    NoHost,
}

/// The scripted model: the tool call that it makes, and the last result that came back.
#[derive(Clone)]
struct Script {
    tool: &'static str,
    arguments: Arc<Value>,
    reported: Arc<Mutex<Option<String>>>,
}

/// Starts the host and lets it run the canary.
///
/// # Errors
/// If the endpoint cannot listen, or the host reports no result; nothing is known then.
pub fn ask(host: Host) -> Result<Found> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let found = runtime.block_on(asked(host));
    runtime.shutdown_background();
    found
}

async fn asked(host: Host) -> Result<Found> {
    let command = format!("chmod 000 /etc/agrail-canary-{}", ulid::Ulid::new());
    let (tool, arguments) = match host {
        Host::ClaudeCode => ("Bash", json!({"command": command, "description": "canary of agrail"})),
        Host::Codex => ("exec_command", json!({"cmd": command})),
        _ => bail!("{} cannot be started here", host.title()),
    };
    let script = Script { tool, arguments: Arc::new(arguments), reported: Arc::default() };
    let listener =
        tokio::net::TcpListener::bind("127.0.0.1:0").await.context("cannot listen on a free port of 127.0.0.1")?;
    let port = listener.local_addr()?.port();
    let router = axum::Router::new().fallback(answer).with_state(script.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let folder = tempfile::tempdir()?;
    let mut child = started(host, port);
    child
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, child.output()).await.context("it did not end within a minute")?;
    let output = match ended {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::NoHost),
        other => other?,
    };
    let reported = script.reported.lock().unwrap_or_else(PoisonError::into_inner).take();
    match reported {
        Some(text) if text.contains(MARK) && !text.contains("No such file") => Ok(Found::Denied),
        Some(text) => Ok(Found::NotAsked(text)),
        None => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = said.lines().rev().take(2).collect();
            bail!("it reported no tool call ({}): {}", output.status, last.join(" "))
        }
    }
}

/// The command that starts the host on the endpoint, with the user's own settings; it keeps no session.
fn started(host: Host, port: u16) -> tokio::process::Command {
    let url = format!("http://127.0.0.1:{port}");
    if host == Host::ClaudeCode {
        let environment = json!({"env": {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-canary", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }});
        let mut command = tokio::process::Command::new("claude");
        command.env("ANTHROPIC_API_KEY", "sk-canary").args(["-p", "agrail canary", "--output-format", "json"]);
        command.args(["--no-session-persistence", "--strict-mcp-config", "--tools", "Bash"]);
        command.args(["--model", "claude-opus-5-5", "--settings", &environment.to_string()]);
        return command;
    }
    let provider = format!(
        "model_providers.agrail_canary={{name=\"canary\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"AGRAIL_CANARY_KEY\"}}"
    );
    let mut command = tokio::process::Command::new("codex");
    command.env("AGRAIL_CANARY_KEY", "canary").args([
        "exec",
        "--ephemeral",
        "--skip-git-repo-check",
        "-s",
        "read-only",
    ]);
    command.args(["-m", "gpt-5.5", "-c", &provider, "-c", "model_provider=\"agrail_canary\"", "agrail canary"]);
    command
}

/// Answers any request of a host.
async fn answer(State(script): State<Script>, method: Method, uri: Uri, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    if method != Method::POST {
        return axum::Json(json!({"data": [], "models": []})).into_response();
    }
    let path = uri.path();
    if path.ends_with("/count_tokens") {
        return axum::Json(json!({"input_tokens": 10})).into_response();
    }
    let results = results(&request);
    let asks = request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    let calls = asks && results.is_none();
    if let Some(text) = results {
        *script.reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
    let events = if path.ends_with("/messages") {
        messages(&script, calls)
    } else if path.ends_with("/responses") {
        responses(&script, calls)
    } else {
        return axum::http::StatusCode::NOT_FOUND.into_response();
    };
    let stream: String = events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
    ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

/// The results of tool calls in a request, in either API; `None` if it has none.
fn results(request: &Value) -> Option<String> {
    let mut found = Vec::new();
    let mut open = vec![request];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
                if kind == "tool_result" || kind.ends_with("_call_output") {
                    found.extend(fields.get("content").or_else(|| fields.get("output")).map(Value::to_string));
                } else {
                    open.extend(fields.values());
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    (!found.is_empty()).then(|| found.join("\n"))
}

/// The events of Anthropic's Messages API: a tool call, or a final message.
fn messages(script: &Script, calls: bool) -> Vec<(&'static str, Value)> {
    let (block, delta, stop) = if calls {
        let block = json!({"type": "tool_use", "id": "toolu_canary", "name": script.tool, "input": {}});
        (block, json!({"type": "input_json_delta", "partial_json": script.arguments.to_string()}), "tool_use")
    } else {
        (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": "done"}), "end_turn")
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 10});
    let message = json!({"id": "msg_canary", "type": "message", "role": "assistant", "model": "canary", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    vec![
        ("message_start", json!({"type": "message_start", "message": message})),
        ("content_block_start", json!({"type": "content_block_start", "index": 0, "content_block": block})),
        ("content_block_delta", json!({"type": "content_block_delta", "index": 0, "delta": delta})),
        ("content_block_stop", json!({"type": "content_block_stop", "index": 0})),
        (
            "message_delta",
            json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}),
        ),
        ("message_stop", json!({"type": "message_stop"})),
    ]
}

/// The same for OpenAI's Responses API.
fn responses(script: &Script, calls: bool) -> Vec<(&'static str, Value)> {
    let item = if calls {
        json!({"type": "function_call", "id": "it_canary", "call_id": "call_canary", "name": script.tool,
            "arguments": script.arguments.to_string()})
    } else {
        json!({"type": "message", "id": "it_done", "role": "assistant",
            "content": [{"type": "output_text", "text": "done", "annotations": []}]})
    };
    let usage = json!({"input_tokens": 10, "input_tokens_details": null, "output_tokens": 10, "output_tokens_details": null,
        "total_tokens": 20});
    let whole = json!({"id": "resp_canary", "object": "response", "status": "completed", "model": "canary",
        "output": [item], "usage": usage});
    let added = |name: &str| json!({"type": name, "output_index": 0, "item": item});
    vec![
        (
            "response.created",
            json!({"type": "response.created", "response": {"id": "resp_canary", "status": "in_progress"}}),
        ),
        ("response.output_item.added", added("response.output_item.added")),
        ("response.output_item.done", added("response.output_item.done")),
        ("response.completed", json!({"type": "response.completed", "response": whole})),
    ]
}
