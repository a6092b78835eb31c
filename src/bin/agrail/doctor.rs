//! `agrail doctor`: what is configured, what is missing, what would fail.

use crate::config::Config;
use crate::install::{command as install_command, settings_file};
use agrail::action::{Action, Context, Identity};
use agrail::embed::Embedder;
use agrail::embed::MiniLm;
use agrail::facts::Environment;
use agrail::hook::{Host, install};
use agrail::replay::sandbox::Roots;
use agrail::{Decision, Guard};
use anyhow::Result;
use std::io::Write;
use std::path::Path;
use std::process::{Command as Process, ExitCode, Stdio};
use std::sync::Arc;

/// What is configured, what is missing, and a live self-test. Exit code 1 if something needed does not work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fetch the embedding model and its runtime (about 45 MB, pinned digests) if they are missing.
    #[arg(long)]
    fetch: bool,
}

enum State {
    Good,
    Note,
    Bad,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let mut bad = 0;
    let mut say = |state: State, what: &str, text: String| {
        let (mark, colour) = match state {
            State::Good => ("ok  ", anstyle::AnsiColor::Green),
            State::Note => ("note", anstyle::AnsiColor::Yellow),
            State::Bad => ("FAIL", anstyle::AnsiColor::Red),
        };
        bad += i32::from(matches!(state, State::Bad));
        let style = colour.on_default();
        writeln!(anstream::stdout(), "{style}{mark}{style:#} {what:10} {}", crate::show::plain(&text))
    };
    let file = config.file.as_deref().map_or("none, defaults".to_owned(), |f| f.display().to_string());
    say(State::Good, "config", file)?;
    match config.policy().and_then(|policy| Ok(policy.proved()?)) {
        Ok(policy) => say(
            State::Good,
            "policy",
            format!("{} policies, {} examples hold", policy.rules().len(), policy.examples().len()),
        )?,
        Err(error) => say(State::Bad, "policy", format!("{error:#}"))?,
    }
    match (config.memory.off, config.open_memory().and_then(|m| Ok(m.stats()?))) {
        (true, _) => say(
            State::Note,
            "memory",
            "off in the configuration: nothing is learnt, decisions are not recorded".to_owned(),
        )?,
        (false, Ok(stats)) => {
            let text = format!(
                "{} active entries, {} decisions, {}",
                stats.active,
                stats.decisions,
                config.memory_path()?.display()
            );
            say(State::Good, "memory", text)?;
        }
        (false, Err(error)) => say(State::Bad, "memory", format!("{error:#}"))?,
    }
    embedder(args, config, &mut say)?;
    match config.model.probe(config) {
        Ok(None) => {
            say(State::Note, "model", "none configured: what rules leave open is asked of a person".to_owned())?
        }
        Ok(Some(works)) => say(State::Good, "model", works)?,
        Err(error) => say(State::Bad, "model", format!("{error:#}"))?,
    }
    match Environment::open(Path::new("/")) {
        Ok(environment) if environment.account_by_uid(0).is_some() => {
            say(State::Good, "facts", "this machine can be looked at".to_owned())?
        }
        Ok(_) => say(State::Note, "facts", "/etc/passwd cannot be read: accounts are unknown".to_owned())?,
        Err(error) => say(State::Bad, "facts", error.to_string())?,
    }
    let folder = tempfile::tempdir()?;
    match Roots::prepare(folder.path()) {
        Ok(_) => say(State::Good, "sandbox", "disposable roots work: demo and agrail-eval run every case".to_owned())?,
        Err(error) => say(State::Note, "sandbox", format!("{error:#}; only demo and agrail-eval need it"))?,
    }
    match self_test() {
        Ok(()) => {
            say(State::Good, "self-test", "a deletion of /etc is denied, a listing of /tmp is allowed".to_owned())?
        }
        Err(why) => say(State::Bad, "self-test", why)?,
    }
    for host in [Host::ClaudeCode, Host::Codex] {
        for project in [false, true] {
            hooked(config, host, project, &mut say)?;
        }
    }
    say(State::Good, "failing", format!("a stage that fails ends in {}, never in allow", config.guard.on_failure))?;
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn embedder(
    args: &Args,
    config: &Config,
    say: &mut dyn FnMut(State, &str, String) -> std::io::Result<()>,
) -> Result<()> {
    let mut sources = config.embedder_sources(args.fetch)?;
    sources.progress = Some(Arc::new(|what| anstream::eprintln!("{what}")));
    if !args.fetch && !sources.present() {
        let text = "model or runtime missing: memory recalls by effect, not by similarity; 'agrail doctor --fetch' fetches them";
        return Ok(say(State::Note, "embedder", text.to_owned())?);
    }
    let model = MiniLm::new(sources);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    match runtime.block_on(model.embed(&["Delete a file"])) {
        Ok(_) => say(State::Good, "embedder", format!("{} works", model.id()))?,
        Err(error) => say(State::Bad, "embedder", error.to_string())?,
    }
    Ok(())
}

/// Calls that reach a host's tools without its hooks being asked, as its makers document them.
fn gaps(host: Host) -> &'static str {
    match host {
        Host::ClaudeCode => {
            "files named with @ in a prompt are read without a hook; disableAllHooks switches every hook off (managed settings \
             prevent it); without onFailure (before 2.1.295) a hook that is killed lets the call run"
        }
        Host::Codex | Host::Generic => {
            "hooks need codex_hooks = true in config.toml; there is no ask, so what is asked is blocked; a hook that is killed \
             lets the call run; some built-in tools run without a hook"
        }
    }
}

/// Whether the hook is installed, and really denies.
fn hooked(
    config: &Config,
    host: Host,
    project: bool,
    say: &mut dyn FnMut(State, &str, String) -> std::io::Result<()>,
) -> Result<()> {
    let Ok(file) = settings_file(host, project) else { return Ok(()) };
    let what = host.name();
    let settings = match std::fs::read_to_string(&file) {
        Ok(settings) => settings,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && project => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Ok(say(State::Bad, what, format!("{}: {error}", file.display()))?),
    };
    let commands = match install::installed(&settings) {
        Ok(commands) => commands,
        Err(error) => return Ok(say(State::Bad, what, format!("{}: {error}", file.display()))?),
    };
    if commands.is_empty() {
        if !project {
            say(State::Note, what, format!("not asked; put the guard in front with 'agrail install {what}'"))?;
        }
        return Ok(());
    }
    for command in commands {
        // anyone may have written the settings of a project: only what this program would write is run
        let plain = install_command(host, config.file.as_deref())?;
        if project && command != plain {
            let text = format!("{}: '{command}' is not run; expected '{plain}'", file.display());
            say(State::Bad, what, text)?;
            continue;
        }
        match canary(&command) {
            Ok(()) => say(State::Good, what, format!("{}: the hook denies a canary", file.display()))?,
            Err(why) => say(State::Bad, what, format!("{}: '{command}': {why}", file.display()))?,
        }
    }
    for doubt in install::doubts(host, &settings) {
        say(State::Bad, what, format!("{}: {doubt}; run 'agrail install {what}' again", file.display()))?;
    }
    Ok(say(State::Note, what, format!("known gaps: {}", gaps(host)))?)
}

/// Runs a hook as its host would: what is destructive is denied, and what is no event blocks.
fn canary(command: &str) -> Result<(), String> {
    let deny = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /etc"}}"#;
    for (event, what) in [(deny, "a deletion of /etc"), ("{\"hook_event_name\": ", "half an event")] {
        let mut child = Process::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        // a hook that is not there reads nothing
        let _ = child.stdin.take().map(|mut input| input.write_all(event.as_bytes()));
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let denied = said.pointer("/hookSpecificOutput/permissionDecision").and_then(|d| d.as_str()) == Some("deny");
        if output.status.code() != Some(2) && !(output.status.success() && denied) {
            return Err(format!("{what} is not denied ({})", output.status));
        }
    }
    Ok(())
}

/// The engine with its defaults decides two clear cases.
fn self_test() -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let guard = Guard::builder().build().map_err(|e| e.to_string())?;
        let environment = Environment::open(Path::new("/")).map_err(|e| e.to_string())?;
        let context = Context::new(Identity::default(), Some(environment));
        for (command, expected) in [("rm -rf /etc", Decision::Deny), ("ls /tmp", Decision::Allow)] {
            let verdict = guard.check(&Action::Shell { command: command.to_owned(), cwd: None }, &context).await;
            if verdict.decision != expected {
                return Err(format!("'{command}' is {}, expected {expected}: {}", verdict.decision, verdict.reason));
            }
        }
        Ok(())
    })
}
