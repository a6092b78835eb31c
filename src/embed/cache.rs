//! A cache of the vectors of recent texts, keyed by the hash of the text.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

/// The hash of a text.
pub(super) type Key = [u8; 32];

/// The key of a text.
pub(super) fn key(text: &str) -> Key {
    Sha256::digest(text.as_bytes()).into()
}

/// A least-recently-used cache of a bounded number of vectors.
#[derive(Debug)]
pub(super) struct Lru {
    capacity: usize,
    clock: u64,
    entries: HashMap<Key, (u64, Vec<f32>)>,
    order: BTreeMap<u64, Key>,
}

impl Lru {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, clock: 0, entries: HashMap::new(), order: BTreeMap::new() }
    }

    pub(super) fn get(&mut self, key: &Key) -> Option<Vec<f32>> {
        let (used, vector) = self.entries.get_mut(key)?;
        self.clock += 1;
        self.order.remove(used);
        *used = self.clock;
        self.order.insert(self.clock, *key);
        Some(vector.clone())
    }

    pub(super) fn put(&mut self, key: Key, vector: Vec<f32>) {
        if self.capacity == 0 {
            return;
        }
        self.clock += 1;
        if let Some((used, _)) = self.entries.insert(key, (self.clock, vector)) {
            self.order.remove(&used);
        }
        self.order.insert(self.clock, key);
        while self.entries.len() > self.capacity {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_entry_is_evicted() {
        let mut lru = Lru::new(2);
        lru.put(key("a"), vec![1.0]);
        lru.put(key("b"), vec![2.0]);
        assert_eq!(lru.get(&key("a")), Some(vec![1.0]));
        lru.put(key("c"), vec![3.0]);
        assert_eq!(lru.get(&key("b")), None);
        assert_eq!(lru.get(&key("a")), Some(vec![1.0]));
        lru.put(key("a"), vec![4.0]);
        assert_eq!(lru.get(&key("a")), Some(vec![4.0]));
        assert_eq!(lru.entries.len(), lru.order.len());
    }
}
