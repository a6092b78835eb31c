//! What reporters say was wrong, beside what the reported actions name.
//!
//! 1. The words of a reason that the action names, too, say what the rule is about: a program, an option, a branch, a table,
//!    a folder. What acts on these in any other way belongs to the rule.
//! 2. Reports whose reasons share most of their words are about one rule. Others are never gathered under one pattern.
//! 3. Where some actions name what their reasons say and others do not, the latter have no pattern in common with them: such
//!    a report may be a mistake.

use super::events::{ACT, CHANGE};
use super::induce::{is_home, is_project, is_telling};
use super::words::normal;
use super::{Event, Example, Family, Honest, Literal, Pattern, Slot};
use std::collections::BTreeSet;

/// Most words of a name that a reason spells apart: `season ticket holders`.
const APART: usize = 3;
/// Longest reason that is read, in words.
const LONGEST: usize = 60;
/// Fewest words of a first clause that says what was wrong.
const CLAUSE: usize = 3;
/// Words that begin the clause after the one that says what was wrong.
const FOLLOWS: [&str; 18] = [
    "because", "but", "hands", "it", "its", "never", "no", "nobody", "not", "only", "please", "so", "that", "the",
    "these", "this", "we", "which",
];
/// Words that name who did it.
const SUBJECTS: [&str; 10] = ["a", "agent", "ai", "an", "assistant", "bot", "it", "model", "somebody", "the"];
/// Words that say nothing about what a rule is about.
const SMALL: &str = "again agent agents all also and any are but did does done for from had has have her him his into its made nor not now off only other our out own ran run same she should that the their them then there they this until use used using very was were when which while who why with without would you your branch column data database directory file files folder folders host list message page path pod project server service table test tests user users";

/// Whether two reasons are about one rule: half of the words of the shorter one are among those of the other.
pub(super) fn agree(one: &str, other: &str) -> bool {
    shared(one, other) >= 0.5
}

/// Whether two reasons may be about one rule: a third of the words.
pub(super) fn may_agree(one: &str, other: &str) -> bool {
    shared(one, other) >= 0.3
}

/// The share of the words of the shorter reason that the other has, too.
fn shared(one: &str, other: &str) -> f64 {
    let (one, other) = (content(one), content(other));
    let both = one.intersection(&other).count();
    both as f64 / one.len().min(other.len()).max(1) as f64
}

/// The pattern of what the reasons say and every action names, and whether it covers nothing that a person was asked about;
/// `None` if there is nothing of the kind, or if an honest action did the same. A name that is no plain word stands alone, if
/// the honest record allows it; one plain word of a single report has to be a whole word of the action.
pub(super) fn by_reason(examples: &[Example], honest: &Honest) -> Option<(Pattern, bool)> {
    let said = said(&examples.iter().collect::<Vec<_>>());
    let of_texts = examples.iter().any(is_about_text);
    let names = common(examples, &said, named);
    let alone = names.iter().filter_map(distinct);
    let mut found: Vec<Pattern> = common(examples, &said, place).into_iter().chain(alone).collect();
    // of a text, a plain word says nothing: others on the same topic have it, too
    let enough = |pattern: &Pattern| {
        let several = examples.len() > 1 || pattern.literals.len() > 2;
        is_distinct(pattern) || !of_texts && (several || examples.iter().all(|example| has_words(pattern, example)))
    };
    found.extend(names.filter(enough));
    // that it may also name what was not compared says nothing against a pattern
    let did = |pattern: &Pattern, event: &Event| !event.more && pattern.matches(event);
    found.retain(|pattern| !honest.passed.iter().any(|event| did(pattern, event)));
    let quiet = |pattern: &Pattern| !honest.asked.iter().any(|event| did(pattern, event));
    let best = found.iter().position(quiet);
    let pattern = found.into_iter().nth(best.unwrap_or(0))?;
    Some((pattern, best.is_some()))
}

/// The pattern with the names alone that are no plain words, if there are others, too.
fn distinct(pattern: &Pattern) -> Option<Pattern> {
    let mut literals = pattern.literals.clone();
    literals.retain(|literal| literal.0 != Slot::Named || !is_plain(&literal.1));
    let less = literals.len() > 1 && literals.len() < pattern.literals.len();
    less.then(|| Pattern::new(pattern.family, literals))
}

/// Whether the names of a pattern are whole words of an action, not parts of paths or parameters.
fn has_words(pattern: &Pattern, example: &Example) -> bool {
    let mentions = || example.events.iter().filter(|event| event.family == Family::Mention);
    let mut names = pattern.literals.iter().filter(|literal| literal.0 == Slot::Named).map(|literal| &literal.1);
    names.all(|name| mentions().any(|event| event.of(Slot::Word).any(|word| word == name)))
}

/// Whether a name is one word.
fn is_plain(name: &str) -> bool {
    name.chars().all(char::is_alphabetic)
}

/// Whether an action names something that reasons say.
pub(super) fn is_named(example: &Example, said: &BTreeSet<String>) -> bool {
    !named(example, said).is_empty() || !place(example, said).is_empty()
}

/// Whether reasons say nothing by which reports could be told apart: "never again", "a customer complained". A name that is
/// no plain word, or that actions on record have and the reported ones lack, is a sign of a mistake.
pub(super) fn say_nothing(examples: &[&Example], honest: &Honest) -> bool {
    let reasons = || examples.iter().filter_map(|example| example.reason.as_deref());
    let said = said(examples);
    let on_record = || {
        let events = honest.passed.iter().chain(&honest.asked).filter(|event| event.family == Family::Mention);
        events.flat_map(|event| event.of(Slot::Named)).any(|name| is_said(name, &said))
    };
    !reasons().any(has_name)
        && !examples.iter().any(|example| is_about_text(example) || is_named(example, &said))
        && !on_record()
}

/// Whether a reason has a word that is no word of a language: `depot-3`, `basket_hold`, `data/raw`.
fn has_name(reason: &str) -> bool {
    let words = reason.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).any(|word| {
        let mixed = word.chars().any(char::is_numeric) && word.chars().any(char::is_alphabetic);
        mixed || word.chars().any(|c| !c.is_alphanumeric() && !matches!(c, '-' | '\'' | '’'))
    })
}

/// Whether some examples with a reason name something that reasons say, and others do not.
pub(super) fn is_mixed(examples: &[Example]) -> bool {
    let said = said(&examples.iter().collect::<Vec<_>>());
    let reasons = examples.iter().filter(|example| example.reason.is_some());
    let mut has_name = reasons.map(|example| is_named(example, &said));
    let first = has_name.next();
    has_name.any(|other| Some(other) != first)
}

/// Whether it is a text to somebody that was reported with a reason, and not what the text was sent through.
pub(super) fn is_about_text(example: &Example) -> bool {
    example.reason.is_some() && example.events.iter().any(|event| event.family == Family::Said || event.tells())
}

/// Whether what a pattern names is something that every reporter said: the reason of each example has it.
pub(super) fn is_said_by_each(pattern: &Pattern, examples: &[Example]) -> bool {
    let names: Vec<String> = pattern
        .literals
        .iter()
        .filter_map(|literal| match literal.0 {
            Slot::Named => Some(literal.1.clone()),
            Slot::Below => literal.1.rsplit('/').next().map(normal),
            _ => None,
        })
        .collect();
    let by_own = |example: &Example| {
        let own = said(&[example]);
        names.iter().all(|name| is_said(name, &own))
    };
    examples.iter().all(by_own)
}

/// Whether a pattern names something that is no plain word: `depot-3`.
pub(super) fn is_distinct(pattern: &Pattern) -> bool {
    let names = pattern.literals.iter().filter(|literal| matches!(literal.0, Slot::Named | Slot::Below));
    names.map(|literal| literal.1.as_str()).any(|name| !is_plain(name))
}

/// Whether reasons say a name, or several words of it: `basket hold` of `basket-hold-minutes`.
fn is_said(name: &str, said: &BTreeSet<String>) -> bool {
    let name = singular(name);
    if !name.contains('-') {
        return said.contains(&name);
    }
    let within = |part: &String| {
        part.contains('-')
            && name.match_indices(part.as_str()).any(|(at, _)| {
                let (before, after) =
                    (name.get(..at).unwrap_or_default(), name.get(at + part.len()..).unwrap_or_default());
                (before.is_empty() || before.ends_with('-')) && (after.is_empty() || after.starts_with('-'))
            })
    };
    said.contains(&name) || said.iter().any(within)
}

/// A name with each of its words in the singular, as far as spelling tells.
fn singular(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s'));
        stem.unwrap_or(word)
    });
    words.collect::<Vec<_>>().join("-")
}

/// What the reasons of examples say: each word, and each few that stand side by side as one.
pub(super) fn said(examples: &[&Example]) -> BTreeSet<String> {
    let mut said = BTreeSet::new();
    for reason in examples.iter().filter_map(|example| example.reason.as_deref()) {
        let words: Vec<String> = words(reason).collect();
        said.extend((2..=APART).flat_map(|many| words.windows(many).map(|several| several.join("-"))));
        said.extend(words.into_iter().flat_map(|word| {
            let parts: Vec<String> = word.split(['.', '/']).map(str::to_owned).collect();
            parts.into_iter().chain([word])
        }));
    }
    said.retain(|word| is_telling(word) && !is_small(word));
    let singular: Vec<String> = said.iter().map(|word| singular(word)).collect();
    said.extend(singular);
    said
}

type Names = fn(&Example, &BTreeSet<String>) -> BTreeSet<Literal>;

/// The pattern of what all examples have of the kind.
fn common(examples: &[Example], said: &BTreeSet<String>, kind: Names) -> Option<Pattern> {
    let (first, rest) = examples.split_first()?;
    let mut literals = kind(first, said);
    for example in rest {
        let other = kind(example, said);
        literals.retain(|literal| other.contains(literal));
    }
    // the name of a parameter says little unless it has several words, or somebody used it as more
    let only_parameter = |name: &str| {
        let mentions = examples.iter().flat_map(|example| &example.events);
        let mut mentions = mentions.filter(|event| event.family == Family::Mention);
        !name.contains('-') && mentions.all(|event| event.of(Slot::Option).any(|option| option == name))
    };
    literals.retain(|literal| literal.0 != Slot::Named || !only_parameter(&literal.1));
    let deepest = literals.iter().filter(|literal| literal.0 == Slot::Below).max_by_key(|literal| literal.1.len());
    if let Some(folder) = deepest.cloned() {
        return Some(Pattern::new(Family::Place, [Literal(Slot::Does, CHANGE.to_owned()), folder].into()));
    }
    literals.insert(Literal(Slot::Does, ACT.to_owned()));
    (literals.len() > 1).then(|| Pattern::new(Family::Mention, literals))
}

/// The folders of changed files whose own names are said. A plain word is that of a folder only beside a word such as
/// `folder`.
fn place(example: &Example, said: &BTreeSet<String>) -> BTreeSet<Literal> {
    let change = Literal(Slot::Does, CHANGE.to_owned());
    let changed = example.events.iter().filter(|event| event.family == Family::Place);
    let changed = changed.filter(|event| event.literals.contains(&change));
    let folders = changed.flat_map(|event| event.of(Slot::Below));
    let reason = example.reason.as_deref().unwrap_or_default().to_lowercase();
    let of_folders = ["folder", "director", "/"].iter().any(|word| reason.contains(word));
    let is_named = |folder: &&str| {
        let name = folder.rsplit_once('/').filter(|(above, _)| !above.is_empty()).map(|(_, name)| normal(name));
        name.is_some_and(|name| is_said(&name, said) && (of_folders || !is_plain(&name)))
            && !is_home(folder)
            && !is_project(folder)
    };
    folders.filter(is_named).map(|folder| Literal(Slot::Below, folder.to_owned())).collect()
}

/// The names that are said.
fn named(example: &Example, said: &BTreeSet<String>) -> BTreeSet<Literal> {
    let mentions = example.events.iter().filter(|event| event.family == Family::Mention);
    // of a text, the words of its prose do not count
    let marked =
        |event: &Event, name: &str| is_about_text(example) && event.of(Slot::Option).any(|option| option == name);
    let names = mentions.flat_map(|event| event.of(Slot::Named).filter(move |name| !marked(event, name)));
    let names = names.filter(|name| is_said(name, said));
    names.map(|name| Literal(Slot::Named, name.to_owned())).collect()
}

/// What a reason says of an action, without its subject and without what follows: `promised a refund` of `the agent promised a
/// refund, only the claims office does that`.
pub(crate) fn statement(reason: &str) -> &str {
    let reason = reason.trim();
    // what follows the first clause says why
    let ends = |(at, _): &(usize, &str)| {
        let next = reason.get(at + 1..).unwrap_or_default().split_whitespace().next().unwrap_or_default();
        reason.get(*at..).is_some_and(|rest| rest.starts_with(';')) || FOLLOWS.contains(&next.to_lowercase().as_str())
    };
    let first = reason.match_indices([',', ';']).find(ends).and_then(|(at, _)| reason.get(..at)).map(str::trim);
    let first = first.filter(|first| first.split_whitespace().count() >= CLAUSE);
    let mut left = first.unwrap_or(reason);
    for _ in 0..2 {
        let Some((word, rest)) = left.split_once(' ') else { break };
        if !SUBJECTS.contains(&word.to_lowercase().as_str()) {
            break;
        }
        left = rest.trim_start();
    }
    left
}

/// The words that carry a reason.
fn content(reason: &str) -> BTreeSet<String> {
    words(reason).filter(|word| is_telling(word) && !is_small(word)).collect()
}

fn words(reason: &str) -> impl Iterator<Item = String> {
    let words = reason.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '!' | '?'));
    let plain = words.map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        normal(word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word))
    });
    plain.filter(|word| !word.is_empty()).take(LONGEST)
}

fn is_small(word: &str) -> bool {
    SMALL.split(' ').any(|small| small == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_the_first_clause_without_who_did_it() {
        for (reason, said) in [
            ("The agent promised a refund, only the claims office does that", "promised a refund"),
            ("a bot deployed to depot-3; never do that", "deployed to depot-3"),
            ("again, it sent a mailing to everybody", "again, it sent a mailing to everybody"),
            ("told a guest that breakfast is free", "told a guest that breakfast is free"),
            (
                "told a guest that rooms, meals and parking are free",
                "told a guest that rooms, meals and parking are free",
            ),
            ("in the night, deployed to depot-3", "in the night, deployed to depot-3"),
            ("", ""),
            ("the agent", "agent"),
        ] {
            assert_eq!(statement(reason), said, "{reason}");
        }
    }

    #[test]
    fn a_name_is_said_whole_or_by_several_of_its_words() {
        let said = |reason: &str| {
            let example = |reason: &str| Example {
                verdict: String::new(),
                by: String::new(),
                events: Vec::new(),
                told: String::new(),
                reason: Some(reason.to_owned()),
            };
            said(&[&example(reason)])
        };
        let is = |reason: &str, name: &str| is_said(name, &said(reason));
        assert!(
            is("basket hold minutes went up", "basket-hold-minutes")
                && is("the basket hold was altered", "basket-hold-minutes")
        );
        assert!(is("changed the sightline grades", "sightline-grade") && is("pushed to depot-3", "depot-3"));
        assert!(!is("emptied the hold", "basket-hold-minutes") && !is("pushed to depot-3", "depot-30"));
        assert!(!is("the agent did it again", "agent"), "words that say nothing");
    }

    #[test]
    fn reasons_agree_if_they_share_most_of_their_words() {
        let one = "ttsync was run with realign and flattened the dwell times";
        assert!(agree(one, "flattened dwell times with ttsync again") && agree(one, "ran ttsync --realign"));
        assert!(!agree(one, "agent spoke about the strike") && !agree("the agent did it", "the agent did it"));
    }
}
