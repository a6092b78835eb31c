//! What a reading does not say about what happened.

use super::Language;
use super::source::{FILES, HOME, WORK};
use crate::trace::{Deed, Event};
use agrail_effects::shell::{self, FileSource, ReadError, Reading};
use agrail_effects::{Effect, Target, UNKNOWN_SPAN, Verb};
use std::collections::BTreeSet;

/// The result of one program.
#[derive(Debug)]
pub struct Outcome {
    pub number: u64,
    pub productions: BTreeSet<&'static str>,
    /// What happened and is not among the effects.
    pub missed: Vec<String>,
    /// Why the program is unknown.
    pub unknown: Vec<String>,
    /// Whether it was ended from outside.
    pub ended: bool,
}

/// The files as they are before a program runs.
struct Before;

impl FileSource for Before {
    fn script(&self, path: &str, _max: usize) -> Result<Vec<u8>, ReadError> {
        let relative = path.strip_prefix(WORK).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
        match FILES.iter().find(|(name, _)| *name == relative) {
            Some((_, text)) => Ok(text.as_bytes().to_vec()),
            None => Err(ReadError::Missing(path.to_owned())),
        }
    }

    fn folder(&self, path: &str) -> Option<bool> {
        let below = |name: &str| format!("{WORK}/{name}").starts_with(&format!("{path}/"));
        Some(matches!(path, "/" | "/tmp" | "/home" | HOME | WORK) || FILES.iter().any(|(name, _)| below(name)))
    }
}

/// What the reader says about a program.
pub fn reading(language: Language, source: &str) -> Reading {
    let name = match language {
        Language::Bash => "bash",
        Language::Python => "python",
        Language::Javascript => "js",
    };
    shell::read_source(name, source, "user", HOME, WORK, &Before)
}

/// Compares a reading with what happened.
pub fn judge(number: u64, language: Language, events: &BTreeSet<Event>, ended: bool) -> Outcome {
    let program = language.program(number);
    let effects = reading(language, &program.source).effects;
    let unknown: BTreeSet<String> = effects
        .iter()
        .filter(|effect| effect.verb == Verb::Unknown || is_vague(effect))
        .map(|effect| format!("{} {}", effect.operation, effect.target.name().chars().take(40).collect::<String>()))
        .collect();
    let known = unknown.is_empty();
    let missed = events.iter().filter(|event| known && counts(event) && !is_covered(event, &effects));
    let missed = missed.map(|event| format!("{:?} {}", event.deed, event.target)).collect();
    Outcome { number, productions: program.productions, missed, unknown: unknown.into_iter().collect(), ended }
}

/// Whether an effect may change anything: that covers all, and says nothing.
fn is_vague(effect: &Effect) -> bool {
    let looks = matches!(effect.verb, Verb::Read | Verb::List | Verb::Variable | Verb::Execute);
    let name = effect.target.name();
    !looks && (name.starts_with(UNKNOWN_SPAN) || name.starts_with(&format!("{WORK}/{UNKNOWN_SPAN}")))
}

/// Whether an event is the program's own, not one of the interpreter's start.
fn counts(event: &Event) -> bool {
    let path = event.target.as_str();
    let system = ["/usr/", "/lib", "/etc/", "/proc/", "/dev/", "/bin/", "/sys/", "/root/", "/var/", "/opt/", "/run/"];
    let own = path.starts_with(WORK) || path.starts_with("/tmp/") || path.starts_with(HOME);
    match event.deed {
        Deed::Look => false,
        Deed::Read => own && path != WORK && !path.contains("/program.") && !is_scratch(path),
        Deed::Write | Deed::Remove | Deed::Mode | Deed::Owner => {
            !is_scratch(path) && (own || !system.iter().any(|folder| path.starts_with(folder)))
        }
        Deed::Start => own && !path.contains("/program."),
        Deed::Connect => true,
        _ => false,
    }
}

/// Files of here-documents, what an editor in place writes beside its file, compiled modules.
fn is_scratch(path: &str) -> bool {
    path.starts_with("/tmp/sh-thd")
        || path.starts_with(&format!("{WORK}/sed"))
        || path.contains("/__pycache__")
        || path.starts_with(&format!("{WORK}/d/sed"))
        || path.starts_with(&format!("{WORK}/d/g/sed"))
}

fn is_covered(event: &Event, effects: &[Effect]) -> bool {
    effects.iter().any(|effect| {
        let fits = match event.deed {
            Deed::Read => !matches!(effect.verb, Verb::Variable),
            Deed::Start => matches!(effect.verb, Verb::Execute),
            Deed::Connect => matches!(effect.verb, Verb::Connect | Verb::Send | Verb::Install | Verb::Remote),
            Deed::Remove => matches!(effect.verb, Verb::Delete | Verb::Move | Verb::Overwrite | Verb::Write),
            _ => !matches!(effect.verb, Verb::Read | Verb::List | Verb::Execute | Verb::Variable),
        };
        fits && match &effect.target {
            Target::Path(path) => event.deed != Deed::Connect && is_at(path, &event.target, effect),
            Target::Named(..) => event.deed == Deed::Connect,
        }
    })
}

/// Whether a path is the target of an effect, below it, or one that its pattern matches.
fn is_at(claimed: &str, path: &str, effect: &Effect) -> bool {
    let claimed = claimed.trim_end_matches('/');
    let pattern = claimed.contains(['*', '?', '[', UNKNOWN_SPAN]);
    let below = |claimed: &str| path.strip_prefix(claimed).is_some_and(|rest| rest.starts_with('/'));
    // into a folder: the name of what is copied there follows
    let into = matches!(effect.verb, Verb::Overwrite | Verb::Move | Verb::Create | Verb::Link | Verb::Write);
    if pattern {
        return matches_pattern(claimed, path) || effect.recursive;
    }
    // folders on the way to what is created
    let on_the_way = effect.verb == Verb::Create && claimed.starts_with(&format!("{path}/"));
    claimed == path || (effect.recursive || into) && below(claimed) || on_the_way
}

/// Whether a pattern matches a path; a part that is not constant matches anything.
fn matches_pattern(pattern: &str, path: &str) -> bool {
    let mut expression = String::from("^");
    for c in pattern.chars() {
        match c {
            '*' | UNKNOWN_SPAN => expression.push_str(".*"),
            '?' => expression.push('.'),
            '[' | ']' => expression.push(c),
            other => expression.push_str(&regex::escape(&other.to_string())),
        }
    }
    expression.push_str("(/.*)?$");
    regex::Regex::new(&expression).is_ok_and(|expression| expression.is_match(path))
}
