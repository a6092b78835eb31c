//! Disposable roots: a private copy of this machine's file system for each case, which the guard can probe and which
//! nothing in it can leave.
//!
//! 1. [`Roots::prepare`] sweeps what crashed runs left, checks that roots can be made here at all, and makes the shared
//!    root for cases without set-up.
//! 2. A root is a child of this process, the *holder*: this binary executed again with [`SUBCOMMAND`], as process 1 of a
//!    PID namespace of its own. It unshares mounts, network, IPC and host name, lays an overlay over `/` with its upper
//!    layer on a tmpfs that only it can see, mounts a fresh `/proc`, `/dev`, `/tmp` and `/sys`, pivots into it, and
//!    gives up every capability with which the host could be reached.
//! 3. A set-up script runs as root inside it. Only the script itself is waited for, so a daemon it starts stays and is
//!    seen by the guard.
//! 4. Dropping the handle kills the holder, and with it the kernel ends every process and mount of the root. The same
//!    happens when this process dies, however it dies: the holder has a parent-death signal and reads a pipe that closes.
//!
//! Invariants: no mount is ever made in the caller's namespace; no file of the host is writable from inside; no
//! capability that can mount, make device nodes, open files by handle or trace the holder survives; nothing is left on
//! disk but one empty directory, which the next run sweeps if a crash kept this one from removing it.

mod account;
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

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal};

use self::keeper::{Event, Order, Report, keep, next_report};
use self::places::{RunDirectory, check_privileges, sweep};

/// First argument that makes the binary a holder. See [`dispatch`].
pub const SUBCOMMAND: &str = "__root";
/// Longest run of a set-up script.
const SETUP_LIMIT: Duration = Duration::from_secs(30);
/// Longest time to make a root without its set-up; usual is a few milliseconds.
const MAKE_LIMIT: Duration = Duration::from_secs(20);
/// Size of the layer that takes a root's writes, and of its `/tmp`.
const LAYER_SIZE: &str = "512m";
/// Name of the user of the shared root.
const USER: &str = "user";

/// Serves [`SUBCOMMAND`] and never returns, if this process was started as a holder. Every binary that makes roots calls
/// this first thing in `main`, before any thread: the holder must be alone in its process.
pub fn dispatch() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == SUBCOMMAND) {
        std::process::exit(holder::hold());
    }
}

/// The disposable roots of one run. Calls block: use them from a blocking thread.
#[derive(Debug)]
pub struct Roots {
    shared: CaseRoot,
    run: RunDirectory,
    program: PathBuf,
    setup_limit: Duration,
}

impl Roots {
    /// Sweeps and makes the run directory under `work` and makes the shared root. This binary serves as the holder: its
    /// `main` has to call [`dispatch`].
    ///
    /// # Errors
    /// Says what is missing if this process cannot make roots.
    pub fn prepare(work: &Path) -> Result<Self> {
        Self::prepare_with(work, Path::new("/proc/self/exe"), SETUP_LIMIT)
    }

    /// The same with another program as the holder, one whose `main` calls [`dispatch`], and another limit for set-ups.
    ///
    /// # Errors
    /// Says what is missing if this process cannot make roots.
    pub fn prepare_with(work: &Path, program: &Path, setup_limit: Duration) -> Result<Self> {
        check_privileges()?;
        sweep(work)?;
        let run = RunDirectory::create(work)?;
        let shared = CaseRoot::make("shared", &run.0, program, None, true, setup_limit)
            .context("no disposable root can be made on this machine")?;
        Ok(Self { shared, run, program: program.to_owned(), setup_limit })
    }

    /// The root for cases without set-up, in which user `user` (home `/home/user`) exists.
    ///
    /// # Errors
    /// Fails if the root has ended.
    pub fn shared(&self) -> Result<PathBuf> {
        ensure!(self.shared.path().join("proc/self").symlink_metadata().is_ok(), "the shared root has ended");
        Ok(self.shared.path())
    }

    /// A root of its own, in which `setup` has run as root. Without a set-up it is a plain copy of this machine.
    ///
    /// # Errors
    /// Fails if the root cannot be made or the script runs past its limit; a script's own failure is in
    /// [`CaseRoot::setup_exit`].
    pub fn case(&self, id: &str, setup: Option<&str>) -> Result<CaseRoot> {
        CaseRoot::make(id, &self.run.0, &self.program, setup, false, self.setup_limit)
            .with_context(|| format!("root of case {id}"))
    }
}

/// One disposable root; dropped, everything in it is killed, unmounted and gone.
#[derive(Debug)]
pub struct CaseRoot {
    pid: Pid,
    /// What the set-up script ended with, 128 + signal if a signal ended it; `None` without a script.
    pub setup_exit: Option<i32>,
    /// The script's stdout and stderr, at most 16 KiB.
    pub setup_output: String,
    /// Closed when this process ends, which ends the holder.
    pipe: Option<ChildStdin>,
    /// Dropped to let the keeper thread reap the holder.
    release: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl CaseRoot {
    /// The root as this process sees it, `/proc/PID/root`. It is a magic link: open it or join to it, but never
    /// canonicalise it (that yields `/`, the host).
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.pid.as_raw_nonzero()))
    }

    /// Never lets the host be taken for a root.
    fn ensure_apart(&self) -> Result<()> {
        let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
        let (root, host) = (identity(&self.path()), identity(Path::new("/")));
        ensure!(root.context("the root cannot be entered")? != host?, "the root is the host's");
        Ok(())
    }

    fn make(
        id: &str,
        mount_point: &Path,
        program: &Path,
        setup: Option<&str>,
        user: bool,
        setup_limit: Duration,
    ) -> Result<Self> {
        let program = program.to_owned();
        let (events_in, events) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let keeper = thread::Builder::new()
            .name(format!("root {id}").replace('\0', ""))
            .spawn(move || keep(&program, &events_in, &released))
            .context("no thread for a root's holder")?;
        let (pid, pipe) = match events.recv() {
            Ok(Event::Started(pid, pipe)) => (pid, pipe),
            Ok(Event::Failed(error)) => return Err(error),
            Ok(Event::Line(_)) | Err(_) => bail!("the holder of a root did not start"),
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
        let mut line = serde_json::to_string(&order)?;
        line.push('\n');
        if let Some(pipe) = root.pipe.as_mut() {
            pipe.write_all(line.as_bytes()).context("the holder of a root ended at once")?;
        }
        match next_report(&events, MAKE_LIMIT)? {
            Some(Report::Made) => {}
            Some(Report::Failed(reason)) => bail!(reason),
            Some(Report::Done { .. }) | None => bail!("making the root took more than {} s", MAKE_LIMIT.as_secs()),
        }
        root.ensure_apart()?;
        if setup.is_some() {
            match next_report(&events, setup_limit)? {
                Some(Report::Done { exit, output }) => {
                    root.setup_exit = Some(exit);
                    root.setup_output = output;
                }
                Some(Report::Failed(reason)) => bail!(reason),
                Some(Report::Made) | None => {
                    bail!("the set-up ran past {} s and was stopped", setup_limit.as_secs_f32())
                }
            }
        }
        Ok(root)
    }
}

impl Drop for CaseRoot {
    fn drop(&mut self) {
        // The keeper reaps the holder only once it is released, so the pid is still the holder's.
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        drop(self.pipe.take());
        drop(self.release.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}
