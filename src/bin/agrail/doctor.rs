//! `agrail doctor`: shows the configuration, its missing parts and what would fail.

use crate::canary;
use crate::install::{codex_config, command as install_command, settings_file, trust_needed};
use crate::organisation;
use crate::settings::Config;
use agrail::action::{Action, Context, Identity};
use agrail::embed::Embedder;
use agrail::embed::MiniLm;
use agrail::hook::install::Scope;
use agrail::hook::{Host, install, trust};
use agrail::machine::Environment;
use agrail::replay::sandbox::Roots;
use agrail::{Decision, Guard};
use anyhow::{Result, bail};
use std::io::Write;
use std::path::Path;
use std::process::{Command as Process, ExitCode, Stdio};
use std::sync::Arc;

/// Show the configuration and its missing parts, and run a self-test; exit code 1 if something required does not work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fetch the embedding model and its runtime (about 45 MB, pinned digests) if they are missing.
    #[arg(long)]
    fetch: bool,
    /// Do not start the coding agents to test whether they ask the guard.
    #[arg(long)]
    no_hosts: bool,
    /// Only count the rows of the table of programs: how many list all options, were compared with documentation, or have
    /// an example that was observed in a run. With PROGRAM: show the row of that program.
    #[arg(long, value_name = "PROGRAM")]
    rows: Option<Option<String>>,
    /// Print JSON: a list of {"state", "what", "text"}, where the state is ok, note or fail.
    #[arg(long, conflicts_with = "rows")]
    json: bool,
}

enum State {
    Good,
    Note,
    Bad,
}

/// Prints one finding: how it is, what it concerns, and details.
type Say<'a> = dyn FnMut(State, &str, String) -> std::io::Result<()> + 'a;

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    if let Some(program) = &args.rows {
        return crate::rows::print(program.as_deref(), &mut anstream::stdout());
    }
    let mut bad = 0;
    let mut found = Vec::new();
    let mut say = |state: State, what: &str, text: String| {
        let (mark, colour) = match state {
            State::Good => ("ok  ", anstyle::AnsiColor::Green),
            State::Note => ("note", anstyle::AnsiColor::Yellow),
            State::Bad => ("FAIL", anstyle::AnsiColor::Red),
        };
        bad += i32::from(matches!(state, State::Bad));
        if args.json {
            found.push(serde_json::json!({"state": mark.trim().to_lowercase(), "what": what, "text": text}));
            return Ok(());
        }
        let style = colour.on_default();
        writeln!(anstream::stdout(), "{style}{mark}{style:#} {what:10} {}", crate::show::plain(&text))
    };
    examined(args, config, &mut say)?;
    if args.json {
        println!("{}", serde_json::Value::Array(found));
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn examined(args: &Args, config: &Config, say: &mut Say<'_>) -> Result<()> {
    let file = config.file.as_deref().map_or("none; defaults apply".to_owned(), |f| f.display().to_string());
    say(State::Good, "config", file)?;
    policy_and_memory(config, say)?;
    embedder(args, config, say)?;
    match config.model.probe(config) {
        Ok(None) => {
            say(State::Note, "model", "none configured: questions that the rules leave open go to a person".to_owned())?
        }
        Ok(Some(works)) => say(State::Good, "model", works)?,
        Err(error) => say(State::Bad, "model", format!("{error:#}"))?,
    }
    machine(say)?;
    match crate::policy::prove::solver() {
        Ok(text) => say(State::Good, "prove", text)?,
        Err(error) => say(State::Note, "prove", format!("{error:#}; only 'agrail policy prove' needs it"))?,
    }
    match self_test() {
        Ok(()) => say(State::Good, "self-test", "deleting /etc is denied, listing /tmp is allowed".to_owned())?,
        Err(why) => say(State::Bad, "self-test", format!("{why:#}"))?,
    }
    for host in Host::installable() {
        hosted(args, config, host, say)?;
    }
    say(State::Good, "failure", format!("a failed stage ends in {}, never in allow", config.guard.on_failure))?;
    Ok(())
}

fn policy_and_memory(config: &Config, say: &mut Say<'_>) -> Result<()> {
    match config.policy().and_then(|policy| Ok(policy.proved()?)) {
        Ok(policy) => {
            let theirs = policy.rules().iter().filter(|rule| organisation::holds(&rule.file)).count();
            let theirs = if theirs > 0 { format!(", {theirs} of them the organisation's") } else { String::new() };
            let (rules, examples) = (policy.rules().len(), policy.examples().len());
            let text = format!("{rules} policies{theirs}, {examples} examples verified");
            say(State::Good, "policy", text)?;
        }
        Err(error) => say(State::Bad, "policy", format!("{error:#}"))?,
    }
    match (config.memory.off, config.open_memory().and_then(|m| Ok(m.stats()?))) {
        (true, _) => {
            let text = "off in the configuration: nothing is learnt, decisions are not recorded".to_owned();
            say(State::Note, "memory", text)?;
        }
        (false, Ok(stats)) => {
            let path = config.memory_path()?;
            let text = format!("{} active entries, {} decisions, {}", stats.active, stats.decisions, path.display());
            say(State::Good, "memory", text)?;
        }
        (false, Err(error)) => say(State::Bad, "memory", format!("{error:#}"))?,
    }
    Ok(())
}

/// Whether this machine can be inspected, and whether it can make disposable roots.
fn machine(say: &mut Say<'_>) -> Result<()> {
    match Environment::open(Path::new("/")) {
        Ok(environment) if environment.account_by_uid(0).is_some() => {
            say(State::Good, "facts", "this machine can be inspected".to_owned())?
        }
        Ok(_) => say(State::Note, "facts", "/etc/passwd cannot be read: accounts are unknown".to_owned())?,
        Err(error) => say(State::Bad, "facts", error.to_string())?,
    }
    let folder = tempfile::tempdir()?;
    match Roots::prepare(folder.path()).map_err(anyhow::Error::from) {
        Ok(_) => say(State::Good, "sandbox", "disposable roots work: demo and agrail-eval run every case".to_owned())?,
        Err(error) => {
            say(State::Note, "sandbox", format!("{error:#}; only demo and agrail-eval need disposable roots"))?
        }
    }
    Ok(())
}

fn embedder(args: &Args, config: &Config, say: &mut Say<'_>) -> Result<()> {
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

/// Reports whether the hook is installed and answers, and whether the host itself asks it.
fn hosted(args: &Args, config: &Config, host: Host, say: &mut Say<'_>) -> Result<()> {
    let what = host.name();
    let mut installed = false;
    for scope in [Scope::User, Scope::Project, Scope::Machine] {
        installed |= hooked(config, host, scope, say)?;
    }
    if let Some(doubt) = switched_off(host)? {
        return Ok(say(State::Bad, what, format!("this project switches hooks off: {doubt}"))?);
    }
    // hosts that this account does not use are not worth a line
    let used = || settings_file(host, Scope::User).is_ok_and(|file| file.parent().is_some_and(Path::is_dir));
    if !installed && !used() {
        return Ok(());
    }
    if !installed {
        return Ok(say(State::Note, what, format!("no hook is installed; install it with 'agrail install {what}'"))?);
    }
    say(State::Note, what, format!("known gaps ({}): {}", host.known_from(), host.gaps()))?;
    if args.no_hosts {
        return Ok(say(
            State::Note,
            what,
            "not started (--no-hosts), so whether it asks the guard is not known".to_owned(),
        )?);
    }
    match canary::ask(host) {
        Ok(canary::Found::Denied) => {
            say(State::Good, what, "started; it asked the guard before its tool call".to_owned())?
        }
        Ok(canary::Found::NoHost) => {
            say(State::Note, what, "it is not on the PATH, so whether it asks the guard is not known".to_owned())?;
        }
        Ok(canary::Found::NotAsked(reported)) => {
            let reported: String = reported.chars().take(200).collect();
            let text = format!(
                "started; it did NOT ask the guard; run 'agrail install {what}' again; it reported: {reported}"
            );
            say(State::Bad, what, text)?;
        }
        Err(error) => say(
            State::Bad,
            what,
            format!("started; it gave no answer, so whether it asks the guard is not known: {error:#}"),
        )?,
    }
    Ok(())
}

/// The entry in the project's own settings that switches hooks off, if there is one. The settings are only read.
fn switched_off(host: Host) -> Result<Option<String>> {
    let file = settings_file(host, Scope::Project)?;
    let text = |file: &Path| std::fs::read_to_string(file).unwrap_or_default();
    if host == Host::Codex {
        return Ok(trust::doubts(&text(&file.with_file_name("config.toml")), &[]).into_iter().next());
    }
    let files = [file.with_file_name("settings.local.json"), file];
    let off = files.iter().find(|file| text(file).contains("disableAllHooks"));
    Ok(off.map(|file| format!("{} contains disableAllHooks", file.display())))
}

/// Whether a settings file contains the hook. If so, reports whether the hook answers, and every doubt about it.
fn hooked(config: &Config, host: Host, scope: Scope, say: &mut Say<'_>) -> Result<bool> {
    let Ok(file) = settings_file(host, scope) else { return Ok(false) };
    let what = host.name();
    let settings = match std::fs::read_to_string(&file) {
        Ok(settings) => settings,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => {
            say(State::Bad, what, format!("{}: {error}", file.display()))?;
            return Ok(false);
        }
    };
    let commands = match install::installed(host, &settings) {
        Ok(commands) => commands,
        Err(error) => {
            say(State::Bad, what, format!("{}: {error}", file.display()))?;
            return Ok(false);
        }
    };
    let installed = !commands.is_empty();
    for command in commands {
        // anyone may have written the settings of a project: run only the command that this program would install
        let plain = install_command(host, config.file.as_deref())?;
        if scope == Scope::Project && command != plain {
            let text = format!("{}: the command '{command}' is not run; expected '{plain}'", file.display());
            say(State::Bad, what, text)?;
            continue;
        }
        match answers(host, &command) {
            Ok(()) => say(State::Note, what, format!("{}: the hook answers when it is run", file.display()))?,
            Err(why) => say(State::Bad, what, format!("{}: '{command}': {why:#}", file.display()))?,
        }
    }
    let mut doubts = if installed { install::doubts(host, &settings) } else { Vec::new() };
    if installed && host == Host::Codex && scope != Scope::Machine {
        let trusted = std::fs::read_to_string(codex_config()?).unwrap_or_default();
        doubts.extend(trust::doubts(&trusted, &trust_needed(&file, &settings)?));
    }
    for doubt in doubts {
        say(State::Bad, what, format!("{}: {doubt}; run 'agrail install {what}' again", file.display()))?;
    }
    Ok(installed)
}

/// Runs a hook as its host would: it must deny a destructive call and block on an event that cannot be read.
fn answers(host: Host, command: &str) -> Result<()> {
    let deny = host.sample("rm -rf /etc").to_string();
    for (event, what) in [(deny.as_str(), "deleting /etc"), ("{\"hook_event_name\": ", "a truncated event")] {
        let mut child = Process::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        // a missing hook reads nothing
        let _ = child.stdin.take().map(|mut input| input.write_all(event.as_bytes()));
        let output = child.wait_with_output()?;
        let code = output.status.code().unwrap_or_default();
        if !host.is_blocked_by(code, &String::from_utf8_lossy(&output.stdout)) {
            bail!("{what} is not denied ({})", output.status);
        }
    }
    Ok(())
}

/// Tests the engine with its defaults on two clear cases.
fn self_test() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let guard = Guard::builder().build()?;
        let environment = Environment::open(Path::new("/"))?;
        let context = Context::new(Identity::default(), Some(environment));
        for (command, expected) in [("rm -rf /etc", Decision::Deny), ("ls /tmp", Decision::Allow)] {
            let verdict = guard.check(&Action::Shell { command: command.to_owned(), cwd: None }, &context).await;
            if verdict.decision != expected {
                bail!("'{command}' is {}, expected {expected}: {}", verdict.decision, verdict.reason);
            }
        }
        Ok(())
    })
}
