//! agrail: a lifelong guardrail engine for LLM agents.

pub mod action;
pub mod canonical;
pub mod check;
pub mod effect;
pub mod embed;
pub mod facts;
pub mod guard;
pub mod learn;
pub mod memory;
pub mod policy;
pub mod reason;
pub mod replay;
pub mod tools;
pub mod verdict;

pub use action::{Action, Context, Identity, Observation};
pub use guard::Guard;
pub use verdict::{Decision, Verdict};

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
