//! The lifelong memory: checklists learnt for kinds of actions.
//!
//! 1. SQLite is the source of truth (`store.rs`, `schema.sql`): append-only versions in WAL mode. A lesson is on disk
//!    when [`Memory::learn`] returns.
//! 2. Active entries are also kept in RAM (`live.rs`): by effect ([`Memory::triggered`]), by approval
//!    ([`Memory::approval`]) and by vector ([`Memory::recall`]; `index.rs`, `graph.rs`).
//! 3. Before a recall, at most every 50 ms, the memory checks whether another process has written, and loads the
//!    changes. If that fails, the recall fails: a memory that may be out of date is not served.
//!    A process that judges one action reads only the entries that it concerns (`demand.rs`).
//! 4. Lessons change the memory by the rules in `learn.rs`. `seed.rs` adds the shipped checklists. `transfer.rs`
//!    exports and imports.
//!
//! The vector index is derived data: if its file is deleted or damaged, nothing is lost, and recalls scan all vectors.
//! A memory miss never means safe. This module calls no embedder; callers pass vectors.

mod demand;
mod entry;
mod error;
#[cfg(feature = "serve")]
mod find;
mod forget;
mod govern;
mod graph;
mod history;
mod index;
mod learn;
mod live;
mod open;
mod rule;
mod seed;
mod store;
mod sum;
mod tend;
mod transfer;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

pub(crate) use entry::CONTRAST;
pub(crate) use entry::TRIGGERS;
pub use entry::{Approval, Authority, Diff, Entry, KEPT, Key, LearnedCheck, Provenance, Status, Trigger, pooled};
pub use error::{MemoryError, Refusal, SeedProblem};
#[cfg(feature = "serve")]
pub(crate) use find::{DecisionFilter, Place};
pub use govern::Grant;
pub use history::{DecisionRecord, Event, Stats, Version};
pub(crate) use index::EXACT_MAX;
pub use learn::{Change, Episode, Lesson, QUORUM, Rule};
pub(crate) use rule::Ruling;
pub use seed::SeedReport;
pub use transfer::{ImportAs, ImportReport};

use crate::shape::{Shape, Widening};
use index::Index;
use live::Live;
use open::OnMismatch;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;
use store::{Embedder, Store};

/// How long changes by another process may stay unseen, in milliseconds.
pub const STALE_MS: u64 = 50;

type Result<T> = std::result::Result<T, MemoryError>;

/// A handle to the memory. Clones share the memory and may be used from any thread.
#[derive(Clone)]
pub struct Memory {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    live: RwLock<Live>,
    started: Instant,
    /// Milliseconds after `started` until which `live` counts as fresh.
    fresh_until: AtomicU64,
    /// Locked while the graph is built, loaded or saved.
    tending: Mutex<()>,
    /// Most vectors for which a recall scans exactly, without the graph.
    exact_max: usize,
    /// Entries are not loaded until something needs all of them (`demand.rs`).
    on_demand: bool,
}

/// An entry that is similar to a query.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// Active; never an approval.
    pub entry: Arc<Entry>,
    /// Cosine, -1..=1.
    pub similarity: f32,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("path", &self.inner.store.path()).finish_non_exhaustive()
    }
}

impl Memory {
    /// Opens the memory at `path`; creates the file (mode 0600) if it does not exist. `dimensions`: the length of the
    /// embedder's vectors.
    ///
    /// # Errors
    /// [`MemoryError::Open`], [`MemoryError::NotOurs`], [`MemoryError::NewerSchema`], [`MemoryError::ReadOnly`],
    /// [`MemoryError::Locked`] after 2 s, [`MemoryError::EmbedderMismatch`], [`MemoryError::Corrupt`].
    pub fn open(path: &Path, embedder_id: &str, dimensions: usize) -> Result<Self> {
        let embedder = embedder(embedder_id, dimensions)?;
        Self::from_store(Store::open(path, Some(embedder), OnMismatch::Refuse)?, EXACT_MAX)
    }

    /// Opens the memory for a process that judges one action and ends: entries are read as they are needed
    /// (`demand.rs`). [`Memory::load`] loads them.
    ///
    /// # Errors
    /// As [`Memory::open`]; an entry that is damaged is found when it is read.
    pub fn open_on_demand(path: &Path, embedder_id: &str, dimensions: usize) -> Result<Self> {
        let embedder = embedder(embedder_id, dimensions)?;
        Self::new(Store::open(path, Some(embedder), OnMismatch::Refuse)?, EXACT_MAX, true)
    }

    /// Opens the memory with the embedder recorded in the file, if any: for commands that embed nothing, and for an
    /// engine that recalls only by effect.
    ///
    /// # Errors
    /// As [`Memory::open`].
    pub fn open_as_is(path: &Path) -> Result<Self> {
        Self::from_store(Store::open(path, None, OnMismatch::Refuse)?, EXACT_MAX)
    }

    /// Opens the memory for another embedder. Vectors of the former embedder are no longer used: for each entry of
    /// [`Memory::without_vector`], set a new one with [`Memory::set_vector`].
    ///
    /// # Errors
    /// As [`Memory::open`], without the mismatch.
    pub fn open_for_new_embedder(path: &Path, embedder_id: &str, dimensions: usize) -> Result<Self> {
        let embedder = embedder(embedder_id, dimensions)?;
        Self::from_store(Store::open(path, Some(embedder), OnMismatch::Change)?, EXACT_MAX)
    }

    /// Creates a memory in RAM, which is lost when the process ends.
    ///
    /// # Errors
    /// [`MemoryError::Database`].
    pub fn in_memory(embedder_id: &str, dimensions: usize) -> Result<Self> {
        Self::from_store(Store::in_memory(Some(embedder(embedder_id, dimensions)?))?, EXACT_MAX)
    }

    fn from_store(store: Store, exact_max: usize) -> Result<Self> {
        Self::new(store, exact_max, false)
    }

    fn new(store: Store, exact_max: usize, on_demand: bool) -> Result<Self> {
        let index = store.embedder().map(|e| Index::new(e.dimensions));
        let memory = Self {
            inner: Arc::new(Inner {
                store,
                live: RwLock::new(Live::new(index)),
                started: Instant::now(),
                fresh_until: AtomicU64::new(0),
                tending: Mutex::new(()),
                exact_max,
                on_demand,
            }),
        };
        if !on_demand {
            memory.reload()?;
        }
        Ok(memory)
    }

    /// The `k` most similar active entries (fewer if there are fewer), by decreasing cosine similarity. `vector` has
    /// the memory's dimensions and any length but zero.
    ///
    /// # Errors
    /// [`MemoryError::NoEmbedder`], [`MemoryError::Dimensions`], [`MemoryError::NotFinite`]; and if changes by another
    /// process cannot be loaded.
    pub fn recall(&self, vector: &[f32], k: usize) -> Result<Vec<Neighbour>> {
        self.refresh()?;
        let live = self.live();
        let hits = live.index.as_ref().ok_or(MemoryError::NoEmbedder)?.nearest(vector, k)?;
        let neighbour = |(row, similarity)| live.of_row(row).map(|e| Neighbour { entry: Arc::clone(e), similarity });
        Ok(hits.into_iter().filter_map(neighbour).collect())
    }

    /// The cosine similarities of some active entries to a vector, the nearest first; without those that have no vector.
    ///
    /// # Errors
    /// [`MemoryError::NoEmbedder`]; if changes by another process cannot be loaded.
    pub(crate) fn similar(&self, entries: &[Arc<Entry>], vector: &[f32]) -> Result<Vec<Neighbour>> {
        self.refresh()?;
        let live = self.live();
        let index = live.index.as_ref().ok_or(MemoryError::NoEmbedder)?;
        let vector = index::unit(vector, index.dimensions())?;
        let own = |entry: &Arc<Entry>| index.get(live.row_of(&entry.id)?).map(|own| index::dot(&vector, own));
        let similar = |entry: &Arc<Entry>| Some(Neighbour { similarity: own(entry)?, entry: Arc::clone(entry) });
        let mut found: Vec<Neighbour> = entries.iter().filter_map(similar).collect();
        found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.entry.id.cmp(&b.entry.id)));
        Ok(found)
    }

    /// Active entries that any of these effects (verb, class of target) recalls, sorted by id. Queries SQLite only for
    /// changes by another process.
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn triggered<V: AsRef<str>, C: AsRef<str>>(&self, effects: &[(V, C)]) -> Result<Vec<Arc<Entry>>> {
        if self.reads_on_demand() {
            return self.read_triggered(effects);
        }
        self.refresh()?;
        let live = self.live();
        let mut found: Vec<Arc<Entry>> = Vec::new();
        for (verb, class) in effects {
            found.extend(live.of_effect(verb.as_ref(), class.as_ref()).iter().cloned());
        }
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.dedup_by(|a, b| a.id == b.id);
        Ok(found)
    }

    /// An approval of exactly this effect signature that is valid at `now_ms` (milliseconds since 1970). It becomes
    /// consent only when [`Memory::use_approval`] has counted the use.
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn approval(&self, signature: &str, now_ms: i64) -> Result<Option<Arc<Entry>>> {
        self.held(signature, now_ms, |approval| approval.widening.is_none())
    }

    /// A widened approval that admits an action with this outline and shape. As [`Memory::approval`].
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn widened(&self, outline: &str, shape: &Shape, now_ms: i64) -> Result<Option<Arc<Entry>>> {
        let admits = |widening: &Widening| widening.admits(shape);
        self.held(outline, now_ms, |approval| approval.widening.as_ref().is_some_and(admits))
    }

    fn held(&self, bound: &str, now_ms: i64, covers: impl Fn(&Approval) -> bool) -> Result<Option<Arc<Entry>>> {
        // a clock that goes back renews no approval
        let latest = || self.inner.store.with_reader(store::latest_decision);
        let holds = |e: &&Arc<Entry>, now_ms| {
            e.approval.as_ref().is_some_and(|a| a.holds(e.created_ms, now_ms) && covers(a))
                && e.status == Status::Active
        };
        if self.reads_on_demand() {
            let (found, now_ms) = (self.read_bound(bound)?, now_ms.max(latest()?));
            return Ok(found.iter().find(|e| holds(e, now_ms)).cloned());
        }
        self.refresh()?;
        let now_ms = now_ms.max(latest()?);
        let live = self.live();
        Ok(live.of_signature(bound).iter().find(|e| holds(e, now_ms)).cloned())
    }

    /// What people widened and is still in use.
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn widenings(&self) -> Result<Vec<Widening>> {
        self.refresh()?;
        Ok(self.live().approvals().filter_map(|approval| approval.widening.clone()).collect())
    }

    /// Active entries that similarity search cannot find because they have no vector of this embedder, sorted by id.
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn without_vector(&self) -> Result<Vec<Arc<Entry>>> {
        self.refresh()?;
        let mut found: Vec<Arc<Entry>> = self.live().without_vector().cloned().collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// An arbitrary active entry that similarity search could find, determined by `seed` alone. Only for ablations.
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn any(&self, seed: u64) -> Result<Option<Arc<Entry>>> {
        let ids = self.active()?;
        let count = u64::try_from(ids.len()).unwrap_or(u64::MAX).max(1);
        Ok(usize::try_from(seed % count).ok().and_then(|at| ids.get(at).cloned()))
    }

    /// All active entries except approvals, sorted by id.
    ///
    /// # Errors
    /// If changes by another process cannot be loaded.
    pub fn active(&self) -> Result<Vec<Arc<Entry>>> {
        self.refresh()?;
        let mut found: Vec<Arc<Entry>> = self.live().recallable().cloned().collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// Whether anything can be recalled by similarity.
    #[must_use]
    pub fn has_vectors(&self) -> bool {
        if self.reads_on_demand() {
            let sql = "SELECT EXISTS (SELECT 1 FROM embedding)";
            // if it cannot be read, the recall will say so
            let any = self.inner.store.with_reader(|c| Ok(c.query_row(sql, [], |row| row.get(0))?));
            return any.unwrap_or(true);
        }
        self.live().index.as_ref().is_some_and(|index| index.len() > 0)
    }

    /// Number of transactions of all processes that have changed an entry, as far as loaded.
    #[must_use]
    pub fn version(&self) -> u64 {
        if self.reads_on_demand() {
            return self.inner.store.with_reader(store::memory_version).unwrap_or_default();
        }
        self.live().seen
    }

    /// Digest (hex) of all active versions, as far as loaded. Memories with the same active versions have the same
    /// digest. It distinguishes states; it does not authenticate them.
    #[must_use]
    pub fn digest(&self) -> String {
        if self.reads_on_demand() {
            // no answer is bound to a digest that cannot be read
            return self.read_digest().unwrap_or_else(|_| format!("unreadable {}", ulid::Ulid::new()));
        }
        self.live().digest().to_owned()
    }

    /// Id and dimensions of the embedder; `None` if the memory has none yet.
    #[must_use]
    pub fn embedder(&self) -> Option<(&str, usize)> {
        self.inner.store.embedder().map(|e| (e.id.as_str(), e.dimensions))
    }

    /// Loads changes by other processes, unless the last look is less than [`STALE_MS`] ago.
    ///
    /// # Errors
    /// [`MemoryError::Locked`] after 250 ms, [`MemoryError::Corrupt`], [`MemoryError::Database`].
    pub fn refresh(&self) -> Result<()> {
        let now = u64::try_from(self.inner.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let until = self.inner.fresh_until.load(Ordering::Acquire);
        let claim = |next| self.inner.fresh_until.compare_exchange(until, next, Ordering::AcqRel, Ordering::Acquire);
        if now < until || claim(now + STALE_MS).is_err() {
            return Ok(());
        }
        let outcome = match self.inner.store.moved() {
            Ok(None) => Ok(()),
            Ok(Some(token)) => self.reload().map(|()| self.inner.store.settled(token)),
            Err(e) => Err(e),
        };
        outcome.inspect_err(|_| self.distrust())
    }

    /// Makes the next recall read the database, and fail if it cannot.
    fn distrust(&self) {
        self.inner.fresh_until.store(0, Ordering::Release);
    }

    fn reload(&self) -> Result<()> {
        let since = self.live().seen;
        let (version, heads) = self.inner.store.changes(since)?;
        let mut live = self.live_mut();
        live.apply(since, version, heads)?;
        let wanting = self.wants_tending(&live);
        drop(live);
        if wanting {
            self.tend_behind();
        }
        Ok(())
    }

    fn check_vector(&self, vector: &[f32]) -> Result<()> {
        let embedder = self.inner.store.embedder().ok_or(MemoryError::NoEmbedder)?;
        index::unit(vector, embedder.dimensions).map(drop)
    }

    fn live(&self) -> RwLockReadGuard<'_, Live> {
        self.inner.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn live_mut(&self) -> RwLockWriteGuard<'_, Live> {
        self.inner.live.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn embedder(id: &str, dimensions: usize) -> Result<Embedder> {
    if id.trim().is_empty() || dimensions == 0 {
        return Err(MemoryError::NoEmbedder);
    }
    Ok(Embedder { id: id.to_owned(), dimensions })
}
