//! The results file: one JSON object a line, the guard's answer to one trace each.

use super::trace::{Expected, Trace};
use crate::verdict::{Decision, Verdict};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// One line of a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultLine {
    /// Id of the trace.
    pub id: String,
    /// Dataset of the trace.
    #[serde(default)]
    pub dataset: String,
    /// Tags of the trace.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Label of the trace.
    pub expected: Expected,
    /// `None` if the case failed before there was one.
    pub decision: Option<Decision>,
    /// Why, in one line.
    #[serde(default)]
    pub reason: String,
    /// Wall time of the check, microseconds; `None` if none was made.
    #[serde(default)]
    pub wall_us: Option<u64>,
    /// Calls of a language model.
    #[serde(default)]
    pub model_calls: u64,
    /// Tokens sent to models.
    #[serde(default)]
    pub tokens_in: u64,
    /// Tokens received from models.
    #[serde(default)]
    pub tokens_out: u64,
    /// Why the case failed.
    #[serde(default)]
    pub error: Option<String>,
}

impl ResultLine {
    /// The line of a case that the guard answered.
    #[must_use]
    pub fn of(trace: &Trace, verdict: &Verdict) -> Self {
        Self {
            decision: Some(verdict.decision),
            reason: verdict.reason.clone(),
            wall_us: Some(verdict.cost.wall_us),
            model_calls: verdict.cost.model_calls.into(),
            tokens_in: verdict.cost.tokens_in,
            tokens_out: verdict.cost.tokens_out,
            error: None,
            ..Self::failed(trace, "")
        }
    }

    /// The line of a case that failed before the guard answered.
    pub fn failed(trace: &Trace, error: impl Into<String>) -> Self {
        Self {
            id: trace.id.clone(),
            dataset: trace.dataset.clone(),
            tags: trace.tags.clone(),
            expected: trace.expected,
            decision: None,
            reason: String::new(),
            wall_us: None,
            model_calls: 0,
            tokens_in: 0,
            tokens_out: 0,
            error: Some(error.into()),
        }
    }
}

/// Reads a results file.
///
/// # Errors
/// Names the file and line that is no result.
pub fn read(path: &Path) -> Result<Vec<ResultLine>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut lines = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let place = || format!("{}:{}", path.display(), number + 1);
        let line = line.with_context(place)?;
        if !line.trim().is_empty() {
            lines.push(serde_json::from_str(&line).with_context(place)?);
        }
    }
    Ok(lines)
}
