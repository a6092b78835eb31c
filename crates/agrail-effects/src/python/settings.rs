//! Settings in files of the project: `json.load(open("a.json"))`, `tomllib.loads(Path("a.toml").read_text())`.

use super::Reader;
use super::calls::Args;
use super::values::{self, UNKNOWN_SPAN, Value, text};
use crate::reading::Loaded;

/// Longest file that is read, in bytes.
const LONGEST: usize = 16 * 1024;
/// Endings of files of settings.
const ENDINGS: [&str; 4] = [".json", ".toml", ".yaml", ".yml"];
/// Roles of calls that leave all files as they are.
const LOOK: [&str; 4] = ["read", "list", "variable", "send"];

impl Reader<'_> {
    /// The text of a file of settings at a constant path, if nothing that the program has done may have changed it.
    pub(super) fn content(&self, path: &Value) -> Option<Value> {
        let (Value::Text(path) | Value::Path(path)) = path else { return None };
        let constant = !path.contains(UNKNOWN_SPAN) && ENDINGS.iter().any(|ending| path.ends_with(ending));
        let name = path.rsplit('/').next().unwrap_or_default();
        let changes = |role: &str| !LOOK.contains(&role);
        let changed =
            self.calls.iter().any(|call| changes(&call.role) && (call.dynamic || call.target.ends_with(name)))
                || self.calls.iter().any(|call| ["script", "exec"].iter().any(|begin| call.role.starts_with(begin)));
        if !constant || changed || self.cwd.is_some() {
            return None;
        }
        match self.modules.file(path)? {
            Loaded::Text(content) if content.len() <= LONGEST => Some(text(content)),
            _ => None,
        }
    }

    /// The value of a call that reads settings from a text or an open file.
    pub(super) fn settings(&self, name: &str, args: &Args) -> Option<Value> {
        let (library, function) = name.rsplit_once('.')?;
        // any other function of YAML may make objects of any class
        let (of_file, of_text) = if library == "yaml" { ("safe_load", "safe_load") } else { ("load", "loads") };
        let source = match args.at(0) {
            Value::Object(kind, target) if function == of_file && &*kind == "file" => self.content(&target)?,
            source @ Value::Text(_) if function == of_text => source,
            _ => return None,
        };
        let source = source.show();
        if source.contains(UNKNOWN_SPAN) || source.len() > LONGEST {
            return None;
        }
        let parsed: serde_json::Value = match library {
            "json" | "orjson" | "ujson" | "simplejson" => serde_json::from_str(&source).ok()?,
            "tomllib" | "tomli" | "toml" => serde_json::to_value(toml::from_str::<toml::Table>(&source).ok()?).ok()?,
            "yaml" => serde_saphyr::from_str(&source).ok()?,
            _ => return None,
        };
        Some(value_of(&parsed))
    }
}

fn value_of(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::None,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(i128::from(whole)),
            None => number.as_f64().map_or(Value::Local, Value::Float),
        },
        Json::String(written) => text(written),
        Json::Array(all) => values::list(all.iter().map(value_of).collect()),
        Json::Object(all) => values::dict(all.iter().flat_map(|(key, value)| [text(key), value_of(value)]).collect()),
    }
}
