//! The proxy over standard input and output: each message is a line.

use super::{Fate, Proxy, ProxyError, message};
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

/// The connection with one client and its server.
struct Wire {
    proxy: Mutex<Proxy>,
    to_server: Mutex<Option<ChildStdin>>,
    to_client: Mutex<tokio::io::Stdout>,
    /// Messages of the client that wait until the server has listed its tools.
    held: Mutex<Vec<String>>,
}

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
    let wire = Arc::new(Wire {
        proxy: Mutex::new(proxy),
        to_server: Mutex::new(Some(input)),
        to_client: Mutex::new(tokio::io::stdout()),
        held: Mutex::default(),
    });
    let client = Arc::clone(&wire);
    let up = tokio::spawn(async move { client.up().await });
    let mut down = std::pin::pin!(wire.down(BufReader::new(output)));
    tokio::select! {
        ended = &mut down => {
            // the client may be gone, too
            let _ = wire.end().await;
            ended?;
        }
        // the client has disconnected: closing the server's input tells the server, which may still answer
        ended = up => {
            ended.map_err(std::io::Error::other)??;
            wire.to_server.lock().await.take();
            match tokio::time::timeout(ENDING, down).await {
                Ok(ended) => ended?,
                Err(_) => child.start_kill()?,
            }
        }
    }
    Ok(tokio::time::timeout(ENDING, child.wait()).await.ok().transpose()?)
}

impl Wire {
    /// Relays what the client says.
    async fn up(&self) -> Result<(), WireError> {
        let mut input = BufReader::new(tokio::io::stdin());
        while let Some(line) = line(&mut input).await? {
            let fate = self.proxy.lock().await.from_client("", &line).await;
            self.obey(line, fate).await?;
        }
        Ok(())
    }

    /// Relays what the server says.
    async fn down(&self, mut output: impl AsyncBufRead + Unpin) -> Result<(), WireError> {
        while let Some(line) = line(&mut output).await? {
            // a message that cannot be recorded must not be forwarded: the connection ends
            let fate = self.proxy.lock().await.from_server("", &line)?;
            match fate {
                Fate::Pass => write(&mut *self.to_client.lock().await, &line).await?,
                Fate::Instead(message) => self.say(&message).await?,
                Fate::Answer(Some(answer)) => self.pass(&answer.to_string()).await?,
                Fate::Answer(None) | Fate::Learn(_) => {}
            }
            self.release().await?;
        }
        Ok(())
    }

    /// What becomes of a message of the client.
    async fn obey(&self, line: String, fate: Fate) -> Result<(), WireError> {
        match fate {
            Fate::Pass => self.pass(&line).await,
            Fate::Instead(message) => self.pass(&message.to_string()).await,
            Fate::Answer(Some(answer)) => self.say(&answer).await,
            Fate::Answer(None) => Ok(()),
            Fate::Learn(list) => {
                self.held.lock().await.push(line);
                self.pass(&list.to_string()).await
            }
        }
    }

    /// Handles the messages that have waited, once the server has listed its tools.
    async fn release(&self) -> Result<(), WireError> {
        if self.held.lock().await.is_empty() || self.proxy.lock().await.is_learning("") {
            return Ok(());
        }
        let held = std::mem::take(&mut *self.held.lock().await);
        for line in held {
            let fate = self.proxy.lock().await.again("", &line).await;
            self.obey(line, fate).await?;
        }
        Ok(())
    }

    /// Answers what the server has not answered before it ended.
    async fn end(&self) -> Result<(), WireError> {
        self.to_server.lock().await.take();
        let held = std::mem::take(&mut *self.held.lock().await);
        let held = held.iter().filter_map(|line| message::parse(line).ok()?.get("id").cloned());
        for id in self.proxy.lock().await.unanswered().into_iter().chain(held) {
            self.say(&message::ended(&id)).await?;
        }
        Ok(())
    }

    async fn pass(&self, line: &str) -> Result<(), WireError> {
        let mut input = self.to_server.lock().await;
        if let Some(server) = input.as_mut()
            && write(server, line).await.is_err()
        {
            // the server has ended, which its output tells as well
            input.take();
        }
        Ok(())
    }

    async fn say(&self, message: &Value) -> Result<(), WireError> {
        write(&mut *self.to_client.lock().await, &message.to_string()).await
    }
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
