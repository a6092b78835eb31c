//! The injection detector: finds instructions to an agent in text that the user did not write.
//!
//! 1. A text is decoded into all its readings ([`crate::canonical::mapped`], encodings, hidden HTML, ROT13, leetspeak).
//!    Each reading is mapped back to the original text.
//! 2. Each reading is cut into segments; rules and words decide which of them look like instructions.
//! 3. The few that look most like instructions are embedded, and a trained head scores each from all its features.
//! 4. The score of the text is that of its highest-scoring segment. It is a signal, not a verdict: provenance decides.
//!
//! The report counts the bytes that were not analysed; they are never treated as clean. Work is linear in the text, and
//! bounded.

pub mod directive;
pub mod head;
mod lexicon;
mod reading;
mod rules;
#[cfg(test)]
mod tests;

use crate::embed::{EmbedError, Embedder};
use crate::untrusted::segment;
use directive::{Directive, directive};
use head::{Head, Place};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Most segments of one text that are embedded.
pub(crate) const EMBEDDED: usize = 3;
/// Most bytes of them together; a segment takes about 4 ms, and longer ones take more.
const EMBEDDED_BYTES: usize = 560;
/// The score from which on the rules alone flag a text.
pub(crate) const RULES_THRESHOLD: f32 = 0.7;
/// Bytes of the shortest segment that is embedded although it hardly looks like an instruction.
const SPARE_BYTES: usize = 24;
/// A segment with a lower score is embedded only if fewer than [`EMBEDDED`] others are.
const WORTH: f32 = 0.8;
/// Most signals in one report; a report with this many may have omitted some.
pub(crate) const SIGNALS: usize = 16;
/// Most bytes of a signal's text.
const QUOTED: usize = 400;

/// The kind of instruction of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Family {
    /// Overrides earlier instructions.
    #[serde(alias = "override")]
    Override,
    /// Gives the reader another role, or lifts its limits.
    Role,
    /// Orders the reader to use a tool or an account.
    #[serde(alias = "tool order")]
    ToolOrder,
    /// Asks for a secret to be revealed or sent.
    Exfiltration,
    /// Dictates the answer.
    #[serde(alias = "dictation")]
    AnswerDictation,
    /// Puts pressure on the reader by urgency or claimed authority.
    #[serde(alias = "urgency")]
    UrgencyAuthority,
    /// Imitates the markup of a system prompt, a tool or the end of the data.
    #[serde(alias = "fake block")]
    FakeBlock,
    /// Imitates or changes a tool call or a schema.
    #[serde(alias = "schema")]
    SchemaManipulation,
    /// An instruction of no specific family, found by the head.
    Instruction,
}

impl Family {
    /// The name in reports, in kebab case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Role => "role",
            Self::ToolOrder => "tool-order",
            Self::Exfiltration => "exfiltration",
            Self::AnswerDictation => "answer-dictation",
            Self::UrgencyAuthority => "urgency-authority",
            Self::FakeBlock => "fake-block",
            Self::SchemaManipulation => "schema-manipulation",
            Self::Instruction => "instruction",
        }
    }
}

/// The source of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The rule with this id.
    Rule(&'static str),
    /// The trained head.
    Head,
}

/// One sentence that looks like an instruction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Signal {
    /// The kind of instruction.
    pub family: Family,
    /// The place in the original text, in bytes.
    pub span: Range<usize>,
    /// The sentence, decoded and in canonical form, at most 400 bytes.
    pub text: String,
    /// The rule or the head that raised the signal.
    pub by: By,
    /// How likely the sentence is an instruction, 0 to 1.
    pub score: f32,
    /// The sentence was hidden from human readers.
    pub covert: bool,
}

/// The method that produced a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Rules alone, as requested.
    Rules,
    /// Rules and the head.
    Head,
    /// Rules alone, because the head could not be used; the string is the cause.
    HeadFailed(String),
}

/// The result for one text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// How likely the text contains an instruction to its reader, 0 to 1.
    pub score: f32,
    /// The score from which on a text is flagged: that of the head, or of the rules if only they were used.
    pub threshold: f32,
    /// The score reaches the threshold.
    pub flagged: bool,
    /// The signals, the strongest first, at most 16.
    pub signals: Vec<Signal>,
    /// Bytes of the text, or of its decoded or hidden parts, that were not analysed. They are unknown, not clean.
    pub unread_bytes: usize,
    /// Segments that look like instructions and were scored without an embedding, since only a few are embedded.
    pub unembedded: usize,
    /// The method used.
    pub basis: Basis,
}

impl Report {
    /// Whether the text is not flagged and was analysed completely.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.flagged && self.unread_bytes == 0
    }
}

/// A segment that may be an instruction.
struct Candidate {
    span: Range<usize>,
    text: String,
    words: Directive,
    matches: Vec<rules::Match>,
    rules: f32,
    place: Place,
    covert: bool,
}

impl Candidate {
    /// Whether it hardly looks like an instruction.
    fn weak(&self) -> bool {
        self.words.score < WORTH && self.matches.is_empty()
    }

    /// The priority for one of the few embeddings.
    fn worth(&self) -> f32 {
        self.words.score + if self.matches.is_empty() { 0.0 } else { 3.0 } + if self.covert { 1.0 } else { 0.0 }
    }
}

/// A segment with the inputs of a head.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The text, in canonical form.
    pub text: String,
    /// The embedding, if the segment was embedded.
    pub vector: Option<Vec<f32>>,
    /// The score of the rules, 0 to 1.
    pub rules: f32,
    /// More than one rule matches.
    pub many: bool,
    /// The features of its words.
    pub words: Directive,
    /// Its position in the text.
    pub place: Place,
    /// It hardly looks like an instruction: only a head with [`Head::spare`] scores it above 0.
    pub weak: bool,
}

impl Seen {
    /// The probability, 0 to 1, that the segment is an injected instruction, according to a head.
    #[must_use]
    pub fn score(&self, head: &Head) -> f32 {
        head.probability(self.vector.as_deref(), self.rules, self.many, &self.words, self.place, self.weak)
    }
}

/// The detector. Clones share the embedder.
#[derive(Debug, Clone)]
pub struct Detector {
    head: Option<(Arc<dyn Embedder>, Arc<Head>)>,
    refused: Option<String>,
    budget: segment::Budget,
}

impl Detector {
    /// A detector of rules and words only.
    #[must_use]
    pub fn rules() -> Self {
        Self { head: None, refused: None, budget: segment::Budget::default() }
    }

    /// A detector with the trained head over the vectors of `embedder`. If the weights were trained for another
    /// embedder, reports use the rules alone and their basis is [`Basis::HeadFailed`].
    #[must_use]
    pub fn with_head(embedder: Arc<dyn Embedder>) -> Self {
        match Head::shipped() {
            Some(head) => Self::with_weights(embedder, head),
            None => {
                let refused = Some("the shipped weights of the detector head do not load".to_owned());
                Self { head: None, refused, budget: segment::Budget::default() }
            }
        }
    }

    /// A detector with these weights instead of the shipped ones.
    #[must_use]
    pub fn with_weights(embedder: Arc<dyn Embedder>, head: Arc<Head>) -> Self {
        let (head, refused) = if head.embedder == embedder.id() {
            (Some((embedder, head)), None)
        } else {
            (None, Some(format!("the head is for the embedder {}, not for {}", head.embedder, embedder.id())))
        };
        Self { head, refused, budget: segment::Budget::default() }
    }

    /// The inputs of a head for a text: each segment that may be an instruction, with its vector if it is one of the
    /// few that are embedded. The score of the text under any head is the highest [`Seen::score`].
    ///
    /// # Errors
    /// If the embedder fails.
    pub async fn seen(text: &str, embedder: &dyn Embedder) -> Result<Vec<Seen>, EmbedError> {
        let (candidates, _) = candidates(text, &segment::Budget::default(), true);
        let texts: Vec<&str> = candidates.iter().take(chosen(&candidates)).map(|c| c.text.as_str()).collect();
        let mut vectors = if texts.is_empty() { Vec::new() } else { embedder.embed(&texts).await? }.into_iter();
        let seen = |candidate: Candidate| Seen {
            weak: candidate.weak(),
            vector: vectors.next(),
            many: candidate.matches.len() > 1,
            text: candidate.text,
            rules: candidate.rules,
            words: candidate.words,
            place: candidate.place,
        };
        Ok(candidates.into_iter().map(seen).collect())
    }

    /// Analyses a text by rules and words alone, in time linear in its size.
    #[must_use]
    pub fn scan(&self, text: &str) -> Report {
        let (candidates, unread) = candidates(text, &self.budget, false);
        report(&candidates, unread, Basis::Rules, RULES_THRESHOLD, |candidate, _| candidate.rules, 0)
    }

    /// Analyses each text. At most a few segments of each are embedded. This never fails: without embeddings the
    /// reports use the rules alone and state the cause in [`Basis::HeadFailed`].
    pub async fn examine(&self, texts: &[&str]) -> Vec<Report> {
        let spared = self.head.as_ref().is_some_and(|(_, head)| head.spare.is_some());
        let found: Vec<(Vec<Candidate>, usize)> =
            texts.iter().map(|text| candidates(text, &self.budget, spared)).collect();
        let Some((embedder, head)) = &self.head else {
            let basis = self.refused.clone().map_or(Basis::Rules, Basis::HeadFailed);
            return found.iter().map(|(c, unread)| by_rules(c, *unread, basis.clone())).collect();
        };
        let chosen: Vec<usize> = found.iter().map(|(candidates, _)| chosen(candidates)).collect();
        let wanted: Vec<&str> = found
            .iter()
            .zip(&chosen)
            .flat_map(|((candidates, _), count)| candidates.iter().take(*count).map(|c| c.text.as_str()))
            .collect();
        let vectors = if wanted.is_empty() { Ok(Vec::new()) } else { embedder.embed(&wanted).await };
        let vectors = match vectors {
            Ok(vectors) if vectors.len() == wanted.len() => vectors,
            Ok(_) => return failed(&found, "the embedder did not return one vector for each segment"),
            Err(error) => return failed(&found, &error.to_string()),
        };
        let mut vectors = vectors.into_iter();
        found
            .iter()
            .zip(&chosen)
            .map(|((candidates, unread), &count)| {
                let own: Vec<Vec<f32>> = vectors.by_ref().take(count).collect();
                let score = |candidate: &Candidate, at: usize| {
                    let vector = own.get(at).map(Vec::as_slice);
                    let many = candidate.matches.len() > 1;
                    head.probability(vector, candidate.rules, many, &candidate.words, candidate.place, candidate.weak())
                };
                report(candidates, *unread, Basis::Head, head.threshold, score, candidates.len() - count)
            })
            .collect()
    }
}

fn failed(found: &[(Vec<Candidate>, usize)], why: &str) -> Vec<Report> {
    found.iter().map(|(c, unread)| by_rules(c, *unread, Basis::HeadFailed(why.to_owned()))).collect()
}

fn by_rules(candidates: &[Candidate], unread: usize, basis: Basis) -> Report {
    report(candidates, unread, basis, RULES_THRESHOLD, |candidate, _| candidate.rules, 0)
}

/// How many of the candidates, sorted by their worth, are embedded.
fn chosen(candidates: &[Candidate]) -> usize {
    let mut bytes = 0;
    let fits = |candidate: &&Candidate| {
        bytes += candidate.text.len();
        bytes <= EMBEDDED_BYTES || bytes == candidate.text.len()
    };
    candidates.iter().take(EMBEDDED).take_while(fits).count()
}

fn report(
    candidates: &[Candidate],
    unread: usize,
    basis: Basis,
    threshold: f32,
    score: impl Fn(&Candidate, usize) -> f32,
    unembedded: usize,
) -> Report {
    let mut scored: Vec<(f32, &Candidate)> = candidates.iter().enumerate().map(|(at, c)| (score(c, at), c)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    let least = threshold.min(0.5);
    let mut signals = Vec::new();
    for (score, candidate) in scored.into_iter().filter(|(score, c)| *score >= least || !c.matches.is_empty()) {
        let text = candidate.text.get(..candidate.text.floor_char_boundary(QUOTED)).unwrap_or_default().to_owned();
        let signal = |family, by| {
            let (span, covert) = (candidate.span.clone(), candidate.covert);
            Signal { family, span, text: text.clone(), by, score, covert }
        };
        if candidate.matches.is_empty() {
            signals.push(signal(Family::Instruction, By::Head));
        }
        signals.extend(candidate.matches.iter().map(|m| signal(m.family, By::Rule(m.id))));
        if signals.len() >= SIGNALS {
            signals.truncate(SIGNALS);
            break;
        }
    }
    let unread_bytes = if rules::loaded() { unread } else { usize::MAX };
    Report { score: best, threshold, flagged: best >= threshold, signals, unread_bytes, unembedded, basis }
}

/// The segments of all readings that may be instructions, those of most worth first, and the bytes that were not
/// analysed. With `spared`, segments that hardly look like instructions fill what is left of the [`EMBEDDED`] places.
fn candidates(text: &str, budget: &segment::Budget, spared: bool) -> (Vec<Candidate>, usize) {
    let limit = text.floor_char_boundary(budget.bytes.min(text.len()));
    let (readings, mut unread) = reading::readings(text.get(..limit).unwrap_or_default());
    unread += text.len() - limit;
    let (mut found, mut weakest) = (Vec::new(), Vec::new());
    for reading in &readings {
        let cut = segment::segments(&reading.text, budget);
        unread += cut.unread;
        let structured = reading.text.trim_start_matches([' ', '\n', '"']).starts_with(['{', '[']);
        let (first, mut spare) = (found.len(), Vec::new());
        let (among, mut orders) = (cut.kept.len() >= 3, 0);
        for range in &cut.kept {
            let Some(raw) = reading.text.get(range.clone()) else { continue };
            let respelt = reading::respelt(raw);
            let covert = reading.covert || respelt.is_some();
            let text = respelt.as_deref().unwrap_or(raw);
            let words = directive(text);
            orders += usize::from(words.score >= 1.2);
            let matches = rules::matches(text);
            let weak = words.score < WORTH && matches.is_empty();
            if weak && (!spared || raw.len() < SPARE_BYTES) {
                continue;
            }
            let rules = rules::together(&matches);
            let place = Place { among, structured, calm: 0.0 };
            let span = reading.origin(range);
            let candidate = Candidate { span, text: text.to_owned(), words, matches, rules, place, covert };
            if weak { spare.push(candidate) } else { found.push(candidate) }
        }
        let calm = 1.0 - orders as f32 / cut.kept.len().max(1) as f32;
        found.iter_mut().skip(first).chain(&mut spare).for_each(|candidate| candidate.place.calm = calm);
        // if embeddings are left over, segments that hardly look like instructions are scored, too
        spare.sort_by(|a, b| b.worth().total_cmp(&a.worth()));
        spare.truncate(EMBEDDED);
        weakest.append(&mut spare);
    }
    found.sort_by(|a, b| b.worth().total_cmp(&a.worth()));
    weakest.sort_by(|a, b| b.worth().total_cmp(&a.worth()));
    weakest.truncate(EMBEDDED.saturating_sub(found.len()));
    found.append(&mut weakest);
    (found, unread)
}

/// The score of the rules for one segment, 0 to 1, and whether more than one rule matches. For training.
#[must_use]
pub fn rule_score(segment: &str) -> (f32, bool) {
    let matches = rules::matches(segment);
    (rules::together(&matches), matches.len() > 1)
}
