//! Replaying recorded agent actions, each in a disposable copy of this machine.
//!
//! 1. [`Trace`]s are read from JSON lines ([`read_traces`]).
//! 2. [`sandbox`] makes the roots in which their set-ups run and which the guard looks at.
//! 3. [`replay`] puts each action to a guard and yields a [`ResultLine`] each.

mod results;
mod run;
pub mod sandbox;
mod trace;

pub use results::{ResultLine, read as read_results};
pub use run::{Asked, Case, put, replay, replay_by, replay_one};
pub use trace::{Expected, Trace, read as read_traces};
