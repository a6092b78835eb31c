//! `agrail evolve`: co-evolution of attacks and defences, and the gate that each release must pass.

use crate::settings::Config;
use agrail::embed::{Embedder, MiniLm};
use agrail::evolve::mutation::{Labelled, Mutation};
use agrail::evolve::store::Store;
use agrail::evolve::task::Task;
use agrail::evolve::{Evolved, Settings, Side, World, evolve, heuristics, model::Model, report, score::Defence};
use agrail::injection::Detector;
use agrail::injection::head::Head;
use agrail::llm::{Endpoint, LanguageModel, OpenAi, Recorder};
use agrail::prompts::Prompts;
use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Co-evolve attacks and defences (AEGIS) to harden the detection of injected instructions
///
/// With `mutation` it needs no model: a grammar attacks the shipped detector, whose head learns.
/// With `model` a language model attacks, defends, criticises and judges. A killed run resumes
/// where it stopped.
///
///   agrail evolve --head eval/detector/trained.json --task eval/tasks/tool-result-injection.toml --out /tmp/run
///   agrail evolve gate --against eval/gate/pool.jsonl
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Task file: the system under attack.
    #[arg(long, value_name = "FILE", required = true)]
    task: Option<PathBuf>,
    /// Maximum number of rounds.
    #[arg(long, value_name = "N", default_value_t = 8)]
    rounds: usize,
    /// Steps of each inner loop.
    #[arg(long, value_name = "N", default_value_t = 8)]
    inner: usize,
    /// Number of candidates kept on each side; default: from the task file.
    #[arg(long, value_name = "K")]
    pool: Option<usize>,
    /// Source of new candidates.
    #[arg(long, value_enum, default_value = "mutation")]
    optimizer: Optimizer,
    /// Seed of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder of the run.
    #[arg(long, value_name = "DIR", default_value = "evolved")]
    out: PathBuf,
    /// Labelled texts (JSON lines: text, expected clean|injected) to measure the head before and after the search.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    texts: Vec<PathBuf>,
    /// Initial weights of the detector, such as `head.json` of another run; default: the shipped weights.
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// Base URL of an OpenAI-compatible endpoint; default: the configured one.
    #[arg(long, value_name = "URL")]
    model_url: Option<String>,
    /// Name of the model at --model-url.
    #[arg(long, value_name = "NAME", default_value = "default", requires = "model_url")]
    model: String,
    /// Maximum number of model calls; the run stops there and can be resumed with more.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    max_calls: u32,
    /// Ablation: hide earlier gradients.
    #[arg(long)]
    no_buffer: bool,
    /// Ablation: use one route of gradients instead of two.
    #[arg(long)]
    single_route: bool,
    /// Ablation: evolve only this side.
    #[arg(long, value_enum, value_name = "SIDE")]
    only: Option<SideArg>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Gate(Gate),
}

/// Fail if the detector is worse than the last release on a pool of evolved attacks and honest texts.
#[derive(Debug, clap::Args)]
struct Gate {
    /// Pool of texts: JSON lines with text and expected (clean or injected).
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// Figures of the last release; default: `released.json` beside the pool.
    #[arg(long, value_name = "FILE")]
    released: Option<PathBuf>,
    /// Write the current figures as the new release.
    #[arg(long)]
    release: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Optimizer {
    Model,
    Mutation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SideArg {
    Attack,
    Defence,
}

#[derive(Deserialize)]
struct Line {
    text: String,
    expected: Expected,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Clean,
    Injected,
}

/// Figures of a release on the pool.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Released {
    /// Share of the attacks that are flagged, 0..=1.
    tpr: f64,
    /// Share of the honest texts that are not flagged, 0..=1.
    tnr: f64,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let done = runtime.block_on(async {
        match &args.command {
            Some(Command::Gate(gate)) => check(gate, config).await,
            None => search(args, config).await,
        }
    });
    runtime.shutdown_background();
    done
}

fn embedder(config: &Config) -> Result<Arc<dyn Embedder>> {
    // made for releases, not for checks: it may fetch missing files
    Ok(Arc::new(MiniLm::new(config.embedder_sources(true)?)))
}

fn settings(args: &Args, task: &Task) -> Settings {
    let mut settings = Settings::of(task);
    settings.rounds = args.rounds;
    settings.inner = args.inner;
    settings.pool = args.pool.unwrap_or(settings.pool).max(1);
    settings.seed = args.seed;
    settings.buffer = !args.no_buffer;
    settings.routes = !args.single_route;
    settings.only = args.only.map(|side| match side {
        SideArg::Attack => Side::Attack,
        SideArg::Defence => Side::Defence,
    });
    settings
}

/// The texts for a gate, one JSON object a line: every attack of the run, because a gate must not forget beaten ones,
/// and honest texts.
fn pool(world: &Mutation, evolved: &Evolved) -> Result<String> {
    let attacks = evolved.lineage.iter().filter(|c| c.side == Side::Attack).map(|c| c.text.clone());
    let lines = world.pool(&attacks.collect::<Vec<_>>())?.into_iter().map(|text| {
        let expected = if text.injected { "injected" } else { "clean" };
        json!({"text": text.text, "expected": expected}).to_string() + "\n"
    });
    Ok(lines.collect())
}

async fn search(args: &Args, config: &Config) -> Result<ExitCode> {
    let file = args.task.as_deref().context("give --task FILE")?;
    let task = Task::load(file)?;
    let settings = settings(args, &task);
    let text = std::fs::read_to_string(file)?;
    let head = match &args.head {
        Some(path) => Arc::new(Head::load(path)?),
        None => Head::shipped().context("the shipped weights cannot be read")?,
    };
    let begins = match args.optimizer {
        Optimizer::Mutation => agrail::evolve::store::key(&[&serde_json::to_string(&head)?]),
        Optimizer::Model => String::new(),
    };
    let question = json!({"optimizer": format!("{:?}", args.optimizer), "settings": settings, "model": args.model,
        "task": agrail::evolve::store::key(&[&text]), "head": begins});
    let store = Store::open(&args.out, &toml::to_string(&question)?)?;
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target)
        .with_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    let told = |line: &str| {
        if line.starts_with("round") && line.contains(": attack") {
            bar.suspend(|| anstream::eprintln!("{line}"));
        } else {
            bar.set_message(line.to_owned());
        }
    };
    let name = task.name.clone();
    let (evolved, over) = match args.optimizer {
        Optimizer::Mutation => {
            let world = Mutation::new(task, embedder(config)?, head)?;
            let evolved = evolve(&world, &settings, &store, &told).await?;
            let over = measured(args, &world, &evolved).await?;
            store.write("attacks.jsonl", &pool(&world, &evolved)?)?;
            (evolved, over)
        }
        Optimizer::Model => {
            ensure!(args.texts.is_empty(), "--texts measures a detector's head and needs --optimizer mutation");
            ensure!(args.head.is_none(), "--head sets a detector's initial weights and needs --optimizer mutation");
            let model = language_model(args, config)?;
            let prompts = Prompts::load(config.model.prompts_folder(config)?.as_deref())?;
            let world = Model::new(task, model, prompts, args.max_calls);
            (evolve(&world, &settings, &store, &told).await?, None)
        }
    };
    bar.finish_and_clear();
    written(&store, &name, &evolved, over)?;
    show(&evolved, &args.out)?;
    Ok(ExitCode::SUCCESS)
}

fn language_model(args: &Args, config: &Config) -> Result<Arc<dyn LanguageModel>> {
    let model: Arc<dyn LanguageModel> = match &args.model_url {
        Some(url) => Arc::new(OpenAi::new(Endpoint::new(url, &args.model))?),
        None => match config.model.language_model(config)? {
            Some(model) => model,
            None => bail!("--optimizer model needs a model; give --model-url, or set [model] in the configuration"),
        },
    };
    Ok(Arc::new(Recorder::new(model, &args.out.join("replies.jsonl"))?))
}

/// Figures on the public texts before and after the search, if `--texts` was given.
async fn measured(args: &Args, world: &Mutation, evolved: &Evolved) -> Result<Option<Value>> {
    if args.texts.is_empty() {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for file in &args.texts {
        texts.extend(labelled(file)?);
    }
    let first = world.seeds(Side::Defence).into_iter().next().context("the search has no initial head")?;
    let before = world.over(&first, &texts).await?;
    let after = match evolved.defences.first() {
        Some(best) => world.over(&best.text, &texts).await?,
        None => before,
    };
    let phrases = |injected: bool| {
        let of = texts.iter().filter(move |text| text.injected == injected);
        of.map(|text| heuristics::score(&text.text)).collect::<Vec<_>>()
    };
    let phrases = Defence::of(&phrases(false), &phrases(true), heuristics::THRESHOLD);
    Ok(Some(json!({"n": texts.len(), "before": before, "after": after, "heuristics": phrases})))
}

fn labelled(file: &Path) -> Result<Vec<Labelled>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let parse = |(at, line): (usize, &str)| {
        let line: Line = serde_json::from_str(line).with_context(|| format!("{shown}, line {}", at + 1))?;
        Ok(Labelled { text: line.text, injected: line.expected == Expected::Injected })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}

fn written(store: &Store, name: &str, evolved: &Evolved, over: Option<Value>) -> Result<()> {
    let mut summary = serde_json::to_value(&evolved.summary)?;
    if let (Some(over), Some(fields)) = (over, summary.as_object_mut()) {
        fields.insert("texts".to_owned(), over);
    }
    store.write("summary.json", &serde_json::to_string_pretty(&summary)?)?;
    let pools = json!({"attacks": evolved.attacks, "defences": evolved.defences});
    store.write("pools.json", &serde_json::to_string_pretty(&pools)?)?;
    let lineage: String = evolved.lineage.iter().filter_map(|c| Some(serde_json::to_string(c).ok()? + "\n")).collect();
    store.write("lineage.jsonl", &lineage)?;
    store.write("report.html", &report::html(name, evolved, &agrail::picture::made(std::env::args()))?)?;
    store.write("curves.svg", &report::curves(&evolved.summary.rounds)?)?;
    if let Some(best) = evolved.defences.first() {
        match evolved.summary.optimizer {
            "mutation" => store.write("head.json", &(best.text.clone() + "\n"))?,
            // `model.prompts` may name this folder: the guard's judge then uses the prompt
            _ => {
                store.write("defence.md", &format!("# user\n{}\n", best.text))?;
                store.write("prompts/judge.md", &format!("# user\n{}\n", best.text))?;
            }
        }
        let lineage = json!({"id": best.id, "parent": best.parent, "gradient": best.gradient, "scores": best.scores});
        store.write("defence.json", &serde_json::to_string_pretty(&lineage)?)?;
    }
    Ok(())
}

fn show(evolved: &Evolved, out: &Path) -> Result<()> {
    let summary = &evolved.summary;
    let mut to = anstream::stdout().lock();
    writeln!(to, "round  attack  unseen  tpr    tnr    tpr@1%fpr")?;
    for r in &summary.rounds {
        let strict = r.tpr_at_1pct_fpr.map_or("-".to_owned(), |s| format!("{s:.3}"));
        writeln!(to, "{:5}  {:.3}   {:.3}   {:.3}  {:.3}  {strict}", r.round, r.attack_score, r.asr, r.tpr, r.tnr)?;
    }
    let (before, after) = (summary.held_out.before, summary.held_out.after);
    let phrases = summary.held_out.heuristics;
    let strict = |d: agrail::evolve::score::Defence| d.tpr_at_1pct_fpr.map_or("-".to_owned(), |s| format!("{s:.3}"));
    writeln!(
        to,
        "\nheld out: seen {:.3} -> {:.3}, honest passed {:.3} -> {:.3}, seen at 1 % false alarms {} -> {}",
        before.tpr,
        after.tpr,
        before.tnr,
        after.tnr,
        strict(before),
        strict(after)
    )?;
    writeln!(
        to,
        "a list of phrases on the same texts: seen {:.3}, honest passed {:.3}, seen at 1 % false alarms {}",
        phrases.tpr,
        phrases.tnr,
        strict(phrases)
    )?;
    writeln!(
        to,
        "{:.0} s, {} model calls; {}",
        summary.wall_s,
        summary.model_calls,
        out.join("report.html").display()
    )?;
    Ok(())
}

async fn check(gate: &Gate, config: &Config) -> Result<ExitCode> {
    let texts = labelled(&gate.against)?;
    ensure!(
        texts.iter().any(|t| t.injected) && texts.iter().any(|t| !t.injected),
        "the pool must contain attacks and honest texts"
    );
    let detector = Detector::with_head(embedder(config)?);
    let (mut seen, mut passed, mut attacks) = (0_usize, 0_usize, 0_usize);
    for text in &texts {
        let report = detector.examine(&[&text.text]).await.pop().context("the detector returned no report")?;
        if let agrail::injection::Basis::HeadFailed(why) = &report.basis {
            bail!("the gate needs the head: {why}");
        }
        attacks += usize::from(text.injected);
        seen += usize::from(text.injected && report.flagged);
        passed += usize::from(!text.injected && !report.flagged);
    }
    let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
    let now = Released { tpr: share(seen, attacks), tnr: share(passed, texts.len() - attacks) };
    let file = gate.released.clone().unwrap_or_else(|| gate.against.with_file_name("released.json"));
    if gate.release {
        std::fs::write(&file, serde_json::to_string_pretty(&now)? + "\n")?;
        println!("released: {:.3} of the attacks seen, {:.3} of the honest texts passed", now.tpr, now.tnr);
        return Ok(ExitCode::SUCCESS);
    }
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}; write it with --release", file.display()))?;
    let before: Released = serde_json::from_str(&text).with_context(|| format!("{}", file.display()))?;
    println!(
        "attacks seen {:.3} (released {:.3}), honest passed {:.3} (released {:.3})",
        now.tpr, before.tpr, now.tnr, before.tnr
    );
    // processors round embeddings differently: the decision on one text may differ
    let one = |of: usize| 1.5 / of.max(1) as f64;
    if now.tpr + one(attacks) < before.tpr || now.tnr + one(texts.len() - attacks) < before.tnr {
        anstream::eprintln!("agrail: the detector is worse than the released one; do not release it");
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}
