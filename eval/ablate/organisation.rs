//! Rules of an organisation that operators' reports teach: the cases of an experiment whose `organisation` names a folder.
//!
//! 1. `rules.jsonl` has one rule per line: ten actions that break it, which may be reported, six others that break it, and
//!    nine honest ones. `setup.sh` makes the machine.
//! 2. Before the cases of an arm, the first three honest actions of each rule are checked, as history. Then [`REPORTS`]
//!    actions of each rule are checked and reported with its reason; which ones, the seed decides.
//! 3. `poison` is the share of reports that are wrong: an operator reports an honest action instead.
//! 4. An action that the rules stop without any memory counts as allowed, unless a violation of something learnt stands.
//! 5. The cases are what nobody reported: the six that break the rule, and the honest ones that are no history. All arms
//!    have the same cases: what one of them reports wrongly is a case of none.

use super::arm::{Decider, Shared};
use super::spec::Arm;
use agrail::Guard;
use agrail::learn::Feedback;
use agrail::replay::{self, Trace, sandbox::Roots};
use agrail::verdict::{Mode, Verdict};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

/// Number of reports about each rule.
const REPORTS: usize = 3;
/// Number of honest actions of each rule that are history.
const HISTORY: usize = 3;

/// One rule of an organisation.
#[derive(Debug, Clone, Deserialize)]
pub struct Rule {
    rule: String,
    /// `done` or `said`.
    kind: String,
    reason: String,
    /// The reason of each report, if reporters differ.
    #[serde(default)]
    reasons: Vec<String>,
    report: Vec<Value>,
    held: Vec<Value>,
    honest: Vec<Value>,
}

/// An organisation.
#[derive(Debug, Clone)]
pub struct Organisation {
    rules: Vec<Rule>,
    setup: String,
}

/// What an operator does before the cases of an arm.
pub struct Lesson {
    /// The action.
    pub trace: Trace,
    /// The reason with which it is reported; `None` for an action that only becomes history.
    pub reason: Option<String>,
}

impl Organisation {
    /// Loads the folder of an organisation.
    ///
    /// # Errors
    /// If a file cannot be read, or a line is not a rule.
    pub fn load(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let lines = read("rules.jsonl")?;
        let rule = |(number, line): (usize, std::io::Result<String>)| {
            serde_json::from_str(&line?).with_context(|| format!("rules.jsonl:{}", number + 1))
        };
        let rules: Vec<Rule> = BufReader::new(&lines[..]).lines().enumerate().map(rule).collect::<Result<_>>()?;
        Ok(Self { rules, setup: String::from_utf8(read("setup.sh")?)? })
    }

    /// What is taught before the cases: first the history, then the reports in the order of the seed.
    ///
    /// # Errors
    /// If a rule has no action that may be reported.
    pub fn lessons(&self, seed: u64, poison: f64) -> Result<Vec<Lesson>> {
        let mut lessons = Vec::new();
        for rule in &self.rules {
            for (place, action) in rule.honest.iter().take(HISTORY).enumerate() {
                lessons.push(Lesson { trace: self.trace(rule, "history", place, action, "allow")?, reason: None });
            }
        }
        let wrong = self.wrong(seed, poison);
        for (place, rule) in self.rules.iter().enumerate() {
            for (number, at) in shuffled(rule.report.len(), mixed(seed, place)).into_iter().take(REPORTS).enumerate() {
                let poisoned = wrong.contains(&(place, number));
                let (name, at, action) = match poisoned.then(|| poisoned_at(rule, seed, place, number)).flatten() {
                    Some((at, action)) => ("honest", at, action),
                    None => ("report", at, rule.report.get(at).context("a rule has no report")?),
                };
                let trace = self.trace(rule, name, at, action, "deny")?;
                let reason = rule.reasons.get(at).unwrap_or(&rule.reason).clone();
                lessons.push(Lesson { trace, reason: Some(reason) });
            }
        }
        Ok(lessons)
    }

    /// The cases: what is neither history nor reported, whichever of these shares of the reports is wrong.
    ///
    /// # Errors
    /// If an action cannot be read.
    pub fn cases(&self, seed: u64, poisons: &[f64], each: Option<usize>) -> Result<Vec<Trace>> {
        let mut taught = BTreeSet::new();
        for &poison in poisons {
            taught.extend(self.lessons(seed, poison)?.into_iter().map(|lesson| lesson.trace.id));
        }
        let mut found = Vec::new();
        for rule in &self.rules {
            let held = rule.held.iter().enumerate().map(|(at, action)| self.trace(rule, "held", at, action, "deny"));
            let honest = rule.honest.iter().enumerate().skip(HISTORY);
            let honest = honest.map(|(at, action)| self.trace(rule, "honest", at, action, "allow"));
            let most = each.unwrap_or(usize::MAX);
            let untaught = |trace: &Result<Trace>| trace.as_ref().map_or(true, |trace| !taught.contains(&trace.id));
            for trace in held.take(most).chain(honest.filter(untaught).take(most)) {
                found.push(trace?);
            }
        }
        Ok(found)
    }

    /// Teaches an arm: its history by checks, and its reports by feedback. An arm without feedback only meets the actions.
    ///
    /// # Errors
    /// If the guard fails, or the memory refuses a report.
    pub async fn teach(&self, arm: &Arm, seed: u64, file: &Path, shared: &Shared, roots: &Arc<Roots>) -> Result<()> {
        if arm.memory == "none" {
            return Ok(());
        }
        let told = matches!(arm.memory.as_str(), "feedback" | "ours");
        // feedback needs the record alone; a procedure that learns from episodes has to meet them
        let teacher = if told { Arm { mode: "rules".to_owned(), ..arm.clone() } } else { arm.clone() };
        let Decider::Guard(guard) = super::arm::build(&teacher, seed, file, shared)? else { return Ok(()) };
        let lessons = self.lessons(seed, arm.poison)?;
        let count = lessons.len();
        for (place, Lesson { trace, reason }) in lessons.into_iter().enumerate() {
            let verdict = checked(&guard, &trace, roots).await?;
            guard.settle().await?;
            eprintln!("{} seed {seed} lesson {}/{count}: {} {}", arm.name, place + 1, trace.id, verdict.decision);
            if let Some((reason, memory)) = reason.zip(guard.memory()).filter(|_| told) {
                memory.report(&verdict.id, Feedback::Incident, &reason, "operator")?;
            }
        }
        Ok(())
    }

    /// Which reports are wrong: (rule, number).
    fn wrong(&self, seed: u64, poison: f64) -> BTreeSet<(usize, usize)> {
        let all: Vec<(usize, usize)> =
            (0..self.rules.len()).flat_map(|rule| (0..REPORTS).map(move |number| (rule, number))).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small number")]
        let count = (all.len() as f64 * poison).round() as usize;
        let chosen = shuffled(all.len(), mixed(seed, usize::MAX)).into_iter().take(count);
        chosen.filter_map(|at| all.get(at).copied()).collect()
    }

    fn trace(&self, rule: &Rule, name: &str, at: usize, action: &Value, expected: &str) -> Result<Trace> {
        let trace = json!({
            "id": format!("{}/{name}/{at}", rule.rule),
            "dataset": "organisation",
            "tags": [rule.kind],
            "action": action,
            "environment": {"setup": self.setup},
            "expected": expected,
        });
        serde_json::from_value(trace).with_context(|| format!("rule {}: {name} {at}", rule.rule))
    }
}

/// The decision of the rules without a memory.
///
/// # Errors
/// If the guard cannot be built, or the machine cannot be made.
pub async fn baseline(trace: &Trace, roots: &Arc<Roots>) -> Result<String> {
    let guard = Guard::builder().with(|s| s.mode = Mode::Rules).build()?;
    Ok(checked(&guard, trace, roots).await?.decision.to_string())
}

/// Checks the action of a trace on its machine.
async fn checked(guard: &Guard, trace: &Trace, roots: &Arc<Roots>) -> Result<Verdict> {
    let (maker, id, setup) = (Arc::clone(roots), trace.id.clone(), trace.environment.setup.clone());
    let root = tokio::task::spawn_blocking(move || maker.case(&id, setup.as_deref())).await??;
    let (action, context) = replay::put(trace, &root.path())?;
    let verdict = guard.check(&action, &context).await;
    tokio::task::spawn_blocking(move || drop(root)).await?;
    Ok(verdict)
}

/// An honest action of a rule that is reported wrongly.
fn poisoned_at(rule: &Rule, seed: u64, place: usize, number: usize) -> Option<(usize, &Value)> {
    let order = shuffled(rule.honest.len().saturating_sub(HISTORY), mixed(seed, place));
    let at = HISTORY + order.get(number)?;
    Some((at, rule.honest.get(at)?))
}

fn mixed(seed: u64, place: usize) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(place as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1
}

/// The numbers below `count` in the order of a seed.
fn shuffled(count: usize, mut state: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(place, usize::try_from(state % (place as u64 + 1)).unwrap_or(0));
    }
    order
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taught_is_not_asked_and_wrong_reports_are_a_share() {
        let organisation = Organisation::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("organisation")).unwrap();
        let rules = organisation.rules.len();
        assert!(rules >= 12);
        for (poison, wrong) in [(0.0, 0), (0.2, (rules * REPORTS + 2) / 5)] {
            let lessons = organisation.lessons(1, poison).unwrap();
            let (history, reports): (Vec<_>, Vec<_>) = lessons.iter().partition(|lesson| lesson.reason.is_none());
            assert_eq!((history.len(), reports.len()), (rules * HISTORY, rules * REPORTS));
            let of_honest = reports.iter().filter(|lesson| lesson.trace.id.contains("/honest/")).count();
            assert_eq!(of_honest, wrong);
            let cases = organisation.cases(1, &[0.0, poison], None).unwrap();
            assert_eq!(cases.len(), rules * 12 - wrong);
            assert!(cases.iter().all(|case| lessons.iter().all(|lesson| lesson.trace.id != case.id)));
        }
        let ids = |seed| organisation.lessons(seed, 0.2).unwrap().into_iter().map(|l| l.trace.id).collect::<Vec<_>>();
        assert!(ids(1) == ids(1) && ids(1) != ids(2));
    }
}
