//! `agrail check`: one verdict.

use crate::built::Record;
use crate::settings::Config;
use crate::{exit, show};
use agrail::action::{Action, CheckRequest, Context, ContextInput};
use agrail::machine::{Environment, FileKind};
use agrail::picture::{self, Tree};
use anyhow::{Context as _, Result, anyhow, bail};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Maximum size of an action in a file or on standard input, bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Decide whether an action may run; exit code 0 allow, 2 deny, 3 ask, 1 failure
///
///   agrail check 'mv /good /hello' --request 'rename /good to /hello'
///   agrail check 'rm -rf build' --cwd ~/project --explain
///   echo '{"action":{"type":"shell","command":"ls"},"context":{"identity":{"name":"alice"}}}' | agrail check --action - --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Shell command that the agent wants to run.
    #[arg(value_name = "COMMAND", required_unless_present_any = ["shell", "action"], conflicts_with_all = ["shell", "action"])]
    command: Option<String>,
    /// The same as COMMAND.
    #[arg(long, value_name = "COMMAND", conflicts_with = "action")]
    shell: Option<String>,
    /// JSON file, or - for standard input: {"action": {...}, "context": {...}}, or only an action.
    #[arg(long, value_name = "FILE")]
    action: Option<PathBuf>,
    /// The user's request to the agent.
    #[arg(long, value_name = "TEXT")]
    request: Option<String>,
    /// Account that the agent acts for; default: yours.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Root of the machine to inspect, read-only: a folder, or /proc/PID/root of a container.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Working directory of the command; default: this folder for COMMAND on this machine, otherwise the account's home.
    #[arg(long, value_name = "DIR", conflicts_with = "action")]
    cwd: Option<PathBuf>,
    /// Print the verdict as JSON.
    #[arg(long)]
    json: bool,
    /// Print what the verdict rests on as a tree (effects, facts, policies), then each step.
    #[arg(long)]
    explain: bool,
    /// Also write a page with the verdict as a picture, which needs no other file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Neither recall nor record anything.
    #[arg(long)]
    no_memory: bool,
    /// If it asks, put the question into the queue of pending approvals, as a hook does.
    #[arg(long, conflicts_with = "no_memory")]
    queue: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let (action, around) = parse_request(args)?;
    let environment = Environment::open(&args.root)?;
    let mut identity = around.identity.unwrap_or_default();
    match &args.user {
        Some(name) => identity.name = known(name, &environment)?,
        None if args.action.is_none() => identity.name = own_name(&environment)?,
        None => {}
    }
    if let (Some(_), Action::Shell { cwd: Some(folder), .. }) = (&args.cwd, &action) {
        is_folder(folder, &environment, &identity.name)?;
    }
    let home = own_home(&environment, &identity.name);
    let mut context = Context::new(identity, Some(environment));
    context.home = home;
    context.request = args.request.clone().unwrap_or(around.request);
    context.agent = around.agent.unwrap_or_else(|| "agent".to_owned());
    context.observations = around.observations;
    let record = match (args.no_memory, args.queue) {
        (true, _) => Record::Nothing,
        (false, true) => Record::All,
        (false, false) => Record::Decisions,
    };
    let guard = config.recording(record)?.with(|s| s.explain = args.explain).build()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (verdict, recorded) = runtime.block_on(async {
        let verdict = guard.check(&action, &context).await;
        (verdict, guard.settle().await)
    });
    runtime.shutdown_background();
    if let Err(problem) = recorded {
        anstream::eprintln!("agrail: the decision was not recorded: {problem}");
    }
    let json = serde_json::to_value(&verdict)?;
    let asks = |by: &str| verdict.findings.iter().any(|found| !found.denies() && found.source.to_string() == by);
    if let Some(file) = &args.html {
        let about = crate::audit::brief(&serde_json::to_value(&action)?);
        let note = format!("{}; verdict {}", picture::made(std::env::args()), verdict.id);
        let page = picture::page(&Tree::of(&json, asks), &about, &note);
        std::fs::write(file, page).with_context(|| format!("--html {}: cannot write it", file.display()))?;
    }
    if args.json {
        println!("{}", serde_json::to_string(&verdict)?);
    } else {
        show::verdict(&verdict, args.explain.then(|| Tree::of(&json, asks)).as_ref(), record)?;
    }
    Ok(exit::decision(verdict.decision))
}

/// The name of an account that exists. Accounts of a directory service are not in the passwd file; one's own counts.
fn known(name: &str, environment: &Environment) -> Result<String> {
    let listed = environment.account_by_uid(0).is_some();
    if listed && !environment.account(name).known && own_name(environment).ok().as_deref() != Some(name) {
        let root = environment.root().join("etc/passwd");
        bail!("--user {name}: no such account in {}; leave it out for your own account", root.display());
    }
    Ok(name.to_owned())
}

/// Verifies that a folder exists, as far as that can be seen.
fn is_folder(folder: &Path, environment: &Environment, user: &str) -> Result<()> {
    let facts = environment.path(&folder.to_string_lossy(), &environment.account(user));
    let is_other = facts.kind.is_some_and(|kind| kind != FileKind::Directory);
    if facts.exists == Some(false) || is_other {
        bail!("--cwd {}: there is no such folder below {}", folder.display(), environment.root().display());
    }
    Ok(())
}

fn parse_request(args: &Args) -> Result<(Action, ContextInput)> {
    if let Some(command) = args.command.as_ref().or(args.shell.as_ref()) {
        let here = args.command.is_some() && args.root == Path::new("/");
        let named = args.cwd.as_deref().map(std::path::absolute).transpose()?;
        let cwd = named.or_else(|| std::env::current_dir().ok().filter(|_| here));
        return Ok((Action::Shell { command: command.clone(), cwd }, ContextInput::default()));
    }
    let Some(file) = &args.action else { bail!("give a COMMAND, or --action FILE") };
    let (name, mut bytes) = (file.display(), Vec::new());
    if file.as_os_str() == "-" {
        std::io::stdin().take(LONGEST + 1).read_to_end(&mut bytes)?;
    } else {
        let opened = std::fs::File::open(file)
            .map_err(|e| anyhow!("--action {name}: {e}; name a JSON file, or - for standard input"))?;
        opened
            .take(LONGEST + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read the action in {name}"))?;
    }
    if bytes.len() as u64 > LONGEST {
        bail!("the action in {name} is longer than {LONGEST} bytes");
    }
    let form = "it should look like {\"action\":{\"type\":\"shell\",\"command\":\"ls\"}}";
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|e| anyhow!("{name} is not JSON: {e}; {form}"))?;
    let wrong = |e: serde_json::Error| anyhow!("{name}: {e}; {form}");
    if value.get("action").is_some() {
        let body: CheckRequest = serde_json::from_value(value).map_err(wrong)?;
        return Ok((body.action, body.context));
    }
    Ok((serde_json::from_value(value).map_err(wrong)?, ContextInput::default()))
}

/// `HOME` of this process, if actions of the account `name` in the environment have it, too: they run on this machine, and
/// the account is that of this process.
pub fn own_home(environment: &Environment, name: &str) -> Option<String> {
    let here = environment.root() == std::path::Path::new("/");
    let own = environment.account(name).uid == Some(rustix::process::getuid().as_raw());
    std::env::var("HOME").ok().filter(|home| here && own && !home.is_empty())
}

/// The name of the account that runs this program, from the root's passwd file.
pub fn own_name(environment: &Environment) -> Result<String> {
    let uid = rustix::process::getuid().as_raw();
    environment.account_by_uid(uid).or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty())).with_context(
        || format!("no account below that root has your user id {uid}; name the agent's account with --user NAME"),
    )
}
