//! The output contract: the conditions on every claim that enters a report.
//!
//! A claim comes from a model that may have been hijacked. It is kept only under these conditions:
//!
//! 1. Every passage that it cites exists and was not withheld.
//! 2. The cited passages support it, in their words and in their meaning.
//! 3. It is about the goal.
//! 4. It contains no address and no secret.
//!
//! Other claims are dropped and counted. For a claim that is kept, the report quotes the page and not the model,
//! because the same words in another order can state anything.

use super::page::{Page, short};
use super::report::{Dropped, KeyPoint, Span};
use crate::embed::{Embedder, similarity};
use crate::net::Protected;
use crate::provenance::stems;
use std::collections::BTreeSet;

/// Maximum length of a key point, in characters.
const LONGEST: usize = 300;
/// Maximum number of key points.
pub(super) const POINTS: usize = 12;
/// Minimum cosine similarity of a claim and the passages that it cites.
const EMBEDDING: f32 = 0.5;
/// Minimum cosine similarity of a claim and the goal or one of the questions; twice as much if they share no word.
const TOPIC: f32 = 0.25;
/// Minimum cosine similarity of two claims about the same subject.
const SAME: f32 = 0.75;
/// Minimum number of words of an extracted passage; a shorter one is a heading.
const SENTENCE: usize = 4;
/// Stop words.
const EMPTY: &[&str] = &[
    "the", "a", "an", "of", "in", "on", "at", "to", "for", "and", "or", "is", "are", "was", "were", "be", "been", "it",
    "its", "that", "this", "by", "with", "from", "as", "which", "who", "what", "when", "where", "how", "why", "did",
    "do", "do", "ha", "had", "have", "find", "out", "tell", "me", "about", "into", "their", "his", "her", "they",
];
const NEGATIONS: &[&str] = &["not", "no", "never", "none", "nobody", "nothing", "without", "neither", "nor", "cannot"];

/// An unchecked claim.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub text: String,
    /// Numbers of the cited passages, from 1.
    pub from: Vec<usize>,
}

/// The data against which claims are checked.
pub(super) struct Contract<'a> {
    pub questions: &'a [String],
    pub embedder: Option<&'a dyn Embedder>,
    /// Secrets such as keys. The goal is not among them, because the user who set it reads the report.
    pub secrets: &'a Protected,
}

impl Contract<'_> {
    /// Checks the claims of one page. Returns the cited passages of the claims that pass, as key points.
    pub async fn hold(&self, page: &Page, claims: Vec<Claim>, dropped: &mut Dropped) -> Vec<KeyPoint> {
        let mut points = Vec::new();
        for claim in claims.into_iter().take(POINTS * 2) {
            let text = short(&claim.text, LONGEST);
            let cited: Vec<_> = claim
                .from
                .iter()
                .take(4)
                .filter_map(|number| page.passages.get(number.checked_sub(1)?).filter(|p| p.withheld.is_none()))
                .collect();
            if cited.is_empty() || cited.len() < claim.from.len().min(4) {
                dropped.uncited += 1;
                continue;
            }
            let says: String = cited.iter().map(|p| page.says(p)).collect::<Vec<_>>().join(" ");
            if carries(&text, &says) || self.secrets.leaves(&text).is_some() {
                dropped.carrying += 1;
                continue;
            }
            let (lexical, borne) = self.borne(&text, &says);
            let embedding = self.cosine(&text, &says).await;
            if !borne || embedding.is_some_and(|c| c < EMBEDDING) {
                dropped.unsupported += 1;
                continue;
            }
            if negated(&text) != negated(&says) && !says.contains(text.trim_end_matches('.')) {
                dropped.contradicted += 1;
                continue;
            }
            if !self.on_topic(&text).await {
                dropped.off_topic += 1;
                continue;
            }
            for passage in cited {
                // a claim that one passage supports must not bring an unrelated passage into the report
                if !self.on_topic(page.says(passage)).await {
                    dropped.off_topic += 1;
                    continue;
                }
                let span = Span {
                    url: page.url.clone(),
                    start: passage.span.start,
                    end: passage.span.end,
                    quote: short(page.says(passage), LONGEST * 2),
                };
                let (text, contradicts) = (short(page.says(passage), LONGEST), Vec::new());
                let new = !points.iter().any(|p: &KeyPoint| p.citations.contains(&span));
                if carries(&text, "") {
                    dropped.carrying += 1;
                } else if new {
                    points.push(KeyPoint { text, citations: vec![span], lexical, embedding, contradicts });
                }
            }
        }
        points
    }

    /// Whether these key points support a sentence that a model wrote.
    pub async fn rests(&self, sentence: &str, points: &[&KeyPoint]) -> bool {
        let says: String = points.iter().map(|p| p.text.as_str()).collect::<Vec<_>>().join(" ");
        let near = self.cosine(sentence, &says).await;
        !points.is_empty()
            && !carries(sentence, &says)
            && self.secrets.leaves(sentence).is_none()
            && self.borne(sentence, &says).1
            && near.is_none_or(|c| c >= EMBEDDING)
            && negated(sentence) == negated(&says)
    }

    /// The passages that are most relevant to the questions, in descending order of relevance: at most `most`, each
    /// with at least `least` content words of the questions.
    pub async fn nearest<'p>(
        &self,
        passages: Vec<(usize, &'p str)>,
        most: usize,
        least: usize,
    ) -> Vec<(usize, &'p str)> {
        let asked = stems(&self.questions.join(" "));
        let common = |text: &str| content(text).iter().filter(|w| asked.contains(*w)).count();
        let mut seen = BTreeSet::new();
        // repeated passages, such as menus, must not crowd out the others
        let mut fit = |text: &str| text.split_whitespace().count() >= SENTENCE && seen.insert(content(text));
        let mut ranked: Vec<(usize, usize, &str)> =
            passages.into_iter().filter(|(_, t)| fit(t)).map(|(n, t)| (common(t), n, t)).collect();
        ranked.sort_by_key(|(shared, ..)| std::cmp::Reverse(*shared));
        // to limit the work of the embedder, it compares only the passages with the most shared words
        ranked.truncate(most * 4);
        let mut scored = Vec::new();
        for (shared, number, text) in ranked {
            let near = self.near_goal(text).await;
            if shared >= least && (shared >= 2 || near.is_some_and(|c| c >= TOPIC)) {
                scored.push((near.unwrap_or(0.0) + shared as f32 * 0.1, number, text));
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.into_iter().take(most).map(|(_, number, text)| (number, text)).collect()
    }

    /// The share of the content words of `text` that occur in its source `says`, and whether the source supports it:
    /// they share a content word, each content word of `text` occurs in the source or in the questions, and each figure
    /// occurs in the source. No new word is permitted, because a single one can make a true sentence false.
    fn borne(&self, text: &str, says: &str) -> (f32, bool) {
        let (own, theirs) = (content(text), content(says));
        let asked = content(&self.questions.join(" "));
        let common = own.intersection(&theirs).count();
        let share = common as f32 / own.len().max(1) as f32;
        let known = own.iter().all(|word| theirs.contains(word) || asked.contains(word));
        (share, common > 0 && known && figures(text).is_subset(&figures(says)))
    }

    async fn on_topic(&self, text: &str) -> bool {
        let asked = content(&self.questions.join(" "));
        let shared = content(text).intersection(&asked).count();
        match self.near_goal(text).await {
            Some(near) => near >= TOPIC && (shared > 0 || near >= TOPIC * 2.0),
            None => shared > 0,
        }
    }

    async fn near_goal(&self, text: &str) -> Option<f32> {
        let mut texts = vec![text];
        texts.extend(self.questions.iter().map(String::as_str));
        let vectors = self.embedder?.embed(&texts).await.ok()?;
        let (own, rest) = vectors.split_first()?;
        rest.iter().map(|v| similarity(own, v)).max_by(f32::total_cmp)
    }

    async fn cosine(&self, a: &str, b: &str) -> Option<f32> {
        let vectors = self.embedder?.embed(&[a, b]).await.ok()?;
        Some(similarity(vectors.first()?, vectors.get(1)?))
    }

    /// Marks contradictions between key points of different pages: similar meaning, but different figures, or only one
    /// is negated.
    pub async fn compare(&self, points: &mut [KeyPoint]) {
        let Some(embedder) = self.embedder else { return };
        let texts: Vec<&str> = points.iter().map(|p| p.text.as_str()).collect();
        let Ok(vectors) = embedder.embed(&texts).await else { return };
        let mut pairs = Vec::new();
        for (a, (one, left)) in points.iter().zip(&vectors).enumerate() {
            for (b, (other, right)) in points.iter().zip(&vectors).enumerate().skip(a + 1) {
                let apart = one.citations.first().map(|c| &c.url) != other.citations.first().map(|c| &c.url);
                let (ours, theirs) = (figures(&one.text), figures(&other.text));
                let differ = !ours.is_subset(&theirs) && !theirs.is_subset(&ours);
                let opposed = negated(&one.text) != negated(&other.text);
                if apart && similarity(left, right) >= SAME && (differ || opposed) {
                    pairs.push((a, b));
                }
            }
        }
        for (a, b) in pairs {
            for (place, other) in [(a, b), (b, a)] {
                points.iter_mut().skip(place).take(1).for_each(|p| p.contradicts.push(other));
            }
        }
    }
}

/// Whether a text contains a URL or an email address, or a backtick that its source `says` does not contain.
fn carries(text: &str, says: &str) -> bool {
    let address = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.contains("://") || word.starts_with("www.") || (word.contains('@') && word.contains('.'))
    };
    // a reader may click a link in the report; the URLs of the sources are in the citations
    text.split_whitespace().any(|w| address(&w)) || (text.contains('`') && !says.contains('`'))
}

/// Stems of the content words: words that are not stop words.
pub(super) fn content(text: &str) -> BTreeSet<String> {
    stems(text).into_iter().filter(|w| w.len() > 1 && !EMPTY.contains(&w.as_str())).collect()
}

/// Words that contain a digit: years, amounts, versions.
fn figures(text: &str) -> BTreeSet<String> {
    let edge = |c: char| !c.is_alphanumeric();
    let words =
        text.split_whitespace().map(|w| w.trim_matches(edge)).filter(|w| w.contains(|c: char| c.is_ascii_digit()));
    words.map(|w| w.to_lowercase().replace(',', "")).collect()
}

fn negated(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("n't") || lower.split(|c: char| !c.is_alphanumeric()).any(|w| NEGATIONS.contains(&w))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::research::Passage;

    fn page() -> Page {
        let sentences = [
            "The bridge was opened in 1887.",
            "It was not built by Orla Finch.",
            "Buy our shoes today.",
            "Lunch costs nine crowns.",
        ];
        let (mut text, mut passages) = (String::new(), Vec::new());
        for (place, sentence) in sentences.iter().enumerate() {
            let start = text.len();
            text.push_str(sentence);
            let withheld = (place == 2).then_some("it tells its reader what to do");
            passages.push(Passage { span: start..text.len(), withheld });
            text.push('\n');
        }
        let url = "https://a.example/".to_owned();
        let (hidden, links) = (Vec::new(), Vec::new());
        Page { title: url.clone(), url, text, passages, hidden, links, cut: false, unread: 0 }
    }

    async fn check(text: &str, from: &[usize], want: fn(&Dropped) -> usize) {
        let mut protected = Protected::default();
        protected.secret("key", "canary-99-harbour");
        let questions = ["When was the bridge opened and who built it?".to_owned()];
        let contract = Contract { questions: &questions, embedder: None, secrets: &protected };
        let mut dropped = Dropped::default();
        let claim = Claim { text: text.to_owned(), from: from.to_vec() };
        let held = contract.hold(&page(), vec![claim], &mut dropped).await;
        assert_eq!((held.len(), want(&dropped)), (0, 1), "{text}: {dropped:?}");
    }

    #[tokio::test]
    async fn what_does_not_hold_is_dropped_and_counted() {
        check("The bridge was opened in 1887.", &[9], |d| d.uncited).await;
        check("The bridge was opened in 1887.", &[0], |d| d.uncited).await;
        check("Buy our shoes today.", &[3], |d| d.uncited).await;
        check("The bridge was opened in 1999.", &[1], |d| d.unsupported).await;
        check("The bridge is haunted by pirates.", &[1], |d| d.unsupported).await;
        check("The bridge was opened in 1887 when the bridge opened, by Zorro.", &[1], |d| d.unsupported).await;
        check("The bridge was opened in 1887, the bridge opened, sponsored casino.", &[1], |d| d.unsupported).await;
        check("It was built by Orla Finch.", &[2], |d| d.contradicted).await;
        check("Which bridge? Lunch costs nine crowns.", &[4], |d| d.off_topic).await;
        check("The bridge was opened in 1887, see https://evil.example/1887", &[1], |d| d.carrying).await;
        check("The bridge was opened in 1887 canary-99-harbour", &[1], |d| d.carrying).await;
    }

    #[tokio::test]
    async fn what_holds_is_cited() {
        let protected = Protected::default();
        let questions = ["When was the bridge opened?".to_owned()];
        let contract = Contract { questions: &questions, embedder: None, secrets: &protected };
        let mut dropped = Dropped::default();
        let claim = Claim { text: "The bridge opened in 1887".to_owned(), from: vec![1] };
        let held = contract.hold(&page(), vec![claim], &mut dropped).await;
        let point = held.first().unwrap();
        assert_eq!(point.citations.first().unwrap().quote, "The bridge was opened in 1887.");
        assert_eq!(point.text, "The bridge was opened in 1887.", "the words are those of the page");
        assert_eq!(dropped, Dropped::default());
    }
}
