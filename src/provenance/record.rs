//! Records in an observation: the mails of an inbox, the entries of a list, or the observation as a whole.
//!
//! Who wrote a text and what it is about is known for a record, not for an observation: one inbox holds the mail that the
//! user means and that of an attacker.

use super::demand::is_lead;
use super::spans::{plain, words};
use crate::effect::{Verb, tool_call::class};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// Most records of one observation; what follows is one more.
const MOST: usize = 2_048;
/// Longest text of a record in which an identifier is looked up, in bytes.
const KEPT: usize = 2_048;
/// Longest answer of a service, in bytes.
const ANSWER: usize = 800;
/// Words of tools that bring what others have written.
const BRINGS: [&str; 16] = [
    "browse", "chat", "clone", "comment", "convert", "execute", "fetch", "import", "load", "open", "page", "process",
    "run", "sync", "url", "web",
];
/// Deepest nesting of a list that is cut.
const DEEPEST: usize = 64;

static SENDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)\b(?:sender|from|author|user|reporter|created_?by|posted_?by|submitted_?by)['"]?\s*[:=]\s*['"]?([^\n'",}]{2,120})|(?m:^(?:von|da|de|van|od|от|发件人|差出人)\s*:)\s*([^\n]{2,120})"#,
    )
    .ok()
});
static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?im)\b(?:subject|title|summary)['"]?\s*[:=]\s*['"]?([^\n'"}]{2,160})|^\#{1,3}\ +([^\n]{2,160})"#)
        .ok()
});
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)\b(?:(?:product|item|display|full)[_ ]?)?(?:name|title|label)['"]?\s*[:=]\s*['"]?([^\n'",}]{2,120})"#,
    )
    .ok()
});
/// The key of an object.
static KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^[\s\[{,]*['"]([^'"\n]{2,120})['"]\s*:\s*\{"#).ok());

/// A record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The source of the observation.
    pub source: Arc<str>,
    /// Who wrote it, in lower case; empty if it does not say.
    pub sender: String,
    /// The words of its subject.
    pub title: BTreeSet<String>,
    /// The name of the thing that it describes, in lower case; empty if it does not say.
    pub name: String,
    /// It is the answer of a service to an act of the agent: what it says there, the service says.
    pub answer: bool,
    /// Its beginning in [`plain`] form, at most [`KEPT`] bytes.
    pub text: String,
}

impl Record {
    pub fn new(source: &Arc<str>, text: &str) -> Self {
        let field = |pattern: &LazyLock<Option<Regex>>| {
            let found = pattern.as_ref()?.captures(text)?.iter().skip(1).flatten().next()?.as_str();
            Some(found.trim().to_lowercase())
        };
        let name = field(&NAME).or_else(|| field(&KEY)).unwrap_or_default();
        let title = field(&TITLE).map(|title| words(&title).into_iter().collect()).unwrap_or_default();
        let begin = text.get(..text.floor_char_boundary(text.len().min(KEPT))).unwrap_or_default();
        let sender = field(&SENDER).unwrap_or_default();
        let answer = text.len() <= ANSWER && is_act(source);
        Self { source: Arc::clone(source), sender, title, name, answer, text: plain(begin) }
    }
}

/// Whether a source is a tool that acts: one that sends, changes, or orders, and does not bring what others have written.
fn is_act(source: &str) -> bool {
    let Some(tool) = source.split_whitespace().next() else { return false };
    let name = words(tool);
    let signs_in = name.iter().any(|word| matches!(word.as_str(), "login" | "signin" | "authenticate"))
        || name
            .windows(2)
            .any(|two| matches!(two, [sign, within] if matches!(sign.as_str(), "sign" | "log") && within == "in"));
    (signs_in || !matches!(class(tool).0, Verb::Read | Verb::List | Verb::Call))
        && !name.iter().any(|word| BRINGS.contains(&word.as_str()))
}

/// Cuts a text into its records: the entries of a YAML list, the elements of a JSON or Python list of objects, mails with
/// headers. A text without such a form is one record.
pub(super) fn records(text: &str) -> Vec<&str> {
    let mut cuts = lines(text, |line, next| {
        line.strip_prefix("- ").is_some_and(is_field) || line == "-" && next.is_some_and(is_field)
    });
    if cuts.len() < 2 {
        cuts = elements(text);
    }
    if cuts.len() < 2 {
        cuts = lines(text, |line, _| line.starts_with("From:"));
    }
    if cuts.len() < 2 {
        return vec![text];
    }
    cuts.truncate(MOST);
    let ends = cuts.iter().skip(1).copied().chain([text.len()]);
    let first = cuts.first().copied().unwrap_or_default();
    let mut found: Vec<&str> =
        text.get(..first).into_iter().filter(|before| !before.trim().trim_matches(['[', '{']).is_empty()).collect();
    found.extend(cuts.iter().zip(ends).filter_map(|(from, to)| text.get(*from..to)));
    found
}

/// `name: value`, `'name': value`, `Name: value`. A word that calls for attention is no name.
pub(super) fn is_field(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else { return false };
    let name = name.trim_matches(['\'', '"', ' ', '{', '-', '*', ',']);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=30).contains(&name.len()) && name.bytes().all(plain) && !is_lead(&name.to_lowercase())
}

/// Where the lines begin for which `is` holds; it also gets the line after.
fn lines(text: &str, is: impl Fn(&str, Option<&str>) -> bool) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    let mut all = text.split_inclusive('\n').peekable();
    while let Some(line) = all.next() {
        if is(line.trim_end(), all.peek().map(|next| next.trim())) {
            found.push(at);
        }
        at += line.len();
    }
    found
}

/// Where the elements of a list or a map of objects begin; empty if the text is no such list, or ends within it.
fn elements(text: &str) -> Vec<usize> {
    let begin = text.len() - text.trim_start().len();
    let map = match text.as_bytes().get(begin) {
        Some(b'[') => false,
        Some(b'{') => true,
        _ => return Vec::new(),
    };
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    let (mut cuts, mut objects, mut inner) = (vec![begin + 1], 0, false);
    for (at, byte) in text.bytes().enumerate().skip(begin) {
        match (quote, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{' | b'[') => {
                inner |= depth == 1;
                depth += 1;
            }
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            (None, b',') if depth == 1 => {
                objects += usize::from(std::mem::take(&mut inner));
                cuts.push(at + 1);
            }
            (None, _) => {}
        }
        if depth > DEEPEST {
            return Vec::new();
        }
    }
    objects += usize::from(inner);
    // the fields of one object are one record
    let whole = map && objects < cuts.len();
    if depth > 0 || quote.is_some() || whole || objects < 2 { Vec::new() } else { cuts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_fall_into_records() {
        let yaml = "- body: 'Hi,\n\n    - not one\n    '\n  sender: ann@x.example\n- body: b\n  sender: bo@y.example\n";
        assert_eq!(records(yaml).len(), 2);
        let json = r#"[{"from": "ann@x.example", "body": "a, {b"}, {"from": "bo@y.example", "tags": ["c", "d"]}]"#;
        assert_eq!(records(json).len(), 2);
        assert_eq!(records("{'Pen, red': {'id': 'P1'}, \"Ann's pen\": {'id': 'P2'}}").len(), 2);
        assert_eq!(records("From: ann\nSubject: a\n\nx\nFrom: bo\n\ny").len(), 2);
        for one in
            ["plain text, with commas", "{'id': 1, 'name': 'x', 'tags': [1]}", "[1, 2, 3]", "[{'a': 1}, {'b'", ""]
        {
            assert_eq!(records(one), [one], "{one}");
        }
    }

    #[test]
    fn writer_and_subject_of_a_record_are_found() {
        let of = |text: &str| Record::new(&Arc::from("inbox"), text);
        assert_eq!(of("body: x\n  sender: Ann@x.example\n  subject: Weekly plan\n").sender, "ann@x.example");
        assert_eq!(of("{'from': 'Bo <bo@y.example>', 'id': 3}").sender, "bo <bo@y.example>");
        assert!(of("subject: Weekly plan\n").title.contains("weekly"));
        assert_eq!(of("no header").sender, "");
        assert_eq!(of("{'Red Pen': {'id': 'P1'").name, "red pen");
        assert_eq!(of("{'product_id': 'P1', 'product_name': 'Red Pen'").name, "red pen");
    }
}
