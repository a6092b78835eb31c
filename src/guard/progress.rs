//! What a check has found so far.

use crate::check::{Authority, Check, Finding, Outcome};
use crate::learn;
use crate::llm::ModelError;
use crate::verdict::Recalled;

/// Name of the check that stands for a stage that failed.
pub(super) const FAILED: &str = "a working guard";

/// What has been found so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub findings: Vec<Finding>,
    pub recalled: Option<Recalled>,
    pub refined: Option<learn::Refined>,
    pub approved: bool,
    pub failed: bool,
    pub trace: Vec<String>,
}

impl Progress {
    /// The answer of a stage; its failure is noted.
    pub fn took<T>(&mut self, stage: &str, outcome: Result<T, ModelError>) -> Option<T> {
        outcome.map_err(|problem| self.fail(stage, problem.to_string())).ok()
    }

    /// A stage failed: nothing may be allowed on the strength of what it did not say.
    pub fn fail(&mut self, stage: &str, why: String) {
        self.failed = true;
        tracing::warn!(stage, "a stage failed");
        self.trace.push(format!("{stage} failed: {why}"));
        self.findings.push(Finding {
            check: Check {
                category: "integrity".to_owned(),
                name: FAILED.to_owned(),
                definition: "every stage of the check gave its answer".to_owned(),
                authority: Authority::Policy,
                required: true,
            },
            outcome: Outcome::Unknown,
            by: format!("guard:{stage}"),
            reason: why,
            advice: Some("run 'agrail doctor' to see what is missing".to_owned()),
            asks: false,
            person: true,
            declared: None,
            evidence: Vec::new(),
        });
    }

    pub fn say(&mut self, text: impl FnOnce() -> String) {
        self.trace.push(text());
    }
}
