//! Replays recorded agent actions, each in a disposable copy of this machine.
//!
//! 1. [`read_traces`] reads [`Trace`]s from JSON lines.
//! 2. [`sandbox`] makes the roots in which the set-ups run and which the guard probes.
//! 3. [`replay`] lets a guard check each action, and yields one [`ResultLine`] per action.

mod results;
mod run;
mod trace;

pub use agrail_roots as sandbox;
use agrail_roots::with_causes;
pub use results::{ResultLine, ResultsError, read_results};
pub use run::{Asked, Case, PutError, put, replay, replay_by, replay_one};
pub use trace::{Expected, Trace, TraceError, read_traces};
