//! The keeper: starts a holder, sends it its order, receives its reports, and reaps it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use super::SUBCOMMAND;
use super::error::{RootError, failed};

/// Prefix of each line that the holder reports.
pub(super) const MARK: &str = "agrail-root ";

/// The order for a holder: one JSON line on its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) mount_point: PathBuf,
    pub(super) setup: Option<String>,
    pub(super) user: bool,
}

/// A report of a holder: one JSON line on its standard output.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    Made,
    Done { exit: i32, output: String },
    Failed(String),
}

pub(super) enum Event {
    Started(Pid, ChildStdin),
    Line(String),
    Failed(RootError),
}

/// The next report of the holder; `None` if it takes longer than `limit`.
pub(super) fn next_report(events: &Receiver<Event>, limit: Duration) -> Result<Option<Report>, RootError> {
    let end = Instant::now() + limit;
    loop {
        match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Event::Line(line)) => {
                // a program that does not call `dispatch` may print other lines
                if let Some((_, json)) = line.split_once(MARK) {
                    let report = serde_json::from_str(json).map(Some);
                    return report.map_err(failed("cannot parse a report of a root's holder"));
                }
            }
            Ok(Event::Failed(error)) => return Err(error),
            Ok(Event::Started(..)) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(RootError::EndedEarly),
        }
    }
}

/// Runs one holder from start to end. Needs a separate thread, because a thread can enter only one new PID namespace,
/// and because the parent-death signal is sent when the *thread* that started the holder ends.
pub(super) fn keep(program: &Path, events: &Sender<Event>, released: &Receiver<()>) {
    let mut child = match start_holder(program) {
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
        let _ = events.send(Event::Failed(RootError::EndedEarly));
        let _ = released.recv();
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn start_holder(program: &Path) -> Result<std::process::Child, RootError> {
    unshare(UnshareFlags::NEWPID).map_err(failed("cannot make a PID namespace (CAP_SYS_ADMIN is needed)"))?;
    Command::new(program)
        .arg(SUBCOMMAND)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .current_dir("/")
        .spawn()
        .map_err(failed(format!("cannot execute {}", program.display())))
}

#[expect(unsafe_code, reason = "rustix marks unshare unsafe for CLONE_FILES, which no caller here passes")]
pub(super) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: the descriptor table stays shared; see the reason above.
    unsafe { rustix::thread::unshare_unsafe(flags.difference(UnshareFlags::FILES)) }
}
