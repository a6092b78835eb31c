//! Removes secrets from text that is stored or displayed.
//!
//! 1. A list of [`Form`]s gives the published formats of keys and tokens, the places where programs take a password
//!    (options, variables, headers, addresses), and names after which a secret stands.
//! 2. Where a format says little about the secret itself, the secret must look **random** ([`is_random`]): a name such as
//!    `token` also stands before words.
//! 3. A value that the shell or a program fills in later (`$TOKEN`, `get_token()`) is no secret and stays.
//!
//! Everything that the guard writes passes through here once: log, memory, sessions, approvals, recordings. What is said
//! about an action is also searched for the secrets of the action itself ([`Secrets`]).

mod forms;
#[cfg(test)]
mod tests;

use aho_corasick::{AhoCorasick, MatchKind};
use forms::{FORMS, Form, Looks};
use regex::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

/// The replacement for a secret.
pub const REDACTED: &str = "[redacted]";
/// Shortest part of a secret, in bytes, that is looked for elsewhere.
const SHORTEST: usize = 6;
/// Fewest bits per character of a random text. Words of English have about 2.6 where they are short, and 4.1 at most;
/// random digits have 3.3, random hexadecimal digits 4 and random base64 6 where they are long.
const BITS: f64 = 2.9;
/// Fewest bits per character of 40 characters of base64.
const DENSE: f64 = 4.4;

/// Finds the words of all forms in one pass; the number of a word tells its form.
struct Words {
    search: Option<AhoCorasick>,
    form_of: Vec<usize>,
}

// the test below fails if this is not built
static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let all = || FORMS.iter().enumerate().flat_map(|(form, f)| f.words.iter().map(move |word| (form, *word)));
    let search = AhoCorasick::builder().ascii_case_insensitive(true).build(all().map(|(_, word)| word)).ok();
    Words { search, form_of: all().map(|(form, _)| form).collect() }
});
static PATTERNS: [OnceLock<Option<Regex>>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];

impl Form {
    /// The pattern of the form at a place; compiled if it may match for the first time.
    fn pattern(place: usize) -> Option<&'static Regex> {
        let pattern = || Regex::new(FORMS.get(place)?.pattern).ok();
        PATTERNS.get(place)?.get_or_init(pattern).as_ref()
    }

    fn is_secret(&self, found: &str) -> bool {
        match self.looks {
            Looks::Any => true,
            Looks::Literal => is_literal(found),
            Looks::Chosen => is_literal(found) && is_chosen(found),
            Looks::Random => is_literal(found) && is_random(found),
            Looks::Dense => is_dense(found),
        }
    }
}

/// Builds the search for secrets, which otherwise the first text does.
pub fn prepare() {
    LazyLock::force(&WORDS);
}

/// Replaces each secret in a text by `[redacted]`; unchanged text is not copied.
#[must_use]
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for form in forms_in(&text) {
        let found = spans(form, &text);
        if !found.is_empty() {
            text = Cow::Owned(without(&text, &found));
        }
    }
    text
}

/// A text with a mark in the place of each span; the spans are in order.
fn without(text: &str, spans: &[std::ops::Range<usize>]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    // a span to the end of its quotes may reach into the next one
    for span in spans {
        if span.start >= end {
            clean.push_str(text.get(end..span.start).unwrap_or_default());
            clean.push_str(REDACTED);
        }
        end = end.max(span.end);
    }
    clean.push_str(text.get(end..).unwrap_or_default());
    clean
}

/// The places of the forms that may match in a text.
fn forms_in(text: &str) -> Vec<usize> {
    let mut may: Vec<bool> = FORMS.iter().map(|form| form.words.is_empty()).collect();
    match &WORDS.search {
        Some(search) => {
            for found in search.find_overlapping_iter(text) {
                let form = WORDS.form_of.get(found.pattern().as_usize()).copied().unwrap_or_default();
                if let Some(may) = may.get_mut(form) {
                    *may = true;
                }
            }
        }
        None => may.fill(true),
    }
    may.into_iter().enumerate().filter_map(|(place, may)| may.then_some(place)).collect()
}

/// The secrets of one form in a text, in order.
fn spans(place: usize, text: &str) -> Vec<std::ops::Range<usize>> {
    let Some((form, pattern)) = FORMS.get(place).zip(Form::pattern(place)) else { return Vec::new() };
    let secret = |found: &regex::Match<'_>| found.as_str() != REDACTED && form.is_secret(found.as_str());
    let found = pattern.captures_iter(text).filter_map(|found| found.name("s")).filter(secret);
    found.map(|found| quoted(text, found.range())).collect()
}

/// A secret to the end of the quotes in which it begins, on the same line.
fn quoted(text: &str, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let quote =
        text.get(..span.start).and_then(|before| before.chars().next_back()).filter(|c| matches!(c, '\'' | '"'));
    let rest = text.get(span.end..).unwrap_or_default();
    let end = quote
        .and_then(|quote| rest.find([quote, '\n']).filter(|at| rest.get(*at..).is_some_and(|r| r.starts_with(quote))));
    span.start..span.end + end.unwrap_or_default()
}

/// The secrets of an action, to be removed from everything that is said about it: a part of one may stand in the name of
/// a program or of a path, where no form tells it.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Finds each part of them; `None` if there is none.
    search: Option<AhoCorasick>,
    parts: Vec<String>,
}

impl Secrets {
    /// The secrets in some texts.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut parts = Vec::new();
        for text in texts {
            for span in forms_in(text).into_iter().flat_map(|form| spans(form, text)) {
                let secret = text.get(span).unwrap_or_default();
                let split = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\\' | '"' | '\'' | ';');
                parts.extend(secret.split(split).filter(|part| part.len() >= SHORTEST).map(str::to_owned));
            }
        }
        if parts.is_empty() {
            return Self::default();
        }
        // several forms find the same secret
        parts.sort_unstable();
        parts.dedup();
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&parts).ok();
        Self { search, parts }
    }

    /// Whether a text of at least [`SHORTEST`] bytes has one of them, or is a piece of one, in whatever case, with hyphens or
    /// underscores.
    pub fn hold(&self, text: &str) -> bool {
        let plain = |text: &str| text.to_lowercase().replace('_', "-");
        let text = plain(text);
        let touches = |part: &String| {
            let part = plain(part);
            part.contains(&text) || text.contains(&part)
        };
        text.len() >= SHORTEST && self.parts.iter().any(touches)
    }

    /// Whether there are some that a text does not contain.
    pub fn are_more_than(&self, text: &str) -> bool {
        let Some(search) = &self.search else { return false };
        let found: HashSet<usize> = search.find_iter(text).map(|found| found.pattern().as_usize()).collect();
        found.len() < search.patterns_len()
    }

    /// The secrets in the texts of values.
    pub fn in_values<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut texts = Vec::new();
        let mut open: Vec<&Value> = values.into_iter().collect();
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => texts.push(text.as_str()),
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => open.extend(fields.values()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        Self::of(texts)
    }

    /// Replaces these secrets, and every other one, in a text.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = redact(text);
        let spans: Vec<_> =
            self.search.iter().flat_map(|search| search.find_iter(text.as_ref())).map(|m| m.range()).collect();
        if spans.is_empty() { text } else { Cow::Owned(without(&text, &spans)) }
    }

    /// The same in every text of a value, and in texts whose name says that they are secrets. Returns whether anything
    /// was replaced.
    pub fn redact_json(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.redact(text) {
                Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
                Cow::Borrowed(_) => false,
            },
            Value::Array(items) => items.iter_mut().fold(false, |any, item| self.redact_json(item) | any),
            Value::Object(fields) => fields.iter_mut().fold(false, |any, (name, field)| {
                let named = match field {
                    Value::String(text) if *text != REDACTED && may_name(name) => {
                        let clean = redact(&format!("{name}={text}")).ends_with(&format!("={REDACTED}"));
                        clean.then(|| REDACTED.clone_into(text)).is_some()
                    }
                    _ => false,
                };
                named | self.redact_json(field) | any
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Whether the name of a field may say that its value is a secret.
fn may_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "pwd", "secret", "token", "key", "auth", "credential", "cookie"].iter().any(|word| name.contains(word))
}

/// Whether a value stands for itself: no variable, call or placeholder fills it in.
fn is_literal(value: &str) -> bool {
    let filled = value.starts_with(['$', '<', '{', '(', '%', '*', '[', '/', '.', '~', '@', '`', '|', '&'])
        || value.contains(['(', '{'])
        || value.contains("[redacted]");
    let word = ["true", "false", "null", "none", "nil", "undefined", "string", "str", "required", "optional"];
    !filled && !word.contains(&value.to_ascii_lowercase().as_str())
}

/// Whether a value is more than a word of small letters, perhaps with a capital.
fn is_chosen(value: &str) -> bool {
    let rest = value.get(1..).unwrap_or_default();
    rest.bytes().any(|byte| {
        byte.is_ascii_digit() || byte.is_ascii_uppercase() || byte.is_ascii_punctuation() && !b".:-_/".contains(&byte)
    })
}

/// Whether a value is as random as base64.
fn is_dense(value: &str) -> bool {
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    let kinds = [count(u8::is_ascii_digit), count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase)];
    kinds.iter().all(|kind| *kind >= 4) && bits(value) >= DENSE && !value.contains("//")
}

/// Whether a value looks as if nobody had chosen its characters: it has digits and letters, or both cases within a word,
/// and many different characters for its length.
fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let mixed = value
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
        .count();
    let kinds = digits >= 2 && (letters >= 2 || digits >= 12) || mixed >= 3;
    kinds && bits(value) >= BITS
}

/// Whether a text contains a key or a token of which its form leaves no doubt. The same form without random characters is
/// an example in a text for people.
pub(crate) fn holds_key(text: &str) -> bool {
    let sure = |form: &usize| FORMS.get(*form).is_some_and(|form| form.looks == Looks::Any);
    forms_in(text)
        .into_iter()
        .filter(sure)
        .flat_map(|form| spans(form, text))
        .any(|span| text.get(span).is_some_and(is_random))
}

/// Shannon's entropy of the characters of a text, in bits per character.
#[allow(clippy::cast_precision_loss, reason = "the texts are short")]
fn bits(text: &str) -> f64 {
    let mut counts = [0_usize; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length = text.len() as f64;
    let share = |count: &usize| *count as f64 / length;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}
