//! Recorded decisions as pages show them.

use crate::memory::DecisionRecord;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Most characters of an action in a list.
const BRIEF: usize = 160;

/// The parts of a recorded decision that lists and counts need. What an earlier release did not record is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Seen {
    pub action: Value,
    pub agent: String,
    pub identity: Name,
    pub verdict: SeenVerdict,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Name {
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SeenVerdict {
    pub id: String,
    pub decision: String,
    pub reason: String,
    pub findings: Vec<SeenFinding>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SeenFinding {
    pub by: String,
    pub outcome: String,
}

impl Seen {
    pub fn of(record: &DecisionRecord) -> Self {
        Self::read(&record.record)
    }

    pub fn read(record: &str) -> Self {
        serde_json::from_str(record).unwrap_or_default()
    }

    /// Who stopped it.
    pub fn stopped_by(&self) -> BTreeSet<&str> {
        let stops = |found: &&SeenFinding| matches!(found.outcome.as_str(), "violation" | "unknown");
        self.verdict.findings.iter().filter(stops).map(|found| found.by.as_str()).collect()
    }

    /// The folder in which it was to run.
    pub fn folder(&self) -> Option<&str> {
        self.action.get("cwd")?.as_str()
    }
}

/// The gist of an action in one line.
pub(super) fn brief(action: &Value) -> String {
    let text = |key: &str| action.get(key).and_then(Value::as_str);
    let gist = match text("tool") {
        Some(tool) => format!("{tool} {}", action.get("arguments").unwrap_or(&Value::Null)),
        None => {
            let keys = ["command", "url", "statement", "source", "text", "element"];
            keys.into_iter().find_map(text).unwrap_or_default().to_owned()
        }
    };
    let mut shown: String = gist.chars().take(BRIEF).collect();
    let more = gist.chars().count().saturating_sub(BRIEF);
    if more > 0 {
        shown.push_str(&format!("… [{more} more]"));
    }
    shown
}
