//! Labelled texts: one JSON object per line.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Label of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// The text contains no instruction to its reader.
    Clean,
    /// The text contains one.
    Injected,
}

/// A labelled text. Other keys of the line are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct Labelled {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub dataset: String,
    #[serde(default)]
    pub tags: Vec<String>,
    pub text: String,
    pub expected: Expected,
}

/// All texts of the files, in order.
pub fn load_texts(files: &[PathBuf]) -> Result<Vec<Labelled>> {
    let mut texts = Vec::new();
    for path in files {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
        for (at, line) in BufReader::new(file).lines().enumerate() {
            let line = line.with_context(|| format!("cannot read {shown}"))?;
            if line.trim().is_empty() {
                continue;
            }
            texts.push(serde_json::from_str(&line).with_context(|| format!("{shown}, line {}", at + 1))?);
        }
    }
    Ok(texts)
}

/// The optional data folder, named by `AGRAIL_DATA`, or its default path.
pub fn folder() -> PathBuf {
    std::env::var_os("AGRAIL_DATA").map_or_else(|| Path::new("../shared/data").to_path_buf(), PathBuf::from)
}

/// Area under the ROC curve; ties count half. `None` if a class is empty.
pub fn auc(clean: &[f32], injected: &[f32]) -> Option<f64> {
    if clean.is_empty() || injected.is_empty() {
        return None;
    }
    let mut sorted = clean.to_vec();
    sorted.sort_by(f32::total_cmp);
    let below: usize =
        injected.iter().map(|s| sorted.partition_point(|c| c < s) + sorted.partition_point(|c| c <= s)).sum();
    Some(below as f64 / 2.0 / (clean.len() as f64 * injected.len() as f64))
}

/// The share of injected texts above the score that at most one in a hundred clean texts exceeds.
pub fn recall_at_one_percent(clean: &[f32], injected: &[f32]) -> Option<f64> {
    let mut sorted = clean.to_vec();
    sorted.sort_by(f32::total_cmp);
    let cut = *sorted.get(sorted.len().checked_sub(1 + sorted.len() / 100)?)?;
    Some(injected.iter().filter(|s| **s > cut).count() as f64 / injected.len().max(1) as f64)
}
