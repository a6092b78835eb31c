//! What `.gitignore` files exclude.

use super::{Repository, text};
use gix_ignore::Search;
use gix_ignore::glob::pattern::Case;
use gix_ignore::search::Ignore;
use std::path::Path;

/// The patterns that were read so far: those of a folder come before anything below it is asked about.
pub(super) struct Ignored {
    patterns: Search,
}

impl Repository<'_> {
    /// The patterns of the user, of the repository, and of each folder from the work tree down to `under`.
    /// `home`: the user's home.
    pub(super) fn ignored(&self, home: &str, under: &str) -> Ignored {
        let mut ignored = Ignored { patterns: Search::default() };
        for file in [format!("{home}/.config/git/ignore"), format!("{}/info/exclude", self.common)] {
            self.add(&mut ignored, &file, None);
        }
        self.enter(&mut ignored, "");
        for (at, _) in under.match_indices('/') {
            self.enter(&mut ignored, under.get(..at).unwrap_or_default());
        }
        if !under.is_empty() {
            self.enter(&mut ignored, under);
        }
        ignored
    }

    /// Adds the patterns of a folder of the work tree.
    pub(super) fn enter(&self, ignored: &mut Ignored, folder: &str) {
        let place = if folder.is_empty() { self.work.clone() } else { format!("{}/{folder}", self.work) };
        self.add(ignored, &format!("{place}/.gitignore"), Some(&self.work));
    }

    fn add(&self, ignored: &mut Ignored, file: &str, root: Option<&str>) {
        if let Some(content) = text(self.environment, file) {
            let parse = Ignore { support_precious: false };
            // patterns that cannot be added ignore nothing
            let _ = ignored.patterns.add_patterns_buffer(content.as_bytes(), file, root.map(Path::new), parse);
        }
    }
}

impl Ignored {
    /// Whether a path relative to the work tree is excluded itself; what is around it is not asked about.
    pub(super) fn excludes(&self, path: &str, folder: bool) -> bool {
        let found = self.patterns.pattern_matching_relative_path(path.into(), Some(folder), Case::Sensitive);
        found.is_some_and(|found| !found.pattern.is_negative())
    }

    /// Whether a path or a folder around it is excluded.
    pub(super) fn excludes_around(&self, path: &str, folder: bool) -> bool {
        let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        !path.is_empty() && (above.any(|above| self.excludes(above, true)) || self.excludes(path, folder))
    }
}
