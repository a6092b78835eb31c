//! Prerequisites of a run that makes roots: privileges, and a directory to mount on.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{RootError, failed};
use rustix::thread::CapabilitySet;

/// Prefix of the run directory's name; pid and start time of the owner and a counter follow.
const RUN_PREFIX: &str = "agrail-roots-";

/// The directory `work/agrail-roots-PID-START-N`, on which holders mount, each in its own namespace. It stays empty.
#[derive(Debug)]
pub(super) struct RunDirectory(pub(super) PathBuf);

impl RunDirectory {
    pub(super) fn create(work: &Path) -> Result<Self, RootError> {
        let pid = std::process::id();
        let start = start_time(pid).ok_or(RootError::NoProcess)?;
        let name = format!("{RUN_PREFIX}{pid}-{start}");
        // one process may have several runs (tests)
        for copy in 0..1000 {
            let path = work.join(format!("{name}-{copy}"));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let what = format!("cannot resolve {}", path.display());
                    return fs::canonicalize(path).map(Self).map_err(failed(what));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(format!("cannot make {}", path.display()))(error)),
            }
        }
        Err(RootError::TooManyRuns(work.to_owned()))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Removes the run directories whose owner has ended.
pub(super) fn sweep(work: &Path) -> Result<(), RootError> {
    fs::create_dir_all(work).map_err(failed(format!("cannot make {}", work.display())))?;
    for entry in fs::read_dir(work).map_err(failed(format!("cannot list {}", work.display())))? {
        let entry = entry.map_err(failed(format!("cannot list {}", work.display())))?;
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(RUN_PREFIX)).and_then(|rest| {
            let mut parts = rest.split('-');
            Some((parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u64>().ok()?))
        });
        if let Some((pid, start)) = owner
            && start_time(pid) != Some(start)
        {
            // another run may be sweeping, too
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}

/// Start time of a process in clock ticks since boot; `None` if there is no such process.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name (field 2), in parentheses, may contain spaces and parentheses; the start time is field 22
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Fails if a prerequisite is missing, before any case runs; the error names it.
pub(super) fn check_privileges() -> Result<(), RootError> {
    let filesystems = fs::read_to_string("/proc/filesystems").map_err(failed("/proc is not mounted"))?;
    let loadable = || Path::new("/sys/module/overlay").exists() || Path::new("/lib/modules").exists();
    if !filesystems.lines().any(|line| line.split_whitespace().last() == Some("overlay")) && !loadable() {
        return Err(RootError::NoOverlay);
    }
    let capabilities = rustix::thread::capabilities(None).map_err(failed("cannot read this process's capabilities"))?;
    let missing: Vec<_> =
        REQUIRED.iter().filter(|(set, _)| !capabilities.effective.contains(*set)).map(|(_, name)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(match rustix::process::geteuid().is_root() {
        true => RootError::Capabilities(missing.join(", ")),
        false => RootError::NotRoot,
    })
}

const REQUIRED: [(CapabilitySet, &str); 7] = [
    (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::SETUID, "CAP_SETUID"),
    (CapabilitySet::SETGID, "CAP_SETGID"),
    (CapabilitySet::SETPCAP, "CAP_SETPCAP"),
    (CapabilitySet::SYS_PTRACE, "CAP_SYS_PTRACE"),
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn sweep_removes_only_ended_runs() {
        let work = tempfile::tempdir().unwrap();
        let living = RunDirectory::create(work.path()).unwrap();
        for name in ["agrail-roots-1-1-0", "agrail-roots-x", "agrail-roots-4194304999-5-0", "other"] {
            fs::create_dir(work.path().join(name)).unwrap();
        }
        fs::create_dir(work.path().join("agrail-roots-1-2-0")).unwrap();
        fs::write(work.path().join("agrail-roots-1-2-0/mine"), "").unwrap();
        sweep(work.path()).unwrap();
        let mut left: Vec<_> = fs::read_dir(work.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        let living = living.0.file_name().unwrap().to_owned();
        let mut expected = vec!["agrail-roots-1-2-0".into(), living, "agrail-roots-x".into(), "other".into()];
        expected.sort();
        assert_eq!(left, expected);
    }
}
