//! Targets that the request names bind.
//!
//! Where a request says which branch, job, file or account, the same effect on another target of that kind is asked about:
//! "cancel my job 4411" asks for `scancel 4411` and not for `scancel 4412`. Where it names none, it binds none. What is
//! named may be resolved by what the agent has read: a listing that has the title and the identifier in one row.
//!
//! 1. `named` finds names in a sentence with a noun of their kind: what is quoted, what has digits, what has a hyphen, a
//!    slash or a point inside and stands beside the noun. Names joined by "and" are alternatives; otherwise a target has to
//!    have all of them. What follows "in", "on" or "from" says where, not what.
//! 2. `objects` finds what an action changes: arguments of a tool call, by the nouns of its name; operands of commands that
//!    delete, stop or change what they name.
//! 3. A person is asked if an object has another name, if a line deletes another file than the one that the request asks to
//!    delete, if the request names an environment and the action another one, and if the row of the object in a listing has
//!    no name of the request while another row has one.
//!
//! Limits: names of one plain word ("the web container") are only found in listings; requests in English.

mod named;
mod objects;

use crate::action::{Action, Context};
use crate::check::{Answerer, Check, Evidence, Finding, Origin, Outcome, Response, Source};
pub(crate) use named::Named;
use objects::{Object, deleted, objects};
use std::collections::BTreeSet;

/// Environments of a deployment: all names of one.
const ENVIRONMENTS: [&[&str]; 4] =
    [&["production", "prod", "live"], &["staging", "stage"], &["testing", "test", "qa"], &["development", "dev"]];
/// Most bytes of listings that are searched for one object, the newest first.
const READ: usize = 256 << 10;
/// Most rows of a listing that are compared.
const ROWS: usize = 2_000;
/// Most characters of a row that are quoted.
const QUOTED: usize = 160;

/// Findings about targets that the request does not name.
pub(crate) fn judge(action: &Action, context: &Context) -> Vec<Finding> {
    if context.request.trim().is_empty() {
        return Vec::new();
    }
    let named = Named::of(&context.request);
    let found = files(action, &named)
        .or_else(|| environment(action, &named))
        .or_else(|| objects(action).iter().find_map(|object| other(object, &named, context)));
    found.into_iter().map(|(reason, evidence)| finding(reason, evidence)).collect()
}

type Found = (String, Vec<Evidence>);

/// An object with another name than the request has for its kind.
fn other(object: &Object, named: &Named, context: &Context) -> Option<Found> {
    if named.has(&object.name) {
        return None;
    }
    let kinds: Vec<&str> = object.kinds.iter().map(String::as_str).collect();
    let names = named.names(&kinds);
    // an identifier is not compared with a title
    let form = shape(&object.name);
    let alike = |name: &String| object.operand || form.is_some() && shape(name) == form;
    let bound = names.iter().any(alike) && named.covers(&kinds, &object.name) == Some(false);
    if !bound && !object.grave {
        return None;
    }
    let mut listed = None;
    let proper = named.proper();
    let mut left = READ;
    for observation in context.observations.iter().rev() {
        let whole = observation.text.expose_untrusted();
        let text = whole.get(..whole.floor_char_boundary(left.min(whole.len()))).unwrap_or_default().to_lowercase();
        left = left.saturating_sub(whole.len());
        let rows = rows(&text);
        let name = object.name.to_lowercase();
        let others: Vec<&String> = names.iter().chain(&proper).filter(|one| **one != name).collect();
        let own_names: Vec<&String> = proper.iter().collect();
        let own: Vec<&&str> = rows.iter().filter(|row| has(row, &name)).collect();
        let called = |row: &str, by: &[&String]| by.iter().any(|one| has(row, one));
        // the listing says that this is what the request names
        if own.iter().any(|row| called(row, &others)) {
            return None;
        }
        let grave = object.grave && own.len() == 1 && rows.len() > 1;
        let other = rows.iter().find(|row| grave && !has(row, &name) && called(row, &own_names));
        listed = listed.or_else(|| other.map(|row| row.chars().take(QUOTED).collect::<String>()));
    }
    if bound {
        return Some((format!("the request names {}, and this is {}", names.join(", "), object.name), Vec::new()));
    }
    let row = listed?;
    let reason = format!("the request has a name of another row of the listing than that of {}", object.name);
    Some((reason, vec![Evidence { about: "the listing".to_owned(), says: row }]))
}

/// The letters at the beginning of an identifier, and whether digits and a mark follow.
fn shape(name: &str) -> Option<(String, bool)> {
    let name = name.to_lowercase();
    let letters: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
    let digits = name.bytes().any(|b| b.is_ascii_digit());
    (digits && !name.contains(char::is_whitespace) && !name.contains('.')).then(|| (letters, name.contains(['-', '_'])))
}

/// The rows of a listing: lines, or the objects of a list in JSON.
fn rows(text: &str) -> Vec<&str> {
    let lines = text.lines().count();
    let cut: Vec<&str> = if lines > 1 { text.lines().collect() } else { text.split("},").collect() };
    cut.into_iter().map(str::trim).filter(|row| !row.is_empty()).take(ROWS).collect()
}

/// Whether a row has a name as a word.
fn has(row: &str, name: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    row.match_indices(name).any(|(at, _)| {
        let before = row.get(..at).and_then(|text| text.chars().next_back());
        let after = row.get(at + name.len()..).and_then(|text| text.chars().next());
        !letter(before) && !letter(after)
    })
}

/// A file that a line deletes, while the request asks to delete another one.
fn files(action: &Action, named: &Named) -> Option<Found> {
    let paths = deleted(action);
    let asked = if paths.is_empty() { Vec::new() } else { named.deleted_files() };
    let covered = |path: &String| {
        let path = path.trim_end_matches('/');
        asked.iter().any(|name| {
            let name = name.trim_start_matches("./").trim_end_matches('/');
            path == name
                || path.ends_with(&format!("/{name}"))
                || name.ends_with(&format!("/{path}"))
                || path.contains(&format!("{name}/"))
        })
    };
    let path = paths.iter().find(|path| !covered(path)).filter(|_| !asked.is_empty())?;
    Some((format!("the request asks to delete {}, and this deletes {path}", asked.join(", ")), Vec::new()))
}

/// An environment that the request does not name, while it names another one.
fn environment(action: &Action, named: &Named) -> Option<Found> {
    let asked = named.words();
    let of = |text: &BTreeSet<String>| {
        ENVIRONMENTS.iter().filter(|names| names.iter().any(|name| text.contains(*name))).collect::<Vec<_>>()
    };
    let wanted = of(&asked);
    // a word that is an environment is also a folder and a flag: only what a slot or an option sets counts
    let set: BTreeSet<String> = match action {
        Action::ToolCall { arguments, .. } => {
            crate::effect::tool_call::strings(arguments).iter().map(|value| value.to_lowercase()).collect()
        }
        Action::Shell { command, .. } => options(command),
        _ => return None,
    };
    let own = of(&set);
    let other = own.iter().find(|names| !wanted.contains(names))?;
    let first = wanted.first()?;
    let wanted = first.iter().find(|name| asked.contains(**name))?;
    let other = other.iter().find(|name| set.contains(**name))?;
    Some((format!("the request names {wanted}, and this is for {other}"), Vec::new()))
}

/// The values of options for a namespace or an environment.
fn options(command: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let words: Vec<&str> = command.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let (name, value) = word.split_once('=').unwrap_or((word, words.get(at + 1).copied().unwrap_or_default()));
        let name = name.trim_start_matches('-').to_lowercase();
        if word.starts_with('-')
            && matches!(
                name.as_str(),
                "n" | "namespace"
                    | "env"
                    | "environment"
                    | "context"
                    | "kube-context"
                    | "stage"
                    | "workspace"
                    | "profile"
            )
        {
            found.insert(value.trim_matches(['"', '\'']).to_lowercase());
        }
    }
    found
}

fn finding(reason: String, evidence: Vec<Evidence>) -> Finding {
    let check =
        Check::integrity("targets of the request", "where the request names a target, the action has no other one");
    let mut found = Finding::new(check, Outcome::Violation, Source::Provenance(Origin::Request), reason);
    found.response = Response::Ask(Answerer::Person);
    found.advice = Some("act on what the request names, or tell the user which target you mean and why".to_owned());
    found.evidence = evidence;
    found
}
