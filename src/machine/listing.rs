//! Lists a folder, and tells whether the listing is complete.

use super::probe::{self, LOOK, open};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags, StatxFlags};
use rustix::io::Errno;

/// Most entries of one folder that are listed.
pub(crate) const MOST: usize = 100_000;

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Whether the name is UTF-8, so that it can be used to look up the entry.
    pub exact: bool,
    /// The path that a link leads to whose name is not UTF-8; `None` if it leads nowhere or cannot be followed.
    pub leads_to: Option<String>,
    /// Whether the entry is a symbolic link, or of unknown type.
    pub link: bool,
    /// Whether the entry is a folder.
    pub folder: bool,
    /// Whether the entry is a file with other names (hard links), or one for which this could not be determined. False
    /// unless it was asked for.
    pub several: bool,
}

/// The entries of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The entries found, without `.` and `..`.
    pub entries: Vec<Entry>,
    /// Whether the folder contains nothing else. False if the listing was cut short or an entry could not be read.
    pub complete: bool,
}

/// Lists a folder. `names`: determine [`Entry::several`], which costs one system call per file.
pub(crate) fn list(root: &OwnedFd, path: &str, names: bool) -> Listing {
    let folder = match open(root, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR) => return Listing { complete: true, ..Listing::default() },
        Err(_) => return Listing::default(),
    };
    if probe::slow(&folder) {
        return Listing::default();
    }
    let place = if names { open(root, path, LOOK | OFlags::DIRECTORY).map(Some) } else { Ok(None) };
    let Ok(place) = place else { return Listing::default() };
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
        let may_have_others = !matches!(kind, FileType::Directory | FileType::Symlink);
        let several = may_have_others && place.as_ref().is_some_and(|place| has_others(place, name));
        let link = matches!(kind, FileType::Symlink | FileType::Unknown);
        let text = name.to_string_lossy();
        let (exact, folder) = (name.to_str().is_ok(), kind == FileType::Directory);
        let leads_to = (link && !exact).then(|| probe::resolve_below(root, path, name)).flatten();
        listing.entries.push(Entry { name: text.into_owned(), exact, leads_to, link, folder, several });
    }
    listing
}

fn has_others(folder: &impl AsFd, name: &std::ffi::CStr) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let found = rustix::fs::statx(folder, name, flags, StatxFlags::NLINK | StatxFlags::TYPE);
    found.map_or(true, |found| found.stx_nlink > 1)
}
