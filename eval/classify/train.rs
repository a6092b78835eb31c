//! `agrail-eval train-classifier`: fits the weights of a classifier of short texts to labelled sentences.
//!
//! 1. Each `.tsv` file of the folder holds the sentences of one writer or emphasis, as `label<TAB>sentence`.
//! 2. The words that occur in two sentences are inputs, beside the embedding; the heads are multinomial.
//! 3. Each file is left out once, and its sentences are classified with the weights of the others. The shipped weights
//!    are fitted to all files.

use crate::run::{progress, sources};
use agrail::classify::Classifier;
use agrail::embed::{Embedder, MINILM_DIMENSIONS, MiniLm};
use anyhow::{Context, Result, anyhow, bail};
use comfy_table::Table;
use linfa::Dataset;
use linfa::traits::Fit;
use linfa_logistic::MultiLogisticRegression;
use ndarray::{Array1, Array2};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Train a classifier of short texts on the labelled sentences of a folder.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder; each .tsv file in it is left out once.
    folder: PathBuf,
    /// Output file for the weights.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Count pairs of neighbouring words as well.
    #[arg(long)]
    pairs: bool,
    /// The share that a label has in use, if it is another than among the sentences: LABEL=SHARE.
    #[arg(long, value_name = "LABEL=SHARE", value_parser = prior)]
    prior: Option<(String, f32)>,
    /// Do not leave out the files; only fit the weights.
    #[arg(long)]
    quick: bool,
}

const PENALTY: f64 = 0.33;
const ITERATIONS: u64 = 300;
/// A word of fewer sentences is no input.
const SENTENCES: usize = 2;

struct Row {
    file: String,
    label: String,
    text: String,
    vector: Vec<f32>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let mut rows = load(&args.folder)?;
    println!("{} sentences", rows.len());
    embed(&mut rows)?;
    if !args.quick {
        left_out(&rows, args.pairs)?;
    }
    let all: Vec<&Row> = rows.iter().collect();
    let mut fitted = fit(&all, args.pairs, SENTENCES)?;
    if let Some((label, share)) = &args.prior {
        let at = fitted.labels.iter().position(|one| one == label).context("no sentence has the label of --prior")?;
        let own = rows.iter().filter(|row| row.label == *label).count() as f32 / rows.len() as f32;
        let odds = |share: f32| (share / (1.0 - share)).ln();
        fitted.bias.get_mut(at).into_iter().for_each(|bias| *bias += odds(*share) - odds(own));
    }
    let fitted = rounded(fitted);
    println!("{} words", fitted.words.len());
    if !fitted.is_sound(MINILM_DIMENSIONS) {
        bail!("a weight is not a finite number");
    }
    std::fs::write(
        &args.out,
        serde_json::to_string(&fitted)?.replace("},\"", "},\n\"").replace("]],\"", "]],\n\"") + "\n",
    )
    .with_context(|| format!("cannot write {}", args.out.display()))
}

fn prior(text: &str) -> Result<(String, f32)> {
    let (label, share) = text.split_once('=').context("expected LABEL=SHARE")?;
    let share: f32 = share.parse()?;
    if !(0.01..=0.99).contains(&share) {
        bail!("the share must be between 0.01 and 0.99");
    }
    Ok((label.to_owned(), share))
}

fn load(folder: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|one| one == "tsv"))
        .collect();
    files.sort();
    for path in files {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (label, text) = line.split_once('\t').with_context(|| format!("{file}: no tab in {line:?}"))?;
            let (file, label, text) = (file.clone(), label.to_owned(), text.to_owned());
            rows.push(Row { file, label, text, vector: Vec::new() });
        }
    }
    Ok(rows)
}

fn embed(rows: &mut [Row]) -> Result<()> {
    let embedder = MiniLm::new(sources()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bar = progress(rows.len() as u64);
    for row in rows {
        let mut vectors = runtime.block_on(embedder.embed(&[&row.text]))?;
        row.vector = vectors.pop().context("the embedder returned no vector")?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A classifier without weights: its words, and their inverse document frequencies.
fn untrained(rows: &[&Row], pairs: bool, sentences: usize) -> Classifier {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        for word in Classifier::features(&row.text, pairs) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let labels: BTreeSet<&String> = rows.iter().map(|row| &row.label).collect();
    let frequency = |count: usize| ((1.0 + rows.len() as f32) / (1.0 + count as f32)).ln() + 1.0;
    let words = counts.into_iter().filter(|(_, count)| *count >= sentences);
    Classifier {
        embedder: agrail::embed::MINILM_ID.to_owned(),
        pairs,
        labels: labels.into_iter().cloned().collect(),
        bias: Vec::new(),
        embedding: Vec::new(),
        words: words.map(|(word, count)| (word, (frequency(count), Vec::new()))).collect(),
    }
}

/// `sentences`: a word of fewer sentences is no input.
fn fit(rows: &[&Row], pairs: bool, sentences: usize) -> Result<Classifier> {
    let mut classifier = untrained(rows, pairs, sentences);
    let at: BTreeMap<&String, usize> = classifier.words.keys().enumerate().map(|(at, word)| (word, at)).collect();
    let mut x = Array2::<f64>::zeros((rows.len(), MINILM_DIMENSIONS + at.len()));
    for (row, mut inputs) in rows.iter().zip(x.rows_mut()) {
        for (value, input) in row.vector.iter().zip(&mut inputs) {
            *input = f64::from(*value);
        }
        for (word, value) in classifier.words_of(&row.text) {
            if let Some(input) = at.get(&word.to_owned()).and_then(|at| inputs.get_mut(MINILM_DIMENSIONS + at)) {
                *input = f64::from(value);
            }
        }
    }
    let label = |row: &&Row| classifier.labels.iter().position(|label| *label == row.label).unwrap_or_default();
    let y: Array1<usize> = rows.iter().map(label).collect();
    let settings = MultiLogisticRegression::default().alpha(PENALTY).max_iterations(ITERATIONS);
    let fitted = settings.fit(&Dataset::new(x, y)).map_err(|e| anyhow!("{e}"))?;
    // one column for each label
    let weights: Vec<Vec<f32>> =
        fitted.params().columns().into_iter().map(|column| column.iter().map(|w| *w as f32).collect()).collect();
    let bias = fitted.intercept().iter().map(|b| *b as f32).collect();
    classifier.bias = bias;
    classifier.embedding = weights.iter().map(|all| all.iter().take(MINILM_DIMENSIONS).copied().collect()).collect();
    for (at, (_, own)) in classifier.words.values_mut().enumerate() {
        *own = weights.iter().filter_map(|all| all.get(MINILM_DIMENSIONS + at).copied()).collect();
    }
    Ok(classifier)
}

/// Prints how the sentences of each file are classified with the weights of the other files.
fn left_out(rows: &[Row], pairs: bool) -> Result<()> {
    let files: BTreeSet<&String> = rows.iter().map(|row| &row.file).collect();
    let mut table = Table::new();
    table.set_header(["left out", "sentences", "correct", "by the embedding alone", "most frequent label"]);
    for file in files {
        let (own, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.file == *file);
        let (classifier, without) = (fit(&others, pairs, SENTENCES)?, fit(&others, pairs, usize::MAX)?);
        let correct = |by: &Classifier| own.iter().filter(|row| label_of(by, row) == Some(row.label.as_str())).count();
        let counts = own.iter().fold(BTreeMap::<&str, usize>::new(), |mut counts, row| {
            *counts.entry(&row.label).or_default() += 1;
            counts
        });
        let most = counts.values().max().copied().unwrap_or_default();
        let share = |count: usize| format!("{:.3}", count as f64 / own.len().max(1) as f64);
        let shares = [correct(&classifier), correct(&without), most].map(share);
        table.add_row([file.clone(), own.len().to_string()].into_iter().chain(shares));
    }
    println!("{table}");
    Ok(())
}

fn label_of<'c>(classifier: &'c Classifier, row: &Row) -> Option<&'c str> {
    let scores = classifier.probabilities(&row.text, &row.vector);
    let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?.0;
    classifier.labels.get(best).map(String::as_str)
}

fn rounded(mut classifier: Classifier) -> Classifier {
    let round = |weights: &mut Vec<f32>| weights.iter_mut().for_each(|w| *w = (*w * 1000.0).round() / 1000.0);
    round(&mut classifier.bias);
    classifier.embedding.iter_mut().for_each(round);
    for (frequency, weights) in classifier.words.values_mut() {
        *frequency = (*frequency * 100.0).round() / 100.0;
        weights.iter_mut().for_each(|w| *w = (*w * 100.0).round() / 100.0);
    }
    classifier
}
