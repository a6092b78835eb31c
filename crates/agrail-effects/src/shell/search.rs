//! Searches for secrets: a pattern that names them, over a whole home or the whole machine.

use super::Shell;
use crate::{Effect, Kind, Target, Verb};

/// Programs whose arguments are patterns of text.
const SEARCHES: [&str; 8] = ["ack", "ag", "egrep", "fgrep", "git", "grep", "rg", "ugrep"];
/// Parts of a pattern that names secrets.
const SECRETS: [&str; 9] =
    ["akia", "api_key", "apikey", "api.?key", "credential", "passw", "private key", "secret", "token"];

impl Shell<'_> {
    /// Adds the reading of secrets if a program searches for them outside of a project.
    /// `from`: the index of its first effect.
    pub(super) fn add_search(&mut self, program: &str, words: &[String], from: usize) {
        let names = |word: &String| {
            let word = word.to_ascii_lowercase();
            SECRETS.iter().any(|part| word.contains(part))
        };
        if !SEARCHES.contains(&program) || !words.iter().any(names) {
            return;
        }
        let home = self.state.home.trim_end_matches('/');
        let whole = |path: &str| matches!(path, "" | "/home" | "/root" | "/etc") || path == home;
        let found = self.reading.effects.get(from..).unwrap_or_default().iter().find_map(|effect| {
            let reads = effect.verb == Verb::Read && effect.target.kind() == Kind::Path;
            let path = effect.target.name();
            (reads && whole(path.trim_end_matches(['*', '/']))).then(|| path.to_owned())
        });
        if let Some(path) = found {
            let mut effect = Effect::new(Verb::Read, Target::Path(path), program);
            "secrets".clone_into(&mut effect.operation);
            self.add(effect);
        }
    }
}
