//! What has changed since the last commit, by the index.

use super::{INDEX, Loss, NAMED, Repository, is_absent};
use crate::machine::probe;
use gix_index::entry::{Mode, Stage, Stat};
use gix_index::hash::{Kind, ObjectId, hasher};
use gix_index::{Entry, State, decode};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Statx, StatxFlags};
use rustix::io::Errno;
use std::rc::Rc;

/// Most memory that one list of an index may take, in bytes.
const MEMORY: usize = 256 * 1024 * 1024;
/// Longest file that is hashed, in bytes.
const HASHED: usize = 8 * 1024 * 1024;

/// An index as it was read.
pub(super) enum Index {
    /// There is none: nothing was ever added or checked out.
    None,
    Of(Box<State>),
    /// It cannot be read, or settings change what it means.
    Unseen,
}

impl Repository<'_> {
    /// The index; it is read once.
    pub(super) fn index(&self) -> Rc<Index> {
        let path = format!("{}/index", self.git);
        if let Some(known) = self.looks.indexes.borrow().get(&path) {
            return Rc::clone(known);
        }
        let index = Rc::new(self.read_index(&path));
        self.looks.indexes.borrow_mut().insert(path, Rc::clone(&index));
        index
    }

    fn read_index(&self, path: &str) -> Index {
        if self.is_unusual() {
            return Index::Unseen;
        }
        let content = match self.environment.read_script(path, INDEX) {
            Ok(content) => content,
            Err(error) if is_absent(&error) => return Index::None,
            Err(_) => return Index::Unseen,
        };
        let Some((_, seconds, nanos, _)) = probe::stamp(&self.environment.inner.folder, path) else {
            return Index::Unseen;
        };
        if self.looks.bytes(content.len()).is_none() {
            return Index::Unseen;
        }
        let options = decode::Options {
            thread_limit: Some(1),
            min_extension_block_in_bytes_for_threading: usize::MAX,
            expected_checksum: None,
            alloc_limit_bytes: Some(MEMORY),
        };
        let written = filetime::FileTime::from_unix_time(seconds, nanos);
        match State::from_bytes(&content, written, Kind::Sha1, options) {
            Ok((state, _)) if state.link().is_none() => Index::Of(Box::new(state)),
            _ => Index::Unseen,
        }
    }

    /// The files at or below a path whose content no commit holds. `staged`: changes that are in the index count, too.
    pub(crate) fn changes(&self, path: &str, staged: bool) -> Loss {
        let Some(under) = self.relative(path) else { return Loss::Unseen };
        let index = self.index();
        let index = match &*index {
            Index::Unseen => return Loss::Unseen,
            // no commit holds what is in the folder
            Index::None if self.is_unborn() => return self.everything(path),
            Index::None => return Loss::Unseen,
            Index::Of(index) => index,
        };
        if staged && self.is_unborn() {
            let all = index.entries().iter().map(|entry| entry.path(index).to_string());
            return Loss::of(all.filter(|path| is_under(path, under)).take(NAMED + 1).collect());
        }
        let committed = if staged { self.staged(index, under) } else { Loss::Nothing };
        match self.changed(index, under) {
            Some(names) if names.is_empty() => committed,
            Some(names) => Loss::of(names),
            None => Loss::Unseen,
        }
    }

    /// What was staged at or below a path since the last commit.
    fn staged(&self, index: &State, under: &str) -> Loss {
        // a commit that a hook refused leaves its trees behind
        let written = index.tree().filter(|tree| tree.num_entries.is_some()).map(|tree| tree.id.to_string());
        match (written, self.head_tree()) {
            (Some(written), Some(head)) if written != head => Loss::Of(vec!["staged changes".to_owned()], false),
            _ => staged_below(index, under),
        }
    }

    /// The tracked files below a folder whose content is not that of the index; `None`: not all could be looked at.
    fn changed(&self, index: &State, under: &str) -> Option<Vec<String>> {
        let (mut names, mut unseen) = (Vec::new(), false);
        let mut folder: Option<(String, Option<OwnedFd>)> = None;
        for entry in index.entries() {
            let path = entry.path(index);
            let Ok(path) = std::str::from_utf8(path) else {
                unseen = true;
                continue;
            };
            if !is_under(path, under) || matches!(entry.mode, Mode::COMMIT | Mode::DIR) {
                continue;
            }
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            if folder.as_ref().is_none_or(|(known, _)| known != parent) {
                let place = probe::open(&self.environment.inner.folder, &self.place(parent), probe::LOOK);
                folder = Some((parent.to_owned(), place.ok()));
            }
            let Some((_, Some(place))) = &folder else { continue };
            match self.is_changed(index, entry, place, name, path) {
                Some(false) => {}
                // of a conflict there are three entries
                Some(true) if names.last().is_some_and(|last| last == path) => {}
                Some(true) => names.push(path.to_owned()),
                None => unseen = true,
            }
            if names.len() > NAMED {
                break;
            }
        }
        (!unseen || !names.is_empty()).then_some(names)
    }

    /// Whether a file differs from its entry; a file that is gone does not. `None`: it cannot be seen.
    fn is_changed(&self, index: &State, entry: &Entry, folder: &OwnedFd, name: &str, path: &str) -> Option<bool> {
        self.looks.entry()?;
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let found = match rustix::fs::statx(folder, name, flags, StatxFlags::BASIC_STATS) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return Some(false),
            Err(_) => return None,
        };
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        let link = entry.mode == Mode::SYMLINK;
        if entry.stage() != Stage::Unconflicted || kind != if link { FileType::Symlink } else { FileType::RegularFile }
        {
            return Some(true);
        }
        if is_as_added(&entry.stat, &found, index.timestamp()) {
            return Some(false);
        }
        // the size of an entry that was as young as the index is 0
        if entry.stat.size != 0 && u64::from(entry.stat.size) != found.stx_size {
            return Some(true);
        }
        let content = if link {
            rustix::fs::readlinkat(folder, name, Vec::new()).ok()?.into_bytes()
        } else {
            self.environment.read_script(&self.place(path), HASHED).ok()?
        };
        self.looks.bytes(content.len())?;
        Some(blob(&content)? != entry.id)
    }

    /// Everything at or below a path but the repository itself.
    fn everything(&self, path: &str) -> Loss {
        let listing = self.environment.entries(path, false);
        let names: Vec<String> = listing.entries.into_iter().map(|e| e.name).filter(|name| name != ".git").collect();
        if names.is_empty() && !listing.complete { Loss::Unseen } else { Loss::of(names) }
    }
}

/// Whether size and time are those that the file had when it was added, and it is older than the index.
fn is_as_added(known: &Stat, found: &Statx, written: filetime::FileTime) -> bool {
    let (seconds, nanos) = (i64::from(known.mtime.secs), known.mtime.nsecs);
    let same = u64::from(known.size) == found.stx_size
        && seconds == found.stx_mtime.tv_sec
        && (nanos == 0 || nanos == found.stx_mtime.tv_nsec);
    same && (seconds, nanos) < (written.unix_seconds(), written.nanoseconds())
}

/// The id of a content in a repository.
fn blob(content: &[u8]) -> Option<ObjectId> {
    let mut hasher = hasher(Kind::Sha1);
    hasher.update(format!("blob {}\0", content.len()).as_bytes());
    hasher.update(content);
    hasher.try_finalize().ok()
}

pub(super) fn is_under(path: &str, under: &str) -> bool {
    under.is_empty() || path.strip_prefix(under).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What was staged since the last commit at or below a path, by the trees that git notes in the index: a commit writes
/// them all, and a change of the index removes those of the folders around it.
fn staged_below(index: &State, under: &str) -> Loss {
    let Some(mut tree) = index.tree() else { return Loss::Unseen };
    let mut parts = under.split('/').filter(|part| !part.is_empty());
    while tree.num_entries.is_none() {
        let Some(part) = parts.next() else {
            let what =
                if under.is_empty() { "staged changes".to_owned() } else { format!("staged changes in {under}") };
            return Loss::Of(vec![what], false);
        };
        match tree.children.iter().find(|child| child.name.as_slice() == part.as_bytes()) {
            Some(child) => tree = child,
            // a file in that folder, or a folder that is new
            None => return Loss::Of(vec![format!("staged changes in {under}")], false),
        }
    }
    Loss::Nothing
}
