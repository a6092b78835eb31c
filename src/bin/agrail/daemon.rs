//! `agrail daemon`: a guard that stays in memory and answers the hooks of one configuration.
//!
//! It starts from the files of the configuration, and stops when one of them changes: the next hook decides by itself,
//! from the new files, and starts another guard. It never loads settings again.

use crate::hook::{self, Desk};
use crate::layers;
use crate::settings::Config;
use agrail_resident::{MOST_BYTES, Place, REFUSED, Reply, TAKEN, VERSION, stamp};
use anyhow::{Context as _, Result, bail};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener as Bound;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

/// Most events in work; a further hook decides by itself.
const AT_ONCE: usize = 32;
/// Time in which a hook must send its event.
const SENDS: Duration = Duration::from_secs(5);
/// Time for what is in work when the guard stops.
const FINISHES: Duration = Duration::from_secs(60);
/// Interval at which it looks whether it is still needed.
const LOOKS: Duration = Duration::from_secs(5);
/// Minutes without an event after which the guard stops.
const IDLE: u32 = 30;
/// Most files of a configuration, in the folders that it names.
const FILES: usize = 4_000;
/// Deepest folder of a configuration.
const DEPTH: usize = 6;

/// Keep a guard in memory that answers the hooks; the first hook starts it
///
/// A hook that finds such a guard gets its answer in a few milliseconds; without one it decides by
/// itself. It listens on a socket that only your account can use, and stops if its program, its
/// settings or its policies change, or after half an hour without an event (`hook.idle_minutes`).
/// `hook.daemon = false` switches it off. Options as those of `agrail hook`.
///
///   agrail daemon claude-code
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    hook: hook::Args,
}

/// Starts a guard for the next hooks with this command line, unless there is one or the settings forbid it.
pub fn start(config: &Config, words: &[OsString]) -> Result<()> {
    if config.hook.daemon == Some(false) {
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let Some(place) = Place::of(&program, words)?.filter(Place::may_start) else { return Ok(()) };
    let mut command = Command::new(&program);
    command.arg("daemon").args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // a host that ends its hooks must not end the guard
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if let Err(problem) = command.spawn() {
        place.started();
        return Err(problem.into());
    }
    Ok(())
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let program = std::env::current_exe()?;
    let words: Vec<OsString> = std::env::args_os().skip(2).collect();
    let Some(place) = Place::of(&program, &words)? else {
        bail!("there is no folder for the socket; set XDG_RUNTIME_DIR or HOME");
    };
    let Some(claim) = place.claim()? else {
        bail!("a guard already listens on {}", place.socket().display());
    };
    // no terminal's end is the guard's
    let _ = rustix::process::setsid();
    let files = read_files(config);
    let before = state(&files)?;
    // settings that were loaded before the files were looked at may be older
    let config = layers::load(&config.places)?;
    let desk = Arc::new(Desk::open(&args.hook, config)?);
    if state(&files)? != before {
        bail!("the settings have changed while the guard started");
    }
    let listener = bound(&place)?;
    place.started();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = UnixListener::from_std(listener)?;
        let work = serve(&listener, &place, &desk, || state(&files).is_ok_and(|now| now == before)).await?;
        // the next guard may listen while this one finishes
        let _ = std::fs::remove_file(place.socket());
        drop((listener, claim));
        let all = u32::try_from(AT_ONCE)?;
        let _ = tokio::time::timeout(FINISHES, work.acquire_many(all)).await;
        anyhow::Ok(())
    })?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// Binds the socket, which only the owner can use.
fn bound(place: &Place) -> Result<Bound> {
    let socket = place.socket();
    let new = socket.with_extension("new");
    let _ = std::fs::remove_file(&new);
    let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
    let bound = Bound::bind(&new);
    rustix::process::umask(mask);
    let bound = bound.with_context(|| format!("cannot listen on {}", new.display()))?;
    bound.set_nonblocking(true)?;
    std::fs::rename(&new, &socket)?;
    Ok(bound)
}

/// Answers until nobody has asked for a while, the files have changed, or the socket is not this one. Returns the permits
/// of what is in work.
async fn serve(
    listener: &UnixListener,
    place: &Place,
    desk: &Arc<Desk>,
    fresh: impl Fn() -> bool,
) -> Result<Arc<Semaphore>> {
    let work = Arc::new(Semaphore::new(AT_ONCE));
    let inode = |path: PathBuf| std::fs::symlink_metadata(path).map(|found| found.ino()).ok();
    let own = inode(place.socket());
    let idle = Duration::from_secs(60 * u64::from(desk.config.hook.idle_minutes.unwrap_or(IDLE)));
    let mut asked = Instant::now();
    loop {
        let mut stream = match tokio::time::timeout(LOOKS, listener.accept()).await {
            Ok(Ok((stream, _))) => stream,
            Ok(Err(problem)) => {
                tracing::warn!(%problem, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            Err(_)
                if inode(place.socket()) != own || (asked.elapsed() > idle && work.available_permits() == AT_ONCE) =>
            {
                return Ok(work);
            }
            Err(_) => continue,
        };
        asked = Instant::now();
        if inode(place.socket()) != own || !fresh() {
            let _ = stream.write_all(&[REFUSED]).await;
            return Ok(work);
        }
        let Ok(permit) = Arc::clone(&work).try_acquire_owned() else {
            let _ = stream.write_all(&[REFUSED]).await;
            continue;
        };
        let desk = Arc::clone(desk);
        tokio::spawn(async move {
            if let Err(problem) = talk(&mut stream, &desk).await {
                tracing::warn!(%problem, "an event was not answered");
            }
            drop(permit);
        });
    }
}

/// One event: version, length, the event; then the acknowledgement and the answer.
async fn talk(stream: &mut UnixStream, desk: &Desk) -> Result<()> {
    if stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
        bail!("another account has connected");
    }
    let event = tokio::time::timeout(SENDS, received(stream)).await.context("the event came too slowly")??;
    stream.write_all(&[TAKEN]).await?;
    // without an answer, the hook decides by itself
    let limit = Duration::from_secs(desk.args.timeout);
    let agrail::hook::Answer { code, stdout, stderr } = tokio::time::timeout(limit, desk.answer(event)).await?;
    stream.write_all(&Reply { code, stdout, stderr }.bytes()).await?;
    Ok(())
}

async fn received(stream: &mut UnixStream) -> Result<Vec<u8>> {
    if stream.read_u8().await? != VERSION {
        bail!("the hook speaks another version");
    }
    let length = stream.read_u64().await?;
    if length > MOST_BYTES as u64 {
        bail!("the event is too long");
    }
    let mut event = Vec::new();
    stream.take(length).read_to_end(&mut event).await?;
    if event.len() as u64 != length {
        bail!("the event was cut");
    }
    Ok(event)
}

/// What the guard was started from. Files that do not exist count, too: they may be made later.
fn read_files(config: &Config) -> Vec<PathBuf> {
    let mut files = config.reads();
    files.extend(std::env::current_exe());
    files
}

/// A digest of the state of these files, and of all files in these folders.
fn state(files: &[PathBuf]) -> Result<Vec<u8>> {
    let mut digest = Sha256::new();
    let mut left = FILES;
    for file in files {
        add(&mut digest, file, DEPTH, &mut left)?;
    }
    Ok(digest.finalize().to_vec())
}

fn add(digest: &mut Sha256, file: &Path, depth: usize, left: &mut usize) -> Result<()> {
    *left = left.checked_sub(1).context("the configuration has too many files to keep a guard in memory")?;
    digest.update(file.as_os_str().as_encoded_bytes());
    digest.update([0]);
    for found in [std::fs::symlink_metadata(file), std::fs::metadata(file)] {
        match found {
            Ok(found) => digest.update(stamp(&found)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => digest.update([1]),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }
    if !file.is_dir() {
        return Ok(());
    }
    let depth = depth.checked_sub(1).with_context(|| format!("{} is too deep", file.display()))?;
    let mut entries = std::fs::read_dir(file)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| add(digest, entry, depth, left))
}
