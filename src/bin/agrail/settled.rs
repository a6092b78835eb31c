//! Reading a file of settings that somebody may be writing at this moment.
//!
//! A file that was changed a moment ago is read again until it stays the same: half of a configuration may be a valid
//! configuration that forbids less. A file that was emptied is no configuration either.

use anyhow::{Context as _, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A file that was last changed this long ago is not being written.
const QUIET: Duration = Duration::from_millis(100);
/// How long a file may go on changing.
const PATIENCE: Duration = Duration::from_secs(2);

/// The text of a file of settings. `what`: what the file is, for errors.
///
/// # Errors
/// If it cannot be read, is empty, or does not stay the same. `/dev/null` is read as no settings.
pub fn text(file: &Path, what: &str) -> Result<String> {
    let about = || format!("cannot read {what} {}", file.display());
    let started = Instant::now();
    loop {
        let before = std::fs::metadata(file).with_context(about)?;
        let text = std::fs::read_to_string(file).with_context(about)?;
        if !before.is_file() {
            return Ok(text);
        }
        let after = std::fs::metadata(file).with_context(about)?;
        let stamp = |meta: &std::fs::Metadata| (meta.len(), meta.modified().ok());
        if stamp(&before) == stamp(&after) && quiet(after.modified().ok()) {
            if text.trim().is_empty() {
                bail!("{what} {} is empty; write its settings again, or delete the file", file.display());
            }
            return Ok(text);
        }
        if started.elapsed() > PATIENCE {
            bail!("{what} {} is being changed all the time", file.display());
        }
        std::thread::sleep(QUIET / 4);
    }
}

/// The last change is over, or lies in the future, as where clocks differ.
fn quiet(changed: Option<SystemTime>) -> bool {
    let Some(changed) = changed else { return true };
    SystemTime::now().duration_since(changed).map_or(true, |ago| ago >= QUIET)
}

/// The file, if there is one. Only "not found" is absence.
///
/// # Errors
/// If it cannot be told whether there is one, as where a folder above it may not be entered.
pub fn present(file: PathBuf, what: &str) -> Result<Option<PathBuf>> {
    match std::fs::symlink_metadata(&file) {
        Ok(_) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let says = format!("cannot tell whether there is {what} {}", file.display());
            Err(anyhow::Error::new(error).context(says))
        }
    }
}
