//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time in milliseconds since 1970 (UTC); 0 if the clock is set before 1970.
#[must_use]
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
