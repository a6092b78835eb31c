//! `agrail research`: a research agent that reads web pages, inside the guard.

use crate::exit;
use crate::settings::Config;
use crate::show::{colour, plain};
use agrail::embed::MiniLm;
use agrail::llm::{Endpoint, LanguageModel, OpenAi};
use agrail::net::UrlPolicy;
use agrail::prompts::Prompts;
use agrail::research::{Event, Fetcher, Mind, Report, Researcher, html, naive};
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Research a question on web pages that may be hostile; the guard checks every fetch and the
/// answer
///
/// Without a model ([model] in the configuration, or --model-url), the answer consists of the
/// passages that are nearest to the question. Exit code 0: a report with findings; 1: no findings,
/// or a failure. The report lists pages that could not be read.
///
///   agrail research 'When was the Golden Gate Bridge opened?' --url https://en.wikipedia.org/wiki/Golden_Gate_Bridge
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Question to answer.
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Page to start from; repeatable.
    #[arg(long = "url", value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Mode; `vulnerable` is the same agent without its defences, for comparison only.
    #[arg(long, value_enum, default_value = "defended")]
    mode: ModeArg,
    /// Maximum number of pages, including followed links.
    #[arg(long, value_name = "N", default_value_t = 8)]
    max_pages: usize,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Also write the report as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Fetch only from this host and its subdomains; repeatable; links to other hosts also need --elsewhere.
    #[arg(long = "allow-host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Follow links to hosts other than those of the named pages.
    #[arg(long)]
    elsewhere: bool,
    /// Fetch through this proxy.
    #[arg(long, value_name = "URL")]
    proxy: Option<Url>,
    /// Permit pages on this machine; for tests only, because any local service can be read.
    #[arg(long)]
    allow_loopback: bool,
    /// Base URL of an OpenAI-compatible endpoint; default: the configured one.
    #[arg(long, value_name = "URL")]
    model_url: Option<String>,
    /// Name of the model at --model-url.
    #[arg(long, value_name = "NAME", default_value = "default", requires = "model_url")]
    model: String,
    /// Neither recall nor record anything.
    #[arg(long)]
    no_memory: bool,
    /// Time limit for the whole run, seconds.
    #[arg(long, value_name = "S", default_value_t = 600)]
    max_seconds: u64,
    /// Let the vulnerable mode fetch from other machines.
    #[arg(long)]
    i_know_this_is_unsafe: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeArg {
    Defended,
    Vulnerable,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    if args.goal.trim().is_empty() {
        bail!("the goal is empty; give a question in quotation marks");
    }
    let model: Option<Arc<dyn LanguageModel>> = match &args.model_url {
        Some(url) => Some(Arc::new(OpenAi::new(Endpoint::new(url, &args.model))?)),
        None => config.model.language_model(config)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(async {
        match args.mode {
            ModeArg::Defended => defended(args, config, model).await,
            ModeArg::Vulnerable => vulnerable(args, model).await,
        }
    });
    runtime.shutdown_background();
    code
}

async fn defended(args: &Args, config: &Config, model: Option<Arc<dyn LanguageModel>>) -> Result<ExitCode> {
    if args.allow_loopback {
        anstream::eprintln!("agrail: WARNING: pages on this machine may be read (--allow-loopback); for tests only");
    }
    let policy = UrlPolicy { allow_loopback: args.allow_loopback, ..UrlPolicy::default() };
    let guard = config.builder(!args.no_memory)?.with(|s| s.urls = policy.clone()).build()?;
    let mut fetcher = Fetcher::new(policy);
    fetcher.hosts = args.hosts.iter().map(|host| listed(host)).collect::<Result<_>>()?;
    fetcher.proxy.clone_from(&args.proxy);
    let (pages, seconds, elsewhere) = (args.max_pages.max(1), args.max_seconds.max(1), args.elsewhere);
    let mut agent = Researcher::new(guard.clone(), fetcher).with(|s| {
        s.pages = pages;
        s.time = Duration::from_secs(seconds);
        s.limits.wall = s.time.mul_f64(0.8);
        s.elsewhere = elsewhere;
    });
    if let Some(model) = model {
        agent = agent.mind(Mind::new(model, Prompts::load(config.model.prompts_folder(config)?.as_deref())?));
    }
    let sources = config.embedder_sources(false)?;
    if sources.present() {
        agent = agent.embedder(Arc::new(MiniLm::new(sources)));
    }
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target)
        .with_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    let told = |event: Event<'_>| match event {
        Event::Begins(what, about) => bar.set_message(format!("{what} {}", plain(about))),
        Event::Refused(url, why) => bar.suspend(|| anstream::eprintln!("agrail: {}: {}", plain(url), plain(why))),
    };
    let report = agent.run(&args.goal, &args.urls, &told).await;
    bar.finish_and_clear();
    if let Err(problem) = guard.settle().await {
        anstream::eprintln!("agrail: the decisions were not recorded: {problem}");
    }
    if let Some(file) = &args.html {
        std::fs::write(file, html(&report, &agrail::picture::made(std::env::args())))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        show(&report)?;
    }
    Ok(if report.key_points.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// A host of the allowlist, in the form of a parsed URL.
fn listed(host: &str) -> Result<String> {
    let parsed = url::Host::parse(host).with_context(|| {
        format!("--allow-host {host}: give only a host name, such as example.com, without scheme, port or *")
    })?;
    Ok(parsed.to_string())
}

async fn vulnerable(args: &Args, model: Option<Arc<dyn LanguageModel>>) -> Result<ExitCode> {
    let Some(model) = model else {
        bail!("the vulnerable mode needs a model; give --model-url, or set [model] in the configuration");
    };
    anstream::eprintln!("agrail: WARNING: no guard and no policy; the agent follows any instruction in a page");
    let done = match naive::run(&*model, &args.goal, &args.urls, "none", args.i_know_this_is_unsafe).await {
        Ok(done) => done,
        Err(refused) => return Ok(exit::failure(&refused.into())),
    };
    if args.json {
        println!("{}", serde_json::to_string(&done)?);
    } else {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{}\n", done.report.lines().map(plain).collect::<Vec<_>>().join("\n"))?;
        for url in &done.fetched {
            writeln!(out, "fetched {}", plain(url))?;
        }
        for tool in &done.tools {
            writeln!(out, "called {}", plain(tool))?;
        }
        for problem in &done.problems {
            writeln!(out, "problem: {}", plain(problem))?;
        }
    }
    Ok(if done.report.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn show(report: &Report) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let (bold, dim) = (anstyle::Style::new().bold(), anstyle::Style::new().dimmed());
    if !report.summary.is_empty() {
        writeln!(out, "{}\n", plain(&report.summary))?;
    }
    for (place, point) in report.key_points.iter().enumerate() {
        writeln!(out, "{bold}{:2}.{bold:#} {}", place + 1, plain(&point.text))?;
        for span in &point.citations {
            let (url, quote) = (plain(&span.url), plain(&span.quote));
            writeln!(out, "    {dim}\"{quote}\" {url} [{}..{}]{dim:#}", span.start, span.end)?;
        }
        for other in &point.contradicts {
            writeln!(out, "    contradicts {}", other + 1)?;
        }
    }
    for note in &report.notes {
        writeln!(out, "\n{bold}{}{bold:#} {} {dim}{}{dim:#}", note.kind, plain(&note.text), plain(&note.url))?;
    }
    for missing in &report.missing {
        writeln!(out, "\n{bold}missing{bold:#} {}: {}", plain(&missing.url), plain(&missing.why))?;
    }
    let refused = report.audit.iter().filter(|s| s.decision != agrail::Decision::Allow);
    for step in refused {
        let style = colour(step.decision);
        writeln!(
            out,
            "\n{style}{}{style:#} {} {}: {}",
            step.decision,
            step.action,
            plain(&step.what),
            plain(&step.reason)
        )?;
    }
    let (dropped, cost) = (&report.dropped, &report.cost);
    let claims = dropped.uncited + dropped.unsupported + dropped.contradicted + dropped.off_topic + dropped.carrying;
    writeln!(
        out,
        "\n{dim}{} pages, {} steps checked, {claims} claims and {} passages dropped, {} model calls, {} tokens in, {} ms{dim:#}",
        cost.pages,
        report.audit.len(),
        dropped.withheld,
        cost.model_calls,
        cost.tokens_in,
        cost.wall_ms
    )?;
    Ok(())
}
