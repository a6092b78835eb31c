//! Facts: a rooted, read-only view of the machine that an action would run on.
//!
//! 1. [`Environment`] is a folder seen as `/`: this machine, a disposable root, or `/proc/PID/root` of a container.
//! 2. Every path is resolved by the kernel within that root (`openat2`, `RESOLVE_IN_ROOT`): neither symlinks nor
//!    `..` leave it. Nothing is opened for reading but scripts, `passwd`, `group` and `/proc` entries, and only
//!    after they are known to be regular files: FIFOs, devices and automounts cannot hang a probe.
//! 3. Access is worked out from owner, groups and mode. What cannot be learnt is `None`, never a guess.
//! 4. [`gather`] turns effects into what the policies are asked. No process is started.

mod accounts;
mod class;
mod gather;
mod identity;
mod listing;
mod probe;
mod process;
mod url;

pub use accounts::Account;
pub use class::Class;
pub(crate) use class::shell_runs;
pub use gather::{Gathered, gather};
pub use identity::FileId;
pub use listing::{Entry, Listing};
pub use process::ProcessFacts;
pub use url::FETCH;

use crate::action::Context;
use crate::effect::shell::{Surroundings, Unread};
use accounts::Accounts;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Why an environment or a script cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FactsError {
    /// The root cannot be used.
    #[error("cannot look at the root {path}: {why}; give an existing folder, e.g. --root / or --root /proc/PID/root")]
    Root {
        /// The root.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// A script cannot be read.
    #[error("{path}: {why}")]
    Script {
        /// The script.
        path: String,
        /// The reason.
        why: String,
    },
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Regular file.
    File,
    /// Folder.
    Directory,
    /// A link that leads nowhere.
    Symlink,
    /// Named pipe.
    Fifo,
    /// Socket.
    Socket,
    /// Disk or partition.
    BlockDevice,
    /// Terminal, null ...
    CharacterDevice,
}

/// What is known of a path, for one account. `None`: not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFacts {
    /// Something is there.
    pub exists: Option<bool>,
    /// What it is, links followed.
    pub kind: Option<Kind>,
    /// Bytes.
    pub size: Option<u64>,
    /// It is a regular file with other names, too (hard links): by what they can be told to be the same.
    pub several: Option<FileId>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// User id of the owner.
    pub owner: Option<u32>,
    /// The owner's name, or empty.
    pub owner_name: String,
    /// The account owns it.
    pub mine: bool,
    /// The account may read it (a folder: list it).
    pub readable: Option<bool>,
    /// The account may write it (a folder: change what is in it).
    pub writable: Option<bool>,
    /// The account may run it (a folder: enter it).
    pub executable: Option<bool>,
    /// It does not exist, and the account may make it.
    pub creatable: Option<bool>,
    /// The account may remove or rename it.
    pub removable: Option<bool>,
    /// The folder that it is in exists.
    pub parent: Option<bool>,
    /// The path after all links.
    pub resolved: String,
    /// The more protected of the classes of the path and of what it resolves to.
    pub class: Class,
    /// It is the well-known folder itself.
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
    /// The root as the kernel names it, for stripping from resolved paths.
    name: String,
    accounts: Mutex<Option<(Instant, Arc<Accounts>)>>,
}

/// Where programs are looked for, in the order of a usual PATH.
const PROGRAMS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Longest program whose digest is taken, bytes.
const LONGEST_PROGRAM: usize = 32 * 1024 * 1024;
/// How long the account files are taken to be unchanged.
const FRESH: Duration = Duration::from_millis(20);

impl Environment {
    /// Looks at a root.
    ///
    /// # Errors
    /// If it does not exist, is no folder, or cannot be entered.
    pub fn open(root: &Path) -> Result<Self, FactsError> {
        let wrong = |why: String| FactsError::Root { path: root.to_owned(), why };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(root, flags, Mode::empty()).map_err(|e| wrong(e.to_string()))?;
        let name = probe::name_of(&folder).unwrap_or_default();
        let name = if name == "/" { String::new() } else { name };
        Ok(Self { inner: Arc::new(Inner { root: root.to_owned(), folder, name, accounts: Mutex::new(None) }) })
    }

    /// The folder that is seen as `/`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// An account. One that the root's passwd file lacks has no groups and only what everyone may.
    #[must_use]
    pub fn account(&self, name: &str) -> Account {
        self.accounts().account(name)
    }

    /// The name of a user id.
    #[must_use]
    pub fn account_by_uid(&self, uid: u32) -> Option<String> {
        self.accounts().name(uid)
    }

    /// The class of an absolute path as it is written, and whether it is the well-known folder itself.
    #[must_use]
    pub fn class(&self, path: &str, who: &Account) -> (Class, bool) {
        class::classify(path, who, self.accounts().homes())
    }

    /// Where a program of that name lies: the first of the usual folders that has an executable file of it.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<String> {
        let plain = !name.is_empty() && !name.contains('/');
        let at =
            |folder: &&str| Some(format!("{folder}/{name}")).filter(|path| probe::is_program(&self.inner.folder, path));
        PROGRAMS.iter().filter(|_| plain).find_map(at)
    }

    /// SHA-256 (hexadecimal) of a regular file of at most 32 MiB.
    #[must_use]
    pub fn file_digest(&self, path: &str) -> Option<String> {
        let content = probe::read(&self.inner.folder, path, LONGEST_PROGRAM).ok()?;
        Some(crate::digest([content]))
    }

    /// What is in a folder, and whether all of it was seen. `names`: the number of names of each file is looked up, too.
    #[must_use]
    pub fn entries(&self, folder: &str, names: bool) -> Listing {
        listing::list(&self.inner.folder, folder, names)
    }

    /// A folder, or a file with one name or several; a link is not followed.
    fn named(&self, path: &str) -> Option<identity::Named> {
        probe::named(&self.inner.folder, path)
    }

    /// A script's content: of regular files only.
    ///
    /// # Errors
    /// [`FactsError::Script`]
    pub fn read_script(&self, path: &str, max: usize) -> Result<Vec<u8>, FactsError> {
        probe::read(&self.inner.folder, path, max).map_err(|why| FactsError::Script { path: path.to_owned(), why })
    }

    fn accounts(&self) -> Arc<Accounts> {
        let mut kept = self.inner.accounts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, accounts)) = kept.as_ref().filter(|(looked, _)| looked.elapsed() < FRESH) {
            return Arc::clone(accounts);
        }
        let stamp = accounts::stamp(&self.inner.folder);
        let accounts = match kept.as_ref().filter(|(_, accounts)| accounts.stamp == stamp) {
            Some((_, accounts)) => Arc::clone(accounts),
            None => Arc::new(accounts::read(&self.inner.folder, stamp)),
        };
        *kept = Some((Instant::now(), Arc::clone(&accounts)));
        accounts
    }
}

impl Surroundings for Environment {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, Unread> {
        let unread = |problem: FactsError| Unread {
            why: problem.to_string(),
            nothing: probe::is_there(&self.inner.folder, path) == Some(false),
        };
        self.read_script(path, max).map_err(unread)
    }

    fn folder(&self, path: &str) -> Option<bool> {
        probe::is_folder(&self.inner.folder, path)
    }
}

/// The account that a context names, in its environment if it has one.
#[must_use]
pub fn account(context: &Context) -> Account {
    let name = &context.identity.name;
    context.environment.as_ref().map_or_else(|| Account::unknown(name), |e| e.account(name))
}

/// The facts about a path where there is no environment: its class.
pub(crate) fn unseen(path: &str, who: &Account) -> PathFacts {
    let (class, itself) = class::classify(path, who, &[]);
    PathFacts::unknown(path, class, itself)
}

/// The class of something not further known below a folder.
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
