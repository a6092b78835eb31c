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

mod holder;
mod machine;
mod mounts;
mod users;

use anyhow::{Context, Result, anyhow, bail, ensure};
use machine::{RunDirectory, check_privileges, sweep};
use rustix::process::{Pid, Signal};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// First argument that makes the binary a holder.
const SUBCOMMAND: &str = "__root";
/// Longest run of a set-up script.
const SETUP_LIMIT: Duration = Duration::from_secs(30);
/// Longest time to make a root without its set-up; usual is a few milliseconds.
const MAKE_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of a set-up's output that are kept.
const OUTPUT_LIMIT: usize = 16 * 1024;
/// Size of the layer that takes a root's writes, and of its `/tmp`.
const LAYER_SIZE: &str = "512m";
/// Name of the user of the shared root.
const USER: &str = "user";
/// First part of the run directory's name; the owner's pid and start time follow.
const RUN_PREFIX: &str = "agrail-roots-";
/// Starts each line that the holder reports.
const MARK: &str = "agrail-root ";

/// Serves the holder of a root: every `main` of a program that makes roots calls this first, before any thread starts.
pub fn dispatch() {
    if std::env::args_os().nth(1).is_some_and(|first| first == SUBCOMMAND) {
        std::process::exit(holder::hold());
    }
}

/// The disposable roots of one run. Calls block: use them from a blocking thread.
#[derive(Debug)]
pub struct Roots {
    shared: CaseRoot,
    run: RunDirectory,
    setup_limit: Duration,
}

impl Roots {
    /// Sweeps and makes the run directory under `work` and makes the shared root.
    ///
    /// # Errors
    /// Says what is missing if this process cannot make roots.
    pub fn prepare(work: &Path) -> Result<Self> {
        check_privileges()?;
        sweep(work)?;
        let run = RunDirectory::create(work)?;
        let shared = CaseRoot::make("shared", &run.0, None, true, SETUP_LIMIT)
            .context("no disposable root can be made on this machine")?;
        Ok(Self { shared, run, setup_limit: SETUP_LIMIT })
    }

    /// The root for cases without set-up, in which user `user` (home `/home/user`) exists.
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
        CaseRoot::make(id, &self.run.0, setup, false, self.setup_limit).with_context(|| format!("root of case {id}"))
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

    fn make(id: &str, mount_point: &Path, setup: Option<&str>, user: bool, setup_limit: Duration) -> Result<Self> {
        let (events_in, events) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let keeper = thread::Builder::new()
            .name(format!("root {id}").replace('\0', ""))
            .spawn(move || keep(&events_in, &released))
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

/// What the holder is to do, one JSON line on its standard input.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    mount_point: PathBuf,
    setup: Option<String>,
    user: bool,
}

/// What the holder did, one JSON line on its standard output.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    Made,
    Done { exit: i32, output: String },
    Failed(String),
}

enum Event {
    Started(Pid, ChildStdin),
    Line(String),
    Failed(anyhow::Error),
}

/// `None` past the limit.
fn next_report(events: &Receiver<Event>, limit: Duration) -> Result<Option<Report>> {
    let end = Instant::now() + limit;
    loop {
        match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Event::Line(line)) => {
                // A line without the mark is the test harness talking, where that is the binary.
                if let Some((_, json)) = line.split_once(MARK) {
                    return serde_json::from_str(json).map(Some).context("unreadable report of a root's holder");
                }
            }
            Ok(Event::Failed(error)) => return Err(error),
            Ok(Event::Started(..)) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the holder of the root ended early"),
        }
    }
}

/// The life of one holder, seen from outside. It has a thread to itself because a thread can enter only one new PID
/// namespace, and because the parent-death signal comes when the *thread* that started the holder ends.
fn keep(events: &Sender<Event>, released: &Receiver<()>) {
    let mut child = match start_holder() {
        Ok(child) => child,
        Err(error) => {
            let _ = events.send(Event::Failed(error));
            return;
        }
    };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(stdin), Some(stdout)) = (pid, child.stdin.take(), child.stdout.take()) {
        let _ = events.send(Event::Started(pid, stdin));
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = events.send(Event::Line(line));
        }
        let _ = events.send(Event::Failed(anyhow!("the holder of the root ended early")));
        let _ = released.recv();
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn start_holder() -> Result<std::process::Child> {
    unshare(UnshareFlags::NEWPID).context("no PID namespace of its own (CAP_SYS_ADMIN is needed)")?;
    let mut command = Command::new("/proc/self/exe");
    command.env_clear().arg(SUBCOMMAND);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .current_dir("/")
        .spawn()
        .context("this binary cannot be executed again")
}

#[expect(unsafe_code, reason = "rustix marks unshare unsafe for CLONE_FILES, which no caller here passes")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: the descriptor table stays shared, see the reason above.
    unsafe { rustix::thread::unshare_unsafe(flags.difference(UnshareFlags::FILES)) }
}
