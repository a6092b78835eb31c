//! Replays recorded agent actions, each in a disposable copy of this machine.
//!
//! 1. [`read_traces`] reads [`Trace`]s from JSON lines.
//! 2. [`sandbox`] makes the roots in which the set-ups run and which the guard probes.
//! 3. [`replay`] lets a guard check each action, and yields one [`ResultLine`] per action.

mod results;
mod run;
pub mod sandbox;
mod trace;

pub use results::{ResultLine, ResultsError, read_results};
pub use run::{Asked, Case, PutError, put, replay, replay_by, replay_one};
pub use trace::{Expected, Trace, TraceError, read_traces};

/// An error and its causes in one line, for a record that outlives the error.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
