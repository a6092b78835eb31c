//! Maintenance of the graph, outside the path of recalls: loads, builds, updates and saves it.
//!
//! 1. Above [`super::EXACT_MAX`] vectors, a thread loads the graph from the file beside the database, or starts a new
//!    one.
//! 2. It adds the missing vectors in batches that are copied under the read lock, then the rest under the write lock,
//!    and installs the graph. Until then, recalls scan.
//! 3. A graph with too many removed vectors is rebuilt. The graph is saved after a build and after every [`SAVE_EVERY`]
//!    additions.

use super::Memory;
use super::error::MemoryError;
use super::graph::{self, Graph, GraphError, Header};
use super::live::Live;
use std::sync::{PoisonError, TryLockError};

const SAVE_EVERY: usize = 4096;
const BATCH: usize = 1024;
/// Most vectors that are added under the write lock.
const LAST: usize = 32;

impl Memory {
    pub(super) fn wants_tending(&self, live: &Live) -> bool {
        let Some(index) = live.index.as_ref().filter(|i| i.len() > self.inner.exact_max) else { return false };
        match &index.graph {
            None => true,
            Some(graph) => graph.unsaved >= SAVE_EVERY || crowded(graph, index.len()),
        }
    }

    /// Maintains the graph in a new thread, unless another thread does already.
    pub(super) fn tend_behind(&self) {
        let weak = std::sync::Arc::downgrade(&self.inner);
        let body = move || {
            let Some(inner) = weak.upgrade() else { return };
            let memory = Self { inner };
            let tending = match memory.inner.tending.try_lock() {
                Ok(tending) => tending,
                Err(TryLockError::Poisoned(e)) => e.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            // after a failure, recalls scan exactly
            let _ = memory.tend();
            drop(tending);
        };
        // without a thread, recalls scan exactly; the next change tries again
        let _ = std::thread::Builder::new().name("agrail-index".to_owned()).spawn(body);
    }

    /// Maintains the graph now and waits for it. True if recalls use the graph afterwards, false if they scan.
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn tend_index(&self) -> Result<bool, MemoryError> {
        self.refresh()?;
        let tending = self.inner.tending.lock().unwrap_or_else(PoisonError::into_inner);
        let wanting = self.wants_tending(&self.live());
        if wanting {
            // after a failure, recalls scan exactly, and the result is false
            let _ = self.tend();
        }
        drop(tending);
        Ok(self.live().index.as_ref().is_some_and(|i| i.graph.is_some() && i.len() > self.inner.exact_max))
    }

    fn tend(&self) -> Result<(), GraphError> {
        let (present, len) = {
            let live = self.live();
            let Some(index) = &live.index else { return Ok(()) };
            (index.graph.as_ref().is_some_and(|g| !crowded(g, index.len())), index.len())
        };
        if !present {
            let graph = self.loaded(len).map_or_else(|| self.anew(len), Ok)?;
            self.install(graph)?;
        }
        self.save()
    }

    fn anew(&self, len: usize) -> Result<Graph, GraphError> {
        let dimensions = self.inner.store.embedder().map_or(0, |e| e.dimensions);
        Graph::new(dimensions, len + len / 4)
    }

    /// The graph from the file, if it is intact and not crowded.
    fn loaded(&self, len: usize) -> Option<Graph> {
        let (path, embedder) = (self.inner.store.path()?, self.inner.store.embedder()?);
        let path = graph::path_of(path);
        let (_, graph) = graph::load(&path, self.inner.store.identity(), &embedder.id, embedder.dimensions).ok()?;
        (!crowded(&graph, len)).then_some(graph)
    }

    /// Adds the missing vectors to the graph and installs it.
    fn install(&self, mut graph: Graph) -> Result<(), GraphError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
        let mut grown = false;
        loop {
            let mut keys = self.keys();
            keys.retain(|key| !graph.contains(*key));
            if keys.len() <= LAST {
                break;
            }
            grown = true;
            for keys in keys.chunks(BATCH) {
                let (keys, vectors) = self.copied(keys);
                graph.add_batch(&keys, &vectors, threads)?;
            }
        }
        if grown {
            // additions prune links, so that vectors found earlier may no longer be reachable
            graph.doubt();
            for keys in self.keys().chunks(BATCH) {
                let (keys, vectors) = self.copied(keys);
                graph.prove(&keys, &vectors, threads)?;
            }
        }
        let mut live = self.live_mut();
        let Some(index) = &mut live.index else { return Ok(()) };
        for key in index.keys() {
            if let Some(vector) = index.get(*key).filter(|_| !graph.contains(*key)) {
                graph.add(*key, vector)?;
            }
        }
        index.graph = Some(graph);
        Ok(())
    }

    fn keys(&self) -> Vec<u64> {
        self.live().index.as_ref().map_or_else(Vec::new, |index| index.keys().to_vec())
    }

    fn copied(&self, keys: &[u64]) -> (Vec<u64>, Vec<f32>) {
        let live = self.live();
        let mut copied = (Vec::with_capacity(keys.len()), Vec::new());
        for key in keys {
            if let Some(vector) = live.index.as_ref().and_then(|index| index.get(*key)) {
                copied.0.push(*key);
                copied.1.extend_from_slice(vector);
            }
        }
        copied
    }

    fn save(&self) -> Result<(), GraphError> {
        let (Some(path), Some(embedder)) = (self.inner.store.path(), self.inner.store.embedder()) else {
            return Ok(());
        };
        let (header, bytes) = {
            let live = self.live();
            let Some(graph) = live.index.as_ref().and_then(|i| i.graph.as_ref()).filter(|g| g.unsaved > 0) else {
                return Ok(());
            };
            let header = Header {
                format: 0,
                identity: self.inner.store.identity().to_owned(),
                embedder: embedder.id.clone(),
                dimensions: embedder.dimensions,
                memory_version: live.seen,
                size: graph.len(),
                beside: graph.beside().to_vec(),
                bytes: 0,
                sha256: String::new(),
            };
            (header, graph.to_bytes()?)
        };
        let size = header.size;
        graph::save(&graph::path_of(path), header, &bytes)?;
        if let Some(graph) = self.live_mut().index.as_mut().and_then(|i| i.graph.as_mut()) {
            graph.unsaved = graph.len().saturating_sub(size);
        }
        Ok(())
    }
}

/// Whether too many of its vectors have been removed: more than a quarter of the live ones plus 64.
fn crowded(graph: &Graph, live: usize) -> bool {
    graph.len() > live + live / 4 + 64
}
