//! The state of one check while its stages run.

use crate::check::{Answerer, Check, CheckKind, Finding, Outcome, Response, Source, Stage};
use crate::learn;
use crate::llm::ModelError;
use crate::verdict::Recalled;

/// The results so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub findings: Vec<Finding>,
    pub recalled: Option<Recalled>,
    pub refined: Option<learn::Refined>,
    /// What a person approved, if it answers the action.
    pub approved: Option<&'static str>,
    pub failed: bool,
    pub trace: Vec<String>,
}

impl Progress {
    /// The answer of a stage; `None` if it failed, which is noted.
    pub fn ok_or_fail<T>(&mut self, stage: Stage, outcome: Result<T, ModelError>) -> Option<T> {
        outcome.map_err(|problem| self.fail(stage, problem.to_string())).ok()
    }

    /// Notes that a stage failed. Its missing answer must not lead to an allow.
    pub fn fail(&mut self, stage: Stage, why: String) {
        self.failed = true;
        tracing::warn!(stage = %stage, "a stage failed");
        self.trace.push(format!("{stage} failed: {why}"));
        let check = Check {
            kind: CheckKind::Stage,
            ..Check::integrity("a working guard", "every stage of the check gave its answer")
        };
        self.findings.push(Finding {
            advice: Some("run 'agrail doctor' for the missing parts".to_owned()),
            response: Response::Ask(Answerer::Person),
            ..Finding::new(check, Outcome::Unknown, Source::Guard(stage), why)
        });
    }

    pub fn trace(&mut self, text: impl FnOnce() -> String) {
        self.trace.push(text());
    }
}
