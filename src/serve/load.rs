//! Admission control for checks, and Prometheus metrics.
//!
//! 1. A check first passes the rate limit; a check beyond it is refused with 429.
//! 2. It then takes one of [`Settings::at_once`] permits, or queues for one. A full queue, or a wait of
//!    [`QUEUE_TIMEOUT`], is answered with 503.

use super::Settings;
use crate::verdict::Verdict;
use governor::{DefaultDirectRateLimiter, Quota};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Longest wait for a permit.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    decision: String,
    basis: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    status: u16,
}

/// Permits for checks, and the metrics.
#[derive(Debug)]
pub(super) struct Load {
    permits: Semaphore,
    queue: Semaphore,
    rate: RateLimit,
    registry: Registry,
    decisions: Family<DecisionLabels, Counter>,
    refused: Family<RefusalLabels, Counter>,
    seconds: Histogram,
    at_work: Gauge,
}

/// Checks per second.
#[derive(Debug)]
enum RateLimit {
    Unlimited,
    /// A burst of one second's worth at most.
    PerSecond(DefaultDirectRateLimiter),
    /// A rate of 0, for which governor has no quota: every check is refused.
    Closed,
}

impl RateLimit {
    fn new(per_second: Option<u32>) -> Self {
        match per_second.map(NonZeroU32::new) {
            None => Self::Unlimited,
            Some(None) => Self::Closed,
            Some(Some(rate)) => Self::PerSecond(DefaultDirectRateLimiter::direct(Quota::per_second(rate))),
        }
    }

    fn admits(&self) -> bool {
        match self {
            Self::Unlimited => true,
            Self::PerSecond(limiter) => limiter.check().is_ok(),
            Self::Closed => false,
        }
    }
}

/// Why a check is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The rate limit is exceeded.
    Rate,
    /// The queue is full, or no permit became free in time.
    Busy,
}

impl Load {
    pub fn new(settings: &Settings) -> Self {
        let mut registry = Registry::with_prefix("agrail");
        let decisions = Family::<DecisionLabels, Counter>::default();
        let refused = Family::<RefusalLabels, Counter>::default();
        let seconds = Histogram::new(exponential_buckets(0.000_1, 2.0, 18));
        let at_work = Gauge::default();
        registry.register("decisions", "Verdicts by decision and basis", decisions.clone());
        registry.register("refused", "Requests answered with an error, by status", refused.clone());
        registry.register("check_seconds", "Wall time of a check", seconds.clone());
        registry.register("checks_at_work", "Checks in progress", at_work.clone());
        Self {
            permits: Semaphore::new(settings.at_once.max(1)),
            queue: Semaphore::new(settings.waiting),
            rate: RateLimit::new(settings.per_second),
            registry,
            decisions,
            refused,
            seconds,
            at_work,
        }
    }

    /// Admits one check, at once or after a short wait.
    ///
    /// Not tower's `ConcurrencyLimit` with `LoadShed`: their queue has no bound of its own and no deadline, and they
    /// count requests, where a batch needs a permit for each action and other routes need none.
    pub async fn permit(&self) -> Result<SemaphorePermit<'_>, Refused> {
        if !self.rate.admits() {
            return Err(Refused::Rate);
        }
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        // dropped with this future, so that a client that disconnects leaves the queue
        let _queued = self.queue.try_acquire().map_err(|_| Refused::Busy)?;
        let permit = tokio::time::timeout(QUEUE_TIMEOUT, self.permits.acquire()).await;
        permit.ok().and_then(Result::ok).ok_or(Refused::Busy)
    }

    /// Counts a check as in progress until the result is dropped.
    pub fn start_check(&self) -> InProgress<'_> {
        self.at_work.inc();
        InProgress { load: self }
    }

    pub fn record_verdict(&self, verdict: &Verdict) {
        let basis = format!("{:?}", verdict.basis).to_lowercase();
        self.decisions.get_or_create(&DecisionLabels { decision: verdict.decision.to_string(), basis }).inc();
        self.seconds.observe(Duration::from_micros(verdict.cost.wall_us).as_secs_f64());
    }

    pub fn record_refusal(&self, status: u16) {
        self.refused.get_or_create(&RefusalLabels { status }).inc();
    }

    /// The metrics in the OpenMetrics text format.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        // writing to a string does not fail
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// A check in progress.
pub(super) struct InProgress<'a> {
    load: &'a Load,
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.load.at_work.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_admits_its_burst_and_no_more() {
        let admitted = |per_second| {
            let limit = RateLimit::new(per_second);
            (0..100).filter(|_| limit.admits()).count()
        };
        assert_eq!(admitted(None), 100);
        assert_eq!(admitted(Some(0)), 0);
        assert_eq!(admitted(Some(1)), 1);
        assert_eq!(admitted(Some(2)), 2);
        assert_eq!(admitted(Some(u32::MAX)), 100);
    }
}
