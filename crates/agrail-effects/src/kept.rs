//! Readings of programs that are kept: an agent runs the same programs again and again.
//!
//! A reading depends on its source, on where it stands, and on the answers of its [`Loader`]. It is found again by the
//! digest of the first two, and holds only if each file that the reader asked for answers as it did then.

use crate::budget::{self, Cost};
use crate::reading::{Loaded, Loader, Reading};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

/// Most readings that are kept, and their weight together, in bytes.
const READINGS: usize = 1_024;
const ROOM: u64 = 32 * 1024 * 1024;
/// Bytes of a call, a problem or an answer without its texts.
const PART: usize = 128;

type Sum = [u8; 32];

/// What a loader said of a file.
#[derive(Clone, PartialEq, Eq)]
enum Answer {
    Text(Sum),
    Missing,
    Unreadable,
}

impl Answer {
    fn of(loaded: &Loaded) -> Self {
        match loaded {
            Loaded::Text(text) => Self::Text(Sha256::digest(text).into()),
            Loaded::Missing => Self::Missing,
            Loaded::Unreadable => Self::Unreadable,
        }
    }
}

/// A reading, and the answers that it depends on.
struct Kept {
    asked: Vec<(String, Answer)>,
    reading: Reading,
    cost: Cost,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Sum, Arc<Kept>> for Weight {
    fn weight(&self, _: &Sum, kept: &Arc<Kept>) -> u64 {
        let asked = kept.asked.iter().map(|(path, _)| path.len() + PART);
        let calls = kept.reading.calls.iter().map(|call| call.target.len() + call.via.len() + PART);
        let problems = kept.reading.problems.iter().map(|problem| problem.what.len() + PART);
        (PART + asked.chain(calls).chain(problems).sum::<usize>()) as u64
    }
}

static KEPT: LazyLock<Cache<Sum, Arc<Kept>, Weight>> = LazyLock::new(|| Cache::with_weighter(READINGS, ROOM, Weight));

/// Notes what a loader is asked.
struct Noting<'l> {
    inner: &'l dyn Loader,
    asked: RefCell<Vec<(String, Answer)>>,
}

impl Loader for Noting<'_> {
    fn load(&self, path: &str) -> Loaded {
        let loaded = self.inner.load(path);
        self.asked.borrow_mut().push((path.to_owned(), Answer::of(&loaded)));
        loaded
    }
}

/// The reading of a program: the kept one if it still holds, else what `read` finds. `parts` are all that the reading
/// depends on except the loader: the language, the source, its path and its folder.
pub(crate) fn reading(parts: &[&str], loader: &dyn Loader, read: impl FnOnce(&dyn Loader) -> Reading) -> Reading {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part);
    }
    let key: Sum = sum.finalize().into();
    let holds = |kept: &Arc<Kept>| kept.asked.iter().all(|(path, answer)| Answer::of(&loader.load(path)) == *answer);
    if let Some(kept) = KEPT.get(&key).filter(holds) {
        budget::charges(kept.cost);
        return kept.reading.clone();
    }
    let noting = Noting { inner: loader, asked: RefCell::default() };
    let (reading, cost) = budget::costing(|| read(&noting));
    // an incomplete reading must not answer for a later one
    if !budget::is_spent() {
        KEPT.insert(key, Arc::new(Kept { asked: noting.asked.into_inner(), reading: reading.clone(), cost }));
    }
    reading
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::reading;
    use crate::python::{Library, Place, extract_effects};
    use crate::reading::{Loaded, Loader};
    use std::cell::Cell;

    /// A module `own` with this content, or none.
    struct Own(Option<&'static str>);

    impl Loader for Own {
        fn load(&self, path: &str) -> Loaded {
            match self.0.filter(|_| path == "/p/own.py") {
                Some(text) => Loaded::Text(text.to_owned()),
                None => Loaded::Missing,
            }
        }
    }

    #[test]
    fn a_reading_is_kept_until_a_module_changes() {
        let read = Cell::new(0);
        let targets = |source: &str, path: &str, own: Option<&'static str>| -> Vec<String> {
            let found = reading(&["test", source, path, "/p"], &Own(own), |loader| {
                read.set(read.get() + 1);
                extract_effects(source, &Place { path, folder: "/p", words: None, loader }, &Library::NONE)
            });
            found.calls.into_iter().map(|call| call.target).collect()
        };
        let source = "import os, own\nos.remove(own.NAME)\n";
        assert_eq!(targets(source, "/p/a.py", Some("NAME = '/one'")), ["/one"]);
        assert_eq!(targets(source, "/p/a.py", Some("NAME = '/one'")), ["/one"]);
        assert_eq!(read.get(), 1);
        assert_eq!(targets(source, "/p/a.py", Some("NAME = '/two'")), ["/two"]);
        assert!(!targets(source, "/p/a.py", None).contains(&"/two".to_owned()));
        assert_eq!(targets(source, "/p/a.py", Some("NAME = '/one'")), ["/one"]);
        assert_eq!(read.get(), 4);
        // the parts are told apart
        let _ = targets(source, "/p/b.py", Some("NAME = '/one'"));
        assert_eq!(read.get(), 5);
    }
}
