//! The proxy over standard input and output: each message is a line.

use super::{Fate, Proxy, ProxyError};
use serde_json::Value;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::sync::Mutex;

/// Longest message, in bytes.
pub(super) const LONGEST: u64 = 16 * 1024 * 1024;
/// How long a server may take to exit after its client has disconnected.
const ENDING: Duration = Duration::from_secs(5);

/// Why a connection ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The server cannot be started.
    #[error("cannot start the server '{program}': {why}; check the command line")]
    Start {
        /// The program.
        program: String,
        /// The error of the operating system.
        why: std::io::Error,
    },
    /// Reading or writing failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// A message is too long.
    #[error("a message is longer than {} MiB", LONGEST >> 20)]
    Long,
    /// A message of the server cannot be forwarded.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
}

type Shared<W> = Arc<Mutex<W>>;

/// Starts `server` (a program and its arguments) and relays between it and this process's standard input and output,
/// until either side ends. Returns the server's exit status; `None` if it did not exit in time.
///
/// # Errors
/// [`WireError`]
pub async fn between(proxy: Proxy, server: &[String]) -> Result<Option<ExitStatus>, WireError> {
    let (program, arguments) = server.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|why| WireError::Start { program: program.to_owned(), why })?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(WireError::Io(std::io::Error::other("cannot open pipes to the server")));
    };
    let proxy = Arc::new(Mutex::new(proxy));
    let to_server = Arc::new(Mutex::new(Some(input)));
    let to_client = Arc::new(Mutex::new(tokio::io::stdout()));
    let up = tokio::spawn(client(Arc::clone(&proxy), Arc::clone(&to_server), Arc::clone(&to_client)));
    let mut down = std::pin::pin!(server_side(&proxy, &to_server, &to_client, BufReader::new(output)));
    tokio::select! {
        ended = &mut down => ended?,
        // the client has disconnected: closing the server's input tells the server, which may still answer
        ended = up => {
            ended.map_err(std::io::Error::other)??;
            to_server.lock().await.take();
            match tokio::time::timeout(ENDING, down).await {
                Ok(ended) => ended?,
                Err(_) => child.start_kill()?,
            }
        }
    }
    Ok(tokio::time::timeout(ENDING, child.wait()).await.ok().transpose()?)
}

async fn client(
    proxy: Shared<Proxy>,
    to_server: Shared<Option<ChildStdin>>,
    to_client: Shared<tokio::io::Stdout>,
) -> Result<(), WireError> {
    let mut input = BufReader::new(tokio::io::stdin());
    while let Some(line) = line(&mut input).await? {
        let fate = proxy.lock().await.from_client("", &line).await;
        match fate {
            Fate::Pass => pass(&to_server, &line).await?,
            Fate::Instead(message) => pass(&to_server, &message.to_string()).await?,
            Fate::Answer(Some(answer)) => say(&to_client, &answer).await?,
            Fate::Answer(None) => {}
        }
    }
    Ok(())
}

async fn server_side(
    proxy: &Shared<Proxy>,
    to_server: &Shared<Option<ChildStdin>>,
    to_client: &Shared<tokio::io::Stdout>,
    mut output: impl AsyncBufRead + Unpin,
) -> Result<(), WireError> {
    while let Some(line) = line(&mut output).await? {
        // a message that cannot be recorded must not be forwarded: the connection ends
        let fate = proxy.lock().await.from_server("", &line)?;
        match fate {
            Fate::Pass => write(&mut *to_client.lock().await, &line).await?,
            Fate::Instead(message) => say(to_client, &message).await?,
            Fate::Answer(Some(answer)) => pass(to_server, &answer.to_string()).await?,
            Fate::Answer(None) => {}
        }
    }
    Ok(())
}

async fn pass(to_server: &Shared<Option<ChildStdin>>, line: &str) -> Result<(), WireError> {
    match to_server.lock().await.as_mut() {
        Some(server) => write(server, line).await,
        None => Ok(()),
    }
}

async fn say(to_client: &Shared<tokio::io::Stdout>, message: &Value) -> Result<(), WireError> {
    write(&mut *to_client.lock().await, &message.to_string()).await
}

async fn write(out: &mut (impl AsyncWrite + Unpin), line: &str) -> Result<(), WireError> {
    out.write_all(line.as_bytes()).await?;
    out.write_all(b"\n").await?;
    Ok(out.flush().await?)
}

/// The next line that is not blank; `None` at the end.
async fn line(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<String>, WireError> {
    while let Some(line) = raw_line(input).await? {
        let text = line.trim();
        if !text.is_empty() {
            return Ok(Some(text.to_owned()));
        }
    }
    Ok(None)
}

/// The next line with its line ending; `None` at the end. Invalid UTF-8 is replaced, so that a later parser rejects it.
pub(super) async fn raw_line(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<String>, WireError> {
    let mut bytes = Vec::new();
    let read = (&mut *input).take(LONGEST + 1).read_until(b'\n', &mut bytes).await?;
    if read as u64 > LONGEST {
        return Err(WireError::Long);
    }
    Ok((read > 0).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}
