//! The trained head: two linear heads over a segment's embedding, and a third that combines them with the scores of the
//! rules and the words and with the position of the segment.
//!
//! The weights are in `head.json`; `HEAD.md` is their data card. `agrail-eval train-detector` fits them, and
//! `agrail evolve` hardens them.

use super::directive::Directive;
use crate::embed::MINILM_DIMENSIONS;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// The number of inputs of the combining head.
pub(crate) const INPUTS: usize = 14;

/// Why a file of weights cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// It is not JSON of the right form.
    #[error("{} does not contain the weights of a head", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// A head has the wrong number of weights.
    #[error("{}: expected {expected} weights, found {found}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// Number of weights that the head needs.
        expected: usize,
        /// Number of weights in the file.
        found: usize,
    },
    /// A weight is infinite or not a number.
    #[error("{}: a weight is not a finite number", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
    },
}

/// The position of a segment in its text.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    /// The text has at least two other segments.
    pub among: bool,
    /// The text is an object or a list of values, like the result of a tool.
    pub structured: bool,
    /// The share of the segments of the text that do not look like instructions, 0 to 1.
    pub calm: f32,
}

/// A linear function with a constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// One weight for each input.
    pub weights: Vec<f32>,
    /// The constant.
    pub bias: f32,
}

impl Linear {
    /// The value for these inputs, in log odds.
    #[must_use]
    pub fn value(&self, inputs: &[f32]) -> f32 {
        self.weights.iter().zip(inputs).map(|(w, x)| w * x).sum::<f32>() + self.bias
    }
}

/// The weights of the detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The id of the embedder whose vectors it was trained on.
    pub embedder: String,
    /// Over an embedding, 384 weights: the segment tries to take control of its reader.
    pub hostile: Linear,
    /// Over an embedding, 384 weights: the segment instructs an assistant, rather than informing people.
    pub order: Linear,
    /// Over [`inputs`], 14 weights.
    pub combine: Linear,
    /// The constant of the combining head for a segment without an embedding; that of `combine` if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unembedded: Option<f32>,
    /// The probability from which on a text is flagged.
    pub threshold: f32,
    /// Log odds that are subtracted for segments that hardly look like instructions. They are scored only if this is
    /// set and embeddings are left over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<f32>,
}

impl Head {
    /// The weights shipped with the crate; `None` if they do not load, which the tests rule out.
    #[must_use]
    pub fn shipped() -> Option<Arc<Self>> {
        static HEAD: LazyLock<Option<Arc<Head>>> =
            LazyLock::new(|| serde_json::from_str(include_str!("head.json")).ok().map(Arc::new));
        HEAD.clone()
    }

    /// Loads weights from a file, such as `head.json` of a run of `agrail evolve`.
    ///
    /// # Errors
    /// [`HeadError`]
    pub fn load(path: &Path) -> Result<Self, HeadError> {
        let file = || path.to_owned();
        let text = std::fs::read_to_string(path).map_err(|source| HeadError::Read { path: file(), source })?;
        let head: Self = serde_json::from_str(&text).map_err(|source| HeadError::Form { path: file(), source })?;
        let sizes = [(&head.hostile, MINILM_DIMENSIONS), (&head.order, MINILM_DIMENSIONS), (&head.combine, INPUTS)];
        for (linear, expected) in sizes {
            let found = linear.weights.len();
            if found != expected {
                return Err(HeadError::Weights { path: file(), expected, found });
            }
        }
        if head.finite() { Ok(head) } else { Err(HeadError::NotFinite { path: file() }) }
    }

    /// Whether every weight is a finite number.
    #[must_use]
    pub fn finite(&self) -> bool {
        let all = [&self.hostile, &self.order, &self.combine];
        all.iter().all(|linear| linear.bias.is_finite() && linear.weights.iter().all(|w| w.is_finite()))
            && self.spare.is_none_or(f32::is_finite)
            && self.unembedded.is_none_or(f32::is_finite)
    }

    /// The same weights rounded to four decimal places, so that the measured weights equal the saved ones.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        let round = |value: &mut f32| *value = (*value * 1e4).round() / 1e4;
        for linear in [&mut self.hostile, &mut self.order, &mut self.combine] {
            linear.weights.iter_mut().for_each(round);
            round(&mut linear.bias);
        }
        self
    }

    /// The difference, in log odds, of the constant of the combining head from that of `combine`.
    #[must_use]
    pub fn constant(&self, embedded: bool) -> f32 {
        self.unembedded.filter(|_| !embedded).map_or(0.0, |own| own - self.combine.bias)
    }

    /// The probability, 0 to 1, that a segment is an injected instruction. `embedding` is its vector, if it was
    /// embedded; `rules` is the score of the rules, 0 to 1; `many`: more than one rule matches; `weak`: the segment
    /// hardly looks like an instruction.
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

/// The inputs of the combining head. `odds` are the log odds (hostile, order) of the heads over the embedding; `many`:
/// more than one rule matches.
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

/// Converts log odds to a probability.
#[must_use]
pub fn sigmoid(odds: f32) -> f32 {
    1.0 / (1.0 + (-odds).exp())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shipped_weights_fit_the_embedder() {
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
    fn wrong_number_of_weights_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("head.json");
        let mut head = (*Head::shipped().unwrap()).clone();
        std::fs::write(&file, serde_json::to_string(&head).unwrap()).unwrap();
        assert_eq!(Head::load(&file).unwrap(), head);
        head.order.weights.pop();
        std::fs::write(&file, serde_json::to_string(&head).unwrap()).unwrap();
        assert!(Head::load(&file).unwrap_err().to_string().contains("expected 384 weights, found 383"));
        std::fs::write(&file, "{}").unwrap();
        assert!(Head::load(&file).is_err());
    }

    #[test]
    fn weak_segments_are_scored_only_with_spare() {
        let mut head = (*Head::shipped().unwrap()).clone();
        let words = Directive { score: 0.0, polite: false, own: false };
        let score = |head: &Head, weak| head.probability(None, 0.9, true, &words, Place::default(), weak);
        head.spare = None;
        assert_eq!(score(&head, true), 0.0);
        head.spare = Some(2.0);
        assert!(score(&head, true) > 0.0 && score(&head, true) < score(&head, false));
        // a segment without an embedding has a separate constant
        head.unembedded = None;
        let with = score(&head, false);
        head.unembedded = Some(head.combine.bias - 1.0);
        assert!(score(&head, false) < with);
    }
}
