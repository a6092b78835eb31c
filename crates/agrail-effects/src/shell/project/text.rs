//! What the text of a file has, in whatever project the file is. Texts are searched once: what they have is kept by their
//! digest for as long as there is room, because an agent works on one project for hours.

use super::registries;
use super::suspect::{Found, found};
use foldhash::HashSet;
use foldhash::fast::FixedState;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use std::hash::BuildHasher as _;
use std::sync::{Arc, LazyLock};

/// Most texts that are kept, and their weight together, in bytes.
const TEXTS: usize = 4_096;
const ROOM: u64 = 32 * 1024 * 1024;
/// Shortest name that counts as a mention without its folder or ending.
pub(super) const SHORTEST: usize = 4;

/// What a text has.
pub(super) struct Text {
    /// Its length in bytes.
    pub length: usize,
    pub found: Found,
    /// Addresses from which a package manager would get code.
    pub foreign: Vec<String>,
    /// Its words that may be names of files, each once, in order.
    pub words: Vec<Word>,
}

/// A word of a text, and the digests of the two names that it may end with.
pub(super) struct Word {
    pub text: Box<str>,
    pub base: u64,
    pub last: u64,
}

impl Word {
    fn new(text: &str) -> Self {
        let (base, last) = names_of(text);
        Self { text: text.into(), base: sum(base), last: sum(last) }
    }
}

/// A digest of a name. Two names may have the same one.
pub(super) fn sum(name: &str) -> u64 {
    FixedState::default().hash_one(name)
}

/// The last part of a path, and the last part of that: `tests.timing` and `timing`.
pub(super) fn names_of(word: &str) -> (&str, &str) {
    if !is_path(word) {
        return (word, word);
    }
    let base = word.trim_matches(['.', '/']).rsplit('/').next().unwrap_or_default();
    (base, base.rsplit('.').next().unwrap_or_default())
}

/// The digest of a text, and the parts of its path that decide how it is read.
type Key = ([u8; 32], String);

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Arc<Text>> for Weight {
    fn weight(&self, key: &Key, text: &Arc<Text>) -> u64 {
        let words: usize = text.words.iter().map(|word| word.text.len() + size_of::<Word>()).sum();
        (words + size_of::<Text>() + key.1.len()) as u64
    }
}

static KEPT: LazyLock<Cache<Key, Arc<Text>, Weight>> = LazyLock::new(|| Cache::with_weighter(TEXTS, ROOM, Weight));

impl Text {
    /// What the content of the file at a path has.
    pub fn of(path: &str, content: &[u8]) -> Arc<Self> {
        let mut tail = path.rmatch_indices('/').map(|(at, _)| at);
        let from = tail.nth(1).map_or(0, |at| at + 1);
        let key = (Sha256::digest(content).into(), path.get(from..).unwrap_or(path).to_owned());
        if let Some(known) = KEPT.get(&key) {
            return known;
        }
        let text = Arc::new(Self::search(&key.1, &String::from_utf8_lossy(content)));
        KEPT.insert(key, Arc::clone(&text));
        text
    }

    /// `path`: the last two parts of the file's path.
    fn search(path: &str, text: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let between = |c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c));
        let mut seen = HashSet::default();
        let words = text.split(between).filter(|word| is_mention(word) && seen.insert(*word));
        Self {
            length: text.len(),
            found: found(name, text),
            foreign: registries::foreign(path, text),
            words: words.map(Word::new).collect(),
        }
    }
}

/// Whether a word may mention a file: by a path or a name that is no common word.
fn is_mention(word: &str) -> bool {
    word.len() >= SHORTEST || is_path(word) && word.chars().any(|c| c.is_ascii_alphanumeric())
}

pub(super) fn is_path(word: &str) -> bool {
    word.contains(['/', '.'])
}

#[cfg(test)]
mod tests {
    use super::Text;
    use std::sync::Arc;

    #[test]
    fn a_text_is_searched_once_for_each_way_to_read_it() {
        let content = b"index-url = http://pypi.example.net/simple # a kept text";
        let (settings, again) = (Text::of("/a/b/pip.conf", content), Text::of("/c/b/pip.conf", content));
        assert!(Arc::ptr_eq(&settings, &again));
        assert_eq!(settings.foreign.len(), 1);
        let other = Text::of("/a/b/notes", content);
        assert!(!Arc::ptr_eq(&settings, &other) && other.foreign.is_empty());
        let changed = Text::of("/a/b/pip.conf", b"index-url = https://pypi.org/simple # a kept text");
        assert!(changed.foreign.is_empty());
    }
}
