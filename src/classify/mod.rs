//! Linear classifiers of short texts, such as the task of a web agent or one sentence of a page.
//!
//! 1. The inputs are an embedding of the text, which carries its meaning, and its words, which carry the turns of phrase
//!    that an embedding blurs ("in my basket", "is to be described as"). Rare words weigh more than frequent ones.
//! 2. [`Classifier::probabilities`] gives one probability for each label (softmax).
//! 3. The weights are data of the modules that ask: `web/operations.json`, `provenance/dictates.json`. `HEADS.md` is their
//!    data card; `agrail-eval train-classifier` fits them to this project's own sentences and prints how they do on the
//!    sentences of a writer whom they have not seen.
//!
//! Limits: the embedder and the words are English. With an embedder other than the one in the weights there is no answer.

use crate::embed::{EmbedError, Embedder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The weight of all words of a text, relative to its embedding.
const WORDS: f32 = 2.0;
/// Longest text that is classified, in bytes; a longer one is truncated.
const LONGEST: usize = 2_000;

/// The weights of a classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classifier {
    /// The id of the embedder whose vectors it was trained on.
    pub embedder: String,
    /// Whether two neighbouring words count as well.
    pub pairs: bool,
    /// The labels, in the order of the weights.
    pub labels: Vec<String>,
    /// One constant for each label.
    pub bias: Vec<f32>,
    /// For each label, one weight for each component of the embedding.
    pub embedding: Vec<Vec<f32>>,
    /// For each known word its inverse document frequency, and one weight for each label.
    pub words: BTreeMap<String, (f32, Vec<f32>)>,
}

impl Classifier {
    /// The known words of a text, each with its value. Together they have the norm 2.
    #[must_use]
    pub fn words_of(&self, text: &str) -> Vec<(&str, f32)> {
        let known: Vec<(&str, f32)> = Self::features(text, self.pairs)
            .iter()
            .filter_map(|word| self.words.get_key_value(word))
            .map(|(word, (frequency, _))| (word.as_str(), *frequency))
            .collect();
        let norm = known.iter().map(|(_, frequency)| frequency * frequency).sum::<f32>().sqrt();
        known.into_iter().map(|(word, frequency)| (word, WORDS * frequency / norm)).collect()
    }

    /// The probability of each label, in their order. `vector`: the embedding of the text.
    #[must_use]
    pub fn probabilities(&self, text: &str, vector: &[f32]) -> Vec<f32> {
        let mut odds = self.bias.clone();
        for (weights, odds) in self.embedding.iter().zip(&mut odds) {
            *odds += weights.iter().zip(vector).map(|(weight, x)| weight * x).sum::<f32>();
        }
        for (word, value) in self.words_of(text) {
            let Some((_, weights)) = self.words.get(word) else { continue };
            for (weight, odds) in weights.iter().zip(&mut odds) {
                *odds += weight * value;
            }
        }
        let highest = odds.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let shares: Vec<f32> = odds.iter().map(|one| (one - highest).exp()).collect();
        let sum: f32 = shares.iter().sum();
        shares.into_iter().map(|share| share / sum).collect()
    }

    /// The probabilities of the labels for each text; `None` with another embedder than that of the weights.
    ///
    /// # Errors
    /// If the embedder fails.
    pub async fn classify(&self, texts: &[&str], embedder: &dyn Embedder) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if embedder.id() != self.embedder {
            return Ok(None);
        }
        let texts: Vec<&str> = texts.iter().map(|text| truncated(text)).collect();
        let vectors = embedder.embed(&texts).await?;
        Ok(Some(texts.iter().zip(&vectors).map(|(text, vector)| self.probabilities(text, vector)).collect()))
    }

    /// The different words of a text in lower case, `^` for its beginning, every number as `0`; and pairs of neighbours.
    #[must_use]
    pub fn features(text: &str, pairs: bool) -> BTreeSet<String> {
        let lower = truncated(text).to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
        let words: Vec<&str> =
            std::iter::once("^").chain(words.map(|word| if number(word) { "0" } else { word })).collect();
        let two = words.windows(2).filter(|_| pairs).map(|pair| pair.join(" "));
        words.iter().map(|word| (*word).to_owned()).chain(two).collect()
    }

    /// Whether the numbers of weights agree and all are finite.
    #[must_use]
    pub fn is_sound(&self, dimensions: usize) -> bool {
        let labels = self.labels.len();
        let finite = |weights: &[f32]| weights.iter().all(|weight| weight.is_finite());
        self.bias.len() == labels
            && finite(&self.bias)
            && self.embedding.len() == labels
            && self.embedding.iter().all(|weights| weights.len() == dimensions && finite(weights))
            && self.words.values().all(|(frequency, weights)| {
                frequency.is_finite() && *frequency > 0.0 && weights.len() == labels && finite(weights)
            })
    }
}

fn truncated(text: &str) -> &str {
    let text = text.trim();
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Classifier {
        let word = |weight: f32| (1.0, vec![-weight, weight]);
        Classifier {
            embedder: "e".to_owned(),
            pairs: true,
            labels: vec!["no".to_owned(), "yes".to_owned()],
            bias: vec![0.0, 0.0],
            embedding: vec![vec![-1.0, 0.0], vec![1.0, 0.0]],
            words: [("my basket".to_owned(), word(3.0)), ("weather".to_owned(), word(-3.0))].into(),
        }
    }

    fn yes(text: &str, vector: [f32; 2]) -> f32 {
        small().probabilities(text, &vector).get(1).copied().unwrap_or_default()
    }

    #[test]
    fn words_and_embedding_count() {
        assert!((yes("anything", [0.0, 1.0]) - 0.5).abs() < 1e-6);
        assert!(yes("anything", [1.0, 0.0]) > 0.8);
        assert!(yes("Put it into MY  basket!", [0.0, 1.0]) > 0.9);
        assert!(yes("the weather", [0.0, 1.0]) < 0.1);
        assert_eq!(yes("", [0.0, 1.0]), 0.5, "an empty text has no known word");
        assert!((yes("my basket and the weather", [0.0, 1.0]) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn numbers_of_weights_are_compared() {
        assert!(small().is_sound(2));
        assert!(!small().is_sound(3));
        let mut wrong = small();
        wrong.words.insert("x".to_owned(), (1.0, vec![1.0]));
        assert!(!wrong.is_sound(2));
        let mut infinite = small();
        infinite.bias = vec![f32::NAN, 0.0];
        assert!(!infinite.is_sound(2));
    }

    #[test]
    fn features_are_words_numbers_and_pairs() {
        let found: Vec<String> = Classifier::features("Under £40, it's 12", true).into_iter().collect();
        assert_eq!(found, ["0", "0 it", "^", "^ under", "it", "it s", "s", "s 0", "under", "under 0"]);
    }
}
