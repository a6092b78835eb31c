//! Planner, reader and writer: three components with separate contexts.
//!
//! 1. The **planner** sees the goal and the titles of links, never a page.
//! 2. The **reader** sees the questions and the numbered, readable passages of one page, never another page or a
//!    secret.
//! 3. The **writer** sees the goal and the claims that passed the checks, never a page.
//!
//! The text of pages is passed as JSON inside a fence with a new nonce for each prompt. The components output only
//! short texts and numbers, which are untrusted in turn. Their schemas have no field for a URL or a tool. Without a
//! model, or if it fails, the passages nearest to the questions serve as claims.

use super::contract::{Claim, content};
use super::page::{Page, short};
use crate::llm::{LanguageModel, Meter, ModelError, Prompt, Schema, ask, object};
use crate::prompts::Prompts;
use crate::untrusted::{PIECE, gather};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of questions of a plan, and maximum length of a question, in characters.
const QUESTIONS: (usize, usize) = (3, 200);
/// Maximum number of titles that the planner sees.
const TITLES: usize = 30;
/// Maximum number of claims from one window of a page.
const CLAIMS: usize = 5;
/// Maximum number of windows of one page that the reader sees.
const WINDOWS: usize = 4;
/// Maximum number of sentences of a summary.
const SENTENCES: usize = 4;

/// A model with the prompts of the three components.
#[derive(Debug, Clone)]
pub struct Mind {
    model: Arc<dyn LanguageModel>,
    prompts: Prompts,
    call: Duration,
}

#[derive(Deserialize)]
pub(super) struct Plan {
    pub questions: Vec<String>,
    pub follow: Vec<usize>,
}

/// Result of reading a page.
pub(super) struct Reading {
    pub claims: Vec<Claim>,
    /// Number of readable passages that did not fit into the windows.
    pub left: usize,
    pub problem: Option<ModelError>,
}

#[derive(Deserialize)]
struct Read {
    claims: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    text: String,
    from: Vec<usize>,
}

#[derive(Deserialize)]
struct Written {
    summary: Vec<Sentence>,
}

#[derive(Deserialize)]
pub(super) struct Sentence {
    pub text: String,
    pub claims: Vec<usize>,
}

impl Mind {
    /// Combines a model with prompts.
    #[must_use]
    pub fn new(model: Arc<dyn LanguageModel>, prompts: Prompts) -> Self {
        Self { model, prompts, call: Duration::from_secs(60) }
    }

    /// Sets the time limit of one answer. Default: 60 s.
    #[must_use]
    pub fn call(mut self, time: Duration) -> Self {
        self.call = time;
        self
    }

    pub(super) fn model(&self) -> &dyn LanguageModel {
        &*self.model
    }

    /// Asks the model. Each call has a separate time limit, so that an endpoint that never answers does not use up the
    /// time of the whole run.
    async fn put<T: DeserializeOwned>(
        &self,
        meter: &Meter,
        name: &str,
        pieces: Vec<(&str, Value)>,
        form: Value,
        reply_tokens: u32,
    ) -> Result<T, ModelError> {
        let fenced = gather(pieces).map_err(|e| ModelError::Budget(format!("randomness: {e}")))?;
        let turns = self.prompts.fill(name, &[("data", &fenced.text)]);
        let turns = turns.map_err(|e| ModelError::Malformed(e.to_string()))?;
        let schema = Some(Schema { name: name.to_owned(), schema: form });
        let prompt = Prompt { turns, schema, reply_tokens, nonce: fenced.nonce };
        match tokio::time::timeout(self.call, ask(&*self.model, meter, &prompt)).await {
            Ok(answer) => answer,
            Err(_) => Err(ModelError::Timeout(self.call)),
        }
    }

    /// Asks for questions, and for the numbers (from 1) of the links to read next.
    pub(super) async fn plan(&self, meter: &Meter, goal: &str, titles: &[&str]) -> Result<Plan, ModelError> {
        let numbered: Vec<String> =
            titles.iter().take(TITLES).enumerate().map(|(n, t)| format!("{} {t}", n + 1)).collect();
        let form = object(json!({
            "questions": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": QUESTIONS.0},
            "follow": {"type": "array", "items": {"type": "integer"}, "maxItems": TITLES},
        }));
        let pieces = vec![("goal", json!(goal)), ("links", json!(numbered))];
        let mut plan: Plan = self.put(meter, "research-plan", pieces, form, 200).await?;
        plan.questions.truncate(QUESTIONS.0);
        plan.questions.iter_mut().for_each(|q| *q = short(q, QUESTIONS.1));
        plan.questions.retain(|q| !q.is_empty());
        plan.follow.retain(|n| (1..=numbered.len()).contains(n));
        Ok(plan)
    }

    /// Asks for the claims of one page about the questions. The first error ends the reading. Withheld passages are not
    /// shown.
    pub(super) async fn read_page(&self, meter: &Meter, questions: &[String], page: &Page) -> Reading {
        let form = object(json!({"claims": {"type": "array", "maxItems": CLAIMS, "items": object(json!({
            "text": {"type": "string"},
            "from": {"type": "array", "items": {"type": "integer"}, "maxItems": 4},
        }))}}));
        let (windows, left) = windows(page, questions);
        let mut reading = Reading { claims: Vec::new(), left, problem: None };
        for window in windows {
            let pieces = vec![("questions", json!(questions)), ("page", json!(window))];
            match self.put::<Read>(meter, "research-read", pieces, form.clone(), 400).await {
                Ok(read) => {
                    let claims = read.claims.into_iter().take(CLAIMS);
                    reading.claims.extend(claims.map(|c| Claim { text: c.text, from: c.from }));
                }
                Err(problem) => {
                    reading.problem = Some(problem);
                    break;
                }
            }
        }
        reading
    }

    /// Asks for the sentences of an answer, with the numbers (from 1) of the claims that support them.
    pub(super) async fn write(&self, meter: &Meter, goal: &str, claims: &[&str]) -> Result<Vec<Sentence>, ModelError> {
        let numbered: Vec<String> = claims.iter().enumerate().map(|(n, c)| format!("{} {c}", n + 1)).collect();
        let form = object(json!({"summary": {"type": "array", "maxItems": SENTENCES, "items": object(json!({
            "text": {"type": "string"},
            "claims": {"type": "array", "items": {"type": "integer"}, "maxItems": 8},
        }))}}));
        let pieces = vec![("goal", json!(goal)), ("claims", json!(numbered))];
        let mut written: Written = self.put(meter, "research-write", pieces, form, 400).await?;
        written.summary.truncate(SENTENCES);
        Ok(written.summary)
    }
}

/// Splits the readable passages of a page, numbered, into windows that fit a prompt. Returns the windows that share the
/// most content words with the questions, in the order of the page, and the number of passages in the other windows.
fn windows(page: &Page, questions: &[String]) -> (Vec<Vec<String>>, usize) {
    let (mut all, mut window, mut size) = (Vec::new(), Vec::new(), 0);
    for (number, passage) in page.readable() {
        let line = format!("{number} {}", short(page.says(passage), PIECE / 4));
        if size + line.len() > PIECE && !window.is_empty() {
            all.push(std::mem::take(&mut window));
            size = 0;
        }
        size += line.len();
        window.push(line);
    }
    all.push(window);
    let asked = content(&questions.join(" "));
    let common = |window: &Vec<String>| content(&window.join(" ")).intersection(&asked).count();
    let mut ranked: Vec<(usize, usize)> = all.iter().enumerate().map(|(at, w)| (common(w), at)).collect();
    ranked.sort_by_key(|(shared, at)| (std::cmp::Reverse(*shared), *at));
    let mut kept: Vec<usize> = ranked.into_iter().take(WINDOWS).map(|(_, at)| at).collect();
    kept.sort_unstable();
    let left = all.iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, w)| w.len()).sum();
    let chosen = kept.into_iter().filter_map(|at| all.get(at).cloned()).filter(|w| !w.is_empty());
    (chosen.collect(), left)
}
