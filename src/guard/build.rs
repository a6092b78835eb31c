//! Building a guard.

use super::{Guard, Inner};
use crate::embed::Embedder;
use crate::learn::Journal;
use crate::memory::Memory;
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
    /// The memory is only read.
    Frozen,
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
    embedder: Option<Arc<dyn Embedder>>,
    reasoner: Option<Arc<dyn Reasoner>>,
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

    /// An embedder for recall by similarity. Without one, memory recalls by effect.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Who reasons; [`Rules`] if not given.
    #[must_use]
    pub fn reasoner(mut self, reasoner: Arc<dyn Reasoner>) -> Self {
        self.reasoner = Some(reasoner);
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
        let settings = self.settings;
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
        let reasoner = self.reasoner.unwrap_or_else(|| Arc::new(Rules));
        let (memory, embedder, tools) = (self.memory, self.embedder, self.tools);
        Ok(Guard { inner: Arc::new(Inner { settings, policy, memory, journal, embedder, reasoner, tools }) })
    }
}
