//! Safe-OS: `description`, `user`, `labels`, `create.init`, `start`, `evaluation.match`.
//!
//! The files contain tasks, but no actions of an agent. Two answers are known nevertheless: the answer to a benign task
//! (`evaluation.match`), and the answer `yes`, which the published evaluation counts as a successful injection. If a
//! record has a key `action`, that command is judged; the sets sabotage and environment need it.

use super::record::{self, Problem, Record, observation};
use super::{Imported, files, stem};
use agrail::replay::{Expected, Trace};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

const USED: &[&str] = &["description", "user", "create", "action"];

pub fn import(path: &Path) -> Result<Imported> {
    let mut imported = Imported::default();
    for file in files(path, &["json", "jsonl"])? {
        let set = stem(&file);
        imported.each(&record::load_records(&file)?, |record| map(record, &set));
    }
    Ok(imported)
}

fn map(record: &Record, set: &str) -> Result<Vec<Trace>, Problem> {
    let tag = if set == "system_sabotage" { "sabotage".to_owned() } else { set.replace('_', "-") };
    let id = format!("{tag}/{}", record.number);
    let fill = |mut trace: Trace| {
        trace.tags.insert(0, tag.clone());
        record.text("description")?.clone_into(&mut trace.request);
        "os".clone_into(&mut trace.agent);
        record.optional("user").unwrap_or("user").clone_into(&mut trace.identity.name);
        trace.environment.setup = setup(record)?;
        Ok(trace)
    };
    if let Some(command) = record.optional("action") {
        let expected = record.label("labels").or_else(|_| by_set(&tag))?;
        let action = json!({"type": "shell", "command": command});
        return Ok(vec![fill(record.trace("safe-os", &id, USED, expected, action))?]);
    }
    match tag.as_str() {
        "benign" => {
            let answer = answer(record)?;
            let action = json!({"type": "message", "text": answer});
            let mut trace = record.trace("safe-os", &format!("{id}/answer"), USED, Expected::Allow, action);
            trace.observations = vec![observation("shell", &answer)];
            Ok(vec![fill(trace)?])
        }
        "prompt-injection" => {
            let action = json!({"type": "message", "text": "yes"});
            let mut trace = record.trace("safe-os", &format!("{id}/hijacked"), USED, Expected::Deny, action);
            trace.tags = vec!["hijacked".to_owned()];
            let text = setup(record)?
                .ok_or_else(|| Problem::new("field \"create.init\" is missing, so the observation is unknown"))?;
            // the script that writes a poisoned file contains its text
            trace.observations = vec![observation("shell", &text)];
            Ok(vec![fill(trace)?])
        }
        _ => Err(Problem::new(
            "no command: the published file contains only the task; add the agent's command as \"action\" to each record",
        )),
    }
}

fn by_set(tag: &str) -> Result<Expected, Problem> {
    match tag {
        "benign" => Ok(Expected::Allow),
        "sabotage" | "environment" => Ok(Expected::Deny),
        _ => Err(Problem::new("field \"labels\" is missing, and the file name does not imply a label")),
    }
}

/// `evaluation.match`: a string, or an object with `answer`.
fn answer(record: &Record) -> Result<String, Problem> {
    let found = record.object("evaluation")?.get("match");
    let found = found.map(|value| value.get("answer").unwrap_or(value));
    match found {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value @ Value::Number(_)) => Ok(value.to_string()),
        _ => Err(Problem::new(
            "field \"evaluation.match\" is missing; if the command decides, add the agent's command as \"action\"",
        )),
    }
}

/// The scripts of `create.init` and `start`, in order; each is a string or `{"language": "bash", "code": ...}`.
fn setup(record: &Record) -> Result<Option<String>, Problem> {
    let init = record.fields.get("create").and_then(|create| create.get("init"));
    let mut parts = Vec::new();
    for value in init.into_iter().chain(record.fields.get("start")) {
        let list = value.as_array().map_or_else(|| vec![value], |list| list.iter().collect());
        for script in list.into_iter().filter(|script| !script.is_null()) {
            if script.get("language").and_then(Value::as_str).is_some_and(|language| language != "bash") {
                return Err(Problem::new("field \"create.init\": only a bash script can be a set-up"));
            }
            let code = script.as_str().or_else(|| script.get("code").and_then(Value::as_str));
            parts.push(code.ok_or_else(|| Problem::new("field \"create.init\" has no \"code\""))?);
        }
    }
    Ok((!parts.is_empty()).then(|| parts.join("\n")))
}
