//! `agrail-eval ablate`: experiments that compare arms of the guard on one model.
//!
//! 1. An experiment is a file in `eval/experiments` ([`spec`]): a question, cases, seeds and arms.
//! 2. Each arm decides the cases in the order of each seed, with a separate memory ([`arm`]). Each step is a line in
//!    `steps.jsonl`; an interrupted run resumes where it stopped.
//! 3. An experiment may instead be about the rules of an [`organisation`], which reports teach before the cases.
//! 4. [`table`] and [`plot`] turn the steps into Markdown, CSV, JSON and SVG.

mod arm;
mod corrupt;
mod ground_truth;
mod organisation;
mod plot;
mod similarity;
mod spec;
mod table;

use crate::detector::texts::folder;
use crate::model::ModelArgs;
use crate::run::{balanced, sources};
use agrail::check::{Authority, Finding, Outcome, Source};
use agrail::embed::{Embedder, MiniLm};
use agrail::prompts::Prompts;
use agrail::replay::{self, Expected, Trace, sandbox::Roots};
use anyhow::{Context, Result, bail};
use arm::{Decider, Shared};
use clap::Parser;
use organisation::{Organisation, baseline};
use serde::{Deserialize, Serialize};
use spec::{Arm, Experiment};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Run experiments, one file per question, and write tables and plots.
#[derive(Debug, Parser)]
pub struct Args {
    /// Experiment files (TOML).
    #[arg(required = true, value_name = "FILE")]
    experiments: Vec<PathBuf>,
    /// Folder for results, with one subfolder per experiment.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only write tables and plots from the existing steps.
    #[arg(long)]
    report_only: bool,
    /// Folder on which disposable roots are mounted.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
}

/// One check of one arm.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step {
    /// Name of the arm.
    pub arm: String,
    /// Seed of the sequence.
    pub seed: u64,
    /// Number of the step, from 0.
    pub step: usize,
    /// Id of the trace.
    pub case: String,
    /// Kind of action; empty if there is none.
    pub kind: String,
    /// `allow` or `deny`.
    pub expected: String,
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// Whether a violation of something learnt stands.
    #[serde(default)]
    pub learnt: bool,
    /// Number of model calls.
    pub model_calls: u64,
    /// Number of prompt tokens.
    pub tokens_in: u64,
    /// Number of reply tokens.
    pub tokens_out: u64,
    /// Wall time, microseconds.
    pub wall_us: u64,
    /// Number of replies that could not be read.
    pub malformed: u64,
    /// Number of entries in the memory after the step.
    pub memory_entries: usize,
    /// Checks in the memory after the step.
    pub checklist: Vec<Checked>,
    /// Similarity of the checklist to the ground truth of the kind, by embedding, 0..=1.
    pub cosine: Option<f64>,
    /// The same by words, 0..=1.
    pub tfidf: Option<f64>,
}

impl Step {
    /// A step before its decision.
    fn new(arm: &Arm, seed: u64, step: usize, trace: &Trace) -> Self {
        Self {
            arm: arm.name.clone(),
            seed,
            step,
            case: trace.id.clone(),
            kind: String::new(),
            expected: if trace.expected == Expected::Allow { "allow" } else { "deny" }.to_owned(),
            decision: "deny".to_owned(),
            learnt: false,
            model_calls: 0,
            tokens_in: 0,
            tokens_out: 0,
            wall_us: 0,
            malformed: 0,
            memory_entries: 0,
            checklist: Vec::new(),
            cosine: None,
            tfidf: None,
        }
    }
}

/// One check in the memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checked {
    /// Name.
    pub name: String,
    /// Condition that must be true.
    pub definition: String,
    /// Number of episodes that used the check.
    pub support: u32,
    /// Number of episodes that discarded the check.
    pub conflict: u32,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let embedder: Arc<dyn Embedder> = Arc::new(MiniLm::new(sources()?));
    let wanted = args.model.model_url.is_some() || args.model.play.is_some();
    let model = if wanted && !args.report_only { Some(args.model.model()?) } else { None };
    let shared = Shared { embedder, model, prompts: Prompts::load(args.model.prompts.as_deref())? };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for file in &args.experiments {
        let experiment = spec::load(file)?;
        let name = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let out = args.out.join(&name);
        std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
        if !args.report_only {
            eprintln!("{name}: {}", experiment.question);
            runtime.block_on(steps(args, &experiment, &out, &shared))?;
        }
        report(&experiment, file, &out)?;
    }
    Ok(())
}

async fn steps(args: &Args, experiment: &Experiment, out: &Path, shared: &Shared) -> Result<()> {
    let work = args.work.clone().unwrap_or_else(|| std::env::temp_dir().join("agrail-ablate"));
    let roots = Arc::new(Roots::prepare(&work)?);
    let organisation = experiment.organisation.as_deref().map(Organisation::load).transpose()?;
    let all = if organisation.is_some() { Vec::new() } else { cases(&experiment.traces, experiment)? };
    let poisons: Vec<f64> = experiment.arms.iter().map(|arm| arm.poison).collect();
    let truth = ground_truth::load()?;
    let done = load_steps(out)?;
    let file = OpenOptions::new().create(true).append(true).open(out.join("steps.jsonl"))?;
    let mut file = std::io::BufWriter::new(file);
    for arm in &experiment.arms {
        for &seed in &experiment.seeds {
            let order = match &organisation {
                Some(organisation) => organisation.cases(seed, &poisons, experiment.limit)?,
                None => sequence(&all, seed, experiment.steps),
            };
            let mine = done.iter().filter(|s| s.arm == arm.name && s.seed == seed).count();
            if mine >= order.len() {
                continue;
            }
            let memory =
                out.join(format!("memory-{}-{seed}.db", arm.name.replace(|c: char| !c.is_alphanumeric(), "-")));
            // the published procedure cannot resume and starts again; recorded replies cost nothing
            let first = if arm.mode == "paper" { 0 } else { mine };
            if first == 0 {
                for end in ["", "-wal", "-shm"] {
                    let _ = std::fs::remove_file(format!("{}{end}", memory.display()));
                }
            }
            learn_first(arm, seed, &memory, experiment, shared, &roots).await?;
            if let Some(organisation) = organisation.as_ref().filter(|_| first == 0) {
                organisation.teach(arm, seed, &memory, shared, &roots).await?;
            }
            let decider = arm::build(arm, seed, &memory, shared)?;
            let started = Instant::now();
            for (place, trace) in order.iter().enumerate().skip(first) {
                let mut step = one(arm, seed, place, trace, &decider, shared, &roots, &truth).await?;
                if organisation.is_some() && !step.learnt && baseline(trace, &roots).await? != "allow" {
                    // what is stopped without any memory says nothing about learning
                    "allow".clone_into(&mut step.decision);
                }
                if place >= mine {
                    serde_json::to_writer(&mut file, &step)?;
                    file.write_all(b"\n")?;
                    file.flush()?;
                }
                eprintln!(
                    "{} seed {seed} step {}/{}: {} {} (label {}), {:.0} s",
                    arm.name,
                    place + 1,
                    order.len(),
                    step.case,
                    step.decision,
                    step.expected,
                    started.elapsed().as_secs_f64()
                );
            }
        }
    }
    Ok(())
}

/// Domain transfer: the arm first learns from other cases; then its memory is frozen.
async fn learn_first(
    arm: &Arm,
    seed: u64,
    memory: &Path,
    experiment: &Experiment,
    shared: &Shared,
    roots: &Arc<Roots>,
) -> Result<()> {
    if arm.learn_on.is_empty() || memory.exists() {
        return Ok(());
    }
    let learner = Arm { memory: "ours".to_owned(), learn_on: Vec::new(), ..arm.clone() };
    let decider = arm::build(&learner, seed, memory, shared)?;
    let traces = cases(&arm.learn_on, experiment)?;
    for (place, trace) in sequence(&traces, seed, experiment.steps).into_iter().enumerate() {
        one(&learner, seed, place, &trace, &decider, shared, roots, &[]).await?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "one step needs all of the experiment's state")]
async fn one(
    arm: &Arm,
    seed: u64,
    place: usize,
    trace: &Trace,
    decider: &Decider,
    shared: &Shared,
    roots: &Arc<Roots>,
    truth: &[ground_truth::Kind],
) -> Result<Step> {
    let (maker, id, setup) = (Arc::clone(roots), trace.id.clone(), trace.environment.setup.clone());
    let root = tokio::task::spawn_blocking(move || maker.case(&id, setup.as_deref())).await??;
    let started = Instant::now();
    let mut step = Step::new(arm, seed, place, trace);
    let (action, context) = replay::put(trace, &root.path())?;
    let mut verbs: Vec<String> = Vec::new();
    match decider {
        Decider::Guard(guard) => {
            let verdict = guard.check(&action, &context).await;
            step.wall_us = verdict.cost.wall_us;
            guard.settle().await?;
            step.decision = verdict.decision.to_string();
            // what a model makes of an unknown program by itself is not what operators taught
            let taught = |f: &Finding| arm.memory != "feedback" || matches!(f.source, Source::Memory(_));
            let learnt =
                |f: &&Finding| f.outcome == Outcome::Violation && f.check.authority == Authority::Learned && taught(f);
            step.learnt = verdict.findings.iter().find(learnt).is_some();
            (step.model_calls, step.malformed) = (verdict.cost.model_calls.into(), verdict.cost.malformed.into());
            (step.tokens_in, step.tokens_out) = (verdict.cost.tokens_in, verdict.cost.tokens_out);
            verbs.extend(verdict.effects.iter().map(|e| e.verb.clone()));
            if let Some(memory) = guard.memory() {
                step.memory_entries = memory.active()?.len();
                let held = arm::held(memory, arm.memory == "tta")?;
                step.checklist = held
                    .into_iter()
                    .map(|c| Checked {
                        name: c.name,
                        definition: c.definition,
                        support: c.support,
                        conflict: c.conflict,
                    })
                    .collect();
            }
        }
        Decider::Paper(paper) => {
            let outcome = paper.check(&action, &context).await;
            step.wall_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            step.decision = outcome.decision.to_string();
            (step.model_calls, step.malformed) = (outcome.spent.calls.into(), outcome.spent.malformed.into());
            (step.tokens_in, step.tokens_out) = (outcome.spent.tokens_in, outcome.spent.tokens_out);
            step.memory_entries = outcome.entries;
            step.checklist = outcome
                .checklist
                .into_iter()
                .map(|(name, definition)| Checked { name, definition, support: 1, conflict: 0 })
                .collect();
        }
    }
    if let Some(kind) = ground_truth::kind_of(truth, &verbs) {
        compare(&mut step, kind, truth, shared).await?;
    }
    tokio::task::spawn_blocking(move || drop(root)).await?;
    Ok(step)
}

/// Measures how similar the learned checklist is to the ground truth of its kind of action.
async fn compare(
    step: &mut Step,
    kind: &ground_truth::Kind,
    truth: &[ground_truth::Kind],
    shared: &Shared,
) -> Result<()> {
    step.kind.clone_from(&kind.name);
    let texts = |name: &str, definition: &str| format!("{name}: {definition}");
    let learned: Vec<String> = step.checklist.iter().map(|c| texts(&c.name, &c.definition)).collect();
    let wanted: Vec<String> = kind.checks.iter().map(|c| texts(&c.name, &c.definition)).collect();
    let corpus: Vec<Vec<String>> =
        truth.iter().map(|k| k.checks.iter().map(|c| texts(&c.name, &c.definition)).collect()).collect();
    step.tfidf = Some(similarity::tfidf(&learned, &wanted, &corpus));
    let all: Vec<&str> = learned.iter().chain(&wanted).map(String::as_str).collect();
    let vectors = shared.embedder.embed(&all).await?;
    let (mine, theirs) = vectors.split_at(learned.len());
    step.cosine = Some(similarity::cosine(mine, theirs));
    Ok(())
}

fn cases(files: &[PathBuf], experiment: &Experiment) -> Result<Vec<Trace>> {
    // `AGRAIL_DATA` names the folder of data that is not part of the repository
    let placed = |file: &PathBuf| file.strip_prefix("$AGRAIL_DATA").map_or_else(|_| file.clone(), |f| folder().join(f));
    let files: Vec<PathBuf> = files.iter().map(placed).collect();
    let mut traces = replay::read_traces(&files, None, experiment.filter.as_deref())?;
    if experiment.balance {
        traces = balanced(traces, experiment.limit);
    } else if let Some(limit) = experiment.limit {
        traces.truncate(limit);
    }
    if traces.is_empty() {
        bail!("no case to run; check traces, filter and limit in the experiment file");
    }
    Ok(traces)
}

/// The cases in the order of a seed, repeated in new orders until there are `steps` of them.
fn sequence(traces: &[Trace], seed: u64, steps: Option<usize>) -> Vec<Trace> {
    let most = steps.unwrap_or(traces.len());
    let mut order = Vec::with_capacity(most);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while order.len() < most {
        let mut round: Vec<Trace> = traces.to_vec();
        for place in (1..round.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            round.swap(place, usize::try_from(state % (place as u64 + 1)).unwrap_or(0));
        }
        order.extend(round);
    }
    order.truncate(most);
    order
}

fn load_steps(out: &Path) -> Result<Vec<Step>> {
    let path = out.join("steps.jsonl");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    for (number, line) in BufReader::new(std::fs::File::open(&path)?).lines().enumerate() {
        // the last line of a killed run may be truncated: that step is repeated
        match serde_json::from_str(&line?) {
            Ok(step) => steps.push(step),
            Err(error) => eprintln!("{}:{}: {error}; repeating this step", path.display(), number + 1),
        }
    }
    Ok(steps)
}

fn report(experiment: &Experiment, file: &Path, out: &Path) -> Result<()> {
    let steps = load_steps(out)?;
    if steps.is_empty() {
        bail!("{} has no steps yet; run without --report-only", out.display());
    }
    let command = format!("agrail-eval ablate {} --out {} --model-url URL --model NAME", file.display(), "OUT");
    let summary = table::summarize(experiment, &steps);
    let markdown = table::markdown(experiment, &summary, &command, &agrail::picture::made(std::env::args()));
    println!("{markdown}");
    std::fs::write(out.join("report.md"), &markdown)?;
    std::fs::write(out.join("arms.csv"), table::csv(&summary))?;
    std::fs::write(out.join("curve.csv"), table::curve_csv(experiment, &steps))?;
    std::fs::write(out.join("summary.json"), table::json(&summary)?)?;
    for drawn in plot::draw(experiment, &steps, &summary, out)? {
        eprintln!("{}", drawn.display());
    }
    Ok(())
}
