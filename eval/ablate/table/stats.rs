//! Statistics for tables and plots: the steps of an arm, values at a step, means and spreads.

use super::super::Step;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Mean and sample standard deviation (n - 1) over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; `None` if there is only one value.
    pub sd: Option<f64>,
    /// Number of values.
    pub n: usize,
}

/// Mean and standard deviation, `None` without values.
#[must_use]
pub fn spread(values: &[f64]) -> Option<Spread> {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (n > 0).then(|| Spread { mean, sd: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()), n })
}

/// The steps of one arm, seed by seed.
///
/// If a step was written twice (by a resumed run), the later line counts.
#[derive(Debug)]
pub struct Course<'a> {
    seeds: BTreeMap<u64, BTreeMap<usize, &'a Step>>,
}

impl<'a> Course<'a> {
    /// The steps of `arm`.
    #[must_use]
    pub fn of(steps: &'a [Step], arm: &str) -> Self {
        let mut seeds: BTreeMap<u64, BTreeMap<usize, &'a Step>> = BTreeMap::new();
        for step in steps.iter().filter(|step| step.arm == arm) {
            seeds.entry(step.seed).or_default().insert(step.step, step);
        }
        Self { seeds }
    }

    /// All steps, by seed and step.
    pub fn steps(&self) -> impl Iterator<Item = &'a Step> {
        self.seeds.values().flat_map(|run| run.values().copied())
    }

    /// The steps at `step`, one for each seed that reached it.
    pub fn at(&self, step: usize) -> impl Iterator<Item = &'a Step> {
        self.seeds.values().filter_map(move |run| run.get(&step).copied())
    }

    /// The last step of any seed.
    #[must_use]
    pub fn last(&self) -> Option<usize> {
        self.seeds.values().filter_map(|run| run.keys().next_back().copied()).max()
    }

    /// The last step of each seed.
    pub fn ends(&self) -> impl Iterator<Item = &'a Step> {
        self.seeds.values().filter_map(|run| run.values().next_back().copied())
    }

    /// Number of different cases.
    #[must_use]
    pub fn cases(&self) -> usize {
        self.steps().map(|step| step.case.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// The spread of a value after `step`: for each seed that reached it, the last known value up to then.
    #[must_use]
    pub fn known(&self, step: usize, of: impl Fn(&Step) -> Option<f64>) -> Option<Spread> {
        let last = |run: &BTreeMap<usize, &'a Step>| run.range(..=step).rev().find_map(|(_, step)| of(step));
        let there = |run: &&BTreeMap<usize, &'a Step>| run.keys().next_back().is_some_and(|end| *end >= step);
        spread(&self.seeds.values().filter(there).filter_map(last).collect::<Vec<_>>())
    }

    /// The last known value of each seed.
    #[must_use]
    pub fn final_known(&self, of: impl Fn(&Step) -> Option<f64>) -> Option<Spread> {
        let last = |run: &BTreeMap<usize, &'a Step>| run.values().rev().find_map(|step| of(step));
        spread(&self.seeds.values().filter_map(last).collect::<Vec<_>>())
    }

    /// A figure of the steps `from..=to`: the mean of each seed, and mean and spread of those.
    #[must_use]
    pub fn mean(&self, from: usize, to: usize, of: impl Fn(&Step) -> f64) -> Option<Spread> {
        let one = |run: &BTreeMap<usize, &'a Step>| {
            let values: Vec<f64> = run.range(from..=to).map(|(_, step)| of(step)).collect();
            run.contains_key(&to).then(|| spread(&values)).flatten().map(|s| s.mean)
        };
        spread(&self.seeds.values().filter_map(one).collect::<Vec<_>>())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::step;
    use super::*;

    #[test]
    fn spread_is_of_the_sample() {
        // Squares 1 + 0 + 1 over n - 1 = 2.
        assert_eq!(spread(&[1.0, 2.0, 3.0]), Some(Spread { mean: 2.0, sd: Some(1.0), n: 3 }));
        assert_eq!(spread(&[4.0]), Some(Spread { mean: 4.0, sd: None, n: 1 }));
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn gaps_keep_the_last_value_but_a_seed_that_stopped_does_not_count() {
        let steps = [
            Step { cosine: Some(0.25), ..step("a", 1, 0) },
            Step { cosine: None, ..step("a", 1, 1) },
            Step { cosine: Some(0.75), ..step("a", 2, 0) },
            Step { cosine: Some(1.0), ..step("b", 1, 0) },
        ];
        let course = Course::of(&steps, "a");
        assert_eq!(course.known(0, |s| s.cosine).unwrap().mean, 0.5);
        assert_eq!(course.known(1, |s| s.cosine), Some(Spread { mean: 0.25, sd: None, n: 1 }));
        assert_eq!(course.final_known(|s| s.cosine).unwrap().mean, 0.5);
        assert_eq!((course.last(), course.ends().count(), course.steps().count()), (Some(1), 2, 3));
    }

    #[test]
    fn a_repeated_step_counts_once_and_the_later_line_wins() {
        let steps = [Step { model_calls: 9, ..step("a", 1, 0) }, step("a", 1, 0), step("a", 1, 1)];
        let course = Course::of(&steps, "a");
        assert_eq!(course.steps().count(), 2);
        assert_eq!(course.mean(0, 1, |s| s.model_calls as f64).unwrap().mean, 2.0);
        assert_eq!(course.mean(0, 2, |s| s.model_calls as f64), None);
    }
}
