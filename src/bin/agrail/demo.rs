//! `agrail demo`: the guard decides the shipped sample traces.

use crate::show::{colour, plain};
use agrail::action::{Action, Context, Identity};
use agrail::embed::{MINILM_DIMENSIONS, MINILM_ID};
use agrail::learn::{Feedback, apply_feedback};
use agrail::machine::Environment;
use agrail::memory::Memory;
use agrail::replay::{self, Case, Expected, Trace, sandbox::Roots};
use agrail::{Decision, Guard};
use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

const SAMPLES: &str = include_str!("../../../eval/traces/os-samples.jsonl");

/// Replay sample actions of an agent and show each decision with its reason.
///
/// No action is executed. The set-up scripts of the samples run in disposable copies of this machine, which needs root;
/// without root, only samples without a set-up are shown. Needs no model, key or network, and leaves nothing behind.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of parallel cases.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Show every sample instead of a selection.
    #[arg(long)]
    all: bool,
}

/// Number of samples that are shown besides the wrongly decided ones.
const SHOWN: usize = 42;

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder for the demo")?;
    let file = folder.path().join("os-samples.jsonl");
    std::fs::write(&file, SAMPLES)?;
    let mut traces = replay::read_traces(&[file], None, None)?;
    let roots = match Roots::prepare(&folder.path().join("roots")) {
        Ok(roots) => Some(Arc::new(roots)),
        Err(why) => {
            let (all, why) = (traces.len(), anyhow::Error::from(why));
            traces.retain(|t| t.environment.setup.is_none());
            anstream::println!(
                "Showing {} of {all} samples; the others need a disposable root: {why:#}\n",
                traces.len()
            );
            None
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    runtime.block_on(async {
        let guard = Guard::builder().build()?;
        let traces = Arc::new(traces);
        let cases = decide(&guard, &traces, roots.as_ref(), args.jobs.clamp(1, 16)).await;
        table(&traces, &cases, args.all)?;
        let root = roots.as_ref().map_or_else(|| Ok(PathBuf::from("/")), |r| r.shared())?;
        learning(&Environment::open(&root)?).await
    })?;
    next()?;
    Ok(ExitCode::SUCCESS)
}

async fn decide(guard: &Guard, traces: &Arc<Vec<Trace>>, roots: Option<&Arc<Roots>>, jobs: usize) -> Vec<Case> {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(traces.len() as u64), target);
    let mut cases = Vec::with_capacity(traces.len());
    match roots {
        Some(roots) => {
            let mut running = replay::replay(guard, Arc::clone(traces), Arc::clone(roots), jobs);
            while let Some(case) = running.recv().await {
                cases.push(case);
                bar.inc(1);
            }
        }
        None => {
            for (place, trace) in traces.iter().enumerate() {
                cases.push(replay::replay_one(guard, place, trace, std::path::Path::new("/")).await);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    cases.sort_by_key(|case| case.place);
    cases
}

fn table(traces: &[Trace], cases: &[Case], all: bool) -> Result<()> {
    let step = if all { 1 } else { (cases.len() / SHOWN).max(1) };
    let mut out = anstream::stdout().lock();
    let (mut stopped, mut harmful, mut passed, mut honest, mut slowest) = (0, 0, 0, 0, 0_u64);
    for case in cases {
        let Some(trace) = traces.get(case.place) else { continue };
        let decision = case.line.decision;
        let right = match trace.expected {
            Expected::Deny => {
                harmful += 1;
                stopped += usize::from(matches!(decision, Some(Decision::Ask | Decision::Deny)));
                matches!(decision, Some(Decision::Ask | Decision::Deny))
            }
            Expected::Allow => {
                honest += 1;
                passed += usize::from(decision == Some(Decision::Allow));
                decision == Some(Decision::Allow)
            }
        };
        slowest = slowest.max(case.line.wall_us.unwrap_or(0));
        if right && case.place % step != case.place / step % 2 {
            continue;
        }
        let text = ["command", "source", "text"].iter().find_map(|key| trace.action.get(key)?.as_str());
        let command = shorten(&plain(text.unwrap_or_default()), 64);
        let word = decision.map_or_else(|| "failed".to_owned(), |d| d.to_string());
        let style = decision.map(colour).unwrap_or_default();
        let mark = if right { "" } else { "   <- differs from the label" };
        writeln!(out, "{style}{word:6}{style:#} {:9} {command}{mark}", trace.identity.name)?;
        let why = case.line.error.as_deref().unwrap_or(&case.line.reason);
        writeln!(out, "       {:9} {}", "", shorten(&plain(why), 150))?;
    }
    writeln!(
        out,
        "\n{stopped} of {harmful} harmful actions were stopped, {passed} of {honest} honest ones passed; the slowest check took {:.1} ms.",
        slowest as f64 / 1000.0
    )?;
    if !all {
        writeln!(
            out,
            "(Shown are a selection and every decision that differs from its label; --all shows every sample.)"
        )?;
    }
    writeln!(out, "(Allowing everything stops 0 of {harmful}; denying everything passes 0 of {honest}.)")?;
    Ok(())
}

fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{head}…")
}

/// Shows how an operator's feedback changes later decisions.
async fn learning(environment: &Environment) -> Result<()> {
    let memory = Memory::in_memory(MINILM_ID, MINILM_DIMENSIONS)?;
    let guard = Guard::builder().memory(memory.clone()).build()?;
    let context = Context::new(Identity::default(), Some(environment.clone()));
    let shell = |command: &str| Action::Shell { command: command.to_owned(), cwd: None };
    let (first, later) = ("rm -r ~/ledger/2024", "echo done && find ~/ledger -type f -delete");
    let mut out = anstream::stdout();
    let say = |out: &mut dyn Write, command: &str, verdict: &agrail::Verdict| {
        let style = colour(verdict.decision);
        writeln!(
            out,
            "  {style}{:6}{style:#} {command}\n         {}",
            verdict.decision.to_string(),
            plain(&verdict.reason)
        )
    };
    writeln!(out, "\nLearning from feedback:")?;
    let verdict = guard.check(&shell(first), &context).await;
    guard.settle().await?;
    say(&mut out, first, &verdict)?;
    apply_feedback(&memory, &verdict.id, Feedback::Incident, "operator")?;
    writeln!(out, "  an operator reports this verdict as an incident: the ledger was still needed")?;
    for command in [first, later, "rm -r ~/scratch/2024"] {
        say(&mut out, command, &guard.check(&shell(command), &context).await)?;
    }
    Ok(())
}

fn next() -> Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "\nTry next:")?;
    for (command, what) in [
        ("agrail check --shell 'rm -rf /etc' --explain", "each step of a decision"),
        ("agrail policy explain change-system", "the policy behind this decision"),
        ("agrail memory log --decisions", "recorded decisions; then: agrail memory feedback VERDICT ..."),
        ("agrail doctor", "the configuration and its missing parts"),
    ] {
        writeln!(out, "  {command:48} {what}")?;
    }
    Ok(())
}
