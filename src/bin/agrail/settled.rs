//! Reads a settings file that another process may be writing.
//!
//! A recently changed file is read again until it is stable, because half of a configuration may be a valid
//! configuration that forbids less. An emptied file is not a configuration either.

use anyhow::{Context as _, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A file whose last change is this long ago counts as stable.
const QUIET: Duration = Duration::from_millis(100);
/// Maximum time that a file may keep changing.
const PATIENCE: Duration = Duration::from_secs(2);

/// The text of a settings file. `what` names the file in errors.
///
/// # Errors
/// If the file cannot be read, is empty, or keeps changing. `/dev/null` counts as no settings.
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
                bail!("{what} {} is empty; write its content again, or delete the file", file.display());
            }
            return Ok(text);
        }
        if started.elapsed() > PATIENCE {
            bail!("{what} {} keeps changing; finish writing it, then try again", file.display());
        }
        std::thread::sleep(QUIET / 4);
    }
}

/// Whether the last change is long enough ago, or in the future because clocks differ.
fn quiet(changed: Option<SystemTime>) -> bool {
    let Some(changed) = changed else { return true };
    SystemTime::now().duration_since(changed).map_or(true, |ago| ago >= QUIET)
}

/// The file, if it exists. Only "not found" means absent.
///
/// # Errors
/// If the existence of the file is unknown, for example because a parent folder cannot be entered.
pub fn present(file: PathBuf, what: &str) -> Result<Option<PathBuf>> {
    match std::fs::symlink_metadata(&file) {
        Ok(_) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let says = format!("cannot tell whether {what} {} exists", file.display());
            Err(anyhow::Error::new(error).context(says))
        }
    }
}
