//! The shape of an action: what it does, as events of literals that a learnt condition can name.
//!
//! 1. An [`Event`] is one thing that an action does: a change or a look at a path, an effect on another kind of target
//!    (a table, a host), a call of a tool, a command with its words. `events.rs` derives the events of an action from its
//!    effects and from the commands that the parser found, also inside wrappers, scripts and variables; `mention.rs` makes
//!    one of all that it names.
//! 2. A [`Literal`] is one fact of an event: the verb, the path and each folder above it, the program, a word, an option,
//!    a word of the tool's name, a value of its arguments.
//! 3. A [`Pattern`] is a conjunction of literals over one event. `induce.rs` finds the smallest one that covers every
//!    reported example and nothing of the honest record.
//! 4. A [`Condition`] is a disjunction of patterns with the examples behind it.
//! 5. `question.rs` finds the question about a condition whose answer the record needs most.
//! 6. `reasoned.rs` finds what the reasons of reports and the reported actions both name.
//! 7. `told.rs` derives what an action tells in words. Its meaning is compared elsewhere; here, a text is equal or not.
//! 8. `cedar.rs` writes patterns as policies.
//! 9. A [`Shape`] is an action in normal form with its effects; a [`Widening`] says which of its arguments may differ.
//!
//! This room knows neither memory nor policy: it turns actions into literals, and literals into patterns.

mod arguments;
mod cedar;
mod condition;
mod events;
mod induce;
mod mention;
mod question;
mod reasoned;
mod told;
mod words;

pub(crate) use arguments::{EFFECTS, arguments, is_switch};
pub use arguments::{Line, Shape, Widening};
pub(crate) use cedar::forbid;
pub(crate) use condition::Recorded;
pub use condition::{Condition, Example};
pub(crate) use events::{CHANGE, events, group, is_statement};
pub(crate) use induce::induce;
pub(crate) use question::Pair;
pub(crate) use reasoned::statement;
pub(crate) use told::told;

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whether a value of an argument of a tool is of the kind of another one ([`Widening`]).
#[must_use]
pub(crate) fn is_alike(value: &str, other: &str) -> bool {
    arguments::alike(value, other, true).is_some()
}

/// What a literal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// The verb of an effect or of a tool.
    Does,
    /// In which way a file is changed; `Does` counts all ways as one.
    How,
    /// The kind of a target that is no path.
    Kind,
    /// The target itself.
    At,
    /// The target, or a folder above it.
    Below,
    /// A name: the last part of a path, a column, a switch that is on, any name in the words of a mention.
    Named,
    /// The extension of a path.
    Ends,
    /// The program of a command.
    Program,
    /// The first operand of a command, if it is a plain word: often the subcommand.
    First,
    /// A word among the operands and values of a command.
    Word,
    /// Two plain words of a command that stand side by side: often a subcommand of a subcommand.
    Pair,
    /// An option of a command; a parameter of a tool; of a mention, a name that is only that of a parameter.
    Option,
    /// A word of the name of a tool or its server.
    Tool,
    /// A value of an argument of a tool.
    Value,
}

/// One fact of an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Literal(pub Slot, pub String);

/// The kind of an event. Only events of one kind are generalised with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// An effect on a path.
    Place,
    /// An effect on another kind of target.
    Thing,
    /// A call of a tool.
    Call,
    /// A command.
    Command,
    /// A command that only works on files, which its effects on them describe better.
    Plain,
    /// Everything that the action names, and all that it does.
    Mention,
    /// A message.
    Said,
}

/// One thing that an action does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// Its kind.
    pub family: Family,
    /// Its facts.
    pub literals: BTreeSet<Literal>,
    /// It reaches everything below its target, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spreads: bool,
    /// It has more words or values than are compared: any of them may be among the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// A conjunction of literals over one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The kind of event.
    pub family: Family,
    /// The literals, all of which an event must have.
    pub literals: BTreeSet<Literal>,
    /// What false positives had beside them and no report: an event that has all of one set is not covered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<BTreeSet<Literal>>,
}

/// The honest side of the record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Honest {
    /// What actions did that passed and that nobody reported. No pattern covers any of it.
    pub passed: Vec<Event>,
    /// What actions would have done that a person was asked about. A pattern that covers none of it is preferred.
    pub asked: Vec<Event>,
}

impl Honest {
    /// Whether a pattern covers nothing that a person was asked about.
    fn is_quiet(&self, pattern: &Pattern) -> bool {
        !self.asked.iter().any(|event| pattern.matches(event))
    }

    /// All events.
    fn all(&self) -> impl Iterator<Item = &Event> {
        self.passed.iter().chain(&self.asked)
    }
}

impl Event {
    /// Whether it does the same to the same target, or to something below it.
    pub(crate) fn is_within(&self, known: &Self) -> bool {
        let does = |event: &Self| event.of(Slot::Does).map(str::to_owned).collect::<BTreeSet<_>>();
        let place = |at: &str| self.of(Slot::Below).any(|below| below == at);
        let thing = |at: &str| self.of(Slot::At).any(|own| own == at);
        self.family == known.family
            && does(self) == does(known)
            && match self.family {
                Family::Place => known.of(Slot::At).all(|at| place(at) || self.reaches(at)),
                Family::Thing => known.of(Slot::At).all(thing),
                Family::Call | Family::Command | Family::Plain | Family::Mention | Family::Said => false,
            }
    }

    /// Whether it is the same command with more words: another operand, a variable before it.
    fn adds_to(&self, known: &Self) -> bool {
        let added = || self.literals.difference(&known.literals);
        matches!(self.family, Family::Command | Family::Plain)
            && self.family == known.family
            && known.literals.is_subset(&self.literals)
            && added().all(|literal| matches!(literal.0, Slot::Word | Slot::Pair))
    }

    /// Whether it spreads to a place below its target.
    fn reaches(&self, place: &str) -> bool {
        // what a wildcard leaves open ends as it says
        let whole = self.of(Slot::Named).next().is_some();
        let ends = || self.of(Slot::Ends).all(|ending| place.ends_with(ending));
        self.spreads && (whole || ends()) && self.of(Slot::At).any(|at| at == "/" || is_below(place, at))
    }

    /// Whether it is a call that tells somebody a text: two calls of the same tool may have nothing else in common.
    fn tells(&self) -> bool {
        let acts = |does: &str| ["delete", "call code", "write access", "send payment"].contains(&does);
        self.family == Family::Call && self.of(Slot::Value).any(told::is_prose) && !self.of(Slot::Does).any(acts)
    }

    /// The values of a slot.
    pub(crate) fn of(&self, slot: Slot) -> impl Iterator<Item = &str> {
        of(&self.literals, slot)
    }
}

impl Pattern {
    /// Whether it covers every event that another one covers. The verbs of a tool or a program follow from their names.
    pub(crate) fn is_wider_than(&self, other: &Self) -> bool {
        let named = of(&other.literals, Slot::Tool).chain(of(&other.literals, Slot::Program)).next().is_some();
        let implied = |literal: &Literal| {
            let places = || of(&other.literals, Slot::At).chain(of(&other.literals, Slot::Below));
            other.literals.contains(literal)
                || literal.0 == Slot::Does && named
                || literal.0 == Slot::Below && places().any(|at| at == literal.1 || is_below(at, &literal.1))
        };
        let excepted = self.unless.iter().all(|one| other.unless.contains(one));
        self.family == other.family && excepted && self.literals.iter().all(implied)
    }

    /// Whether an event has every literal. An event that spreads also reaches what lies below its target.
    #[must_use]
    pub(crate) fn matches(&self, event: &Event) -> bool {
        self.family == event.family
            && !self.unless.iter().any(|one| one.is_subset(&event.literals))
            && self.literals.iter().all(|literal| {
                event.literals.contains(literal)
                    || matches!(literal.0, Slot::At | Slot::Below) && event.reaches(&literal.1)
                    || matches!(literal.0, Slot::Named | Slot::Ends) && self.is_inside(event)
                    || event.more && event.family == Family::Mention && literal.0 == Slot::Named
                    || event.more
                        && matches!(literal.0, Slot::First | Slot::Word | Slot::Pair | Slot::Option | Slot::Value)
            })
    }
}

impl Pattern {
    /// A pattern without exceptions.
    fn new(family: Family, literals: BTreeSet<Literal>) -> Self {
        Self { family, literals, unless: Vec::new() }
    }

    /// The pattern of a rule that covers only repetitions, as a pattern of its own: the same to the same place, or below it.
    pub(crate) fn repeated(&self) -> Self {
        if self.family != Family::Place {
            return self.clone();
        }
        let literals = self.literals.iter().filter_map(|literal| match literal.0 {
            Slot::Does => Some(literal.clone()),
            Slot::At => Some(Literal(Slot::Below, literal.1.clone())),
            _ => None,
        });
        Self::new(self.family, literals.collect())
    }

    /// Whether the event reaches everything below the folder of the pattern.
    fn is_inside(&self, event: &Event) -> bool {
        let whole = event.spreads && event.of(Slot::Named).next().is_some();
        let at = |folder: &str| event.of(Slot::At).any(|at| at == folder) || event.reaches(folder);
        whole && of(&self.literals, Slot::Below).any(at)
    }
}

/// The values of a slot among literals.
fn of(literals: &BTreeSet<Literal>, slot: Slot) -> impl Iterator<Item = &str> {
    literals.iter().filter(move |literal| literal.0 == slot).map(|literal| literal.1.as_str())
}

/// Whether a path lies below a folder.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
