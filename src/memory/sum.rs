//! The digest of the active entries: a sum, so that a change costs one addition, whatever the number of entries.

use crate::digest::finish;
use sha2::{Digest, Sha256};

/// Bytes of a sum in the database.
const BYTES: usize = 32;

/// The sum of the terms of all active entries, and their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    lanes: [u64; 4],
    count: u64,
}

impl Sum {
    /// The sum from the database; `None` if it is none.
    pub fn read(bytes: &[u8], count: u64) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        let mut lanes = [0; 4];
        (bytes.len() == BYTES && rest.is_empty()).then(|| {
            lanes.iter_mut().zip(numbers).for_each(|(lane, number)| *lane = u64::from_le_bytes(*number));
            Self { lanes, count }
        })
    }

    /// Its bytes and the number of entries, for the database.
    pub fn written(&self) -> (Vec<u8>, u64) {
        (self.lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect(), self.count)
    }

    /// Adds an active entry. `digest`: that of its version.
    pub fn add(&mut self, id: &str, digest: &str) {
        self.change(id, digest, u64::wrapping_add);
        self.count += 1;
    }

    /// Takes out an entry that was added with this digest.
    pub fn subtract(&mut self, id: &str, digest: &str) {
        self.change(id, digest, u64::wrapping_sub);
        self.count = self.count.saturating_sub(1);
    }

    /// Digest (hex) of the entries, independent of their order.
    pub fn digest(&self) -> String {
        let sum = self.lanes.iter().fold(Sha256::new(), |hash, lane| hash.chain_update(lane.to_le_bytes()));
        finish(sum.chain_update(self.count.to_le_bytes()))
    }

    fn change(&mut self, id: &str, digest: &str, with: fn(u64, u64) -> u64) {
        let hash = Sha256::new().chain_update(id).chain_update(" ").chain_update(digest).finalize();
        let (numbers, _) = hash.as_slice().as_chunks::<8>();
        self.lanes.iter_mut().zip(numbers).for_each(|(lane, number)| *lane = with(*lane, u64::from_le_bytes(*number)));
    }
}
