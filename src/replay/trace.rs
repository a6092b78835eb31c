//! The trace format: one JSON object per line, each with one labelled action of an agent.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::action::{Identity, Observation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Why traces cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line cannot be read.
    #[error("{place}: cannot be read")]
    Read {
        /// File and line.
        place: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not JSON of the right form.
    #[error("{place}: not a trace")]
    Form {
        /// File and line.
        place: String,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// A trace has an empty id.
    #[error("{place}: id is empty")]
    NoId {
        /// File and line.
        place: String,
    },
    /// The action of a trace has no type.
    #[error("{place}: action has no type")]
    NoType {
        /// File and line.
        place: String,
    },
    /// Two traces have the same id.
    #[error("{place}: id {id:?} was used before, at {first}")]
    Repeated {
        /// File and line of the second trace.
        place: String,
        /// The id.
        id: String,
        /// File and line of the first trace.
        first: String,
    },
}

/// One labelled action, with the context in which the agent chose it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Unique id within all files of a run.
    pub id: String,
    /// The dataset under which the case is reported; by default the file's name without its extension.
    #[serde(default)]
    pub dataset: String,
    /// Subsets of the dataset that are reported separately.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The user's request.
    #[serde(default)]
    pub request: String,
    /// Kind of agent, such as `os`.
    #[serde(default = "default_agent")]
    pub agent: String,
    /// The identity for which the agent acts.
    #[serde(default)]
    pub identity: Identity,
    /// State of the machine on which the action would run.
    #[serde(default)]
    pub environment: Environment,
    /// Texts that the agent read before the action, oldest first. Untrusted.
    #[serde(default)]
    pub observations: Vec<Observation>,
    /// The action in the engine's own form, an object with `type`.
    pub action: Value,
    /// The label.
    pub expected: Expected,
    /// Keys that this format does not define.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// State of the machine on which the action would run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Shell script that creates the state; runs as root in a disposable root.
    #[serde(default)]
    pub setup: Option<String>,
    /// Keys that this format does not define.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The label of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// A safe action.
    Allow,
    /// An unsafe action.
    Deny,
}

fn default_agent() -> String {
    "agent".to_owned()
}

/// Reads traces in the order of `paths`; keeps those with the tag `tag` (all if `None`), at most `limit` in total.
/// Every line up to the limit is checked, even if its trace is not kept.
///
/// # Errors
/// [`TraceError`] names file and line.
pub fn read_traces(paths: &[PathBuf], limit: Option<usize>, tag: Option<&str>) -> Result<Vec<Trace>, TraceError> {
    let mut traces = Vec::new();
    let mut places: HashMap<String, String> = HashMap::new();
    for path in paths {
        let file = File::open(path).map_err(|source| TraceError::Open { path: path.clone(), source })?;
        for (number, line) in BufReader::new(file).lines().enumerate() {
            if limit.is_some_and(|limit| traces.len() >= limit) {
                return Ok(traces);
            }
            let place = format!("{}:{}", path.display(), number + 1);
            let line = line.map_err(|source| TraceError::Read { place: place.clone(), source })?;
            if line.trim().is_empty() {
                continue;
            }
            let trace = parse(&line, path, &place)?;
            if let Some(first) = places.get(&trace.id) {
                return Err(TraceError::Repeated { place, id: trace.id, first: first.clone() });
            }
            places.insert(trace.id.clone(), place);
            if tag.is_none_or(|tag| trace.tags.iter().any(|found| found == tag)) {
                traces.push(trace);
            }
        }
    }
    Ok(traces)
}

fn parse(line: &str, path: &Path, place: &str) -> Result<Trace, TraceError> {
    let place = || place.to_owned();
    let mut trace: Trace = serde_json::from_str(line).map_err(|source| TraceError::Form { place: place(), source })?;
    if trace.id.is_empty() {
        return Err(TraceError::NoId { place: place() });
    }
    if !trace.action.get("type").is_some_and(Value::is_string) {
        return Err(TraceError::NoType { place: place() });
    }
    if trace.dataset.is_empty() {
        trace.dataset = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    if trace.environment.setup.as_deref().is_some_and(|setup| setup.trim().is_empty()) {
        trace.environment.setup = None;
    }
    Ok(trace)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], limit: Option<usize>, tag: Option<&str>) -> Result<Vec<Trace>, String> {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = files
            .iter()
            .map(|(name, text)| {
                let path = directory.path().join(name);
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        let prefix = format!("{}/", directory.path().display());
        read_traces(&paths, limit, tag).map_err(|error| crate::replay::with_causes(&error).replace(&prefix, ""))
    }

    fn line(id: &str, rest: &str) -> String {
        format!(r#"{{"id":"{id}","action":{{"type":"shell","command":"ls"}},"expected":"allow"{rest}}}"#) + "\n"
    }

    #[test]
    fn required_keys_are_id_action_and_expected() {
        let traces = check(&[("set.jsonl", &line("a", ""))], None, None).unwrap();
        let trace = &traces[0];
        assert_eq!((trace.dataset.as_str(), trace.agent.as_str()), ("set", "agent"));
        assert_eq!(trace.identity, Identity::default());
        assert_eq!(trace.identity.name, "user");
        assert_eq!(trace.environment, Environment::default());
        assert_eq!(trace.expected, Expected::Allow);
        for key in ["id", "action", "expected"] {
            let mut value: Value = serde_json::from_str(&line("a", "")).unwrap();
            value.as_object_mut().unwrap().remove(key);
            let error = check(&[("set.jsonl", &value.to_string())], None, None).unwrap_err();
            assert!(error.starts_with("set.jsonl:1: not a trace") && error.contains(key), "{error}");
        }
    }

    #[test]
    fn unknown_keys_are_kept() {
        let text = line("a", r#","basis":"ours","environment":{"setup":"true","image":"x"}"#);
        let trace = check(&[("set.jsonl", &text)], None, None).unwrap().remove(0);
        assert_eq!(trace.extra["basis"], "ours");
        assert_eq!(trace.environment.setup.as_deref(), Some("true"));
        let value = serde_json::to_value(&trace).unwrap();
        assert_eq!((&value["basis"], &value["environment"]["image"]), (&"ours".into(), &"x".into()));
        assert_eq!(serde_json::from_value::<Trace>(value).unwrap(), trace);
    }

    #[test]
    fn errors_name_file_and_line() {
        let good = line("a", "");
        let bad = good.replace("allow", "ask").replace("\"a\"", "\"b\"");
        let error = check(&[("one.jsonl", &format!("{good}\n\n{bad}"))], None, None).unwrap_err();
        assert!(error.starts_with("one.jsonl:4: not a trace") && error.contains("ask"), "{error}");
        let error = check(&[("one.jsonl", &good), ("two.jsonl", &format!("\n{good}"))], None, None).unwrap_err();
        assert_eq!(error, r#"two.jsonl:2: id "a" was used before, at one.jsonl:1"#);
        let untyped = r#"{"id":"a","action":{},"expected":"deny"}"#;
        assert_eq!(check(&[("x", untyped)], None, None).unwrap_err(), "x:1: action has no type");
    }

    #[test]
    fn limit_and_tag_select() {
        let text = line("a", r#","tags":["x"]"#) + &line("b", "") + &line("c", r#","tags":["y","x"]"#);
        let ids = |limit, tag| -> Vec<String> {
            check(&[("t", &text)], limit, tag).unwrap().into_iter().map(|trace| trace.id).collect()
        };
        assert_eq!(ids(None, None), ["a", "b", "c"]);
        assert_eq!(ids(Some(2), None), ["a", "b"]);
        assert_eq!(ids(None, Some("x")), ["a", "c"]);
        assert_eq!(ids(Some(1), Some("y")), ["c"]);
        assert!(ids(Some(0), None).is_empty());
    }
}
