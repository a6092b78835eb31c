//! `agrail-hook WORDS...`: what a host starts before each tool call. It answers as `agrail hook WORDS...` does, and starts
//! in a fraction of the time.
//!
//! It asks the resident guard of this configuration (`agrail daemon`). If there is none, or it gives no answer, it runs
//! `agrail hook`, which decides by itself and then starts a resident guard for the next event. The exit code is always 0
//! or 2: whatever goes wrong here blocks the call.

use agrail_resident::{MOST_BYTES, Place, Reply};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Seconds after which the call is blocked. `agrail hook` gives up earlier, the host later.
const LIMIT: Duration = Duration::from_secs(108);

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let _ = writeln!(std::io::stderr(), "agrail: the hook panicked, so the call is blocked: {info}");
        std::process::exit(2);
    }));
    let watch = std::thread::Builder::new().name("agrail-watchdog".to_owned()).spawn(|| {
        std::thread::sleep(LIMIT);
        let _ = writeln!(std::io::stderr(), "agrail: no decision in time, so the call is blocked");
        std::process::exit(2);
    });
    let answer = watch.and_then(|_| answer());
    let given = answer.unwrap_or_else(|problem| {
        Some(blocked(&format!("the guard cannot be asked, so the call is blocked: {problem}")))
    });
    match given.map(|answer| said(&answer)) {
        None | Some(Ok(0)) => ExitCode::SUCCESS,
        Some(Ok(_) | Err(_)) => ExitCode::from(2),
    }
}

/// The answer for the event on standard input; `None` if `agrail hook` has given it.
fn answer() -> std::io::Result<Option<Reply>> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let program = std::env::current_exe()?.with_file_name("agrail").canonicalize()?;
    let mut event = Vec::new();
    std::io::stdin().take(MOST_BYTES as u64 + 1).read_to_end(&mut event)?;
    let place = Place::of(&program, &words)?;
    match place.and_then(|place| place.ask(&program, &event)) {
        Some(answer) => Ok(Some(answer)),
        None => by_itself(&program, words, &event),
    }
}

/// Runs `agrail hook`, which writes the answer.
fn by_itself(program: &Path, words: Vec<OsString>, event: &[u8]) -> std::io::Result<Option<Reply>> {
    let mut command = Command::new(program);
    command.arg("hook").args(words).arg("--resident");
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // a guard that does not read all of it does not allow the call
        let _ = input.write_all(event);
    }
    match child.wait()?.code() {
        Some(0) => Ok(None),
        // its reason is on standard error
        Some(2) => Ok(Some(Reply { code: 2, stdout: String::new(), stderr: String::new() })),
        _ => Ok(Some(blocked(&format!("{} was killed or failed, so the call is blocked", program.display())))),
    }
}

/// Exit code 2, which blocks the call, with a reason.
fn blocked(why: &str) -> Reply {
    Reply { code: 2, stdout: String::new(), stderr: format!("agrail: {why}\n") }
}

/// Writes the answer; its exit code.
fn said(answer: &Reply) -> std::io::Result<u8> {
    std::io::stderr().write_all(answer.stderr.as_bytes())?;
    let mut out = std::io::stdout().lock();
    out.write_all(answer.stdout.as_bytes())?;
    out.flush()?;
    Ok(answer.code)
}
