//! Reasoning about an action that the screen left open.
//!
//! 1. `paraphrase` steps back: what kind of action is this, in natural language and in the language of the tool.
//! 2. `analyze` puts the checklist together: what policy calls for, what was recalled from memory.
//! 3. `execute` answers each check by whoever can: the policy, a tool, else nobody (unknown).
//!
//! [`rules`] does all three without a model, deterministically.

pub mod rules;

use crate::check::{Check, Finding};
use crate::effect::Effect;
use crate::facts::Gathered;
use crate::memory::{Entry, Key};
use crate::policy::Policy;
use crate::tools::Toolbox;
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// What is known of an action when reasoning begins.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it would do.
    pub effects: Arc<Vec<Effect>>,
    /// The effects with their facts.
    pub gathered: Arc<Gathered>,
    /// What the screen found.
    pub screened: Arc<Vec<Finding>>,
}

/// A memory entry that was recalled, and how near it is.
#[derive(Debug, Clone)]
pub struct Recall {
    /// The entry.
    pub entry: Arc<Entry>,
    /// Cosine similarity, -1..=1; 1 where an effect recalled it.
    pub similarity: f32,
    /// An effect recalled it, not similarity.
    pub by_effect: bool,
}

/// One line of the checklist.
#[derive(Debug, Clone)]
pub struct Item {
    /// The check.
    pub check: Check,
    /// The memory entry that it comes from.
    pub entry: Option<Arc<Entry>>,
}

/// Who reasons.
#[async_trait]
pub trait Reasoner: Send + Sync + Debug {
    /// `rules` or `llm`.
    fn name(&self) -> &'static str;

    /// The kind of action, with its specifics generalised.
    async fn paraphrase(&self, case: &Case) -> Key;

    /// The checks that this action calls for.
    async fn analyze(&self, case: &Case, recalled: &[Recall]) -> Vec<Item>;

    /// The answer to each check.
    async fn execute(&self, case: &Case, checklist: &[Item], policy: &Policy, tools: &Toolbox) -> Vec<Finding>;
}
