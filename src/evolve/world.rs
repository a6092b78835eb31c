//! The interface between the loop and an optimizer: initial candidates, scores, gradients, edits.

use super::score;
use crate::embed::EmbedError;
use crate::llm::ModelError;
use crate::prompts::PromptError;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Why an optimizer gave no candidate or score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model failed permanently, or too often.
    #[error("the model gives no usable answers any more: {0}; the run can be resumed")]
    GivenUp(Box<Self>),
    /// A prompt cannot be filled.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The system gave no random bytes for a fence.
    #[error("the system gives no random bytes")]
    Random(#[from] getrandom::Error),
    /// A text cannot be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The grammar of attacks cannot be parsed.
    #[error("the grammar of attacks cannot be parsed")]
    Grammar(#[source] toml::de::Error),
    /// The weights belong to another embedder.
    #[error("the weights read vectors of {weights}, not of {embedder}")]
    OtherEmbedder {
        /// Embedder of the weights.
        weights: String,
        /// Embedder of the world.
        embedder: String,
    },
    /// The weights are not finite, or their threshold flags everything or nothing.
    #[error("the weights are not finite, or the threshold flags everything or nothing")]
    Unsound,
    /// A defence does not consist of the weights of a head.
    #[error("a defence is not a head")]
    NotAHead(#[source] serde_json::Error),
    /// An attack is not a genome of the grammar.
    #[error("an attack is not a genome")]
    NotAGenome(#[source] serde_json::Error),
    /// A gradient of a defence is not a lesson.
    #[error("a gradient is not a lesson")]
    NotALesson(#[source] serde_json::Error),
    /// A candidate cannot be written as JSON.
    #[error("a candidate cannot be written")]
    Unwritable(#[source] serde_json::Error),
    /// The task has no item for an attack.
    #[error("the task has no item to put an attack into")]
    NoItem,
    /// There is no defence to score an attack against.
    #[error("there is no defence to attack")]
    NoDefence,
}

/// The side that is improved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The attacker.
    Attack,
    /// The defender.
    Defence,
}

/// The items on which a score is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Training items, for the search.
    Train,
    /// Validation items, for the choice of the best candidate.
    Validation,
    /// Attacks and items that no search has seen.
    HeldOut,
}

/// The aim of a gradient. Each side has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Attack: evade detection. Defence: detect attacks.
    Detection,
    /// Attack: change the score. Defence: pass honest texts.
    Effect,
}

impl Route {
    /// Both routes, [`Route::Detection`] first.
    pub const ALL: [Self; 2] = [Self::Detection, Self::Effect];
}

/// An optimizer. A candidate is a text, whose meaning only the optimizer knows.
#[async_trait]
pub trait World: Send + Sync {
    /// `model` or `mutation`.
    fn name(&self) -> &'static str;

    /// The initial candidates, one for each category; the first defence is the one to compare with.
    fn seeds(&self, side: Side) -> Vec<String>;

    /// Whether a candidate may be scored: it has its slots and can be parsed.
    fn fits(&self, side: Side, candidate: &str) -> bool;

    /// The rates of an attack against a defence.
    async fn attack(&self, attack: &str, defence: &str, on: On) -> Result<score::Attack, WorldError>;

    /// The rates of a defence against `attacks`, or against the held-out attacks with [`On::HeldOut`].
    async fn defence(&self, defence: &str, attacks: &[String], on: On) -> Result<score::Defence, WorldError>;

    /// Honest and poisoned texts that no search has seen: those on which [`World::defence`] scores with
    /// [`On::HeldOut`].
    fn held_out(&self) -> Result<(Vec<String>, Vec<String>), WorldError>;

    /// Advice on how to change a candidate, different from the advice in `recent`.
    async fn gradient(
        &self,
        side: Side,
        candidate: &str,
        against: &[String],
        route: Route,
        recent: &[String],
        turn: u64,
    ) -> Result<String, WorldError>;

    /// The candidate, edited along a gradient.
    async fn edit(&self, side: Side, candidate: &str, gradient: &str, turn: u64) -> Result<String, WorldError>;

    /// A new candidate without a gradient, for exploration.
    async fn explore(&self, side: Side, pool: &[String], turn: u64) -> Result<String, WorldError>;

    /// Number of model calls so far.
    fn model_calls(&self) -> u64 {
        0
    }
}
