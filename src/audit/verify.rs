//! Reads an audit log, and detects changes to it.

use super::remove::{Removed, Tombstone};
use super::retain::{BASE, Base};
use super::{AuditError, BEGIN, Entry, HEAD, Head, Line, failed, link, name};
use rustix::fs::{FlockOperation, flock};
use serde::Deserialize;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Where and why a log is not intact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {why}")]
pub struct Broken {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The cause.
    pub why: &'static str,
}

impl Broken {
    pub(super) fn new(file: &str, line: usize, why: &'static str) -> Self {
        Self { file: file.to_owned(), line, why }
    }
}

/// An intact log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The number of files.
    pub files: u32,
    /// The number of entries, with those that were removed or dropped.
    pub entries: u64,
    /// How many of them an operator has removed.
    pub removed: u64,
    /// How many at the beginning were dropped, because they were too old or too many.
    pub dropped: u64,
    /// Hash of the last line; keep a copy elsewhere to detect a forged log.
    pub head: String,
}

/// Verifies every byte of a log.
///
/// # Errors
/// [`AuditError::Broken`] names the first file and line that are not intact, [`AuditError::File`] a file that cannot be
/// read.
pub fn verify(folder: &Path) -> Result<Verified, AuditError> {
    verify_folder(folder, |_| {})
}

/// Verifies a log and calls `each` with every entry, oldest first. An entry that was removed has an event in its place.
///
/// # Errors
/// As [`verify`]; [`AuditError::Json`] if an entry cannot be parsed.
pub fn entries(folder: &Path, mut each: impl FnMut(Entry)) -> Result<Verified, AuditError> {
    let mut problem = None;
    let verified = verify_folder(folder, |line| {
        let entry = match line {
            Ok(entry) => serde_json::from_slice(entry),
            Err(tombstone) => Ok(tombstone.entry()),
        };
        match entry {
            Ok(entry) => each(entry),
            Err(why) => problem = problem.take().or(Some(why)),
        }
    })?;
    problem.map_or(Ok(verified), |why| Err(why.into()))
}

fn verify_folder(folder: &Path, each: impl FnMut(Result<&[u8], Tombstone>)) -> Result<Verified, AuditError> {
    // a writer waits for a short while only, and no action is allowed before it is logged: the lock is held while the end of
    // the log is read, and not while its lines are
    let found = {
        let head = File::open(folder.join(HEAD)).ok();
        let _held = head.and_then(|file| flock(&file, FlockOperation::LockShared).ok().map(|()| file));
        Snapshot::take(folder)?
    };
    match found.verify(each) {
        Err(AuditError::Broken(_)) if found.is_stale() => Err(AuditError::Held(folder.to_owned())),
        verified => verified,
    }
}

/// The same while the caller holds the lock.
pub(super) fn verify_locked(folder: &Path, each: impl FnMut(Result<&[u8], Tombstone>)) -> Result<Verified, AuditError> {
    Snapshot::take(folder)?.verify(each)
}

/// The log at one moment. Later entries do not belong to it.
struct Snapshot<'a> {
    folder: &'a Path,
    /// `None`: there are no entries.
    end: Option<(Head, Base)>,
    /// The files, opened, because old ones may be dropped meanwhile.
    files: Vec<(String, File)>,
}

impl<'a> Snapshot<'a> {
    fn take(folder: &'a Path) -> Result<Self, AuditError> {
        let path = folder.join(HEAD);
        let text = match std::fs::read_to_string(&path) {
            // a first writer has opened it and has written nothing
            Ok(text) if text.is_empty() && logs(folder)?.is_empty() => {
                return Ok(Self { folder, end: None, files: Vec::new() });
            }
            Ok(text) => text,
            Err(why) if why.kind() == ErrorKind::NotFound => {
                // a log with entries always has a HEAD
                std::fs::read_dir(folder).map_err(failed(folder))?;
                return match logs(folder)?.first() {
                    None => Ok(Self { folder, end: None, files: Vec::new() }),
                    Some(_) => Err(Broken::new(HEAD, 0, "the file is missing, but log files exist").into()),
                };
            }
            Err(why) if why.kind() == ErrorKind::InvalidData => {
                return Err(Broken::new(HEAD, 0, "the file cannot be parsed").into());
            }
            Err(why) => return Err(failed(&path)(why)),
        };
        let head = Head::parse(&text).ok_or_else(|| Broken::new(HEAD, 0, "the file cannot be parsed"))?;
        let base = Base::read(folder)?;
        let mut files = Vec::new();
        for file in base.files + 1..=head.file {
            let (path, name) = (folder.join(name(file)), name(file));
            match File::open(&path) {
                Ok(file) => files.push((name, file)),
                Err(why) if why.kind() == ErrorKind::NotFound => {
                    return Err(Broken::new(&name, 0, "the file is missing").into());
                }
                Err(why) => return Err(failed(&path)(why)),
            }
        }
        if let Some((name, last)) = files.last()
            && last.metadata().map_err(failed(&folder.join(name)))?.len() != head.bytes
        {
            return Err(Broken::new(name, 0, "the length of the file differs from HEAD").into());
        }
        // files before the beginning may be left over, if the guard was killed while it dropped them
        let known: Vec<String> = (1..=head.file).map(name).collect();
        if let Some(foreign) = logs(folder)?.iter().find(|log| !known.contains(log)) {
            return Err(Broken::new(foreign, 0, "HEAD does not refer to this file").into());
        }
        Ok(Self { folder, end: Some((head, base)), files })
    }

    fn verify(&self, mut each: impl FnMut(Result<&[u8], Tombstone>)) -> Result<Verified, AuditError> {
        let Some((head, base)) = &self.end else {
            return Ok(Verified { files: 0, entries: 0, removed: 0, dropped: 0, head: BEGIN.to_owned() });
        };
        let mut chain = Chain::from(base);
        let last = self.files.len().saturating_sub(1);
        for (place, (name, file)) in self.files.iter().enumerate() {
            let mut bytes = Vec::new();
            // entries that were added since belong to a later snapshot
            let most = if place == last { head.bytes } else { u64::MAX };
            file.take(most).read_to_end(&mut bytes).map_err(failed(&self.folder.join(name)))?;
            chain.walk(name, &bytes, &mut each)?;
        }
        if (chain.count, chain.hash.as_str()) != (head.entries, head.hash.as_str()) {
            return Err(Broken::new(HEAD, 0, "HEAD does not match the last line").into());
        }
        chain.settled(base)?;
        let (files, entries) = (head.file - base.files, chain.count);
        Ok(Verified { files, entries, removed: chain.removed, dropped: base.entries, head: chain.hash })
    }

    /// Whether an operator has removed entries since, so that a file is another one.
    fn is_stale(&self) -> bool {
        self.files.iter().any(|(name, file)| {
            let (then, now) = (file.metadata(), std::fs::metadata(self.folder.join(name)));
            !matches!((then, now), (Ok(then), Ok(now)) if (then.dev(), then.ino()) == (now.dev(), now.ino()))
        })
    }
}

/// The names of all files of a log.
fn logs(folder: &Path) -> Result<Vec<String>, AuditError> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).map_err(failed(folder))? {
        let name = file.map_err(failed(folder))?.file_name().to_string_lossy().into_owned();
        found.extend((name.starts_with("audit-") && name.ends_with(".jsonl")).then_some(name));
    }
    found.sort();
    Ok(found)
}

/// A walk along the chain of hashes.
#[derive(Debug)]
pub(super) struct Chain {
    /// The hash of the last line.
    pub hash: String,
    /// The number of entries so far.
    pub count: u64,
    /// How many of them were removed.
    pub removed: u64,
    /// Tombstones that no later entry has named so far, each with its file and line.
    unnamed: Vec<(Removed, String, usize)>,
    /// The beginnings of the log that entries name.
    named: Vec<Base>,
}

/// The fields by which an entry speaks about other entries.
#[derive(Default, Deserialize)]
#[serde(default)]
struct About {
    removed: Vec<Removed>,
    dropped: Option<Base>,
}

impl Chain {
    /// A walk that begins after `count` entries, of which the last has a hash.
    pub fn new(hash: &str, count: u64) -> Self {
        Self { hash: hash.to_owned(), count, removed: 0, unnamed: Vec::new(), named: Vec::new() }
    }

    fn from(base: &Base) -> Self {
        Self::new(&base.hash, base.entries)
    }

    /// Verifies the lines of a file.
    pub fn walk(
        &mut self,
        file: &str,
        bytes: &[u8],
        each: &mut impl FnMut(Result<&[u8], Tombstone>),
    ) -> Result<(), Broken> {
        let mut rest = bytes;
        let mut line = 0;
        while !rest.is_empty() {
            line += 1;
            let end = rest.iter().position(|b| *b == b'\n').ok_or(Broken::new(file, line, "the line is cut short"))?;
            let (this, next) = rest.split_at(end);
            rest = next.get(1..).unwrap_or_default();
            let this = Line::parse(this).ok_or(Broken::new(file, line, "this is not a line of an audit log"))?;
            self.count += 1;
            match this.entry {
                Ok(entry) => {
                    if this.hash != link(&self.hash, entry) {
                        return Err(Broken::new(file, line, "this line or an earlier one was changed"));
                    }
                    self.hear(entry);
                    each(Ok(entry));
                }
                Err(stone) => {
                    let stone: Option<Tombstone> = serde_json::from_slice(stone).ok();
                    let stone = stone.filter(|stone| stone.seq == self.count);
                    let stone = stone.ok_or(Broken::new(file, line, "this is not the tombstone of an entry"))?;
                    let removed = Removed { seq: stone.seq, at_ms: stone.at_ms, hash: this.hash.to_owned() };
                    self.unnamed.push((removed, file.to_owned(), line));
                    self.removed += 1;
                    each(Err(stone));
                }
            }
            this.hash.clone_into(&mut self.hash);
        }
        Ok(())
    }

    /// Notes what an entry says about other entries.
    fn hear(&mut self, entry: &[u8]) {
        let speaks = |key: &[u8]| memchr::memmem::find(entry, key).is_some();
        if !speaks(br#""removed":["#) && !speaks(br#""dropped":{"#) {
            return;
        }
        let about: About = serde_json::from_slice(entry).unwrap_or_default();
        self.unnamed.retain(|(stone, ..)| !about.removed.contains(stone));
        self.named.extend(about.dropped);
    }

    /// Whether entries name every tombstone and the beginning of the log.
    fn settled(&self, base: &Base) -> Result<(), Broken> {
        if let Some((_, file, line)) = self.unnamed.first() {
            return Err(Broken::new(file, *line, "an entry was removed, and no later entry says so"));
        }
        if (base.files, base.entries) != (0, 0) && !self.named.contains(base) {
            return Err(Broken::new(BASE, 0, "earlier files were dropped, and no entry says so"));
        }
        Ok(())
    }
}
