//! Rules that are induced from operators' reports.
//!
//! 1. A report becomes an example of a rule: of the one whose examples and the new one have the best pattern in common
//!    (`crate::shape`), or of a new one.
//! 2. The record of actions that passed and that nobody reported is the honest side: no pattern may cover any of them.
//! 3. A rule asks a person until enough reports stand behind it. What repeats a report is denied at once.
//! 4. A false positive is a counterexample: the rule is induced anew without it, if need be as several patterns. An
//!    example that was the same action is given up; the log names who did it.
//! 5. Every step is a new version of the entry, so that `agrail memory log|diff|rollback` work on it.

use super::feedback::{FeedbackError, Record};
use crate::memory::{Entry, Key, LearnedCheck, Memory, MemoryError, Ruling, TRIGGERS, Trigger};
use crate::reason::rules::INCIDENT;
use crate::shape::{Condition, Event, Example, Family, Honest, Literal, Pattern, Recorded, Slot, told};
use crate::untrusted::Secrets;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Most recorded decisions that stand for the honest side.
const RECORD: usize = 2_000;
/// Fewest recorded actions of which most is many.
const SEVERAL: usize = 20;
/// Verb of the triggers of rules.
const SHAPE: &str = "shape";
/// The same for a folder above a target, which something recursive may reach.
const ABOVE: &str = "shape above";
/// Class of the trigger of a rule with more patterns than an entry has triggers.
const ANY: &str = "any";
/// Class of the trigger of rules about names, for actions that have more names than are compared.
const MORE: &str = "more names";
/// Trigger of the rules with a reason, which recall by meaning chooses from.
pub(crate) const WITH_REASON: (&str, &str) = (SHAPE, "with a reason");

/// Learns a report under the name of a check.
pub(super) fn report(
    memory: &Memory,
    id: &str,
    record: &Record,
    Reporter { who, reason }: Reporter<'_>,
    name: &str,
) -> Result<Entry, FeedbackError> {
    let unknown =
        || FeedbackError::NoTarget { id: id.to_owned(), why: "names no target that could be recognised again" };
    if record.events.is_empty() {
        return Err(unknown());
    }
    let example = Example { reason: reason.and_then(reason_line), ..example(id, record, who) };
    let rules = rules(memory)?;
    let honest = honest(memory, &rules, Some(&example))?;
    let mut best: Option<(Arc<Entry>, Condition, i32)> = None;
    let named = of_check(&rules, name);
    for entry in &named {
        let Some(condition) = &entry.condition else { continue };
        if condition.examples.iter().any(|known| known.verdict == example.verdict) {
            return explained(memory, entry, condition.clone(), example, record, &honest);
        }
        if let Some((wider, rank)) = condition.with(example.clone(), &honest)
            && best
                .as_ref()
                .is_none_or(|(_, other, others)| (rank, wider.examples.len()) > (*others, other.examples.len()))
        {
            best = Some((Arc::clone(entry), wider, rank));
        }
    }
    let (mut entry, mut condition) = match best {
        Some((entry, condition, _)) => (Some(version(&entry)), condition),
        None => (None, alone(&example, &honest, named.iter().filter_map(|rule| rule.condition.as_ref()))),
    };
    if condition.patterns.is_empty() {
        return Err(unknown());
    }
    let source = format!("feedback:{name}:{id}");
    let mut replaced = BTreeSet::new();
    // rules that name the same thing may have nothing in common pair by pair
    if let Some((whole, ids)) = gathered(&condition, &named, &honest) {
        replaced.extend(ids);
        replaced.extend(entry.take());
        condition = whole;
    }
    // rules that have a pattern in common are one
    for other in &named {
        let own = version(other);
        let absorbed = entry.as_ref() == Some(&own) || replaced.contains(&own);
        let Some(known) = other.condition.as_ref().filter(|_| !absorbed) else { continue };
        if let Some((merged, _)) = known.merged(&condition, &honest) {
            replaced.extend(entry.replace(own));
            condition = merged;
        }
    }
    let exact = Condition::exactly(example);
    let most = covers_most(memory, &condition)?.filter(|_| !exact.patterns.is_empty());
    let note = most.map(|count| format!("no wider rule: it would cover {count}"));
    if note.is_some() {
        replaced.clear();
        (entry, condition) = (None, exact);
    }
    // only when the new rule is on disk do the old ones go
    let of = Of { key: &record.key, project: Some(&record.agent), who, note };
    let kept = keep(memory, entry, condition, name, of, source)?;
    for (old, version) in replaced {
        memory.retire_unchanged(&old, version, who)?;
    }
    narrow(memory, &kept, &rules, who)?;
    Ok(kept)
}

/// Who reports an action, and what was wrong with it.
#[derive(Clone, Copy)]
pub(super) struct Reporter<'a> {
    /// The person.
    pub who: &'a str,
    /// In their words.
    pub reason: Option<&'a str>,
}

/// One line of what a reporter says, without secrets.
fn reason_line(reason: &str) -> Option<String> {
    let words = reason.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let reason = Secrets::default().redact(&words.collect::<Vec<_>>().join(" ")).into_owned();
    let reason = reason.get(..reason.floor_char_boundary(REASON)).unwrap_or_default().trim_end_matches('.');
    Some(reason.to_owned()).filter(|reason| !reason.is_empty())
}

/// The rule of a report that is known already, with the reason that came later. Nobody replaces the reason of somebody else.
fn explained(
    memory: &Memory,
    rule: &Entry,
    mut condition: Condition,
    example: Example,
    record: &Record,
    honest: &Honest,
) -> Result<Entry, FeedbackError> {
    let known = condition.examples.iter_mut().find(|known| known.verdict == example.verdict);
    let (Some(known), Some(check)) = (known, rule.checks.first()) else { return Ok(rule.clone()) };
    let others = known.reason.is_some() && known.by != example.by;
    if others || example.reason.is_none() || known.reason == example.reason {
        return Ok(rule.clone());
    }
    known.reason.clone_from(&example.reason);
    let (who, source) = (example.by, format!("feedback:reason:{}", example.verdict));
    let known = known.clone();
    if condition.examples.len() == 1 && !condition.confirmed && !condition.exact && condition.against.is_empty() {
        condition = condition.explained(known, honest);
    }
    let of = Of { key: &rule.key, project: Some(&record.agent), who: &who, note: None };
    keep(memory, Some(version(rule)), condition, &check.name, of, source)
}

/// The condition of a report that has nothing in common with another. Where the actions of like reports name what their
/// reason says and this one does not, it may be a mistake: then it covers only what repeats it.
fn alone<'c>(example: &Example, honest: &Honest, mut others: impl Iterator<Item = &'c Condition>) -> Condition {
    let own = Condition::of(example.clone(), honest);
    let exact = Condition::exactly(example.clone());
    let same = |other: &Condition| other.examples.iter().all(|known| known.by == example.by);
    let doubtful = others.any(|other| same(other) && other.is_clearer_than(&own)) && !exact.patterns.is_empty();
    if doubtful { exact } else { own }
}

/// Narrows rules of one report that are doubtful beside a new one.
fn narrow(memory: &Memory, kept: &Entry, rules: &[Arc<Entry>], who: &str) -> Result<(), FeedbackError> {
    let Some(clear) = &kept.condition else { return Ok(()) };
    for rule in rules.iter().filter(|rule| rule.id != kept.id) {
        let (Some(condition), Some(check)) = (&rule.condition, rule.checks.first()) else { continue };
        let [example] = condition.examples.as_slice() else { continue };
        // nobody narrows somebody else's rule
        if example.by != who {
            continue;
        }
        let alike = kept.checks.iter().any(|other| other.name == check.name);
        let open = !condition.confirmed && !condition.exact && condition.against.is_empty();
        if !alike || !open || !clear.is_clearer_than(condition) {
            continue;
        }
        let exact = Condition::exactly(example.clone());
        if exact.patterns.is_empty() {
            continue;
        }
        let of = Of { key: &rule.key, project: rule.provenance.project.as_ref(), who, note: None };
        let source = format!("feedback:narrowed:{}", kept.id);
        keep(memory, Some(version(rule)), exact, &check.name, of, source)?;
    }
    Ok(())
}

/// The rules of one check.
fn of_check<'r>(rules: &'r [Arc<Entry>], name: &str) -> Vec<&'r Arc<Entry>> {
    rules.iter().filter(|rule| rule.checks.iter().any(|check| check.name == name)).collect()
}

/// A rule and the version of it that was read.
pub(super) fn version(rule: &Entry) -> (String, u64) {
    (rule.id.clone(), rule.version)
}

/// The condition of all small rules that name a thing which the examples of a new one name, with the rules' ids; `None` if
/// they have no pattern.
fn gathered(condition: &Condition, rules: &[&Arc<Entry>], honest: &Honest) -> Option<(Condition, Vec<(String, u64)>)> {
    let small = |condition: &&Condition| condition.examples.len() < 3 && !condition.is_firm();
    let condition = Some(condition).filter(small)?;
    let rules: Vec<(&Entry, &Condition)> =
        rules.iter().filter_map(|rule| Some((&***rule, rule.condition.as_ref().filter(small)?))).collect();
    for word in condition.words() {
        let names =
            |other: &Condition| other.words().contains(word) && other.examples.first() != condition.examples.first();
        let of: Vec<&(&Entry, &Condition)> = rules.iter().filter(|(_, other)| names(other)).collect();
        if of.len() < 2 {
            continue;
        }
        let all: Vec<&Condition> = of.iter().map(|(_, other)| *other).chain([condition]).collect();
        if let Some(whole) = Condition::common(&all, honest) {
            return Some((whole, of.iter().map(|(rule, _)| version(rule)).collect()));
        }
    }
    None
}

/// Learns that a rule stopped an action without reason. `None` if the entry holds no rule.
pub(super) fn false_positive(
    memory: &Memory,
    id: &str,
    record: &Record,
    who: &str,
    entry: &Entry,
) -> Result<Option<Entry>, FeedbackError> {
    let (Some(condition), Some(check)) = (&entry.condition, entry.checks.first()) else { return Ok(None) };
    let wrong = example(id, record, who);
    let honest = honest(memory, &rules(memory)?, Some(&wrong))?;
    let left = condition.without(wrong, &honest);
    if left.examples.is_empty() || left.patterns.is_empty() {
        return Ok(Some(memory.retire(&entry.id, who)?));
    }
    let source = format!("feedback:false-positive:{id}");
    let of = Of { key: &record.key, project: Some(&record.agent), who, note: None };
    Ok(Some(keep(memory, Some(version(entry)), left, &check.name, of, source)?))
}

/// The triggers by which an action finds the rules that may cover it.
pub(crate) fn lookups(events: &[Event]) -> Vec<Trigger> {
    let mut found = BTreeSet::new();
    for event in events {
        found.extend(event.literals.iter().map(of_literal));
        if event.spreads {
            found.extend(event.of(Slot::At).map(|at| Trigger { verb: ABOVE.to_owned(), class: at.to_owned() }));
        }
    }
    if events.iter().any(|event| event.more) {
        found.insert(Trigger { verb: SHAPE.to_owned(), class: MORE.to_owned() });
    }
    if !found.is_empty() {
        found.insert(Trigger { verb: SHAPE.to_owned(), class: ANY.to_owned() });
    }
    found.into_iter().collect()
}

/// The active rules.
pub(crate) fn rules(memory: &Memory) -> Result<Vec<Arc<Entry>>, MemoryError> {
    Ok(memory.active()?.into_iter().filter(|entry| entry.condition.is_some()).collect())
}

fn of_literal(literal: &Literal) -> Trigger {
    let slot = serde_json::to_value(literal.0).ok().and_then(|slot| slot.as_str().map(str::to_owned));
    Trigger { verb: SHAPE.to_owned(), class: format!("{} {}", slot.unwrap_or_default(), literal.1) }
}

/// The triggers of patterns.
fn triggers(patterns: &[Pattern]) -> Vec<Trigger> {
    let mut found = BTreeSet::new();
    for literal in patterns.iter().filter_map(Pattern::anchor) {
        found.insert(of_literal(literal));
        if matches!(literal.0, Slot::At | Slot::Below) && literal.1.starts_with('/') {
            let parents = literal.1.match_indices('/').filter_map(|(at, _)| literal.1.get(..at.max(1)));
            found.extend(parents.map(|folder| Trigger { verb: ABOVE.to_owned(), class: folder.to_owned() }));
        }
    }
    if patterns.iter().any(|pattern| pattern.family == Family::Mention) {
        found.insert(Trigger { verb: SHAPE.to_owned(), class: MORE.to_owned() });
    }
    let anchored = patterns.iter().all(|pattern| pattern.anchor().is_some());
    // one is left for the reasons
    if found.len() >= TRIGGERS || !anchored {
        return vec![Trigger { verb: SHAPE.to_owned(), class: ANY.to_owned() }];
    }
    found.into_iter().collect()
}

fn example(id: &str, record: &Record, who: &str) -> Example {
    let told = record.action.as_ref().map(told).unwrap_or_default();
    Example { verdict: id.to_owned(), by: who.to_owned(), events: record.events.clone(), told, reason: None }
}

/// What the actions on record did that passed and that nobody reported, neither these nor the same action at another time.
pub(super) fn honest(memory: &Memory, rules: &[Arc<Entry>], new: Option<&Example>) -> Result<Honest, FeedbackError> {
    let known = rules.iter().filter_map(|rule| rule.condition.as_ref()).flat_map(|condition| &condition.examples);
    let reported: Vec<&Example> = known.chain(new).collect();
    let mut honest = Honest::default();
    let mut seen = HashSet::new();
    for decision in memory.decisions(RECORD)? {
        let side = match decision.decision.as_str() {
            "allow" => &mut honest.passed,
            "ask" => &mut honest.asked,
            _ => continue,
        };
        // a record that cannot be parsed says nothing for or against a rule
        let Ok(Recorded { events }) = serde_json::from_str(&decision.record) else { continue };
        if reported.iter().any(|example| example.verdict == decision.id || example.events == events) {
            continue;
        }
        side.extend(events.into_iter().filter(|event| seen.insert((decision.decision.clone(), event.clone()))));
    }
    Ok(honest)
}

/// How many recorded actions a condition covers that nobody reported, if these are most of the record: such a rule is about
/// all that goes on, not about what was reported.
fn covers_most(memory: &Memory, condition: &Condition) -> Result<Option<String>, FeedbackError> {
    let (mut covered, mut all) = (0, 0);
    for decision in memory.decisions(RECORD)? {
        let Ok(Recorded { events }) = serde_json::from_str(&decision.record) else { continue };
        let reported = |example: &Example| example.verdict == decision.id || example.events == events;
        if decision.decision != "deny" && !condition.examples.iter().any(reported) {
            all += 1;
            covered += usize::from(condition.matches(&events));
        }
    }
    Ok((all >= SEVERAL && covered * 2 >= all).then(|| format!("{covered} of the last {all} actions")))
}

/// Whose report a rule comes from, and of what.
pub(super) struct Of<'a> {
    /// The paraphrase of the action.
    pub key: &'a Key,
    /// The project, if known.
    pub project: Option<&'a String>,
    /// The person.
    pub who: &'a str,
    /// What else people should know about it.
    pub note: Option<String>,
}

pub(super) fn keep(
    memory: &Memory,
    entry: Option<(String, u64)>,
    condition: Condition,
    name: &str,
    Of { key, project, who, note }: Of<'_>,
    source: String,
) -> Result<Entry, FeedbackError> {
    let count = condition.examples.len();
    let reports = if count == 1 { "one report".to_owned() } else { format!("{count} reports") };
    let said = if name == INCIDENT { "operators reported that this did harm" } else { "operators rejected this" };
    let sentence = condition.sentence();
    let note = note.map(|note| format!("; {note}")).unwrap_or_default();
    let sentence = sentence.get(..sentence.floor_char_boundary(SENTENCE)).unwrap_or_default();
    let reasons = condition.reasons().into_iter().take(REASONS).collect::<Vec<_>>().join("; ");
    let why = if reasons.is_empty() { String::new() } else { format!(" (\"{reasons}\")") };
    let definition = format!("{said}{why}: {sentence} ({reports}{note})");
    let check = LearnedCheck {
        category: "integrity".to_owned(),
        name: name.to_owned(),
        definition,
        required: true,
        support: u32::try_from(count).unwrap_or(u32::MAX),
        conflict: u32::try_from(condition.against.len()).unwrap_or(u32::MAX),
    };
    let own = crate::digest([serde_json::to_vec(&condition.examples.first()).unwrap_or_default()]);
    let own = own.get(..8).unwrap_or_default();
    let key = Key { natural: format!("{name}: {} (rule {own})", key.natural), command: key.command.clone() };
    let mut triggers = triggers(&condition.patterns);
    if !condition.reasons().is_empty() {
        triggers.push(Trigger { verb: WITH_REASON.0.to_owned(), class: WITH_REASON.1.to_owned() });
    }
    let project = project.cloned();
    Ok(memory.rule(Ruling { entry, key, check, triggers, condition, principal: who.to_owned(), project, source })?)
}

/// Longest reason, in bytes.
const REASON: usize = 300;
/// Most reasons of reporters that a rule's sentence shows.
const REASONS: usize = 2;
/// Most bytes of a rule's sentence.
const SENTENCE: usize = 600;
