//! The schema of one argument, from the values that people approved and from what the tool declares.
//!
//! 1. It covers every approved value, and further ones only where another value of the kind cannot mean something else: a
//!    number in a range, a name like the others, an address of a host that was seen, a path in a folder that was seen.
//! 2. Of truth values, of the words of an enumeration, and of names that repeat, only the approved ones: which others are
//!    harmless, a person says.

use super::text;
use crate::shape;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// By how much a number may exceed the largest approved one.
const MARGIN: f64 = 2.0;
/// A declared maximum is taken over up to this multiple of the largest approved number.
const NEAR: f64 = 10.0;
/// Bounds of the length of a text, in characters.
const LENGTH: (usize, usize) = (200, 8_000);
/// From this number of approved calls on, what all of them have is required, unless the tool declares what is.
pub(super) const ALWAYS: usize = 3;
/// Fewest parts of a folder that is taken over.
const PARTS: usize = 2;

/// A schema, and what a person should know about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Guess {
    pub schema: Map<String, Value>,
    pub note: String,
}

impl Guess {
    fn of(schema: Value, note: &str) -> Self {
        let schema = schema.as_object().cloned().unwrap_or_default();
        Self { schema, note: note.to_owned() }
    }
}

/// The schema of an argument whose approved values are these. `declared`: what the tool declares of it.
pub(super) fn guess(values: &[&Value], declared: &Value) -> Guess {
    let all = |test: fn(&Value) -> bool| values.iter().all(|value| test(value));
    let listed = declared.get("enum").and_then(Value::as_array);
    if let Some(listed) = listed.filter(|_| all(|value| !value.is_array())) {
        let open: Vec<String> = listed.iter().filter(|one| !values.contains(one)).map(Value::to_string).collect();
        let note =
            if open.is_empty() { String::new() } else { format!("declared, never approved: {}", open.join(", ")) };
        return Guess::of(json!({"enum": distinct(values)}), &note);
    }
    if all(Value::is_boolean) {
        return Guess::of(json!({"enum": distinct(values)}), "");
    }
    if all(Value::is_number) {
        return number(values, declared);
    }
    if all(Value::is_string) {
        let texts: Vec<&str> = values.iter().filter_map(|value| value.as_str()).collect();
        return texts_of(&texts, declared);
    }
    if all(Value::is_array) {
        return list(values, declared);
    }
    if all(Value::is_object) {
        return fields(values, declared);
    }
    Guess::of(json!({"enum": distinct(values)}), "values of several types")
}

/// The schema of an argument that nobody approved, as far as the tool declares one.
pub(super) fn declared_only(declared: &Value) -> Map<String, Value> {
    const KEPT: [&str; 10] = [
        "type",
        "enum",
        "const",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "maxLength",
        "maxItems",
        "items",
        "pattern",
    ];
    let fields = declared.as_object().into_iter().flatten();
    let anchored = |key: &str, value: &Value| {
        key != "pattern" || value.as_str().is_some_and(|text| text.starts_with('^') && text.ends_with('$'))
    };
    let kept = fields.filter(|(key, value)| KEPT.contains(&key.as_str()) && anchored(key, value) && !value.is_null());
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The values, each once.
pub(super) fn distinct(values: &[&Value]) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for value in values {
        if !found.contains(value) {
            found.push((*value).clone());
        }
    }
    found
}

fn number(values: &[&Value], declared: &Value) -> Guess {
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
    let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), n| (low.min(*n), high.max(*n)));
    let whole = values.iter().all(|value| value.is_i64() || value.is_u64());
    let bound = |key: &str| declared.get(key).and_then(Value::as_f64);
    let shown = |n: f64| if n.fract() == 0.0 && n.abs() < 9e15 { json!(n as i64) } else { json!(n) };
    let near = bound("maximum").filter(|most| *most <= high * NEAR && *most >= high);
    let (maximum, note) = match (near, bound("maximum")) {
        (Some(most), _) => (most, String::new()),
        // nothing often stands for no limit
        (None, most) if high > 0.0 => {
            let says = most.map(|most| format!("declared up to {most}; ")).unwrap_or_default();
            ((high * MARGIN).ceil(), format!("{says}approved up to {high}"))
        }
        (None, _) => (high, String::new()),
    };
    let least = match low {
        low if low >= 1.0 && whole => 1.0,
        low if low > 0.0 && !whole => low.min(0.01),
        low => low,
    };
    let any = declared.get("type").is_some_and(|kind| kind == "number");
    let kind = if whole && !any { "integer" } else { "number" };
    Guess::of(json!({"type": kind, "minimum": shown(least), "maximum": shown(maximum)}), &note)
}

fn list(values: &[&Value], declared: &Value) -> Guess {
    let items: Vec<&Value> = values.iter().filter_map(|value| value.as_array()).flatten().collect();
    let most = values.iter().filter_map(|value| value.as_array()).map(Vec::len).max().unwrap_or_default();
    if items.is_empty() {
        return Guess::of(json!({"type": "array", "maxItems": 0}), "");
    }
    let inner = guess(&items, declared.get("items").unwrap_or(&Value::Null));
    let note = match declared.get("maxItems").and_then(Value::as_u64) {
        Some(declared) if declared > most as u64 => format!("declared up to {declared} items, approved up to {most}; "),
        _ => String::new(),
    };
    let least = usize::from(values.iter().all(|value| value.as_array().is_some_and(|items| !items.is_empty())));
    let note = format!("{note}{}", inner.note);
    Guess::of(
        json!({"type": "array", "minItems": least, "maxItems": most, "items": inner.schema}),
        note.trim_end_matches("; "),
    )
}

fn fields(values: &[&Value], declared: &Value) -> Guess {
    let mut seen: BTreeMap<&String, Vec<&Value>> = BTreeMap::new();
    let given = values.iter().filter_map(|value| value.as_object()).flatten();
    for (name, value) in given.filter(|(_, value)| !value.is_null()) {
        seen.entry(name).or_default().push(value);
    }
    let of = |name: &str| declared.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
    let mut notes = Vec::new();
    let mut properties = Map::new();
    for (name, own) in &seen {
        let inner = guess(own, of(name));
        properties.insert((*name).clone(), Value::Object(inner.schema));
        if !inner.note.is_empty() {
            notes.push(format!("{name}: {}", inner.note));
        }
    }
    let listed = declared.get("required").and_then(Value::as_array);
    let needed = |name: &str| listed.map_or(values.len() >= ALWAYS, |all| all.iter().any(|one| one == name));
    let always: Vec<&&String> =
        seen.iter().filter(|(name, own)| own.len() == values.len() && needed(name)).map(|(name, _)| name).collect();
    Guess::of(json!({"type": "object", "properties": properties, "required": always}), &notes.join("; "))
}

/// The kinds of texts, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Statement,
    Url,
    Mail,
    Path,
    Words,
    Name,
    Other,
}

fn sort(value: &str) -> Sort {
    let mail = value.split_once('@').is_some_and(|(_, host)| text::is_of_domain(value, &[host.to_owned()]));
    if shape::is_statement(value) && text::only_reads(value) {
        return Sort::Statement;
    }
    if Url::parse(value).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        return Sort::Url;
    }
    if mail {
        return Sort::Mail;
    }
    if let Some((folder, _)) = value.rsplit_once('/')
        && text::is_below(value, &[folder.to_owned()])
    {
        return Sort::Path;
    }
    if value.contains(' ') && text::is_plain(value) {
        return Sort::Words;
    }
    if shape::is_alike(value, value) { Sort::Name } else { Sort::Other }
}

fn texts_of(values: &[&str], declared: &Value) -> Guess {
    let format = declared.get("format").and_then(Value::as_str);
    if let Some(pattern) = declared.get("pattern").and_then(Value::as_str).filter(|pattern| fits(pattern, values)) {
        return Guess::of(json!({"type": "string", "pattern": pattern}), "");
    }
    if let Some(format) = format.filter(|format| matches!(*format, "date" | "time" | "date-time" | "uuid")) {
        return Guess::of(json!({"type": "string", "format": format}), "");
    }
    let mut groups: BTreeMap<Sort, Vec<&str>> = BTreeMap::new();
    for value in values {
        groups.entry(sort(value)).or_default().push(value);
    }
    // names beside words are words, too
    if groups.contains_key(&Sort::Words)
        && let Some(names) = groups.remove(&Sort::Name)
    {
        groups.entry(Sort::Words).or_default().extend(names);
    }
    let each: Vec<Guess> = groups.into_iter().map(|(sort, values)| of_sort(sort, &values, declared)).collect();
    if let [one] = each.as_slice() {
        return one.clone();
    }
    let notes: Vec<&str> = each.iter().map(|one| one.note.as_str()).filter(|note| !note.is_empty()).collect();
    let note = notes.join("; ");
    let any: Vec<Value> = each.iter().map(|one| Value::Object(one.schema.clone())).collect();
    Guess::of(json!({"anyOf": any}), &note)
}

fn of_sort(sort: Sort, values: &[&str], declared: &Value) -> Guess {
    match sort {
        Sort::Statement => Guess::of(json!({"statement": "read"}), ""),
        Sort::Url => hosts(values),
        Sort::Mail => {
            let domains = values.iter().filter_map(|value| value.split_once('@')).map(|(_, host)| host.to_lowercase());
            Guess::of(json!({"domains": domains.collect::<BTreeSet<_>>()}), "")
        }
        Sort::Path => below(values),
        Sort::Words => {
            let longest = values.iter().map(|value| value.chars().count()).max().unwrap_or_default();
            let most = declared.get("maxLength").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
            let most = most.unwrap_or_else(|| LENGTH.0.max(longest * 2)).min(LENGTH.1).max(longest);
            Guess::of(json!({"format": "text", "maxLength": most}), "")
        }
        Sort::Name if is_open(values) => like(values),
        Sort::Name => Guess::of(
            json!({"enum": values.iter().collect::<BTreeSet<_>>()}),
            "only these names: too few were approved to tell whether others mean the same",
        ),
        Sort::Other => Guess::of(
            json!({"enum": values.iter().collect::<BTreeSet<_>>()}),
            "only these values: others cannot be compared",
        ),
    }
}

/// Whether names differ from call to call. One that repeats is one of a few, which may do different things.
fn is_open(values: &[&str]) -> bool {
    let distinct = values.iter().collect::<BTreeSet<_>>().len();
    distinct > 1 && distinct * 2 > values.len()
}

/// One value of each kind among the names.
fn like(values: &[&str]) -> Guess {
    let mut kept: Vec<String> = Vec::new();
    for value in values {
        if !text::is_like(value, &kept) {
            // what is alike to the new one is not needed
            kept.retain(|old| !shape::is_alike(value, old));
            kept.push((*value).to_owned());
        }
    }
    Guess::of(json!({"like": kept}), "")
}

fn hosts(values: &[&str]) -> Guess {
    let mut hosts = BTreeSet::new();
    for url in values.iter().filter_map(|value| Url::parse(value).ok()) {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let scheme = if url.scheme() == "https" { "" } else { "http://" };
        hosts.insert(format!("{scheme}{}{port}", url.host_str().unwrap_or_default()));
    }
    Guess::of(json!({"hosts": hosts}), "")
}

/// The deepest folder above all paths, or the folder of each if there is none.
fn below(values: &[&str]) -> Guess {
    let folders: BTreeSet<&str> =
        values.iter().filter_map(|value| value.rsplit_once('/')).map(|(folder, _)| folder).collect();
    let mut common: Vec<&str> = folders.first().map(|first| first.split('/').collect()).unwrap_or_default();
    for folder in &folders {
        let same = common.iter().zip(folder.split('/')).take_while(|(one, other)| **one == *other).count();
        common.truncate(same);
    }
    // the first part of an absolute path is empty
    match common.len() > PARTS {
        true => Guess::of(json!({"below": [common.join("/")]}), ""),
        false => Guess::of(json!({"below": folders}), ""),
    }
}

/// Whether a declared pattern says what the values look like: it covers them as a whole and has no class that stands for
/// almost any character.
fn fits(pattern: &str, values: &[&str]) -> bool {
    let wide = ["\\S", "\\W", "\\D", "[^", "\\s", "\\p", "\\P"].iter().any(|class| pattern.contains(class));
    let mut before = ' ';
    let dot = pattern.chars().any(|c| std::mem::replace(&mut before, c) != '\\' && c == '.');
    let anchored = pattern.starts_with('^') && pattern.ends_with('$');
    anchored && !wide && !dot && Regex::new(pattern).is_ok_and(|regex| values.iter().all(|value| regex.is_match(value)))
}
