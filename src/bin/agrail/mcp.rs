//! `agrail mcp`: the guard between an MCP client and a server, started by the guard or reached over HTTP.

use crate::accepted;
use crate::check::{own_home, own_name};
use crate::settings::Config;
use agrail::Guard;
use agrail::action::Identity;
use agrail::hook::HookTarget;
use agrail::machine::Environment;
use agrail::mcp::{House, Pins, Proxy, http::Front, http::shown, stdio};
use anyhow::{Context as _, Result, anyhow, bail};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use url::Url;

/// Put the guard between an MCP client and a tool server; the client starts this command instead of
/// the server
///
/// The guard answers a call that is not allowed itself, with the reason; the call never reaches the
/// server. It searches tool results for injected instructions. It blocks calls to a tool whose
/// description changes or contains instructions.
///
///   agrail mcp -- npx -y @modelcontextprotocol/server-filesystem /home/alice/project
///   agrail mcp --url https://mcp.example.com/mcp   (give the client the address that this prints)
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Command line of the server.
    #[arg(last = true, required_unless_present = "url", num_args = 1..)]
    server: Vec<String>,
    /// URL of a server over HTTP instead; its clients connect over HTTP, too.
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    url: Option<Url>,
    /// Local address for the clients of a server over HTTP.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "url", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 8643)))]
    listen: SocketAddr,
    /// The user's request; not needed if the hook of the agent knows it. Without it, calls that send or delete are asked
    /// about, and everything but reading once a text has spoken to the agent.
    #[arg(long, value_name = "TEXT", default_value = "")]
    request: String,
    /// Accept the current descriptions of the tools; needs a terminal.
    #[arg(long)]
    accept: bool,
    /// Account that the agent acts for; default: yours.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Root of the machine to inspect, read-only.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

/// The guard of an accepted configuration.
fn guard(config: &Config) -> Result<Guard> {
    let places = accepted::places(config)?;
    let guard = config.builder(true)?.build()?;
    accepted::check(config, guard.policy(), places)?;
    Ok(guard)
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    if args.accept {
        crate::memory::may_approve(config, None)?;
    }
    if let Some(url) = &args.url {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            bail!("--url {url}: the URL of a server must start with http:// or https://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            bail!(
                "--url: a name or password in the URL would be shown; let the client send it in a header, which passes through"
            );
        }
        if !args.listen.ip().is_loopback() {
            bail!(
                "--listen {}: other machines could reach the proxy, which has no authentication; use 127.0.0.1",
                args.listen
            );
        }
    }
    let environment = Environment::open(&args.root)?;
    let name = match &args.user {
        Some(name) => name.clone(),
        None => own_name(&environment)?,
    };
    let home = own_home(&environment, &name);
    let identity = Identity { name, ..Identity::default() };
    let target = HookTarget { identity, environment: Some(environment), home, shadow: false };
    let guard = guard(config)?;
    let sessions = config.open_sessions()?;
    let pins = Pins::open(&config.pins_path()?, args.accept)?;
    let server = args.url.as_ref().map_or_else(|| args.server.join(" "), shown);
    // a server on this machine starts in the working folder of the proxy
    let folder = args.url.is_none().then(std::env::current_dir).transpose()?;
    let house = House::new(guard.clone(), target, sessions, pins, &server, &args.request).within(folder);
    let house = Arc::new(house);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let warming = guard.clone();
    runtime.spawn_blocking(move || warming.warm());
    let code = runtime.block_on(async {
        let code = match &args.url {
            Some(url) => {
                let listener = tokio::net::TcpListener::bind(args.listen)
                    .await
                    .with_context(|| format!("cannot listen on {}; name another with --listen", args.listen))?;
                let mut out = anstream::stdout();
                writeln!(out, "proxy for {}: http://{}/mcp", shown(url), listener.local_addr()?)?;
                out.flush()?;
                Front::new(house, url.clone())?.run(listener, crate::serve::stopped()?).await;
                ExitCode::SUCCESS
            }
            None => match stdio::between(Proxy::new(house), &args.server).await? {
                Some(status) if status.success() => ExitCode::SUCCESS,
                _ => ExitCode::from(1),
            },
        };
        guard.settle().await.map_err(|problem| anyhow!("decisions were not recorded: {problem}"))?;
        Ok::<_, anyhow::Error>(code)
    });
    // the thread that reads standard input may block forever
    runtime.shutdown_background();
    code
}
