//! The injection detector: finds instructions to an agent in text that the user did not write.
//!
//! 1. A text is read in every way that it can be ([`crate::canonical::mapped`], encodings, hidden HTML, ROT13,
//!    leetspeak), each with its way back to the text as it came.
//! 2. Each reading is cut into segments; rules and words say which of them look like orders.
//! 3. The few that look most like it are embedded, and a trained head weighs all that is known about each.
//! 4. The text's score is that of its worst segment. It is a signal, not a verdict: provenance decides.
//!
//! What was not read is in the report, and never counts as clean. Work is linear in the text, and bounded.

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

/// Segments of one text that are embedded.
pub const EMBEDDED: usize = 3;
/// Bytes of them together; a segment is about 4 ms, and longer ones cost more.
const EMBEDDED_BYTES: usize = 560;
/// From this score on the rules alone flag a text.
pub const RULES_THRESHOLD: f32 = 0.7;
/// Bytes of the shortest segment that is embedded though it hardly looks like an order.
const SPARE_BYTES: usize = 24;
/// A segment with less is embedded only where there is room.
const WORTH: f32 = 0.8;
/// Signals in one report; one with so many may have left some out.
pub const SIGNALS: usize = 16;
/// Bytes of a signal's text.
const QUOTED: usize = 400;

/// What kind of instruction a signal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Family {
    /// Sets earlier instructions aside.
    #[serde(alias = "override")]
    Override,
    /// Gives the reader another role, or takes its limits away.
    Role,
    /// Orders the use of a tool or an account.
    #[serde(alias = "tool order")]
    ToolOrder,
    /// Wants something secret told or sent.
    Exfiltration,
    /// Dictates the answer.
    #[serde(alias = "dictation")]
    AnswerDictation,
    /// Presses by urgency or claimed authority.
    #[serde(alias = "urgency")]
    UrgencyAuthority,
    /// Imitates the markup of a system prompt, a tool or the end of the data.
    #[serde(alias = "fake block")]
    FakeBlock,
    /// Imitates or changes a tool call or a schema.
    #[serde(alias = "schema")]
    SchemaManipulation,
    /// An instruction of no particular family, found by the head.
    Instruction,
}

impl Family {
    /// The name in reports.
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

/// Who raised a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The rule of that id.
    Rule(&'static str),
    /// The trained head.
    Head,
}

/// One thing that looks like an instruction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Signal {
    /// Its kind.
    pub family: Family,
    /// Where it is, in bytes of the text as it came.
    pub span: Range<usize>,
    /// The sentence that orders, as it is to be read: decoded, in canonical form, at most 400 bytes.
    pub text: String,
    /// Who says so.
    pub by: By,
    /// How likely the sentence is an instruction, 0 to 1.
    pub score: f32,
    /// The text hid it from people.
    pub covert: bool,
}

/// What a report rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Rules alone, as asked.
    Rules,
    /// Rules and the head.
    Head,
    /// Rules alone, because the head could not be used; why.
    HeadFailed(String),
}

/// What was found in one text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// How likely the text holds an instruction to its reader, 0 to 1.
    pub score: f32,
    /// From this score on a text is flagged: that of the head, or of the rules where they are all there is.
    pub threshold: f32,
    /// The score reaches the threshold.
    pub flagged: bool,
    /// What was found, the strongest first, at most 16.
    pub signals: Vec<Signal>,
    /// Bytes of the text, or of what it encodes or hides, that were not read. Not clean: unknown.
    pub unread_bytes: usize,
    /// Segments that look like orders and were judged without their embedding, since only a few are embedded.
    pub unembedded: usize,
    /// What it rests on.
    pub basis: Basis,
}

impl Report {
    /// Nothing was found and everything was read.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.flagged && self.unread_bytes == 0
    }
}

/// A segment that may be an order.
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
    /// It hardly looks like an order.
    fn weak(&self) -> bool {
        self.words.score < WORTH && self.matches.is_empty()
    }

    /// How much it deserves one of the few embeddings.
    fn worth(&self) -> f32 {
        self.words.score + if self.matches.is_empty() { 0.0 } else { 3.0 } + if self.covert { 1.0 } else { 0.0 }
    }
}

/// A segment as a head sees it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// What it says, in canonical form.
    pub text: String,
    /// Its embedding, if it has one.
    pub vector: Option<Vec<f32>>,
    /// What the rules say, 0 to 1.
    pub rules: f32,
    /// More than one rule matches.
    pub many: bool,
    /// What its words say.
    pub words: Directive,
    /// Where it stands.
    pub place: Place,
    /// It hardly looks like an order: only a head that says so weighs it.
    pub weak: bool,
}

impl Seen {
    /// How likely it is an injected instruction, by some head.
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
    /// Rules and words only.
    #[must_use]
    pub fn rules() -> Self {
        Self { head: None, refused: None, budget: segment::Budget::default() }
    }

    /// With the trained head over the vectors of `embedder`. If the weights do not belong to that embedder, reports
    /// rest on rules alone and say so.
    #[must_use]
    pub fn with_head(embedder: Arc<dyn Embedder>) -> Self {
        match Head::shipped() {
            Some(head) => Self::with_weights(embedder, head),
            None => {
                let refused = Some("the weights of the head could not be read".to_owned());
                Self { head: None, refused, budget: segment::Budget::default() }
            }
        }
    }

    /// With these weights instead of the shipped ones.
    #[must_use]
    pub fn with_weights(embedder: Arc<dyn Embedder>, head: Arc<Head>) -> Self {
        let (head, refused) = if head.embedder == embedder.id() {
            (Some((embedder, head)), None)
        } else {
            (None, Some(format!("the head reads vectors of {}, not of {}", head.embedder, embedder.id())))
        };
        Self { head, refused, budget: segment::Budget::default() }
    }

    /// What a head sees of a text: each segment that may be an order, with its vector if it is one of the few that are
    /// embedded. The text's score under any head is the best [`Seen::score`].
    ///
    /// # Errors
    /// If there is no embedding.
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

    /// What the rules and the words alone say of a text; linear in its size.
    #[must_use]
    pub fn scan(&self, text: &str) -> Report {
        let (candidates, unread) = candidates(text, &self.budget, false);
        report(&candidates, unread, Basis::Rules, RULES_THRESHOLD, |candidate, _| candidate.rules, 0)
    }

    /// What is found in each text. At most a few segments of each are embedded. If there is no embedding, the reports
    /// rest on rules alone and say why: this does not fail.
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
            Ok(_) => return failed(&found, "not one vector for each segment"),
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

/// How many of the candidates, which are in order of their worth, are embedded.
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

/// The segments of all readings that may be orders, the worthiest first, and the bytes that were not read. `spared`: where
/// there is room, segments that hardly look like orders, too.
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
        // where there is room for an embedding, what hardly looks like an order is weighed, too
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

/// What the rules say of one segment, 0 to 1, and whether more than one matches: for training.
#[must_use]
pub fn rule_score(segment: &str) -> (f32, bool) {
    let matches = rules::matches(segment);
    (rules::together(&matches), matches.len() > 1)
}
