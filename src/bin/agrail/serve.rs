//! `agrail serve`: the HTTP service and its console.

use crate::accepted;
use crate::built::Record;
use crate::check::own_name;
use crate::layers::load;
use crate::settings::Config;
use agrail::action::Identity;
use agrail::machine::Environment;
use agrail::serve::{PORT, Service, Settings, Token};
use anyhow::{Context as _, Result, anyhow, bail};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Name of the token that is generated for one run.
const CONSOLE: &str = "console";

/// Answer checks over HTTP, with a web console: POST /v1/check, /metrics, /openapi.json
///
/// SIGHUP or POST /v1/reload reloads the configuration completely or, if anything is wrong, not at
/// all. A configuration that would block less needs an operator: POST /v1/reload with {"weaker":
/// true}, or at the next start 'agrail config accept'. If no operator is configured, a token is
/// generated for this run and printed once; the printed link opens the console with it.
///
///   agrail serve
///   curl -s 127.0.0.1:8642/v1/check -d '{"action":{"type":"shell","command":"rm -rf /etc"}}'
#[derive(Debug, Clone, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Address to listen on; default: serve.listen, or 127.0.0.1:8642.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Allow everything; the audit log records each call that would have been blocked.
    #[arg(long)]
    shadow: bool,
    /// Account for agents that name none; default: yours.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Root of the machine to inspect, read-only: a folder, or /proc/PID/root of a container.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let section = &config.serve;
    let listen = args.listen.or(section.listen).unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    let environment = Environment::open(&args.root)?;
    let own = own_name(&environment);
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(|e| anyhow!("cannot generate a random token: {e}"))?;
    let secret: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let shown = (!section.tokens.iter().any(|token| token.operates)).then(|| secret.clone());
    let (again, places) = (args.clone(), config.places.clone());
    let found = accepted::places(config)?;
    let service = Service::reloading(Some(environment), move || {
        let read = || {
            let config = load(&places)?;
            let settings = settings(&again, &config, &own, &secret)?;
            if !listen.ip().is_loopback() && !settings.check_needs_token {
                bail!(
                    "other machines can reach {listen}, and anyone could send checks; set serve.check_needs_token = true and configure tokens, or listen on 127.0.0.1"
                );
            }
            Ok((config.shadowed(Record::All, settings.shadow, |_| {})?.build()?, settings))
        };
        read().map_err(|why: anyhow::Error| anyhow!("{why:#}").into())
    })?;
    // a reload is compared with the configuration in force
    accepted::check(config, service.guard().policy(), found)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(listen).await.with_context(|| {
            format!(
                "cannot listen on {listen}; another agrail may be running there; choose another address with --listen"
            )
        })?;
        let address = listener.local_addr()?;
        // install the handler before the address is printed: an unhandled SIGHUP would end the process
        let mut hup = signal(SignalKind::hangup())?;
        let mut out = anstream::stdout();
        match shown {
            Some(secret) => writeln!(out, "listening on http://{address}\nconsole: http://{address}/#token={secret}")?,
            None => writeln!(out, "listening on http://{address}")?,
        }
        out.flush()?;
        let warming = service.guard();
        tokio::task::spawn_blocking(move || warming.warm());
        let hearing = service.clone();
        tokio::spawn(async move {
            while hup.recv().await.is_some() {
                let service = hearing.clone();
                let said = match tokio::task::spawn_blocking(move || service.reload("SIGHUP", false)).await {
                    Ok(Ok(reloaded)) => format!("reloaded: policy {}", reloaded.after),
                    Ok(Err(why)) => format!("not reloaded: {why}"),
                    Err(why) => format!("not reloaded: {why}"),
                };
                let _ = writeln!(anstream::stderr(), "agrail: {said}");
            }
        });
        agrail::serve::run(service.clone(), listener, stopped()?).await;
        service.guard().settle().await.map_err(|problem| anyhow!("decisions were not recorded: {problem}"))
    })?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// The configured settings of the service.
fn settings(args: &Args, config: &Config, own: &Result<String>, secret: &str) -> Result<Settings> {
    let section = &config.serve;
    let mut settings = Settings::default();
    settings.identity = section.identity.clone().unwrap_or_default();
    match (&args.user, own) {
        (Some(name), _) => settings.identity.name.clone_from(name),
        (None, Ok(name)) if section.identity.is_none() => {
            settings.identity = Identity { name: name.clone(), ..Identity::default() };
        }
        (None, Err(why)) if section.identity.is_none() => bail!("{why:#}"),
        (None, _) => {}
    }
    settings.hosts.clone_from(&section.hosts);
    settings.check_needs_token = section.check_needs_token;
    settings.body = section.body.unwrap_or(settings.body);
    settings.at_once = section.at_once.unwrap_or(settings.at_once);
    settings.waiting = section.waiting.unwrap_or(settings.waiting);
    settings.per_second = section.per_second.or(settings.per_second);
    settings.shadow = args.shadow || section.shadow;
    settings.sessions = Some(config.open_sessions()?);
    for token in &section.tokens {
        let file = config.beside(&token.file);
        let secret = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut known = Token::new(&token.name, secret.trim())?;
        known.operates = token.operates;
        known.acts_for_others = token.acts_for_others;
        known.identity.clone_from(&token.identity);
        settings.tokens.push(known);
    }
    if !settings.tokens.iter().any(|token| token.operates) {
        let mut token = Token::new(CONSOLE, secret)?;
        token.operates = true;
        settings.tokens.push(token);
    }
    Ok(settings)
}

/// Completes when the process gets SIGINT or SIGTERM.
pub fn stopped() -> Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = term.recv() => {}
        }
    })
}
