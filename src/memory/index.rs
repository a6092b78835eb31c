//! Nearest-neighbour search over vectors; derived from the store and disposable.
//!
//! 1. Unit vectors are stored contiguously; row `i` belongs to `keys[i]`.
//! 2. Up to [`EXACT_MAX`] vectors, a search scans all of them.
//! 3. Above that, an HNSW graph ([`Graph`]) proposes candidates, and their similarity is computed again from the
//!    vectors here. Keys that are unknown here are dropped, so that a stale or damaged graph cannot return a wrong
//!    neighbour. If too few candidates are left, the search scans.

use super::error::MemoryError;
use super::graph::Graph;
use std::collections::HashMap;

/// Most vectors for which a search scans exactly, without the graph.
pub(crate) const EXACT_MAX: usize = 50_000;
/// Candidates requested from the graph beyond `k`, because some keys may have been removed since it was built.
const SPARE: usize = 22;
const LANES: usize = 16;

/// A key and its cosine similarity, -1..=1.
pub(super) type Hit = (u64, f32);

pub(super) struct Index {
    dimensions: usize,
    keys: Vec<u64>,
    /// `keys.len() * dimensions`, unit length.
    vectors: Vec<f32>,
    slots: HashMap<u64, usize>,
    pub graph: Option<Graph>,
}

impl Index {
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, keys: Vec::new(), vectors: Vec::new(), slots: HashMap::new(), graph: None }
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub fn contains(&self, key: u64) -> bool {
        self.slots.contains_key(&key)
    }

    /// The unit vector of a key.
    pub fn get(&self, key: u64) -> Option<&[f32]> {
        self.row(*self.slots.get(&key)?)
    }

    fn row(&self, slot: usize) -> Option<&[f32]> {
        self.vectors.get(slot * self.dimensions..(slot + 1) * self.dimensions)
    }

    /// Adds a vector of any non-zero length. A known key is left unchanged, because the vector of a key never changes.
    pub fn insert(&mut self, key: u64, vector: &[f32]) -> Result<(), MemoryError> {
        let unit = unit(vector, self.dimensions)?;
        if self.contains(key) {
            return Ok(());
        }
        if self.graph.as_mut().is_some_and(|graph| graph.add(key, &unit).is_err()) {
            // the graph may be inconsistent: scan until it is rebuilt
            self.graph = None;
        }
        self.slots.insert(key, self.keys.len());
        self.keys.push(key);
        self.vectors.extend_from_slice(&unit);
        Ok(())
    }

    /// Removes a key. The graph keeps it until it is rebuilt; searches drop it.
    pub fn remove(&mut self, key: u64) {
        let Some(slot) = self.slots.remove(&key) else { return };
        self.keys.swap_remove(slot);
        let last = self.keys.len() * self.dimensions;
        if let Some(moved) = self.keys.get(slot) {
            self.slots.insert(*moved, slot);
            self.vectors.copy_within(last.., slot * self.dimensions);
        }
        self.vectors.truncate(last);
    }

    /// The `k` nearest keys (fewer if there are fewer), nearest first; ties are sorted by key.
    pub fn nearest(&self, query: &[f32], k: usize) -> Result<Vec<Hit>, MemoryError> {
        let query = unit(query, self.dimensions)?;
        let k = k.min(self.len());
        if k == 0 {
            return Ok(Vec::new());
        }
        if let Some(graph) = &self.graph {
            let candidates = graph.candidates(&query, k + SPARE).unwrap_or_default();
            let mut seen = Vec::with_capacity(candidates.len());
            let mut best = Best::new(k);
            for key in candidates {
                if let Some(vector) = self.get(key).filter(|_| !seen.contains(&key)) {
                    seen.push(key);
                    best.offer(key, dot(&query, vector));
                }
            }
            if best.hits.len() == k {
                return Ok(best.hits);
            }
        }
        let mut best = Best::new(k);
        for (key, vector) in self.keys.iter().zip(self.vectors.chunks_exact(self.dimensions)) {
            best.offer(*key, dot(&query, vector));
        }
        Ok(best.hits)
    }
}

/// The `k` best hits so far, best first.
struct Best {
    k: usize,
    hits: Vec<Hit>,
}

impl Best {
    fn new(k: usize) -> Self {
        Self { k, hits: Vec::with_capacity(k + 1) }
    }

    fn offer(&mut self, key: u64, similarity: f32) {
        let before = |hit: &Hit| hit.1 > similarity || (hit.1 == similarity && hit.0 < key);
        if self.hits.len() == self.k && self.hits.last().is_some_and(before) {
            return;
        }
        let place = self.hits.partition_point(before);
        self.hits.insert(place, (key, similarity));
        self.hits.truncate(self.k);
    }
}

/// The vector scaled to length 1.
///
/// # Errors
/// [`MemoryError::Dimensions`]; [`MemoryError::NotFinite`] if it has no direction.
pub(super) fn unit(vector: &[f32], dimensions: usize) -> Result<Vec<f32>, MemoryError> {
    if vector.len() != dimensions {
        return Err(MemoryError::Dimensions { expected: dimensions, got: vector.len() });
    }
    // in f64, so that large components do not overflow
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return Err(MemoryError::NotFinite);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a component of a unit vector")]
    Ok(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
}

/// Dot product of two unit vectors, clamped to -1..=1. Sixteen partial sums let the compiler vectorise it. The order of
/// the additions is fixed, so that equal input gives equal output.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums.iter().sum::<f32>() + rest).clamp(-1.0, 1.0)
}
