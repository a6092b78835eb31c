//! The active entries in RAM, indexed by effect, by approval and by vector; recalls read only these.
//!
//! 1. [`Live::apply`] takes the changed heads and the memory version at which they were read.
//! 2. A batch that is older than the loaded state is dropped, because the newer batch included it.

use super::entry::{Approval, Entry, Status};
use super::error::MemoryError;
use super::index::Index;
use super::store::Head;
use super::sum::Sum;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

pub(super) struct Live {
    /// Memory version up to which changes are loaded.
    pub seen: u64,
    active: HashMap<String, Active>,
    by_effect: HashMap<String, HashMap<String, Vec<Arc<Entry>>>>,
    by_signature: HashMap<String, Vec<Arc<Entry>>>,
    by_row: HashMap<u64, Arc<Entry>>,
    /// `None` without an embedder.
    pub index: Option<Index>,
    sum: Sum,
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
            active: HashMap::new(),
            by_effect: HashMap::new(),
            by_signature: HashMap::new(),
            by_row: HashMap::new(),
            index,
            sum: Sum::default(),
            digest: OnceLock::new(),
        }
    }

    /// Applies a batch. `heads`: all heads that changed after memory version `since`; for 0, all active heads.
    /// `version`: the memory version at which they were read.
    pub fn apply(&mut self, since: u64, version: u64, heads: Vec<Head>) -> Result<(), MemoryError> {
        if version <= self.seen {
            return Ok(());
        }
        self.digest = OnceLock::new();
        if since == 0 {
            let there: HashSet<&str> = heads.iter().map(|h| h.entry.id.as_str()).collect();
            let gone: Vec<String> = self.active.keys().filter(|id| !there.contains(id.as_str())).cloned().collect();
            gone.iter().for_each(|id| self.forget(id, None));
        }
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

    /// Removes an entry. Its vector stays if it is `keep`, the vector of the next version.
    fn forget(&mut self, id: &str, keep: Option<u64>) {
        let Some(old) = self.active.remove(id) else { return };
        self.sum.subtract(id, &old.digest);
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
        let row = head.row.filter(|_| entry.recallable());
        if let (Some(row), Some(vector), Some(index)) = (row, &head.vector, &mut self.index) {
            index.insert(row, vector).map_err(|e| super::store::corrupt(&entry.id, &e))?;
            self.by_row.insert(row, Arc::clone(&entry));
        }
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
        self.sum.add(&entry.id, &head.digest);
        self.active.insert(entry.id.clone(), Active { entry, digest: head.digest, row });
        Ok(())
    }

    /// Active entries without a vector of the present embedder, except approvals.
    pub fn without_vector(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.active.values().filter(|a| a.row.is_none() && a.entry.recallable()).map(|a| &a.entry)
    }

    pub fn recallable(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.active.values().filter(|a| a.entry.recallable()).map(|a| &a.entry)
    }

    /// The row of the vector of an active entry.
    pub fn row_of(&self, id: &str) -> Option<u64> {
        self.active.get(id)?.row
    }

    pub fn of_row(&self, row: u64) -> Option<&Arc<Entry>> {
        self.by_row.get(&row)
    }

    pub fn of_effect(&self, verb: &str, class: &str) -> &[Arc<Entry>] {
        self.by_effect.get(verb).and_then(|classes| classes.get(class)).map_or(&[], Vec::as_slice)
    }

    pub fn approvals(&self) -> impl Iterator<Item = &Approval> {
        self.by_signature.values().flatten().filter_map(|entry| entry.approval.as_ref())
    }

    pub fn of_signature(&self, signature: &str) -> &[Arc<Entry>] {
        self.by_signature.get(signature).map_or(&[], Vec::as_slice)
    }

    /// Digest (hex) of the active entries, independent of the order in which they were loaded.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| self.sum.digest())
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
