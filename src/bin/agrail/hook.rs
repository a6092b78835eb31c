//! `agrail hook`: answers a host before each tool call. The exit code is always 0 or 2.

use crate::accepted;
use crate::built::Record;
use crate::check::{own_home, own_name};
use crate::daemon;
use crate::pause;
use crate::settings::Config;
use agrail::Guard;
use agrail::action::{Action, Identity};
use agrail::effect::{Verb, Who, extract_effects, shell::NoFiles};
use agrail::hook::{Answer, Event, HookTarget, Host, Kind, MOST_BYTES, decide, note};
use agrail::machine::Environment;
use agrail::policy::Policy;
use agrail::session::{Author, Sessions};
use agrail::verdict::Decision;
use anyhow::{Result, anyhow};
use clap::builder::{PossibleValuesParser as HostParser, TypedValueParser as _};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds after which the process ends itself, before the timeout of the host
/// ([`agrail::hook::install::TIMEOUT_S`]).
const WATCHDOG: u64 = 100;
/// Interval at which the watchdog checks the time.
const LOOKS: Duration = Duration::from_millis(20);
/// Longest text of an action, in bytes, that is read beforehand.
const SHORT: usize = 4_096;
/// Stack of the thread that reads it; the readers are recursive.
const STACK: usize = 8 << 20;
/// Identity for preloading the tables.
const NOBODY: Who<'_> = Who { name: "nobody", home: "/" };
static LIMIT: AtomicU64 = AtomicU64::new(WATCHDOG);

/// Answer a coding agent before each tool call: event on standard input, answer on standard output
///
/// `agrail install` puts the hook in front of an agent. If the guard has no objection, the hook is
/// silent, so that the host's own permissions apply. A call that cannot be decided is blocked. Exit
/// code 0, or 2 to block.
///
///   echo '{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /etc"}}' | agrail hook claude-code
#[derive(Debug, Clone, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The coding agent; generic: any that blocks on exit code 2.
    #[arg(value_parser = HostParser::new(Host::ALL.iter().map(|host| host.name())).try_map(|name| name.parse::<Host>()))]
    host: Host,
    /// Account that the agent acts for; default: yours.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Root of the machine to inspect, read-only: a folder, or /proc/PID/root of a container.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Block nothing; the audit log records each call that would have been blocked.
    #[arg(long)]
    shadow: bool,
    /// Block a call that is undecided after this many seconds; must be less than the host's timeout.
    #[arg(long, value_name = "SECONDS", default_value_t = WATCHDOG, value_parser = clap::value_parser!(u64).range(1..=110))]
    pub timeout: u64,
    /// After the answer, start a resident guard for the next events.
    #[arg(long, hide = true)]
    resident: bool,
}

/// Whether the command line asks for the hook.
pub fn asked(mut arguments: impl Iterator<Item = OsString>) -> bool {
    while let Some(word) = arguments.next() {
        match word.to_str() {
            Some("--config" | "--set" | "--log" | "--log-file") => {
                arguments.next();
            }
            Some(option) if option.starts_with('-') => {}
            word => return word == Some("hook"),
        }
    }
    false
}

/// Runs the hook so that any failure from here to the end of the process blocks the call.
pub fn guarded(answer: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let _ = writeln!(std::io::stderr(), "agrail: the guard panicked, so the call is blocked: {info}");
        std::process::exit(2);
    }));
    let watch = std::thread::Builder::new().name("agrail-watchdog".to_owned()).spawn(|| {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(LIMIT.load(Ordering::Relaxed)) {
            std::thread::sleep(LOOKS);
        }
        let _ = writeln!(std::io::stderr(), "agrail: no decision in time, so the call is blocked");
        std::process::exit(2);
    });
    if watch.is_err() {
        return ExitCode::from(2);
    }
    match answer() {
        code if code == ExitCode::SUCCESS => code,
        _ => ExitCode::from(2),
    }
}

/// A guard with its sessions, for any number of events of one command line.
pub struct Desk {
    pub args: Args,
    pub config: Config,
    guard: Guard,
    sessions: Sessions,
}

impl Desk {
    /// Opens all that events need.
    pub fn open(args: &Args, config: Config) -> Result<Self> {
        let (guard, sessions) = opened(args, &config, &[])?;
        Ok(Self { args: args.clone(), config, guard, sessions })
    }

    /// The answer for one event; a failure blocks the call.
    pub async fn answer(&self, event: Vec<u8>) -> Answer {
        self.tried(event).await.unwrap_or_else(|problem| self.args.host.blocks(&format!("{problem:#}")))
    }

    async fn tried(&self, bytes: Vec<u8>) -> Result<Answer> {
        // parsing and the sessions' database block the thread
        let event = tokio::task::block_in_place(|| parsed(&self.args, &bytes, || Ok(self.sessions.clone())))?;
        drop(bytes);
        match event.kind() {
            Kind::Ignored => Ok(self.args.host.silence()),
            Kind::PreToolUse => judged(&self.args, &self.config, (&self.guard, &self.sessions), &event).await,
            Kind::PostToolUse | Kind::UserPrompt => {
                tokio::task::block_in_place(|| noted(&self.args, &self.sessions, &event))
            }
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    LIMIT.store(args.timeout, Ordering::Relaxed);
    let answer = answered(args, config).unwrap_or_else(|problem| args.host.blocks(&format!("{problem:#}")));
    std::io::stderr().write_all(answer.stderr.as_bytes())?;
    let mut out = std::io::stdout().lock();
    out.write_all(answer.stdout.as_bytes())?;
    out.flush()?;
    if args.resident {
        let words: Vec<OsString> = std::env::args_os().skip(2).filter(|word| word != "--resident").collect();
        // the next hook decides by itself, too, if none can be started
        if let Err(problem) = daemon::start(config, &words) {
            tracing::warn!(%problem, "no resident guard was started");
        }
    }
    Ok(ExitCode::from(answer.code))
}

/// The answer for the event on standard input.
fn answered(args: &Args, config: &Config) -> Result<Answer> {
    let mut bytes = Vec::new();
    std::io::stdin().take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let event = parsed(args, &bytes, || config.open_sessions())?;
    drop(bytes);
    match event.kind() {
        Kind::PreToolUse => alone(args, config, &event),
        Kind::Ignored => Ok(args.host.silence()),
        Kind::PostToolUse | Kind::UserPrompt => noted(args, &ManuallyDrop::new(config.open_sessions()?), &event),
    }
}

fn parsed(args: &Args, bytes: &[u8], sessions: impl FnOnce() -> Result<Sessions>) -> Result<Event> {
    Event::parse(args.host, bytes).or_else(|problem| {
        // an unknown form of the event must not lose the observation in it
        if let Some((session, seen)) = Event::salvaged(args.host, bytes) {
            sessions()?.observe(&session, &seen, Author::Anyone)?;
        }
        Err(problem.into())
    })
}

fn noted(args: &Args, sessions: &Sessions, event: &Event) -> Result<Answer> {
    let environment = Environment::open(&args.root).ok();
    note(sessions, event, environment.as_ref())?;
    Ok(args.host.silence())
}

/// The guard and the sessions. Opens the files in parallel with the policies, and prepares what a check of the actions
/// `next` needs.
fn opened(args: &Args, config: &Config, next: &[Action]) -> Result<(Guard, Sessions)> {
    let shadow = args.shadow || config.hook.shadow;
    let places = accepted::places(config)?;
    std::thread::scope(|scope| {
        let sessions = scope.spawn(|| config.open_sessions());
        // the check reads a long action itself, within its deadline
        let short = |action: &&Action| action.text().len() <= SHORT;
        let read = move || next.iter().filter(short).flat_map(verbs).collect();
        let verbs = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read);
        // what could not be prepared is prepared by the check
        let prepare = |policy: &Policy| {
            if let Some(verbs) = verbs.ok().and_then(|verbs| verbs.join().ok()) {
                policy.prepare(&verbs);
            }
        };
        let guard = config.shadowed(Record::All, shadow, prepare).and_then(|builder| Ok(builder.build()?));
        let sessions = sessions.join().unwrap_or_else(|_| Err(anyhow!("the sessions could not be opened")));
        let guard = guard?;
        accepted::check(config, guard.policy(), places)?;
        Ok((guard, sessions?))
    })
}

/// The verbs of an action, as far as they can be told without the machine.
fn verbs(action: &Action) -> BTreeSet<Verb> {
    extract_effects(action, NOBODY, &NoFiles).effects.into_iter().map(|effect| effect.verb).collect()
}

/// Decides in this process.
fn alone(args: &Args, config: &Config, event: &Event) -> Result<Answer> {
    let (guard, sessions) = opened(args, config, &event.actions().unwrap_or_default())?;
    // the system closes files faster than their owners, who tidy up first; the next process can read them as they are
    let (guard, sessions) = (ManuallyDrop::new(guard), ManuallyDrop::new(sessions));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let answer = runtime.block_on(judged(args, config, (&guard, &sessions), event));
    runtime.shutdown_background();
    answer
}

async fn judged(args: &Args, config: &Config, (guard, sessions): (&Guard, &Sessions), event: &Event) -> Result<Answer> {
    let environment = Environment::open(&args.root)?;
    let name = match &args.user {
        Some(name) => name.clone(),
        None => own_name(&environment)?,
    };
    let pause = pause::current(config);
    let shadow = args.shadow || config.hook.shadow || pause.is_some();
    let home = own_home(&environment, &name);
    let identity = Identity { name, ..Identity::default() };
    let target = HookTarget { identity, environment: Some(environment), home, shadow };
    let verdict = decide(guard, sessions, &target, event).await;
    // the answer is valid even if it cannot be recorded
    if let Err(problem) = guard.settle().await {
        let _ = writeln!(std::io::stderr(), "agrail: the decision was not recorded: {problem}");
    }
    let verdict = verdict?;
    if let Some((pause, stopped)) = pause.zip(verdict.as_ref().filter(|verdict| verdict.decision != Decision::Allow)) {
        let _ = writeln!(std::io::stderr(), "{}; it would {}: {}", pause.says(), stopped.decision, stopped.reason);
    }
    if shadow {
        return Ok(args.host.silence());
    }
    let says_allow = config.hook.allow && !event.opaque();
    Ok(verdict.map_or_else(|| args.host.silence(), |verdict| event.answer(&verdict, says_allow)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_is_known_by_its_first_word() {
        let is = |line: &str| asked(line.split_whitespace().map(OsString::from));
        assert!(is("hook claude-code") && is("--config x hook") && is("--config=x hook y"));
        assert!(is("--log debug --log-file f --set a.b=c hook") && is("--set=a.b=c hook"));
        assert!(!is("check --shell hook") && !is("") && !is("--config hook") && !is("demo"));
    }
}
