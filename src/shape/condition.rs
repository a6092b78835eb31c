//! A condition with the examples behind it.

use super::reasoned::{self, agree, by_reason, may_agree, said};
use super::{Event, Family, Honest, Literal, Pattern, Slot, induce, of, words};
use crate::clock::now_ms;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Number of reports from which on a rule is not widened by fewer than half as many.
const MANY: usize = 3;
/// Most reports of one person that count.
const OF_ONE: usize = 3;
/// How long a report counts, in milliseconds: a year. Then the rule asks again, unless it was confirmed.
const COUNTS: i64 = 365 * 86_400_000;
/// Most examples, and most counterexamples, that a condition keeps.
const EXAMPLES: usize = 32;
/// Most words of an exception that a sentence shows.
const EXCEPTED: usize = 4;

/// One action that was reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The id of its verdict.
    pub verdict: String,
    /// Who reported it.
    pub by: String,
    /// What it did.
    pub events: Vec<Event>,
    /// What it told in words. Absent in rules of earlier releases.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) told: String,
    /// What the reporter said was wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// What a recorded decision says of the action.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Recorded {
    /// What it did; absent in records of earlier releases.
    #[serde(default)]
    pub events: Vec<Event>,
}

/// A disjunction of patterns, and the examples from which it was induced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The patterns; one is enough.
    pub patterns: Vec<Pattern>,
    /// What was reported.
    pub examples: Vec<Example>,
    /// What was stopped without reason.
    #[serde(default)]
    pub against: Vec<Example>,
    /// An operator has confirmed it as it stands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// It covers what repeats an example, and nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The facts about which a person has answered how far it reaches.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub settled: BTreeSet<Literal>,
}

impl Example {
    /// When the action was decided, in milliseconds since 1970: the time in the id of its verdict.
    fn made_ms(&self) -> Option<i64> {
        let id = ulid::Ulid::from_string(&self.verdict).ok()?;
        i64::try_from(id.timestamp_ms()).ok()
    }
}

impl Condition {
    /// The condition of one example. `honest`: the events of the record that nobody reported.
    #[must_use]
    pub(crate) fn of(example: Example, honest: &Honest) -> Self {
        let patterns = induce::alone(&example, honest);
        Self { patterns, examples: vec![example], ..Self::default() }
    }

    /// The condition that covers what repeats one example.
    #[must_use]
    pub(crate) fn exactly(example: Example) -> Self {
        Self { patterns: induce::exactly(&example), examples: vec![example], exact: true, ..Self::default() }
    }

    /// The condition that covers one more example by the same pattern; `None` if there is none that leaves the honest
    /// record alone.
    #[must_use]
    pub(crate) fn with(&self, example: Example, honest: &Honest) -> Option<(Self, i32)> {
        self.merged(&Self { examples: vec![example], ..Self::default() }, honest)
    }

    /// The condition that covers the examples of two by one pattern; `None` if there is none that leaves the honest record
    /// alone. A few reports do not widen a rule that many stand behind.
    #[must_use]
    pub(crate) fn merged(&self, other: &Self, honest: &Honest) -> Option<(Self, i32)> {
        // what a narrowed rule covers already leaves its exceptions alone
        if !self.against.is_empty() && !self.exact && other.examples.iter().all(|example| self.matches(&example.events))
        {
            let mut more = self.clone();
            more.examples.extend(other.examples.iter().take(EXAMPLES.saturating_sub(self.examples.len())).cloned());
            more.keep_covered([other]);
            return Some((more, i32::MAX));
        }
        let vague = !self.may_be_one_with(other) && self.are_vague(other, honest);
        if !self.may_be_one_with(other) && !vague && !self.share_a_name(other, honest) {
            return None;
        }
        let (most, least) = {
            let (own, others) = (self.examples.len(), other.examples.len());
            (own.max(others), own.min(others))
        };
        let (mut examples, mut against) = (self.examples.clone(), self.against.clone());
        examples.extend(other.examples.iter().cloned());
        against.extend(other.against.iter().cloned());
        against.truncate(EXAMPLES);
        let settled = &self.settled | &other.settled;
        let mut merged = Self { examples, against, settled, ..Self::default() };
        let (patterns, rank) = induce(&merged.examples, &merged.honest(honest))?;
        if vague && patterns.iter().any(induce::is_of_all) {
            return None;
        }
        // the first reports stay, so that later ones cannot push them out
        merged.examples.truncate(EXAMPLES);
        // two rules that trouble nobody do not become one that does
        let troubles = |pattern: &Pattern| !honest.is_quiet(pattern);
        if patterns.first().is_some_and(troubles) && !self.patterns.iter().chain(&other.patterns).any(troubles) {
            return None;
        }
        let known = |pattern: &Pattern| self.patterns.iter().chain(&other.patterns).any(|known| known == pattern);
        let widens = !patterns.first().is_some_and(known);
        merged.patterns = patterns;
        merged.keep_covered([self, other]);
        // a confirmation is of what was shown
        merged.confirmed = [self, other].iter().any(|old| old.confirmed && old.patterns == merged.patterns);
        let milder = (self.is_firm() || other.is_firm()) && !merged.is_firm();
        (!milder && (!widens || most < MANY || 2 * least >= most)).then_some((merged, rank))
    }

    /// Keeps what others covered: a report makes nothing milder.
    fn keep_covered<'o>(&mut self, others: impl IntoIterator<Item = &'o Self>) {
        // what covers repetitions alone is covered by whatever its examples are
        for old in others.into_iter().filter(|other| !other.exact).flat_map(|other| &other.patterns) {
            if !self.patterns.iter().any(|new| new == old || new.is_wider_than(old)) {
                self.patterns.push(old.clone());
            }
        }
    }

    /// The condition of several that a pattern has in common that no two of them have; `None` if there is none, or if one
    /// of them denies already.
    #[must_use]
    pub(crate) fn common(all: &[&Self], honest: &Honest) -> Option<Self> {
        let apart = |one: &&Self| all.iter().any(|other| !one.may_be_one_with(other) && !one.are_vague(other, honest));
        if all.iter().any(|one| one.is_firm() || apart(one)) {
            return None;
        }
        let mut whole = Self {
            examples: all.iter().flat_map(|one| &one.examples).cloned().collect(),
            against: all.iter().flat_map(|one| &one.against).cloned().collect(),
            settled: all.iter().flat_map(|one| &one.settled).cloned().collect(),
            ..Self::default()
        };
        (whole.patterns, _) = induce(&whole.examples, &whole.honest(honest))?;
        let vague = all.iter().any(|one| all.iter().any(|other| !one.may_be_one_with(other)));
        if vague && whole.patterns.iter().any(induce::is_of_all) {
            return None;
        }
        whole.keep_covered(all.iter().copied());
        whole.examples.truncate(EXAMPLES);
        whole.against.truncate(EXAMPLES);
        Some(whole)
    }

    /// Whether nothing that reporters said keeps two conditions apart.
    fn may_be_one_with(&self, other: &Self) -> bool {
        let (own, others) = (self.reasons(), other.reasons());
        own.is_empty() || others.is_empty() || own.iter().any(|one| others.iter().any(|other| agree(one, other)))
    }

    /// Whether nobody said anything by which two conditions could be told apart.
    fn are_vague(&self, other: &Self, honest: &Honest) -> bool {
        let all: Vec<&Example> = self.examples.iter().chain(&other.examples).collect();
        reasoned::say_nothing(&all, honest)
    }

    /// Whether two conditions share what reporters said, though in other words: a name that each of them said, or one that
    /// is no plain word.
    fn share_a_name(&self, other: &Self, honest: &Honest) -> bool {
        let all: Vec<Example> = self.examples.iter().chain(&other.examples).cloned().collect();
        let near = || self.reasons().iter().any(|one| other.reasons().iter().any(|other| may_agree(one, other)));
        let telling =
            |pattern: &Pattern| reasoned::is_distinct(pattern) || near() && reasoned::is_said_by_each(pattern, &all);
        by_reason(&all, honest).is_some_and(|(pattern, quiet)| quiet && telling(&pattern))
    }

    /// Whether reporters gave the same reason for both, and only the actions of this one name what it says.
    #[must_use]
    pub(crate) fn is_clearer_than(&self, other: &Self) -> bool {
        let same = !self.reasons().is_empty() && !other.reasons().is_empty() && self.may_be_one_with(other);
        // each reporter by the words of the other: one's own words cannot make a colleague's report doubtful
        let said = said(&other.examples.iter().collect::<Vec<_>>());
        let is_named = |example: &Example| reasoned::is_named(example, &said);
        same && self.examples.iter().all(is_named) && !other.examples.iter().any(is_named)
    }

    /// The condition after a reporter has said what was wrong with its one example; as wide as before, or wider.
    #[must_use]
    pub(crate) fn explained(&self, example: Example, honest: &Honest) -> Self {
        let mut explained = Self::of(example, &self.honest(honest));
        explained.settled.clone_from(&self.settled);
        explained.keep_covered([self]);
        explained
    }

    /// The words that all its examples name.
    #[must_use]
    pub(crate) fn words(&self) -> BTreeSet<&str> {
        let of = |example: &'_ Example| -> BTreeSet<String> {
            let mentions = example.events.iter().filter(|event| event.family == Family::Mention);
            mentions.flat_map(|event| event.of(Slot::Word)).map(str::to_owned).collect()
        };
        let Some((first, rest)) = self.examples.split_first() else { return BTreeSet::new() };
        let rest: Vec<BTreeSet<String>> = rest.iter().map(of).collect();
        let mentions = first.events.iter().filter(|event| event.family == Family::Mention);
        let words = mentions.flat_map(|event| event.of(Slot::Word));
        words.filter(|word| induce::is_telling(word) && rest.iter().all(|other| other.contains(*word))).collect()
    }

    /// The condition after one of its actions turned out to be right: the same examples, divided among as many patterns
    /// as it takes. An example of which it is the repetition is given up.
    #[must_use]
    pub(crate) fn without(&self, wrong: Example, honest: &Honest) -> Self {
        let repeats =
            |example: &Example| example.events.iter().any(|event| self.covers(event) && wrong.events.contains(event));
        let (against, settled) = (self.against.clone(), self.settled.clone());
        let mut kept = Self { against, settled, ..Self::default() };
        kept.examples = self.examples.iter().filter(|example| !repeats(example)).cloned().collect();
        if kept.against.len() < EXAMPLES {
            kept.against.push(wrong.clone());
        }
        let honest = kept.honest(honest);
        if let Some((patterns, _)) = induce(&kept.examples, &honest) {
            return Self { patterns, ..kept };
        }
        if let Some(patterns) = self.excepting(&wrong, &kept.examples) {
            return Self { patterns, confirmed: self.confirmed, ..kept };
        }
        let mut parts: Vec<(Vec<Example>, Vec<Pattern>)> = Vec::new();
        for example in &kept.examples {
            let joined = parts.iter_mut().find_map(|(examples, patterns)| {
                let mut more = examples.clone();
                more.push(example.clone());
                (*patterns, _) = induce(&more, &honest)?;
                *examples = more;
                Some(())
            });
            if joined.is_none() {
                parts.push((vec![example.clone()], induce::alone(example, &honest)));
            }
        }
        kept.patterns = parts.into_iter().flat_map(|(_, patterns)| patterns).collect();
        kept
    }

    /// Its patterns with a counterexample as an exception; `None` if it has nothing that the examples lack.
    fn excepting(&self, wrong: &Example, examples: &[Example]) -> Option<Vec<Pattern>> {
        let mut patterns = self.patterns.clone();
        for pattern in &mut patterns {
            let reported = examples.iter().flat_map(|example| &example.events);
            let known: BTreeSet<Literal> =
                reported.filter(|event| pattern.matches(event)).flat_map(|event| event.literals.clone()).collect();
            for event in wrong.events.iter().filter(|event| pattern.matches(event)).collect::<Vec<_>>() {
                let own: BTreeSet<Literal> = event.literals.difference(&known).cloned().collect();
                if own.is_empty() || event.more {
                    return None;
                }
                pattern.unless.push(own);
            }
        }
        (!examples.is_empty()).then_some(patterns)
    }

    /// Whether one of the events is covered.
    #[must_use]
    pub(crate) fn matches(&self, events: &[Event]) -> bool {
        if self.exact {
            return self.repeats(events);
        }
        events.iter().any(|event| self.covers(event))
    }

    /// Whether an action does again what an example did.
    #[must_use]
    pub(crate) fn repeats(&self, events: &[Event]) -> bool {
        let covered = self.examples.iter().flat_map(|example| &example.events).filter(|event| self.covers(event));
        let mut reported = covered.chain(self.examples.iter().flat_map(|example| self.done_by(example)));
        reported
            .any(|known| events.iter().any(|event| event == known || event.is_within(known) || event.adds_to(known)))
    }

    /// The commands and calls by which an example did what its reason names.
    fn done_by<'e>(&'e self, example: &'e Example) -> impl Iterator<Item = &'e Event> {
        let patterns = self.patterns.iter().filter(|pattern| pattern.family == Family::Mention);
        let patterns = patterns.filter(|pattern| example.events.iter().any(|event| pattern.matches(event)));
        let names: BTreeSet<&str> = patterns.flat_map(|pattern| of(&pattern.literals, Slot::Named)).collect();
        let has = move |event: &&Event| {
            let words =
                event.literals.iter().filter(|literal| !matches!(literal.0, Slot::Does | Slot::Kind | Slot::How));
            event.family != Family::Mention
                && words.flat_map(|literal| words::names(&literal.1).0).any(|name| names.contains(name.as_str()))
        };
        example.events.iter().filter(has)
    }

    /// Whether it would be as wide without the reports of any one person: two or more others remain, and they have no target,
    /// subcommand or tool in common that its patterns do not name.
    fn stands_without_any(&self) -> bool {
        let people: BTreeSet<&str> = self.examples.iter().map(|example| example.by.as_str()).collect();
        people.iter().all(|person| {
            let others = self.examples.iter().filter(|example| example.by.as_str() != *person);
            let covered: Vec<&Event> =
                others.filter_map(|example| example.events.iter().find(|event| self.covers(event))).collect();
            let Some((first, rest)) = covered.split_first().filter(|(_, rest)| !rest.is_empty()) else { return false };
            let mut shared =
                first.literals.iter().filter(|literal| rest.iter().all(|event| event.literals.contains(literal)));
            let wide = |literal: &&Literal| {
                matches!(literal.0, Slot::First | Slot::At | Slot::Named | Slot::Tool)
                    && !self.patterns.iter().flat_map(|pattern| &pattern.literals).any(|own| own.1 == literal.1)
            };
            !shared.any(|literal| wide(&literal))
        })
    }

    /// The reports that count: the same action once, of one person no more than [`OF_ONE`], and none older than [`COUNTS`].
    fn support(&self) -> u64 {
        let mut of: BTreeMap<&str, Vec<&[Event]>> = BTreeMap::new();
        let since = now_ms().saturating_sub(COUNTS);
        for example in self.examples.iter().filter(|example| example.made_ms().is_none_or(|made| made >= since)) {
            let own = of.entry(&example.by).or_default();
            if own.len() < OF_ONE && !own.contains(&example.events.as_slice()) {
                own.push(&example.events);
            }
        }
        of.values().map(|own| own.len() as u64).sum()
    }

    /// Whether enough independent reports stand behind it to stop an action without a question, whoever's are left out: the
    /// lower end of the 95 % interval of a Beta posterior (one report and one false alarm counted before any came) is above one half.
    #[must_use]
    pub fn is_firm(&self) -> bool {
        if self.confirmed {
            return true;
        }
        if !self.stands_without_any() {
            return false;
        }
        let (reports, alarms) = (self.support(), self.against.len() as u64);
        let all = reports + alarms + 1;
        // P(p <= 1/2) of Beta(reports + 1, alarms + 1) is a tail of the binomial distribution
        let mut ways = 1.0_f64;
        let mut tail = 0.0;
        for chosen in 0..=all {
            if chosen > reports {
                tail += ways;
            }
            ways *= (all - chosen) as f64 / (chosen + 1) as f64;
        }
        tail / 2.0_f64.powi(i32::try_from(all).unwrap_or(i32::MAX)) <= 0.05
    }

    /// What reporters said was wrong, each reason once.
    #[must_use]
    pub fn reasons(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for reason in self.examples.iter().filter_map(|example| example.reason.as_deref()) {
            if !found.contains(&reason) {
                found.push(reason);
            }
        }
        found
    }

    /// Whether it covers an action on record, from the JSON text of its record.
    #[must_use]
    pub fn covers_record(&self, record: &str) -> bool {
        serde_json::from_str::<Recorded>(record).is_ok_and(|recorded| self.matches(&recorded.events))
    }

    /// What it covers, in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut said: Vec<String> = self.patterns.iter().map(sentence).collect();
        said.sort();
        said.dedup();
        let only = if self.exact { "exactly " } else { "" };
        format!("{only}{}", said.join("; or "))
    }

    fn covers(&self, event: &Event) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(event))
    }

    /// The honest side with the counterexamples.
    pub(super) fn honest(&self, record: &Honest) -> Honest {
        let against = self.against.iter().flat_map(|example| &example.events);
        Honest { passed: against.chain(&record.passed).cloned().collect(), asked: record.asked.clone() }
    }
}

/// A pattern in words.
pub(super) fn sentence(pattern: &Pattern) -> String {
    let mut said = covered(pattern);
    for one in &pattern.unless {
        let named = one.iter().filter(|literal| !matches!(literal.0, Slot::Below | Slot::Does | Slot::Kind));
        let words: Vec<&str> = named.map(|literal| literal.1.as_str()).take(EXCEPTED).collect();
        let ways: Vec<&str> = of(one, Slot::How).chain(of(one, Slot::Does)).take(1).collect();
        let (how, what) = if words.is_empty() { ("to", ways) } else { ("with", words) };
        said.push_str(&format!(", except {how} {}", what.join(" and ")));
    }
    said
}

/// What a pattern covers but for its exceptions, in words.
fn covered(pattern: &Pattern) -> String {
    let all = |slot: Slot| of(&pattern.literals, slot).collect::<Vec<_>>();
    let list = |slot: Slot| all(slot).join(" and ");
    let does = all(Slot::Does).into_iter().find(|verb| *verb != "act");
    match pattern.family {
        Family::Place => {
            let verb = does.unwrap_or("touch");
            let what = match (all(Slot::Named).first(), all(Slot::Ends).first()) {
                (Some(name), _) => (*name).to_owned(),
                (None, Some(ending)) => format!("a file *{ending}"),
                (None, None) => String::new(),
            };
            let place = match (all(Slot::At).first(), all(Slot::Below).last()) {
                (Some(at), _) => (*at).to_owned(),
                (None, Some(below)) if what.is_empty() => format!("{below} or something below it"),
                (None, Some(below)) => format!("below {below}"),
                (None, None) => String::new(),
            };
            [verb, &what, &place].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        }
        Family::Thing => {
            let (kind, within) = (list(Slot::Kind), list(Slot::Below));
            let name = if all(Slot::At).is_empty() { format!("in {within}") } else { list(Slot::At) };
            format!("{} the {kind} {name}", does.unwrap_or("touch"))
        }
        Family::Call => {
            let tool = list(Slot::Tool);
            let name = match does {
                _ if !tool.is_empty() => format!("call a tool whose name has {tool}"),
                Some(verb) => format!("call a tool that does '{verb}'"),
                None => "call a tool that acts".to_owned(),
            };
            let values = list(Slot::Value);
            if values.is_empty() { name } else { format!("{name}, with {values}") }
        }
        Family::Mention => {
            let names: Vec<&str> = all(Slot::Word).into_iter().chain(all(Slot::Named)).collect();
            format!("{} {}", does.unwrap_or("act on"), names.join(" and "))
        }
        Family::Said => format!("say '{}'", list(Slot::Value)),
        Family::Command | Family::Plain => {
            let first: Vec<&str> = all(Slot::First);
            let pairs = all(Slot::Pair);
            let paired = |word: &str| pairs.iter().any(|pair| pair.split(' ').any(|one| one == word));
            let words = all(Slot::Word).into_iter().filter(|word| !first.contains(word) && !paired(word));
            let first = first.iter().copied().filter(|word| !paired(word));
            let with: Vec<&str> = first.chain(pairs.iter().copied()).chain(words).chain(all(Slot::Option)).collect();
            let program = list(Slot::Program);
            if with.is_empty() {
                format!("run {program}")
            } else {
                format!("run {program} with {}", with.join(" and "))
            }
        }
    }
}

impl Pattern {
    /// The literal by which an index finds it.
    pub(crate) fn anchor(&self) -> Option<&Literal> {
        let order =
            [Slot::At, Slot::Below, Slot::Value, Slot::Named, Slot::Tool, Slot::Program, Slot::Ends, Slot::Word];
        order.iter().find_map(|slot| self.literals.iter().rev().find(|literal| literal.0 == *slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that four people reported so many days ago.
    fn reported(days: i64) -> Condition {
        let event = |word: &str| Event {
            family: Family::Command,
            literals: BTreeSet::from([
                Literal(Slot::Program, "shipctl".to_owned()),
                Literal(Slot::Word, word.to_owned()),
            ]),
            spreads: false,
            more: false,
        };
        let made = u64::try_from(now_ms() - days * 86_400_000).unwrap_or_default();
        let example = |(number, by): (u128, &str)| Example {
            verdict: ulid::Ulid::from_parts(made, number).to_string(),
            by: by.to_owned(),
            events: vec![event(by)],
            told: String::new(),
            reason: None,
        };
        let literals = BTreeSet::from([Literal(Slot::Program, "shipctl".to_owned())]);
        Condition {
            patterns: vec![Pattern::new(Family::Command, literals)],
            examples: (0..).zip(["ann", "ben", "cem", "dan"]).map(example).collect(),
            ..Condition::default()
        }
    }

    #[test]
    fn old_reports_no_longer_deny() {
        assert!(reported(1).is_firm() && reported(300).is_firm());
        let old = reported(400);
        assert!(!old.is_firm() && old.matches(&old.examples.iter().flat_map(|e| e.events.clone()).collect::<Vec<_>>()));
        assert!(Condition { confirmed: true, ..old }.is_firm());
    }
}
