//! Reasoning about an action that the screen left open.
//!
//! 1. `paraphrase` steps back: what kind of action is this, in natural language and in the language of the tool.
//! 2. `analyze` puts the checklist together: what was recalled from memory, what a model adds.
//! 3. `execute` answers each check by whoever can: the policy, a tool, a model, else nobody (unknown).
//! 4. `judge`, where it is wanted, looks once more whether an action follows what a stranger's text asks for.
//!
//! [`rules`] does all three without a model, deterministically; [`llm`] does them with one, on top of that.

pub mod llm;
pub mod rules;

use crate::action::{Action, Context};
use crate::check::{Check, Finding};
use crate::effect::Effect;
use crate::facts::Gathered;
use crate::llm::{Meter, ModelError};
use crate::memory::{Entry, Key};
use crate::policy::Policy;
use crate::tools::Toolbox;
use crate::verdict::Decision;
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// What is known of an action when reasoning begins.
#[derive(Debug, Clone)]
pub struct Case {
    /// The action.
    pub action: Arc<Action>,
    /// Its circumstances.
    pub context: Arc<Context>,
    /// What it would do.
    pub effects: Arc<Vec<Effect>>,
    /// The effects with their facts.
    pub gathered: Arc<Gathered>,
    /// What the screen found.
    pub screened: Arc<Vec<Finding>>,
    /// What the screen alone decides.
    pub screen: Decision,
    /// Scripts were read whose text is not in the action.
    pub scripts: bool,
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
    /// The circumstances call for it: no model may merge, revise or crowd it out.
    pub fixed: bool,
}

/// The checklist of one action.
#[derive(Debug, Clone, Default)]
pub struct Checklist {
    /// Its lines.
    pub items: Vec<Item>,
    /// Lines that ask what another asks: (the one that goes, the one that stays).
    pub merged: Vec<(Check, Check)>,
    /// Checks that should read otherwise.
    pub revised: Vec<(Check, String)>,
    /// The action is of the kind that was recalled first.
    pub same_kind: bool,
}

/// Who reasons.
#[async_trait]
pub trait Reasoner: Send + Sync + Debug {
    /// `rules` or `llm`.
    fn name(&self) -> &'static str;

    /// The kind of action, with its specifics generalised.
    ///
    /// # Errors
    /// Only of a model.
    async fn paraphrase(&self, case: &Case, meter: &Meter) -> Result<Key, ModelError>;

    /// The checks that this action calls for, beside those that are `known`.
    ///
    /// # Errors
    /// Only of a model.
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
    /// Only of a model.
    async fn execute(
        &self,
        case: &Case,
        checklist: &[Item],
        policy: &Policy,
        tools: &Toolbox,
        meter: &Meter,
    ) -> Result<Vec<Finding>, ModelError>;

    /// Whether the action follows one of the sentences that texts of strangers `asked` for something with, and not the user.
    /// A finding against it, if so.
    ///
    /// # Errors
    /// Only of a model.
    async fn judge(&self, _case: &Case, _asked: &[String], _meter: &Meter) -> Result<Option<Finding>, ModelError> {
        Ok(None)
    }
}
