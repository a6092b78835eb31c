//! The inner loop: gradients, edits, exploration, and the pool of the best.

use super::store::{FolderError, Store, key};
use super::world::{On, Route, Side, World, WorldError};
use super::{Round, Settings, score};
use crate::llm::ModelError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Instant;

/// Most earlier gradients of a candidate that the optimizer sees.
const BUFFER: usize = 6;

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvolveError {
    /// A score cannot be computed.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The optimizer failed to make a proposal; the run can be resumed.
    #[error("the run stopped, and can be resumed")]
    Stopped(#[source] WorldError),
    /// The folder of the run cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Rates of a candidate on training items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scores {
    /// Rates of an attack.
    Attack(score::Attack),
    /// Rates of a defence.
    Defence(score::Defence),
}

/// One candidate of a side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Hash of its side and text, 12 characters.
    pub id: String,
    /// The side of the candidate.
    pub side: Side,
    /// The candidate itself, in the notation of the optimizer.
    pub text: String,
    /// Id of the candidate that was edited; `None` for an initial candidate or an exploration.
    pub parent: Option<String>,
    /// The gradient of the edit; empty for an initial candidate or an exploration.
    pub gradient: String,
    /// The round in which it was made.
    pub round: usize,
    /// Rates on training items. In a pool they are measured again each round; in the lineage they stay.
    pub scores: Scores,
    /// Weighted sum of the rates.
    pub score: f64,
}

/// The best candidates of a side, and all candidates so far.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub candidates: Vec<Candidate>,
    pub all: Vec<Candidate>,
    recent: HashMap<String, Vec<String>>,
}

impl Pool {
    /// Remembers a gradient of a candidate, so that later gradients differ from it.
    fn remember(&mut self, candidate: &str, gradient: &str) {
        let recent = self.recent.entry(candidate.to_owned()).or_default();
        recent.push(gradient.to_owned());
        if recent.len() > BUFFER {
            recent.remove(0);
        }
    }
}

/// The environment of the inner loop.
pub(super) struct Inner<'a> {
    pub world: &'a dyn World,
    pub settings: &'a Settings,
    pub store: &'a Store,
    pub told: &'a (dyn Fn(&str) + Sync),
}

impl Inner<'_> {
    /// Improves one side against the other.
    pub async fn improve(
        &self,
        side: Side,
        pool: &mut Pool,
        against: &[String],
        round: usize,
    ) -> Result<(), EvolveError> {
        self.begin(side, pool, against, round).await?;
        let routes = if self.settings.routes { &Route::ALL[..] } else { &Route::ALL[..1] };
        for step in 0..self.settings.inner {
            for (place, parent) in pool.candidates.clone().into_iter().enumerate() {
                for (number, route) in routes.iter().enumerate() {
                    let turn = turn(self.settings.seed, side, round, step, place * 2 + number);
                    let recent = match self.settings.buffer {
                        true => pool.recent.get(&parent.id).cloned().unwrap_or_default(),
                        false => Vec::new(),
                    };
                    let Some(gradient) = self.gradient(side, &parent.text, against, *route, &recent, turn).await?
                    else {
                        continue;
                    };
                    pool.remember(&parent.id, &gradient);
                    let question = [&turn.to_string(), parent.text.as_str(), gradient.as_str()];
                    let edited =
                        self.proposed(side, "edit", &question, || self.world.edit(side, &parent.text, &gradient, turn));
                    if let Some(text) = edited.await? {
                        self.add(side, pool, text, Some(parent.id.clone()), gradient, against, round).await?;
                    }
                }
            }
            let turn = turn(self.settings.seed, side, round, step, usize::MAX);
            let texts: Vec<String> = pool.candidates.iter().map(|c| c.text.clone()).collect();
            let question = [turn.to_string(), texts.join("\u{0}")];
            let question = question.each_ref().map(String::as_str);
            let explored = self.proposed(side, "explore", &question, || self.world.explore(side, &texts, turn));
            if let Some(text) = explored.await? {
                self.add(side, pool, text, None, String::new(), against, round).await?;
            }
            self.cut(pool);
            let best = pool.candidates.first().map_or(0.0, |c| c.score);
            (self.told)(&format!(
                "round {round}, {side:?}, step {}: best {best:.3} of {} candidates, {} model calls",
                step + 1,
                pool.all.len(),
                self.world.model_calls()
            ));
        }
        Ok(())
    }

    /// Fills an empty pool with the initial candidates. Scores the candidates of any other pool again, because the
    /// other side has changed.
    async fn begin(&self, side: Side, pool: &mut Pool, against: &[String], round: usize) -> Result<(), EvolveError> {
        if pool.candidates.is_empty() {
            for seed in self.world.seeds(side) {
                self.add(side, pool, seed, None, String::new(), against, round).await?;
            }
        } else {
            for candidate in &mut pool.candidates {
                let (scores, score) = self.scored(side, &candidate.text, against).await?;
                candidate.scores = scores;
                candidate.score = score;
            }
        }
        self.cut(pool);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    async fn add(
        &self,
        side: Side,
        pool: &mut Pool,
        text: String,
        parent: Option<String>,
        gradient: String,
        against: &[String],
        round: usize,
    ) -> Result<(), EvolveError> {
        // a candidate without its slots, or already in the pool, is never scored
        if !self.world.fits(side, &text) || pool.candidates.iter().any(|c| c.text == text) {
            return Ok(());
        }
        let (scores, score) = self.scored(side, &text, against).await?;
        let id: String = key(&[&format!("{side:?}"), &text]).chars().take(12).collect();
        let candidate = Candidate { id, side, text, parent, gradient, round, scores, score };
        pool.all.push(candidate.clone());
        pool.candidates.push(candidate);
        Ok(())
    }

    fn cut(&self, pool: &mut Pool) {
        // the sort is stable: of equal scores the older candidate comes first, so the order is deterministic
        pool.candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        pool.candidates.truncate(self.settings.pool.max(1));
    }

    async fn scored(&self, side: Side, text: &str, against: &[String]) -> Result<(Scores, f64), EvolveError> {
        let weights = &self.settings.weights;
        Ok(match side {
            Side::Attack => {
                let defence = against.first().map(String::as_str).unwrap_or_default();
                let scores = self.attack(text, defence, On::Train).await?;
                (Scores::Attack(scores), scores.score(weights))
            }
            Side::Defence => {
                let scores = self.defence(text, against, On::Train).await?;
                // a defence with scores is judged by the mean of its detection rate and the rate at 1 % false positives
                let tpr = scores.tpr_at_1pct_fpr.map_or(scores.tpr, |strict| f64::midpoint(scores.tpr, strict));
                (Scores::Defence(scores), score::Defence { tpr, ..scores }.score(weights))
            }
        })
    }

    /// The best candidate of a pool on validation items, which the search has not seen.
    pub async fn chosen(&self, side: Side, pool: &Pool, against: &[String]) -> Result<Option<String>, EvolveError> {
        let weights = &self.settings.weights;
        let mut best: Option<(f64, String)> = None;
        for candidate in &pool.candidates {
            let score = match side {
                Side::Attack => {
                    let defence = against.first().map(String::as_str).unwrap_or_default();
                    self.attack(&candidate.text, defence, On::Validation).await?.score(weights)
                }
                Side::Defence => self.defence(&candidate.text, against, On::Validation).await?.score(weights),
            };
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                best = Some((score, candidate.text.clone()));
            }
        }
        Ok(best.map(|(_, text)| text))
    }

    /// The figures of a round.
    pub async fn round(
        &self,
        round: usize,
        attack: &str,
        before: &str,
        defence: &str,
        known: &[String],
        started: Instant,
    ) -> Result<Round, EvolveError> {
        let attacked = self.attack(attack, before, On::Validation).await?;
        let defended = self.defence(defence, known, On::Validation).await?;
        Ok(Round {
            round,
            attack_score: attacked.score(&self.settings.weights),
            asr: attacked.asr,
            change: attacked.change,
            tpr: defended.tpr,
            tnr: defended.tnr,
            tpr_at_1pct_fpr: defended.tpr_at_1pct_fpr,
            wall_s: started.elapsed().as_secs_f64(),
        })
    }

    pub async fn attack(&self, attack: &str, defence: &str, on: On) -> Result<score::Attack, EvolveError> {
        let key = key(&["attack", attack, defence, &format!("{on:?}")]);
        self.once(&key, "attack-score", || self.world.attack(attack, defence, on)).await
    }

    pub async fn defence(&self, defence: &str, attacks: &[String], on: On) -> Result<score::Defence, EvolveError> {
        let mut parts = vec!["defence", defence];
        parts.extend(attacks.iter().map(String::as_str));
        let on_text = format!("{on:?}");
        parts.push(&on_text);
        self.once(&key(&parts), "defence-score", || self.world.defence(defence, attacks, on)).await
    }

    async fn gradient(
        &self,
        side: Side,
        candidate: &str,
        against: &[String],
        route: Route,
        recent: &[String],
        turn: u64,
    ) -> Result<Option<String>, EvolveError> {
        let question = [&turn.to_string(), candidate, &format!("{route:?}")];
        self.proposed(side, "gradient", &question, || {
            self.world.gradient(side, candidate, against, route, recent, turn)
        })
        .await
    }

    /// A proposal of the optimizer. An unreadable reply is reported and stored as no proposal, so that the run goes on
    /// without it.
    async fn proposed<F: Future<Output = Result<String, WorldError>>>(
        &self,
        side: Side,
        kind: &str,
        question: &[&str],
        ask: impl FnOnce() -> F,
    ) -> Result<Option<String>, EvolveError> {
        let side = format!("{side:?}");
        let mut parts = vec![kind, side.as_str()];
        parts.extend(question);
        let key = key(&parts);
        if let Some(known) = self.store.known::<Option<String>>(&key) {
            return Ok(known);
        }
        let answer = match ask().await {
            Ok(text) if !text.trim().is_empty() => Some(text),
            Ok(_) => None,
            Err(WorldError::Model(problem @ ModelError::Malformed(_))) => {
                (self.told)(&format!("{kind}: {problem}"));
                None
            }
            // a retry may succeed, so the failure is not stored
            Err(problem) => return Err(EvolveError::Stopped(problem)),
        };
        self.store.keep(&key, kind, &answer)?;
        Ok(answer)
    }

    async fn once<T: Serialize + DeserializeOwned, F: Future<Output = Result<T, WorldError>>>(
        &self,
        key: &str,
        kind: &str,
        ask: impl FnOnce() -> F,
    ) -> Result<T, EvolveError> {
        if let Some(known) = self.store.known(key) {
            return Ok(known);
        }
        let answer = ask().await?;
        self.store.keep(key, kind, &answer)?;
        Ok(answer)
    }
}

/// The seed of one proposal, derived from its position in the run.
fn turn(seed: u64, side: Side, round: usize, step: usize, place: usize) -> u64 {
    let text = key(&[&seed.to_string(), &format!("{side:?} {round} {step} {place}")]);
    u64::from_str_radix(text.get(..15).unwrap_or_default(), 16).unwrap_or(seed)
}
