//! `agrail-eval run`: scores the guard's decisions on traces.

use crate::hook::Hook;
use crate::model::{ModeArg, ModelArgs};
use crate::{profiles, report, score};
use agrail::Guard;
use agrail::embed::{Embedder, MiniLm, Sources};
use agrail::learn::Learning;
use agrail::memory::Memory;
use agrail::policy::Policy;
use agrail::reason::llm::LlmSettings;
use agrail::replay::{self, Asked, Expected, ResultLine, Trace, sandbox::Roots};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Let the guard decide the actions of trace files, each in a disposable root, and score the decisions.
///
/// Needs the right to create disposable roots (root, or CAP_SYS_ADMIN). The machine itself is never changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Trace files (JSON lines).
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    traces: Vec<PathBuf>,
    /// Results file, one line per case, written as cases finish.
    #[arg(long, value_name = "FILE")]
    results: PathBuf,
    /// Write the summary as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write the summary as Markdown.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Keep the results in the results file and run the remaining cases.
    #[arg(long)]
    resume: bool,
    /// none: no memory; frozen: a seeded, read-only memory; tta: the memory also learns from each episode.
    #[arg(long, value_enum, default_value_t = MemoryMode::None)]
    memory: MemoryMode,
    /// Database for frozen and tta; default: a new in-memory database.
    #[arg(long, value_name = "FILE")]
    memory_file: Option<PathBuf>,
    /// Number of parallel cases.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Maximum number of cases.
    #[arg(long)]
    limit: Option<usize>,
    /// Only cases with this tag.
    #[arg(long, value_name = "TAG")]
    filter: Option<String>,
    /// Folder on which disposable roots are mounted.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// When the model is asked.
    #[arg(long, value_enum, default_value_t = ModeArg::Rules)]
    mode: ModeArg,
    /// Use as many cases to allow as to deny, spread evenly over the files.
    #[arg(long)]
    balance: bool,
    /// Let the model also judge whether an action follows the observations.
    #[arg(long)]
    judge: bool,
    /// Time limit of one check, milliseconds; default: 5 000, with a model 300 000.
    #[arg(long, value_name = "MS")]
    deadline_ms: Option<u64>,
    /// Ask this PreToolUse hook instead of the guard; {root} is replaced by the case's root, {user} by its account.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["memory", "mode"])]
    hook: Option<String>,
    /// Send the agent's observations to the hook first, as PostToolUse events.
    #[arg(long, requires = "hook")]
    hook_observations: bool,
    #[command(flatten)]
    model: ModelArgs,
}

/// The memory of the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MemoryMode {
    None,
    Frozen,
    Tta,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let most = if args.balance { None } else { args.limit };
    let mut traces = replay::read_traces(&args.traces, most, args.filter.as_deref())?;
    if args.balance {
        traces = balanced(traces, args.limit);
    }
    if traces.is_empty() {
        bail!("no case to run; check --traces, --limit and --filter");
    }
    let (mut lines, mut out) = results(args)?;
    let done: HashSet<&str> = lines.iter().map(|l| l.id.as_str()).collect();
    let open: Vec<Trace> = traces.iter().filter(|t| !done.contains(t.id.as_str())).cloned().collect();
    let open_cases = open.len();
    let work = args.work.clone().unwrap_or_else(|| std::env::temp_dir().join("agrail-eval"));
    let roots = Arc::new(Roots::prepare(&work)?);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(args.jobs.clamp(1, 64)).enable_all().build()?;
    let bar = progress(open.len() as u64);
    let (mut failed, mut setups) = (0_usize, 0_usize);
    let started = Instant::now();
    runtime.block_on(async {
        let (guard, asked) = asked(args, &traces).await?;
        let mut cases = replay::replay_by(asked, Arc::new(open), roots, args.jobs);
        let mut told = Instant::now();
        while let Some(case) = cases.recv().await {
            failed += usize::from(case.line.error.is_some());
            setups += usize::from(case.setup_exit.is_some_and(|exit| exit != 0));
            serde_json::to_writer(&mut out, &case.line)?;
            out.write_all(b"\n")?;
            out.flush()?;
            lines.push(case.line);
            bar.inc(1);
            if bar.is_hidden() && told.elapsed() > Duration::from_secs(10) {
                told = Instant::now();
                eprintln!("{} of {} cases done", lines.len(), traces.len());
            }
        }
        match guard {
            Some(guard) => guard.settle().await.map_err(|e| anyhow::anyhow!("the memory could not be written: {e}")),
            None => Ok(()),
        }
    })?;
    bar.finish_and_clear();
    let summary = score::summarize(&traces, &lines);
    println!("{}", report::table(&summary));
    println!(
        "{} cases in {:.1} s, {failed} failed, {setups} set-ups failed",
        lines.len(),
        started.elapsed().as_secs_f64()
    );
    if failed > 0 && failed == open_cases {
        bail!("every case failed; the reasons are in {}", args.results.display());
    }
    let write = |path: &Option<PathBuf>, text: String| match path {
        Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display())),
        None => Ok(()),
    };
    write(&args.summary, report::json(&summary)?)?;
    write(&args.report, report::markdown(&summary, &lines, &agrail::picture::made(std::env::args())))
}

/// What decides the cases: a hook, or a guard of this process, which is also returned by itself.
async fn asked(args: &Args, traces: &[Trace]) -> Result<(Option<Guard>, Arc<dyn Asked>)> {
    if let Some(command) = &args.hook {
        let hook = Hook::new(command, args.hook_observations);
        hook.answers().await?;
        return Ok((None, Arc::new(hook)));
    }
    let guard = guard(args, embedder(traces).await?)?;
    Ok((Some(guard.clone()), Arc::new(guard)))
}

/// The results so far, and the file to append to.
fn results(args: &Args) -> Result<(Vec<ResultLine>, BufWriter<File>)> {
    let path = &args.results;
    let exists = path.metadata().is_ok_and(|m| m.len() > 0);
    let lines = match (exists, args.resume) {
        (true, true) => replay::read_results(path)?,
        (true, false) => {
            bail!("{} already has results; add --resume to continue, or name another file", path.display())
        }
        (false, _) => Vec::new(),
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    Ok((lines, BufWriter::new(file.with_context(|| format!("cannot write {}", path.display()))?)))
}

/// As many cases to allow as to deny, at most `most` in all, spread evenly over the files and in their order.
pub fn balanced(traces: Vec<Trace>, most: Option<usize>) -> Vec<Trace> {
    let count = |expected: Expected| traces.iter().filter(|t| t.expected == expected).count();
    let (safe, unsafe_) = (count(Expected::Allow), count(Expected::Deny));
    let each = safe.min(unsafe_).min(most.map_or(usize::MAX, |m| m / 2));
    let mut seen = [0_usize; 2];
    let mut keep = |trace: &Trace| {
        let (place, of) = if trace.expected == Expected::Allow { (0, safe) } else { (1, unsafe_) };
        let Some(at) = seen.get_mut(place) else { return false };
        *at += 1;
        // choose each of the `of` cases at which the rounded share increases
        *at * each / of > (*at - 1) * each / of
    };
    let mut traces = traces;
    traces.retain(|t| keep(t));
    traces
}

/// The universal policies and those of the profiles.
fn policy() -> Result<Policy> {
    // load everything now, so that no case waits for the policies of its verbs
    Ok(Policy::load(&profiles::policies())?.proved()?)
}

/// The embedder, loaded before the first case: fetching its files must not count against a case's deadline. Without it
/// origins are judged by words alone, and a message reports this.
async fn embedder(traces: &[Trace]) -> Result<Option<MiniLm>> {
    let embedder = MiniLm::new(sources()?);
    let browses = traces.iter().any(|t| t.action.get("type").is_some_and(|kind| kind == "browse"));
    let loaded = match browses {
        true => agrail::web::operation("warm up", &embedder).await.map(|_| ()),
        false => embedder.embed(&["warm up"]).await.map(|_| ()),
    };
    match loaded {
        Ok(()) => Ok(Some(embedder)),
        Err(problem) => {
            eprintln!("no embedder, so origins are judged by words alone and web tasks get ask: {problem}");
            Ok(None)
        }
    }
}

fn guard(args: &Args, embedder: Option<MiniLm>) -> Result<Guard> {
    let mut builder = Guard::builder().policy(policy()?);
    let usual = if args.mode == ModeArg::Rules { 5_000 } else { 300_000 };
    let deadline = Duration::from_millis(args.deadline_ms.unwrap_or(usual));
    if args.mode != ModeArg::Rules {
        builder = builder.model(args.model.reasoner(args.model.model()?, LlmSettings::default())?);
    }
    let library = Arc::new(profiles::library()?);
    builder = builder.with(|s| {
        s.library = library;
        s.mode = args.mode.into();
        s.judge = args.judge;
        s.deadline = deadline;
        s.limits.wall = deadline;
    });
    if let Some(embedder) = &embedder {
        builder = builder.embedder(Arc::new(embedder.clone()));
    }
    if args.memory != MemoryMode::None {
        let embedder = embedder.context("a memory needs the embedder")?;
        let memory = match &args.memory_file {
            Some(path) => Memory::open(path, embedder.id(), embedder.dimensions())?,
            None => Memory::in_memory(embedder.id(), embedder.dimensions())?,
        };
        memory.seed_shipped()?;
        let learning = if args.memory == MemoryMode::Tta { Learning::Episodes } else { Learning::Frozen };
        builder = builder.memory(memory).with(|s| s.learning = learning);
    }
    let guard = builder.build()?;
    // so that no measured time has what is prepared once
    guard.warm();
    Ok(guard)
}

/// The places of the embedding model: the user's cache; missing files are fetched into it.
pub fn sources() -> Result<Sources> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")));
    let cache =
        cache.context("there is no home folder for the embedding model; set HOME or XDG_CACHE_HOME")?.join("agrail");
    let progress: Arc<dyn Fn(&str) + Send + Sync> = Arc::new(|what| eprintln!("{what}"));
    let mut sources = Sources::fetching(cache);
    sources.progress = Some(progress);
    Ok(sources)
}

/// A progress bar, hidden unless standard error is a terminal.
pub fn progress(count: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed} left {eta}") {
        bar.set_style(style);
    }
    bar
}
