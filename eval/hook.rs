//! Runs traces through a PreToolUse hook of a coding agent, agrail's or another tool's: one process per case, as the
//! host would start it.
//!
//! The host's contract defines the meaning of an answer. Exit code 2 blocks. JSON on standard output contains allow,
//! ask or deny. With silence or any other failure the call runs, as in the host.

use agrail::action::Action;
use agrail::replay::{Asked, Case, ResultLine, Trace};
use agrail::verdict::Decision;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Timeout of the host.
const WAIT: Duration = Duration::from_secs(60);

/// A hook command.
pub struct Hook {
    command: String,
    observations: bool,
}

/// Output of a hook's process.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    wall: Duration,
}

impl Hook {
    /// `command` is a shell command in which `{root}` is replaced by the root of the case and `{user}` by the account.
    /// With `observations`, the hook first gets the observations of the agent.
    pub fn new(command: &str, observations: bool) -> Self {
        Self { command: command.to_owned(), observations }
    }

    /// Verifies that the hook lets a harmless call pass: a hook that cannot start would look like one that always
    /// allows or always denies.
    pub async fn answers(&self) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let event = json!({
            "session_id": "eval-first", "cwd": "/", "permission_mode": "default", "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_eval",
        });
        let said = self.run(&event, folder.path(), "user").await?;
        if said.code != Some(0) {
            let code = said.code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            anyhow::bail!("the hook blocks 'ls' ({code}): {}; check --hook", said.stderr.trim());
        }
        Ok(())
    }

    async fn answer(&self, trace: &Trace, root: &Path) -> anyhow::Result<ResultLine> {
        let action: Action = serde_json::from_value(trace.action.clone())?;
        let Some((tool, input)) = call(&action) else { anyhow::bail!("no hook is asked about a message") };
        let mut transcript = tempfile::NamedTempFile::new()?;
        for line in transcript_lines(trace) {
            writeln!(transcript, "{line}")?;
        }
        let cwd = match &action {
            Action::Shell { cwd: Some(cwd), .. } => cwd.to_string_lossy().into_owned(),
            _ => format!("/home/{}", trace.identity.name),
        };
        let event = |kind: &str, tool: &str, input: &Value| {
            json!({
                "session_id": format!("eval-{}-{}", std::process::id(), trace.id), "transcript_path": transcript.path(), "cwd": cwd,
                "permission_mode": "default", "hook_event_name": kind, "tool_name": tool, "tool_input": input,
                "tool_use_id": "toolu_eval",
            })
        };
        if self.observations {
            for (place, seen) in trace.observations.iter().enumerate() {
                let mut after = event("PostToolUse", "WebFetch", &json!({"url": seen.source}));
                if let Some(fields) = after.as_object_mut() {
                    fields.insert("tool_response".to_owned(), json!(seen.text));
                    fields.insert("tool_use_id".to_owned(), json!(format!("toolu_{place}")));
                }
                self.run(&after, root, &trace.identity.name).await?;
            }
        }
        let said = self.run(&event("PreToolUse", &tool, &input), root, &trace.identity.name).await?;
        let (decision, reason) = meant(&said);
        let wall_us = u64::try_from(said.wall.as_micros()).ok();
        Ok(ResultLine { decision: Some(decision), reason, wall_us, error: None, ..ResultLine::failed(trace, "") })
    }

    async fn run(&self, event: &Value, root: &Path, user: &str) -> anyhow::Result<Said> {
        // a user name from a trace must not inject shell syntax
        let user: String = user.chars().filter(|c| c.is_alphanumeric() || "._-".contains(*c)).collect();
        let command = self.command.replace("{root}", &root.to_string_lossy()).replace("{user}", &user);
        let started = Instant::now();
        let mut child = Command::new("sh")
            .args(["-c", &command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take();
        let text = event.to_string();
        let told = async move {
            if let Some(mut input) = input {
                // a hook that reads nothing has closed its input
                let _ = input.write_all(text.as_bytes()).await;
            }
        };
        let ended = tokio::time::timeout(WAIT, async { tokio::join!(told, child.wait_with_output()).1 }).await;
        let wall = started.elapsed();
        let Ok(output) = ended else {
            return Ok(Said { code: None, stdout: String::new(), stderr: "no answer in time".to_owned(), wall });
        };
        let output = output?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr), wall })
    }
}

#[async_trait::async_trait]
impl Asked for Hook {
    async fn ask(&self, place: usize, trace: &Trace, root: &Path) -> Case {
        let line = match self.answer(trace, root).await {
            Ok(line) => line,
            Err(problem) => ResultLine::failed(trace, format!("{problem:#}")),
        };
        Case { place, line, verdict: None, setup_exit: None }
    }
}

/// The decision that the host derives from an answer, and its reason.
fn meant(said: &Said) -> (Decision, String) {
    let first = |text: &str| text.lines().next().unwrap_or_default().chars().take(300).collect::<String>();
    match said.code {
        Some(2) => (Decision::Deny, first(&said.stderr)),
        Some(0) => {
            let json: Value = serde_json::from_str(said.stdout.trim()).unwrap_or_default();
            let own = json.get("hookSpecificOutput");
            let word = own.and_then(|o| o.get("permissionDecision")).or_else(|| json.get("decision"));
            let why = own.and_then(|o| o.get("permissionDecisionReason")).or_else(|| json.get("reason"));
            let why = why.and_then(Value::as_str).map(first).unwrap_or_default();
            match word.and_then(Value::as_str) {
                Some("deny" | "block") => (Decision::Deny, why),
                Some("ask" | "defer") => (Decision::Ask, why),
                Some("allow" | "approve") => (Decision::Allow, why),
                _ => (Decision::Allow, "the hook is silent".to_owned()),
            }
        }
        code => {
            let code = code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
            (
                Decision::Allow,
                format!("the hook failed ({code}), and the host lets the call run: {}", first(&said.stderr)),
            )
        }
    }
}

/// The tool call in the host's form; `None` for a message, because no tool sends it.
fn call(action: &Action) -> Option<(String, Value)> {
    let bash = |command: String| Some(("Bash".to_owned(), json!({"command": command})));
    match action {
        Action::Shell { command, .. } => bash(command.clone()),
        Action::Code { language, source } if language.starts_with("py") => {
            bash(format!("python3 - <<'END_OF_SOURCE'\n{source}\nEND_OF_SOURCE\n"))
        }
        Action::Code { source, .. } => bash(source.clone()),
        Action::Sql { statement } => Some(("mcp__database__query".to_owned(), json!({"statement": statement}))),
        Action::Browse { operation, url, element, value } => {
            Some((format!("mcp__browser__{operation}"), json!({"url": url, "element": element, "value": value})))
        }
        Action::ToolCall { server, tool, arguments } => {
            let server = server.as_deref().unwrap_or("tools");
            Some((format!("mcp__{server}__{tool}"), arguments.clone()))
        }
        Action::Fetch { url } => Some(("WebFetch".to_owned(), json!({"url": url, "prompt": "summarize"}))),
        _ => None,
    }
}

/// The conversation so far, in the host's transcript format.
fn transcript_lines(trace: &Trace) -> Vec<Value> {
    let mut lines = Vec::new();
    if !trace.request.is_empty() {
        lines.push(json!({"type": "user", "message": {"role": "user", "content": trace.request}}));
    }
    for seen in &trace.observations {
        let result = json!([{"type": "tool_result", "tool_use_id": "toolu_0", "content": seen.text}]);
        lines.push(json!({"type": "user", "message": {"role": "user", "content": result}}));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_means_what_the_host_does_with_it() {
        let meant = |code: i32, stdout: &str| {
            let said =
                Said { code: Some(code), stdout: stdout.to_owned(), stderr: String::new(), wall: Duration::ZERO };
            meant(&said).0
        };
        let says = |word: &str| format!(r#"{{"hookSpecificOutput":{{"permissionDecision":"{word}"}}}}"#);
        assert_eq!(meant(2, &says("allow")), Decision::Deny, "JSON cannot lift exit code 2");
        assert_eq!(meant(0, &says("deny")), Decision::Deny);
        assert_eq!(meant(0, &says("ask")), Decision::Ask);
        assert_eq!(meant(0, r#"{"decision":"block"}"#), Decision::Deny);
        assert_eq!(meant(0, ""), Decision::Allow);
        assert_eq!(meant(1, &says("deny")), Decision::Allow, "a hook that fails blocks nothing");
    }
}
