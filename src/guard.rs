//! The straight line of one check (DESIGN section 2).
//!
//! 1. `understand`: canonicalise, effects, facts, screen. Deterministic, microseconds, no I/O but probes.
//! 2. A forbid of policy ends the check; so does an action in which everything passes and that no memory
//!    entry matches.
//! 3. Else the reasoner paraphrases, memory recalls, the reasoner analyzes and executes the checklist.
//! 4. The pure gate decides over all findings. Recording and learning come after it and cannot change it.
//!
//! Each stage is called here and only here. Whatever fails, hangs or panics ends in [`Basis::Failure`].

mod build;
mod understand;

pub use build::{BuildError, GuardBuilder, Learning, Settings, UnknownPrograms};

use crate::action::{Action, Context};
use crate::check::{Authority, Check, Evidence, Finding, Outcome};
use crate::embed::Embedder;
use crate::learn;
use crate::memory::Memory;
use crate::policy::Policy;
use crate::reason::{Case, Reasoner, Recall};
use crate::tools::Toolbox;
use crate::tools::os::OsDetector;
use crate::verdict::{Basis, Cost, Decision, Digests, Recalled, ShownEffect, Verdict, decide};
use std::sync::Arc;
use std::time::{Duration, Instant};
use understand::{Understood, understand};

/// Name of the check that stands for a stage that failed.
const FAILED: &str = "a working guard";
/// Most effects that a verdict shows.
const MOST_SHOWN: usize = 200;

/// The guard. Clones share everything; use it from as many tasks as you like, within a Tokio runtime.
#[derive(Debug, Clone)]
pub struct Guard {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    policy: Policy,
    memory: Option<Memory>,
    journal: Option<learn::Journal>,
    embedder: Option<Arc<dyn Embedder>>,
    reasoner: Arc<dyn Reasoner>,
    tools: Toolbox,
}

/// What has been found so far.
#[derive(Debug, Default)]
struct Progress {
    findings: Vec<Finding>,
    recalled: Option<Recalled>,
    approved: bool,
    failed: bool,
    trace: Vec<String>,
}

impl Guard {
    /// Starts building a guard.
    #[must_use]
    pub fn builder() -> GuardBuilder {
        GuardBuilder::default()
    }

    /// May the action run? Always an answer, within the deadline; what failed is in it.
    pub async fn check(&self, action: &Action, context: &Context) -> Verdict {
        let started = Instant::now();
        let line = self.line(action.clone(), context.clone(), started);
        match tokio::time::timeout(self.inner.settings.deadline, line).await {
            Ok(verdict) => verdict,
            Err(_) => {
                let limit = self.inner.settings.deadline.as_millis();
                self.failure(action, context, started, &format!("the check did not finish within {limit} ms"))
            }
        }
    }

    /// What the guard decides with: its policies.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Its memory, if it has one.
    #[must_use]
    pub fn memory(&self) -> Option<&Memory> {
        self.inner.memory.as_ref()
    }

    /// Waits until every decision so far is recorded and every lesson learnt.
    ///
    /// # Errors
    /// The first problem of the record since the last call.
    pub async fn settle(&self) -> Result<(), String> {
        let Some(journal) = self.inner.journal.clone() else { return Ok(()) };
        tokio::task::spawn_blocking(move || journal.settle()).await.map_err(|e| e.to_string())?
    }

    async fn line(&self, action: Action, context: Context, started: Instant) -> Verdict {
        let inner = Arc::clone(&self.inner);
        let job = move || {
            let understood = understand(&action, &context, &inner.policy, &inner.settings);
            (action, context, understood)
        };
        // apart from the async threads: a probe may hang on a bad file system, a parser may panic
        let (action, context, mut understood) = match tokio::task::spawn_blocking(job).await {
            Ok(done) => done,
            Err(_) => return self.failure_bare(started, "the action could not be examined"),
        };
        let case = Case {
            effects: Arc::new(std::mem::take(&mut understood.effects)),
            gathered: Arc::new(std::mem::take(&mut understood.gathered)),
            screened: Arc::new(std::mem::take(&mut understood.findings)),
        };
        let mut progress = Progress {
            findings: case.screened.to_vec(),
            trace: std::mem::take(&mut understood.trace),
            ..Progress::default()
        };
        let (screened, _, _) = decide(&progress.findings);
        let triggered = self.triggered(&case, &mut progress);
        if screened != Decision::Deny && (screened != Decision::Allow || !triggered.is_empty() || progress.failed) {
            self.deliberate(&case, &context, triggered, screened, &mut progress).await;
        }
        let verdict = self.verdict(&understood, &case, progress, started);
        if let Some(journal) = &self.inner.journal {
            let (scripts, learning) = (std::mem::take(&mut understood.scripts), self.inner.settings.learning);
            journal.keep(learn::Episode { action, context, scripts, case, verdict: verdict.clone(), learning }).await;
        }
        verdict
    }

    /// Memory entries that an effect recalls; microseconds, no embedding.
    fn triggered(&self, case: &Case, progress: &mut Progress) -> Vec<Recall> {
        let Some(memory) = &self.inner.memory else { return Vec::new() };
        match memory.triggered(&learn::triggers(&case.gathered.queries)) {
            Ok(entries) => {
                entries.into_iter().map(|entry| Recall { entry, similarity: 1.0, by_effect: true }).collect()
            }
            Err(problem) => {
                progress.fail("memory", format!("memory could not be read: {problem}"));
                Vec::new()
            }
        }
    }

    /// What the screen left open: paraphrase, embed, recall, analyze, execute.
    async fn deliberate(
        &self,
        case: &Case,
        context: &Context,
        mut recalled: Vec<Recall>,
        screened: Decision,
        progress: &mut Progress,
    ) {
        let inner = &self.inner;
        let key = inner.reasoner.paraphrase(case).await;
        progress.say(|| format!("paraphrase: {} | {}", key.natural, key.command));
        if let (Some(memory), Some(embedder)) = (&inner.memory, &inner.embedder)
            && memory.has_vectors()
        {
            match embedder.embed(&[&learn::embedded_text(&key)]).await {
                Ok(vectors) => match vectors.first().map(|vector| memory.recall(vector, inner.settings.neighbours)) {
                    Some(Ok(near)) => {
                        for neighbour in near.into_iter().filter(|n| n.similarity > inner.settings.similarity) {
                            if !recalled.iter().any(|r| r.entry.id == neighbour.entry.id) {
                                let (entry, similarity) = (neighbour.entry, neighbour.similarity);
                                recalled.push(Recall { entry, similarity, by_effect: false });
                            }
                        }
                    }
                    Some(Err(problem)) => progress.fail("memory", format!("memory could not be searched: {problem}")),
                    None => progress.fail("embedder", "the embedder returned nothing".to_owned()),
                },
                Err(problem) => progress.fail("embedder", problem.to_string()),
            }
        }
        for recall in &recalled {
            progress.say(|| {
                format!("recalled {} ({:.2}): {}", recall.entry.id, recall.similarity, recall.entry.key.natural)
            });
        }
        progress.recalled = recalled.first().map(|r| Recalled {
            entry: r.entry.id.clone(),
            similarity: r.similarity,
            version: r.entry.version,
        });
        let checklist = inner.reasoner.analyze(case, &recalled).await;
        let tools = match &context.environment {
            Some(environment) => {
                let account = environment.account(&context.identity.name);
                inner.tools.clone().with(Arc::new(OsDetector::new(environment.clone(), account)))
            }
            None => inner.tools.clone(),
        };
        let findings = inner.reasoner.execute(case, &checklist, &inner.policy, &tools).await;
        for finding in &findings {
            progress.say(|| format!("check '{}': {:?} by {}", finding.check.name, finding.outcome, finding.by));
        }
        progress.findings.extend(findings);
        if screened == Decision::Ask && !progress.failed {
            self.approval(case, context, progress).await;
        }
    }

    /// A person approved exactly this before. It answers what asks; never a forbid, an unknown, or an ask
    /// that policy wants of a person each time.
    async fn approval(&self, case: &Case, context: &Context, progress: &mut Progress) {
        let Some(memory) = self.inner.memory.clone() else { return };
        let open = |f: &Finding| f.outcome != Outcome::Pass && f.outcome != Outcome::Discarded;
        let answerable = |f: &Finding| f.outcome == Outcome::Violation && f.asks && !f.person;
        if progress
            .findings
            .iter()
            .any(|f| open(f) && !answerable(f) && (f.check.required || f.check.authority == Authority::Policy))
        {
            return;
        }
        let Some(signature) = learn::signature(case, context) else { return };
        let used = tokio::task::spawn_blocking(move || {
            let now = learn::now_ms();
            let Some(entry) = memory.approval(&signature, now)? else { return Ok(None) };
            memory.use_approval(&entry.id, now).map(Some)
        });
        // not approved, or the use could not be counted: it stays an ask
        if let Ok(Ok(Some(entry))) = used.await {
            let left = entry.approval.as_ref().map_or(0, |a| a.uses_left);
            progress.say(|| format!("approved by {} ({left} uses left)", entry.id));
            progress.approved = true;
            for finding in progress.findings.iter_mut().filter(|f| answerable(f)) {
                let says = std::mem::replace(
                    &mut finding.reason,
                    format!("a person approved exactly this; {left} uses are left"),
                );
                finding.outcome = Outcome::Pass;
                finding.by = format!("memory:{}", entry.id);
                finding.evidence.push(Evidence { about: "what was approved".to_owned(), says });
            }
        }
    }

    fn verdict(&self, understood: &Understood, case: &Case, progress: Progress, started: Instant) -> Verdict {
        let Progress { findings, recalled, approved, failed, mut trace } = progress;
        let (mut decision, mut basis, decided) = decide(&findings);
        let deciding = decided.and_then(|place| findings.get(place));
        if failed && deciding.is_none_or(|f| f.check.name == FAILED) {
            decision = decision.max(self.inner.settings.on_failure);
            basis = Basis::Failure;
        } else if (approved && decision == Decision::Allow) || deciding.is_some_and(|f| f.by.starts_with("memory:")) {
            basis = Basis::Memory;
        }
        let reason = match deciding {
            Some(finding) => finding.reason.clone(),
            None if decision == Decision::Allow && approved => "a person approved exactly this action".to_owned(),
            None if decision == Decision::Allow => {
                "every effect is understood and no policy speaks against it".to_owned()
            }
            None => "nothing is known about this action".to_owned(),
        };
        trace.push(format!("decision: {decision} ({basis:?}): {reason}"));
        Verdict {
            version: 1,
            id: ulid::Ulid::new().to_string(),
            decision,
            basis,
            mode: self.inner.reasoner.name(),
            advice: deciding.and_then(|f| f.advice.clone()),
            ask_of: (decision == Decision::Ask).then(|| who_answers(&findings)),
            reason,
            effects: case
                .effects
                .iter()
                .take(MOST_SHOWN)
                .map(|e| ShownEffect { verb: e.verb.to_string(), target: e.target.to_string() })
                .collect(),
            memory: recalled,
            cost: Cost { wall_us: micros(started.elapsed()), ..Cost::default() },
            digest: Digests {
                action: understood.action_digest.clone(),
                facts: case.gathered.digest.clone(),
                policy: self.inner.policy.digest().to_owned(),
                memory: self.inner.memory.as_ref().map(Memory::digest).unwrap_or_default(),
            },
            findings,
            trace,
        }
    }

    fn failure(&self, action: &Action, context: &Context, started: Instant, why: &str) -> Verdict {
        let mut verdict = self.failure_bare(started, why);
        verdict.digest.action = understand::digest(action, context);
        verdict
    }

    fn failure_bare(&self, started: Instant, why: &str) -> Verdict {
        let mut progress = Progress::default();
        progress.fail("guard", why.to_owned());
        let nothing = Case { effects: Arc::default(), gathered: Arc::default(), screened: Arc::default() };
        self.verdict(&Understood::default(), &nothing, progress, started)
    }
}

impl Progress {
    /// A stage failed: nothing may be allowed on the strength of what it did not say.
    fn fail(&mut self, stage: &str, why: String) {
        self.failed = true;
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
            evidence: Vec::new(),
        });
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        self.trace.push(text());
    }
}

/// A model or an earlier approval may answer an ask only where nothing wants a person, and all is understood.
fn who_answers(findings: &[Finding]) -> &'static str {
    let person = |f: &&Finding| match f.outcome {
        Outcome::Violation => f.person,
        Outcome::Unknown => f.check.required,
        Outcome::Pass | Outcome::Discarded => false,
    };
    if findings.iter().find(person).is_some() { "person" } else { "model" }
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}
