//! The injection detector: measured, evaded, trained.

pub mod detect;
pub mod evade;
pub mod texts;
#[cfg(feature = "train")]
pub mod train;
