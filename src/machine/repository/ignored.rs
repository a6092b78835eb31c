//! What `.gitignore` files exclude.

use super::{Repository, TEXT};
use gix_ignore::Search;
use gix_ignore::glob::pattern::Case;
use gix_ignore::search::Ignore;
use std::path::Path;

/// The patterns that were read so far: those of a folder come before anything below it is asked about.
pub(super) struct Ignored {
    patterns: Search,
}

impl Repository<'_> {
    /// The patterns of the user, of the repository, and of each folder of the work tree around a path.
    /// `home`: the user's home.
    pub(super) fn ignored(&self, home: &str, path: &str) -> Ignored {
        let mut ignored = Ignored { patterns: Search::default() };
        for file in [format!("{home}/.config/git/ignore"), format!("{}/info/exclude", self.common)] {
            self.add(&mut ignored, &file, None);
        }
        if !path.is_empty() {
            self.enter(&mut ignored, "");
        }
        for (at, _) in path.match_indices('/') {
            self.enter(&mut ignored, path.get(..at).unwrap_or_default());
        }
        ignored
    }

    /// Adds the patterns of a folder of the work tree.
    pub(super) fn enter(&self, ignored: &mut Ignored, folder: &str) {
        self.add(ignored, &format!("{}/.gitignore", self.place(folder)), Some(&self.work));
    }

    fn add(&self, ignored: &mut Ignored, file: &str, root: Option<&str>) {
        // patterns that cannot be read or added ignore nothing
        if let Ok(content) = self.environment.read_script(file, TEXT) {
            let parse = Ignore { support_precious: false };
            let _ = ignored.patterns.add_patterns_buffer(&content, file, root.map(Path::new), parse);
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
