//! A rooted, read-only view of the machine on which an action would run.
//!
//! 1. [`Environment`] is a folder seen as `/`: this machine, a disposable root, or `/proc/PID/root` of a container.
//! 2. The kernel resolves every path within that root (`openat2`, `RESOLVE_IN_ROOT`); neither symlinks nor `..` lead
//!    out of it. Only scripts, programs, `passwd`, `group` and `/proc` entries are opened for reading, and only after
//!    they are known to be regular files: FIFOs, devices and automounts cannot hang a probe.
//! 3. Access is computed from owner, groups and mode. A fact that cannot be determined is `None`, never a guess.
//! 4. The text of a path determines its [`Class`]. All names of a file share one identity (device and inode).
//!
//! No process is started. This module knows neither effects nor policies.

mod accounts;
pub(crate) mod class;
mod folders;
pub(crate) mod identity;
mod listing;
mod mounts;
mod probe;
mod process;
pub(crate) mod repository;

pub use accounts::Account;
pub use class::Class;
pub(crate) use folders::Folders;
pub(crate) use identity::{FileId, MadeFile};
pub(crate) use listing::Listing;
pub use probe::ReadError;
pub use process::ProcessFacts;

use accounts::Accounts;
use mounts::{Mounts, OtherPath};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Why an environment or a script cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The root cannot be opened.
    #[error("cannot open the root {path}: {why}; name an existing folder, e.g. --root / or --root /proc/PID/root")]
    Root {
        /// The root.
        path: PathBuf,
        /// The error of the operating system.
        why: String,
    },
    /// A script cannot be read.
    #[error("{path}: {why}")]
    Script {
        /// The script.
        path: String,
        /// The reason.
        why: ReadError,
    },
}

impl MachineError {
    /// Whether there is no file at the path of the script.
    pub(crate) fn is_missing(&self) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match self {
            Self::Script { why: ReadError::Nul, .. } => true,
            Self::Script { why: ReadError::System(error), .. } => matches!(error.kind(), NotFound | NotADirectory),
            _ => false,
        }
    }
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Regular file.
    File,
    /// Folder.
    Directory,
    /// Dangling symbolic link.
    Symlink,
    /// Named pipe.
    Fifo,
    /// Socket.
    Socket,
    /// Disk or partition.
    BlockDevice,
    /// Terminal, null device ...
    CharacterDevice,
}

/// Facts about a path, for one account. `None`: not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFacts {
    /// Whether the path exists.
    pub exists: Option<bool>,
    /// Type of the file, after following links.
    pub kind: Option<FileKind>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Identity of a regular file that has other names, too (hard links); the names share it.
    pub(crate) several: Option<FileId>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// User id of the owner.
    pub owner: Option<u32>,
    /// Name of the owner; empty if unknown.
    pub owner_name: String,
    /// Whether the account is the owner.
    pub mine: bool,
    /// Whether the account may read the file, or list the folder.
    pub readable: Option<bool>,
    /// Whether the account may write the file, or change the entries of the folder.
    pub writable: Option<bool>,
    /// Whether the account may run the file, or enter the folder.
    pub executable: Option<bool>,
    /// Whether the account may create the path, which does not exist.
    pub creatable: Option<bool>,
    /// Whether the account may remove or rename the path.
    pub removable: Option<bool>,
    /// Whether the folder that contains the path exists.
    pub parent: Option<bool>,
    /// The path after resolving all links.
    pub resolved: String,
    /// The more protected of two classes: of the path as written, and of the resolved path.
    pub class: Class,
    /// Whether the path is the well-known folder itself.
    pub itself: bool,
}

/// A rooted read-only view of a machine. Clones share it.
#[derive(Debug, Clone)]
pub struct Environment {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    folder: OwnedFd,
    /// The kernel's name of the root; resolved paths begin with it, and it is stripped from them.
    name: String,
    accounts: Mutex<Option<(Instant, Arc<Accounts>)>>,
    mounts: Mutex<Option<(Instant, Arc<Mounts>)>>,
}

/// The folders in which programs are searched for, in the order of a typical PATH.
const PROGRAMS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Longest program that is hashed, in bytes.
const LONGEST_PROGRAM: usize = 32 * 1024 * 1024;
/// How long account files and mounts are assumed to be unchanged after a look.
const FRESH: Duration = Duration::from_millis(20);

impl Environment {
    /// Opens a root.
    ///
    /// # Errors
    /// [`MachineError::Root`] if it does not exist, is not a folder, or cannot be entered.
    pub fn open(root: &Path) -> Result<Self, MachineError> {
        let wrong = |why: String| MachineError::Root { path: root.to_owned(), why };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(root, flags, Mode::empty()).map_err(|e| wrong(e.to_string()))?;
        let name = probe::name_of(&folder).unwrap_or_default();
        let name = if name == "/" { String::new() } else { name };
        Ok(Self {
            inner: Arc::new(Inner {
                root: root.to_owned(),
                folder,
                name,
                accounts: Mutex::new(None),
                mounts: Mutex::new(None),
            }),
        })
    }

    /// The folder that is seen as `/`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// The account with this name. An account that is not in the root's passwd file has no groups, and only the
    /// permissions of everyone.
    #[must_use]
    pub fn account(&self, name: &str) -> Account {
        self.accounts().account(name)
    }

    /// The account name of a user id; `None` if the passwd file lacks it.
    #[must_use]
    pub fn account_by_uid(&self, uid: u32) -> Option<String> {
        self.accounts().name(uid)
    }

    /// The class of an absolute path as written, and whether it is the well-known folder itself.
    #[must_use]
    pub fn class(&self, path: &str, who: &Account) -> (Class, bool) {
        class::classify(path, who, self.accounts().homes())
    }

    /// The path of a program: in the first of the usual folders that contains an executable file of that name.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<String> {
        let plain = !name.is_empty() && !name.contains('/');
        let at =
            |folder: &&str| Some(format!("{folder}/{name}")).filter(|path| probe::is_program(&self.inner.folder, path));
        PROGRAMS.iter().filter(|_| plain).find_map(at)
    }

    /// SHA-256 (hexadecimal) of a regular file of at most 32 MiB; `None` if it cannot be read.
    #[must_use]
    pub fn file_digest(&self, path: &str) -> Option<String> {
        let content = probe::read_file(&self.inner.folder, path, LONGEST_PROGRAM).ok()?;
        Some(crate::digest([content]))
    }

    /// The entries of a folder, and whether they are complete. `names`: also look up whether each file has other names.
    #[must_use]
    pub(crate) fn entries(&self, folder: &str, names: bool) -> Listing {
        let mut listing = listing::list(&self.inner.folder, folder, names);
        for entry in listing.entries.iter_mut().filter(|entry| entry.leads_to.is_some()) {
            let inside = entry.leads_to.take().and_then(|path| Some(path.strip_prefix(&self.inner.name)?.to_owned()));
            entry.leads_to = inside.filter(|path| path.starts_with('/'));
        }
        listing
    }

    /// Whether a path is a folder, a file with one name, or a file with several names. Links are not followed.
    pub(crate) fn named(&self, path: &str) -> Option<identity::Named> {
        probe::named(&self.inner.folder, path)
    }

    /// The identity of a regular file or a folder; links are not followed. `None`: nothing is there, something else is, or
    /// it cannot be examined.
    #[must_use]
    pub(crate) fn made_file(&self, path: &str) -> Option<MadeFile> {
        probe::made_file(&self.inner.folder, path)
    }

    /// Whether a path leads to a folder; `None`: not known.
    #[must_use]
    pub fn is_folder(&self, path: &str) -> Option<bool> {
        probe::is_folder(&self.inner.folder, path)
    }

    /// Whether something exists at a path; `None`: not known.
    #[must_use]
    pub fn is_there(&self, path: &str) -> Option<bool> {
        probe::is_there(&self.inner.folder, path)
    }

    /// How many bytes an account without privileges can still write to the file system of a path, or of the nearest
    /// folder above it that exists, and no more than the quota of this process's account leaves; `None` if that is unknown
    /// or slow to find out.
    #[must_use]
    pub(crate) fn free(&self, path: &str) -> Option<u64> {
        let free = probe::free(&self.inner.folder, path)?;
        let mut above = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(folder, _)| folder));
        let place = above.find_map(|path| self.resolve(path)).unwrap_or_default();
        let quota = self.mounts().quota(&format!("{}{place}", self.inner.name));
        Some(quota.map_or(free, |quota| quota.min(free)))
    }

    /// The path that a path leads to, links followed; `None` if nothing is there or it cannot be looked at.
    #[must_use]
    pub fn resolve(&self, path: &str) -> Option<String> {
        self.below_root(&probe::resolve(&self.inner.folder, path)?)
    }

    /// The content of a script, a regular file of at most `max` bytes.
    ///
    /// # Errors
    /// [`MachineError::Script`] if it is not a regular file, is longer, or cannot be read.
    pub fn read_script(&self, path: &str, max: usize) -> Result<Vec<u8>, MachineError> {
        probe::read_file(&self.inner.folder, path, max)
            .map_err(|why| MachineError::Script { path: path.to_owned(), why })
    }

    /// Whether something has this name, be it a link to nothing; `None`: not known.
    pub(crate) fn is_named(&self, path: &str) -> Option<bool> {
        probe::is_named(&self.inner.folder, path)
    }

    /// The content of a small regular file, on a slow file system, too.
    ///
    /// # Errors
    /// As [`Environment::read_script`].
    pub(crate) fn read_small(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
        probe::read_anywhere(&self.inner.folder, path, max)
    }

    /// The other paths of what lies at a resolved path, by bind mounts.
    fn aliases(&self, resolved: &str) -> Vec<OtherPath> {
        let inside = |other: OtherPath| Some(OtherPath { path: self.below_root(&other.path)?, ..other });
        self.mounts().aliases(&format!("{}{resolved}", self.inner.name)).into_iter().filter_map(inside).collect()
    }

    /// The bind mounts below a resolved path. `None`: there are too many of them.
    pub(crate) fn mounts_inside(&self, resolved: &str) -> Option<Vec<String>> {
        let found = self.mounts().inside(&format!("{}{resolved}", self.inner.name))?;
        Some(found.iter().filter_map(|point| self.below_root(point)).collect())
    }

    /// A path of this machine as a path of the root.
    fn below_root(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.inner.name)?;
        rest.starts_with('/').then(|| rest.to_owned())
    }

    fn mounts(&self) -> Arc<Mounts> {
        let mut kept = self.inner.mounts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, mounts)) = kept.as_ref().filter(|(looked, _)| looked.elapsed() < FRESH) {
            return Arc::clone(mounts);
        }
        let mounts = Arc::new(Mounts::read());
        *kept = Some((Instant::now(), Arc::clone(&mounts)));
        mounts
    }

    fn accounts(&self) -> Arc<Accounts> {
        let mut kept = self.inner.accounts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, accounts)) = kept.as_ref().filter(|(looked, _)| looked.elapsed() < FRESH) {
            return Arc::clone(accounts);
        }
        let stamp = accounts::stamp(&self.inner.folder);
        let accounts = match kept.as_ref().filter(|(_, accounts)| accounts.stamp == stamp) {
            Some((_, accounts)) => Arc::clone(accounts),
            None => Arc::new(accounts::read_accounts(&self.inner.folder, stamp)),
        };
        *kept = Some((Instant::now(), Arc::clone(&accounts)));
        accounts
    }
}

/// The facts about a path without an environment: only its class is known.
pub(crate) fn unseen(path: &str, who: &Account) -> PathFacts {
    let (class, itself) = class::classify(path, who, &[]);
    PathFacts::unknown(path, class, itself)
}

/// The class of an unspecified path below a folder: the more protected of the classes below `folder`, the folder as
/// written, and below `resolved`, the folder after resolving links.
pub(crate) fn class_below(environment: Option<&Environment>, folder: &str, resolved: &str, who: &Account) -> Class {
    let below = |folder: &str| {
        if folder == "/" {
            return Class::Root;
        }
        let path = format!("{}/x", folder.trim_end_matches('/'));
        environment.map_or_else(|| class::classify(&path, who, &[]).0, |e| e.class(&path, who).0)
    };
    let (written, real) = (below(folder), below(resolved));
    if real.weight() > written.weight() { real } else { written }
}

impl PathFacts {
    fn unknown(path: &str, class: Class, itself: bool) -> Self {
        Self {
            exists: None,
            kind: None,
            size: None,
            several: None,
            mode: None,
            owner: None,
            owner_name: String::new(),
            mine: false,
            readable: None,
            writable: None,
            executable: None,
            creatable: None,
            removable: None,
            parent: None,
            resolved: path.to_owned(),
            class,
            itself,
        }
    }
}
