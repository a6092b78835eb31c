//! A git repository of the environment: which files have changes that no commit holds, which are ignored, and which
//! commits only one reference keeps.
//!
//! 1. Index, ignore files and references are read as bytes within the root; no process is started, no hook and no
//!    filter runs, no object is unpacked.
//! 2. A file is unchanged if its size and its time are those of the index; if only the time differs, or the file is as
//!    young as the index, its content is hashed, as git does.
//! 3. Files, bytes and time are bounded ([`Looks`]). What could not be seen is [`Loss::Unseen`], never nothing.

mod ignored;
mod index;
mod references;
mod untracked;

pub(crate) use references::{Remote, remotes};
pub(crate) use untracked::Wanted;

use super::identity::Named;
use super::{Environment, ReadError};
use index::Index;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest index that is read, in bytes; about 150 000 files.
const INDEX: usize = 16 * 1024 * 1024;
/// Longest other file of a repository that is read, in bytes.
const TEXT: usize = 4 * 1024 * 1024;
/// Most folders above a path among which its repository is sought.
const ABOVE: usize = 64;
/// Most names that a loss lists.
const NAMED: usize = 3;

/// What would be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Nothing: all of it is committed, ignored or elsewhere.
    Nothing,
    /// These names, at most three; `true`: and perhaps more.
    Of(Vec<String>, bool),
    /// It could not be seen.
    Unseen,
}

impl Loss {
    fn of(mut names: Vec<String>) -> Self {
        let more = names.len() > NAMED;
        names.truncate(NAMED);
        if names.is_empty() { Self::Nothing } else { Self::Of(names, more) }
    }

    /// Both losses; what is certain counts more than what was not seen.
    pub(crate) fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Of(..) => self,
            Self::Nothing => other(),
            Self::Unseen => match other() {
                Self::Nothing => Self::Unseen,
                other => other,
            },
        }
    }
}

/// What one check has read of repositories, and what further looks may cost.
pub(crate) struct Looks {
    entries: Cell<usize>,
    bytes: Cell<usize>,
    until: Instant,
    /// The indexes, by their path.
    indexes: RefCell<HashMap<String, Rc<Index>>>,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            entries: Cell::new(100_000),
            bytes: Cell::new(48 * 1024 * 1024),
            until: Instant::now() + Duration::from_secs(1),
            indexes: RefCell::default(),
        }
    }
}

impl Looks {
    fn entry(&self) -> Option<()> {
        let left = self.entries.get().checked_sub(1).filter(|left| left % 64 != 0 || Instant::now() < self.until)?;
        self.entries.set(left);
        Some(())
    }

    fn bytes(&self, count: usize) -> Option<()> {
        self.bytes.set(self.bytes.get().checked_sub(count)?);
        Some(())
    }
}

/// A repository and one of its work trees; of a bare one, all three are the same folder.
pub(crate) struct Repository<'a> {
    environment: &'a Environment,
    looks: &'a Looks,
    /// The folder of the work tree, without a slash at the end.
    pub(crate) work: String,
    /// The folder with `HEAD` and `index` of this work tree.
    git: String,
    /// The folder with the references; the same, except for linked work trees.
    common: String,
}

impl<'a> Repository<'a> {
    /// The repository in the nearest folder at or above a path (absolute, links resolved) that has one.
    pub(crate) fn around(environment: &'a Environment, looks: &'a Looks, path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        let folders = std::iter::successors(Some(path), |folder| Some(folder.rsplit_once('/')?.0)).take(ABOVE);
        let mut folders = folders.filter(|folder| !folder.is_empty() && !folder.ends_with("/.git"));
        // a `.git` that cannot be looked at may be one
        let found = folders.find_map(|folder| match Self::at(environment, looks, folder) {
            Some(None) => None,
            found => Some(found.flatten()),
        });
        found.flatten()
    }

    /// The repository of exactly this folder, if it has one; `None`: that could not be seen.
    fn at(environment: &'a Environment, looks: &'a Looks, work: &str) -> Option<Option<Self>> {
        let place = format!("{work}/.git");
        let git = match environment.named(&place) {
            Some(Named::Folder) => place,
            _ if environment.is_folder(&place)? => place,
            _ if !environment.is_there(&place)? => {
                let bare = is_bare(environment, work)?;
                let [work, git, common] = [work; 3].map(str::to_owned);
                return Some(bare.then_some(Self { environment, looks, work, git, common }));
            }
            // of a linked work tree or a submodule
            _ => joined(work, text(environment, &place)?.trim().strip_prefix("gitdir:")?.trim()),
        };
        // without it, git takes the folder for none
        if !environment.is_there(&format!("{git}/HEAD"))? {
            return Some(None);
        }
        let common = text(environment, &format!("{git}/commondir"));
        let common = common.map_or_else(|| git.clone(), |folder| joined(&git, folder.trim()));
        Some(Some(Self { environment, looks, work: work.to_owned(), git, common }))
    }

    /// A path relative to the work tree; `None`: it lies elsewhere.
    fn relative<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.trim_end_matches('/').strip_prefix(self.work.as_str())?;
        if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
    }

    /// A path of the work tree, absolute.
    fn place(&self, relative: &str) -> String {
        if relative.is_empty() { self.work.clone() } else { format!("{}/{relative}", self.work) }
    }

    /// Whether settings change what an index or a work tree means: other hashes, another folder.
    fn is_unusual(&self) -> bool {
        let own = |file: &str| {
            let settings = self.environment.read_script(&format!("{}/{file}", self.common), TEXT);
            match settings {
                Ok(settings) => Some(String::from_utf8_lossy(&settings).into_owned()),
                Err(error) => is_absent(&error).then(String::new),
            }
        };
        let Some(settings) = own("config").zip(own("config.worktree")).map(|(one, other)| one + "\n" + &other) else {
            return true;
        };
        settings.lines().any(|line| {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            match key.trim().to_ascii_lowercase().as_str() {
                "objectformat" => value.trim() != "sha1",
                // of a submodule: its own work tree
                "worktree" => normal(&joined(&self.common, value.trim())) != self.work,
                "splitindex" => value.trim() != "false",
                _ => false,
            }
        })
    }
}

/// Whether a folder is itself a repository, without a work tree; `None`: that could not be seen.
fn is_bare(environment: &Environment, folder: &str) -> Option<bool> {
    Some(
        environment.is_there(&format!("{folder}/HEAD"))?
            && environment.is_folder(&format!("{folder}/objects"))?
            && environment.is_folder(&format!("{folder}/refs"))?,
    )
}

/// The content of a short file, if it is text.
fn text(environment: &Environment, path: &str) -> Option<String> {
    String::from_utf8(environment.read_script(path, TEXT).ok()?).ok()
}

/// A path as git writes it into its files: absolute, or relative to a folder.
fn joined(folder: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") }
}

/// An absolute path without `.` and `..`, by its text.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether reading failed because nothing is there.
fn is_absent(error: &super::MachineError) -> bool {
    error.is_missing() && !matches!(error, super::MachineError::Script { why: ReadError::Nul, .. })
}

#[cfg(test)]
mod tests;
