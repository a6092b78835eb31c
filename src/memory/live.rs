//! What is recalled, held in memory: the active entries, by effect, by approval and by vector.
//!
//! 1. [`Live::apply`] takes the heads that changed and the memory version they were read at.
//! 2. A batch older than what is already known is dropped: the newer one included it.

use super::entry::{Entry, Status, hex};
use super::error::MemoryError;
use super::index::Index;
use super::store::Head;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

pub(super) struct Live {
    /// Memory version up to which this is the truth.
    pub seen: u64,
    /// By id, so that the digest has one order.
    active: BTreeMap<String, Active>,
    by_effect: HashMap<String, HashMap<String, Vec<Arc<Entry>>>>,
    by_signature: HashMap<String, Vec<Arc<Entry>>>,
    by_row: HashMap<u64, Arc<Entry>>,
    /// None without an embedder.
    pub index: Option<Index>,
    digest: OnceLock<String>,
}

struct Active {
    entry: Arc<Entry>,
    digest: String,
    row: Option<u64>,
}

impl Live {
    pub fn new(index: Option<Index>) -> Self {
        Self {
            seen: 0,
            active: BTreeMap::new(),
            by_effect: HashMap::new(),
            by_signature: HashMap::new(),
            by_row: HashMap::new(),
            index,
            digest: OnceLock::new(),
        }
    }

    pub fn apply(&mut self, version: u64, heads: Vec<Head>) -> Result<(), MemoryError> {
        if version <= self.seen {
            return Ok(());
        }
        self.digest = OnceLock::new();
        for head in heads {
            let keep = if head.entry.recallable() { head.row } else { None };
            self.forget(&head.entry.id, keep);
            if head.entry.status == Status::Active {
                self.take(head)?;
            }
        }
        self.seen = version;
        Ok(())
    }

    /// Drops an entry; its vector stays if the next version has the same one.
    fn forget(&mut self, id: &str, keep: Option<u64>) {
        let Some(old) = self.active.remove(id) else { return };
        for trigger in &old.entry.triggers {
            if let Some(classes) = self.by_effect.get_mut(&trigger.verb) {
                drop_from(classes, &trigger.class, id);
            }
        }
        if let Some(approval) = &old.entry.approval {
            drop_from(&mut self.by_signature, &approval.signature, id);
        }
        if let Some(row) = old.row.filter(|row| keep != Some(*row)) {
            self.by_row.remove(&row);
            if let Some(index) = &mut self.index {
                index.remove(row);
            }
        }
    }

    fn take(&mut self, head: Head) -> Result<(), MemoryError> {
        let entry = Arc::new(head.entry);
        for trigger in &entry.triggers {
            let classes = self.by_effect.entry(trigger.verb.clone()).or_default();
            let entries = classes.entry(trigger.class.clone()).or_default();
            if !entries.iter().any(|e| e.id == entry.id) {
                entries.push(Arc::clone(&entry));
            }
        }
        if let Some(approval) = &entry.approval {
            self.by_signature.entry(approval.signature.clone()).or_default().push(Arc::clone(&entry));
        }
        let row = head.row.filter(|_| entry.recallable());
        if let (Some(row), Some(vector), Some(index)) = (row, &head.vector, &mut self.index) {
            index.insert(row, vector).map_err(|e| super::store::corrupt(&entry.id, &e))?;
            self.by_row.insert(row, Arc::clone(&entry));
        }
        self.active.insert(entry.id.clone(), Active { entry, digest: head.digest, row });
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.active.len()
    }

    pub fn active(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.active.values().map(|a| &a.entry)
    }

    /// Active entries that similarity should find but that have no vector of the present embedder.
    pub fn without_vector(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.active.values().filter(|a| a.row.is_none() && a.entry.recallable()).map(|a| &a.entry)
    }

    pub fn of_row(&self, row: u64) -> Option<&Arc<Entry>> {
        self.by_row.get(&row)
    }

    pub fn of_effect(&self, verb: &str, class: &str) -> &[Arc<Entry>] {
        self.by_effect.get(verb).and_then(|classes| classes.get(class)).map_or(&[], Vec::as_slice)
    }

    pub fn of_signature(&self, signature: &str) -> &[Arc<Entry>] {
        self.by_signature.get(signature).map_or(&[], Vec::as_slice)
    }

    /// sha256 in hex over id and content of every active entry.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let parts = self.active.iter().fold(Sha256::new(), |hash, (id, a)| {
                hash.chain_update(id).chain_update(" ").chain_update(&a.digest).chain_update("\n")
            });
            hex(parts)
        })
    }
}

fn drop_from(map: &mut HashMap<String, Vec<Arc<Entry>>>, key: &str, id: &str) {
    if let Some(entries) = map.get_mut(key) {
        entries.retain(|e| e.id != id);
        if entries.is_empty() {
            map.remove(key);
        }
    }
}
