//! Events and patterns as Cedar sees them (`policy/event.rs`): rules that people can read, keep under version control and
//! load as policies. The text covers every event that the pattern covers.

use super::{Event, Family, Literal, Pattern, Slot, of};
use crate::policy::EventFacts;
use std::collections::BTreeSet;

/// The event has more words, names or values than are listed.
const MORE: &str = "context.more";

impl Family {
    /// The Cedar resource.
    fn name(self) -> &'static str {
        match self {
            Self::Place => "place",
            Self::Thing => "thing",
            Self::Call => "call",
            Self::Command => "command",
            Self::Plain => "plain",
            Self::Mention => "mention",
            Self::Said => "said",
        }
    }
}

impl Slot {
    /// The word before a value.
    fn name(self) -> &'static str {
        match self {
            Self::Does => "does",
            Self::How => "how",
            Self::Kind => "kind",
            Self::At => "at",
            Self::Below => "below",
            Self::Named => "named",
            Self::Ends => "ends",
            Self::Program => "program",
            Self::First => "first",
            Self::Word => "word",
            Self::Pair => "pair",
            Self::Option => "option",
            Self::Tool => "tool",
            Self::Value => "value",
        }
    }
}

impl Event {
    /// The event for policies.
    pub(crate) fn facts(&self) -> EventFacts {
        EventFacts {
            family: self.family.name().to_owned(),
            spreads: self.spreads,
            whole: self.of(Slot::Named).next().is_some() || self.of(Slot::Ends).next().is_none(),
            more: self.more,
            facts: self.literals.iter().map(fact).collect(),
        }
    }
}

/// The scope and the conditions of the policy that forbids what a pattern covers.
pub(crate) fn forbid(pattern: &Pattern) -> String {
    let (mut plain, mut listed) = (BTreeSet::new(), BTreeSet::new());
    let mut terms = Vec::new();
    for literal in &pattern.literals {
        match otherwise(pattern, literal) {
            // one term for all, because Cedar nests terms
            Some(other) if other == MORE => {
                listed.insert(literal);
            }
            Some(other) => terms.push(format!("(context.facts.contains({}) || {other})", quoted(literal))),
            None => {
                plain.insert(literal);
            }
        }
    }
    if !listed.is_empty() {
        terms.push(format!("(context.facts.containsAll([{}]) || {MORE})", list(listed)));
    }
    if !plain.is_empty() {
        terms.insert(0, format!("context.facts.containsAll([{}])", list(plain)));
    }
    let unless = pattern
        .unless
        .iter()
        .filter(|all| !all.is_empty())
        .map(|all| format!("context.facts.containsAll([{}])", list(all.iter())));
    let unless = unless.collect::<Vec<_>>().join(" ||\n  ");
    let unless = if unless.is_empty() { String::new() } else { format!("\nunless {{\n  {unless}\n}}") };
    let when = if terms.is_empty() { "true".to_owned() } else { terms.join(" &&\n  ") };
    let family = pattern.family.name();
    format!(
        "forbid (principal, action == Action::\"event\", resource == Event::\"{family}\")\nwhen {{\n  {when}\n}}{unless};\n"
    )
}

/// When an event is covered though it lacks a literal: it spreads to it, or it may be among what is not listed.
fn otherwise(pattern: &Pattern, literal: &Literal) -> Option<String> {
    let Literal(slot, value) = literal;
    match slot {
        Slot::At | Slot::Below => Some(reaches(value)),
        Slot::Named if pattern.family == Family::Mention => Some(MORE.to_owned()),
        Slot::Named | Slot::Ends => {
            let folders: Vec<&str> = of(&pattern.literals, Slot::Below).collect();
            let own = folders.iter().map(|folder| Literal(Slot::At, (*folder).to_owned()));
            let at: BTreeSet<Literal> = folders.iter().flat_map(|folder| above(folder)).chain(own).collect();
            let any = format!("context.facts.containsAny([{}])", list(&at));
            (!folders.is_empty()).then(|| format!("context.spreads && context.whole && {any}"))
        }
        Slot::First | Slot::Word | Slot::Pair | Slot::Option | Slot::Value => Some(MORE.to_owned()),
        Slot::Does | Slot::How | Slot::Kind | Slot::Program | Slot::Tool => None,
    }
}

/// Whether an event spreads to a place below its target.
fn reaches(place: &str) -> String {
    let name = place.rsplit('/').next().unwrap_or_default();
    let endings: BTreeSet<Literal> = name
        .match_indices(['.', '_', '-'])
        .filter_map(|(at, _)| name.get(at..))
        .map(|ending| Literal(Slot::Ends, ending.to_owned()))
        .collect();
    let whole = match endings.is_empty() {
        true => "context.whole".to_owned(),
        false => format!("(context.whole || context.facts.containsAny([{}]))", list(endings.iter())),
    };
    format!("context.spreads && {whole} && context.facts.containsAny([{}])", list(&above(place)))
}

/// The targets above a place.
fn above(place: &str) -> BTreeSet<Literal> {
    let folders = place.match_indices('/').filter_map(|(at, _)| place.get(..at)).filter(|folder| !folder.is_empty());
    folders.chain(["/"]).map(|folder| Literal(Slot::At, folder.to_owned())).collect()
}

fn list<'l>(literals: impl IntoIterator<Item = &'l Literal>) -> String {
    literals.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

fn quoted(literal: &Literal) -> String {
    format!("{:?}", fact(literal))
}

fn fact(Literal(slot, value): &Literal) -> String {
    format!("{} {value}", slot.name())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::policy::{Policy, Source, Subject};

    fn event(family: Family, facts: &[(Slot, &str)], spreads: bool, more: bool) -> Event {
        let literals = facts.iter().map(|(slot, value)| Literal(*slot, (*value).to_owned())).collect();
        Event { family, literals, spreads, more }
    }

    fn events() -> Vec<Event> {
        use Slot::{At, Below, Does, Ends, First, Named, Option, Program, Value, Word};
        let place = |facts: &[(Slot, &str)], spreads| event(Family::Place, facts, spreads, false);
        vec![
            place(
                &[
                    (Does, "change"),
                    (At, "/srv/x/a.csv"),
                    (Below, "/srv"),
                    (Below, "/srv/x"),
                    (Below, "/srv/x/a.csv"),
                    (Named, "a.csv"),
                    (Ends, ".csv"),
                ],
                false,
            ),
            place(&[(Does, "change"), (At, "/srv"), (Below, "/srv"), (Named, "srv")], true),
            place(&[(Does, "change"), (At, "/"), (Named, "")], true),
            place(&[(Does, "change"), (At, "/srv"), (Below, "/srv"), (Ends, ".csv")], true),
            place(&[(Does, "change"), (At, "/srv"), (Below, "/srv"), (Ends, ".log")], true),
            place(&[(Does, "read"), (At, "/srv/x"), (Below, "/srv"), (Below, "/srv/x"), (Named, "x")], true),
            place(&[(Does, "change"), (At, "/home/a"), (Below, "/home"), (Below, "/home/a"), (Named, "a")], true),
            event(
                Family::Command,
                &[(Program, "shipctl"), (First, "deploy"), (Word, "deploy"), (Option, "--now")],
                false,
                false,
            ),
            event(Family::Command, &[(Program, "shipctl"), (First, "list")], false, true),
            event(
                Family::Command,
                &[(Program, "git"), (First, "push"), (Word, "it's \"so\" \\ {name} \u{301}\u{7}")],
                false,
                false,
            ),
            event(Family::Mention, &[(Does, "act"), (Named, "depot-3"), (Named, "shipctl")], false, false),
            event(Family::Mention, &[(Does, "act"), (Named, "shipctl")], false, true),
            event(Family::Mention, &[(Named, "depot-3")], false, false),
            event(Family::Said, &[(Value, "hello")], false, false),
        ]
    }

    #[test]
    fn policies_know_each_slot_and_family() {
        use crate::policy::{FAMILIES, SLOTS};
        let slots = [
            Slot::Does,
            Slot::How,
            Slot::Kind,
            Slot::At,
            Slot::Below,
            Slot::Named,
            Slot::Ends,
            Slot::Program,
            Slot::First,
            Slot::Word,
            Slot::Pair,
            Slot::Option,
            Slot::Tool,
            Slot::Value,
        ];
        assert_eq!(slots.map(Slot::name), SLOTS);
        let families =
            [Family::Place, Family::Thing, Family::Call, Family::Command, Family::Plain, Family::Mention, Family::Said];
        assert_eq!(families.map(Family::name), FAMILIES);
    }

    fn loaded(text: &str) -> Policy {
        let text = format!("@id(\"own\")\n@category(\"integrity\")\n@reason(\"r\")\n{text}");
        Policy::load(&[Source { file: "own.cedar".to_owned(), text, examples: None, organisation: false }]).unwrap()
    }

    fn covers(policy: &Policy, event: &Event) -> bool {
        let subject = Subject::default();
        let found = policy.screener(&subject).screen_events(std::iter::once(event.facts()), None);
        assert!(found.iter().all(|finding| finding.source.to_string() == "policy:own"), "{found:?}");
        !found.is_empty()
    }

    #[test]
    fn a_text_covers_what_its_pattern_covers() {
        let events = events();
        let (mut covered, mut not) = (0, 0);
        for known in &events {
            let all: Vec<&Literal> = known.literals.iter().collect();
            // all of its facts, each alone, and all but each
            let mut patterns = vec![Pattern::new(known.family, known.literals.clone())];
            for literal in &all {
                let (mut one, mut rest) = (known.literals.clone(), known.literals.clone());
                one.retain(|other| other == *literal);
                rest.remove(*literal);
                patterns.extend([one, rest].map(|literals| Pattern::new(known.family, literals)));
            }
            let mut narrow = Pattern::new(known.family, known.literals.iter().take(1).cloned().collect());
            narrow.unless = vec![known.literals.iter().skip(1).cloned().collect()];
            patterns.extend(Some(narrow).filter(|narrow| known.literals.len() > 1 && !narrow.unless.is_empty()));
            for pattern in patterns.iter().filter(|pattern| !pattern.literals.is_empty()) {
                let text = forbid(pattern);
                let policy = loaded(&text);
                for event in &events {
                    let (matches, said) = (pattern.matches(event), covers(&policy, event));
                    // a folder that spreads may count as whole where its endings are not known
                    assert!(said == matches || said && event.spreads, "{text}\n{event:?}: {matches}");
                    covered += usize::from(said);
                    not += usize::from(!said);
                }
            }
        }
        assert!(covered > 100 && not > 500, "{covered} {not}");
    }
}
