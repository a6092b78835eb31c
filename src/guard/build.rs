//! Building a guard.

use super::{Guard, Inner};
use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::effect::python::Library;
use crate::embed::Embedder;
use crate::inhouse::{RowError, Rows};
use crate::learn::Journal;
use crate::learn::Learning;
use crate::llm::Limits;
use crate::memory::Memory;
use crate::net::UrlPolicy;
use crate::policy::{Policy, PolicyError, Source};
use crate::reason::{Reasoner, rules::Rules};
use crate::tools::Toolbox;
use crate::verdict::Decision;
use crate::verdict::Mode;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a guard.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Longest time for one check; default 5 s.
    pub deadline: Duration,
    /// Decision if a stage fails: deny (default) or ask. Allow is refused.
    pub on_failure: Decision,
    /// Treatment of programs that are not in the table.
    pub unknown_programs: UnknownPrograms,
    /// Cosine similarity (0..=1) above which a memory entry is the same kind of action; default 0.8 (AGrail, arXiv
    /// 2502.11448).
    pub similarity: f32,
    /// Most entries that similarity recalls; default 1 (AGrail).
    pub neighbours: usize,
    /// The lessons that the guard draws automatically.
    pub learning: Learning,
    /// When to ask a model. Only `rules` works without one.
    pub mode: Mode,
    /// The model also judges, with one call, whether an action follows an observation. It is asked only if an
    /// observation contains an instruction and nothing denies. It can turn an allow into an ask. Default: false.
    pub judge: bool,
    /// Hard limits on the use of a model for one verdict.
    pub limits: Limits,
    /// Which entries similarity recalls.
    pub retrieval: Retrieval,
    /// Recall by the step-back paraphrase. If false, the text of the action is the key; only for ablations.
    pub paraphrase: bool,
    /// URLs that the agent may fetch; default: the public internet.
    pub urls: UrlPolicy,
    /// Projects may forbid more (`.agrail/policy.cedar`). Default: true.
    pub project_policies: bool,
    /// Absolute paths that belong to the guard, in addition to the usual ones: only a person may change files there.
    pub own: Vec<String>,
    /// Ports of this machine on which the guard listens.
    pub ports: Vec<u16>,
    /// The functions that the agent's host provides to its Python code; default: none.
    pub library: Arc<Library>,
    /// Record each effect, fact and policy in the trace of the verdict.
    pub explain: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            on_failure: Decision::Deny,
            unknown_programs: UnknownPrograms::Ask,
            similarity: 0.8,
            neighbours: 1,
            learning: Learning::Feedback,
            mode: Mode::Rules,
            judge: false,
            limits: Limits::default(),
            retrieval: Retrieval::Nearest,
            paraphrase: true,
            urls: UrlPolicy::default(),
            project_policies: true,
            own: Vec::new(),
            ports: vec![super::PORT],
            library: Arc::default(),
            explain: false,
        }
    }
}

/// Treatment of a program that is not in the table of command semantics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownPrograms {
    /// Ask (default).
    #[default]
    Ask,
    /// Let it pass if no other finding objects and it does not run as the superuser.
    Allow,
    /// Deny.
    Deny,
}

/// Which entries similarity recalls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Retrieval {
    /// The nearest ones (default).
    #[default]
    Nearest,
    /// A random one, by this seed. Only for ablations.
    Random(u64),
    /// The nearest ones, and none by an effect or a rule. Only for ablations.
    MeaningOnly,
    /// None; only effects and rules recall. Only for ablations.
    RulesOnly,
}

/// Why a guard could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The shipped policies do not load.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A row about an in-house tool cannot be used.
    #[error(transparent)]
    Row(#[from] RowError),
    /// `on_failure` is allow.
    #[error("on_failure is allow; it must be deny or ask, because failure is never allow")]
    FailureIsNeverAllow,
    /// The mode needs a model, but there is none.
    #[error("mode is {0}, but there is no model; give one, or use mode rules")]
    NoModel(&'static str),
    /// The similarity threshold is not between 0 and 1.
    #[error("similarity is {0}; it must be between 0 and 1")]
    Similarity(f32),
    /// The thread that records decisions could not start.
    #[error("the thread that records decisions could not start: {0}")]
    Journal(std::io::Error),
}

/// Builder of a guard. Everything is optional.
#[derive(Debug, Default)]
pub struct GuardBuilder {
    settings: Settings,
    policy: Option<Policy>,
    rows: Vec<Source>,
    memory: Option<Memory>,
    approvals: Option<Approvals>,
    audit: Option<Audit>,
    embedder: Option<Arc<dyn Embedder>>,
    model: Option<Arc<dyn Reasoner>>,
    tools: Toolbox,
}

impl GuardBuilder {
    /// Replaces all settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Changes some settings.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Sets the policies; default: the shipped ones.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets the operator's rows about in-house tools, as TOML texts (`docs/in-house-tools.md`).
    #[must_use]
    pub fn rows(mut self, rows: Vec<Source>) -> Self {
        self.rows = rows;
        self
    }

    /// Sets the memory, which recalls entries and records decisions.
    #[must_use]
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets the queue of pending approvals, in which asks wait for a person.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Sets the audit log, to which every verdict is written before it is returned.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Sets the embedder for recall by similarity. Without one, memory recalls only by effect.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Sets a reasoner with a model ([`crate::reason::llm::Llm`]). The mode `rules` becomes `tiered`.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Reasoner>) -> Self {
        self.model = Some(model);
        if self.settings.mode == Mode::Rules {
            self.settings.mode = Mode::Tiered;
        }
        self
    }

    /// Sets further tools.
    #[must_use]
    pub fn toolbox(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// Builds the guard.
    ///
    /// # Errors
    /// [`BuildError`]
    pub fn build(self) -> Result<Guard, BuildError> {
        let mut settings = self.settings;
        // part of the deadline is reserved for the deterministic stages
        settings.limits.wall = settings.limits.wall.min(settings.deadline.mul_f64(0.9));
        if settings.on_failure == Decision::Allow {
            return Err(BuildError::FailureIsNeverAllow);
        }
        if !(0.0..=1.0).contains(&settings.similarity) {
            return Err(BuildError::Similarity(settings.similarity));
        }
        let policy = match self.policy {
            Some(policy) => policy,
            None => Policy::base()?,
        };
        let rows = Rows::load(&self.rows)?;
        let digest = match rows.digest() {
            "" => policy.digest().to_owned(),
            own => crate::digest([policy.digest().into(), own.into()]),
        };
        let journal = match &self.memory {
            Some(memory) if settings.learning != Learning::Frozen => {
                Some(Journal::start(memory.clone(), self.embedder.clone()).map_err(BuildError::Journal)?)
            }
            _ => None,
        };
        if settings.mode != Mode::Rules && self.model.is_none() {
            return Err(BuildError::NoModel(settings.mode.as_str()));
        }
        let (memory, approvals, audit) = (self.memory, self.approvals, self.audit);
        let (embedder, model, tools) = (self.embedder, self.model, self.tools);
        let rules: Arc<dyn Reasoner> = Arc::new(Rules);
        Ok(Guard {
            inner: Arc::new(Inner {
                settings,
                policy,
                rows,
                projects: super::project::Projects::default(),
                digest,
                memory,
                journal,
                approvals,
                audit,
                embedder,
                rules,
                model,
                tools,
            }),
        })
    }
}
