//! The event of all that an action names, and all that it does.
//!
//! 1. What a command only looks at, while it acts on something else, is not named by it: the host that a file comes from, a
//!    column in a condition, the folder that a copy is made of. This holds for the words of that command alone, and only if it
//!    is clear which command looked.
//! 2. Names are compared in one spelling. A name that is only that of a parameter, or that stands in prose, is marked: by
//!    itself it says little.
//! 3. A local file is no thing of that name: rules about files and folders are about places.

use super::events::{ACT, acts_on, family, group, host, is_inner};
use super::{Event, Family, Literal, Slot, words};
use crate::effect::table::Table;
use crate::effect::{Kind, Verb};
use crate::policy::EffectFacts;
use std::collections::{BTreeSet, HashSet};

/// Most names of one action.
const NAMES: usize = 1_000;

/// All that an action is made of.
pub(super) struct Parts<'a> {
    /// Its effects.
    pub queries: &'a [EffectFacts],
    /// Its commands.
    pub commands: &'a [Vec<String>],
    /// The name of a tool.
    pub tool: Option<&'a str>,
    /// The texts among the arguments of a tool.
    pub texts: &'a [String],
    /// What a tool only takes something from.
    pub sources: HashSet<String>,
    /// Whether a program that nobody knows seems to do more than look.
    pub acts: bool,
}

/// What one program only looks at.
struct Looks {
    names: HashSet<String>,
    paths: Vec<String>,
}

/// All that an action names, and all that it does; `None` if it does nothing.
pub(super) fn mention(parts: &Parts<'_>, events: &[Event]) -> Option<Event> {
    let mut literals = verbs(parts, events);
    if literals.is_empty() {
        return None;
    }
    literals.insert(Literal(Slot::Does, ACT.to_owned()));
    let looks = parts.looks(|_| true);
    let (mut spelled, mut marked) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        if matches!(event.family, Family::Call | Family::Command) {
            spelled.extend(event.of(Slot::Named).map(str::to_owned));
            let options = event.of(Slot::Option).filter(|option| option.starts_with("--"));
            marked.extend(options.map(words::normal));
        }
        let thing = event.family == Family::Thing;
        let named = event.literals.iter().filter_map(|literal| match literal.0 {
            Slot::Word | Slot::Value => Some(literal.1.to_lowercase()),
            Slot::At | Slot::Named if thing => Some(literal.1.clone()),
            _ => None,
        });
        let own = event.of(Slot::Program).next().map(|program| parts.looks_of(program, event.family));
        let of_path = |word: &str| event.family == Family::Plain && (word.contains('/') || word.ends_with('*'));
        let dropped = |word: &String| match &own {
            Some(own) => own.has(word) || of_path(word),
            None => parts.sources.contains(word) || thing && looks.names.contains(word),
        };
        let named: Vec<String> = named.filter(|word| !dropped(word)).collect();
        if event.family == Family::Call || thing {
            spelled.extend(named.iter().flat_map(|word| words::names(word).0));
        }
        literals.extend(named.into_iter().map(|word| Literal(Slot::Word, word)));
    }
    spelled.extend(parts.tool.iter().map(|tool| words::normal(tool)));
    for command in parts.commands {
        parts.names_of(command, &mut spelled, &mut marked);
    }
    let unknown =
        events.iter().any(|event| event.family == Family::Call && event.of(Slot::Does).any(|does| does == "call"));
    for text in parts.texts {
        let (names, prose) = words::names(text);
        let long = text.len() > words::LONGEST;
        spelled.extend(names.into_iter().filter(|name| long && !parts.sources.contains(name)));
        marked.extend(prose.into_iter().filter(|_| unknown));
    }
    marked.retain(|name| !spelled.contains(name) && super::induce::is_telling(name));
    let more = events.iter().any(|event| event.more) || spelled.len() + marked.len() > NAMES;
    let marks: Vec<Literal> = marked.iter().take(NAMES).map(|name| Literal(Slot::Option, name.clone())).collect();
    literals.extend(spelled.into_iter().chain(marked).take(NAMES).map(|name| Literal(Slot::Named, name)));
    literals.extend(marks);
    Some(Event { family: Family::Mention, literals, spreads: false, more })
}

/// What the action does.
fn verbs(parts: &Parts<'_>, events: &[Event]) -> BTreeSet<Literal> {
    // what a repository keeps of itself changes even when it is only looked at, and the event of a call says what it does
    let silent = |query: &EffectFacts| {
        !acts_on(query) || is_inner(query.constant_part()) || query.kind == Kind::Tool && query.verb == Verb::Call
    };
    let acting = parts.queries.iter().filter(|query| !silent(query)).map(|query| group(query.verb));
    let called = |event: &&Event| event.family == Family::Call && event.of(Slot::Does).any(|does| does == ACT);
    let calls = events.iter().filter(called).flat_map(|event| event.of(Slot::Does));
    let calls = calls.filter(|does| !does.starts_with("read") && !does.starts_with("list"));
    let calls = calls.filter_map(|does| does.split(' ').next());
    let all = acting.chain(parts.acts.then_some(ACT)).chain(calls);
    all.map(|verb| Literal(Slot::Does, verb.to_owned())).collect()
}

impl Parts<'_> {
    /// What is only looked at, by the effects of some programs.
    fn looks(&self, of: impl Fn(&EffectFacts) -> bool) -> Looks {
        let own: Vec<&EffectFacts> = self.queries.iter().filter(|query| of(query)).collect();
        // what runs there acts on every host that is reached
        let runs = own.iter().any(|query| query.verb == Verb::Remote && acts_on(query));
        let acted_on = |query: &EffectFacts| acts_on(query) || runs && query.kind == Kind::Host;
        let part = |query: &EffectFacts| match query.kind {
            Kind::Column => query.name.rsplit('.').next().map(str::to_lowercase),
            Kind::Host | Kind::Url => host(&query.name).split('.').next().map(str::to_owned),
            _ => None,
        };
        let names = |acted: bool| -> HashSet<String> {
            let of = own.iter().filter(|query| query.kind != Kind::Path && acted_on(query) == acted);
            of.flat_map(|query| part(query).into_iter().chain([query.name.to_lowercase()])).collect()
        };
        let acted = names(true);
        let names: HashSet<String> = names(false).into_iter().filter(|name| !acted.contains(name)).collect();
        // one spelling, too: a statement has the names of columns
        let spelled: Vec<String> = names.iter().map(|name| words::normal(name)).collect();
        let paths =
            own.iter().filter(|query| query.kind == Kind::Path).map(|query| query.constant_part().to_lowercase());
        Looks { names: names.into_iter().chain(spelled).collect(), paths: paths.collect() }
    }

    /// What the command of a program only looks at; nothing if it is not clear that it is this command which looks.
    fn looks_of(&self, program: &str, family: Family) -> Looks {
        // all effects of an action with one command are its own
        let only = self.commands.iter().filter(|command| !words::is_wrapper(name(command))).count() == 1;
        let own = || self.queries.iter().filter(|query| only || query.program == program);
        let is = |command: &&Vec<String>| name(command) == program;
        let clear = self.commands.iter().filter(is).count() == 1 && own().all(|query| query.verb != Verb::Unknown);
        if !clear {
            return Looks { names: HashSet::new(), paths: Vec::new() };
        }
        let mut looks = self.looks(|query| only || query.program == program);
        // of a program that works on files alone, all paths are places; of others, what is sent may look like a path
        let sends = own().any(|query| acts_on(query) && query.kind != Kind::Path);
        if family != Family::Plain {
            let read = own().filter(|query| query.kind == Kind::Path && !acts_on(query) && !sends);
            looks.paths = read.map(|query| query.constant_part().to_lowercase()).collect();
        }
        looks
    }

    /// Adds the names in the words of a command; marked those of its prose.
    fn names_of(&self, command: &[String], spelled: &mut BTreeSet<String>, marked: &mut BTreeSet<String>) {
        let program = name(command);
        if words::is_wrapper(program) {
            return;
        }
        if Table::shipped().row(program).is_none() {
            spelled.extend(words::names(program).0);
        }
        let looks = self.looks_of(program, family(self.queries, program));
        for word in command.iter().skip(1) {
            let value = match word.split_once('=') {
                Some((option, value)) if option.starts_with('-') => value,
                _ if word.starts_with('-') => continue,
                _ => word,
            };
            if words::is_data(value) || looks.has(&value.to_lowercase()) {
                continue;
            }
            let (names, prose) = words::names(value);
            spelled.extend(names.into_iter().filter(|name| !looks.names.contains(name)));
            marked.extend(prose);
        }
    }
}

/// The name of a command's program.
fn name(command: &[String]) -> &str {
    let program = command.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

impl Looks {
    /// Whether a word names what is only looked at, or is such a path.
    fn has(&self, word: &str) -> bool {
        let path = word.trim_start_matches("./").trim_end_matches('/');
        let inner = format!("/{}", path.trim_start_matches('/'));
        let is = |known: &String| {
            let after = |at: usize| known.get(at + inner.len()..).is_some_and(|rest| rest.starts_with('/'));
            known.ends_with(&inner) || known.match_indices(&inner).any(|(at, _)| after(at))
        };
        self.names.contains(word) || !path.is_empty() && self.paths.iter().any(is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(queries: &'a [EffectFacts], commands: &'a [Vec<String>]) -> Parts<'a> {
        Parts { queries, commands, tool: None, texts: &[], sources: HashSet::new(), acts: false }
    }

    #[test]
    fn the_paths_of_a_command_about_files_are_places() {
        let path = |verb: Verb, name: &str| {
            let mut query = EffectFacts::new(verb, Kind::Path, name);
            query.program = "cp".into();
            query
        };
        let copied = [path(Verb::Read, "/home/a/books/signed/x"), path(Verb::Overwrite, "/home/a/books/drafts/x")];
        let command = [["cp", "signed/x", "drafts/"].map(str::to_owned).to_vec()];
        let parts = parts(&copied, &command);
        let looks = parts.looks_of("cp", Family::Plain);
        assert!(looks.has("signed/x") && looks.has("./books/signed/") && looks.has("drafts/x"));
        assert!(!looks.has("gned/x") && !looks.has("/") && !looks.has("other"));
        let other = parts.looks_of("cp", Family::Command);
        assert!(other.has("signed/x") && !other.has("drafts/x"), "of another program, what it reads");
        let twice = [command[0].clone(), command[0].clone()];
        assert!(!Parts { commands: &twice, ..parts }.looks_of("cp", Family::Plain).has("signed/x"));
    }
}
