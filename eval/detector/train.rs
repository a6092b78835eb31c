//! `agrail-eval train-detector`: trains the weights of the injection detector's head.
//!
//! 1. The shipped sentences (`sentences.toml`) are expanded with a fixed seed; the public prompts are sampled evenly.
//! 2. Two linear heads are fitted to their embeddings: hostile or not, order to an assistant or not.
//! 3. Each sentence is put into several places and scored by heads that have not seen its line. The last step is fitted
//!    to these scores: a request is harmless on its own and suspicious inside data.
//! 4. One in a hundred clean segments reaches the threshold. The program prints figures on the sources left out.

use super::texts::{self, Expected};
use crate::run::{progress, sources};
use agrail::embed::{Embedder, MiniLm};
use agrail::injection::directive::directive;
use agrail::injection::head::{Head, Linear, Place, inputs, sigmoid};
use agrail::injection::rule_score;
use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use smartcore::linalg::basic::arrays::Array;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::linear::logistic_regression::{LogisticRegression, LogisticRegressionParameters};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Train the injection detector's head on AGRAIL_DATA/train and on the shipped sentences.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output file for the weights.
    #[arg(long, value_name = "FILE", default_value = "eval/detector/trained.json")]
    out: PathBuf,
    /// Number of expansions of each shipped line.
    #[arg(long, default_value_t = 10)]
    per_line: usize,
    /// Number of prompts of each label from each public file.
    #[arg(long, default_value_t = 700)]
    per_label: usize,
}

const FOLDS: u64 = 4;
const PENALTY: f32 = 0.33;
/// Maximum length of a prompt, bytes; longer ones are left out, because the head scores segments.
const LONGEST: usize = 300;

#[derive(Debug, Deserialize)]
struct Sentences {
    slots: BTreeMap<String, Vec<String>>,
    kind: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    label: Label,
    name: String,
    lines: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Label {
    Hostile,
    Task,
    Plain,
}

/// One sentence or prompt.
#[derive(Debug, Clone)]
struct Row {
    text: String,
    hostile: bool,
    /// Whether the text asks an assistant for something; unknown for public prompts.
    order: Option<bool>,
    /// The kind of the shipped line, or the public file.
    source: String,
    fold: u64,
    vector: Vec<f32>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let mut rows = own(args.per_line)?;
    println!("{} shipped sentences", rows.len());
    rows.extend(public(args.per_label)?);
    println!("{} texts in total", rows.len());
    let embedder = MiniLm::new(sources()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bar = progress(rows.len() as u64);
    for row in &mut rows {
        let mut vectors = runtime.block_on(embedder.embed(&[&row.text]))?;
        row.vector = vectors.pop().context("the embedder returned no vector")?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    left_out(&rows)?;
    let mut odds = vec![(0.0, 0.0); rows.len()];
    for fold in 0..FOLDS {
        let (hostile, order) = heads(rows.iter().filter(|row| row.fold != fold))?;
        for (row, odds) in rows.iter().zip(&mut odds).filter(|(row, _)| row.fold == fold) {
            *odds = (hostile.value(&row.vector), order.value(&row.vector));
        }
    }
    let placed = placed(&rows, &odds);
    let (x, y): (Vec<Vec<f32>>, Vec<bool>) = placed.iter().map(|p| (p.inputs.clone(), p.injected)).unzip();
    let combine = fit(&x, &y, 1.0)?;
    let mut clean: Vec<f32> =
        placed.iter().filter(|p| !p.injected && p.first).map(|p| sigmoid(combine.value(&p.inputs))).collect();
    clean.sort_by(f32::total_cmp);
    let last = clean.len() * 99 / 100;
    let threshold = clean.into_iter().nth(last).context("there is no clean segment to set the threshold")?;
    let found = placed.iter().filter(|p| p.injected);
    let recall = found.clone().filter(|p| sigmoid(combine.value(&p.inputs)) >= threshold).count() as f32
        / found.count().max(1) as f32;
    println!("last step: {:?} {:.3}", combine.weights, combine.bias);
    println!("threshold {threshold:.3}: recall {recall:.3} on segments from lines that the heads have not seen");
    let (hostile, order) = heads(rows.iter())?;
    let head = Head {
        embedder: embedder.id().to_owned(),
        hostile: to_three_places(hostile),
        order: to_three_places(order),
        combine: to_three_places(combine),
        threshold: (threshold * 1000.0).round() / 1000.0,
        spare: None,
        unembedded: None,
    };
    std::fs::write(&args.out, serde_json::to_string(&head)? + "\n")
        .with_context(|| format!("cannot write {}", args.out.display()))
}

/// The expanded sentences of this project.
fn own(per_line: usize) -> Result<Vec<Row>> {
    let file: Sentences = toml::from_str(include_str!("sentences.toml"))?;
    let mut rows = Vec::new();
    for kind in &file.kind {
        for line in &kind.lines {
            let seed = seed(line);
            let mut random = Random(seed);
            let texts: BTreeSet<String> =
                (0..per_line).map(|_| expand(line, &file.slots, &mut random)).collect::<Result<_>>()?;
            rows.extend(texts.into_iter().map(|text| Row {
                text,
                hostile: kind.label == Label::Hostile,
                order: Some(kind.label != Label::Plain),
                source: kind.name.clone(),
                fold: seed % FOLDS,
                vector: Vec::new(),
            }));
        }
    }
    Ok(rows)
}

/// Short prompts from the public files, equally many of each label, evenly spread.
fn public(per_label: usize) -> Result<Vec<Row>> {
    let folder = texts::folder().join("train");
    let mut rows = Vec::new();
    for name in ["neuralchemy", "s-labs"] {
        let path = folder.join(format!("{name}.jsonl"));
        let all = texts::load_texts(std::slice::from_ref(&path))
            .with_context(|| format!("{} is missing; set AGRAIL_DATA to the data folder", path.display()))?;
        for label in [Expected::Clean, Expected::Injected] {
            let of: Vec<&str> =
                all.iter().filter(|t| t.expected == label && t.text.len() < LONGEST).map(|t| t.text.as_str()).collect();
            let step = (of.len() / per_label.max(1)).max(1);
            rows.extend(of.iter().step_by(step).take(per_label).map(|text| Row {
                text: (*text).to_owned(),
                hostile: label == Expected::Injected,
                order: None,
                source: name.to_owned(),
                fold: seed(text) % FOLDS,
                vector: Vec::new(),
            }));
        }
    }
    Ok(rows)
}

/// Replaces every `{slot}` and `{a|b}`, the innermost first.
fn expand(line: &str, slots: &BTreeMap<String, Vec<String>>, random: &mut Random) -> Result<String> {
    let mut text = line.to_owned();
    while let Some(close) = text.find('}') {
        let open = text
            .get(..close)
            .and_then(|before| before.rfind('{'))
            .context("a line in sentences.toml has a } without a {")?;
        let inside = text.get(open + 1..close).unwrap_or_default().to_owned();
        let word = match slots.get(&inside) {
            Some(words) => random.pick(words).cloned(),
            None => random.pick(&inside.split('|').collect::<Vec<_>>()).map(|word| (*word).to_owned()),
        };
        text.replace_range(open..=close, &word.context("a slot in sentences.toml has no words")?);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut chars = words.join(" ").chars().collect::<Vec<_>>().into_iter();
    Ok(chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        of.get(((z ^ (z >> 31)) % of.len().max(1) as u64) as usize)
    }
}

/// FNV-1a.
fn seed(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn heads<'a>(rows: impl Iterator<Item = &'a Row>) -> Result<(Linear, Linear)> {
    let rows: Vec<&Row> = rows.collect();
    let vectors = |rows: &[&Row]| rows.iter().map(|row| row.vector.clone()).collect::<Vec<_>>();
    let hostile = fit(&vectors(&rows), &rows.iter().map(|row| row.hostile).collect::<Vec<_>>(), PENALTY)?;
    let (known, order): (Vec<&Row>, Vec<bool>) = rows.iter().filter_map(|row| Some((*row, row.order?))).unzip();
    Ok((hostile, fit(&vectors(&known), &order, PENALTY)?))
}

fn fit(x: &[Vec<f32>], y: &[bool], penalty: f32) -> Result<Linear> {
    let wide: Vec<Vec<f64>> = x.iter().map(|row| row.iter().map(|v| f64::from(*v)).collect()).collect();
    let x = DenseMatrix::from_2d_vec(&wide).map_err(|e| anyhow!("{e}"))?;
    let y: Vec<i32> = y.iter().map(|y| i32::from(*y)).collect();
    let parameters = LogisticRegressionParameters::default().with_alpha(f64::from(penalty));
    let fitted = LogisticRegression::fit(&x, &y, parameters).map_err(|e| anyhow!("{e}"))?;
    let weights = fitted.coefficients().iterator(0).map(|w| *w as f32).collect();
    let bias = fitted.intercept().iterator(0).next().map(|b| *b as f32).context("the fitted model has no intercept")?;
    Ok(Linear { weights, bias })
}

struct Placed {
    inputs: Vec<f32>,
    injected: bool,
    /// Whether this is the first copy; further copies only add weight.
    first: bool,
}

/// Places every sentence alone, in prose and in structured data.
fn placed(rows: &[Row], odds: &[(f32, f32)]) -> Vec<Placed> {
    let mut placed = Vec::new();
    for (row, odds) in rows.iter().zip(odds) {
        let words = directive(&row.text);
        let (rules, many) = rule_score(&row.text);
        if words.score < 0.8 && rules == 0.0 {
            continue;
        }
        let calm = [0.95, 0.8, 0.6, 0.4].get((seed(&row.text) / FOLDS % 4) as usize).copied().unwrap_or(0.8);
        let alone = Place::default();
        let places =
            [alone, Place { among: true, structured: false, calm }, Place { among: true, structured: true, calm }];
        for place in places {
            let inside = place.among;
            if row.order.is_none() && inside {
                continue; // the label of a public prompt inside data is unknown
            }
            let injected = row.hostile || (inside && row.order == Some(true));
            let copies = if row.order == Some(false) { 3 } else { 1 };
            let inputs = inputs(*odds, rules, many, &words, place).to_vec();
            placed.extend((0..copies).map(|copy| Placed { inputs: inputs.clone(), injected, first: copy == 0 }));
        }
    }
    placed
}

/// Prints the figures of the hostile head for each source when it is left out of training.
fn left_out(rows: &[Row]) -> Result<()> {
    let sources: BTreeSet<&str> = rows.iter().map(|row| row.source.as_str()).collect();
    for source in sources {
        let (hostile, order) = heads(rows.iter().filter(|row| row.source != source))?;
        let of = |wanted: bool| -> Vec<f32> {
            let chosen = rows.iter().filter(|row| row.source == source && row.hostile == wanted);
            chosen.map(|row| hostile.value(&row.vector)).collect()
        };
        let (clean, injected) = (of(false), of(true));
        match (texts::auc(&clean, &injected), texts::recall_at_one_percent(&clean, &injected)) {
            (Some(auc), Some(recall)) => println!("without {source}: AUC {auc:.3}, recall at 1 % {recall:.3}"),
            _ => {
                let own: Vec<&Row> = rows.iter().filter(|row| row.source == source).collect();
                let right = |value: f32, wanted: bool| (value > 0.0) == wanted;
                let share = |count: usize| count as f64 / own.len().max(1) as f64;
                let h = own.iter().filter(|row| right(hostile.value(&row.vector), row.hostile)).count();
                let o = own.iter().filter(|row| right(order.value(&row.vector), row.order == Some(true))).count();
                println!("without \"{source}\": hostile head right on {:.3}, order head on {:.3}", share(h), share(o));
            }
        }
    }
    if rows.is_empty() {
        bail!("there are no texts to train on");
    }
    Ok(())
}

fn to_three_places(linear: Linear) -> Linear {
    let round = |value: f32| (value * 1000.0).round() / 1000.0;
    Linear { weights: linear.weights.into_iter().map(round).collect(), bias: round(linear.bias) }
}
