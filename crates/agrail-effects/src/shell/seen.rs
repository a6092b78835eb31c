//! What the reading of one action has already looked at.

use super::around::{FileSource, Names, ReadError};
use crate::python::Library;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Most bytes of files that are kept, together.
const KEPT: usize = 16 * 1024 * 1024;
/// From this number of names that are missing in a folder, its names are listed.
const LISTED: usize = 3;

/// The same file source, of which every file is looked at once: all of an action is judged by one state of the machine,
/// and what was seen is not sought again. It is meant for one action, as files change.
pub struct Seen<'a> {
    around: &'a dyn FileSource,
    scripts: RefCell<HashMap<String, Rc<[u8]>>>,
    folders: RefCell<HashMap<String, Option<bool>>>,
    missing: RefCell<HashMap<String, bool>>,
    names: RefCell<HashMap<String, Option<Rc<Listed>>>>,
    resolved: RefCell<HashMap<String, Option<String>>>,
    /// How many names were missing in each folder.
    misses: RefCell<HashMap<String, usize>>,
    left: Cell<usize>,
}

/// The names of a folder, also in lower case.
struct Listed {
    names: Names,
    lower: HashSet<String>,
    /// Whether all are ASCII; how other letters are matched depends on the file system.
    plain: bool,
}

impl Listed {
    fn new(names: Names) -> Self {
        let all = || names.folders.iter().chain(&names.files).chain(&names.others);
        let (lower, plain) = (all().map(|name| name.to_ascii_lowercase()).collect(), all().all(|name| name.is_ascii()));
        Self { lower, plain, names }
    }
}

impl<'a> Seen<'a> {
    /// Nothing is looked at yet.
    #[must_use]
    pub fn new(around: &'a dyn FileSource) -> Self {
        Self {
            around,
            scripts: RefCell::default(),
            folders: RefCell::default(),
            missing: RefCell::default(),
            names: RefCell::default(),
            resolved: RefCell::default(),
            misses: RefCell::default(),
            left: Cell::new(KEPT),
        }
    }

    fn listed(&self, folder: &str) -> Option<Rc<Listed>> {
        if let Some(known) = self.names.borrow().get(folder) {
            return known.clone();
        }
        let listed = self.around.names(folder).map(|names| Rc::new(Listed::new(names)));
        self.names.borrow_mut().insert(folder.to_owned(), listed.clone());
        listed
    }

    /// Whether the names of a folder show that nothing is at a path. They are listed where several are missing.
    fn is_absent(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return false };
        if folder.is_empty() || matches!(name, "" | "." | "..") || !name.is_ascii() {
            return false;
        }
        let often = self.misses.borrow().get(folder).is_some_and(|misses| *misses >= LISTED);
        if !often && !self.names.borrow().contains_key(folder) {
            return false;
        }
        self.listed(folder).is_some_and(|listed| listed.plain && !listed.lower.contains(&name.to_ascii_lowercase()))
    }

    /// Keeps whether nothing is at a path.
    fn note(&self, path: &str, missing: bool) -> bool {
        self.missing.borrow_mut().insert(path.to_owned(), missing);
        if missing {
            self.miss(path);
        }
        missing
    }

    fn miss(&self, path: &str) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            *self.misses.borrow_mut().entry(folder.to_owned()).or_default() += 1;
        }
    }
}

impl FileSource for Seen<'_> {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
        if let Some(content) = self.scripts.borrow().get(path).filter(|content| content.len() <= max) {
            return Ok(content.to_vec());
        }
        if self.missing.borrow().get(path).copied().unwrap_or_else(|| self.is_absent(path)) {
            return Err(ReadError::Missing(format!("{path}: no such file or folder")));
        }
        let content = self.around.script(path, max);
        match &content {
            Ok(content) => {
                if let Some(left) = self.left.get().checked_sub(content.len()) {
                    self.left.set(left);
                    self.scripts.borrow_mut().insert(path.to_owned(), content.as_slice().into());
                }
            }
            Err(unread) => drop(self.note(path, unread.is_missing())),
        }
        content
    }

    fn folder(&self, path: &str) -> Option<bool> {
        if let Some(known) = self.folders.borrow().get(path) {
            return *known;
        }
        let found = if self.is_absent(path) { Some(false) } else { self.around.folder(path) };
        if found == Some(false) {
            self.miss(path);
        }
        self.folders.borrow_mut().insert(path.to_owned(), found);
        found
    }

    fn is_missing(&self, path: &str) -> bool {
        if let Some(known) = self.missing.borrow().get(path) {
            return *known;
        }
        self.note(path, self.is_absent(path) || self.around.is_missing(path))
    }

    fn names(&self, path: &str) -> Option<Names> {
        self.listed(path).map(|listed| listed.names.clone())
    }

    fn resolved(&self, path: &str) -> Option<String> {
        if let Some(known) = self.resolved.borrow().get(path) {
            return known.clone();
        }
        let found = if self.is_absent(path) { None } else { self.around.resolved(path) };
        self.resolved.borrow_mut().insert(path.to_owned(), found.clone());
        found
    }

    fn typed(&self) -> bool {
        self.around.typed()
    }

    fn library(&self) -> &Library {
        self.around.library()
    }
}
