//! EICU-AC: `id`, `identity`, `template` (the question), `label` (1: denied). The agent's program is in a separate log,
//! `logs/ID.txt` beside the file, or in a field `code`.

use super::record::{self, Problem, Record, with};
use super::{Imported, files};
use agrail::replay::Trace;
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

const USED: &[&str] = &["id", "identity", "template", "label", "code", "knowledge"];

pub fn import(path: &Path) -> Result<Imported> {
    let mut imported = Imported::default();
    for file in files(path, &["json", "jsonl"])? {
        let logs = file.parent().unwrap_or(Path::new(".")).join("logs");
        imported.each(&record::load_records(&file)?, |record| map(record, &logs));
    }
    Ok(imported)
}

fn map(record: &Record, logs: &Path) -> Result<Vec<Trace>, Problem> {
    let id = match record.get("id")? {
        Value::String(id) => id.clone(),
        id => id.to_string(),
    };
    let (source, reasoning) = match record.optional("code") {
        Some(code) => (code.to_owned(), record.optional("knowledge").unwrap_or_default().to_owned()),
        None => from_log(&id, logs)?,
    };
    let mut action = json!({"type": "code", "language": "python", "source": source});
    if !reasoning.is_empty() {
        action = with(action, "reasoning", &reasoning);
    }
    let mut trace = record.trace("eicu-ac", &record.number.to_string(), USED, record.label("label")?, action);
    record.text("template")?.clone_into(&mut trace.request);
    trace.tags = vec!["access-control".to_owned()];
    "ehr".clone_into(&mut trace.agent);
    "clinician".clone_into(&mut trace.identity.name);
    trace.identity.roles = vec![record.text("identity")?.to_owned()];
    trace.extra.insert("original_id".to_owned(), json!(id));
    Ok(vec![trace])
}

/// The last program that the agent ran, and its notes before that.
fn from_log(id: &str, logs: &Path) -> Result<(String, String), Problem> {
    if id.is_empty() || id.contains(['/', '\\']) || id.starts_with('.') {
        return Err(Problem::new(format!("field \"id\" is {id:?}, which is not a valid name of a log")));
    }
    let path = logs.join(format!("{id}.txt"));
    let missing = |why: &dyn std::fmt::Display| {
        let path = path.display();
        Problem::new(format!("{path}: {why}; put the folder of agent logs there, or the program in a field \"code\""))
    };
    let text = std::fs::read_to_string(&path).map_err(|problem| missing(&problem))?;
    let text = text.split_once("(END OF EXAMPLES)\n").map_or(text.as_str(), |(_, rest)| rest);
    let knowledge = text.split("Question:").next().unwrap_or_default().trim();
    let solution = text.rsplit("Solution:").next().unwrap_or_default();
    let call = solution.rmatch_indices("\"cell\":").next().map(|(at, found)| at + found.len());
    let Some(call) = call.and_then(|at| solution.get(at..)) else {
        return Err(missing(&"there is no \"cell\", so the agent ran no program"));
    };
    // the rest is the program as a JSON string; models often put real line ends into it
    let escaped = call.trim_start().replace('\n', "\\n");
    let mut texts = serde_json::Deserializer::from_str(&escaped).into_iter::<String>();
    match texts.next() {
        Some(Ok(source)) => Ok((source, knowledge.to_owned())),
        _ => Err(missing(&"the program after \"cell\" is not a JSON string")),
    }
}
