//! Bounds the log by age and size: whole files are dropped, the oldest first.
//!
//! 1. The entry that names the new beginning is written first, then `BASE`, then the files are deleted. A writer may be
//!    killed at any of these moments: the log is intact, and the next call goes on.
//! 2. The file that is written to is never dropped. With an age limit, a new one is begun at least [`PARTS`] times within
//!    that age.

use super::log::empty;
use super::{Audit, AuditError, BEGIN, Broken, Entry, Head, Line, failed, name};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// Name of the file that records where the log begins; absent as long as it begins with its first entry.
pub(super) const BASE: &str = "BASE";
/// Fewest files within the age limit.
const PARTS: u32 = 8;

/// For how long, and up to which size, a log is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Entries that are older than this may be dropped; `None`: none is too old.
    pub age: Option<Duration>,
    /// Bytes of all files together; `None`: they are never too many.
    pub bytes: Option<u64>,
}

/// The entries that were dropped from the beginning of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = DroppedEntries))]
#[serde(deny_unknown_fields)]
pub(crate) struct Base {
    /// The number of dropped files.
    pub files: u32,
    /// The number of dropped entries.
    pub entries: u64,
    /// The hash of the last of them.
    pub hash: String,
}

impl Base {
    /// The beginning of a log.
    pub(super) fn read(folder: &Path) -> Result<Self, AuditError> {
        let path = folder.join(BASE);
        match std::fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|_| Broken::new(BASE, 0, "the file cannot be parsed").into())
            }
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Ok(Self { files: 0, entries: 0, hash: BEGIN.to_owned() })
            }
            Err(why) => Err(failed(&path)(why)),
        }
    }

    fn write(&self, folder: &Path) -> Result<(), AuditError> {
        let (path, new) = (folder.join(BASE), folder.join("BASE.new"));
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
        let mut file = file.map_err(failed(&new))?;
        let json = serde_json::to_vec(self)?;
        file.write_all(&json).and_then(|()| file.sync_all()).map_err(failed(&new))?;
        std::fs::rename(&new, &path).map_err(failed(&path))
    }
}

impl Audit {
    /// The same log, bounded by age and size.
    #[must_use]
    pub fn retain(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Whether the current file has become old enough for a new one to begin.
    pub(super) fn is_ripe(&self, head: &Head, now_ms: u64) -> bool {
        let Some(age) = self.retention.age.filter(|_| head.bytes > 0) else { return false };
        let part = u64::try_from((age / PARTS).as_millis()).unwrap_or(u64::MAX);
        first_time(&self.folder().join(name(head.file))).is_some_and(|began| now_ms.saturating_sub(began) > part)
    }

    /// Drops the oldest files, if they are too old or too large. Called when a new file has begun.
    pub(super) fn drop_old(
        &self,
        file: &mut File,
        path: &Path,
        head: &mut Head,
        now_ms: u64,
    ) -> Result<(), AuditError> {
        if self.retention == Retention::default() {
            return Ok(());
        }
        let base = Base::read(self.folder())?;
        let gone = self.too_old(&base, head, now_ms);
        if gone > base.files {
            let base = self.after(gone, &base)?;
            let number = base.entries;
            let event =
                Some(format!("the log begins with entry {} now, because of its limits of age and size", number + 1));
            self.write(file, path, head, Entry { event, dropped: Some(base.clone()), ..empty() })?;
            base.write(self.folder())?;
        }
        for number in (1..=gone).rev() {
            match std::fs::remove_file(self.folder().join(name(number))) {
                Ok(()) => {}
                // those before it are gone, too
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => break,
                Err(why) => return Err(failed(&self.folder().join(name(number)))(why)),
            }
        }
        Ok(())
    }

    /// The number of files, from the first one on, that exceed the limits.
    fn too_old(&self, base: &Base, head: &Head, now_ms: u64) -> u32 {
        let size = |number: u32| self.folder().join(name(number)).metadata().map_or(0, |meta| meta.len());
        let mut bytes: u64 = (base.files + 1..=head.file).map(size).sum();
        let age = self.retention.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let mut gone = base.files;
        for number in base.files + 1..head.file {
            // the next file begins when this one ends
            let ended = first_time(&self.folder().join(name(number + 1)));
            let old = age.zip(ended).is_some_and(|(age, ended)| now_ms.saturating_sub(ended) > age);
            let large = self.retention.bytes.is_some_and(|most| bytes > most);
            if !old && !large {
                break;
            }
            bytes = bytes.saturating_sub(size(number));
            gone = number;
        }
        gone
    }

    /// The beginning after the first `gone` files.
    fn after(&self, gone: u32, base: &Base) -> Result<Base, AuditError> {
        let mut entries = base.entries;
        let mut hash = base.hash.clone();
        for number in base.files + 1..=gone {
            let path = self.folder().join(name(number));
            let bytes = std::fs::read(&path).map_err(failed(&path))?;
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let line = Line::parse(line)
                    .ok_or_else(|| Broken::new(&name(number), 0, "a line is not one of an audit log"))?;
                entries += 1;
                line.hash.clone_into(&mut hash);
            }
        }
        Ok(Base { files: gone, entries, hash })
    }
}

/// The time of the first entry of a file, in milliseconds since 1970.
fn first_time(path: &Path) -> Option<u64> {
    #[derive(Deserialize)]
    struct When {
        at_ms: u64,
    }
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?).read_until(b'\n', &mut line).ok()?;
    let line = Line::parse(line.strip_suffix(b"\n")?)?;
    let (Ok(entry) | Err(entry)) = line.entry;
    serde_json::from_slice(entry).ok().map(|when: When| when.at_ms)
}
