//! AEGIS (arXiv 2509.00088): attacks and defences that evolve against each other.
//!
//! 1. Outer loop: the attacker improves against the best defence, then the defender against the attacks found so far,
//!    until neither gets better or the rounds are used up.
//! 2. Inner loop (TGO+): each candidate of the pool is given gradients along two routes (not seen / effective; sees
//!    attacks / lets honest texts pass), what its earlier gradients said is shown so that they differ (buffer), the
//!    candidate is edited along each, one more candidate is an exploration, and the best stay.
//! 3. The best of a pool is chosen on items that the search has not seen.
//! 4. Behind the loop stands a [`World`]: [`model`] asks a language model for gradients, edits and judgements;
//!    [`mutation`] needs none: a grammar of attacks against the detector, whose head learns.
//! 5. Each answer is kept in the run's folder ([`store`]): a run that was killed goes on, and ends the same.

pub mod heuristics;
mod inner;
pub mod model;
pub mod mutation;
pub mod report;
pub mod score;
pub mod store;
pub mod task;
mod world;

pub use inner::{Candidate, EvolveError, Scores};
pub use world::{On, Route, Side, World, WorldError};

use inner::{Inner, Pool};
use serde::Serialize;
use std::time::Instant;
use store::Store;
use task::Task;

/// How a run goes.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Rounds at most; default 8.
    pub rounds: usize,
    /// Steps of each inner loop; default 8.
    pub inner: usize,
    /// Candidates that are kept of each side.
    pub pool: usize,
    /// Rounds without an improvement of either side after which it ends.
    pub patience: usize,
    /// Of the scores.
    pub weights: score::Weights,
    /// All that is random depends on it.
    pub seed: u64,
    /// Earlier gradients of a candidate are shown, so that new ones differ (ablation).
    pub buffer: bool,
    /// Both routes; else the first alone (ablation).
    pub routes: bool,
    /// Which sides evolve (ablation): both, or one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Side>,
}

impl Settings {
    /// The published defaults with the sizes of a task.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        let (pool, patience) = (task.search.pool, task.search.patience);
        Self {
            rounds: 8,
            inner: 8,
            pool,
            patience,
            weights: task.weights,
            seed: 1,
            buffer: true,
            routes: true,
            only: None,
        }
    }
}

/// One round, measured on validation items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// 0 is before evolution.
    pub round: usize,
    /// Weighted sum of what the best attack achieves against the best defence of the round before.
    pub attack_score: f64,
    /// Share of the items in which the defence does not see it.
    pub asr: f64,
    /// Relative score change of it.
    pub change: f64,
    /// Share of the poisoned texts of the attacks so far that the best defence sees.
    pub tpr: f64,
    /// Share of the honest texts that it lets pass.
    pub tnr: f64,
    /// Share of the poisoned texts above what one in a hundred honest ones reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpr_at_1pct_fpr: Option<f64>,
    /// Seconds since the run began; not the same in two runs.
    pub wall_s: f64,
}

/// Before and after, on what no search has seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldOut {
    /// The hand-made or shipped defence.
    pub before: score::Defence,
    /// The evolved one.
    pub after: score::Defence,
    /// A list of phrases, to compare with ([`heuristics`]).
    pub heuristics: score::Defence,
}

/// What came of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// `model` or `mutation`.
    pub optimizer: &'static str,
    /// Round by round.
    pub rounds: Vec<Round>,
    /// On what no search has seen.
    pub held_out: HeldOut,
    /// Wall time, seconds.
    pub wall_s: f64,
    /// Calls of a model.
    pub model_calls: u64,
}

/// A run's summary, and its final pools, the best first.
#[derive(Debug, Clone)]
pub struct Evolved {
    /// Figures.
    pub summary: Summary,
    /// Attacks.
    pub attacks: Vec<Candidate>,
    /// Defences.
    pub defences: Vec<Candidate>,
    /// Every candidate there was: the lineage.
    pub lineage: Vec<Candidate>,
}

/// Runs the loop. `told` hears one line about each step.
///
/// # Errors
/// [`EvolveError`]
pub async fn evolve(
    world: &dyn World,
    settings: &Settings,
    store: &Store,
    told: &(dyn Fn(&str) + Sync),
) -> Result<Evolved, EvolveError> {
    let started = Instant::now();
    let inner = Inner { world, settings, store, told };
    let mut attacks = Pool::default();
    let mut defences = Pool::default();
    let first = |side| world.seeds(side).into_iter().next().unwrap_or_default();
    let (shipped, mut best_attack) = (first(Side::Defence), first(Side::Attack));
    let mut best_defence = shipped.clone();
    // attacks that were once the best: a defence must not forget them
    let mut known: Vec<String> = world.seeds(Side::Attack);
    let mut rounds = vec![inner.round(0, &best_attack, &best_defence, &best_defence, &known, started).await?];
    let (mut best, mut idle) = ((f64::MIN, f64::MIN), 0);
    for round in 1..=settings.rounds {
        let before = best_defence.clone();
        if settings.only != Some(Side::Defence) {
            inner.improve(Side::Attack, &mut attacks, std::slice::from_ref(&best_defence), round).await?;
            if let Some(chosen) = inner.chosen(Side::Attack, &attacks, std::slice::from_ref(&best_defence)).await? {
                best_attack = chosen;
            }
            for candidate in &attacks.candidates {
                if !known.contains(&candidate.text) {
                    known.push(candidate.text.clone());
                }
            }
        }
        if settings.only != Some(Side::Attack) {
            inner.improve(Side::Defence, &mut defences, &known, round).await?;
            if let Some(chosen) = inner.chosen(Side::Defence, &defences, &known).await? {
                best_defence = chosen;
            }
        }
        let measured = inner.round(round, &best_attack, &before, &best_defence, &known, started).await?;
        let scores = (measured.attack_score, (measured.tpr + measured.tnr) / 2.0);
        told(&format!(
            "round {round}: attack {:.2} (unseen {:.2}), defence sees {:.2}, lets pass {:.2}",
            measured.attack_score, measured.asr, measured.tpr, measured.tnr
        ));
        rounds.push(measured);
        idle = if scores.0 > best.0 || scores.1 > best.1 { 0 } else { idle + 1 };
        best = (best.0.max(scores.0), best.1.max(scores.1));
        if idle >= settings.patience {
            told("neither side gets better");
            break;
        }
    }
    let held_out = held_out(&inner, &shipped, &best_defence).await?;
    // the one that was chosen stands first
    defences.candidates.sort_by_key(|c| c.text != best_defence);
    attacks.candidates.sort_by_key(|c| c.text != best_attack);
    let mut lineage = attacks.all.clone();
    lineage.extend(defences.all.iter().cloned());
    let wall_s = started.elapsed().as_secs_f64();
    let summary = Summary { optimizer: world.name(), rounds, held_out, wall_s, model_calls: world.model_calls() };
    Ok(Evolved { summary, attacks: attacks.candidates, defences: defences.candidates, lineage })
}

/// Measures two defences and the list of phrases on what no search has seen.
async fn held_out(inner: &Inner<'_>, before: &str, after: &str) -> Result<HeldOut, EvolveError> {
    let (clean, poisoned) = inner.world.held_out()?;
    let scores = |texts: &[String]| texts.iter().map(|text| heuristics::score(text)).collect::<Vec<_>>();
    Ok(HeldOut {
        before: inner.defence(before, &[], On::HeldOut).await?,
        after: inner.defence(after, &[], On::HeldOut).await?,
        heuristics: score::Defence::of(&scores(&clean), &scores(&poisoned), heuristics::THRESHOLD),
    })
}
