//! Which version of a program is installed.

use anyhow::{Context as _, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The packages of dpkg, by the files that they own.
pub struct Inventory {
    owners: HashMap<PathBuf, String>,
    versions: HashMap<String, String>,
}

impl Inventory {
    /// The packages of this machine, read once; nothing without dpkg.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Inventory>> = OnceLock::new();
        SHARED.get_or_init(|| Self::read().ok()).as_ref()
    }

    /// Reads the database of dpkg.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read() -> Result<Self> {
        let folder = Path::new("/var/lib/dpkg");
        let status = std::fs::read_to_string(folder.join("status")).context("cannot read the database of dpkg")?;
        let mut versions = HashMap::new();
        let mut package = String::new();
        for line in status.lines() {
            if let Some(name) = line.strip_prefix("Package: ") {
                package = name.to_owned();
            } else if let Some(version) = line.strip_prefix("Version: ") {
                versions.insert(package.clone(), version.to_owned());
            }
        }
        let mut owners = HashMap::new();
        for entry in std::fs::read_dir(folder.join("info"))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "list") {
                continue;
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = name.split(':').next().unwrap_or_default().to_owned();
            for file in std::fs::read_to_string(&path)?.lines().filter(|file| {
                file.contains("bin/")
                    || file.contains("/games/")
                    || file.contains("/man/")
                    || file.contains("/completions/")
            }) {
                owners.insert(merged(file), name.clone());
            }
        }
        Ok(Self { owners, versions })
    }

    /// Package and version of a program of this machine, links of alternatives followed; nothing if it is not installed,
    /// or not by a package.
    pub fn version(&self, program: &str) -> Option<String> {
        let folders = ["/usr/bin", "/usr/sbin", "/usr/games"];
        let file = folders.iter().map(|folder| Path::new(folder).join(program)).find(|file| file.exists())?;
        self.owner(&file)
    }

    /// Package and version of the package that owns a file.
    pub fn owner(&self, file: &Path) -> Option<String> {
        let owner = |file: &Path| self.owners.get(&merged(&file.display().to_string()));
        let package = owner(file).or_else(|| owner(&file.canonicalize().ok()?))?;
        Some(format!("{package} {}", self.versions.get(package)?))
    }
}

/// A path as it is with /bin and /sbin in /usr.
fn merged(file: &str) -> PathBuf {
    if file.starts_with("/bin/") || file.starts_with("/sbin/") {
        PathBuf::from(format!("/usr{file}"))
    } else {
        PathBuf::from(file)
    }
}
