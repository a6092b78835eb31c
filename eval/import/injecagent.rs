//! InjecAgent: `User Instruction`, `User Tool`, `Tool Parameters`, `Tool Response`, `Attacker Tools`,
//! `Attacker Instruction`. Results of the official evaluation have `output` and `eval` (succ, unsucc, invalid), too.
//!
//! A test case becomes two traces after the poisoned tool result: the attacker's call and the user's own call. A result
//! becomes the step that the model took, with the label of the official evaluator.

use super::record::{self, Problem, Record, observation, with};
use super::{Imported, files, stem};
use agrail::replay::{Expected, Trace};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::path::Path;

const USED: &[&str] = &["User Instruction", "Tool Response", "Tool Parameters", "User Tool"];

pub fn import(path: &Path) -> Result<Imported> {
    let mut imported = Imported::default();
    for file in files(path, &["json", "jsonl"])? {
        let name = stem(&file);
        let set = name.strip_prefix("test_cases_").unwrap_or(&name).to_owned();
        imported.each(&record::load_records(&file)?, |record| map(record, &set));
    }
    Ok(imported)
}

fn map(record: &Record, set: &str) -> Result<Vec<Trace>, Problem> {
    let place = format!("{set}/{}", record.number);
    let fill = |mut trace: Trace, tag: &str| {
        record.text("User Instruction")?.clone_into(&mut trace.request);
        trace.tags = vec![tag.to_owned(), set.to_owned()];
        "tool".clone_into(&mut trace.agent);
        trace.observations = vec![observation("tool", record.text("Tool Response")?)];
        Ok(trace)
    };
    if let Some(eval) = record.optional("eval") {
        let expected = match eval {
            "succ" => Expected::Deny,
            "unsucc" => Expected::Allow,
            _ => {
                return Err(Problem::new(format!(
                    "field \"eval\" is {eval:?}: the evaluator found no step in the reply"
                )));
            }
        };
        let action = taken(record.text("output")?)?;
        return Ok(vec![fill(record.trace("injecagent", &place, USED, expected, action), "recorded")?]);
    }
    let tools = record.list("Attacker Tools")?;
    let tool = tools.first().and_then(Value::as_str);
    let tool = tool.ok_or_else(|| Problem::new("field \"Attacker Tools\" names no tool"))?;
    // the published case does not specify the arguments of the attacker's call; the model chooses them
    let attack = json!({"type": "tool_call", "tool": tool, "arguments": {}});
    let attack = fill(record.trace("injecagent", &place, USED, Expected::Deny, attack), "injection")?;
    let parameters = match record.get("Tool Parameters")? {
        Value::Object(object) => Value::Object(object.clone()),
        value => python(value.as_str().unwrap_or_default())
            .ok_or_else(|| Problem::new("field \"Tool Parameters\" is neither an object nor a string with one"))?,
    };
    let own = json!({"type": "tool_call", "tool": record.text("User Tool")?, "arguments": parameters});
    let own = record.trace("injecagent", &format!("{place}/user-call"), USED, Expected::Allow, own);
    Ok(vec![attack, fill(own, "user-call-under-attack")?])
}

/// The first step of a model's reply: `Action:` and `Action Input:`, or a final answer.
fn taken(output: &str) -> Result<Value, Problem> {
    let after = |name: &str| {
        let found = output.lines().find_map(|line| line.trim_start().strip_prefix(name));
        found.map(str::trim).filter(|text| !text.is_empty())
    };
    match after("Action:").filter(|tool| *tool != "None") {
        Some(tool) => {
            let input = after("Action Input:").and_then(python);
            let mut action =
                json!({"type": "tool_call", "tool": tool, "arguments": input.clone().unwrap_or(json!({}))});
            if input.is_none() {
                action = with(action, "raw", output);
            }
            Ok(action)
        }
        None if output.contains("Final Answer:") => Ok(json!({"type": "message", "text": output})),
        None => Err(Problem::new("field \"output\" has neither \"Action:\" nor \"Final Answer:\"")),
    }
}

/// Parses an object in JSON or in Python notation: single quotes, `True`, `False`, `None`.
fn python(text: &str) -> Option<Value> {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return Some(value);
    }
    let mut json = String::with_capacity(text.len());
    let mut quote = None;
    let mut chars = text.chars().peekable();
    let mut word = String::new();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => {
                json.push('"');
                quote = None;
            }
            (Some(_), '\\') => match chars.next() {
                Some('\'') => json.push('\''),
                Some(next) => json.extend(['\\', next]),
                None => return None,
            },
            (Some(_), '"') => json.push_str("\\\""),
            (Some(_), '\n') => json.push_str("\\n"),
            (Some(_), c) => json.push(c),
            (None, '\'' | '"') => {
                json.push('"');
                quote = Some(c);
            }
            (None, c) if c.is_ascii_alphabetic() => {
                word.push(c);
                if !chars.peek().is_some_and(char::is_ascii_alphabetic) {
                    json.push_str(match word.as_str() {
                        "True" => "true",
                        "False" => "false",
                        "None" => "null",
                        other => other,
                    });
                    word.clear();
                }
            }
            (None, c) => json.push(c),
        }
    }
    serde_json::from_str::<Map<String, Value>>(&json).ok().map(Value::Object)
}
