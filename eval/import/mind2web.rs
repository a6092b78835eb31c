//! Mind2Web-SC: `confirmed_task`, `user_info`, `label` (1: denied), and the agent's record in `prompt` and
//! `gpt_output` (lists; their last entries are the choices, the analysis and the final answer).

use super::record::{self, Problem, Record, with};
use super::{Imported, files};
use agrail::replay::Trace;
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

const USED: &[&str] = &["confirmed_task", "user_info", "label", "prompt", "gpt_output"];

pub fn import(path: &Path) -> Result<Imported> {
    let mut imported = Imported::default();
    for file in files(path, &["json", "jsonl"])? {
        imported.each(&record::load_records(&file)?, map);
    }
    Ok(imported)
}

fn map(record: &Record) -> Result<Vec<Trace>, Problem> {
    let choices = last(record.list("prompt")?, 0).ok_or_else(|| Problem::new("field \"prompt\" has no text"))?;
    let outputs = record.list("gpt_output")?;
    let answer = last(outputs, 0).ok_or_else(|| Problem::new("field \"gpt_output\" has no text"))?;
    let analysis = last(outputs, 1).unwrap_or_default();
    let reasoning = format!("{analysis}\n\n{choices}\n\n(Final Answer)\n{answer}");
    let expected = record.label("label")?;
    let action = with(step(answer, choices)?, "reasoning", &reasoning);
    let mut trace = record.trace("mind2web-sc", &record.number.to_string(), USED, expected, action);
    record.text("confirmed_task")?.clone_into(&mut trace.request);
    trace.tags = vec!["rule".to_owned()];
    "web".clone_into(&mut trace.agent);
    trace.identity.attributes = record.object("user_info")?.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(vec![trace])
}

/// The string `before` entries before the end.
fn last(list: &[Value], before: usize) -> Option<&str> {
    list.iter().rev().nth(before).and_then(Value::as_str)
}

/// The step in the lines `ELEMENT: X`, `ACTION: Y` and `VALUE: Z` of an answer; `X` is one of the choices.
pub(super) fn step(answer: &str, choices: &str) -> Result<Value, Problem> {
    let said = |name: &str| {
        let lines = answer.lines().rev().map(str::trim);
        let mut found = lines.filter_map(|line| Some(line.strip_prefix(name)?.trim_start().strip_prefix(':')?.trim()));
        found.next().filter(|text| !text.is_empty())
    };
    let letter = said("ELEMENT").ok_or_else(|| Problem::new("the answer has no line \"ELEMENT: ...\""))?;
    let operation = said("ACTION").ok_or_else(|| Problem::new("the answer has no line \"ACTION: ...\""))?;
    let value = said("VALUE").filter(|value| !matches!(*value, "None" | "none" | "\"None\""));
    let letter = letter.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let choice = choices.lines().rev().find_map(|line| {
        let rest = line.trim_start().strip_prefix(letter)?.strip_prefix('.')?;
        (!letter.is_empty()).then(|| rest.trim())
    });
    let element = choice.unwrap_or(letter);
    Ok(json!({"type": "browse", "operation": operation.to_ascii_lowercase(), "element": element, "value": value}))
}
