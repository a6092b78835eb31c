//! What is in a folder, and whether all of it was seen.

use super::probe::{self, LOOK, open};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags, StatxFlags};
use rustix::io::Errno;

/// Most entries of one folder that are looked at.
pub(super) const MOST: usize = 100_000;

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The name is UTF-8, so that the entry can be looked up by it.
    pub exact: bool,
    /// A symbolic link, or it is not known what it is.
    pub link: bool,
    /// A folder.
    pub folder: bool,
    /// A regular file that has other names, too (hard links), or it is not known whether it has.
    pub several: bool,
}

/// The entries of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// What was seen, without `.` and `..`.
    pub entries: Vec<Entry>,
    /// There is nothing else in the folder. False where the look was cut short or an entry could not be read.
    pub complete: bool,
}

/// Lists a folder. `names`: the number of names of each file is wanted, which costs a look at each.
pub(super) fn list(root: &OwnedFd, path: &str, names: bool) -> Listing {
    let folder = match open(root, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR) => return Listing { complete: true, ..Listing::default() },
        Err(_) => return Listing::default(),
    };
    if probe::slow(&folder) {
        return Listing::default();
    }
    let Ok(place) = open(root, path, LOOK | OFlags::DIRECTORY) else { return Listing::default() };
    let Ok(entries) = rustix::fs::Dir::new(folder) else { return Listing::default() };
    let mut listing = Listing { entries: Vec::new(), complete: true };
    for entry in entries {
        let Ok(entry) = entry else {
            listing.complete = false;
            break;
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if listing.entries.len() >= MOST {
            listing.complete = false;
            break;
        }
        let kind = entry.file_type();
        let several = names && !matches!(kind, FileType::Directory | FileType::Symlink) && has_others(&place, name);
        let link = matches!(kind, FileType::Symlink | FileType::Unknown);
        let text = name.to_string_lossy();
        let (exact, folder) = (name.to_str().is_ok(), kind == FileType::Directory);
        listing.entries.push(Entry { name: text.into_owned(), exact, link, folder, several });
    }
    listing
}

fn has_others(folder: &impl AsFd, name: &std::ffi::CStr) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let found = rustix::fs::statx(folder, name, flags, StatxFlags::NLINK | StatxFlags::TYPE);
    found.map_or(true, |found| found.stx_nlink > 1)
}
