//! The results file: one JSON object per line, each with the guard's answer to one trace.

use super::trace::{Expected, Trace};
use crate::verdict::{Decision, Verdict};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Why a results file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
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
    #[error("{place}: not a result")]
    Form {
        /// File and line.
        place: String,
        /// The error of the parser.
        source: serde_json::Error,
    },
}

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
    /// The guard's decision; `None` if the case failed before it.
    pub decision: Option<Decision>,
    /// Reason of the verdict, in one line.
    #[serde(default)]
    pub reason: String,
    /// Wall time of the check in microseconds; `None` without a check.
    #[serde(default)]
    pub wall_us: Option<u64>,
    /// Number of calls to language models.
    #[serde(default)]
    pub model_calls: u64,
    /// Number of tokens sent to models.
    #[serde(default)]
    pub tokens_in: u64,
    /// Number of tokens received from models.
    #[serde(default)]
    pub tokens_out: u64,
    /// Why the case failed.
    #[serde(default)]
    pub error: Option<String>,
}

impl ResultLine {
    /// The line for a case that the guard has answered.
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

    /// The line for a case that failed before the guard answered.
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
/// [`ResultsError`] names file and line.
pub fn read_results(path: &Path) -> Result<Vec<ResultLine>, ResultsError> {
    let file = File::open(path).map_err(|source| ResultsError::Open { path: path.to_owned(), source })?;
    let mut lines = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let place = || format!("{}:{}", path.display(), number + 1);
        let line = line.map_err(|source| ResultsError::Read { place: place(), source })?;
        if !line.trim().is_empty() {
            let result = serde_json::from_str(&line);
            lines.push(result.map_err(|source| ResultsError::Form { place: place(), source })?);
        }
    }
    Ok(lines)
}
