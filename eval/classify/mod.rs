//! Trains the classifiers of short texts (`src/classify`).

pub mod train;
