//! Files that were never added.

use super::index::{Index, is_under};
use super::{Loss, NAMED, Repository};
use gix_index::State;

/// Deepest folder that is looked at, below the work tree.
const DEEPEST: usize = 64;

/// Which files count.
pub(crate) struct Wanted<'a> {
    /// The home with the user's own list of ignored files.
    pub home: &'a str,
    /// Ignored files count if they are [`kept`](Self::is_kept).
    pub ignored: bool,
    /// Files that are not ignored count.
    pub others: bool,
    /// Whether tools make a file or folder of this name again.
    pub is_made_again: &'a dyn Fn(&str) -> bool,
    /// Whether an ignored file of this name is none that tools make again: settings, credentials.
    pub is_kept: &'a dyn Fn(&str) -> bool,
}

struct Walk<'a> {
    index: Option<&'a State>,
    wanted: &'a Wanted<'a>,
    names: Vec<String>,
    unseen: bool,
}

impl Repository<'_> {
    /// Whether a path is ignored, by itself or with a folder around it, and not tracked.
    pub(crate) fn is_ignored(&self, home: &str, path: &str, folder: bool) -> bool {
        let bare = self.git == self.work;
        let Some(under) = self.relative(path).filter(|under| !bare && !under.is_empty()) else { return false };
        self.ignored(home, under).excludes_around(under, folder)
            && match &*self.index() {
                Index::None => true,
                Index::Of(index) => !index.entries().iter().any(|e| is_under(&e.path(index).to_string(), under)),
                Index::Unseen => false,
            }
    }

    /// The files at or below a path that are not tracked.
    pub(crate) fn untracked(&self, path: &str, wanted: &Wanted<'_>) -> Loss {
        let Some(under) = self.relative(path) else { return Loss::Unseen };
        let index = self.index();
        let index = match &*index {
            Index::None => None,
            Index::Of(index) => Some(&**index),
            Index::Unseen => return Loss::Unseen,
        };
        let mut walk = Walk { index, wanted, names: Vec::new(), unseen: false };
        match self.environment.is_folder(path) {
            Some(true) => self.walk(&mut walk, under),
            Some(false) if self.environment.is_there(path) == Some(false) => {}
            Some(false) => {
                let ignored = self.ignored(wanted.home, under).excludes_around(under, false);
                walk.file(under, ignored);
            }
            None => walk.unseen = true,
        }
        if walk.unseen && walk.names.is_empty() { Loss::Unseen } else { Loss::of(walk.names) }
    }

    fn walk(&self, walk: &mut Walk<'_>, under: &str) {
        let mut ignored = self.ignored(walk.wanted.home, under);
        let excluded = ignored.excludes_around(under, true);
        // each with whether it is ignored, by itself or with a folder around it
        let mut folders = vec![(under.to_owned(), excluded)];
        while let Some((folder, excluded)) = folders.pop() {
            if folder.split('/').count() > DEEPEST {
                walk.unseen = true;
                continue;
            }
            self.enter(&mut ignored, &folder);
            let listing = self.environment.entries(&self.place(&folder), false);
            walk.unseen |= !listing.complete;
            for entry in listing.entries {
                if walk.names.len() > NAMED {
                    return;
                }
                if self.looks.entry().is_none() {
                    walk.unseen = true;
                    return;
                }
                let path = if folder.is_empty() { entry.name.clone() } else { format!("{folder}/{}", entry.name) };
                if entry.name == ".git" {
                    continue;
                }
                let skipped = excluded || ignored.excludes(&path, entry.folder);
                if !entry.folder {
                    walk.file(&path, skipped);
                } else if !(walk.wanted.is_made_again)(&entry.name) && (!skipped || walk.wanted.ignored) {
                    folders.push((path, skipped));
                }
            }
        }
    }
}

impl Walk<'_> {
    fn is_tracked(&self, path: &str) -> bool {
        self.index.is_some_and(|index| index.entry_by_path(path.into()).is_some())
    }

    /// Notes a file if it is one of those that count.
    fn file(&mut self, path: &str, ignored: bool) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let counts = if ignored {
            self.wanted.ignored && (self.wanted.is_kept)(name)
        } else {
            self.wanted.others && !(self.wanted.is_made_again)(name)
        };
        if counts && !self.is_tracked(path) {
            self.names.push(path.to_owned());
        }
    }
}
