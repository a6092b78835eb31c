//! The policies of the organisation that manages a machine.
//!
//! They are in one folder that belongs to root, and hold for every account. No configuration names it, so that none can leave
//! it out.

use crate::settings::source;
use agrail::policy::Source;
use anyhow::{Context as _, Result, bail};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The folder.
pub const FOLDER: &str = "/etc/agrail/policies";
/// Most files in it.
const FILES: usize = 1_000;

/// The policies in the folder; none if it does not exist.
///
/// # Errors
/// If anyone but root may change one of them, or one cannot be read.
pub fn policies() -> Result<Vec<Source>> {
    read(Path::new(FOLDER), 0)
}

/// The Cedar files in the folder, and the examples beside them. Empty if it cannot be read; then [`policies`] says why.
pub fn files() -> Vec<PathBuf> {
    let cedar = listed(Path::new(FOLDER)).unwrap_or_default();
    cedar.iter().flat_map(|file| [file.clone(), file.with_extension("examples.toml")]).collect()
}

/// Whether a policy file is in the folder.
pub fn holds(file: &str) -> bool {
    Path::new(file).parent() == Some(Path::new(FOLDER))
}

fn read(folder: &Path, owner: u32) -> Result<Vec<Source>> {
    if crate::settled::present(folder.to_owned(), "the folder of the organisation's policies")?.is_none() {
        return Ok(Vec::new());
    }
    let files = listed(folder)?;
    for path in folder.parent().into_iter().chain([folder]).chain(files.iter().map(PathBuf::as_path)) {
        let about = path.metadata().with_context(|| format!("cannot look at {}", path.display()))?;
        if about.uid() != owner || about.mode() & 0o022 != 0 {
            bail!(
                "{} is part of the organisation's policies, but others than root may change it; as root: chown root {0} && \
                 chmod go-w {0}",
                path.display()
            );
        }
    }
    files.iter().map(|file| Ok(Source { organisation: true, ..source(file)? })).collect()
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let unread = || format!("cannot read the organisation's policies in {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(unread)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().with_context(unread)?;
    files.retain(|file| file.extension().is_some_and(|end| end == "cedar"));
    files.sort();
    if files.len() > FILES {
        bail!("{} has more than {FILES} policy files", folder.display());
    }
    Ok(files)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_what_nobody_else_can_change_is_the_organisations() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("policies");
        let me = rustix::process::getuid().as_raw();
        assert!(read(&folder, me).unwrap().is_empty(), "there is none");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("a.cedar");
        write(&file, "forbid (principal, action, resource);").unwrap();
        write(folder.join("notes.txt"), "x").unwrap();
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(home.path(), 0o755);
        mode(&folder, 0o755);
        mode(&file, 0o644);
        let found = read(&folder, me).unwrap();
        assert!(found.len() == 1 && found.iter().all(|source| source.organisation));
        assert!(read(&folder, me + 1).unwrap_err().to_string().contains("others than root"));
        for path in [home.path(), &folder, &file] {
            mode(path, 0o777);
            assert!(read(&folder, me).unwrap_err().to_string().contains("chmod go-w"), "{}", path.display());
            mode(path, 0o755);
        }
        assert_eq!(read(&folder, me).unwrap().len(), 1);
    }
}
