//! The one question whose answer says most about how far a rule reaches.
//!
//! 1. A rule from few reports may be about what all of them share, or about one fact of it: "every `git push`, or only to
//!    `release`?". For each fact there are two conditions, and what a person was asked about on record tells them apart.
//! 2. The question is the pair that most of the record tells apart. If none is told apart, there is none: the answer would
//!    change nothing that ever happened.
//! 3. Neither condition covers anything that passed and that nobody reported, and a verb, a program or a tool is never left
//!    out.

use super::condition::sentence;
use super::{Condition, Event, Family, Honest, Literal, Pattern, Slot, of};
use std::collections::BTreeSet;

/// The slots that a question may be about.
const ASKED: [Slot; 6] = [Slot::Word, Slot::Option, Slot::Value, Slot::At, Slot::Below, Slot::Named];

/// Two conditions, one of which is that of the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Place of the pattern in the condition.
    place: usize,
    /// What the question is about.
    pub about: Literal,
    /// The pattern without it.
    pub every: Pattern,
    /// The pattern with it.
    pub only: Pattern,
    /// How many things that a person was asked about on record the two tell apart.
    pub differ: usize,
    /// Whether the rule now covers every one of them.
    pub is_wide: bool,
}

impl Pair {
    /// Both in words.
    pub fn sentences(&self) -> (String, String) {
        (sentence(&self.every), sentence(&self.only))
    }

    /// Whether an event belongs to `every` and not to `only`.
    pub fn tells(&self, event: &Event) -> bool {
        self.every.matches(event) && !self.only.matches(event)
    }
}

impl Condition {
    /// The question whose answer the record needs most; `None` if there is none.
    pub(crate) fn question(&self, record: &Honest) -> Option<Pair> {
        if self.exact {
            return None;
        }
        let honest = self.honest(record);
        let pairs =
            self.patterns.iter().enumerate().flat_map(|(place, pattern)| {
                self.wider(place, pattern).into_iter().chain(self.narrower(place, pattern))
            });
        let open = pairs.filter(|pair| !self.settled.contains(&pair.about));
        let differ = |mut pair: Pair| {
            let told = honest.asked.iter().filter(|event| pair.tells(event));
            // what another pattern covers stays covered
            let others = |event: &&Event| {
                !self.patterns.iter().enumerate().any(|(other, pattern)| other != pair.place && pattern.matches(event))
            };
            pair.differ = told.filter(others).count();
            pair
        };
        let free = |pair: &Pair| !honest.passed.iter().any(|event| pair.every.matches(event));
        let pairs = open.map(differ).filter(|pair| pair.differ > 0 && free(pair));
        pairs.max_by(|one, other| (one.differ, &other.about).cmp(&(other.differ, &one.about)))
    }

    /// The condition after the answer `every`.
    pub(crate) fn with_every(&self, pair: &Pair) -> Self {
        let mut wider = self.clone();
        if !pair.is_wide
            && let Some(pattern) = wider.patterns.get_mut(pair.place)
        {
            *pattern = pair.every.clone();
            // a confirmation is of what was shown
            wider.confirmed = false;
        }
        wider.settled.insert(pair.about.clone());
        wider
    }

    /// The condition after the answer `only`. `others`: actions on record that belong to `every` alone.
    pub(crate) fn with_only(&self, pair: &Pair, others: Vec<super::Example>, record: &Honest) -> Self {
        let mut narrower = self.clone();
        if pair.is_wide {
            for other in others {
                narrower = narrower.without(other, record);
            }
            if narrower.patterns.contains(&pair.every) {
                narrower.patterns.retain(|pattern| *pattern != pair.every);
                narrower.patterns.push(pair.only.clone());
            }
            // what was reported stays covered
            if !narrower.examples.iter().all(|example| narrower.matches(&example.events)) {
                narrower.patterns.push(pair.only.clone());
            }
        }
        narrower.settled.insert(pair.about.clone());
        narrower
    }

    /// The pairs in which the rule is the narrow one.
    fn wider(&self, place: usize, only: &Pattern) -> Vec<Pair> {
        let facts = only.literals.iter().filter(|literal| ASKED.contains(&literal.0));
        let without = facts.filter_map(|about| {
            let mut every = only.clone();
            every.literals.remove(about);
            match about.0 {
                // two words side by side
                Slot::Word => {
                    every.literals.retain(|other| other.0 != Slot::Pair || !other.1.split(' ').any(|w| w == about.1))
                }
                Slot::At => {
                    let above = about.1.rsplit_once('/').map(|(folder, _)| folder.to_owned());
                    every.literals.retain(|other| !matches!(other.0, Slot::Below | Slot::Named | Slot::Ends));
                    every.literals.insert(Literal(Slot::Below, above?));
                }
                _ => {}
            }
            says_something(&every).then(|| Pair {
                place,
                about: about.clone(),
                every,
                only: only.clone(),
                differ: 0,
                is_wide: false,
            })
        });
        without.collect()
    }

    /// The pairs in which the rule is the wide one: facts that all its examples have beside the pattern.
    fn narrower(&self, place: usize, every: &Pattern) -> Vec<Pair> {
        let mut shared: Option<BTreeSet<Literal>> = None;
        for example in &self.examples {
            let own: BTreeSet<Literal> = example
                .events
                .iter()
                .filter(|event| every.matches(event))
                .flat_map(|event| &event.literals)
                .filter(|literal| ASKED.contains(&literal.0) && !every.literals.contains(literal))
                .cloned()
                .collect();
            // an example of another pattern says nothing
            if example.events.iter().any(|event| every.matches(event)) {
                shared = Some(shared.map_or_else(|| own.clone(), |shared| &shared & &own));
            }
        }
        let with = shared.unwrap_or_default().into_iter().map(|about| {
            let mut only = every.clone();
            only.literals.insert(about.clone());
            Pair { place, about, every: every.clone(), only, differ: 0, is_wide: true }
        });
        with.collect()
    }
}

/// Whether a pattern still names what it is about.
fn says_something(pattern: &Pattern) -> bool {
    let has = |slot: Slot| of(&pattern.literals, slot).next().is_some();
    match pattern.family {
        Family::Place => {
            of(&pattern.literals, Slot::Below).any(|folder| folder.matches('/').count() > 1)
                || has(Slot::Named)
                || has(Slot::At)
        }
        Family::Thing => has(Slot::At) || has(Slot::Below),
        Family::Call => has(Slot::Tool) || has(Slot::Value),
        Family::Command | Family::Plain => has(Slot::Program) && (has(Slot::Word) || has(Slot::Option)),
        Family::Mention | Family::Said => false,
    }
}
