//! The smallest pattern that covers every example and nothing of the honest record.
//!
//! 1. Starting from each event of the first example, the literals in common with the best event of each further example
//!    are kept (a least general generalisation).
//! 2. What is left must still name something: a target, a tool, a program with a subcommand or an option. A verb is never
//!    generalised away, except that all ways to change a file are one.
//! 3. Of these literals, the fewest are chosen that cover no honest event; words that the honest record has beside the same
//!    program are left out first.
//! 4. Among several patterns, one about what is changed comes before one about how it was done.

use super::reasoned::{by_reason, is_about_text, is_mixed};
use super::{Event, Example, Family, Honest, Literal, Pattern, Slot, of};
use std::collections::BTreeSet;

/// Fewest parts of a folder that may stand for all below it.
const DEPTH: usize = 2;
/// Fewest examples for a pattern that only names the ending of a file, or only a program.
const MANY: usize = 3;
/// Fewest characters of a value that says something by itself.
const TELLING: usize = 3;
/// Most words that examples have in common.
const TOGETHER: usize = 8;
/// Rank of a pattern that the reporters' own words name.
const BY_REASON: i32 = 9;
/// Most ways that a pattern leaves out because honest actions did the same to its target in them.
const WAYS: usize = 3;

/// What the examples have in common.
struct Common<'e> {
    family: Family,
    literals: BTreeSet<Literal>,
    /// The first operands of the commands.
    firsts: BTreeSet<&'e str>,
    /// The words of the shortest name of a tool.
    shortest: usize,
    /// What they do, and how.
    ways: BTreeSet<&'e Literal>,
    /// Whether each of them tells a text.
    tells: bool,
    /// Number of examples.
    count: usize,
}

/// The best pattern for all examples with its rank, the higher the better; `None` if none leaves the honest events alone.
/// If many examples name one thing that honest actions do not, the same done to it in any other way belongs to it, too.
pub(crate) fn induce(examples: &[Example], honest: &Honest) -> Option<(Vec<Pattern>, i32)> {
    let (first, rest) = examples.split_first()?;
    if is_mixed(examples) {
        return None;
    }
    let by_reason = by_reason(examples, honest);
    if let Some((pattern, true)) = by_reason {
        return Some((vec![pattern], BY_REASON));
    }
    let of_texts = examples.iter().any(is_about_text);
    let mut best: Option<(Pattern, (bool, i32), usize)> = None;
    let mut mention = None;
    // of a text, only its meaning says what was reported
    let compared = first.events.iter().filter(|event| !of_texts || event.family == Family::Said);
    for event in compared {
        let mut common = Common::of(event);
        if !rest.iter().all(|example| common.narrow(example)) {
            continue;
        }
        let Some(pattern) = common.pattern(honest) else { continue };
        // the deepest place; of several commands, the outermost
        let size = if pattern.family == Family::Place { common.literals.len() } else { 0 };
        let rank = (honest.is_quiet(&pattern), rank(&pattern));
        if pattern.family == Family::Mention {
            mention = Some(pattern.clone());
        }
        if best.as_ref().is_none_or(|(_, other, others)| (rank, size) > (*other, *others)) {
            best = Some((pattern, rank, size));
        }
    }
    let is_quiet = best.as_ref().is_some_and(|(_, (quiet, _), _)| *quiet);
    if let Some((pattern, _)) = by_reason.filter(|_| !is_quiet && !of_texts) {
        return Some((vec![pattern], BY_REASON));
    }
    best.map(|(pattern, (_, rank), _)| {
        let mention = mention.filter(|mention| *mention != pattern);
        (std::iter::once(pattern).chain(mention).collect(), rank)
    })
}

/// The patterns of one example: those of the highest rank.
pub(super) fn alone(example: &Example, honest: &Honest) -> Vec<Pattern> {
    if let Some((pattern, true)) = by_reason(std::slice::from_ref(example), honest) {
        return vec![pattern];
    }
    if is_about_text(example) {
        return exactly(example);
    }
    let mut found: Vec<Pattern> = example.events.iter().filter_map(|event| Common::of(event).pattern(honest)).collect();
    if found.is_empty() {
        // everything that it did was done before: what was reported counts more than that nobody reported it then
        found = exactly(example);
    }
    let rank = |pattern: &Pattern| (honest.is_quiet(pattern), rank(pattern));
    let most = found.iter().map(rank).max().unwrap_or_default();
    let mut kept: Vec<Pattern> = Vec::new();
    for pattern in found.into_iter().filter(|pattern| rank(pattern) == most) {
        if !kept.contains(&pattern) {
            kept.push(pattern);
        }
    }
    kept
}

/// The patterns with all that one example did.
pub(super) fn exactly(example: &Example) -> Vec<Pattern> {
    let names = [Slot::At, Slot::Named, Slot::Word, Slot::Value, Slot::Tool];
    let named = |event: &&Event| {
        event.family != Family::Mention && event.literals.iter().any(|literal| names.contains(&literal.0))
    };
    let whole = |event: &Event| Pattern::new(event.family, event.literals.clone());
    example.events.iter().filter(named).map(whole).collect()
}

/// What is changed says more than how it was done.
fn rank(pattern: &Pattern) -> i32 {
    let has = |slot: Slot, value: &str| of(&pattern.literals, slot).any(|one| one == value);
    let kind = |kinds: &[&str]| kinds.iter().any(|kind| has(Slot::Kind, kind));
    match pattern.family {
        Family::Thing if kind(&["table", "column", "database"]) && has(Slot::Does, super::CHANGE) => 8,
        Family::Place if of(&pattern.literals, Slot::At).any(is_project) => 2,
        Family::Place if has(Slot::Does, super::CHANGE) => 7,
        Family::Thing if kind(&["table", "column", "database"]) => 6,
        Family::Call => 5,
        // an alias, such as a remote of a repository, says little
        Family::Thing if kind(&["host"]) && of(&pattern.literals, Slot::At).any(|host| host.contains('.')) => 4,
        Family::Command => 3,
        Family::Place => 2,
        Family::Plain => 1,
        Family::Mention | Family::Said => 0,
        Family::Thing => -1,
    }
}

impl<'e> Common<'e> {
    fn of(event: &'e Event) -> Self {
        Self {
            family: event.family,
            literals: event.literals.clone(),
            firsts: event.of(Slot::First).collect(),
            shortest: event.of(Slot::Tool).count(),
            ways: event.literals.iter().filter(|literal| is_way(literal)).collect(),
            tells: event.tells(),
            count: 1,
        }
    }

    /// Keeps what it has in common with the best event of an example; false if nothing is left that names something.
    fn narrow(&mut self, example: &'e Example) -> bool {
        let mut best: Option<(BTreeSet<Literal>, &'e Event)> = None;
        for event in example.events.iter().filter(|event| event.family == self.family) {
            let both: BTreeSet<Literal> = self.literals.intersection(&event.literals).cloned().collect();
            if best.as_ref().is_none_or(|(other, _)| both.len() > other.len()) {
                best = Some((both, event));
            }
        }
        let Some((both, event)) = best else { return false };
        self.literals = both;
        self.firsts.extend(event.of(Slot::First));
        self.ways.extend(event.literals.iter().filter(|literal| is_way(literal)));
        self.shortest = self.shortest.min(event.of(Slot::Tool).count());
        self.tells &= event.tells();
        self.count += 1;
        !self.literals.is_empty()
    }

    /// The smallest tenable pattern that covers no honest event.
    fn pattern(&self, honest: &Honest) -> Option<Pattern> {
        let wider = match self.family {
            Family::Place => self.place(),
            Family::Thing => self.thing(),
            Family::Call => self.call(honest),
            Family::Command | Family::Plain => self.command(honest),
            Family::Mention => self.mention(honest),
            Family::Said => Vec::from_iter(Some(self.literals.clone()).filter(|literals| !literals.is_empty())),
        };
        let patterns = wider.into_iter().map(|literals| Pattern::new(self.family, literals));
        let free: Vec<Pattern> = patterns.filter_map(|pattern| self.freed(pattern, honest)).collect();
        let quiet = free.iter().find(|pattern| honest.is_quiet(pattern));
        quiet.or(free.first()).cloned()
    }

    /// A pattern that covers no honest event: as it is, or but for what honest actions did in other ways than the examples.
    fn freed(&self, mut pattern: Pattern, honest: &Honest) -> Option<Pattern> {
        let has_ways = matches!(self.family, Family::Place | Family::Thing | Family::Call);
        let own = |event: &Event| -> BTreeSet<Literal> {
            let ways = event.literals.iter().filter(|literal| is_way(literal) && !self.ways.contains(literal));
            ways.filter(|_| has_ways).cloned().collect()
        };
        let covered = |pattern: &Pattern, record: &[Event]| -> BTreeSet<BTreeSet<Literal>> {
            record.iter().filter(|event| pattern.matches(event)).map(own).collect()
        };
        let passed = covered(&pattern, &honest.passed);
        if passed.iter().any(BTreeSet::is_empty) || passed.len() > WAYS {
            return None;
        }
        pattern.unless.extend(passed);
        // what a person was asked about is left out if it can be told
        let mut quiet = pattern.clone();
        quiet.unless.extend(covered(&pattern, &honest.asked).into_iter().filter(|own| !own.is_empty()));
        let told = honest.is_quiet(&quiet) && quiet.unless.len() <= WAYS;
        Some(if told { quiet } else { pattern })
    }

    fn all(&self, slot: Slot) -> BTreeSet<Literal> {
        self.literals.iter().filter(|literal| literal.0 == slot).cloned().collect()
    }

    /// The literals of several slots.
    fn with(&self, slots: &[Slot]) -> BTreeSet<Literal> {
        self.literals.iter().filter(|literal| slots.contains(&literal.0)).cloned().collect()
    }

    fn place(&self) -> Vec<BTreeSet<Literal>> {
        let does = self.all(Slot::Does);
        let deepest = of(&self.literals, Slot::Below).max_by_key(|folder| folder.len());
        let at = self.all(Slot::At);
        let folder =
            deepest.filter(|folder| !at.is_empty() || folder.matches('/').count() >= DEPTH && !is_home(folder));
        let below: BTreeSet<Literal> = folder.map(|f| Literal(Slot::Below, f.to_owned())).into_iter().collect();
        let (named, mut ends) = (self.all(Slot::Named), self.all(Slot::Ends));
        let longest = ends.iter().map(|ending| ending.1.len()).max().unwrap_or_default();
        ends.retain(|ending| ending.1.len() == longest);
        let mut found = Vec::new();
        let mut add = |parts: &[&BTreeSet<Literal>]| {
            if parts.iter().all(|part| !part.is_empty()) {
                found.push(parts.iter().copied().flatten().chain(&does).cloned().collect());
            }
        };
        // nothing is generalised over verbs but what is done to one place
        if does.is_empty() && self.count >= MANY && folder.is_some_and(|folder| !is_project(folder)) {
            found.push(below);
            return found;
        }
        if does.is_empty() && at.is_empty() && named.is_empty() {
            return found;
        }
        // one report says nothing of all that lies in a project
        if self.count > 1 || !folder.is_some_and(is_project) {
            add(&[&below]);
        }
        if self.count == 1 {
            add(&[&at]);
            return found;
        }
        // a folder that many examples share by chance is that of a project
        let telling = folder.is_some_and(|folder| self.count >= MANY && !is_project(folder));
        if telling {
            add(&[&below, &named]);
            add(&[&below, &ends]);
        }
        add(&[&named]);
        let compound = ends.iter().any(|ending| ending.1.matches(['.', '_', '-']).count() > 1);
        if self.count >= MANY || compound && self.count > 1 {
            add(&[&ends]);
        }
        add(&[&below, &named]);
        add(&[&below, &ends]);
        add(&[&at]);
        found
    }

    /// Many examples that name the same thing: what all of them do to it or, if they do different things, whatever acts.
    fn mention(&self, honest: &Honest) -> Vec<BTreeSet<Literal>> {
        let act = Literal(Slot::Does, super::events::ACT.to_owned());
        let does: BTreeSet<Literal> = self.all(Slot::Does).into_iter().filter(|verb| *verb != act).collect();
        let does = if does.is_empty() { BTreeSet::from([act]) } else { does };
        let same = honest.all().filter(|event| event.family == Family::Mention && does.is_subset(&event.literals));
        let known: BTreeSet<&str> = same.flat_map(|event| event.of(Slot::Word)).collect();
        let words = self
            .all(Slot::Word)
            .into_iter()
            .filter(|word| is_telling(&word.1) && word.1.chars().count() > TELLING && !known.contains(word.1.as_str()));
        let own: BTreeSet<Literal> = words.collect();
        if self.count < MANY {
            return Vec::new();
        }
        // one word that nobody acted on; or several, on which nobody acted together
        let named: BTreeSet<Literal> = self.all(Slot::Word).into_iter().filter(|word| is_telling(&word.1)).collect();
        let together = (2..=TOGETHER).contains(&named.len()).then_some(&named);
        let several = Some(&own).filter(|own| !own.is_empty()).into_iter().chain(together);
        several.map(|words| does.union(words).cloned().collect()).collect()
    }

    fn thing(&self) -> Vec<BTreeSet<Literal>> {
        let named = self.literals.iter().any(|literal| matches!(literal.0, Slot::At | Slot::Below));
        if named { vec![self.literals.clone()] } else { Vec::new() }
    }

    fn call(&self, honest: &Honest) -> Vec<BTreeSet<Literal>> {
        let tool = self.all(Slot::Tool);
        // a value says something if nobody has done the same with it
        let does = self.all(Slot::Does);
        let calls = honest.all().filter(|event| event.family == Family::Call && does.is_subset(&event.literals));
        let known: BTreeSet<&str> = calls.flat_map(|event| event.of(Slot::Value)).collect();
        let telling = |literal: &&Literal| is_telling(&literal.1);
        let values: BTreeSet<Literal> = self.all(Slot::Value);
        let own: BTreeSet<Literal> =
            values.iter().filter(telling).filter(|literal| !known.contains(literal.1.as_str())).cloned().collect();
        let join = |a: &BTreeSet<Literal>, b: &BTreeSet<Literal>| a.union(b).cloned().collect::<BTreeSet<_>>();
        let mut found: Vec<BTreeSet<Literal>> = Vec::new();
        if !tool.is_empty() && tool.len() >= self.shortest {
            // several examples with one value in common are about this value
            // of what is told through a tool, the text says what was reported, not that the tool was used
            if (self.count == 1 || own.is_empty()) && !self.tells {
                found.push(tool.clone());
            }
            let named = |more: &&BTreeSet<Literal>| !self.tells || !more.is_empty();
            found.extend([&own, &values].into_iter().filter(named).map(|more| join(&tool, more)));
        } else if !does.is_empty() {
            // one value in common: with whatever acts, or only with what does the same
            let act = Literal(Slot::Does, super::events::ACT.to_owned());
            let acts = honest.all().filter(|event| event.family == Family::Call && event.literals.contains(&act));
            let done: BTreeSet<&str> = acts.flat_map(|event| event.of(Slot::Value)).collect();
            let new: BTreeSet<Literal> =
                values.iter().filter(telling).filter(|literal| !done.contains(literal.1.as_str())).cloned().collect();
            if does.contains(&act) && !new.is_empty() {
                found.push(join(&BTreeSet::from([act]), &new));
            }
            if !own.is_empty() {
                found.push(join(&does, &own));
            }
            // tools of one family, with a value in common
            if tool.len() > 1 && values.iter().any(|value| is_telling(&value.1)) {
                found.push(join(&tool, &values));
            }
        }
        found
    }

    fn command(&self, honest: &Honest) -> Vec<BTreeSet<Literal>> {
        let program = self.all(Slot::Program);
        // a word says something if nobody has done the same with it
        let same = program.union(&self.all(Slot::Does)).cloned().collect::<BTreeSet<_>>();
        let same = honest.all().filter(|event| event.family == self.family && same.is_subset(&event.literals));
        let known: BTreeSet<&Literal> = same.flat_map(|event| &event.literals).collect();
        let is_anchor = |literal: &&Literal| literal.0 == Slot::Word && self.firsts.contains(literal.1.as_str());
        let anchors: BTreeSet<Literal> = self.literals.iter().filter(is_anchor).cloned().collect();
        let others = self.with(&[Slot::Word, Slot::Option]);
        let own: BTreeSet<Literal> = others.iter().filter(|literal| !known.contains(literal)).cloned().collect();
        let base: BTreeSet<Literal> = program.union(&anchors).cloned().collect();
        if program.is_empty() {
            // the same subcommand of several programs, with a word in common
            let telling = own.iter().any(|literal| !anchors.contains(literal) && is_telling(&literal.1));
            return if anchors.is_empty() || !telling {
                Vec::new()
            } else {
                vec![anchors.union(&own).cloned().collect()]
            };
        }
        let mut found = Vec::new();
        let options = own.iter().any(|literal| literal.0 == Slot::Option);
        let acts = self.all(Slot::Does);
        if !anchors.is_empty() || options && self.count > 1 {
            found.push(base.union(&own).cloned().collect());
            found.push(base.union(&own).cloned().chain(self.all(Slot::Pair)).collect());
            found.push(base.union(&others).cloned().collect());
            found.push(base.union(&others).cloned().chain(self.all(Slot::Pair)).collect());
        } else if self.count >= MANY && acts.is_empty() {
            // of a program that is not known, what all of them say besides comes first
            let said = own.iter().any(|literal| is_telling(&literal.1));
            found.extend(said.then(|| program.union(&own).cloned().collect()));
            found.push(program);
        } else if self.count == 1 && (!others.is_empty() || acts.is_empty()) {
            // of a known program, its words say what was reported; an unknown one may have none
            found.push(base.union(&others).cloned().collect());
        }
        if self.count >= MANY && !acts.is_empty() && !own.is_empty() {
            // several subcommands that change something, with one word in common
            found.push(base.union(&own).chain(&acts).cloned().collect());
        }
        found
    }
}

/// Whether a value says something by itself.
pub(super) fn is_telling(value: &str) -> bool {
    value.chars().count() >= TELLING
        && value.parse::<f64>().is_err()
        && value.contains(char::is_alphabetic)
        && !["true", "false", "null"].contains(&value)
}

/// Whether a literal says what is done, or how.
fn is_way(literal: &Literal) -> bool {
    matches!(literal.0, Slot::Does | Slot::How | Slot::Tool)
}

/// Whether a folder lies directly in somebody's home.
pub(super) fn is_project(folder: &str) -> bool {
    folder.rsplit_once('/').is_some_and(|(above, _)| is_home(above))
}

/// Whether a pattern is of whatever is in a whole project or home.
pub(super) fn is_of_all(pattern: &Pattern) -> bool {
    let mut folders = pattern.literals.iter().filter(|literal| literal.0 == Slot::Below).map(|literal| &literal.1);
    pattern.family == Family::Place && folders.any(|folder| is_project(folder) || is_home(folder))
}

/// Whether a folder is somebody's home.
pub(super) fn is_home(folder: &str) -> bool {
    let above = ["/home/", "/Users/"].iter().find_map(|above| folder.strip_prefix(above));
    folder == "/root" || above.is_some_and(|rest| !rest.contains('/'))
}
