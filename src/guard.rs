//! The stages of one check, in order.
//!
//! 1. `operation` classifies a step on the web. Then two stages run concurrently: `origin` judges where the action
//!    comes from (only if the agent has read anything), and `understand` canonicalises the text, extracts effects,
//!    probes facts and applies the policies (the screen). `understand` is deterministic, takes microseconds, and its
//!    only I/O is probes.
//! 2. A forbid of policy ends the check; so does an action in which everything passes and that no memory entry matches.
//! 3. Otherwise the reasoner paraphrases the action, memory recalls similar ones, and the reasoner analyzes and
//!    executes the checklist. If there is a model, it is asked about what operators reported with a reason of like meaning.
//! 4. The pure gate decides over all findings. Learning comes afterwards and cannot change the decision.
//! 5. If a person approved exactly this action earlier, the one-time approval applies. Then the decision is recorded.
//! 6. The verdict is written to the audit log, if there is one. A verdict that cannot be written is not allow.
//!
//! Each stage is called only here, in a separate `tracing` span (level debug; one event `decided` at level info for
//! each check). Spans record the stage and its duration, never the content of an action. Any failure, timeout or panic
//! ends in [`Basis::Failure`](crate::verdict::Basis::Failure).

mod after;
mod build;
mod conclude;
mod known;
mod model_scope;
mod origin;
mod progress;
mod project;
mod recall;
mod reported;
mod toolbox;
mod understand;

pub use build::{BuildError, GuardBuilder, Retrieval, Settings, UnknownPrograms};

use crate::action::{Action, Context};
use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::check::{Finding, Outcome, Stage};
use crate::embed::Embedder;
use crate::facts::Approved;
use crate::inhouse::Rows;
use crate::learn::{self, JournalError};
use crate::llm::Meter;
use crate::memory::{self, Memory};
use crate::policy::Policy;
use crate::provenance;
use crate::reason::{Case, Checklist, Item, Reasoner, Recall};
use crate::tools::Toolbox;
use crate::verdict::{Decision, Mode, Recalled, Verdict, decide};
use futures_util::FutureExt as _;
use origin::{Operation, Origin, operation, origin};
use progress::Progress;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolbox::tools;
use tracing::{Instrument as _, debug_span, info, info_span};
use understand::{Understood, understand};

/// Default port of the service.
pub const PORT: u16 = 8642;
/// How long a check waits until its decision is queued for recording.
const RECORDING: Duration = Duration::from_secs(2);
/// Bytes of stack that reading an action needs, and those of the new stack if the thread has fewer.
const STACK: (usize, usize) = (1 << 20, 4 << 20);
/// Most effects that a verdict shows.
const MOST_SHOWN: usize = 2_000;

/// The guard. Clones share everything. It can be used from any number of tasks within a Tokio runtime.
#[derive(Debug, Clone)]
pub struct Guard {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    policy: Policy,
    rows: Rows,
    projects: project::Projects,
    /// SHA-256 of policies and rows, hexadecimal.
    digest: String,
    memory: Option<Memory>,
    journal: Option<learn::Journal>,
    approvals: Option<Approvals>,
    audit: Option<Audit>,
    embedder: Option<Arc<dyn Embedder>>,
    rules: Arc<dyn Reasoner>,
    model: Option<Arc<dyn Reasoner>>,
    tools: Toolbox,
}

/// Inputs of the reasoning stages.
struct ReasonInputs<'a> {
    case: &'a Case,
    meter: &'a Meter,
    tools: &'a Toolbox,
    recalled: &'a [Recall],
}

/// The reasoners of the stages.
struct Stages<'a> {
    rules: &'a dyn Reasoner,
    model: Option<&'a dyn Reasoner>,
    paraphraser: &'a dyn Reasoner,
}

impl Guard {
    /// Starts building a guard.
    #[must_use]
    pub fn builder() -> GuardBuilder {
        GuardBuilder::default()
    }

    /// Prepares what is otherwise prepared at the first check of each kind: policies, tables, parsers, the entries of the
    /// memory. Without a large memory it takes as long as some ten checks, on the calling thread; a host that stays does it in the background.
    pub fn warm(&self) {
        agrail_effects::warm();
        self.inner.policy.warm();
        if let Some(memory) = &self.inner.memory {
            // a memory that cannot be loaded is read on demand, and its problem is reported by the check that meets it
            let _ = memory.load();
        }
    }

    /// Decides whether the action may run. It always answers within the deadline; the verdict reports failures.
    pub async fn check(&self, action: &Action, context: &Context) -> Verdict {
        let started = Instant::now();
        let until = tokio::time::Instant::now() + self.inner.settings.deadline;
        let late = format!("the check did not finish within {} ms", self.inner.settings.deadline.as_millis());
        async {
            let verdict = self.decided(action, context, started, until, &late).await;
            let audit = debug_span!("audit");
            let verdict = self.audited(action, context, verdict).instrument(audit).await;
            let Verdict { id, decision, basis, cost, .. } = &verdict;
            info!(%id, %decision, ?basis, wall_us = cost.wall_us, model_calls = cost.model_calls, "decided");
            verdict
        }
        // the action itself is not logged: it may contain secrets
        .instrument(info_span!("check", action = action.kind()))
        .await
    }

    async fn decided(
        &self,
        action: &Action,
        context: &Context,
        started: Instant,
        until: tokio::time::Instant,
        late: &str,
    ) -> Verdict {
        let examined = async {
            let operation = AssertUnwindSafe(operation(&self.inner, action, context)).catch_unwind();
            let operation = operation.instrument(debug_span!("operation")).await.ok()?;
            // the two stages are independent
            let origin = AssertUnwindSafe(origin(&self.inner, action, context)).catch_unwind();
            let (origin, understood) = tokio::join!(
                origin.instrument(debug_span!("origin")),
                self.understood(action.clone(), context.clone(), operation)
            );
            Some(case(origin.ok()?, understood?))
        };
        match tokio::time::timeout_at(until, examined).await {
            Ok(Some((case, understood))) => self.line(case, understood, started, until, late).await,
            Ok(None) => self.failure(action, context, started, "the action could not be examined"),
            Err(_) => self.failure(action, context, started, late),
        }
    }

    /// Its policies.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// SHA-256 of the rows about in-house tools, hexadecimal; empty if there are none.
    #[cfg(feature = "serve")]
    pub(crate) fn rows(&self) -> &str {
        self.inner.rows.digest()
    }

    /// Its memory, if it has one.
    #[must_use]
    pub fn memory(&self) -> Option<&Memory> {
        self.inner.memory.as_ref()
    }

    /// Whether it has an embedder.
    #[must_use]
    pub fn embeds(&self) -> bool {
        self.inner.embedder.is_some()
    }

    /// Its queue of pending approvals, if it has one.
    #[must_use]
    pub fn approvals(&self) -> Option<&Approvals> {
        self.inner.approvals.as_ref()
    }

    /// Its audit log, if it has one.
    #[must_use]
    pub fn audit(&self) -> Option<&Audit> {
        self.inner.audit.as_ref()
    }

    /// Waits until every decision so far is recorded and every lesson is learnt.
    ///
    /// # Errors
    /// The first problem of the journal since the last call.
    pub async fn settle(&self) -> Result<(), JournalError> {
        let Some(journal) = self.inner.journal.clone() else { return Ok(()) };
        tokio::task::spawn_blocking(move || journal.settle()).await.map_err(|_| JournalError::Ended)?
    }

    /// The deterministic stages; `None` if they panicked.
    async fn understood(
        &self,
        action: Action,
        context: Context,
        operation: Operation,
    ) -> Option<(Action, Context, Understood)> {
        let inner = Arc::clone(&self.inner);
        let span = debug_span!("understand");
        let job = move || {
            let _inside = span.entered();
            // the host may give its threads a small stack
            let approved = |place: &str| {
                context.session.places.iter().any(|known| known == place)
                    || inner.approvals.as_ref().is_some_and(|approvals| approvals.knows(place))
            };
            let understood = stacker::maybe_grow(STACK.0, STACK.1, || {
                let mut understood = understand(
                    &action,
                    &context,
                    &inner.policy,
                    &inner.settings,
                    &inner.rows,
                    operation,
                    Approved(&approved),
                );
                if inner.settings.project_policies {
                    understood.screen_projects(&inner.projects, &action, &context);
                }
                let judged = inner.policy.judges_events() || understood.projects.judge_events();
                if inner.memory.is_some() || judged || inner.settings.explain {
                    understood.events =
                        crate::shape::events(&action, &understood.gathered.queries, &understood.commands);
                }
                if inner.settings.explain {
                    understood.explain_events();
                }
                if judged {
                    understood.screen_events(&inner.policy);
                }
                understood
            });
            (action, context, understood)
        };
        // on a blocking thread: a probe may hang on a bad file system, a parser may panic
        tokio::task::spawn_blocking(job).await.ok()
    }

    async fn line(
        &self,
        case: Case,
        mut understood: Understood,
        started: Instant,
        until: tokio::time::Instant,
        late: &str,
    ) -> Verdict {
        let mut progress = Progress {
            findings: case.screened.to_vec(),
            trace: std::mem::take(&mut understood.trace),
            ..Progress::default()
        };
        let meter = Meter::new(self.inner.settings.limits);
        let triggered = self.triggered(&case, &mut progress);
        let asked = match &self.inner.model {
            Some(_) if self.inner.settings.judge && case.screen != Decision::Deny => {
                tokio::time::timeout_at(until, provenance::asked(&case.context)).await.unwrap_or_else(|_| {
                    progress.fail(Stage::Guard, late.to_owned());
                    Vec::new()
                })
            }
            _ => Vec::new(),
        };
        let recalls = !triggered.is_empty() || !asked.is_empty();
        // a rule that operators taught is named beside the policy that denies
        let ruled = triggered.iter().any(|recall| recall.entry.condition.is_some());
        let open = match case.screen {
            Decision::Ask => true,
            Decision::Allow => recalls,
            Decision::Deny => ruled,
        };
        let deliberates = open || progress.failed || self.inner.settings.mode == Mode::Llm;
        // the findings of the screen remain valid, whatever the later stages do
        let later = AssertUnwindSafe(async {
            if deliberates {
                self.deliberate(&case, triggered, &asked, &meter, &mut progress).await;
            }
            self.recognized(&case, &meter, &mut progress).instrument(debug_span!("recognize")).await;
        });
        match tokio::time::timeout_at(until, later.catch_unwind()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => progress.fail(Stage::Guard, "a stage of the check panicked".to_owned()),
            Err(_) => progress.fail(Stage::Guard, late.to_owned()),
        }
        // a stage that never yields is not interrupted by the timeout, but is late all the same
        if tokio::time::Instant::now() > until && !progress.failed {
            progress.fail(Stage::Guard, late.to_owned());
        }
        let refined = progress.refined.take();
        let verdict = self.verdict(&understood, &case, progress, &meter, started);
        let approvals = debug_span!("approvals");
        let answered = self.answered(&case, verdict.clone()).instrument(approvals).await;
        if let Some(journal) = &self.inner.journal {
            let (scripts, learning) = (std::mem::take(&mut understood.scripts), self.inner.settings.learning);
            let episode = learn::Episode { scripts, case, verdict, answered: answered.clone(), refined, learning };
            // recording may be slow; it does not change the verdict
            let kept = journal.keep(episode).instrument(debug_span!("record"));
            if tokio::time::timeout(RECORDING, kept).await.is_err() {
                journal.lost(JournalError::Late);
            }
        }
        answered
    }

    /// Decides the checks that the screen left open: paraphrase, embed, recall, analyze, execute; first by rules, then
    /// by a model.
    async fn deliberate(
        &self,
        case: &Case,
        mut recalled: Vec<Recall>,
        asked: &[String],
        meter: &Meter,
        progress: &mut Progress,
    ) {
        let inner = &self.inner;
        let stages = self.stages();
        let key = if inner.settings.paraphrase {
            stages.paraphraser.paraphrase(case, meter).instrument(debug_span!("paraphrase")).await
        } else {
            Ok(memory::Key::literal(&case.action.text()))
        };
        let Some(key) = progress.ok_or_fail(Stage::Model, key) else { return };
        progress.trace(|| format!("paraphrase: {} | {}", key.natural, key.command));
        self.recall(&key, &mut recalled, progress).instrument(debug_span!("recall")).await;
        for recall in &recalled {
            progress.trace(|| {
                format!("recalled {} ({:.2}): {}", recall.entry.id, recall.similarity, recall.entry.key.natural)
            });
        }
        progress.recalled = recalled.first().map(|r| Recalled {
            entry: r.entry.id.clone(),
            similarity: r.similarity,
            version: r.entry.version,
        });
        let tools = tools(inner, case);
        let inputs = ReasonInputs { case, meter, tools: &tools, recalled: &recalled };
        let Some(open) = self.by_rules(stages.rules, &inputs, progress).await else { return };
        let programs = model_scope::answerable(case, &progress.findings);
        match stages.model.filter(|_| self.wants_model(case, &open, &programs, progress)) {
            None => progress.findings.extend(open.into_iter().map(|(_, finding)| finding)),
            Some(model) => {
                let open = open.into_iter().map(|(item, _)| item).collect();
                self.by_model(model, &inputs, key, open, &programs, progress).await;
            }
        }
        if let Some(model) = stages.model.filter(|_| !asked.is_empty() && !progress.failed)
            && decide(&progress.findings).0 != Decision::Deny
        {
            let judged = model.judge(case, asked, meter).instrument(debug_span!("judge")).await;
            let found = progress.ok_or_fail(Stage::Model, judged).flatten();
            progress.findings.extend(found);
        }
        if case.screen == Decision::Ask && !progress.failed {
            self.approval(case, progress).await;
        }
    }

    /// Answers the checklist by rules, and returns the items that the rules leave open. `None` if the rules fail.
    async fn by_rules(
        &self,
        rules: &dyn Reasoner,
        inputs: &ReasonInputs<'_>,
        progress: &mut Progress,
    ) -> Option<Vec<(Item, Finding)>> {
        let ReasonInputs { case, meter, tools, recalled } = inputs;
        let analyze = debug_span!("analyze", by = "rules");
        let known = rules.analyze(case, recalled, &[], meter).instrument(analyze).await;
        let Checklist { items: known, .. } = progress.ok_or_fail(Stage::Rules, known)?;
        let answered = rules.execute(case, &known, &self.inner.policy, tools, meter);
        let answered = answered.instrument(debug_span!("execute", by = "rules")).await;
        let answered = progress.ok_or_fail(Stage::Rules, answered)?;
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        for (item, finding) in known.into_iter().zip(answered) {
            progress.trace(|| format!("check '{}': {:?} by {}", finding.check.name, finding.outcome, finding.source));
            match finding.outcome {
                Outcome::Unknown if !item.check.required => open.push((item, finding)),
                _ => closed.push(finding),
            }
        }
        progress.findings.extend(closed);
        Some(open)
    }

    /// Lets the model refine and answer the checklist: the open items, and the unknown programs at the places
    /// `programs`.
    async fn by_model(
        &self,
        model: &dyn Reasoner,
        inputs: &ReasonInputs<'_>,
        key: memory::Key,
        open: Vec<Item>,
        programs: &[usize],
        progress: &mut Progress,
    ) {
        let ReasonInputs { case, recalled, .. } = inputs;
        let items: Vec<Item> = model_scope::items(case).into_iter().chain(open).collect();
        let Some((list, findings)) = self.reasoned(model, inputs, items, progress).await else { return };
        let findings = model_scope::contrasted(findings, case, recalled);
        let findings = model_scope::weighed(findings, case, self.inner.settings.mode);
        for finding in &findings {
            progress.trace(|| format!("check '{}': {:?}: {}", finding.check.name, finding.outcome, finding.reason));
        }
        model_scope::answer_programs(case, &mut progress.findings, programs, &findings);
        let near = |r: &&Recall| !r.by_effect && r.entry.authority == memory::Authority::Learned;
        let target = recalled.iter().find(near).map(|r| Arc::clone(&r.entry));
        progress.refined = Some(learn::Refined {
            target,
            recalled: recalled.iter().map(|r| Arc::clone(&r.entry)).collect(),
            key,
            findings: model_scope::lasting(&findings),
            merged: list.merged,
            revised: list.revised,
        });
        progress.findings.extend(findings);
    }

    /// Chooses the reasoner of each stage.
    fn stages(&self) -> Stages<'_> {
        let model = self.inner.model.as_deref();
        let rules: &dyn Reasoner = &*self.inner.rules;
        // the paraphrase is the query to memory: without a memory it is not worth a call
        let asked = self.inner.settings.mode == Mode::Llm && self.inner.memory.is_some();
        Stages { rules, model, paraphraser: model.filter(|_| asked).unwrap_or(rules) }
    }

    /// Whether to ask the model: always in `llm`; in `tiered` only if its answer could change the decision.
    fn wants_model(&self, case: &Case, open: &[(Item, Finding)], programs: &[usize], progress: &Progress) -> bool {
        match self.inner.settings.mode {
            Mode::Rules => false,
            Mode::Llm => true,
            Mode::Tiered => {
                let (decision, _, _) = decide(&progress.findings);
                let unknown = decision == Decision::Ask && !programs.is_empty();
                !progress.failed && (unknown || (case.screen == Decision::Allow && !open.is_empty()))
            }
        }
    }

    /// The model's checklist and its answers. If the model fails, notes the failure and returns `None`.
    async fn reasoned(
        &self,
        model: &dyn Reasoner,
        inputs: &ReasonInputs<'_>,
        items: Vec<Item>,
        progress: &mut Progress,
    ) -> Option<(Checklist, Vec<Finding>)> {
        let ReasonInputs { case, meter, tools, recalled } = inputs;
        let analyze = debug_span!("analyze", by = "model");
        let list = model.analyze(case, recalled, &items, meter).instrument(analyze).await;
        let list = progress.ok_or_fail(Stage::Model, list)?;
        let execute = debug_span!("execute", by = "model");
        let answers = model.execute(case, &list.items, &self.inner.policy, tools, meter).instrument(execute).await;
        let findings = progress.ok_or_fail(Stage::Model, answers)?;
        // in `llm` mode the model decides, so it has to answer the fixed checks
        let answered = |item: &&Item| findings.iter().any(|f| f.check == item.check && f.outcome != Outcome::Unknown);
        let silent = list.items.iter().filter(|item| item.fixed).find(|item| !answered(item));
        if let Some(item) = silent.filter(|_| self.inner.settings.mode == Mode::Llm) {
            progress.fail(Stage::Model, format!("the model did not answer: {}", item.check.definition));
        }
        Some((list, findings))
    }
}

/// The input of the later stages. Findings about the origin of the action come first.
fn case(origin: Origin, (action, context, mut understood): (Action, Context, Understood)) -> (Case, Understood) {
    let mut screened = origin.findings;
    screened.append(&mut understood.findings);
    understood.trace.splice(0..0, origin.trace);
    let (screen, _, _) = decide(&screened);
    let case = Case {
        action: Arc::new(action),
        context: Arc::new(context),
        effects: Arc::new(std::mem::take(&mut understood.effects)),
        gathered: Arc::new(std::mem::take(&mut understood.gathered)),
        screened: Arc::new(screened),
        screen,
        scripts: !understood.scripts.is_empty(),
        events: Arc::new(std::mem::take(&mut understood.events)),
    };
    (case, understood)
}
