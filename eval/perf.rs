//! `agrail-eval perf`: measures the cost of a check and of a recall on this machine.

use crate::observed;
use crate::remember;
use crate::run::sources;
use agrail::action::{Action, Context, Identity};
use agrail::embed::{Embedder, MINILM_DIMENSIONS, MINILM_ID, MiniLm};
use agrail::machine::Environment;
use agrail::memory::{Change, Episode, Key, Lesson, Memory};
use agrail::{Decision, Guard};
use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of neighbours that are compared with the exact scan.
const NEIGHBOURS: usize = 10;
/// Number of queries for each size.
const QUERIES: usize = 500;

/// Measure checks, throughput, recall, memory use and start-up on this machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the figures as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also measure recall with a million entries (minutes, 5 GB).
    #[arg(long)]
    million: bool,
    /// Measure only the cost of finding the nearest entry as the memory grows, compared with embedding all of it again.
    #[arg(long)]
    remember: bool,
    /// Measure only the cost of a check after 20 KB to 5 MB of observations.
    #[arg(long, conflicts_with = "remember")]
    observed: bool,
    /// Number of checks to measure.
    #[arg(long, default_value_t = 2000)]
    checks: usize,
}

#[derive(Serialize)]
struct Figures {
    check: Checks,
    throughput: Vec<Throughput>,
    recall: Vec<Recall>,
    rss_mb: f64,
    startup_ms: f64,
}

#[derive(Serialize)]
struct Checks {
    screen: Latency,
    cached: Latency,
    embedding: Latency,
    /// The same as `screen`, with 100 000 entries in the memory.
    screen_100k: Latency,
}

/// Times of checks.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    n: usize,
    p50_us: f64,
    p99_us: f64,
}

impl Latency {
    /// The median, microseconds.
    pub fn p50_us(&self) -> f64 {
        self.p50_us
    }
}

#[derive(Serialize)]
struct Throughput {
    tasks: usize,
    per_s: f64,
}

#[derive(Serialize)]
struct Recall {
    entries: usize,
    p50_us: f64,
    p99_us: f64,
    recall_at_10: f64,
    exact_p50_us: f64,
    insert_us: f64,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    if args.remember {
        let found = runtime.block_on(remember::measure(&MiniLm::new(sources()?), &[10, 100, 1_000, 10_000]))?;
        return put(&found, args.json.as_deref());
    }
    if args.observed {
        let sizes = [(20 << 10, 1_000), (200 << 10, 50), (1 << 20, 10), (5 << 20, 5)];
        let found = runtime.block_on(observed::measure(Arc::new(MiniLm::new(sources()?)), &sizes))?;
        return put(&found, args.json.as_deref());
    }
    let startup_ms = startup()?;
    let environment = Environment::open(Path::new("/"))?;
    let context = Arc::new(Context::new(Identity::default(), Some(environment)));
    eprintln!("checks");
    let model = MiniLm::new(sources()?);
    let (screen, cached, embedding) = runtime.block_on(checks(&context, &model, args.checks))?;
    let throughput = [1, 2, 8].map(|tasks| runtime.block_on(throughput(&context, tasks, args.checks)));
    let mut recall_figures = Vec::new();
    let mut screen_100k = screen;
    let mut sizes = vec![1_000, 10_000, 100_000];
    sizes.extend(args.million.then_some(1_000_000));
    for entries in sizes {
        eprintln!("recall among {entries} entries");
        let (figures, memory) = recall(entries)?;
        if entries == 100_000 {
            let guard = Guard::builder().memory(memory).build()?;
            screen_100k = runtime.block_on(screened(&guard, &context, args.checks))?;
        }
        recall_figures.push(figures);
    }
    let figures = Figures {
        check: Checks { screen, cached, embedding, screen_100k },
        throughput: throughput.into_iter().collect::<Result<_>>()?,
        recall: recall_figures,
        rss_mb: resident_mb(),
        startup_ms,
    };
    put(&figures, args.json.as_deref())
}

fn put(figures: &impl Serialize, file: Option<&Path>) -> Result<()> {
    let text = serde_json::to_string_pretty(figures)?;
    println!("{text}");
    if let Some(path) = file {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn shell(command: String) -> Action {
    Action::Shell { command, cwd: None }
}

async fn timed(guard: &Guard, action: &Action, context: &Context) -> (Decision, Duration) {
    let started = Instant::now();
    let verdict = guard.check(action, context).await;
    (verdict.decision, started.elapsed())
}

async fn screened(guard: &Guard, context: &Context, checks: usize) -> Result<Latency> {
    let mut times = Vec::with_capacity(checks);
    for number in 0..checks + 100 {
        let action = shell(format!("cat notes-{number}.txt | sort | head -n 5 > /tmp/out-{number}.txt"));
        let (decision, time) = timed(guard, &action, context).await;
        ensure!(decision == Decision::Allow, "the screen should allow the measured action; its decision is {decision}");
        if number >= 100 {
            times.push(time);
        }
    }
    Ok(latency(times))
}

/// Latencies of checks that the screen decides, that ask with a cached vector of the paraphrase, and that ask with a
/// new paraphrase each time.
async fn checks(context: &Context, model: &MiniLm, checks: usize) -> Result<(Latency, Latency, Latency)> {
    let screen = screened(&Guard::builder().build()?, context, checks).await?;
    let memory = Memory::in_memory(model.id(), model.dimensions())?;
    for number in 0..100 {
        let vectors = model.embed(&[&format!("Copy report {number} to the archive")]).await?;
        memory.learn(&lesson(number, vectors.into_iter().next()))?;
    }
    let guard = Guard::builder().memory(memory).embedder(Arc::new(model.clone())).build()?;
    let mut cached = Vec::new();
    for number in 0..checks {
        let (decision, time) = timed(&guard, &shell(format!("useradd -m worker{number}")), context).await;
        ensure!(decision != Decision::Allow, "useradd should not be allowed");
        let _ = time;
        let (decision, time) = timed(&guard, &shell(format!("crontab jobs-{number}")), context).await;
        ensure!(decision == Decision::Ask, "crontab should get ask; its decision is {decision}");
        cached.push(time);
    }
    let mut embedding = Vec::new();
    for number in 0..100 {
        let (decision, time) = timed(&guard, &shell(format!("frobnicate{number} input.txt")), context).await;
        ensure!(decision == Decision::Ask, "an unknown program should get ask; its decision is {decision}");
        embedding.push(time);
    }
    guard.settle().await?;
    Ok((screen, latency(cached), latency(embedding)))
}

async fn throughput(context: &Arc<Context>, tasks: usize, checks: usize) -> Result<Throughput> {
    let guard = Guard::builder().build()?;
    let started = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (guard, context) = (guard.clone(), Arc::clone(context));
            tokio::spawn(async move {
                for number in 0..checks {
                    let action = shell(format!("cat notes-{task}-{number}.txt | sort > /tmp/out-{task}.txt"));
                    let _ = guard.check(&action, &context).await;
                }
            })
        })
        .collect();
    for task in running {
        task.await?;
    }
    Ok(Throughput { tasks, per_s: (tasks * checks) as f64 / started.elapsed().as_secs_f64() })
}

fn lesson(number: usize, vector: Option<Vec<f32>>) -> Lesson {
    Lesson {
        entry: None,
        key: Key { natural: format!("kind of action {number}"), command: String::new() },
        vector,
        triggers: Vec::new(),
        changes: vec![Change::Add {
            category: "integrity".to_owned(),
            name: "measured".to_owned(),
            definition: "an entry for measuring".to_owned(),
            required: false,
        }],
        episode: Episode {
            id: format!("perf-{number}"),
            principal: "perf".to_owned(),
            project: None,
            tainted: false,
            clean: true,
        },
        taught_by: "perf".to_owned(),
        policy_checks: Vec::new(),
    }
}

/// Generates vectors with the structure of text embeddings: many topics, each a cloud.
struct Cloud {
    state: u64,
    centres: Vec<Vec<f32>>,
}

impl Cloud {
    fn new() -> Self {
        let mut cloud = Self { state: 0x9E37_79B9_7F4A_7C15, centres: Vec::new() };
        cloud.centres = (0..500).map(|_| (0..MINILM_DIMENSIONS).map(|_| cloud.normal()).collect()).collect();
        cloud
    }

    /// xorshift64*, sum of uniforms.
    fn normal(&mut self) -> f32 {
        let mut sum = 0.0;
        for _ in 0..4 {
            self.state ^= self.state >> 12;
            self.state ^= self.state << 25;
            self.state ^= self.state >> 27;
            let bits = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40;
            sum += bits as f32 / (1_u64 << 24) as f32 - 0.5;
        }
        sum
    }

    fn vector(&mut self, number: usize) -> Vec<f32> {
        let centre = self.centres.get(number % self.centres.len()).cloned().unwrap_or_default();
        let raw: Vec<f32> = centre.into_iter().map(|x| x + 0.7 * self.normal()).collect();
        let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.into_iter().map(|x| x / length).collect()
    }
}

fn recall(entries: usize) -> Result<(Recall, Memory)> {
    let memory = Memory::in_memory(MINILM_ID, MINILM_DIMENSIONS)?;
    let mut cloud = Cloud::new();
    let vectors: Vec<Vec<f32>> = (0..entries).map(|number| cloud.vector(number)).collect();
    let started = Instant::now();
    let mut ids = std::collections::HashMap::with_capacity(entries);
    for (number, vector) in vectors.iter().enumerate() {
        ids.insert(memory.learn(&lesson(number, Some(vector.clone())))?.id, number);
        if number % 10_000 == 9_999 {
            eprintln!("  {} inserted", number + 1);
        }
    }
    let insert_us = started.elapsed().as_secs_f64() * 1e6 / entries as f64;
    memory.tend_index()?;
    let (mut times, mut exact_times, mut hits) = (Vec::new(), Vec::new(), 0);
    for number in 0..QUERIES {
        let query = cloud.vector(number * 7);
        let started = Instant::now();
        let found = memory.recall(&query, NEIGHBOURS)?;
        times.push(started.elapsed());
        let started = Instant::now();
        let exact = exact(&vectors, &query);
        exact_times.push(started.elapsed());
        let found: Vec<usize> = found.iter().filter_map(|n| ids.get(&n.entry.id).copied()).collect();
        hits += exact.iter().filter(|place| found.contains(place)).count();
    }
    let time = latency(times);
    let figures = Recall {
        entries,
        p50_us: time.p50_us,
        p99_us: time.p99_us,
        recall_at_10: hits as f64 / (QUERIES * NEIGHBOURS) as f64,
        exact_p50_us: latency(exact_times).p50_us,
        insert_us,
    };
    Ok((figures, memory))
}

/// Indices of the nearest vectors, by an exact scan.
fn exact(vectors: &[Vec<f32>], query: &[f32]) -> Vec<usize> {
    let mut scored: Vec<(f32, usize)> = vectors
        .iter()
        .enumerate()
        .map(|(place, vector)| (vector.iter().zip(query).map(|(a, b)| a * b).sum(), place))
        .collect();
    let nearest = NEIGHBOURS.min(scored.len());
    if nearest < scored.len() {
        scored.select_nth_unstable_by(nearest, |a, b| b.0.total_cmp(&a.0));
    }
    scored.truncate(nearest);
    scored.into_iter().map(|(_, place)| place).collect()
}

/// Median and 99th percentile.
pub fn latency(mut times: Vec<Duration>) -> Latency {
    times.sort_unstable();
    let at = |percent: usize| {
        let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(place).map_or(0.0, |t| t.as_secs_f64() * 1e6)
    };
    Latency { n: times.len(), p50_us: at(50), p99_us: at(99) }
}

/// Peak resident memory of this process, MiB.
fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |kb| kb / 1024.0)
}

/// Median time from the start of the program `agrail` to a verdict, ms.
fn startup() -> Result<f64> {
    let program = std::env::current_exe()?.with_file_name("agrail");
    ensure!(program.exists(), "{} is missing; build it with 'cargo build --release --bins'", program.display());
    let mut times = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        let status = std::process::Command::new(&program)
            .args(["--config", "/dev/null", "check", "--no-memory", "--user", "user", "--shell", "ls"])
            .stdout(std::process::Stdio::null())
            .status()?;
        times.push(started.elapsed());
        ensure!(status.success(), "the check that measures the start-up time was not allowed");
    }
    Ok(latency(times).p50_us / 1000.0)
}
