//! After the gate: one-time approvals and the audit log. Neither makes a deny milder.

use super::progress::Progress;
use super::{Guard, RECORDING};
use crate::action::{Action, Context};
use crate::approvals::{ApprovalError, Word};
use crate::check::Stage;
use crate::verdict::{Basis, Decision, Verdict};

impl Guard {
    /// Applies a person's answer to exactly this action, if there is one. Otherwise queues the action for an answer.
    pub(super) async fn answered(&self, action: &Action, context: &Context, mut verdict: Verdict) -> Verdict {
        let open = verdict.decision == Decision::Ask && verdict.basis != Basis::Failure;
        let Some(approvals) = self.inner.approvals.clone().filter(|_| open) else { return verdict };
        let (action, context, said) = (action.clone(), context.clone(), verdict.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let word = approvals.take(&action, &context, &said.digest)?;
            if word.is_none() {
                approvals.wait(&action, &context, &said)?;
            }
            Ok::<_, ApprovalError>(word)
        });
        match tokio::time::timeout(RECORDING, looked).await {
            Ok(Ok(Ok(None))) => {}
            Ok(Ok(Ok(Some(word)))) => {
                let approved = word == Word::Approved;
                verdict.decision = if approved { Decision::Allow } else { Decision::Deny };
                let what = if approved { "approved exactly this action, once" } else { "rejected exactly this action" };
                verdict.reason = format!("a person {what} ({})", verdict.reason);
                verdict.basis = Basis::Memory;
                verdict.ask_of = None;
            }
            // the verdict remains an ask that nobody can answer
            Ok(Ok(Err(problem))) => verdict.trace.push(format!("approvals: {problem}")),
            Ok(Err(_)) | Err(_) => verdict.trace.push("approvals: the queue did not answer".to_owned()),
        }
        verdict
    }

    /// Writes the verdict to the audit log. If that fails, the verdict is not allow, because nobody could account for
    /// it.
    pub(super) async fn audited(&self, action: &Action, context: &Context, mut verdict: Verdict) -> Verdict {
        let Some(audit) = self.inner.audit.clone() else { return verdict };
        let (action, context, said) = (action.clone(), context.clone(), verdict.clone());
        let written = tokio::task::spawn_blocking(move || audit.append(&action, &context, &said));
        let why = match tokio::time::timeout(RECORDING, written).await {
            Ok(Ok(Ok(_))) => return verdict,
            Ok(Ok(Err(problem))) => problem.to_string(),
            Ok(Err(problem)) => problem.to_string(),
            Err(_) => "the audit log could not be written in time".to_owned(),
        };
        let mut progress = Progress::default();
        progress.fail(Stage::Audit, why);
        if verdict.decision < self.inner.settings.on_failure {
            verdict.decision = self.inner.settings.on_failure;
            verdict.basis = Basis::Failure;
            verdict.ask_of = (verdict.decision == Decision::Ask).then_some("person");
            verdict.reason = progress.findings.first().map(|f| f.reason.clone()).unwrap_or_default();
        }
        verdict.findings.extend(progress.findings);
        verdict
    }
}
