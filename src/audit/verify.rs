//! Reads an audit log, and detects changes to it.

use super::{AuditError, BEGIN, Entry, HEAD, Head, failed, link, name, parts};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
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
    /// The number of entries.
    pub entries: u64,
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

/// Verifies a log and calls `each` with every entry, oldest first.
///
/// # Errors
/// As [`verify`]; [`AuditError::Json`] if an entry cannot be parsed.
pub fn entries(folder: &Path, mut each: impl FnMut(Entry)) -> Result<Verified, AuditError> {
    let mut problem = None;
    let verified = verify_folder(folder, |entry| match serde_json::from_slice(entry) {
        Ok(entry) => each(entry),
        Err(why) => problem = problem.take().or(Some(why)),
    })?;
    problem.map_or(Ok(verified), |why| Err(why.into()))
}

fn verify_folder(folder: &Path, mut each: impl FnMut(&[u8])) -> Result<Verified, AuditError> {
    let path = folder.join(HEAD);
    // the lock keeps writers out; if it cannot be taken, the log is read without it
    let _held = File::open(&path).ok().and_then(|file| flock(&file, FlockOperation::LockShared).ok().map(|()| file));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            // a log with entries always has a HEAD
            std::fs::read_dir(folder).map_err(failed(folder))?;
            return match logs(folder)?.first() {
                None => Ok(Verified { files: 0, entries: 0, head: BEGIN.to_owned() }),
                Some(_) => Err(Broken::new(HEAD, 0, "the file is missing, but log files exist").into()),
            };
        }
        Err(why) if why.kind() == std::io::ErrorKind::InvalidData => {
            return Err(Broken::new(HEAD, 0, "the file cannot be parsed").into());
        }
        Err(why) => return Err(failed(&path)(why)),
    };
    let head = Head::parse(&text).ok_or_else(|| Broken::new(HEAD, 0, "the file cannot be parsed"))?;
    let (mut hash, mut count) = (BEGIN.to_owned(), 0);
    for file in 1..=head.file {
        let (path, name) = (folder.join(name(file)), name(file));
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                return Err(Broken::new(&name, 0, "the file is missing").into());
            }
            Err(why) => return Err(failed(&path)(why)),
        };
        (hash, count) = walk(&name, &bytes, &hash, count, &mut each)?;
        if file == head.file && bytes.len() as u64 != head.bytes {
            return Err(Broken::new(&name, 0, "the length of the file differs from HEAD").into());
        }
    }
    let known: Vec<String> = (1..=head.file).map(name).collect();
    if let Some(foreign) = logs(folder)?.iter().find(|log| !known.contains(log)) {
        return Err(Broken::new(foreign, 0, "HEAD does not refer to this file").into());
    }
    if (count, hash.as_str()) != (head.entries, head.hash.as_str()) {
        return Err(Broken::new(HEAD, 0, "HEAD does not match the last line").into());
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

/// Verifies the hash chain through the lines of a file, which begins after the hash `before`. Returns the last hash and
/// the number of entries so far.
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
        let end = rest.iter().position(|b| *b == b'\n').ok_or(Broken::new(file, line, "the line is cut short"))?;
        let (this, next) = rest.split_at(end);
        rest = next.get(1..).unwrap_or_default();
        let (said, entry) = parts(this).ok_or(Broken::new(file, line, "this is not a line of an audit log"))?;
        let found = link(&hash, entry);
        if said != found {
            return Err(Broken::new(file, line, "this line or an earlier one was changed"));
        }
        each(entry);
        hash = found;
        count += 1;
    }
    Ok((hash, count))
}
