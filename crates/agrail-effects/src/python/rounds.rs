//! Which variables carry a value from one round of a loop to the next.
//!
//! A body is interpreted once more only for these: another round that begins with the same values does the same.

use super::Reader;
use super::values::Value;
use foldhash::HashSet;

/// What the current round of a loop has done so far.
#[derive(Default)]
pub(super) struct Round {
    /// Names that surely have a value of this round, in the order in which they got it.
    written: Vec<String>,
    /// Names that were read while they may have had a value from before the round.
    carried: HashSet<String>,
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
            if !round.carried.contains(name) && !round.written.iter().any(|written| written == name) {
                round.carried.insert(name.to_owned());
            }
        }
    }

    pub(super) fn note_written(&mut self, name: &str) {
        for round in &mut self.rounds {
            if !round.written.iter().any(|written| written == name) {
                round.written.push(name.to_owned());
            }
        }
    }

    /// Interprets something of which it is not certain that it runs: what it writes, a round has not written.
    pub(super) fn uncertain<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let before: Vec<usize> = self.rounds.iter().map(|round| round.written.len()).collect();
        let result = run(self);
        for (round, length) in self.rounds.iter_mut().zip(before) {
            round.written.truncate(length);
        }
        result
    }

    /// Interprets a function, whose variables are others than those of its caller with the same names.
    pub(super) fn apart<T>(&mut self, parameters: &[String], run: impl FnOnce(&mut Self) -> T) -> T {
        let outer: Vec<Vec<String>> =
            self.rounds.iter_mut().map(|round| std::mem::replace(&mut round.written, parameters.to_vec())).collect();
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
