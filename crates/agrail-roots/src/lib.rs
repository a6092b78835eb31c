//! Disposable roots: a private copy of this machine's file system for each case. The guard can probe it, and no process
//! inside can escape from it.
//!
//! 1. [`Roots::prepare`] removes leftovers of crashed runs, checks that this machine can make roots at all, and makes
//!    the shared root for cases without set-up.
//! 2. A root is a child of this process, the *holder*: this binary executed again with [`SUBCOMMAND`], as process 1 of
//!    a new PID namespace. It unshares mounts, network, IPC and host name, mounts an overlay over `/` whose upper layer
//!    is on a private tmpfs, mounts a fresh `/proc`, `/dev`, `/tmp` and `/sys`, pivots into the overlay, and drops
//!    every capability that could reach the host.
//! 3. A set-up script runs as root inside it. Only the script itself is awaited, so that a daemon which it starts keeps
//!    running, and the guard sees it.
//! 4. Dropping the handle kills the holder; the kernel then ends every process and mount of the root. The same happens
//!    whenever this process dies: the holder has a parent-death signal and reads a pipe that closes.
//!
//! Invariants: no mount is ever made in the caller's namespace; no file of the host is writable from inside; no
//! capability survives that could mount, make device nodes, open files by handle or trace the holder; nothing is left
//! on disk except one empty directory, which the next run removes if this run crashed before it could.

mod account;
mod error;
mod holder;
mod keeper;
mod mounts;
mod places;
mod privileges;

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal};

pub use self::error::{RootError, with_causes};

use self::error::failed;
use self::keeper::{Event, Order, Report, keep, next_report};
use self::places::{RunDirectory, check_privileges, sweep};

/// First argument that makes the binary a holder. See [`dispatch`].
pub const SUBCOMMAND: &str = "__root";
/// Time limit for a set-up script.
const SETUP_LIMIT: Duration = Duration::from_secs(30);
/// Time limit for making a root without its set-up; a few milliseconds are typical.
const MAKE_LIMIT: Duration = Duration::from_secs(20);
/// Size of the layer that receives a root's writes, and of its `/tmp`.
const LAYER_SIZE: &str = "512m";
/// Name of the user of the shared root.
const USER: &str = "user";

/// Runs the holder and never returns, if this process was started with [`SUBCOMMAND`]. Every binary that makes roots
/// calls this at the start of `main`, before it starts a thread: the holder must be the only thread of its process.
pub fn dispatch() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == SUBCOMMAND) {
        std::process::exit(holder::hold());
    }
}

/// The disposable roots of one run. Its methods block, so call them from a blocking thread.
#[derive(Debug)]
pub struct Roots {
    shared: CaseRoot,
    run: RunDirectory,
    program: PathBuf,
    setup_limit: Duration,
}

impl Roots {
    /// Removes leftovers under `work`, makes the run directory there, and makes the shared root. This binary serves as
    /// the holder: its `main` has to call [`dispatch`].
    ///
    /// # Errors
    /// If this process cannot make roots; the error names the missing prerequisite.
    pub fn prepare(work: &Path) -> Result<Self, RootError> {
        Self::prepare_with(work, Path::new("/proc/self/exe"), SETUP_LIMIT)
    }

    /// The same, with another program as the holder (its `main` has to call [`dispatch`]), and another time limit for
    /// set-ups.
    ///
    /// # Errors
    /// If this process cannot make roots; the error names the missing prerequisite.
    pub fn prepare_with(work: &Path, program: &Path, setup_limit: Duration) -> Result<Self, RootError> {
        check_privileges()?;
        sweep(work)?;
        let run = RunDirectory::create(work)?;
        let shared = CaseRoot::make("shared", &run.0, program, None, true, setup_limit)
            .map_err(|error| RootError::Prepare(Box::new(error)))?;
        Ok(Self { shared, run, program: program.to_owned(), setup_limit })
    }

    /// The root for cases without set-up. It contains the user `user` with home `/home/user`.
    ///
    /// # Errors
    /// If the root has ended.
    pub fn shared(&self) -> Result<PathBuf, RootError> {
        match self.shared.path().join("proc/self").symlink_metadata() {
            Ok(_) => Ok(self.shared.path()),
            Err(_) => Err(RootError::SharedEnded),
        }
    }

    /// A new root in which `setup` has run as root. Without a set-up it is a plain copy of this machine.
    ///
    /// # Errors
    /// If the root cannot be made, or the script exceeds its time limit. A failure of the script itself is not an
    /// error; see [`CaseRoot::setup_exit`].
    pub fn case(&self, id: &str, setup: Option<&str>) -> Result<CaseRoot, RootError> {
        CaseRoot::make(id, &self.run.0, &self.program, setup, false, self.setup_limit)
            .map_err(|error| RootError::Case { id: id.to_owned(), source: Box::new(error) })
    }
}

/// One disposable root. Dropping it kills and unmounts everything inside.
#[derive(Debug)]
pub struct CaseRoot {
    pid: Pid,
    /// Exit status of the set-up script, 128 + signal if a signal ended it; `None` without a script.
    pub setup_exit: Option<i32>,
    /// The script's stdout and stderr, at most 16 KiB.
    pub setup_output: String,
    /// Closes when this process ends, which ends the holder.
    pipe: Option<ChildStdin>,
    /// Dropped to let the keeper thread reap the holder.
    release: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl CaseRoot {
    /// Path of the root for this process: `/proc/PID/root`. It is a magic link: open it or append to it, but never
    /// canonicalise it, because that yields `/`, the host.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.pid.as_raw_nonzero()))
    }

    /// Fails if the root is the host's, so that the host is never used as a disposable root.
    fn ensure_apart(&self) -> Result<(), RootError> {
        let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
        let root = identity(&self.path()).map_err(failed("cannot enter the root"))?;
        let host = identity(Path::new("/")).map_err(failed("cannot look at the host's root"))?;
        if root == host { Err(RootError::Host) } else { Ok(()) }
    }

    fn make(
        id: &str,
        mount_point: &Path,
        program: &Path,
        setup: Option<&str>,
        user: bool,
        setup_limit: Duration,
    ) -> Result<Self, RootError> {
        let program = program.to_owned();
        let (events_in, events) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let keeper = thread::Builder::new()
            .name(format!("root {id}").replace('\0', ""))
            .spawn(move || keep(&program, &events_in, &released))
            .map_err(failed("cannot start a thread for a root's holder"))?;
        let (pid, pipe) = match events.recv() {
            Ok(Event::Started(pid, pipe)) => (pid, pipe),
            Ok(Event::Failed(error)) => return Err(error),
            Ok(Event::Line(_)) | Err(_) => return Err(RootError::NotStarted),
        };
        let mut root = Self {
            pid,
            setup_exit: None,
            setup_output: String::new(),
            pipe: Some(pipe),
            release: Some(release),
            keeper: Some(keeper),
        };
        let order = Order { mount_point: mount_point.to_owned(), setup: setup.map(str::to_owned), user };
        let mut line = serde_json::to_string(&order).map_err(failed("cannot write the order of a root's holder"))?;
        line.push('\n');
        if let Some(pipe) = root.pipe.as_mut() {
            pipe.write_all(line.as_bytes()).map_err(failed("the holder of a root ended at once"))?;
        }
        match next_report(&events, MAKE_LIMIT)? {
            Some(Report::Made) => {}
            Some(Report::Failed(reason)) => return Err(RootError::Reported(reason)),
            Some(Report::Done { .. }) | None => return Err(RootError::Slow(MAKE_LIMIT)),
        }
        root.ensure_apart()?;
        if setup.is_some() {
            match next_report(&events, setup_limit)? {
                Some(Report::Done { exit, output }) => {
                    root.setup_exit = Some(exit);
                    root.setup_output = output;
                }
                Some(Report::Failed(reason)) => return Err(RootError::Reported(reason)),
                Some(Report::Made) | None => return Err(RootError::SlowSetup(setup_limit)),
            }
        }
        Ok(root)
    }
}

impl Drop for CaseRoot {
    fn drop(&mut self) {
        // the keeper reaps the holder only once it is released, so the pid still belongs to the holder
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        drop(self.pipe.take());
        drop(self.release.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}
