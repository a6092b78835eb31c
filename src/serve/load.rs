//! How much is taken on, and what is told of it (Prometheus).

use super::Settings;
use crate::verdict::Verdict;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Longest wait for a place.
const WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Decided {
    decision: String,
    basis: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    status: u16,
}

/// Places for checks, and the figures.
#[derive(Debug)]
pub(super) struct Load {
    places: Semaphore,
    queue: Semaphore,
    rate: Option<std::sync::Mutex<Bucket>>,
    registry: Registry,
    decisions: Family<Decided, Counter>,
    refused: Family<Why, Counter>,
    seconds: Histogram,
    at_work: Gauge,
}

/// A token bucket: a second's worth at most.
#[derive(Debug)]
struct Bucket {
    rate: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    fn take(&mut self) -> bool {
        let now = Instant::now();
        let earned = now.duration_since(self.at).as_secs_f64() * self.rate;
        (self.left, self.at) = ((self.left + earned).min(self.rate.max(1.0)), now);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }
}

/// Why something is not taken on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// More than the configured rate.
    Rate,
    /// More than can be worked on soon.
    Busy,
}

impl Load {
    pub fn new(settings: &Settings) -> Self {
        let mut registry = Registry::with_prefix("agrail");
        let (decisions, refused) = (Family::<Decided, Counter>::default(), Family::<Why, Counter>::default());
        let seconds = Histogram::new(exponential_buckets(0.000_1, 2.0, 18));
        let at_work = Gauge::default();
        registry.register("decisions", "Verdicts by decision and basis", decisions.clone());
        registry.register("refused", "Requests that were not taken on, by status", refused.clone());
        registry.register("check_seconds", "Wall time of a check", seconds.clone());
        registry.register("checks_at_work", "Checks under way", at_work.clone());
        let rate = settings.per_second.map(f64::from);
        Self {
            places: Semaphore::new(settings.at_once.max(1)),
            queue: Semaphore::new(settings.waiting),
            rate: rate.map(|rate| std::sync::Mutex::new(Bucket { rate, left: rate, at: Instant::now() })),
            registry,
            decisions,
            refused,
            seconds,
            at_work,
        }
    }

    /// A place for one check, now or soon.
    pub async fn place(&self) -> Result<SemaphorePermit<'_>, Refused> {
        if let Some(rate) = &self.rate
            && !rate.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
        {
            return Err(Refused::Rate);
        }
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        // given back even if the caller goes away meanwhile
        let _queued = self.queue.try_acquire().map_err(|_| Refused::Busy)?;
        let place = tokio::time::timeout(WAIT, self.places.acquire()).await;
        place.ok().and_then(Result::ok).ok_or(Refused::Busy)
    }

    pub fn begins(&self) -> AtWork<'_> {
        self.at_work.inc();
        AtWork { load: self }
    }

    pub fn decided(&self, verdict: &Verdict) {
        let basis = format!("{:?}", verdict.basis).to_lowercase();
        self.decisions.get_or_create(&Decided { decision: verdict.decision.to_string(), basis }).inc();
        self.seconds.observe(Duration::from_micros(verdict.cost.wall_us).as_secs_f64());
    }

    pub fn refused(&self, status: u16) {
        self.refused.get_or_create(&Why { status }).inc();
    }

    /// In the text format of Prometheus.
    pub fn figures(&self) -> String {
        let mut text = String::new();
        // writing to a string does not fail
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// A check that is under way.
pub(super) struct AtWork<'a> {
    load: &'a Load,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.load.at_work.dec();
    }
}
