//! Building a guard.

use super::{Guard, Inner};
use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::embed::Embedder;
use crate::learn::Journal;
use crate::llm::Limits;
use crate::memory::Memory;
use crate::net::UrlPolicy;
use crate::policy::{Policy, PolicyError};
use crate::reason::{Reasoner, rules::Rules};
use crate::tools::Toolbox;
use crate::verdict::Decision;
use std::sync::Arc;
use std::time::Duration;

/// How a guard decides.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Longest time for one check; default 5 s.
    pub deadline: Duration,
    /// Decision where a stage fails: deny (default) or ask. Allow is refused.
    pub on_failure: Decision,
    /// What becomes of programs that are not in the table.
    pub unknown_programs: UnknownPrograms,
    /// Cosine above which a memory entry is the same kind of action; default 0.8 (AGrail, arXiv 2502.11448).
    pub similarity: f32,
    /// Entries that similarity may recall; default 1 (AGrail).
    pub neighbours: usize,
    /// What the guard learns by itself.
    pub learning: Learning,
    /// When a model is asked. Only `rules` works without one.
    pub mode: Mode,
    /// The model also judges, with one call, whether an action follows what was read: only where that asks for something and
    /// nothing denies. It can turn an allow into an ask. Default: no.
    pub judge: bool,
    /// Hard caps on what one verdict may use of a model.
    pub limits: Limits,
    /// Which entry similarity recalls.
    pub retrieval: Retrieval,
    /// Recall by the step-back paraphrase. Without it the text of the action is the key; only for ablations.
    pub paraphrase: bool,
    /// What the agent may fetch; default: the public internet.
    pub urls: UrlPolicy,
    /// Absolute paths that belong to the guard, beside the usual ones: only a person may change what is there.
    pub own: Vec<String>,
    /// Ports of this machine at which the guard answers.
    pub ports: Vec<u16>,
    /// Note each effect, fact and policy in the verdict's trace.
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
            own: Vec::new(),
            ports: vec![crate::serve::PORT],
            explain: false,
        }
    }
}

/// What becomes of a program that is not in the table of command semantics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownPrograms {
    /// Ask (default).
    #[default]
    Ask,
    /// Let it pass where nothing else speaks against it and it runs without raised privilege.
    Allow,
    /// Deny.
    Deny,
}

/// What a guard with a memory learns by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Learning {
    /// Nothing: decisions are recorded, operators' feedback is learnt (default).
    #[default]
    Feedback,
    /// Each clean episode also supports the checks that it called for (test-time adaptation).
    Episodes,
    /// Each episode overwrites its entry at once, as in AGrail (arXiv 2502.11448). Only for ablations.
    AtOnce,
    /// The memory is only read.
    Frozen,
}

/// When a model is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    #[default]
    Rules,
    /// Where the deterministic stages leave open what a model may answer (DESIGN section 1).
    Tiered,
    /// Always, as in AGrail; what is deterministic still stands.
    Llm,
}

impl Mode {
    /// `rules`, `tiered` or `llm`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Tiered => "tiered",
            Self::Llm => "llm",
        }
    }
}

/// Which entry similarity recalls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Retrieval {
    /// The nearest ones (default).
    #[default]
    Nearest,
    /// Any one, by this seed. Only for ablations.
    Random(u64),
}

/// Why a guard could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The shipped policies do not load.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// `on_failure` is allow.
    #[error("on_failure may be deny or ask: failure is never allow")]
    FailureIsNeverAllow,
    /// A mode that asks a model, without one.
    #[error("mode is {0}, but there is no model; give one, or use mode rules")]
    NoModel(&'static str),
    /// Similarity is not a cosine.
    #[error("similarity is {0}; it must lie between 0 and 1")]
    Similarity(f32),
    /// The thread that records decisions could not start.
    #[error("the record of decisions could not start: {0}")]
    Journal(std::io::Error),
}

/// Puts a guard together; everything is optional.
#[derive(Debug, Default)]
pub struct GuardBuilder {
    settings: Settings,
    policy: Option<Policy>,
    memory: Option<Memory>,
    approvals: Option<Approvals>,
    audit: Option<Audit>,
    embedder: Option<Arc<dyn Embedder>>,
    model: Option<Arc<dyn Reasoner>>,
    tools: Toolbox,
}

impl GuardBuilder {
    /// How to decide.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Changes one setting or several.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Policies; the shipped ones if not given.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// A memory to recall from, and to record decisions in.
    #[must_use]
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// A queue in which what is asked waits for a person.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// A log that every verdict is written to before it is given.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// An embedder for recall by similarity. Without one, memory recalls by effect.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// A reasoner with a model ([`crate::reason::llm::Llm`]); the mode becomes `tiered` if it was `rules`.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Reasoner>) -> Self {
        self.model = Some(model);
        if self.settings.mode == Mode::Rules {
            self.settings.mode = Mode::Tiered;
        }
        self
    }

    /// Further tools.
    #[must_use]
    pub fn toolbox(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// The guard.
    ///
    /// # Errors
    /// [`BuildError`]
    pub fn build(self) -> Result<Guard, BuildError> {
        let mut settings = self.settings;
        // what the deterministic stages need is not for the model
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
                memory,
                journal,
                approvals,
                audit,
                embedder,
                rules,
                model,
                tools,
                operations: Arc::default(),
            }),
        })
    }
}
