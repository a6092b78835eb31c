//! Language models: one prompt, one bounded reply.
//!
//! 1. [`LanguageModel::complete`] answers a [`Prompt`] once ([`OpenAi`], [`Player`]).
//! 2. [`Meter`] is the budget of one verdict: calls, tokens and wall time are counted and have hard limits.
//! 3. `ask` sends a prompt, parses the reply ([`reply`]), validates it against the prompt's schema, and gives the
//!    model one turn to repair it. If that fails, too, the result is [`ModelError::Malformed`].
//!
//! Every failure is an error with its cause, never an answer.

mod ask;
mod meter;
#[cfg(feature = "llm")]
pub mod openai;
mod recording;
pub mod reply;
#[cfg(feature = "llm")]
mod retry;

pub(crate) use ask::{ask, ask_whether};
pub use meter::{Limits, Meter, Spent};
#[cfg(feature = "llm")]
pub use openai::{Endpoint, OpenAi};
pub use recording::{Player, Recorder, recording_key};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;
use std::time::Duration;

/// The role of one part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The question.
    User,
    /// The model: an example, or its earlier reply.
    Assistant,
}

/// One part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its role.
    pub role: Role,
    /// Its content.
    pub text: String,
}

/// The required form of the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Stable short name.
    pub name: String,
    /// JSON schema.
    pub schema: Value,
}

/// The schema of an object with exactly these properties, all of them required.
pub(crate) fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().map(|p| p.keys().cloned().collect()).unwrap_or_default();
    serde_json::json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Instructions, examples and question, in order.
    pub turns: Vec<Turn>,
    /// The required form of the reply; free text if `None`.
    pub schema: Option<Schema>,
    /// Most tokens of the reply.
    pub reply_tokens: u32,
    /// The nonce of its fences. It is new each time, so recordings exclude it from their key.
    pub nonce: String,
}

impl Prompt {
    /// A prompt without a schema.
    #[must_use]
    pub fn new(turns: Vec<Turn>, reply_tokens: u32) -> Self {
        Self { turns, schema: None, reply_tokens, nonce: String::new() }
    }

    /// Upper estimate of the number of tokens: a token of English or code has at least three bytes on average.
    #[must_use]
    pub fn tokens_at_most(&self) -> u64 {
        let bytes: usize = self.turns.iter().map(|t| t.text.len() + 12).sum();
        u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX)
    }
}

/// A model's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The text of the reply.
    pub text: String,
    /// Whether the reply was truncated at the token limit.
    pub cut: bool,
    /// Tokens of the prompt, as counted by the server (estimated if it does not count).
    pub tokens_in: u64,
    /// Tokens of the reply, counted likewise.
    pub tokens_out: u64,
}

/// Why a model gave no answer. Never a reason to allow an action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No connection.
    #[error("the model at {url} cannot be reached: {why}; check model.url, or start the server")]
    Unreachable {
        /// The endpoint.
        url: String,
        /// The cause.
        why: String,
    },
    /// The key is missing or wrong.
    #[error("the model at {url} refused the key (status {status}); check model.key_file")]
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
    /// Any other HTTP status of failure.
    #[error("the model at {url} answered with status {status}: {why}")]
    Status {
        /// The endpoint.
        url: String,
        /// HTTP status.
        status: u16,
        /// The message of the server, at most 200 characters.
        why: String,
    },
    /// The time limit was exceeded.
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
    /// The reply cannot be parsed or does not fit the schema.
    #[error("the model's reply cannot be read: {0}")]
    Malformed(String),
    /// A limit of this verdict's budget was reached.
    #[error("the model budget of this check is exhausted: {0}")]
    Budget(String),
    /// The circuit breaker is open after repeated failures.
    #[error("the model failed {failures} times in a row; it is not called for {pause:?}")]
    CircuitOpen {
        /// Failures in a row.
        failures: u32,
        /// Time until the next attempt.
        pause: Duration,
    },
    /// A [`Player`] has no recording of this request.
    #[error("there is no recording of this request (key {0})")]
    NotRecorded(String),
}

/// A language model.
#[async_trait]
pub trait LanguageModel: Send + Sync + Debug {
    /// The name of the model.
    fn name(&self) -> &str;

    /// Answers one prompt at temperature 0, within the time `limit`.
    ///
    /// # Errors
    /// [`ModelError`]
    async fn complete(&self, prompt: &Prompt, limit: Duration) -> Result<Completion, ModelError>;
}
