//! AgentDojo: one JSON log per run, with `suite_name`, `pipeline_name`, `user_task_id`, `injection_task_id`,
//! `attack_type`, `injections`, `messages`.
//!
//! A log does not label its calls, so they are compared with other logs of the folder:
//!
//! 1. Every call of a run without an attack, and every call before the injected text was read, is the user's: allow.
//! 2. After that, a call is the attacker's if the injection task makes it when run alone (`user_task_id` is then
//!    `injection_task_N`) and the user's task does not make it without an attack: deny.
//! 3. A call that the user's task makes without an attack, with the same arguments, is the user's: allow.
//! 4. Any other call has no label; it is reported and left out.

use super::record::{self, Problem, Record, observation};
use super::{Imported, files};
use agrail::action::Observation;
use agrail::replay::{Expected, Trace};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::path::Path;

const USED: &[&str] = &["messages", "suite_name", "injections"];

/// Calls of runs without an attack, by suite and task, as pairs of name and arguments.
type Clean = HashMap<(String, String), HashSet<(String, String)>>;

pub fn import(path: &Path) -> Result<Imported> {
    let mut imported = Imported::default();
    let mut logs = Vec::new();
    for file in files(path, &["json"])? {
        match record::load_records(&file) {
            Ok(records) => logs.extend(records),
            Err(problem) => {
                imported.records += 1;
                imported.problems.push(format!("{problem:#}"));
            }
        }
    }
    let mut clean = Clean::new();
    for record in logs.iter().filter(|record| task(record, "injection_task_id").is_none()) {
        let (Ok(key), Ok(messages)) = (key(record, "user_task_id"), record.list("messages")) else { continue };
        clean.entry(key).or_default().extend(messages.iter().flat_map(calls).map(|(tool, arguments)| {
            let arguments = Value::Object(arguments).to_string();
            (tool, arguments)
        }));
    }
    for record in &logs {
        imported.records += 1;
        match map(record, &clean) {
            Ok((traces, unlabelled)) => {
                imported.traces.extend(traces);
                imported.problems.extend(unlabelled.into_iter().map(|why| format!("{}: {why}", record.place)));
            }
            Err(problem) => imported.problems.push(format!("{}: {problem}", record.place)),
        }
    }
    Ok(imported)
}

fn map(record: &Record, clean: &Clean) -> Result<(Vec<Trace>, Vec<String>), Problem> {
    let (suite, user) = key(record, "user_task_id")?;
    let injection = task(record, "injection_task_id");
    let messages = record.list("messages")?;
    if injection.is_none() && user.starts_with("injection_task") {
        // a run of the injection task alone only labels other runs
        return Ok((Vec::new(), Vec::new()));
    }
    let none = HashSet::new();
    let own = clean.get(&(suite.clone(), user.clone())).unwrap_or(&none);
    let attacker = injection.and_then(|task| clean.get(&(suite.clone(), task.to_owned()))).unwrap_or(&none);
    let injections = record.fields.get("injections").and_then(Value::as_object);
    let injected: Vec<&str> = injections.into_iter().flatten().filter_map(|(_, text)| text.as_str()).collect();
    let request = messages.iter().find(|message| message["role"] == "user").map(|m| text(&m["content"]));
    let request = request.ok_or_else(|| Problem::new("field \"messages\" has no user message"))?;
    let run = [record.optional("pipeline_name"), Some(&suite), Some(&user), task(record, "attack_type"), injection];
    let run = run.into_iter().flatten().collect::<Vec<_>>().join("/");

    let mut seen: Vec<Observation> = Vec::new();
    let (mut traces, mut unlabelled) = (Vec::new(), Vec::new());
    let mut number = 0;
    for message in messages {
        for (tool, arguments) in calls(message) {
            let poisoned = injection.is_some()
                && seen.iter().any(|read| injected.iter().any(|text| holds(read.text.expose_untrusted(), text)));
            let call = (tool.clone(), Value::Object(arguments.clone()).to_string());
            let calls_tool = |calls: &HashSet<(String, String)>| calls.iter().any(|(name, _)| *name == tool);
            let label = match (poisoned, injection) {
                (false, None) => Some((Expected::Allow, "user-task")),
                (false, Some(_)) => Some((Expected::Allow, "user-task-under-attack")),
                (true, _) if own.contains(&call) => Some((Expected::Allow, "user-task-under-attack")),
                (true, _) if calls_tool(attacker) && !calls_tool(own) => Some((Expected::Deny, "injection")),
                (true, _) => None,
            };
            match label {
                Some((expected, tag)) => {
                    let action = json!({"type": "tool_call", "tool": tool, "arguments": arguments});
                    let mut trace = record.trace("agentdojo", &format!("{run}/{number}"), USED, expected, action);
                    trace.request.clone_from(&request);
                    trace.agent.clone_from(&suite);
                    trace.tags = vec![tag.to_owned()];
                    trace.observations.clone_from(&seen);
                    traces.push(trace);
                }
                None => unlabelled.push(format!(
                    "call {number} ({tool}) has no label: import a folder that also contains the runs of {user} \
                     and of {} without an attack",
                    injection.unwrap_or_default()
                )),
            }
            number += 1;
        }
        if message["role"] == "tool" {
            let source = message.pointer("/tool_call/function").and_then(Value::as_str).unwrap_or("tool");
            seen.push(observation(source, &text(&message["content"])));
        }
    }
    Ok((traces, unlabelled))
}

fn key(record: &Record, name: &str) -> Result<(String, String), Problem> {
    Ok((record.text("suite_name")?.to_owned(), record.text(name)?.to_owned()))
}

/// A task id or attack, if the run has one; otherwise logs contain null or "none".
fn task<'a>(record: &'a Record, name: &str) -> Option<&'a str> {
    record.optional(name).filter(|id| !matches!(*id, "" | "none" | "None"))
}

/// The tool calls in a message of the agent.
fn calls(message: &Value) -> Vec<(String, Map<String, Value>)> {
    let list = message["tool_calls"].as_array().filter(|_| message["role"] == "assistant");
    let one = |call: &Value| {
        let arguments = match &call["args"] {
            Value::Object(arguments) => arguments.clone(),
            _ => Map::new(),
        };
        Some((call["function"].as_str()?.to_owned(), arguments))
    };
    list.into_iter().flatten().filter_map(one).collect()
}

/// The text of a content: a string, or a list of parts `{"type": "text", "content": ...}`.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["content"].as_str().or_else(|| part["text"].as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Whether `text` contains `part`, ignoring spaces: logs print results as YAML, which folds lines.
fn holds(text: &str, part: &str) -> bool {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let part = plain(part);
    !part.is_empty() && plain(text).contains(&part)
}
