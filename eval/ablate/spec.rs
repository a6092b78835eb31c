//! The experiment file (`eval/experiments/*.toml`): one question, and the arms that answer it.
//!
//! A file may contain the fields of [`Experiment`] and [`Arm`]. Any other key is an error that names the file, the key
//! and the allowed values.

mod check;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One question, and the arms that answer it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The question: one sentence that ends in a question mark.
    #[serde(default)]
    pub question: String,
    /// Heading of the report; default: the name of the file.
    #[serde(default)]
    pub title: String,
    /// Trace files, relative to the working directory.
    #[serde(default)]
    pub traces: Vec<PathBuf>,
    /// Folder of an organisation, whose rules reports teach before the cases; instead of `traces`. `limit` is then the number
    /// of cases of each rule and kind.
    #[serde(default)]
    pub organisation: Option<PathBuf>,
    /// Only cases with this tag.
    #[serde(default)]
    pub filter: Option<String>,
    /// Use as many cases to allow as to deny.
    #[serde(default)]
    pub balance: bool,
    /// Maximum number of cases.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Seeds; each defines one order of the cases. Default: 1, 2 and 3.
    #[serde(default = "seeds")]
    pub seeds: Vec<u64>,
    /// Length of a sequence; cases repeat in new orders to fill it. Default: each case once.
    #[serde(default)]
    pub steps: Option<usize>,
    /// Plots: `learning-curve`, `safety`, `cost`, `threshold`, `accuracy`. Default: safety and accuracy.
    #[serde(default = "plots")]
    pub plots: Vec<String>,
    /// The arms to compare.
    #[serde(default, rename = "arm")]
    pub arms: Vec<Arm>,
}

/// A decider and its memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Name in tables and plots.
    #[serde(default)]
    pub name: String,
    /// `rules`, `tiered`, `llm` (default) or `paper`.
    #[serde(default = "llm")]
    pub mode: String,
    /// `none`, `frozen`, `random`, `tta`, `feedback` (only what operators say) or `ours` (default).
    #[serde(default = "ours")]
    pub memory: String,
    /// Recall by the step-back paraphrase.
    #[serde(default = "yes")]
    pub paraphrase: bool,
    /// The executor may call tools.
    #[serde(default = "yes")]
    pub tools: bool,
    /// Analyzer and executor are two calls.
    #[serde(default = "yes")]
    pub executor: bool,
    /// Minimum cosine for the recall of an entry; default: 0.8.
    #[serde(default = "threshold")]
    pub similarity: f32,
    /// `universal` (default) or `task`.
    #[serde(default = "universal")]
    pub criteria: String,
    /// Family of actions whose examples this arm leaves out of its prompts: the family of the cases, so that the model is
    /// not tested on examples that it has seen.
    #[serde(default)]
    pub leave_out: Option<String>,
    /// Share of the model's replies that are damaged, 0..=1.
    #[serde(default)]
    pub corrupt: f64,
    /// With an organisation: share of the reports that are wrong, 0..=1.
    #[serde(default)]
    pub poison: f64,
    /// With an organisation: what recalls, `both` (default), `rules` or `meaning`.
    #[serde(default = "both")]
    pub recall: String,
    /// Trace files to learn from first; then the memory is frozen.
    #[serde(default)]
    pub learn_on: Vec<PathBuf>,
    /// Model of this arm; default: the model of the command line.
    #[serde(default)]
    pub model: Option<String>,
}

fn seeds() -> Vec<u64> {
    vec![1, 2, 3]
}

fn plots() -> Vec<String> {
    vec!["safety".to_owned(), "accuracy".to_owned()]
}

fn llm() -> String {
    "llm".to_owned()
}

fn ours() -> String {
    "ours".to_owned()
}

fn universal() -> String {
    "universal".to_owned()
}

fn yes() -> bool {
    true
}

fn both() -> String {
    "both".to_owned()
}

fn threshold() -> f32 {
    0.8
}

/// Loads an experiment.
///
/// # Errors
/// If the file cannot be read, is not TOML, or has an invalid key or value. The message names the file and the key.
pub fn load(path: &Path) -> Result<Experiment> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    parse(&text, &name).with_context(|| format!("experiment {}", path.display()))
}

/// Parses an experiment; `name` is the title if the text has none.
fn parse(text: &str, name: &str) -> Result<Experiment> {
    let mut experiment: Experiment = toml::from_str(text)?;
    if experiment.title.trim().is_empty() {
        name.clone_into(&mut experiment.title);
    }
    experiment.check()?;
    let mut files: HashMap<String, &str> = HashMap::new();
    for (place, arm) in experiment.arms.iter().enumerate() {
        ensure!(!arm.name.trim().is_empty(), "[[arm]] {}: name is missing; each arm needs a unique name", place + 1);
        // the same replacement as in the names of the memory files
        let file = arm.name.replace(|c: char| !c.is_alphanumeric(), "-");
        if let Some(other) = files.insert(file, &arm.name) {
            bail!("arm \"{}\": name is too similar to \"{other}\"; letters and digits must differ", arm.name);
        }
        arm.check().with_context(|| format!("arm \"{}\"", arm.name))?;
    }
    Ok(experiment)
}

#[cfg(test)]
mod tests;
