//! The trained head: two linear heads over a segment's embedding, and a third that weighs them with what the rules
//! and the words say and with where the segment stands.
//!
//! The weights are in `head.json`; `HEAD.md` is their data card. `agrail-eval train-detector` fits them, and
//! `agrail evolve` hardens them.

use super::directive::Directive;
use crate::embed::MINILM_DIMENSIONS;
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;
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
    /// The constant of the last step for a segment without an embedding; that of `combine` if there is none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unembedded: Option<f32>,
    /// From this probability on a text is flagged.
    pub threshold: f32,
    /// Where there is room for an embedding, segments that hardly look like orders are weighed, too, less these log odds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<f32>,
}

impl Head {
    /// The weights that come with the crate; `None` if they do not load, which the tests exclude.
    #[must_use]
    pub fn shipped() -> Option<Arc<Self>> {
        static HEAD: LazyLock<Option<Arc<Head>>> =
            LazyLock::new(|| serde_json::from_str(include_str!("head.json")).ok().map(Arc::new));
        HEAD.clone()
    }

    /// The weights in a file, such as `head.json` of a run of `agrail evolve`.
    ///
    /// # Errors
    /// If it cannot be read, or the weights are not of the right number, or not finite.
    pub fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        let head: Self =
            serde_json::from_str(&text).with_context(|| format!("{shown} does not hold the weights of a head"))?;
        let sizes = [(&head.hostile, MINILM_DIMENSIONS), (&head.order, MINILM_DIMENSIONS), (&head.combine, INPUTS)];
        for (linear, size) in sizes {
            let has = linear.weights.len();
            ensure!(has == size, "{shown}: {has} weights where there should be {size}");
        }
        ensure!(head.finite(), "{shown}: a weight is not a finite number");
        Ok(head)
    }

    /// No weight is infinite, or not a number.
    #[must_use]
    pub fn finite(&self) -> bool {
        let all = [&self.hostile, &self.order, &self.combine];
        all.iter().all(|linear| linear.bias.is_finite() && linear.weights.iter().all(|w| w.is_finite()))
            && self.spare.is_none_or(f32::is_finite)
            && self.unembedded.is_none_or(f32::is_finite)
    }

    /// The same to four places, so that what is measured is what a file holds.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        let round = |value: &mut f32| *value = (*value * 1e4).round() / 1e4;
        for linear in [&mut self.hostile, &mut self.order, &mut self.combine] {
            linear.weights.iter_mut().for_each(round);
            round(&mut linear.bias);
        }
        self
    }

    /// What the constant of the last step is more, or less, than that of `combine`.
    #[must_use]
    pub fn constant(&self, embedded: bool) -> f32 {
        self.unembedded.filter(|_| !embedded).map_or(0.0, |own| own - self.combine.bias)
    }

    /// The probability, 0 to 1, that a segment is an injected instruction. `embedding` is its vector, or nothing if
    /// it has none; `rules` is what its matches say, 0 to 1; a `weak` one hardly looks like an order.
    #[must_use]
    pub fn probability(
        &self,
        embedding: Option<&[f32]>,
        rules: f32,
        many: bool,
        words: &Directive,
        place: Place,
        weak: bool,
    ) -> f32 {
        let less = match (weak, self.spare) {
            (false, _) => 0.0,
            (true, Some(less)) => less,
            (true, None) => return 0.0,
        };
        let odds = embedding.map_or((0.0, 0.0), |e| (self.hostile.value(e), self.order.value(e)));
        sigmoid(
            self.combine.value(&inputs(odds, rules, many, words, place)) + self.constant(embedding.is_some()) - less,
        )
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
        assert!(head.finite());
        assert!(head.threshold > 0.0 && head.threshold < 1.0);
    }

    #[test]
    fn weights_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("head.json");
        let mut head = (*Head::shipped().unwrap()).clone();
        std::fs::write(&file, serde_json::to_string(&head).unwrap()).unwrap();
        assert_eq!(Head::load(&file).unwrap(), head);
        head.order.weights.pop();
        std::fs::write(&file, serde_json::to_string(&head).unwrap()).unwrap();
        assert!(Head::load(&file).unwrap_err().to_string().contains("383 weights where there should be 384"));
        std::fs::write(&file, "{}").unwrap();
        assert!(Head::load(&file).is_err());
    }

    #[test]
    fn what_hardly_looks_like_an_order_is_weighed_only_where_a_head_says_so() {
        let mut head = (*Head::shipped().unwrap()).clone();
        let words = Directive { score: 0.0, polite: false, own: false };
        let score = |head: &Head, weak| head.probability(None, 0.9, true, &words, Place::default(), weak);
        head.spare = None;
        assert_eq!(score(&head, true), 0.0);
        head.spare = Some(2.0);
        assert!(score(&head, true) > 0.0 && score(&head, true) < score(&head, false));
        // and what has no embedding has a constant of its own
        head.unembedded = None;
        let with = score(&head, false);
        head.unembedded = Some(head.combine.bias - 1.0);
        assert!(score(&head, false) < with);
    }
}
