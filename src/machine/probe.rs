//! Probes one path within a root.

use super::folders::Folders;
use super::identity::{FileId, MadeFile, Named};
use super::{Account, Class, Environment, FileKind, PathFacts, class};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;
use std::io::Read;

pub(crate) const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
/// Magic numbers of file systems that depend on a network or on another program, and may hang: nfs, smb, cifs, smb2,
/// fuse, 9p, afs, coda, ceph, autofs.
const SLOW: &[u64] = &[
    0x6969,
    0x517B,
    0xFF53_4D42,
    0xFE53_4D42,
    0x6573_5546,
    0x0102_1997,
    0x5346_414F,
    0x7375_7245,
    0x00C3_6400,
    0x0187,
];

pub(crate) fn open(root: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let relative = path.trim_start_matches('/');
    let relative = if relative.is_empty() { "." } else { relative };
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..3 {
        match rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve) {
            // a concurrent rename may make the kernel give up on `..`: try again
            Err(Errno::AGAIN) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

pub(super) fn stat(file: &OwnedFd) -> Result<Statx, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(file, c"", flags, StatxFlags::BASIC_STATS)
}

/// The kernel's name of an open file.
pub(crate) fn name_of(file: &OwnedFd) -> Option<String> {
    let link = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new()).ok()?;
    link.into_string().ok()
}

/// Inode, modification time (seconds, nanoseconds) and size of a file.
pub(crate) fn stamp(root: &OwnedFd, path: &str) -> Option<(u64, i64, u32, u64)> {
    let found = stat(&open(root, path, LOOK).ok()?).ok()?;
    Some((found.stx_ino, found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec, found.stx_size))
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The path contains a NUL byte.
    #[error("its name holds a NUL")]
    Nul,
    /// It is a folder, a link to nothing, a pipe, a socket or a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// A read might hang.
    #[error("it is on a network file system")]
    Network,
    /// It exceeds the limit, in bytes.
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
    /// The operating system refused.
    #[error(transparent)]
    System(#[from] std::io::Error),
}

impl From<Errno> for ReadError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// The content of a regular file of at most `max` bytes, unless a read might hang.
pub(crate) fn read_file(root: &OwnedFd, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
    read(root, path, max, false)
}

/// The content of a regular file of at most `max` bytes.
pub(crate) fn read_anywhere(root: &OwnedFd, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
    read(root, path, max, true)
}

fn read(root: &OwnedFd, path: &str, max: usize, anywhere: bool) -> Result<Vec<u8>, ReadError> {
    if path.contains('\0') {
        return Err(ReadError::Nul);
    }
    let place = open(root, path, LOOK)?;
    let found = stat(&place)?;
    if FileType::from_raw_mode(found.stx_mode.into()) != FileType::RegularFile {
        return Err(ReadError::NotRegular);
    }
    if !anywhere && slow(&place) {
        return Err(ReadError::Network);
    }
    if found.stx_size > max as u64 {
        return Err(ReadError::TooLong(max));
    }
    let again = format!("/proc/self/fd/{}", place.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(again, flags, Mode::empty())?;
    let mut content = Vec::with_capacity(usize::try_from(found.stx_size).unwrap_or(0).min(max) + 1);
    std::fs::File::from(file).take(max as u64 + 1).read_to_end(&mut content)?;
    if content.len() > max {
        return Err(ReadError::TooLong(max));
    }
    Ok(content)
}

/// Whether a path is a regular file that at least one account may run.
pub(crate) fn is_program(root: &OwnedFd, path: &str) -> bool {
    let found = open(root, path, LOOK).and_then(|place| stat(&place));
    found.is_ok_and(|found| kind(&found) == FileKind::File && u32::from(found.stx_mode) & 0o111 != 0)
}

/// Whether something exists at a path; `None`: not known.
pub(crate) fn is_there(root: &OwnedFd, path: &str) -> Option<bool> {
    opens(root, path, LOOK)
}

/// Whether something has this name, be it a link to nothing; `None`: not known.
pub(crate) fn is_named(root: &OwnedFd, path: &str) -> Option<bool> {
    opens(root, path, LOOK | OFlags::NOFOLLOW)
}

fn opens(root: &OwnedFd, path: &str, flags: OFlags) -> Option<bool> {
    if path.contains('\0') {
        return Some(false);
    }
    match open(root, path, flags) {
        Ok(_) => Some(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Some(false),
        Err(_) => None,
    }
}

/// The kernel's name of what a path leads to.
pub(crate) fn resolve(root: &OwnedFd, path: &str) -> Option<String> {
    name_of(&open(root, path, LOOK).ok()?)
}

/// The same for a name in a folder, which need not be UTF-8.
pub(super) fn resolve_below(root: &OwnedFd, folder: &str, name: &std::ffi::CStr) -> Option<String> {
    let path = [folder.trim_start_matches('/').as_bytes(), b"/", name.to_bytes()].concat();
    let path = path.strip_prefix(b"/").unwrap_or(&path);
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    name_of(&rustix::fs::openat2(root, path, LOOK, Mode::empty(), resolve).ok()?)
}

/// Whether a path leads to a folder; `None`: not known.
pub(crate) fn is_folder(root: &OwnedFd, path: &str) -> Option<bool> {
    opens(root, path, LOOK | OFlags::DIRECTORY)
}

/// Most links that are followed to the end of a dangling chain.
const LINKS: usize = 16;

/// Whether a path is a folder, a file with one name, or a file with several names. `None`: nothing is there, or it
/// cannot be examined. Links are not followed.
pub(crate) fn named(root: &OwnedFd, path: &str) -> Option<Named> {
    let place = open(root, path, LOOK | OFlags::NOFOLLOW).ok()?;
    let found = stat(&place).ok().filter(|_| !slow(&place))?;
    Some(match kind(&found) {
        FileKind::Directory => Named::Folder,
        FileKind::File if found.stx_nlink > 1 => Named::Often(id(&found)),
        _ => Named::Once,
    })
}

/// The identity of a regular file or a folder; links are not followed.
pub(crate) fn made_file(root: &OwnedFd, path: &str) -> Option<MadeFile> {
    let place = open(root, path, LOOK | OFlags::NOFOLLOW).ok()?;
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let found = rustix::fs::statx(&place, c"", flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME).ok()?;
    let kept = matches!(kind(&found), FileKind::Directory | FileKind::File) && !slow(&place);
    let born = (found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
    kept.then(|| MadeFile { path: path.to_owned(), id: id(&found), born })
}

/// How many bytes an account without privileges can still write to the file system of a path, or of one of the folders
/// above it.
pub(crate) fn free(root: &OwnedFd, path: &str) -> Option<u64> {
    let above = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(folder, _)| folder));
    let place = above.take(LINKS).find_map(|path| open(root, path, LOOK).ok()).filter(|place| !slow(place))?;
    let found = rustix::fs::fstatvfs(&place).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

fn id(stat: &Statx) -> FileId {
    FileId { device: (stat.stx_dev_major, stat.stx_dev_minor), inode: stat.stx_ino }
}

/// At most `most` names in a folder; names that are not UTF-8 are skipped.
pub(crate) fn names(root: &OwnedFd, path: &str, most: usize) -> Option<Vec<String>> {
    let folder = open(root, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC).ok()?;
    let entries = rustix::fs::Dir::new(folder).ok()?;
    Some(entries.take(most).filter_map(|e| e.ok()?.file_name().to_str().ok().map(str::to_owned)).collect())
}

pub(crate) fn slow(file: &OwnedFd) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|f| SLOW.contains(&u64::try_from(f.f_type).unwrap_or(0)))
}

impl Environment {
    /// Facts about an absolute path, for one account. Links in it are followed.
    #[must_use]
    pub fn path(&self, path: &str, who: &Account) -> PathFacts {
        self.path_among(path, who, &Folders::default(), false)
    }

    /// Facts about an absolute path. `folders`: what is known of folders for this account; `absent`: it is known that
    /// nothing is there.
    pub(crate) fn path_among(&self, path: &str, who: &Account, folders: &Folders, absent: bool) -> PathFacts {
        let accounts = self.accounts();
        let (class, itself) = class::classify(path, who, accounts.homes());
        let mut facts = PathFacts::unknown(path, class, itself);
        if !path.starts_with('/') {
            return facts;
        }
        if path.contains('\0') {
            facts.exists = Some(false);
            return facts;
        }
        if below_self(path) {
            // `self` would be this process and not the agent's
            facts.exists = Some(true);
            return facts;
        }
        match if absent { Err(Errno::NOTDIR) } else { open(&self.inner.folder, path, LOOK) } {
            Ok(place) => {
                self.found(&place, who, folders, &mut facts);
                let heavier = |class: Class| class.weight() > facts.class.weight();
                let (real, real_itself) = class::classify(&facts.resolved, who, accounts.homes());
                if facts.resolved != path && (heavier(real) || facts.class == real) {
                    (facts.class, facts.itself) = (real, real_itself || facts.itself);
                }
                facts.owner_name = facts.owner.and_then(|uid| accounts.name(uid)).unwrap_or_default();
            }
            Err(Errno::NOENT) => match open(&self.inner.folder, path, LOOK | OFlags::NOFOLLOW) {
                Ok(_) => {
                    facts.exists = Some(true);
                    facts.kind = Some(FileKind::Symlink);
                    self.dangling(path, who, folders, &mut facts);
                }
                Err(Errno::NOENT) => {
                    facts.exists = Some(false);
                    self.made_at(path, who, folders, &mut facts);
                }
                Err(_) => {}
            },
            Err(Errno::NOTDIR) => {
                facts.exists = Some(false);
                self.made_at(path, who, folders, &mut facts);
            }
            Err(_) => {}
        }
        self.mounted(who, accounts.homes(), &mut facts);
        self.surroundings(path, who, folders, &mut facts);
        facts
    }

    /// What a path is under its other names by bind mounts: the most protected class counts.
    fn mounted(&self, who: &Account, homes: &[(String, String)], facts: &mut PathFacts) {
        let aliases = self.aliases(&facts.resolved);
        for other in &aliases {
            let (class, itself) = class::classify(&other.path, who, homes);
            if class.weight() > facts.class.weight() {
                (facts.class, facts.itself) = (class, itself);
            }
        }
        // the place in the file system itself
        if let Some(first) = aliases.into_iter().next().filter(|other| !other.farther) {
            facts.resolved = first.path;
        }
    }

    fn found(&self, place: &OwnedFd, who: &Account, folders: &Folders, facts: &mut PathFacts) {
        facts.exists = Some(true);
        let name = name_of(place);
        match name.as_deref().and_then(|name| name.strip_prefix(&self.inner.name)) {
            Some("") => "/".clone_into(&mut facts.resolved),
            Some(rest) if rest.starts_with('/') => rest.clone_into(&mut facts.resolved),
            _ => {}
        }
        if slow(place) {
            return;
        }
        let Ok(stat) = stat(place) else { return };
        facts.kind = Some(kind(&stat));
        facts.size = Some(stat.stx_size);
        facts.several = (kind(&stat) == FileKind::File && stat.stx_nlink > 1).then(|| id(&stat));
        facts.mode = Some(u32::from(stat.stx_mode) & 0o7777);
        facts.owner = Some(stat.stx_uid);
        facts.mine = who.uid == Some(stat.stx_uid);
        let enter = self.may_enter(&facts.resolved, who, folders);
        let access = access(&stat, who);
        let listed = || has_acl(place);
        let [readable, writable, executable] = access.map(|may| match (may, enter) {
            // an access control list may grant what the mode does not
            (Some(false), _) if listed() => None,
            (Some(may), Some(enter)) => Some(may && enter),
            (Some(false), None) => Some(false),
            _ => None,
        });
        (facts.readable, facts.writable, facts.executable) = (readable, writable, executable);
    }

    /// Follows a dangling link, perhaps through others, to the path at which writing through it would create a file.
    fn dangling(&self, path: &str, who: &Account, folders: &Folders, facts: &mut PathFacts) {
        let mut at = path.to_owned();
        for _ in 0..LINKS {
            let link = open(&self.inner.folder, &at, LOOK | OFlags::NOFOLLOW)
                .and_then(|place| rustix::fs::readlinkat(&place, c"", Vec::new()));
            let Some(target) = link.ok().and_then(|t| t.into_string().ok()) else { break };
            let folder = at.rsplit_once('/').map_or("", |(folder, _)| folder);
            at = if target.starts_with('/') { target } else { format!("{folder}/{target}") };
            // `/dev/stderr` where nothing is mounted at `/proc`: what the agent's own process has open
            if is_own_descriptor(&at) {
                return;
            }
        }
        self.made_at(&at, who, folders, facts);
    }
}

pub(super) fn kind(stat: &Statx) -> FileKind {
    match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::CharacterDevice => FileKind::CharacterDevice,
        FileType::RegularFile | FileType::Unknown => FileKind::File,
    }
}

/// Read, write and execute permission, from owner, groups and mode.
pub(super) fn access(stat: &Statx, who: &Account) -> [Option<bool>; 3] {
    let mode = u32::from(stat.stx_mode);
    if who.superuser {
        let folder = kind(stat) == FileKind::Directory;
        return [Some(true), Some(true), Some(folder || mode & 0o111 != 0)];
    }
    let member = who.gid == Some(stat.stx_gid) || who.groups.iter().any(|(gid, _)| *gid == stat.stx_gid);
    let shift = if who.uid == Some(stat.stx_uid) {
        6
    } else if member {
        3
    } else {
        0
    };
    let bits = mode >> shift;
    [Some(bits & 4 != 0), Some(bits & 2 != 0), Some(bits & 1 != 0)]
}

/// Whether the file has an access control list in addition to its mode.
pub(super) fn has_acl(place: &OwnedFd) -> bool {
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    rustix::fs::getxattr(path, c"system.posix_acl_access", &mut [0_u8; 512]).is_ok()
}

fn is_own_descriptor(path: &str) -> bool {
    let number = path.strip_prefix("/proc/self/fd/");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn below_self(path: &str) -> bool {
    ["/proc/self", "/proc/thread-self"]
        .iter()
        .any(|s| path.strip_prefix(s).is_some_and(|r| r.is_empty() || r.starts_with('/')))
}
