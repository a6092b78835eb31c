//! Approvals and the audit log. None of them makes a deny milder.

use super::progress::Progress;
use super::{Guard, RECORDING};
use crate::action::{Action, Context};
use crate::approvals::{Answer, ApprovalError};
use crate::check::{Evidence, Outcome, Source, Stage};
use crate::facts;
use crate::learn;
use crate::learn::Learning;
use crate::reason::Case;
use crate::verdict::{Basis, Decision, Verdict};
use std::sync::Arc;

impl Guard {
    /// Applies an earlier approval of exactly this action, or a widened one of its shape. It answers an ask of policy and an unknown program, but
    /// never a forbid, any other unknown, or an ask that policy reserves for a person each time.
    pub(super) async fn approval(&self, case: &Case, progress: &mut Progress) {
        let Some(memory) = self.inner.memory.clone() else { return };
        if !learn::approvable(&progress.findings) {
            return;
        }
        let Some(signed) = learn::signed(case, &case.context, &progress.findings) else { return };
        let frozen = self.inner.settings.learning == Learning::Frozen;
        let used = tokio::task::spawn_blocking(move || {
            let now = crate::clock::now_ms();
            let exact = memory.approval(&signed.signature, now)?;
            let entry = exact.map_or_else(
                || match &signed.shape {
                    Some(shape) => memory.widened(&signed.outline, shape, now),
                    None => Ok(None),
                },
                |found| Ok(Some(found)),
            );
            let Some(entry) = entry? else { return Ok(None) };
            // a frozen memory does not count uses
            if frozen {
                Ok(Some(entry))
            } else {
                memory.use_approval(&entry.id, now).map(|entry| Some(Arc::new(entry)))
            }
        });
        // not approved, or the use could not be counted: it stays an ask
        if let Ok(Ok(Some(entry))) = used.await {
            let left = entry.approval.as_ref().map_or(0, |a| a.uses_left);
            progress.trace(|| format!("approved by {} ({left} uses left)", entry.id));
            let widened = entry.approval.as_ref().is_some_and(|approval| approval.widening.is_some());
            let what = if widened { "actions of this shape" } else { "exactly this action" };
            progress.approved = Some(what);
            for finding in progress.findings.iter_mut().filter(|f| learn::answerable(f)) {
                let says =
                    std::mem::replace(&mut finding.reason, format!("a person approved {what}; remaining uses: {left}"));
                finding.outcome = Outcome::Pass;
                finding.source = Source::Memory(entry.id.clone());
                finding.evidence.push(Evidence { about: "approved finding".to_owned(), says });
            }
        }
    }

    /// Applies a person's answer to exactly this action, if there is one. Otherwise queues the action for an answer.
    pub(super) async fn answered(&self, case: &Case, mut verdict: Verdict) -> Verdict {
        let open = verdict.decision == Decision::Ask && verdict.basis != Basis::Failure;
        let Some(approvals) = self.inner.approvals.clone().filter(|_| open) else { return verdict };
        let (case, said) = (case.clone(), verdict.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let contents = facts::contents(&case.gathered, case.context.environment.as_ref());
            let word = approvals.take(&case.action, &case.context, &said.digest, &contents)?;
            if word.is_none() {
                approvals.wait(&case.action, &case.context, &said, &contents)?;
            }
            Ok::<_, ApprovalError>(word)
        });
        match tokio::time::timeout(RECORDING, looked).await {
            Ok(Ok(Ok(None))) => {}
            Ok(Ok(Ok(Some(word)))) => {
                let approved = word == Answer::Approved;
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
