//! Which variables carry a value from one round of a loop to the next.
//!
//! A body is interpreted once more only for these: another round that begins with the same values does the same.

use super::Reader;
use super::values::Value;
use foldhash::HashSet;

/// What the current round of a loop has done so far.
#[derive(Default)]
pub(super) struct Round {
    /// Names that surely have a value of this round.
    written: Written,
    /// Names that were read while they may have had a value from before the round.
    carried: HashSet<String>,
}

/// Names in the order in which they came.
#[derive(Default)]
struct Written {
    order: Vec<String>,
    names: HashSet<String>,
}

impl Written {
    fn insert(&mut self, name: &str) {
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
            self.order.push(name.to_owned());
        }
    }

    /// Forgets all but the first ones.
    fn truncate(&mut self, length: usize) {
        for name in self.order.drain(length.min(self.order.len())..) {
            self.names.remove(&name);
        }
    }
}

/// What a round must leave as it was, apart from variables.
#[derive(PartialEq, Eq)]
pub(super) struct Around {
    folder: Option<String>,
    all_processes: bool,
    listed: bool,
    declared: usize,
}

impl Reader<'_> {
    /// State that is no variable and that a later round would see.
    pub(super) fn around(&self) -> Around {
        Around {
            folder: self.cwd.clone(),
            all_processes: self.all_processes,
            listed: self.calls.iter().any(|call| call.role == "list" && call.target == "/proc"),
            declared: self.arguments.declared(),
        }
    }

    pub(super) fn note_read(&mut self, name: &str) {
        for round in &mut self.rounds {
            if !round.carried.contains(name) && !round.written.names.contains(name) {
                round.carried.insert(name.to_owned());
            }
        }
    }

    pub(super) fn note_written(&mut self, name: &str) {
        self.rounds.iter_mut().for_each(|round| round.written.insert(name));
    }

    /// Interprets something that may not run. What it writes does not count as written by the round.
    pub(super) fn uncertain<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let before: Vec<usize> = self.rounds.iter().map(|round| round.written.order.len()).collect();
        let result = run(self);
        for (round, length) in self.rounds.iter_mut().zip(before) {
            round.written.truncate(length);
        }
        result
    }

    /// Interprets a function, whose variables are others than those of its caller with the same names.
    pub(super) fn apart<T>(&mut self, parameters: &[String], run: impl FnOnce(&mut Self) -> T) -> T {
        let inner = || Written { order: parameters.to_vec(), names: parameters.iter().cloned().collect() };
        let outer: Vec<Written> =
            self.rounds.iter_mut().map(|round| std::mem::replace(&mut round.written, inner())).collect();
        let result = run(self);
        for (round, written) in self.rounds.iter_mut().zip(outer) {
            round.written = written;
        }
        result
    }

    /// Whether a round that turned a variable from one value into another may do something else the next time.
    pub(super) fn is_carried(
        &self,
        round: &Round,
        key: &(usize, String),
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> bool {
        let (scope, name) = key;
        // attributes of instances and variables of other modules are also read in other ways
        let other = name.contains('.') || *scope >= self.scopes.len() && *scope != self.key_of(0);
        let same = before.zip(after).is_some_and(|(before, after)| before.same(after));
        !same && (other || round.carried.contains(name))
    }
}
