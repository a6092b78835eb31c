//! What the loop needs of an optimizer: first candidates, scores, gradients, edits.

use super::score;
use anyhow::Result;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

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
    async fn attack(&self, attack: &str, defence: &str, on: On) -> Result<score::Attack>;

    /// What a defence achieves against attacks (those that are held out, where `on` says so).
    async fn defence(&self, defence: &str, attacks: &[String], on: On) -> Result<score::Defence>;

    /// Honest and poisoned texts that no search has seen, as `defence` takes them where `on` says [`On::HeldOut`].
    fn held_out(&self) -> Result<(Vec<String>, Vec<String>)>;

    /// What should be different about a candidate, in words; not what `recent` says already.
    async fn gradient(
        &self,
        side: Side,
        candidate: &str,
        against: &[String],
        route: Route,
        recent: &[String],
        turn: u64,
    ) -> Result<String>;

    /// The candidate edited along a gradient.
    async fn edit(&self, side: Side, candidate: &str, gradient: &str, turn: u64) -> Result<String>;

    /// A candidate that follows none: for exploration.
    async fn explore(&self, side: Side, pool: &[String], turn: u64) -> Result<String>;

    /// Calls of a model so far.
    fn model_calls(&self) -> u64 {
        0
    }
}
