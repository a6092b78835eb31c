//! What the reading of one action has already looked at.

use super::around::{FileSource, Names, ReadError};
use crate::python::Library;
use foldhash::{HashMap, HashSet};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// Most bytes of files that are kept, together.
const KEPT: usize = 16 * 1024 * 1024;
/// From this number of names that are missing in a folder, its names are listed.
const LISTED: usize = 3;

/// A cache in front of a file source: each file is looked at once, so that a whole action is judged by one state of the
/// machine. Use one per action, because files change.
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
    /// `None` if they are not all ASCII: how other letters are matched depends on the file system.
    lower: OnceCell<Option<HashSet<String>>>,
}

impl Listed {
    fn new(names: Names) -> Self {
        Self { names, lower: OnceCell::new() }
    }

    fn lower(&self) -> Option<&HashSet<String>> {
        let all = || self.names.folders.iter().chain(&self.names.files).chain(&self.names.others);
        let lower = || all().all(|name| name.is_ascii()).then(|| all().map(|name| name.to_ascii_lowercase()).collect());
        self.lower.get_or_init(lower).as_ref()
    }

    /// Whether the folder has no such name. Where it has one, what is below it is not known.
    fn lacks(&self, name: &str) -> bool {
        let lower = if name.bytes().any(|b| b.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        };
        self.lower().is_some_and(|names| !names.contains(lower.as_ref()))
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
        let absent = self.is_absent(folder);
        let names = if absent { Some(Names::default()) } else { self.around.names(folder) };
        if absent || names.as_ref().is_some_and(Names::is_empty) {
            self.miss(folder);
        }
        let listed = names.map(|names| Rc::new(Listed::new(names)));
        self.names.borrow_mut().insert(folder.to_owned(), listed.clone());
        listed
    }

    /// Whether the names of a folder above a path show that nothing is there. They are listed where several are missing.
    #[must_use]
    pub fn is_absent(&self, path: &str) -> bool {
        if path.split('/').skip(1).any(|name| matches!(name, "" | "." | "..") || !name.is_ascii()) {
            return false;
        }
        let mut at = path;
        while let Some((folder, name)) = at.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) {
            at = folder;
            let known = self.names.borrow().get(folder).cloned();
            let often = || self.misses.borrow().get(folder).is_some_and(|misses| *misses >= LISTED);
            match known.or_else(|| often().then(|| self.listed(folder))) {
                Some(Some(listed)) => return listed.lacks(name),
                Some(None) => return false,
                None => {}
            }
        }
        false
    }

    /// Keeps whether nothing is at a path.
    fn note(&self, path: &str, missing: bool) -> bool {
        self.missing.borrow_mut().insert(path.to_owned(), missing);
        if missing {
            self.miss(path);
        }
        missing
    }

    /// Notes that nothing is at a path; its folder may be what is missing.
    pub fn miss(&self, path: &str) {
        let above = std::iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/'));
        let mut misses = self.misses.borrow_mut();
        for (folder, _) in above.take(2) {
            match misses.get_mut(folder) {
                Some(count) => *count += 1,
                None => drop(misses.insert(folder.to_owned(), 1)),
            }
        }
    }
}

impl std::fmt::Debug for Seen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
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

    fn free(&self, path: &str) -> Option<u64> {
        self.around.free(path)
    }

    fn typed(&self) -> bool {
        self.around.typed()
    }

    fn library(&self) -> &Library {
        self.around.library()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Seen;
    use crate::python::Library;
    use crate::shell::{FileSource, Names, ReadError};
    use std::cell::RefCell;

    /// Files that note each look.
    #[derive(Default)]
    struct Noted(RefCell<Vec<String>>);

    impl FileSource for Noted {
        fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
            self.0.borrow_mut().push(format!("script {path}"));
            match path {
                "/a/long" if max < 10 => Err(ReadError::Unreadable("too long".to_owned())),
                "/a/long" => Ok(b"0123456789".to_vec()),
                _ => Err(ReadError::Missing(path.to_owned())),
            }
        }

        fn folder(&self, path: &str) -> Option<bool> {
            self.0.borrow_mut().push(format!("folder {path}"));
            Some(path == "/a")
        }

        fn is_missing(&self, path: &str) -> bool {
            self.0.borrow_mut().push(format!("missing {path}"));
            !["/a/long", "/a/\u{212a}"].contains(&path)
        }

        fn names(&self, path: &str) -> Option<Names> {
            self.0.borrow_mut().push(format!("names {path}"));
            let files = match path {
                "/a" => vec!["long".to_owned()],
                "/odd" => vec!["\u{212a}".to_owned()],
                _ => return None,
            };
            Some(Names { files, ..Names::default() })
        }

        fn library(&self) -> &Library {
            static NONE: Library = Library::NONE;
            &NONE
        }
    }

    #[test]
    fn each_file_is_looked_at_once() {
        let noted = Noted::default();
        let seen = Seen::new(&noted);
        for _ in 0..2 {
            assert_eq!(seen.script("/a/long", 100).unwrap(), b"0123456789");
            assert!(seen.is_missing("/a/1") && seen.is_missing("/a/2") && seen.is_missing("/a/3"));
            assert_eq!(seen.folder("/a"), Some(true));
        }
        // from here on, the names of the folder say what is missing; case may not matter to the file system
        assert!(seen.is_missing("/a/4") && seen.script("/a/5", 1).is_err() && seen.folder("/a/6") == Some(false));
        seen.is_missing("/a/LONG");
        let looks = noted.0.borrow();
        let count = |what: &str| looks.iter().filter(|look| *look == what).count();
        assert_eq!([count("script /a/long"), count("missing /a/1"), count("folder /a"), count("names /a")], [1; 4]);
        assert_eq!([count("missing /a/4"), count("script /a/5"), count("folder /a/6")], [0; 3]);
        assert_eq!(count("missing /a/LONG"), 1);
    }

    #[test]
    fn what_is_too_long_once_may_be_read_with_more_room() {
        let noted = Noted::default();
        let seen = Seen::new(&noted);
        assert!(matches!(seen.script("/a/long", 1), Err(ReadError::Unreadable(_))));
        assert_eq!(seen.script("/a/long", 10).unwrap().len(), 10);
        assert!(seen.script("/a/long", 1).is_err());
    }

    #[test]
    fn names_that_are_not_known_completely_prove_nothing() {
        let noted = Noted::default();
        let seen = Seen::new(&noted);
        for folder in ["/odd", "/closed"] {
            for name in ["1", "2", "3", "4", "k"] {
                seen.is_missing(&format!("{folder}/{name}"));
            }
            let looked = format!("missing {folder}/k");
            assert!(noted.0.borrow().contains(&looked), "{folder}");
        }
    }
}
