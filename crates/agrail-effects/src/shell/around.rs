//! What the caller shows of the machine: its files, and what the host of the agent can do.

use crate::python::Library;
use crate::{BROUGHT, CHANGED, Detail};

/// Read access to files and facts about the host, which the caller provides.
pub trait FileSource {
    /// The content of a script at an absolute path, at most `max` bytes.
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError>;

    /// Whether there is a folder at an absolute path; `None` if that is unknown.
    fn folder(&self, path: &str) -> Option<bool>;

    /// Whether there is certainly nothing at an absolute path.
    fn is_missing(&self, path: &str) -> bool {
        self.script(path, 0).is_err_and(|unread| unread.is_missing())
    }

    /// The names in the folder at an absolute path; `None` if they are not known.
    fn names(&self, _path: &str) -> Option<Names> {
        None
    }

    /// The path of the file that a path leads to, links followed; `None` if that is unknown or nothing is there.
    fn resolved(&self, _path: &str) -> Option<String> {
        None
    }

    /// How many bytes still fit on the file system of an absolute path; `None` if that is unknown.
    fn free(&self, _path: &str) -> Option<u64> {
        None
    }

    /// Whether the host can type into a program that it keeps running.
    fn typed(&self) -> bool {
        false
    }

    /// The functions that the host provides to the agent's Python code.
    fn library(&self) -> &Library {
        static NONE: Library = Library::NONE;
        &NONE
    }
}

/// All names in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Folders, without links to them.
    pub folders: Vec<String>,
    /// Files, without links.
    pub files: Vec<String>,
    /// All others: links, and names that are not UTF-8 (their invalid bytes are replaced by U+FFFD).
    pub others: Vec<String>,
}

impl Names {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.files.is_empty() && self.others.is_empty()
    }
}

/// The same file source on a host that can type into a program that it keeps running.
pub struct Typing<'a>(pub &'a dyn FileSource);

impl FileSource for Typing<'_> {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
        self.0.script(path, max)
    }

    fn folder(&self, path: &str) -> Option<bool> {
        self.0.folder(path)
    }

    fn is_missing(&self, path: &str) -> bool {
        self.0.is_missing(path)
    }

    fn names(&self, path: &str) -> Option<Names> {
        self.0.names(path)
    }

    fn resolved(&self, path: &str) -> Option<String> {
        self.0.resolved(path)
    }

    fn free(&self, path: &str) -> Option<u64> {
        self.0.free(path)
    }

    fn typed(&self) -> bool {
        true
    }

    fn library(&self) -> &Library {
        self.0.library()
    }
}

/// The same file source on a host that provides these functions to the agent's Python code.
pub struct Providing<'a>(pub &'a dyn FileSource, pub &'a Library);

impl FileSource for Providing<'_> {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
        self.0.script(path, max)
    }

    fn folder(&self, path: &str) -> Option<bool> {
        self.0.folder(path)
    }

    fn is_missing(&self, path: &str) -> bool {
        self.0.is_missing(path)
    }

    fn names(&self, path: &str) -> Option<Names> {
        self.0.names(path)
    }

    fn resolved(&self, path: &str) -> Option<String> {
        self.0.resolved(path)
    }

    fn free(&self, path: &str) -> Option<u64> {
        self.0.free(path)
    }

    fn typed(&self) -> bool {
        self.0.typed()
    }

    fn library(&self) -> &Library {
        self.1
    }
}

/// A file source that can read nothing: scripts stay unknown.
pub struct NoFiles;

impl FileSource for NoFiles {
    fn script(&self, _path: &str, _max: usize) -> Result<Vec<u8>, ReadError> {
        Err(ReadError::Missing("no environment to read it from".to_owned()))
    }

    fn folder(&self, _path: &str) -> Option<bool> {
        None
    }
}

/// Why a script was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// There is no file at that path, or no file system to look in.
    Missing(String),
    /// The file system refused, or the file is not a script that can be read.
    Unreadable(String),
    /// The action itself changes the file before it runs.
    Changed,
    /// The action itself brings the file from elsewhere.
    Brought,
}

impl ReadError {
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(why) | Self::Unreadable(why) => f.write_str(why),
            Self::Changed => f.write_str(CHANGED),
            Self::Brought => f.write_str(BROUGHT),
        }
    }
}

impl From<ReadError> for Detail {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Missing(why) | ReadError::Unreadable(why) => Self::Unreadable(why),
            ReadError::Changed => Self::Changed,
            ReadError::Brought => Self::Brought,
        }
    }
}
