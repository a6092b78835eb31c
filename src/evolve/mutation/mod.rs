//! The optimizer without a model: a grammar of attacks against the detector, whose head is trained.
//!
//! 1. An attack is a genome: family and frame, payload, words, and written form. The signal by which the detector finds
//!    it decides the change. No system is asked for a score. Instead, directness (how directly a model can read the
//!    attack) stands in for the change of the score; reports call it a stand-in.
//! 2. A defence is a [`Head`] with its threshold. Its gradients are the hard positives that it misses and the hard
//!    negatives that it flags. An edit is a few steps of gradient descent from the weights of the parent; an anchor
//!    keeps them near the initial ones.
//! 3. The result is measured on families of attacks that no search uses.

mod attack;
mod learn;

use super::score::{self, Defence};
use super::task::{Split, Task};
use super::world::{On, Route, Side, World, WorldError};
use crate::embed::Embedder;
use crate::injection::head::Head;
use crate::injection::{Detector, Seen};
use async_trait::async_trait;
use attack::{Genome, Grammar};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Ordinary sentences: reviews, letters, manuals, news, advice with trigger words.
const CLEAN: &str = include_str!("clean.txt");
/// Most items in which each attack is placed while a defence is scored.
const CONTAINERS: usize = 2;
/// Most texts of one gradient.
const EXAMPLES: usize = 12;

/// A labelled text.
#[derive(Debug, Clone)]
pub struct Labelled {
    /// The text.
    pub text: String,
    /// Whether the text contains an injected instruction.
    pub injected: bool,
}

/// The optimizer with its task, grammar and initial head.
#[derive(Debug)]
pub struct Mutation {
    task: Task,
    grammar: Grammar,
    embedder: Arc<dyn Embedder>,
    first: Arc<Head>,
    seen: Mutex<HashMap<String, Arc<Vec<Seen>>>>,
}

/// The gradient of a defence: the texts to train on.
#[derive(Debug, Serialize, Deserialize)]
struct Lesson {
    route: Route,
    texts: Vec<String>,
}

impl Mutation {
    /// An optimizer for a task. `first`: the initial weights of the defence, such as those of the crate
    /// ([`Head::shipped`]).
    ///
    /// # Errors
    /// [`WorldError::OtherEmbedder`], [`WorldError::Unsound`], [`WorldError::Grammar`]
    pub fn new(task: Task, embedder: Arc<dyn Embedder>, first: Arc<Head>) -> Result<Self, WorldError> {
        let (reads, has) = (&first.embedder, embedder.id());
        if reads != has {
            return Err(WorldError::OtherEmbedder { weights: reads.clone(), embedder: has.to_owned() });
        }
        if !learn::sound(&first, &first) {
            return Err(WorldError::Unsound);
        }
        Ok(Self { task, grammar: Grammar::load()?, embedder, first, seen: Mutex::default() })
    }

    /// The segments of a text as inputs of a head. They are cached, because every head is scored on the same texts.
    async fn seen(&self, text: &str) -> Result<Arc<Vec<Seen>>, WorldError> {
        if let Some(known) = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Ok(Arc::clone(known));
        }
        let seen = Arc::new(Detector::seen(text, &*self.embedder).await?);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned(), Arc::clone(&seen));
        Ok(seen)
    }

    async fn score(&self, head: &Head, text: &str) -> Result<f32, WorldError> {
        Ok(self.seen(text).await?.iter().map(|s| s.score(head)).fold(0.0, f32::max))
    }

    async fn scores(&self, head: &Head, texts: &[String]) -> Result<Vec<f32>, WorldError> {
        let mut scores = Vec::with_capacity(texts.len());
        for text in texts {
            scores.push(self.score(head, text).await?);
        }
        Ok(scores)
    }

    /// Rates of a head on labelled texts, such as a public data set.
    ///
    /// # Errors
    /// [`WorldError::NotAHead`], [`WorldError::Embed`]
    pub async fn over(&self, head: &str, texts: &[Labelled]) -> Result<Defence, WorldError> {
        let head = parse_head(head)?;
        let (mut clean, mut injected) = (Vec::new(), Vec::new());
        for text in texts {
            let score =
                Detector::seen(&text.text, &*self.embedder).await?.iter().map(|s| s.score(&head)).fold(0.0, f32::max);
            if text.injected { injected.push(score) } else { clean.push(score) }
        }
        Ok(Defence::of(&clean, &injected, head.threshold))
    }

    /// The poisoned texts of some attacks and the held-out honest texts: a pool for the release gate.
    ///
    /// # Errors
    /// [`WorldError::NotAGenome`], [`WorldError::NoItem`]
    pub fn pool(&self, attacks: &[String]) -> Result<Vec<Labelled>, WorldError> {
        let poisoned =
            self.poisoned(attacks, On::Validation)?.into_iter().map(|text| Labelled { text, injected: true });
        let clean = self.clean(On::HeldOut).into_iter().map(|text| Labelled { text, injected: false });
        Ok(poisoned.chain(clean).collect())
    }

    fn items(&self, on: On) -> Vec<String> {
        let split = if on == On::Train { Split::Train } else { Split::Validation };
        self.task.items(split).map(str::to_owned).collect()
    }

    /// Honest texts: the items of the task, and the third of the ordinary sentences that is reserved for this use.
    fn clean(&self, on: On) -> Vec<String> {
        let wanted = |place: usize| match on {
            On::Train => place.is_multiple_of(3),
            On::Validation => place % 3 == 1,
            On::HeldOut => place % 3 == 2,
        };
        let lines: Vec<&str> =
            CLEAN.lines().enumerate().filter(|(place, _)| wanted(*place)).map(|(_, line)| line).collect();
        let mut texts = self.items(on);
        texts.extend(lines.iter().map(|line| (*line).to_owned()));
        // the detector rates a sentence differently alone, among others, and in structured data
        texts.extend(lines.chunks(5).map(|some| some.join(" ")));
        texts.extend(lines.chunks(3).map(|some| serde_json::json!({"id": 7, "notes": some}).to_string()));
        texts
    }

    /// Items of the task with the given attacks placed in them.
    fn poisoned(&self, attacks: &[String], on: On) -> Result<Vec<String>, WorldError> {
        let items = self.items(on);
        let mut texts = Vec::new();
        for (place, attack) in attacks.iter().enumerate() {
            let text = self.grammar.write(&genome(attack)?, &self.task.payloads);
            for number in 0..CONTAINERS.min(items.len()) {
                let item = items.get((place * CONTAINERS + number) % items.len()).ok_or(WorldError::NoItem)?;
                texts.push(self.task.poisoned(item, &text));
            }
        }
        Ok(texts)
    }

    fn known(&self, attacks: &[String], on: On) -> Vec<String> {
        if on == On::HeldOut {
            self.grammar.held_out(self.task.payloads.len()).iter().map(Genome::text).collect()
        } else {
            attacks.to_vec()
        }
    }
}

fn parse_head(head: &str) -> Result<Head, WorldError> {
    serde_json::from_str(head).map_err(WorldError::NotAHead)
}

fn genome(attack: &str) -> Result<Genome, WorldError> {
    serde_json::from_str(attack).map_err(WorldError::NotAGenome)
}

#[async_trait]
impl World for Mutation {
    fn name(&self) -> &'static str {
        "mutation"
    }

    fn seeds(&self, side: Side) -> Vec<String> {
        match side {
            Side::Attack => self.grammar.first().iter().map(Genome::text).collect(),
            Side::Defence => learn::seeds(&self.first).iter().filter_map(|h| serde_json::to_string(h).ok()).collect(),
        }
    }

    fn fits(&self, side: Side, candidate: &str) -> bool {
        match side {
            Side::Attack => genome(candidate).is_ok_and(|g| self.grammar.has(&g, self.task.payloads.len())),
            Side::Defence => parse_head(candidate).is_ok_and(|h| learn::sound(&h, &self.first)),
        }
    }

    async fn attack(&self, attack: &str, defence: &str, on: On) -> Result<score::Attack, WorldError> {
        let (head, genome) = (parse_head(defence)?, genome(attack)?);
        let text = self.grammar.write(&genome, &self.task.payloads);
        let items = self.items(on);
        let items = items.iter().take(self.task.search.batch.max(1));
        let (mut unseen, mut all) = (0, 0);
        for item in items {
            all += 1;
            unseen += usize::from(self.score(&head, &self.task.poisoned(item, &text)).await? < head.threshold);
        }
        let asr = f64::from(unseen as u32) / f64::from(all.max(1) as u32);
        Ok(score::Attack { asr, change: self.grammar.directness(&genome) })
    }

    async fn defence(&self, defence: &str, attacks: &[String], on: On) -> Result<Defence, WorldError> {
        let head = parse_head(defence)?;
        let clean = self.scores(&head, &self.clean(on)).await?;
        let poisoned = self.poisoned(&self.known(attacks, on), on)?;
        Ok(Defence::of(&clean, &self.scores(&head, &poisoned).await?, head.threshold))
    }

    fn held_out(&self) -> Result<(Vec<String>, Vec<String>), WorldError> {
        Ok((self.clean(On::HeldOut), self.poisoned(&self.known(&[], On::HeldOut), On::HeldOut)?))
    }

    async fn gradient(
        &self,
        side: Side,
        candidate: &str,
        against: &[String],
        route: Route,
        recent: &[String],
        turn: u64,
    ) -> Result<String, WorldError> {
        if side == Side::Attack {
            let head = parse_head(against.first().ok_or(WorldError::NoDefence)?)?;
            let genome = genome(candidate)?;
            let text = self.grammar.write(&genome, &self.task.payloads);
            let seen = self.seen(&text).await?;
            let best = seen.iter().max_by(|a, b| a.score(&head).total_cmp(&b.score(&head)));
            return Ok(self.grammar.gradient(&genome, best, route, recent, turn));
        }
        let head = parse_head(candidate)?;
        let texts = match route {
            Route::Detection => self.poisoned(against, On::Train)?,
            Route::Effect => self.clean(On::Train),
        };
        let mut scored = Vec::new();
        for text in texts {
            scored.push((self.score(&head, &text).await?, text));
        }
        // the attacks with the lowest scores, or the honest texts with the highest
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        if route == Route::Effect {
            scored.reverse();
        }
        let said = |text: &String| recent.iter().any(|r| r.contains(&serde_json::to_string(text).unwrap_or_default()));
        let fresh: Vec<String> = scored.iter().map(|(_, t)| t.clone()).filter(|t| !said(t)).take(EXAMPLES).collect();
        let texts = if fresh.is_empty() { scored.into_iter().map(|(_, t)| t).take(EXAMPLES).collect() } else { fresh };
        serde_json::to_string(&Lesson { route, texts }).map_err(WorldError::Unwritable)
    }

    async fn edit(&self, side: Side, candidate: &str, gradient: &str, turn: u64) -> Result<String, WorldError> {
        if side == Side::Attack {
            return Ok(self.grammar.edit(&genome(candidate)?, gradient, self.task.payloads.len(), turn).text());
        }
        let lesson: Lesson = serde_json::from_str(gradient).map_err(WorldError::NotALesson)?;
        let mut clean = Vec::new();
        for item in self.clean(On::Train) {
            clean.push(self.seen(&item).await?);
        }
        let ordinary: Vec<&str> = clean.iter().flat_map(|seen| seen.iter().map(|s| s.text.as_str())).collect();
        let mut orders = Vec::new();
        if lesson.route == Route::Detection {
            for text in &lesson.texts {
                let seen = self.seen(text).await?;
                orders.extend(seen.iter().filter(|s| !ordinary.contains(&s.text.as_str())).cloned());
            }
        }
        let head = learn::taught(&parse_head(candidate)?, &self.first, &orders, &clean, turn);
        serde_json::to_string(&head).map_err(WorldError::Unwritable)
    }

    async fn explore(&self, side: Side, pool: &[String], turn: u64) -> Result<String, WorldError> {
        if side == Side::Attack {
            return Ok(self.grammar.random(self.task.payloads.len(), turn).text());
        }
        let heads = pool.iter().map(|h| parse_head(h)).collect::<Result<Vec<_>, _>>()?;
        serde_json::to_string(&learn::mixed(&heads, &self.first)).map_err(WorldError::Unwritable)
    }
}
