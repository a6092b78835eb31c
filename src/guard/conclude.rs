//! From findings to the verdict: the gate, the reason, and the verdict of a check that failed.

use super::progress::Progress;
use super::understand::{self, Understood};
use super::{Guard, MOST_SHOWN};
use crate::action::{Action, Context};
use crate::check::{Answerer, CheckKind, Finding, Outcome, Response, Severity, Source, Stage};
use crate::facts;
use crate::llm::Meter;
use crate::memory::Memory;
use crate::reason::Case;
use crate::verdict::{Basis, Cost, Decision, Digests, Mode, ShownEffect, Verdict, decide, headline};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Guard {
    pub(super) fn verdict(
        &self,
        understood: &Understood,
        case: &Case,
        progress: Progress,
        meter: &Meter,
        started: Instant,
    ) -> Verdict {
        let (decision, basis) = self.decision(&progress);
        let Progress { findings, recalled, approved, failed, mut trace, .. } = progress;
        let spent = meter.spent();
        // a failure is reported as such; otherwise the harm of the action comes before the finding that decided
        let deciding = decide(&findings).2.and_then(|place| findings.get(place));
        let failed_first = failed && basis == Basis::Failure;
        let headline = if failed_first { deciding } else { headline(&findings).filter(|_| deciding.is_some()) };
        let reason = reason(decision, approved, deciding.zip(headline));
        trace.push(format!("decision: {decision} ({basis:?}): {reason}"));
        Verdict {
            version: 1,
            id: ulid::Ulid::new().to_string(),
            decision,
            basis,
            mode: self.inner.settings.mode.as_str(),
            advice: headline.and_then(|f| f.advice.clone()),
            ask_of: (decision == Decision::Ask).then(|| who_answers(&findings)),
            reason,
            effects: case
                .effects
                .iter()
                .take(MOST_SHOWN)
                .map(|e| ShownEffect { verb: e.verb.to_string(), target: e.target.to_string() })
                .collect(),
            effects_left_out: case.effects.len().saturating_sub(MOST_SHOWN),
            memory: recalled,
            cost: Cost {
                wall_us: micros(started.elapsed()),
                model_calls: spent.calls,
                tokens_in: spent.tokens_in,
                tokens_out: spent.tokens_out,
                malformed: spent.malformed,
            },
            digest: Digests {
                action: understood.action_digest.clone(),
                facts: case.gathered.digest.clone(),
                policy: understood.projects.digest(&self.inner.digest),
                memory: self.inner.memory.as_ref().map(Memory::digest).unwrap_or_default(),
            },
            footprint: facts::footprint(&case.gathered),
            findings,
            trace,
        }
    }

    /// The decision of the gate and its basis. A failure of a stage never makes it milder.
    fn decision(&self, progress: &Progress) -> (Decision, Basis) {
        let Progress { findings, approved, failed, .. } = progress;
        let (mut decision, mut basis, decided) = decide(findings);
        let deciding = decided.and_then(|place| findings.get(place));
        let model_only = {
            let mut failures = findings.iter().filter(|f| f.check.kind == CheckKind::Stage);
            failures.all(|f| f.source == Source::Guard(Stage::Model))
        };
        // without its model, `llm` has not judged the action; `tiered` falls back to `rules` and asks about open checks
        if *failed {
            let spared = model_only && self.inner.settings.mode == Mode::Tiered;
            decision = decision.max(if spared { Decision::Ask } else { self.inner.settings.on_failure });
            if deciding.is_none_or(|f| !f.denies()) {
                basis = Basis::Failure;
            }
        } else if (approved.is_some() && decision == Decision::Allow)
            || deciding.is_some_and(|f| matches!(f.source, Source::Memory(_)))
        {
            basis = Basis::Memory;
        }
        (decision, basis)
    }

    pub(super) fn failure(&self, action: &Action, context: &Context, started: Instant, why: &str) -> Verdict {
        let mut verdict = self.failure_bare(started, why);
        verdict.digest.action = understand::digest(action, context);
        verdict
    }

    fn failure_bare(&self, started: Instant, why: &str) -> Verdict {
        let mut progress = Progress::default();
        progress.fail(Stage::Guard, why.to_owned());
        let nothing = Case {
            action: Arc::new(Action::Message { text: String::new() }),
            context: Arc::new(Context::new(crate::action::Identity::default(), None)),
            effects: Arc::default(),
            gathered: Arc::default(),
            screened: Arc::default(),
            screen: Decision::Ask,
            scripts: false,
            events: Arc::default(),
        };
        self.verdict(&Understood::default(), &nothing, progress, &Meter::new(self.inner.settings.limits), started)
    }
}

/// The reason of a verdict. `headline`: the finding that decided and the finding with the gravest harm.
fn reason(decision: Decision, approved: Option<&str>, headline: Option<(&Finding, &Finding)>) -> String {
    match headline {
        Some((deciding, headline)) if deciding.severity() == Severity::Access && headline.check != deciding.check => {
            format!("{}; and {}", headline.reason, deciding.check.definition)
        }
        Some((_, headline)) => headline.reason.clone(),
        None if decision == Decision::Allow => approved.map_or_else(
            || "all effects are known and no policy forbids them".to_owned(),
            |what| format!("a person approved {what}"),
        ),
        None => "nothing is known about this action".to_owned(),
    }
}

/// A model or an earlier approval may answer an ask only if no finding requires a person and all effects are known.
fn who_answers(findings: &[Finding]) -> &'static str {
    let person = |f: &&Finding| match f.outcome {
        Outcome::Violation => f.response == Response::Ask(Answerer::Person),
        Outcome::Unknown => f.check.required,
        Outcome::Pass | Outcome::Discarded => false,
    };
    if findings.iter().find(person).is_some() { "person" } else { "model" }
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}
