//! The trained head: two linear heads over a segment's embedding, and a third that weighs them with what the rules
//! and the words say and with where the segment stands.
//!
//! The weights are in `head.json`; `HEAD.md` is their data card. `agrail-eval train-detector` makes them.

use super::directive::Directive;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};

/// The number of inputs of the last step.
pub const INPUTS: usize = 14;

/// Where a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    /// It stands among others, at least two.
    pub among: bool,
    /// The text is an object or a list of values, as tools answer.
    pub structured: bool,
    /// The share of the other segments that order nothing, 0 to 1.
    pub calm: f32,
}

/// A linear function and its constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// One weight for each input.
    pub weights: Vec<f32>,
    /// The constant.
    pub bias: f32,
}

impl Linear {
    /// The value for some inputs, as log odds.
    #[must_use]
    pub fn value(&self, inputs: &[f32]) -> f32 {
        self.weights.iter().zip(inputs).map(|(w, x)| w * x).sum::<f32>() + self.bias
    }
}

/// The weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The id of the embedder whose vectors it reads.
    pub embedder: String,
    /// Over an embedding: it wants to take the reader's place.
    pub hostile: Linear,
    /// Over an embedding: it asks something of an assistant, rather than telling people something.
    pub order: Linear,
    /// Over [`inputs`].
    pub combine: Linear,
    /// From this probability on a text is flagged.
    pub threshold: f32,
    /// Where there is room for an embedding, it weighs segments, too, that hardly look like orders.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spare: bool,
}

impl Head {
    /// The weights that come with the crate; `None` if they do not load, which the tests exclude.
    #[must_use]
    pub fn shipped() -> Option<Arc<Self>> {
        static HEAD: LazyLock<Option<Arc<Head>>> =
            LazyLock::new(|| serde_json::from_str(include_str!("head.json")).ok().map(Arc::new));
        HEAD.clone()
    }

    /// The probability, 0 to 1, that a segment is an injected instruction. `embedding` is its vector, or nothing if
    /// it has none; `rules` is what its matches say, 0 to 1.
    #[must_use]
    pub fn probability(
        &self,
        embedding: Option<&[f32]>,
        rules: f32,
        many: bool,
        words: &Directive,
        place: Place,
    ) -> f32 {
        let odds = embedding.map_or((0.0, 0.0), |e| (self.hostile.value(e), self.order.value(e)));
        sigmoid(self.combine.value(&inputs(odds, rules, many, words, place)))
    }
}

/// The inputs of the last step, from the log odds (hostile, order) of the heads over the embedding; `many`: more than
/// one rule matches.
#[must_use]
pub fn inputs(odds: (f32, f32), rules: f32, many: bool, words: &Directive, place: Place) -> [f32; INPUTS] {
    let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
    let (hostile, order) = (odds.0.clamp(-7.0, 7.0), odds.1.clamp(-7.0, 7.0));
    let (among, leads, score) = (flag(place.among), flag(words.score >= 1.5), words.score.min(4.0));
    [
        rules,
        flag(many),
        hostile,
        order,
        score,
        among * hostile,
        among * order,
        among * score,
        among,
        flag(place.structured),
        flag(place.structured) * leads,
        flag(place.structured && words.polite),
        among * leads * place.calm,
        among * leads * flag(words.own),
    ]
}

/// Log odds as a probability.
#[must_use]
pub fn sigmoid(odds: f32) -> f32 {
    1.0 / (1.0 + (-odds).exp())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_weights_fit_the_embedder() {
        let head = Head::shipped().unwrap();
        assert_eq!(head.embedder, crate::embed::MINILM_ID);
        for linear in [&head.hostile, &head.order] {
            assert_eq!(linear.weights.len(), crate::embed::MINILM_DIMENSIONS);
        }
        assert_eq!(head.combine.weights.len(), INPUTS);
        let all = [&head.hostile, &head.order, &head.combine];
        assert!(all.iter().all(|l| l.bias.is_finite() && l.weights.iter().all(|w| w.is_finite())));
        assert!(head.threshold > 0.0 && head.threshold < 1.0);
    }
}
