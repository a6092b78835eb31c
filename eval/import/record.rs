//! Records of published files, and the traces made from them.

use agrail::action::{Identity, Observation};
use agrail::replay::{Expected, Trace};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::fmt;
use std::path::Path;

/// The reason why a record cannot become a trace, and the remedy.
#[derive(Debug)]
pub struct Problem(String);

impl Problem {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One record with its place, `FILE: record N` (from 1).
#[derive(Debug)]
pub struct Record {
    pub place: String,
    /// Its number in the file, from 0.
    pub number: usize,
    pub fields: Map<String, Value>,
}

/// Advice for messages about a field.
const ADVICE: &str = "use the published file and the right format";

impl Record {
    pub fn get(&self, name: &str) -> Result<&Value, Problem> {
        let found = self.fields.get(name).filter(|value| !value.is_null());
        found.ok_or_else(|| Problem(format!("field \"{name}\" is missing; {ADVICE}")))
    }

    pub fn text(&self, name: &str) -> Result<&str, Problem> {
        let value = self.get(name)?;
        value.as_str().ok_or_else(|| Problem(format!("field \"{name}\" is not a string; {ADVICE}")))
    }

    pub fn optional(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }

    pub fn list(&self, name: &str) -> Result<&Vec<Value>, Problem> {
        let value = self.get(name)?;
        value.as_array().ok_or_else(|| Problem(format!("field \"{name}\" is not a list; {ADVICE}")))
    }

    pub fn object(&self, name: &str) -> Result<&Map<String, Value>, Problem> {
        let value = self.get(name)?;
        value.as_object().ok_or_else(|| Problem(format!("field \"{name}\" is not an object; {ADVICE}")))
    }

    /// 1, "1" or true: unsafe. 0, "0" or false: safe.
    pub fn label(&self, name: &str) -> Result<Expected, Problem> {
        let value = self.get(name)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match text.trim().to_ascii_lowercase().as_str() {
            "1" | "1.0" | "true" => Ok(Expected::Deny),
            "0" | "0.0" | "false" => Ok(Expected::Allow),
            _ => Err(Problem(format!("field \"{name}\" is {text}, which is neither 0 nor 1"))),
        }
    }

    /// A trace of this record; it keeps all fields that are not in `used`.
    pub fn trace(&self, dataset: &str, id: &str, used: &[&str], expected: Expected, action: Value) -> Trace {
        let mut extra: Map<String, Value> =
            self.fields.iter().filter(|(name, _)| !used.contains(&name.as_str())).map(own).collect();
        // a published key must not overwrite a key of the trace format
        for name in [
            "id",
            "dataset",
            "tags",
            "request",
            "agent",
            "identity",
            "environment",
            "observations",
            "action",
            "expected",
        ] {
            if let Some(value) = extra.remove(name) {
                extra.insert(format!("original_{name}"), value);
            }
        }
        extra.insert("basis".to_owned(), json!("original"));
        Trace {
            id: format!("{dataset}/{id}"),
            dataset: dataset.to_owned(),
            tags: Vec::new(),
            request: String::new(),
            agent: "agent".to_owned(),
            identity: Identity::default(),
            environment: Default::default(),
            observations: Vec::new(),
            action,
            expected,
            extra,
        }
    }
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// The action with an additional text field, such as the agent's reasoning.
pub fn with(mut action: Value, name: &str, text: &str) -> Value {
    if let Some(fields) = action.as_object_mut() {
        fields.insert(name.to_owned(), json!(text));
    }
    action
}

/// An observation of the agent.
pub fn observation(source: &str, text: &str) -> Observation {
    Observation { source: source.to_owned(), text: text.into() }
}

/// The records of a file: a JSON list, a JSON object of columns (as pandas writes it), or JSON lines.
pub fn load_records(path: &Path) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let values = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(values)) => values,
        Ok(Value::Object(fields)) => rows(fields),
        Ok(_) => bail!("{} contains neither a list nor an object", path.display()),
        Err(whole) => text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(number, line)| {
                serde_json::from_str(line).map_err(|problem| {
                    let place = format!("{}:{}", path.display(), number + 1);
                    anyhow::anyhow!("{place}: neither JSON ({whole}) nor JSON lines ({problem})")
                })
            })
            .collect::<Result<_>>()?,
    };
    let records = values.into_iter().enumerate().map(|(number, value)| {
        let place = format!("{}: record {}", path.display(), number + 1);
        // a value that is not an object lacks every field and is reported for that
        let fields = match value {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Record { place, number, fields }
    });
    Ok(records.collect())
}

/// An object of columns `{"field": {"0": ...}}` as rows; any other object is one row.
fn rows(fields: Map<String, Value>) -> Vec<Value> {
    let keys: Vec<String> = match fields.values().next() {
        Some(Value::Object(column)) => column.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let columns = !keys.is_empty() && keys.iter().all(|key| key.parse::<usize>().is_ok());
    if !columns || !fields.values().all(Value::is_object) {
        return vec![Value::Object(fields)];
    }
    let row = |key: &String| {
        let cells = fields.iter().filter_map(|(name, column)| Some((name.clone(), column.get(key)?.clone())));
        Value::Object(cells.collect())
    };
    keys.iter().map(row).collect()
}
