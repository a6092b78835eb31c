//! Whose word each piece of the observations is, for one action.

use super::claim::Claim;
use super::delegate::{Delegation, Word};
use super::demand::delegates;
use super::read::Seen;
use super::record::Record;
use std::sync::Arc;

/// Whose word each piece is, for one action.
pub(super) struct Voices {
    /// The word of each piece, in their order.
    pub of: Vec<Word>,
    /// The request delegates to a text.
    pub all: bool,
    pub delegation: Delegation,
    /// The records that contain a passage that speaks to an agent.
    poisoned: Vec<Arc<Record>>,
}

impl Voices {
    pub fn of(claim: &Claim, request: &str, seen: &Seen) -> Self {
        let delegation = Delegation::of(request, &claim.project);
        let mut records: Vec<&Record> = Vec::new();
        let mut places: Vec<usize> = Vec::with_capacity(seen.pieces.len());
        for piece in &seen.pieces {
            // the pieces of a record follow one another
            if records.last().is_none_or(|last| !std::ptr::eq(*last, &*piece.record)) {
                records.push(&piece.record);
            }
            places.push(records.len() - 1);
        }
        let named = delegation.named(&records);
        let words: Vec<Word> = records
            .iter()
            .zip(named)
            .map(|(record, named)| match named || record.answer {
                false => Word::Foreign,
                true if delegation.covers(record, claim.weight, &claim.tool, (&claim.to, &claim.sites))
                    && delegation.writes_to(record, claim) =>
                {
                    Word::Users
                }
                true if named => Word::Named,
                true => Word::Foreign,
            })
            .collect();
        let all = delegates(request);
        // a page that the request names is read for what it says, and not to go where it sends its reader
        let leads = claim.reads && !claim.sites.is_empty() || !claim.links.is_empty();
        let sent_on = leads && !all && !delegation.speaks_of_links();
        let of = seen.pieces.iter().zip(places).map(|(piece, place)| match words.get(place) {
            Some(Word::Users) if sent_on && piece.order => Word::Named,
            Some(word) if !piece.hostile => *word,
            _ => Word::Foreign,
        });
        let mut poisoned: Vec<Arc<Record>> = Vec::new();
        for piece in seen.pieces.iter().filter(|piece| piece.hostile) {
            if poisoned.last().is_none_or(|last| !Arc::ptr_eq(last, &piece.record)) {
                poisoned.push(Arc::clone(&piece.record));
            }
        }
        Self { of: of.collect(), all, delegation, poisoned }
    }

    /// Whether a record contains a passage that speaks to an agent.
    pub fn is_poisoned(&self, record: &Arc<Record>) -> bool {
        self.poisoned.iter().any(|one| Arc::ptr_eq(one, record))
    }
}
