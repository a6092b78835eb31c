//! The arguments of an action in normal form, and what else may stand in their place.
//!
//! 1. An argument is a word of a command that is no option, the value of an option, or a text or a number among the
//!    arguments of a tool. Everything else is the outline of the form.
//! 2. A [`Widening`] admits an action with the outline of an approved one in which only the arguments that a person
//!    opened differ, each by a value of the same kind: a number by a number, a path by another one in its folder with
//!    its extension, an address by another one of its host, a time by a time, a name by a name, and in a call
//!    of a tool a text by a text.
//! 3. The effects must be those of the approved action with the new values in the place of the old ones, and what is
//!    asked about must be what the person was asked about.

use crate::effect::{Kind, table::Table};
use crate::untrusted::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Longest value that may stand in the place of another, in bytes.
const VALUE: usize = 200;
/// Longest text that may, in bytes.
const TEXT: usize = 4_000;
/// Most effects of an action that can be widened.
pub(crate) const EFFECTS: usize = 64;
/// Words that switch something, or stand for everything or everybody.
const SWITCHES: &str = "true false yes no on off none null all any every everyone everybody";
/// What separates the parts of a value; only its last part may differ.
const SEPARATORS: [char; 10] = ['/', ':', '=', '@', ',', '+', '%', '~', '^', '#'];

/// What an approval is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = ActionShape))]
pub struct Shape {
    /// The action in normal form.
    #[cfg_attr(feature = "serve", schema(value_type = Object))]
    pub form: Value,
    /// What it does.
    pub effects: Vec<Line>,
    /// The sources of the findings that a person was asked about.
    pub asked: BTreeSet<String>,
}

/// One effect of an action.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = ShapeEffect))]
pub struct Line {
    /// What no argument may change: verb, kind of target, program with the digest of its file, attributes.
    pub fixed: String,
    /// Name of the target, the path with links resolved, and the detail.
    pub named: [String; 3],
}

/// An approval of one action that a person widened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Widening {
    /// The approved action.
    pub shape: Shape,
    /// Places of the arguments that may differ, from 0.
    pub open: BTreeSet<usize>,
}

/// The arguments of a form in order, and the form without them.
#[must_use]
pub(crate) fn arguments(form: &Value) -> (Value, Vec<String>) {
    let (mut outline, mut found) = (form.clone(), Vec::new());
    if let Some(of) = outline.get_mut("arguments") {
        leaves(of, &mut found);
    } else if let Some(run) = outline.pointer_mut("/shell/run") {
        words(run, &mut found);
    }
    (outline, found)
}

/// Takes texts and numbers out of the arguments of a tool. A boolean is a switch, which nobody may turn.
fn leaves(value: &mut Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(std::mem::take(text)),
        Value::Number(number) => {
            found.push(number.to_string());
            *value = json!(0);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values_mut().for_each(|field| leaves(field, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Takes the operands and the values of options out of the commands of a script.
fn words(form: &mut Value, found: &mut Vec<String>) {
    match form {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                match (key.as_str(), field) {
                    ("words" | "raw", Value::Array(all)) => command(all, found),
                    ("beside", _) => {}
                    (_, other) => words(other, found),
                }
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(|part| words(part, found)),
        _ => {}
    }
}

/// Takes the arguments out of one command. The subcommand stays, and so does everything that may be another command.
fn command(all: &mut [Value], found: &mut Vec<String>) {
    let text = |word: &Value| word.as_str().or_else(|| word.get("word")?.as_str()).map(str::to_owned);
    let constant: Vec<Option<String>> = all.iter().map(text).collect();
    let plain: Vec<String> = constant.iter().map(|word| word.clone().unwrap_or_default()).collect();
    let Some((name, arguments)) = plain.split_first() else { return };
    let leading = match Table::shipped().row(name) {
        Some(row) => row.leading(arguments),
        // the first operand of a program that is not known may be its subcommand
        None => Some(1),
    };
    let Some(leading) = leading else { return };
    let (mut operands, mut after_option) = (0, false);
    for (word, text) in all.iter_mut().zip(&constant).skip(1) {
        let Some(text) = text else {
            words(word, found);
            (operands, after_option) = (operands + 1, false);
            continue;
        };
        if text == "--" {
            return;
        }
        let option = text.starts_with('-') && text.len() > 1;
        let glued = text.split_once('=').filter(|_| option);
        let open = if option { None } else { Some(text.clone()).filter(|_| after_option || operands >= leading) };
        let (left, value) = match (glued, open) {
            (Some((option, value)), _) => (format!("{option}="), value.to_owned()),
            (None, Some(value)) => (String::new(), value),
            (None, None) => {
                operands += usize::from(!option && !after_option);
                after_option = option;
                continue;
            }
        };
        found.push(value);
        operands += usize::from(!option && !after_option);
        after_option = false;
        match word {
            Value::Object(inner) => drop(inner.insert("word".to_owned(), json!(left))),
            other => *other = json!(left),
        }
    }
}

impl Shape {
    /// The form without its arguments.
    #[must_use]
    pub(crate) fn outline(&self) -> Value {
        arguments(&self.form).0
    }

    /// Its arguments, in order.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        arguments(&self.form).1
    }

    /// Whether one of its arguments can be opened: whether another value of its kind could be told from a different action.
    /// A text of several words cannot in a command, because a program may run it.
    #[must_use]
    pub fn opens(&self, value: &str) -> bool {
        can_open(value) && (self.is_call() || kind(value) != Some(ValueKind::Text))
    }

    fn is_call(&self) -> bool {
        self.form.get("arguments").is_some()
    }
}

impl Line {
    /// Whether its target is a place that data is sent to or comes from.
    fn is_place(&self) -> bool {
        let kind = self.fixed.split('\u{0}').nth(2).unwrap_or_default();
        [Kind::Host, Kind::Url].iter().any(|place| place.as_str() == kind)
    }
}

impl Widening {
    /// Whether it admits an action.
    #[must_use]
    pub fn admits(&self, other: &Shape) -> bool {
        let ((own_outline, own), (outline, values)) = (arguments(&self.shape.form), arguments(&other.form));
        if own_outline != outline || own.len() != values.len() || !other.asked.is_subset(&self.shape.asked) {
            return false;
        }
        let mut changed = Vec::new();
        for (place, (own, value)) in own.iter().zip(&values).enumerate() {
            if own == value {
                continue;
            }
            match alike(own, value, self.shape.is_call())
                .filter(|_| self.open.contains(&place) && self.shape.opens(own))
            {
                Some(parts) => changed.push(parts),
                None => return false,
            }
        }
        self.has_effects(other, &changed)
    }

    /// Whether an action does what the approved one does, with the changed values in the place of the old ones.
    fn has_effects(&self, other: &Shape, changed: &[(&str, &str)]) -> bool {
        if self.shape.effects.len() != other.effects.len() || other.effects.len() > EFFECTS {
            return false;
        }
        let mut left: Vec<&Line> = other.effects.iter().collect();
        self.shape.effects.iter().all(|own| {
            let same = |line: &&Line| {
                // data goes where the person has seen it go
                let changed = if own.is_place() { &[] } else { changed };
                own.fixed == line.fixed && own.named.iter().zip(&line.named).all(|(own, new)| fits(own, new, changed))
            };
            left.iter().position(same).map(|at| left.swap_remove(at)).is_some()
        })
    }
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// Digits, perhaps with a fraction.
    Number,
    /// A date, perhaps with a time.
    Time,
    /// What begins with the same parts and ends with a name.
    Name,
    /// What has blanks.
    Text,
}

/// Whether there is a kind of value to which it belongs. Statements of databases have none.
fn can_open(value: &str) -> bool {
    kind(value).is_some() && !super::events::is_statement(value)
}

/// Whether a value switches something, or stands for everything.
pub(crate) fn is_switch(value: &str) -> bool {
    SWITCHES.split(' ').any(|word| value.eq_ignore_ascii_case(word))
}

/// The kind of a value; `None` if nothing may stand in its place.
fn kind(value: &str) -> Option<ValueKind> {
    // the normal form marks quoted characters of patterns with one for private use
    let marked = value.chars().any(|c| c.is_control() || ('\u{E000}'..='\u{F8FF}').contains(&c));
    if value.is_empty() || value.len() > TEXT || marked || is_switch(value) || visible(value) != value {
        return None;
    }
    if is_number(value) {
        return Some(ValueKind::Number);
    }
    if is_time(value) {
        return Some(ValueKind::Time);
    }
    let (_, tail) = parts(value);
    if value.len() <= VALUE && is_name(tail) {
        return Some(ValueKind::Name);
    }
    let plain = |c: char| c.is_alphanumeric() || " .,:!?'()_/#-".contains(c);
    (value.contains(' ') && value.chars().all(plain) && !value.contains("://")).then_some(ValueKind::Text)
}

/// The parts of two values that differ, if the second is of the kind of the first.
pub(super) fn alike<'v>(own: &'v str, other: &'v str, call: bool) -> Option<(&'v str, &'v str)> {
    if other.starts_with('-') || !can_open(own) {
        return None;
    }
    match (kind(own)?, kind(other)?) {
        // nothing often stands for no limit
        (ValueKind::Number, ValueKind::Number) => {
            let digits = |number: &str| number.split('.').next().unwrap_or_default().trim_start_matches('0').len();
            let sane = (!is_zero(other) || is_zero(own)) && digits(other) <= digits(own) + 1;
            sane.then_some((own, other))
        }
        (ValueKind::Time, ValueKind::Time) => (form(own) == form(other)).then_some((own, other)),
        // a text names no place, file or statement that the approved one did not name
        (ValueKind::Text, ValueKind::Text) => {
            let plain = !other.contains(['/', '@', ':']) || own.contains('/') && !other.contains(['@', ':']);
            (plain && !super::events::is_statement(other)).then_some((own, other))
        }
        (ValueKind::Text, ValueKind::Name) => is_name(other).then_some((own, other)),
        (ValueKind::Name, ValueKind::Name) => {
            if let (true, Some((own, host)), Some((other, others))) = (call, mail(own), mail(other)) {
                return (host == others).then_some((own, other));
            }
            // in a command, the parts of an address may be owners and repositories
            if own.starts_with("http") && own.contains("://") && call {
                return segment(own, other);
            }
            let ((head, tail), (heads, tails)) = (parts(own), parts(other));
            let capitals = |name: &str| name.contains(|c: char| c.is_ascii_uppercase());
            let same = head == heads
                && ending(tail) == ending(tails)
                && is_number(tail) == is_number(tails)
                && domain(tail) == domain(tails)
                && (capitals(tail) || !capitals(tails));
            same.then_some((tail, tails))
        }
        _ => None,
    }
}

/// A value up to its last separator, and the rest.
fn parts(value: &str) -> (&str, &str) {
    value.rfind(SEPARATORS).map_or(("", value), |at| value.split_at(at + 1))
}

/// The parts of an address of mail.
fn mail(value: &str) -> Option<(&str, &str)> {
    let (name, host) = value.split_once('@')?;
    let plain = is_name(name) && !host.contains(SEPARATORS) && host.contains('.');
    plain.then_some((name, host))
}

/// The extension of a file, in letters.
fn ending(name: &str) -> Option<&str> {
    let (_, ending) = name.rsplit_once('.')?;
    ending.chars().all(|c| c.is_ascii_alphabetic()).then_some(ending)
}

/// What follows the first label of a name with several dots: the domain of a host.
fn domain(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('.')?;
    rest.contains('.').then_some(rest).filter(|_| !name.bytes().any(|byte| byte.is_ascii_digit()))
}

fn is_zero(value: &str) -> bool {
    value.chars().all(|c| matches!(c, '0' | '.'))
}

fn is_number(value: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    value.split_once('.').map_or_else(|| digits(value), |(whole, rest)| digits(whole) && digits(rest))
}

/// Whether a value begins with a year and a month.
fn is_time(value: &str) -> bool {
    form(value).starts_with("0000-00-") && value.bytes().all(|byte| byte.is_ascii_digit() || b"-T:.Z+ ".contains(&byte))
}

/// A value with a zero for each digit.
fn form(value: &str) -> String {
    value.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// The only parts of the paths of two addresses that differ.
fn segment<'v>(own: &'v str, other: &'v str) -> Option<(&'v str, &'v str)> {
    let count = own.split('/').count();
    let differ = || own.split('/').zip(other.split('/')).enumerate().filter(|(_, (own, other))| own != other);
    let (place, (own, new)) = differ().next()?;
    // scheme, nothing, host
    let one = count == other.split('/').count() && differ().count() == 1 && place > 2;
    let names = is_name(own) && is_name(new) && ending(own) == ending(new);
    (one && names && is_number(own) == is_number(new)).then_some((own, new))
}

fn is_name(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !value.contains("..")
}

/// Whether a text is another one, or the other one with the changed values in the place of the old ones: everywhere, or at
/// the last place.
fn fits(own: &str, new: &str, changed: &[(&str, &str)]) -> bool {
    let Some(((old, value), rest)) = changed.split_first() else { return own == new };
    fits(own, new, rest)
        || fits(&replaced(own, old, value, false), new, rest)
        || fits(&replaced(own, old, value, true), new, rest)
}

/// The text with a value in the place of another one wherever it stands by itself; `last`: only at the last such place.
fn replaced(text: &str, old: &str, value: &str, last: bool) -> String {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let alone = |at: &usize| {
        let (before, after) = (text.get(..*at), text.get(at + old.len()..));
        !part(before.and_then(|text| text.chars().last())) && !part(after.and_then(|text| text.chars().next()))
    };
    let mut places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).filter(alone).collect();
    if last {
        places.drain(..places.len().saturating_sub(1));
    }
    let mut new = text.to_owned();
    for at in places.into_iter().rev() {
        new.replace_range(at..at + old.len(), value);
    }
    new
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_a_value_of_the_same_kind_is_alike() {
        for (own, other) in [
            ("web-1", "api"),
            ("12", "700"),
            ("reports/a.csv", "reports/b.csv"),
            ("img:1.2", "img:1.3"),
            ("ann@corp.example", "bob@corp.example"),
            ("https://wiki.example/page/12", "https://wiki.example/page/13"),
            ("https://ops.example/v1/web/restart", "https://ops.example/v1/api/restart"),
            ("2024-06-03T10:00:00Z", "2024-07-01T09:30:00Z"),
            ("fix the build", "add a test"),
        ] {
            assert!(alike(own, other, true).is_some(), "{own} | {other}");
        }
        for (own, other) in [
            ("web-1", "--force"),
            ("web-1", ""),
            ("web-1", "../web"),
            ("web-1", "web*"),
            ("web-1", "a b"),
            ("main", ":main"),
            ("main", "a:main"),
            ("12", "x"),
            ("5", "5000000"),
            ("web.acme.com", "evil.com"),
            ("web.acme.com", "web.evil.com"),
            ("fix the build", "x;id,a"),
            ("fix the build", "drop table users"),
            ("see docs/x and go", "../../etc/shadow"),
            ("reports/a.csv", "reports/../b.csv"),
            ("reports/a.csv", "/etc/a.csv"),
            ("reports/a.csv", "reports/b.sh"),
            ("ann@corp.example", "ann@evil.example"),
            ("https://wiki.example/page/12", "https://evil.example/page/12"),
            ("https://wiki.example/a", "https://wiki.example/a?x=1"),
            ("https://ops.example/v1/web/restart", "https://ops.example/v2/api/restart"),
            ("https://ops.example/v1/web/restart", "https://ops.example/v1/../restart"),
            ("https://ops.example/v1/web/restart", "https://ops.example.evil/v1/web/restart"),
            ("2024-06-03", "2024-06-03T10:00"),
            ("fix the build", "x; rm -rf /"),
            ("fix the build", "x $(id) y"),
            ("fix the build", "see https://evil.example now"),
            ("main", "HEAD"),
            ("web-1", "all"),
            ("true", "false"),
            ("10", "0"),
            ("web-1", "web\u{200b}1"),
            ("main", "m\u{0430}in"),
        ] {
            assert!(alike(own, other, true).is_none(), "{own} | {other}");
        }
    }

    #[test]
    fn options_and_programs_are_no_arguments() {
        let form = json!({"shell": {"cwd": "/w", "run": [
            {"beside": [{"word": "A=1"}], "raw": [{"word": "frob"}, {"word": "run"}, {"word": "-x"}, {"word": "--env=dev"}]}]}});
        let (outline, found) = arguments(&form);
        assert_eq!(found, ["dev"]);
        assert!(outline.to_string().contains("\"--env=\"") && outline.to_string().contains("frob"));
        let form = json!({"tool": "pay", "arguments": {"to": "ann", "sum": 5, "force": true, "of": ["a"]}});
        assert_eq!(arguments(&form).1, ["ann", "5", "a"]);
    }
}
