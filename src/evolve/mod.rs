//! AEGIS (arXiv 2509.00088): co-evolution of attacks (prompt injections) and defences.
//!
//! 1. Outer loop: in each round the attacker improves against the best defence, then the defender improves against all
//!    attacks found so far. The run ends after the last round, or when neither side has improved for
//!    [`Settings::patience`] rounds.
//! 2. Inner loop (TGO+): in each step, every candidate of the pool gets a gradient (advice on how to change it) along
//!    each of two routes ([`Route`]) and is edited along it. The optimizer sees the earlier gradients of the candidate,
//!    so that new ones differ (buffer). One more candidate per step is an exploration. The best candidates stay in the
//!    pool.
//! 3. The best candidate of a pool is chosen on validation items, which the search has not seen.
//! 4. A [`World`] supplies gradients, edits and scores. [`model`] asks a language model for them. [`mutation`] needs no
//!    model: a grammar writes attacks against the injection detector, and the head of the detector is trained.
//! 5. The [`store`] keeps each answer in the folder of the run. A killed run can therefore be resumed, and ends with
//!    the same result.

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

/// Settings of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Maximum number of rounds; default 8.
    pub rounds: usize,
    /// Steps of each inner loop; default 8.
    pub inner: usize,
    /// Pool size of each side.
    pub pool: usize,
    /// The run ends after this many consecutive rounds in which neither side improves.
    pub patience: usize,
    /// Weights of the scores.
    pub weights: score::Weights,
    /// Seed of all random choices.
    pub seed: u64,
    /// Whether the optimizer sees the earlier gradients of a candidate, so that new ones differ (ablation).
    pub buffer: bool,
    /// Whether gradients follow both routes; otherwise only [`Route::Detection`] (ablation).
    pub routes: bool,
    /// The only side that evolves (ablation); `None` for both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Side>,
}

impl Settings {
    /// The published defaults, with pool size, patience and weights from the task.
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

/// Figures of one round, measured on validation items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// Number of the round; 0 is the state before evolution.
    pub round: usize,
    /// Score of the best attack against the best defence of the previous round.
    pub attack_score: f64,
    /// Share of the items in which the best defence of the previous round misses the attack.
    pub asr: f64,
    /// Mean relative change that the attack makes to the score of the system under attack.
    pub change: f64,
    /// Share of the poisoned texts that the best defence detects, over the attacks so far.
    pub tpr: f64,
    /// Share of the honest texts that the best defence passes.
    pub tnr: f64,
    /// Share of the poisoned texts that are detected at 1 % false positives; `None` if the defence gives no scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpr_at_1pct_fpr: Option<f64>,
    /// Seconds since the run began; differs between runs.
    pub wall_s: f64,
}

/// Rates before and after evolution, on attacks and texts that no search has seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldOut {
    /// The initial defence: the hand-made prompt or the initial head.
    pub before: score::Defence,
    /// The evolved defence.
    pub after: score::Defence,
    /// The baseline, a list of phrases ([`heuristics`]).
    pub heuristics: score::Defence,
}

/// Results of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// `model` or `mutation`.
    pub optimizer: &'static str,
    /// Figures of each round.
    pub rounds: Vec<Round>,
    /// Rates on attacks and texts that no search has seen.
    pub held_out: HeldOut,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// Number of model calls.
    pub model_calls: u64,
}

/// Summary, final pools and lineage of a run. In each pool the chosen candidate comes first, then the others by score.
#[derive(Debug, Clone)]
pub struct Evolved {
    /// The figures of the run.
    pub summary: Summary,
    /// The final attacks.
    pub attacks: Vec<Candidate>,
    /// The final defences.
    pub defences: Vec<Candidate>,
    /// The lineage: every candidate of the run.
    pub lineage: Vec<Candidate>,
}

/// Runs the loop. `told` receives one line of progress after each step.
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
    // earlier attacks stay in this list, so that the defence does not forget them
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
    // the candidate chosen on validation items comes first
    defences.candidates.sort_by_key(|c| c.text != best_defence);
    attacks.candidates.sort_by_key(|c| c.text != best_attack);
    let mut lineage = attacks.all.clone();
    lineage.extend(defences.all.iter().cloned());
    let wall_s = started.elapsed().as_secs_f64();
    let summary = Summary { optimizer: world.name(), rounds, held_out, wall_s, model_calls: world.model_calls() };
    Ok(Evolved { summary, attacks: attacks.candidates, defences: defences.candidates, lineage })
}

/// Measures both defences and the list of phrases on texts that no search has seen.
async fn held_out(inner: &Inner<'_>, before: &str, after: &str) -> Result<HeldOut, EvolveError> {
    let (clean, poisoned) = inner.world.held_out()?;
    let scores = |texts: &[String]| texts.iter().map(|text| heuristics::score(text)).collect::<Vec<_>>();
    Ok(HeldOut {
        before: inner.defence(before, &[], On::HeldOut).await?,
        after: inner.defence(after, &[], On::HeldOut).await?,
        heuristics: score::Defence::of(&scores(&clean), &scores(&poisoned), heuristics::THRESHOLD),
    })
}
