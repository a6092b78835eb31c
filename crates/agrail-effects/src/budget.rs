//! What reading one action may cost.
//!
//! 1. Counts bound the work, so that the same action has the same reading on every machine: steps of the grammars' parsers,
//!    and bytes that expansions produce. A cached result is charged what it cost at first, so that a second reading ends
//!    where the first did. Readers have further bounds of their own (commands, effects, words, nesting).
//! 2. The CPU time of the thread is bounded, too, in case a count does not see some work. What is unread then is unknown.
//! 3. Readers ask for it in their loops, so that no work goes on for long after the budget is spent.
//!
//! The budget belongs to the thread, because all of a reading happens on one.

use cpu_time::ThreadTime;
use std::cell::RefCell;
use std::time::Duration;

/// Longest CPU time.
pub const TIME: Duration = Duration::from_secs(1);
/// Most steps of parsers: a hundred operations each, after which tree-sitter asks whether to go on.
const STEPS: usize = 6_000;
/// Most bytes that expansions produce.
const BYTES: usize = 8 << 20;
/// How many questions are answered without looking at the clock.
const BETWEEN: u32 = 16;

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    steps: usize,
    bytes: usize,
}

struct Budget {
    since: ThreadTime,
    time: Duration,
    asked: u32,
    cost: Cost,
    spent: bool,
}

thread_local! {
    static BUDGET: RefCell<Option<Budget>> = const { RefCell::new(None) };
}

/// Restores the budget around this one, also if the work panics.
struct Around(Option<Budget>);

impl Drop for Around {
    fn drop(&mut self) {
        let around = self.0.take();
        BUDGET.with_borrow_mut(|budget| *budget = around);
    }
}

/// Does the work within a budget of its own with this CPU time.
pub fn within<T>(time: Duration, work: impl FnOnce() -> T) -> T {
    let new = Budget { since: ThreadTime::now(), time, asked: 0, cost: Cost::default(), spent: false };
    let _around = Around(BUDGET.replace(Some(new)));
    work()
}

/// Does the work within the budget of the thread, or within a usual one if it has none.
pub(crate) fn within_any<T>(work: impl FnOnce() -> T) -> T {
    match BUDGET.with_borrow(Option::is_some) {
        true => work(),
        false => within(TIME, work),
    }
}

/// Whether the budget is spent. Cheap enough for each step of a reader.
#[must_use]
pub fn is_spent() -> bool {
    with(|budget| {
        budget.asked += 1;
        if budget.asked.is_multiple_of(BETWEEN) {
            budget.spent |= budget.since.elapsed() > budget.time;
        }
    })
}

/// Counts a step of a parser; whether the budget is spent.
pub(crate) fn parses() -> bool {
    with(|budget| {
        budget.cost.steps += 1;
        budget.spent |= budget.cost.steps > STEPS || budget.since.elapsed() > budget.time;
    })
}

/// Counts what an expansion produces; whether the budget is spent.
pub(crate) fn produces(bytes: usize) -> bool {
    with(|budget| {
        budget.cost.bytes += bytes;
        budget.spent |= budget.cost.bytes > BYTES;
    })
}

/// Does the work, and measures its cost.
pub(crate) fn costing<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let now = || BUDGET.with_borrow(|budget| budget.as_ref().map(|budget| budget.cost).unwrap_or_default());
    let before = now();
    let done = work();
    let after = now();
    (done, Cost { steps: after.steps - before.steps, bytes: after.bytes - before.bytes })
}

/// Charges the cost of a cached result; whether the budget is spent.
pub(crate) fn charges(cost: Cost) -> bool {
    with(|budget| {
        budget.cost.steps += cost.steps;
        budget.cost.bytes += cost.bytes;
        budget.spent |= budget.cost.steps > STEPS || budget.cost.bytes > BYTES;
    })
}

fn with(change: impl FnOnce(&mut Budget)) -> bool {
    BUDGET.with_borrow_mut(|budget| {
        let Some(budget) = budget else { return false };
        if !budget.spent {
            change(budget);
        }
        budget.spent
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_long_is_unknown() {
        let doubles = format!("a=aaaaaaaa;{}", "a=\"$a$a\";".repeat(1_000));
        let heredocs: String = (0..9_000).map(|number| format!("<<A{number} ")).collect();
        let cases = [
            (doubles, "too"),
            (format!("cat {heredocs}"), "too many here-documents"),
            (format!("cat {}", ">a ".repeat(9_000)), "too many redirections"),
            ("xargs ".repeat(30_000) + "ls", "too many commands"),
            ("eval ".repeat(40_000) + "ls", "too"),
            ("cat|".repeat(60_000) + "cat", "too"),
        ];
        let read = |command: String| {
            let action = crate::Action::Shell { command, cwd: Some("/home/a".into()) };
            crate::extract_effects(&action, crate::Who { name: "a", home: "/home/a" }, &crate::shell::NoFiles).effects
        };
        // nothing is left out of what is run, and the command itself is still read
        let long = "x".repeat(40_000);
        let after = format!("a=('true {long}' '{long}' '\nrm -rf /etc'); bash <<< \"${{a[*]}}\"");
        for command in [after, format!("rm -rf /etc {}", ">a ".repeat(9_000))] {
            let found = read(command);
            let deletes = |effect: &crate::Effect| effect.verb == crate::Verb::Delete && effect.target.name() == "/etc";
            assert!(found.iter().any(deletes), "{found:?}");
        }
        for (command, why) in cases {
            let begin: String = command.chars().take(40).collect();
            let found = read(command);
            let unknown = |effect: &crate::Effect| {
                effect.verb == crate::Verb::Unknown
                    && effect.operation == "budget"
                    && effect.target.name().contains(why)
            };
            assert!(found.iter().any(unknown), "{begin}: {:?}", found.last());
        }
    }

    #[test]
    fn a_cached_result_costs_as_much_as_a_new_one() {
        let action = |number: usize| crate::Action::Shell {
            command: format!(
                "python3 -c 'import os\nx = [{}]\nos.remove(\"/tmp/{number}\")'; echo {}",
                "1, ".repeat(3_000),
                "a ".repeat(900)
            ),
            cwd: Some("/home/a".into()),
        };
        let who = crate::Who { name: "a", home: "/home/a" };
        let cost = |number| {
            let read = || drop(crate::extract_effects(&action(number), who, &crate::shell::NoFiles));
            within(TIME, || costing(read).1)
        };
        let first = cost(1);
        assert!(first.steps > 20 && first == cost(1) && first.steps == cost(2).steps, "{first:?}");
    }

    #[test]
    fn a_budget_ends_by_each_of_its_bounds_and_with_its_work() {
        assert!(!is_spent() && !produces(usize::MAX / 2), "without one, nothing is counted");
        within(TIME, || {
            assert!(!produces(BYTES) && produces(1) && is_spent(), "bytes");
            within(TIME, || assert!(!is_spent(), "one of its own"));
            assert!(is_spent(), "the one around it");
        });
        within(TIME, || assert!((0..STEPS).all(|_| !parses()) && parses(), "steps"));
        within(Duration::ZERO, || assert!((0..=BETWEEN).any(|_| is_spent()), "time"));
        let panics = || within(TIME, || -> () { std::panic::resume_unwind(Box::new(())) });
        let panics = std::panic::catch_unwind(panics);
        assert!(panics.is_err() && !is_spent() && !produces(BYTES + 1), "a panic ends it, too");
    }
}
