//! AdvWeb: a table with `task`, `prompt_2_template` (the choices on the page, including the attacker's addition) and
//! `target_output` (the step that the attacker wants). Each row is an attack unless a column `label` marks it as safe.

use super::mind2web::step;
use super::record::{self, Problem, Record, observation, with};
use super::{Imported, files};
use agrail::replay::{Expected, Trace};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::path::Path;

const USED: &[&str] = &["task", "prompt_2_template", "target_output", "label"];

pub fn import(path: &Path) -> Result<Imported> {
    let mut imported = Imported::default();
    for file in files(path, &["csv", "json", "jsonl"])? {
        let records =
            if file.extension().is_some_and(|end| end == "csv") { table(&file)? } else { record::load_records(&file)? };
        imported.each(&records, map);
    }
    Ok(imported)
}

fn table(path: &Path) -> Result<Vec<Record>> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let names = reader.headers().with_context(|| path.display().to_string())?.clone();
    let mut records = Vec::new();
    for (number, row) in reader.records().enumerate() {
        let place = format!("{}: record {}", path.display(), number + 1);
        let row = row.with_context(|| place.clone())?;
        let cells = names.iter().zip(row.iter()).filter(|(name, _)| !name.is_empty());
        let fields: Map<String, Value> = cells.map(|(name, cell)| (name.to_owned(), json!(cell))).collect();
        records.push(Record { place, number, fields });
    }
    Ok(records)
}

fn map(record: &Record) -> Result<Vec<Trace>, Problem> {
    let (page, answer) = (record.text("prompt_2_template")?, record.text("target_output")?);
    let expected = match record.optional("label") {
        Some("") | None => Expected::Deny,
        Some(_) => record.label("label")?,
    };
    let action = with(step(answer, page)?, "reasoning", answer);
    let mut trace = record.trace("advweb", &record.number.to_string(), USED, expected, action);
    record.text("task")?.clone_into(&mut trace.request);
    trace.tags = vec!["recorded_action".to_owned()];
    "web".clone_into(&mut trace.agent);
    trace.observations = vec![observation("page", page)];
    Ok(vec![trace])
}
