//! The model budget of one verdict.

use super::{Completion, ModelError, Prompt};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Hard limits of one verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most tokens of all prompts together. Default: 24 000.
    pub prompt_tokens: u64,
    /// Most tokens of all replies together. Default: 4 000.
    pub reply_tokens: u64,
    /// Most model calls. Default: 6.
    pub calls: u32,
    /// Most wall time of all calls together. Default: 20 s.
    pub wall: Duration,
    /// Most checks on one checklist; excess ones are dropped, the least supported first. Default: 12.
    pub checks: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { prompt_tokens: 24_000, reply_tokens: 4_000, calls: 6, wall: Duration::from_secs(20), checks: 12 }
    }
}

/// The use of the budget so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Model calls, including failed ones.
    pub calls: u32,
    /// Tokens of prompts.
    pub tokens_in: u64,
    /// Tokens of replies.
    pub tokens_out: u64,
    /// Malformed replies.
    pub malformed: u32,
}

/// Counts the model use of one verdict, and refuses calls beyond its limits.
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    until: Instant,
    spent: Mutex<Spent>,
}

impl Meter {
    /// An unused budget; its wall time begins now.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            until: Instant::now()
                .checked_add(limits.wall)
                .unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400)),
            spent: Mutex::default(),
        }
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The use so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Counts one call. Returns the most time and the most reply tokens that it may take.
    ///
    /// # Errors
    /// [`ModelError::Budget`] if a limit is reached.
    pub fn admit(&self, prompt: &Prompt) -> Result<(Duration, u32), ModelError> {
        let left = self.until.saturating_duration_since(Instant::now());
        let mut spent = self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let reply = self.limits.reply_tokens.saturating_sub(spent.tokens_out);
        let over = if spent.calls >= self.limits.calls {
            format!("at most {} model calls", self.limits.calls)
        } else if spent.tokens_in.saturating_add(prompt.tokens_at_most()) > self.limits.prompt_tokens {
            format!("at most {} prompt tokens", self.limits.prompt_tokens)
        } else if reply == 0 {
            format!("at most {} reply tokens", self.limits.reply_tokens)
        } else if left.is_zero() {
            format!("at most {:?} of model time", self.limits.wall)
        } else {
            spent.calls += 1;
            return Ok((left, prompt.reply_tokens.min(u32::try_from(reply).unwrap_or(u32::MAX))));
        };
        Err(ModelError::Budget(over))
    }

    /// Counts a reply.
    pub fn count(&self, completion: &Completion) {
        let mut spent = self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        spent.tokens_in = spent.tokens_in.saturating_add(completion.tokens_in);
        spent.tokens_out = spent.tokens_out.saturating_add(completion.tokens_out);
    }

    /// Counts a malformed reply.
    pub fn count_malformed(&self) {
        self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner).malformed += 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::llm::{Role, Turn};

    fn prompt(bytes: usize) -> Prompt {
        Prompt::new(vec![Turn { role: Role::User, text: "x".repeat(bytes) }], 100)
    }

    #[test]
    fn every_limit_refuses_further_calls() {
        let limits = Limits { prompt_tokens: 1_000, reply_tokens: 150, calls: 2, ..Limits::default() };
        let meter = Meter::new(limits);
        assert!(matches!(meter.admit(&prompt(4_000)), Err(ModelError::Budget(why)) if why.contains("prompt")));
        assert_eq!(meter.admit(&prompt(30)).unwrap().1, 100);
        meter.count(&Completion { text: String::new(), cut: false, tokens_in: 10, tokens_out: 100 });
        assert_eq!(meter.admit(&prompt(30)).unwrap().1, 50, "the rest of the reply tokens");
        assert!(matches!(meter.admit(&prompt(30)), Err(ModelError::Budget(why)) if why.contains("calls")));
        let late = Meter::new(Limits { wall: Duration::ZERO, ..limits });
        assert!(matches!(late.admit(&prompt(30)), Err(ModelError::Budget(why)) if why.contains("time")));
    }
}
