//! Retries and the circuit breaker.
//!
//! 1. [`delay`]: jittered exponential back-off, or the time in `retry-after`, as long as there is time left.
//! 2. [`Breaker`]: after 5 failures in a row the model is not called for 30 s; then one call tries it.

use super::ModelError;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Most retries after the first attempt.
pub const RETRIES: u32 = 3;
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(8);
/// Failures in a row that open the circuit.
const FAILURES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(30);

/// Whether the same request may succeed later.
#[must_use]
pub fn transient(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599)
}

/// How long to wait before retry `attempt` (from 1), or `None` if that is not less than the time `left`. Half of the
/// exponential part is random, so that many guards do not retry at the same time.
#[must_use]
pub fn delay(attempt: u32, retry_after: Option<Duration>, left: Duration) -> Option<Duration> {
    let wait = retry_after.unwrap_or_else(|| {
        let full = FIRST.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1))).min(LONGEST);
        let mut byte = [128_u8];
        // without randomness the wait is three quarters of the maximum
        let _ = getrandom::fill(&mut byte);
        full / 2 + full.mul_f64(f64::from(byte[0]) / 510.0)
    });
    (wait < left).then_some(wait)
}

/// Parses a `retry-after` header in seconds, at most one hour. HTTP dates are ignored; all known servers send seconds.
#[must_use]
pub fn retry_after(value: Option<&str>) -> Option<Duration> {
    let seconds: f64 = value?.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(3_600.0)))
}

/// A circuit breaker for a failing model.
#[derive(Debug, Default)]
pub struct Breaker {
    state: Mutex<(u32, Option<Instant>)>,
}

impl Breaker {
    /// Checks whether a call may be made.
    ///
    /// # Errors
    /// [`ModelError::CircuitOpen`] if not.
    pub fn admit(&self) -> Result<(), ModelError> {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = Instant::now();
        match state.1 {
            Some(until) if now < until => Err(ModelError::CircuitOpen { failures: state.0, pause: until - now }),
            Some(_) => {
                // one call tries the model; the others are refused until its result is known
                state.1 = Some(now + PAUSE);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Records the result of a call. `ok`: the server delivered a reply, well-formed or not.
    pub fn note(&self, ok: bool) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if ok {
            *state = (0, None);
            return;
        }
        state.0 = state.0.saturating_add(1);
        if state.0 >= FAILURES {
            state.1 = Some(Instant::now() + PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_bounded_and_honour_retry_after() {
        let long = Duration::from_secs(60);
        for attempt in 1..20 {
            let wait = delay(attempt, None, long);
            assert!(wait.is_some_and(|w| w >= Duration::from_millis(100) && w <= LONGEST), "{attempt}: {wait:?}");
        }
        assert_eq!(delay(1, retry_after(Some("3")), long), Some(Duration::from_secs(3)));
        assert_eq!(delay(1, retry_after(Some("120")), long), None, "longer than there is time");
        assert_eq!(retry_after(Some("-1")), None);
        assert_eq!(retry_after(Some("NaN")), None);
    }

    #[test]
    fn circuit_opens_after_failures_and_closes() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            assert!(breaker.admit().is_ok());
            breaker.note(false);
        }
        assert!(matches!(breaker.admit(), Err(ModelError::CircuitOpen { failures: FAILURES, .. })));
        breaker.note(true);
        assert!(breaker.admit().is_ok());
    }
}
