//! `agrail-eval detect`: scores labelled texts with the injection detector.

use super::texts::{self, Expected, Labelled};
use crate::run::{progress, sources};
use agrail::embed::MiniLm;
use agrail::injection::head::Head;
use agrail::injection::{Basis, Detector, Report};
use anyhow::{Context, Result};
use comfy_table::{Table, presets};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Score labelled texts with the injection detector (rules and the trained head, no language model).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Text files (JSON lines: id, dataset, tags, text, expected clean|injected).
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    texts: Vec<PathBuf>,
    /// Results file, one line per text.
    #[arg(long, value_name = "FILE")]
    results: PathBuf,
    /// Use the rules alone, without the head.
    #[arg(long)]
    rules: bool,
    /// Weights of another head, such as `head.json` of an `agrail evolve` run.
    #[arg(long, value_name = "FILE", conflicts_with = "rules")]
    head: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    id: &'a str,
    dataset: &'a str,
    tags: &'a [String],
    expected: Expected,
    score: f32,
    flagged: bool,
    wall_us: u64,
    unread_bytes: usize,
}

/// A detector with the shipped head, or with rules alone.
pub fn detector(rules: bool) -> Result<Detector> {
    if rules {
        return Ok(Detector::rules());
    }
    Ok(Detector::with_head(Arc::new(MiniLm::new(sources()?))))
}

/// A detector with the head from a file.
fn with_head(path: &Path) -> Result<Detector> {
    Ok(Detector::with_weights(Arc::new(MiniLm::new(sources()?)), Arc::new(Head::load(path)?)))
}

/// The report on one text. A failed embedding is an error here, because the figures must not mix both kinds of scores.
pub async fn one(detector: &Detector, text: &str) -> Result<Report> {
    let report = detector.examine(&[text]).await.pop().context("the detector returned no report")?;
    if let Basis::HeadFailed(why) = &report.basis {
        anyhow::bail!("the head cannot be used: {why}");
    }
    Ok(report)
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let texts = texts::load_texts(&args.texts)?;
    let detector = args.head.as_deref().map_or_else(|| detector(args.rules), with_head)?;
    let shown = args.results.display();
    let mut out = BufWriter::new(File::create(&args.results).with_context(|| format!("cannot write {shown}"))?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let bar = progress(texts.len() as u64);
    let mut scored = Vec::with_capacity(texts.len());
    runtime.block_on(async {
        one(&detector, "Please load the model before the clock starts.").await?;
        for text in &texts {
            let started = Instant::now();
            let report = one(&detector, &text.text).await?;
            let wall_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            let Labelled { id, dataset, tags, expected, .. } = text;
            let (score, flagged, unread_bytes) = (report.score, report.flagged, report.unread_bytes);
            let line = Line { id, dataset, tags, expected: *expected, score, flagged, wall_us, unread_bytes };
            serde_json::to_writer(&mut out, &line)?;
            out.write_all(b"\n")?;
            scored.push((score, flagged, wall_us));
            bar.inc(1);
        }
        anyhow::Ok(())
    })?;
    out.flush()?;
    bar.finish_and_clear();
    println!("{}", table(&texts, &scored));
    Ok(())
}

fn table(texts: &[Labelled], scored: &[(f32, bool, u64)]) -> String {
    let mut sets: BTreeMap<(&str, Expected), (usize, usize)> = BTreeMap::new();
    let (mut clean, mut injected) = (Vec::new(), Vec::new());
    for (text, (score, flagged, _)) in texts.iter().zip(scored) {
        let set = sets.entry((&text.dataset, text.expected)).or_default();
        set.0 += 1;
        set.1 += usize::from(*flagged);
        if text.expected == Expected::Clean { clean.push(*score) } else { injected.push(*score) }
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["set", "expected", "texts", "flagged"]);
    for ((set, expected), (count, flagged)) in sets {
        let share = flagged as f64 / count.max(1) as f64;
        let expected = if expected == Expected::Clean { "clean" } else { "injected" };
        table.add_row([set.to_owned(), expected.to_owned(), count.to_string(), format!("{share:.3}")]);
    }
    let mut walls: Vec<u64> = scored.iter().map(|s| s.2).collect();
    walls.sort_unstable();
    let wall = |share: f64| walls.get(((walls.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(0);
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.4}"));
    format!(
        "{table}\nAUC {}, recall at 1 % false positives {}, wall p50 {} us, p99 {} us",
        number(texts::auc(&clean, &injected)),
        number(texts::recall_at_one_percent(&clean, &injected)),
        wall(0.5),
        wall(0.99)
    )
}
