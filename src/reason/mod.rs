//! Reasoning about an action that the screen left open.
//!
//! 1. `paraphrase` steps back: it names the kind of action in natural language and in the language of the tool.
//! 2. `analyze` builds the checklist from the checks that memory recalled and those that a model adds.
//! 3. `execute` answers each check by a policy, a tool or a model; otherwise the answer is unknown.
//! 4. `recognize` answers whether an action does what operators reported, in other words.
//! 5. `judge`, if it is switched on, verifies whether an action follows an instruction in an observation.
//!
//! [`rules`] does the first three without a model, deterministically. [`llm`] adds the answers of a model.

pub mod llm;
pub mod rules;

use crate::action::{Action, Context};
use crate::check::{Check, Finding};
use crate::effect::Effect;
use crate::facts::ScreenInput;
use crate::llm::{Meter, ModelError};
use crate::memory::{Entry, Key};
use crate::policy::Policy;
use crate::shape::{Condition, Event};
use crate::tools::Toolbox;
use crate::verdict::Decision;
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// The action with everything that is known before reasoning begins.
#[derive(Debug, Clone)]
pub struct Case {
    /// The action.
    pub action: Arc<Action>,
    /// Its context.
    pub context: Arc<Context>,
    /// Its effects.
    pub effects: Arc<Vec<Effect>>,
    /// The effects with their facts.
    pub gathered: Arc<ScreenInput>,
    /// The findings of the screen.
    pub screened: Arc<Vec<Finding>>,
    /// The decision of the screen alone.
    pub screen: Decision,
    /// Whether scripts were parsed whose text is not part of the action.
    pub scripts: bool,
    /// What it does, for conditions that were learnt.
    pub events: Arc<Vec<Event>>,
}

/// A recalled memory entry with its similarity.
#[derive(Debug, Clone)]
pub struct Recall {
    /// The entry.
    pub entry: Arc<Entry>,
    /// Cosine similarity, -1..=1; 1 if an effect recalled it.
    pub similarity: f32,
    /// Whether an effect recalled it, not similarity.
    pub by_effect: bool,
    /// For a learnt condition: whether it stops the action, instead of asking a person.
    pub firm: bool,
}

/// One line of the checklist.
#[derive(Debug, Clone)]
pub struct Item {
    /// The check.
    pub check: Check,
    /// The memory entry from which it comes.
    pub entry: Option<Arc<Entry>>,
    /// Whether the context requires it: no model may merge, revise or displace it.
    pub fixed: bool,
    /// For a learnt condition: whether a violation stops the action, instead of asking a person.
    pub firm: bool,
}

/// The checklist of one action.
#[derive(Debug, Clone, Default)]
pub struct Checklist {
    /// Its lines.
    pub items: Vec<Item>,
    /// Pairs of checks with the same meaning: (removed, kept).
    pub merged: Vec<(Check, Check)>,
    /// Checks with their new definitions.
    pub revised: Vec<(Check, String)>,
    /// Whether the action is of the same kind as the first recalled entry.
    pub same_kind: bool,
}

/// A reasoner: rules, or a model.
#[async_trait]
pub trait Reasoner: Send + Sync + Debug {
    /// `rules` or `llm`.
    fn name(&self) -> &'static str;

    /// The kind of action, with its specifics generalised.
    ///
    /// # Errors
    /// Errors of a model; reasoning by rules never fails.
    async fn paraphrase(&self, case: &Case, meter: &Meter) -> Result<Key, ModelError>;

    /// The checklist of this action: the `known` checks, and those that it needs in addition.
    ///
    /// # Errors
    /// Errors of a model; reasoning by rules never fails.
    async fn analyze(
        &self,
        case: &Case,
        recalled: &[Recall],
        known: &[Item],
        meter: &Meter,
    ) -> Result<Checklist, ModelError>;

    /// The answer to each check, in order.
    ///
    /// # Errors
    /// Errors of a model; reasoning by rules never fails.
    async fn execute(
        &self,
        case: &Case,
        checklist: &[Item],
        policy: &Policy,
        tools: &Toolbox,
        meter: &Meter,
    ) -> Result<Vec<Finding>, ModelError>;

    /// Judges whether the action follows one of the sentences in `asked`, instructions from observations, instead of
    /// the user's request. Returns a violation if it does.
    ///
    /// # Errors
    /// Errors of a model; reasoning by rules never fails.
    async fn judge(&self, _case: &Case, _asked: &[String], _meter: &Meter) -> Result<Option<Finding>, ModelError> {
        Ok(None)
    }

    /// Whether the action does what operators reported, in whatever words: the reason of theirs that is true of it.
    ///
    /// # Errors
    /// Errors of a model; reasoning by rules never fails.
    async fn recognize(&self, _case: &Case, _report: &Condition, _meter: &Meter) -> Result<Option<String>, ModelError> {
        Ok(None)
    }
}
