//! What the loop needs of an optimizer: first candidates, scores, gradients, edits.

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
    /// The model fails for good, or too often.
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
    /// The weights cannot defend.
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
    /// An attack has no defence to stand against.
    #[error("there is no defence to attack")]
    NoDefence,
}

/// Who is being improved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The attacker.
    Attack,
    /// The defender.
    Defence,
}

/// On which items a score is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Those for searching.
    Train,
    /// Those for choosing.
    Validation,
    /// Attacks and items that no search has seen.
    HeldOut,
}

/// Towards what a gradient points: each side has two routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Attack: not to be seen. Defence: to see attacks.
    Detection,
    /// Attack: to move the score. Defence: to let honest texts pass.
    Effect,
}

impl Route {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Detection, Self::Effect];
}

/// What a side has to do with the world: a candidate is a text, whose meaning only the optimizer knows.
#[async_trait]
pub trait World: Send + Sync {
    /// `model` or `mutation`.
    fn name(&self) -> &'static str;

    /// The candidates to begin with, one for each category; of the defence the hand-made one first.
    fn seeds(&self, side: Side) -> Vec<String>;

    /// Whether a candidate may be scored at all: it has its slots, it can be read.
    fn fits(&self, side: Side, candidate: &str) -> bool;

    /// What an attack achieves against a defence.
    async fn attack(&self, attack: &str, defence: &str, on: On) -> Result<score::Attack, WorldError>;

    /// What a defence achieves against attacks (those that are held out, where `on` says so).
    async fn defence(&self, defence: &str, attacks: &[String], on: On) -> Result<score::Defence, WorldError>;

    /// Honest and poisoned texts that no search has seen, as `defence` takes them where `on` says [`On::HeldOut`].
    fn held_out(&self) -> Result<(Vec<String>, Vec<String>), WorldError>;

    /// What should be different about a candidate, in words; not what `recent` says already.
    async fn gradient(
        &self,
        side: Side,
        candidate: &str,
        against: &[String],
        route: Route,
        recent: &[String],
        turn: u64,
    ) -> Result<String, WorldError>;

    /// The candidate edited along a gradient.
    async fn edit(&self, side: Side, candidate: &str, gradient: &str, turn: u64) -> Result<String, WorldError>;

    /// A candidate that follows none: for exploration.
    async fn explore(&self, side: Side, pool: &[String], turn: u64) -> Result<String, WorldError>;

    /// Calls of a model so far.
    fn model_calls(&self) -> u64 {
        0
    }
}
