//! Language models: one question, one bounded answer.
//!
//! 1. [`Prompt`] is what is asked, [`LanguageModel::complete`] answers it once ([`openai`], [`recording`]).
//! 2. [`Meter`] is the purse of one verdict: calls, tokens and wall time have hard caps, all of them counted.
//! 3. [`ask`] puts a prompt, reads the reply ([`reply`]), checks it against the prompt's schema, and gives
//!    the model one turn to repair it. Then it is [`ModelError::Malformed`].
//!
//! Every failure is an error with its cause. None of it is ever an answer.

mod ask;
mod meter;
pub mod openai;
pub mod recording;
pub mod reply;
mod retry;

pub use ask::ask;
pub use meter::{Limits, Meter, Spent};
pub use openai::{Endpoint, OpenAi};
pub use recording::{Player, Recorder};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;
use std::time::Duration;

/// Who says one part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The question.
    User,
    /// The model, in an example or in its own earlier reply.
    Assistant,
}

/// One part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub text: String,
}

/// The form that the reply must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Stable short name.
    pub name: String,
    /// JSON schema.
    pub schema: Value,
}

/// The schema of an object that has these properties, all of them, and no others.
pub(crate) fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().map(|p| p.keys().cloned().collect()).unwrap_or_default();
    serde_json::json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Examples and question, in order.
    pub turns: Vec<Turn>,
    /// The form of the reply; free text if `None`.
    pub schema: Option<Schema>,
    /// Most tokens of the reply.
    pub reply_tokens: u32,
    /// The nonce of its fences. It is new each time, so recordings leave it out of their key.
    pub nonce: String,
}

impl Prompt {
    /// A prompt without a schema.
    #[must_use]
    pub fn new(turns: Vec<Turn>, reply_tokens: u32) -> Self {
        Self { turns, schema: None, reply_tokens, nonce: String::new() }
    }

    /// Upper estimate of its tokens: a token of English or code has three bytes or more on average.
    #[must_use]
    pub fn tokens_at_most(&self) -> u64 {
        let bytes: usize = self.turns.iter().map(|t| t.text.len() + 12).sum();
        u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX)
    }
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// What it said.
    pub text: String,
    /// It ended because the limit of tokens was reached.
    pub cut: bool,
    /// Tokens of the prompt, as the server counted them (estimated where it does not).
    pub tokens_in: u64,
    /// Tokens of the reply.
    pub tokens_out: u64,
}

/// Why a model gave no answer. Never a reason to allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No connection.
    #[error("the model at {url} cannot be reached: {why}; look at model.url, or start the server")]
    Unreachable {
        /// The endpoint.
        url: String,
        /// The problem.
        why: String,
    },
    /// The key is missing or wrong.
    #[error("the model at {url} refused the key (status {status}); look at model.key_file")]
    Refused {
        /// The endpoint.
        url: String,
        /// HTTP status.
        status: u16,
    },
    /// Too many requests, after all retries.
    #[error("the model at {url} is overloaded (status 429)")]
    Overloaded {
        /// The endpoint.
        url: String,
    },
    /// Any other status.
    #[error("the model at {url} answered with status {status}: {why}")]
    Status {
        /// The endpoint.
        url: String,
        /// HTTP status.
        status: u16,
        /// What it said, bounded.
        why: String,
    },
    /// It took too long.
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
    /// The answer cannot be read.
    #[error("the model's reply cannot be read: {0}")]
    Malformed(String),
    /// A cap of this verdict was reached.
    #[error("the budget of this check is used up: {0}")]
    Budget(String),
    /// It failed too often just now.
    #[error("the model failed {failures} times in a row; it is left alone for {pause:?}")]
    CircuitOpen {
        /// Failures in a row.
        failures: u32,
        /// Until it is tried again.
        pause: Duration,
    },
    /// A player has no recording of this request.
    #[error("there is no recording of this request (key {0})")]
    NotRecorded(String),
}

/// A language model.
#[async_trait]
pub trait LanguageModel: Send + Sync + Debug {
    /// Its name.
    fn name(&self) -> &str;

    /// Answers one prompt at temperature 0, within `limit`.
    ///
    /// # Errors
    /// [`ModelError`]
    async fn complete(&self, prompt: &Prompt, limit: Duration) -> Result<Completion, ModelError>;
}
