//! `agrail mcp`: the guard between an MCP client and a server that it starts.

use crate::check::own_name;
use crate::config::Config;
use agrail::action::Identity;
use agrail::facts::Environment;
use agrail::hook::{Desk, Sessions};
use agrail::mcp::{Fate, Pins, Proxy};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

/// Longest message, bytes.
const LONGEST: u64 = 16 * 1024 * 1024;
/// How long a server may take to end when its client has gone.
const ENDING: Duration = Duration::from_secs(5);

/// Put the guard between an MCP client and a server of tools: name this command to the client in place of the server's.
///
/// Calls that are not allowed are answered in the server's stead, with the reason, and never reach it. What tools answer is
/// read for orders. A tool whose description changes, or gives orders, is not called.
///
///   agrail mcp -- npx -y @modelcontextprotocol/server-filesystem /home/alice/project
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The server's command line.
    #[arg(last = true, required = true, num_args = 1..)]
    server: Vec<String>,
    /// What the user asked for, where the client knows it. Without it, calls that do more than look are asked about.
    #[arg(long, value_name = "TEXT", default_value = "")]
    request: String,
    /// Accept the tools as they are described now. Needs a terminal.
    #[arg(long)]
    accept: bool,
    /// For which account the agent acts. Default: yours.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The machine to look at. It is only read.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    if args.accept {
        crate::memory::may_approve(config, None)?;
    }
    let environment = Environment::open(&args.root)?;
    let name = match &args.user {
        Some(name) => name.clone(),
        None => own_name(&environment)?,
    };
    let desk = Desk { identity: Identity { name, ..Identity::default() }, environment: Some(environment) };
    let guard = config.builder(true)?.build()?;
    let sessions = Sessions::open(&config.sessions_path()?)?;
    let pins = Pins::open(&config.pins_path()?, args.accept)?;
    let proxy = Proxy::new(guard.clone(), desk, sessions, pins, &args.server.join(" "), &args.request);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(async {
        let code = between(proxy, &args.server).await?;
        guard.settle().await.map_err(|problem| anyhow::anyhow!("decisions were not recorded: {problem}"))?;
        Ok::<_, anyhow::Error>(code)
    });
    // the thread that reads standard input may wait for ever
    runtime.shutdown_background();
    code
}

type Shared<W> = Arc<Mutex<W>>;

async fn between(proxy: Proxy, server: &[String]) -> Result<ExitCode> {
    let [program, arguments @ ..] = server else { bail!("name the server's command after --") };
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("the server '{program}' cannot be started"))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("the server has no pipes")
    };
    let proxy = Arc::new(Mutex::new(proxy));
    let to_server = Arc::new(Mutex::new(Some(input)));
    let to_client = Arc::new(Mutex::new(tokio::io::stdout()));
    let up = tokio::spawn(client(Arc::clone(&proxy), Arc::clone(&to_server), Arc::clone(&to_client)));
    let mut down = std::pin::pin!(server_side(&proxy, &to_server, &to_client, BufReader::new(output)));
    tokio::select! {
        ended = &mut down => ended?,
        // the client has said all: the server is told by the end of its input, and may still answer
        ended = up => {
            ended??;
            to_server.lock().await.take();
            match tokio::time::timeout(ENDING, down).await {
                Ok(ended) => ended?,
                Err(_) => child.start_kill()?,
            }
        }
    }
    let status = tokio::time::timeout(ENDING, child.wait()).await;
    Ok(match status {
        Ok(Ok(status)) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}

async fn client(
    proxy: Shared<Proxy>,
    to_server: Shared<Option<tokio::process::ChildStdin>>,
    to_client: Shared<tokio::io::Stdout>,
) -> Result<()> {
    let mut input = BufReader::new(tokio::io::stdin());
    while let Some(line) = line(&mut input).await? {
        let fate = proxy.lock().await.from_client(&line).await;
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
    to_server: &Shared<Option<tokio::process::ChildStdin>>,
    to_client: &Shared<tokio::io::Stdout>,
    mut output: impl AsyncBufRead + Unpin,
) -> Result<()> {
    while let Some(line) = line(&mut output).await? {
        // what cannot be noted must not pass: the connection ends
        let fate = proxy.lock().await.from_server(&line)?;
        match fate {
            Fate::Pass => write(&mut *to_client.lock().await, &line).await?,
            Fate::Instead(message) => say(to_client, &message).await?,
            Fate::Answer(Some(answer)) => pass(to_server, &answer.to_string()).await?,
            Fate::Answer(None) => {}
        }
    }
    Ok(())
}

async fn pass(to_server: &Shared<Option<tokio::process::ChildStdin>>, line: &str) -> Result<()> {
    match to_server.lock().await.as_mut() {
        Some(server) => write(server, line).await,
        None => Ok(()),
    }
}

async fn say(to_client: &Shared<tokio::io::Stdout>, message: &Value) -> Result<()> {
    write(&mut *to_client.lock().await, &message.to_string()).await
}

async fn write(out: &mut (impl AsyncWrite + Unpin), line: &str) -> Result<()> {
    out.write_all(line.as_bytes()).await?;
    out.write_all(b"\n").await?;
    Ok(out.flush().await?)
}

/// The next line that is not empty; `None` at the end.
async fn line(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<String>> {
    loop {
        let mut bytes = Vec::new();
        let read = (&mut *input).take(LONGEST + 1).read_until(b'\n', &mut bytes).await?;
        if read == 0 {
            return Ok(None);
        }
        if read as u64 > LONGEST {
            bail!("a message is longer than {} MiB", LONGEST >> 20);
        }
        // what is not UTF-8 is no JSON, and is answered as such
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if !text.is_empty() {
            return Ok(Some(text));
        }
    }
}
