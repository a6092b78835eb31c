//! The HNSW graph over the vectors (usearch), and its file beside the database.
//!
//! 1. [`Graph::add`] and [`Graph::candidates`] wrap usearch. `add` takes `&mut self`, because usearch crashes if the
//!    graph grows during a search. Only finite unit vectors of the right length are accepted.
//! 2. [`save`] writes one file: a header line (JSON), then the graph. The header contains the SHA-256 of the graph, its
//!    dimensions and the identity of its database. The file is renamed into place, so that it is never incomplete.
//! 3. [`load`] verifies the checksum first, over the same bytes that it then loads.

use crate::digest::finish;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use usearch::{Index as Native, IndexOptions, MetricKind, ScalarKind};

/// Links per node. These three values were measured: recall at 10 of at least 0.99 on clustered vectors.
const CONNECTIVITY: usize = 24;
const EXPANSION_ADD: usize = 128;
const EXPANSION_SEARCH: usize = 64;
/// Threads that may search at the same time; further ones fall back to the exact scan.
const THREADS: usize = 64;
/// A search for a vector must find it among so many hits; otherwise it counts as unreachable.
const TWINS: usize = 8;
/// Distance below which two vectors count as equal.
const SAME: f32 = 1e-6;
/// Most unreachable keys; they have to fit into the header of the file. Vectors without any structure, such as random
/// ones, have more: a graph finds few of their neighbours, and searches scan.
const BESIDE: usize = 1_024;
const FORMAT: u32 = 2;
const HEADER_BYTES: u64 = 32 * 1_024;
/// Prefix of the names of incomplete files.
const UNFINISHED: &str = ".agrail-index-";
/// Age after which an incomplete file is deleted.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Why there is no graph. The memory never fails with this error: searches scan instead.
#[derive(Debug, thiserror::Error)]
pub(super) enum GraphError {
    #[error("usearch: {0}")]
    Native(String),
    #[error("index file: {0}")]
    File(#[from] std::io::Error),
    #[error("index file: {0}")]
    Doubtful(&'static str),
}

pub(super) struct Graph {
    native: Native,
    dimensions: usize,
    /// Unreachable keys, which no search finds, because adding vectors prunes links. They are candidates of every
    /// search.
    beside: Vec<u64>,
    /// Number of vectors added since the graph was last saved or loaded.
    pub unsaved: usize,
}

/// The header of an index file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub format: u32,
    /// Identity of the database.
    pub identity: String,
    pub embedder: String,
    pub dimensions: usize,
    pub memory_version: u64,
    /// Number of vectors.
    pub size: usize,
    /// Unreachable keys.
    pub beside: Vec<u64>,
    /// Length of the graph in bytes.
    pub bytes: u64,
    pub sha256: String,
}

impl Graph {
    pub fn new(dimensions: usize, capacity: usize) -> Result<Self, GraphError> {
        let index = Native::new(&IndexOptions {
            dimensions,
            // equal to cosine on unit vectors, and cheaper
            metric: MetricKind::IP,
            quantization: ScalarKind::F32,
            connectivity: CONNECTIVITY,
            expansion_add: EXPANSION_ADD,
            expansion_search: EXPANSION_SEARCH,
            multi: false,
        });
        let native = index.map_err(native)?;
        native.reserve_capacity_and_threads(capacity.max(64), THREADS).map_err(self::native)?;
        Ok(Self { native, dimensions, beside: Vec::new(), unsaved: 0 })
    }

    pub fn len(&self) -> usize {
        self.native.size()
    }

    pub fn contains(&self, key: u64) -> bool {
        self.native.contains(key)
    }

    /// Adds a unit vector.
    pub fn add(&mut self, key: u64, unit: &[f32]) -> Result<(), GraphError> {
        if self.native.size() + 1 > self.native.capacity() {
            self.native.reserve_capacity_and_threads(self.native.capacity() * 2, THREADS).map_err(native)?;
        }
        self.unsaved += 1;
        self.add_reserved(key, unit)
    }

    fn add_reserved(&self, key: u64, unit: &[f32]) -> Result<(), GraphError> {
        if unit.len() != self.dimensions || unit.iter().any(|x| !x.is_finite()) {
            return Err(GraphError::Doubtful("the vector has other dimensions or is not finite"));
        }
        if !self.native.contains(key) {
            self.native.add(key, unit).map_err(native)?;
        }
        Ok(())
    }

    /// Adds many unit vectors, on several threads. `batch`: the vectors, concatenated (`keys.len() * dimensions`
    /// values).
    pub fn add_batch(&mut self, keys: &[u64], batch: &[f32], threads: usize) -> Result<(), GraphError> {
        let wanted = self.native.size() + keys.len();
        if wanted > self.native.capacity() {
            self.native
                .reserve_capacity_and_threads(wanted.max(self.native.capacity() * 2), THREADS)
                .map_err(native)?;
        }
        self.unsaved += keys.len();
        let share = keys.len().div_ceil(threads.clamp(1, THREADS)).max(1);
        let graph = &*self;
        std::thread::scope(|scope| {
            let parts = keys.chunks(share).zip(batch.chunks(share * graph.dimensions));
            let running: Vec<_> = parts
                .map(|(keys, vectors)| {
                    scope.spawn(move || {
                        let rows = vectors.chunks_exact(graph.dimensions);
                        keys.iter().zip(rows).try_for_each(|(key, row)| graph.add_reserved(*key, row))
                    })
                })
                .collect();
            running.into_iter().try_for_each(|t| t.join().unwrap_or(Err(GraphError::Doubtful("a thread ended early"))))
        })
    }

    /// Keys of candidates for the nearest vectors, in no particular order.
    pub fn candidates(&self, unit: &[f32], count: usize) -> Result<Vec<u64>, GraphError> {
        if unit.len() != self.dimensions {
            return Err(GraphError::Doubtful("the query has other dimensions"));
        }
        let mut keys = self.native.search(unit, count).map_err(native)?.keys;
        keys.extend(&self.beside);
        Ok(keys)
    }

    /// Searches for each of these vectors, on several threads, and records the keys that are unreachable. `batch`: the
    /// unit vectors, concatenated (`keys.len() * dimensions` values).
    pub fn prove(&mut self, keys: &[u64], batch: &[f32], threads: usize) -> Result<(), GraphError> {
        let share = keys.len().div_ceil(threads.clamp(1, THREADS)).max(1);
        let native = &self.native;
        let lost = |(key, row): (&u64, &[f32])| -> Result<Option<u64>, GraphError> {
            let near = native.search(row, TWINS).map_err(self::native)?;
            // equal vectors may fill all places before it
            let twins = near.keys.len() == TWINS && near.distances.iter().all(|d| *d < SAME);
            Ok((!near.keys.contains(key) && !twins).then_some(*key))
        };
        let (lost, dimensions) = (&lost, self.dimensions);
        let found = std::thread::scope(|scope| {
            let parts = keys.chunks(share).zip(batch.chunks(share * dimensions));
            let running: Vec<_> = parts
                .map(|(keys, vectors)| {
                    let each = keys.iter().zip(vectors.chunks_exact(dimensions));
                    scope.spawn(move || each.filter_map(|one| lost(one).transpose()).collect())
                })
                .collect();
            let each =
                running.into_iter().map(|t| t.join().unwrap_or(Err(GraphError::Doubtful("a thread ended early"))));
            each.collect::<Result<Vec<Vec<u64>>, _>>()
        })?;
        self.beside.extend(found.concat());
        match self.beside.len() > BESIDE {
            true => Err(GraphError::Doubtful("too many vectors are unreachable")),
            false => Ok(()),
        }
    }

    /// Forgets which keys are unreachable, before all vectors are searched for again with [`Graph::prove`].
    pub fn doubt(&mut self) {
        self.beside.clear();
    }

    /// The unreachable keys.
    pub fn beside(&self) -> &[u64] {
        &self.beside
    }

    /// Serializes the graph.
    pub fn to_bytes(&self) -> Result<Vec<u8>, GraphError> {
        let mut bytes = vec![0; self.native.serialized_length()];
        self.native.save_to_buffer(&mut bytes).map_err(native)?;
        Ok(bytes)
    }
}

/// Path of the index file of a database: `DATABASE.index`.
pub(super) fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".index");
    PathBuf::from(name)
}

/// Writes the file atomically.
pub(super) fn save(path: &Path, header: Header, graph: &[u8]) -> Result<(), GraphError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let header = Header { format: FORMAT, bytes: graph.len() as u64, sha256: sha256(graph), ..header };
    let mut line = serde_json::to_string(&header).map_err(std::io::Error::other)?;
    line.push('\n');
    sweep(folder);
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(line.as_bytes())?;
    file.write_all(graph)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Removes incomplete files of processes that were killed while saving.
fn sweep(folder: &Path) {
    let Ok(files) = std::fs::read_dir(folder) else { return };
    for file in files.flatten().filter(|f| f.file_name().to_string_lossy().starts_with(UNFINISHED)) {
        let age = file.metadata().and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// Loads the file, if it is intact and belongs to this database and embedder.
pub(super) fn load(
    path: &Path,
    identity: &str,
    embedder: &str,
    dimensions: usize,
) -> Result<(Header, Graph), GraphError> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(HEADER_BYTES).read_to_end(&mut bytes)?;
    let end = bytes.iter().position(|b| *b == b'\n').ok_or(GraphError::Doubtful("it has no header"))?;
    let header: Header = serde_json::from_slice(bytes.get(..end).unwrap_or_default())
        .map_err(|_| GraphError::Doubtful("invalid header"))?;
    if header.format != FORMAT || header.identity != identity {
        return Err(GraphError::Doubtful("it belongs to another database or has another format"));
    }
    if header.dimensions != dimensions || header.embedder != embedder {
        return Err(GraphError::Doubtful("it belongs to another embedder"));
    }
    let mut graph = bytes.split_off(end + 1);
    if header.bytes != length.saturating_sub(end as u64 + 1) {
        return Err(GraphError::Doubtful("it is truncated"));
    }
    file.read_to_end(&mut graph)?;
    if sha256(&graph) != header.sha256 {
        return Err(GraphError::Doubtful("checksum mismatch"));
    }
    let mut loaded = Graph::new(dimensions, 0)?;
    loaded.native.load_from_buffer(&graph).map_err(native)?;
    if loaded.native.dimensions() != dimensions || loaded.native.size() != header.size {
        return Err(GraphError::Doubtful("its size or dimensions differ from the header"));
    }
    loaded.native.change_expansion_add(EXPANSION_ADD);
    loaded.native.change_expansion_search(EXPANSION_SEARCH);
    loaded.native.reserve_capacity_and_threads(header.size.max(64), THREADS).map_err(native)?;
    loaded.beside.clone_from(&header.beside);
    Ok((header, loaded))
}

fn sha256(bytes: &[u8]) -> String {
    finish(Sha256::new().chain_update(bytes))
}

fn native(e: impl std::fmt::Display) -> GraphError {
    GraphError::Native(e.to_string())
}
