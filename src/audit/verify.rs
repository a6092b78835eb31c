//! Reading a log, and finding what was changed in it.

use super::{AuditError, BEGIN, Entry, HEAD, Head, failed, link, name, parts};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::Path;

/// Where a log does not hold together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {why}")]
pub struct Broken {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub why: &'static str,
}

impl Broken {
    pub(super) fn new(file: &str, line: usize, why: &'static str) -> Self {
        Self { file: file.to_owned(), line, why }
    }
}

/// A log that holds together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Files.
    pub files: u32,
    /// Entries.
    pub entries: u64,
    /// Hash of the last line; keep it elsewhere to be sure of the whole log.
    pub head: String,
}

/// Checks every byte of a log.
///
/// # Errors
/// [`AuditError::Broken`] names the first file and line that do not hold; [`AuditError::File`] what cannot be read.
pub fn verify(folder: &Path) -> Result<Verified, AuditError> {
    read(folder, |_| {})
}

/// Every entry of a log that holds together, oldest first.
///
/// # Errors
/// As [`verify`].
pub fn entries(folder: &Path, mut each: impl FnMut(Entry)) -> Result<Verified, AuditError> {
    let mut problem = None;
    let verified = read(folder, |entry| match serde_json::from_slice(entry) {
        Ok(entry) => each(entry),
        Err(why) => problem = problem.take().or(Some(why)),
    })?;
    problem.map_or(Ok(verified), |why| Err(why.into()))
}

fn read(folder: &Path, mut each: impl FnMut(&[u8])) -> Result<Verified, AuditError> {
    let path = folder.join(HEAD);
    // nobody writes meanwhile; whoever may only read cannot take the lock, and reads all the same
    let _held = File::open(&path).ok().and_then(|file| flock(&file, FlockOperation::LockShared).ok().map(|()| file));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            // of a log that was begun there is always a HEAD
            std::fs::read_dir(folder).map_err(failed(folder))?;
            return match logs(folder)?.first() {
                None => Ok(Verified { files: 0, entries: 0, head: BEGIN.to_owned() }),
                Some(_) => Err(Broken::new(HEAD, 0, "it is missing, and there is a log").into()),
            };
        }
        Err(why) if why.kind() == std::io::ErrorKind::InvalidData => {
            return Err(Broken::new(HEAD, 0, "it cannot be read").into());
        }
        Err(why) => return Err(failed(&path)(why)),
    };
    let head = Head::parse(&text).ok_or_else(|| Broken::new(HEAD, 0, "it cannot be read"))?;
    let (mut hash, mut count) = (BEGIN.to_owned(), 0);
    for file in 1..=head.file {
        let (path, name) = (folder.join(name(file)), name(file));
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                return Err(Broken::new(&name, 0, "it is missing").into());
            }
            Err(why) => return Err(failed(&path)(why)),
        };
        (hash, count) = walk(&name, &bytes, &hash, count, &mut each)?;
        if file == head.file && bytes.len() as u64 != head.bytes {
            return Err(Broken::new(&name, 0, "it is not as long as HEAD says").into());
        }
    }
    let known: Vec<String> = (1..=head.file).map(name).collect();
    if let Some(foreign) = logs(folder)?.iter().find(|log| !known.contains(log)) {
        return Err(Broken::new(foreign, 0, "HEAD does not know it").into());
    }
    if (count, hash.as_str()) != (head.entries, head.hash.as_str()) {
        return Err(Broken::new(HEAD, 0, "it does not fit the last line").into());
    }
    Ok(Verified { files: head.file, entries: count, head: hash })
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

/// Follows the chain through the lines of a file; returns the last hash and the number of entries.
pub(super) fn walk(
    file: &str,
    bytes: &[u8],
    before: &str,
    mut count: u64,
    mut each: impl FnMut(&[u8]),
) -> Result<(String, u64), Broken> {
    let mut hash = before.to_owned();
    let mut rest = bytes;
    let mut line = 0;
    while !rest.is_empty() {
        line += 1;
        let end = rest.iter().position(|b| *b == b'\n').ok_or(Broken::new(file, line, "it is cut short"))?;
        let (this, next) = rest.split_at(end);
        rest = next.get(1..).unwrap_or_default();
        let (said, entry) = parts(this).ok_or(Broken::new(file, line, "it is no line of a log"))?;
        let found = link(&hash, entry);
        if said != found {
            return Err(Broken::new(file, line, "it, or a line before it, was changed"));
        }
        each(entry);
        hash = found;
        count += 1;
    }
    Ok((hash, count))
}
