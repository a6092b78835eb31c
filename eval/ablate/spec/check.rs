//! Validates the values of an experiment file.

use super::{Arm, Experiment};
use anyhow::{Result, ensure};
use std::fmt::Display;

const PLOTS: &[&str] = &["learning-curve", "safety", "cost", "threshold", "accuracy"];
const MODES: &[&str] = &["rules", "tiered", "llm", "paper"];
const MEMORIES: &[&str] = &["none", "frozen", "random", "tta", "ours", "feedback"];
const RECALLS: &[&str] = &["both", "rules", "meaning"];
const CRITERIA: &[&str] = &["universal", "task"];

impl Experiment {
    /// Validates everything except the arms.
    pub(super) fn check(&self) -> Result<()> {
        let question = self.question.trim();
        ensure!(
            question.len() > 1 && question.ends_with('?') && !question.contains('\n'),
            "question = \"{question}\" is not a question; write one sentence that ends in '?'"
        );
        ensure!(
            self.traces.is_empty() == self.organisation.is_some(),
            "name either traces, at least one trace file (JSON lines), or organisation, a folder"
        );
        ensure!(!self.seeds.is_empty(), "seeds = [] leaves nothing to run; give at least one, e.g. [1, 2, 3]");
        for (place, seed) in self.seeds.iter().enumerate() {
            ensure!(!self.seeds.iter().take(place).any(|s| s == seed), "seeds has {seed} twice; each must differ");
        }
        for (key, value) in [("limit", self.limit), ("steps", self.steps)] {
            ensure!(value != Some(0), "{key} = 0 leaves nothing to run; it must be at least 1");
        }
        let least = if self.balance { 2 } else { 1 };
        ensure!(self.limit.is_none_or(|most| most >= least), "limit = 1 with balance = true; limit must be at least 2");
        for plot in &self.plots {
            one_of("plots", plot, PLOTS)?;
        }
        ensure!(!self.arms.is_empty(), "arm is missing; write at least one [[arm]] table");
        Ok(())
    }
}

impl Arm {
    /// Validates everything except the name.
    pub(super) fn check(&self) -> Result<()> {
        one_of("mode", &self.mode, MODES)?;
        one_of("memory", &self.memory, MEMORIES)?;
        one_of("criteria", &self.criteria, CRITERIA)?;
        share("similarity", self.similarity.into(), self.similarity)?;
        share("corrupt", self.corrupt, self.corrupt)?;
        share("poison", self.poison, self.poison)?;
        one_of("recall", &self.recall, RECALLS)?;
        let learns_first = !self.learn_on.is_empty();
        ensure!(
            !learns_first || self.memory == "frozen",
            "learn_on with memory = \"{}\"; memory must be \"frozen\", because nothing is learnt after learn_on",
            self.memory
        );
        let named = self.model.as_ref().is_none_or(|model| !model.trim().is_empty());
        ensure!(named, "model is empty; name a model, or remove the key to use the model of the command line");
        Ok(())
    }
}

fn one_of(key: &str, value: &str, allowed: &[&str]) -> Result<()> {
    ensure!(allowed.contains(&value), "{key} = \"{value}\" is unknown; allowed are {}", allowed.join(", "));
    Ok(())
}

/// Validates a share; `shown` is the value as written in the file.
fn share(key: &str, value: f64, shown: impl Display) -> Result<()> {
    ensure!((0.0..=1.0).contains(&value), "{key} = {shown} is out of range; allowed is 0 to 1");
    Ok(())
}
