//! Parses the forms published with AGrail: an analyzer's checklist, an executor's answers.

use serde_json::{Map, Value};

use super::{Malformed, Piece, last, lenient::quote, pieces};

/// Most checks or answers in a reply.
const ITEMS: usize = 200;

/// The key of an answer that names its check.
const CHECK: &str = "Check Item";

/// A check that an analyzer proposed, in the published AGrail form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The category, for example `Information Integrity`.
    pub category: String,
    /// The name within the category; never blank.
    pub name: String,
    /// The definition of the check; never blank.
    pub definition: String,
}

/// One executor answer in the published form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The executor's name for the check, often preceded by its category and followed by its definition.
    pub name: String,
    /// The tool that the executor asks for.
    pub tool: Option<String>,
    /// Whether the check passes; `None` if the executor did not decide.
    pub result: Option<bool>,
    /// Whether the executor deleted the check.
    pub discarded: bool,
    /// Its reasoning.
    pub reason: String,
}

/// The checklist in a reply in AGrail's published form: categories with named checks, and a summary of the action.
///
/// The last such document counts. An empty list is one whose every category is empty.
///
/// # Errors
///
/// If there is none, or if any part of it cannot be parsed with certainty.
pub fn checklist(text: &str) -> Result<Vec<Proposed>, Malformed> {
    let pieces = pieces(text)?;
    let Some(found) = last(&pieces, |value| holds_key(value, is_category))? else {
        return Err(Malformed::new("no checklist"));
    };
    if found.joined {
        return Err(Malformed::new("several documents without text between them"));
    }
    let Value::Object(categories) = &found.value else { return Err(Malformed::new("the checklist is not an object")) };
    let mut proposed = Vec::new();
    for (category, checks) in categories {
        match checks {
            Value::String(_) if category == "Action" => continue,
            Value::Null => continue,
            Value::String(text) if text == "None" => continue,
            _ => {}
        }
        let Value::Object(checks) = checks else { return Err(wrong("category is not an object:", category)) };
        if is_blank(category) {
            return Err(Malformed::new("category without a name"));
        }
        for (name, definition) in checks {
            let Value::String(definition) = definition else { return Err(wrong("definition is not a string:", name)) };
            if is_blank(name) || is_blank(definition) {
                return Err(wrong("check without name or definition in", category));
            }
            let [category, name, definition] = [category, name, definition].map(|text| text.trim().to_owned());
            proposed.push(Proposed { category, name, definition });
        }
    }
    bounded(proposed)
}

/// The executor's answers in a reply in AGrail's published form: an array with one object for each check.
///
/// The last such array counts, unless it is a selection from the one before it. The selected checklist that follows the
/// answers in this form is ignored, and may be truncated.
///
/// # Errors
///
/// If there is none, or if any part of it cannot be parsed with certainty.
pub fn answers(text: &str) -> Result<Vec<Answered>, Malformed> {
    let mut pieces = pieces(text)?;
    if let Some(Piece::Broken { at, .. }) = pieces.last() {
        let cut = text.get(*at..).unwrap_or_default();
        if cut.starts_with('{') && !cut.contains(CHECK) {
            pieces.pop();
        }
    }
    let is_answer = |value: &Value| holds_key(value, |key| key.trim().eq_ignore_ascii_case(CHECK));
    let Some(found) = last(&pieces, is_answer)? else { return Err(Malformed::new("no answers")) };
    if found.joined {
        return Err(Malformed::new("several documents without text between them"));
    }
    let mut answered = list(&found.value)?;
    let fenced = found.fenced;
    for piece in &pieces {
        let Piece::Read(other) = piece else { continue };
        if std::ptr::eq(other, found) || other.fenced != fenced || !is_answer(&other.value) {
            continue;
        }
        // A draft contains no check that the final list lacks. A final list that lacks some is a selection, and must
        // agree with the draft.
        let draft = list(&other.value)?;
        if !names_in(&draft, &answered) {
            let agrees = |one: &Answered| draft.iter().any(|other| same(one, other));
            if !answered.iter().all(agrees) {
                return Err(Malformed::new("two different lists of answers"));
            }
            answered = draft;
        }
    }
    let decided = answered.iter().filter(|one| !one.discarded);
    let mut known = std::collections::HashMap::new();
    for one in decided {
        if known.insert(&one.name, one.result).is_some_and(|result| result != one.result) {
            return Err(wrong("two different answers for", &one.name));
        }
    }
    bounded(answered)
}

fn list(value: &Value) -> Result<Vec<Answered>, Malformed> {
    let Value::Array(items) = value else { return Err(Malformed::new("the answers are not an array")) };
    items.iter().map(answer).collect()
}

fn answer(item: &Value) -> Result<Answered, Malformed> {
    let Value::Object(item) = item else { return Err(Malformed::new("an answer is not an object")) };
    let name = string(item, CHECK)?.trim().to_owned();
    if is_blank(&name) {
        return Err(Malformed::new("answer without a name"));
    }
    let tool = match item.get("Tool Call") {
        None | Some(Value::Null | Value::Bool(false)) => None,
        Some(Value::String(text)) => match text.trim() {
            "" | "False" | "false" | "None" | "none" | "null" => None,
            "True" | "true" => return Err(wrong("tool call without a tool in", &name)),
            tool => Some(tool.to_owned()),
        },
        Some(_) => return Err(wrong("tool call is not a string in", &name)),
    };
    let Some(discarded) = item.get("Delete").and_then(truth).flatten() else {
        return Err(wrong("neither deleted nor kept:", &name));
    };
    let Some(result) = item.get("Result").and_then(truth) else { return Err(wrong("no result for", &name)) };
    let reason = string(item, "Thinking")?.to_owned();
    Ok(Answered { name, tool, result, discarded, reason })
}

/// `Some(Some(_))` for true or false, `Some(None)` for undecided; `None` if the value is none of these.
fn truth(value: &Value) -> Option<Option<bool>> {
    match value {
        Value::Bool(truth) => Some(Some(*truth)),
        Value::Null => Some(None),
        Value::String(text) => match text.trim() {
            "True" | "true" => Some(Some(true)),
            "False" | "false" => Some(Some(false)),
            "None" | "none" | "null" => Some(None),
            _ => None,
        },
        _ => None,
    }
}

fn string<'a>(item: &'a Map<String, Value>, key: &str) -> Result<&'a str, Malformed> {
    item.get(key).and_then(Value::as_str).ok_or_else(|| Malformed::new(format!("answer without {key:?}")))
}

/// Whether an object, or one of the objects in an array, has a key that satisfies `meant`.
fn holds_key(value: &Value, meant: fn(&str) -> bool) -> bool {
    match value {
        Value::Object(map) => map.keys().any(|key| meant(key)),
        Value::Array(items) => {
            items.iter().any(|item| item.as_object().is_some_and(|map| map.keys().any(|key| meant(key))))
        }
        _ => false,
    }
}

/// Whether a key is one that only checklists have.
fn is_category(key: &str) -> bool {
    let key = key.trim().to_ascii_lowercase();
    key == "action" || key.starts_with("information ")
}

fn same(one: &Answered, other: &Answered) -> bool {
    (&one.name, &one.tool, one.result, one.discarded) == (&other.name, &other.tool, other.result, other.discarded)
}

fn names_in(some: &[Answered], all: &[Answered]) -> bool {
    let all: std::collections::HashSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
    some.iter().all(|one| all.contains(one.name.as_str()))
}

/// Whether `text` has no visible character.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    })
}

fn bounded<T>(items: Vec<T>) -> Result<Vec<T>, Malformed> {
    if items.len() > ITEMS { Err(Malformed::new("too many items")) } else { Ok(items) }
}

fn wrong(what: &str, name: &str) -> Malformed {
    Malformed::new(format!("{what} {}", quote(name)))
}
