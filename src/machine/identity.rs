//! Identifies files by device and inode: a file with a hard link in a protected place is protected under all its names.
//!
//! 1. Only regular files with several names are looked up, so that an ordinary file costs nothing.
//! 2. For each action, the protected files with several names are listed once: the guard's own files; start-up files,
//!    credentials and settings in the home; accounts and settings in `/etc`; hooks and settings of the project around
//!    the file.
//! 3. If that listing was cut short, it is unknown whether a file is protected.

use super::{Account, Class, Environment, class};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Most files that are examined.
const MOST: usize = 50_000;
/// How many levels of the guard's folders are examined.
const DEEP: usize = 4;
/// Folders of `/etc` whose files grant permissions or run automatically.
const ETC: [&str; 14] = [
    "/etc",
    "/etc/sudoers.d",
    "/etc/pam.d",
    "/etc/profile.d",
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/security",
    "/etc/systemd/system",
    "/etc/agrail",
];
/// The same for a project, relative to its folder.
const PROJECT: [&str; 9] =
    ["", ".git", ".git/hooks", ".github/workflows", ".husky", ".vscode", ".claude", ".codex", ".agrail"];

/// Device and inode of a file: equal for all of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub(crate) struct FileId {
    /// Device, major and minor number.
    pub device: (u32, u32),
    /// Inode.
    pub inode: u64,
}

/// A file or folder that is known to be the same as before: its inode may be used again, the time of its birth may not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub(crate) struct MadeFile {
    /// Absolute path; links were not followed.
    pub path: String,
    /// Its identity.
    pub id: FileId,
    /// The time of its birth: seconds since 1970 and nanoseconds; 0 where the file system does not keep it.
    pub born: (i64, u32),
}

/// The protected files that have several names.
#[derive(Debug, Default)]
pub(crate) struct Protected {
    files: HashMap<FileId, (Class, bool)>,
    looked_at: usize,
    /// The listing was cut short.
    cut: bool,
}

/// Whether a file with several names is protected under another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alias {
    /// Not protected.
    Ordinary,
    /// Protected, with this class; the flag: it belongs to the guard.
    Of(Class, bool),
    /// Unknown, because there were too many files to examine.
    Unseen,
}

impl Protected {
    /// Lists the protected files. `own`: files and folders of the guard; `project`: the folders around the file.
    pub(crate) fn list(environment: &Environment, who: &Account, own: &[String], project: &[String]) -> Self {
        let mut found = Self::default();
        let home = who.home.trim_end_matches('/');
        for path in own {
            found.below(environment, who, path, true, DEEP);
        }
        for rest in class::guard_in_home() {
            found.below(environment, who, &format!("{home}/{rest}"), true, DEEP);
        }
        found.below(environment, who, home, false, 1);
        for rest in class::protected_in_home() {
            found.below(environment, who, &format!("{home}/{rest}"), false, 2);
        }
        for (_, other) in environment.accounts().homes().iter().filter(|(_, other)| *other != who.home).take(64) {
            found.below(environment, who, &format!("{}/.ssh", other.trim_end_matches('/')), false, 1);
        }
        for folder in ETC {
            found.below(environment, who, folder, false, 1);
        }
        for folder in project {
            for rest in PROJECT {
                found.below(environment, who, format!("{folder}/{rest}").trim_end_matches('/'), false, 1);
            }
        }
        found
    }

    pub(crate) fn alias(&self, id: FileId) -> Alias {
        match self.files.get(&id) {
            Some((class, guard)) => Alias::Of(*class, *guard),
            None if self.cut => Alias::Unseen,
            None => Alias::Ordinary,
        }
    }

    /// Adds a file, or the files in a folder, down to `deep` levels.
    fn below(&mut self, environment: &Environment, who: &Account, path: &str, guard: bool, deep: usize) {
        self.looked_at += 1;
        if self.looked_at > MOST {
            self.cut = true;
            return;
        }
        match environment.named(path) {
            None | Some(Named::Once) => {}
            Some(Named::Often(id)) => self.add(environment.class(path, who).0, guard, id),
            Some(Named::Folder) if deep == 0 => {}
            Some(Named::Folder) => {
                let listing = environment.entries(path, true);
                self.looked_at += listing.entries.len();
                self.cut |= listing.entries.len() >= super::listing::MOST;
                for entry in listing.entries {
                    let inner = format!("{path}/{}", entry.name);
                    if entry.several && !entry.exact {
                        // a protected file that cannot be looked up by its name
                        self.cut = true;
                    } else if entry.several || (entry.folder && deep > 1) {
                        self.below(environment, who, &inner, guard, deep - 1);
                    }
                }
            }
        }
    }

    fn add(&mut self, class: Class, guard: bool, id: FileId) {
        let protected = guard || class.weight() > Class::SuperuserHome.weight();
        if !protected {
            return;
        }
        let known = self.files.entry(id).or_insert((class, guard));
        if class.weight() > known.0.weight() {
            known.0 = class;
        }
        known.1 |= guard;
    }
}

/// The kind of a path, with respect to hard links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// A file without other names.
    Once,
    /// A regular file with other names.
    Often(FileId),
    /// A folder.
    Folder,
}
