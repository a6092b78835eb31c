//! Measures, evades and trains the injection detector.

pub mod detect;
pub mod evade;
pub mod texts;
#[cfg(feature = "train")]
pub mod train;
