//! Parses the reply of a language model to a request for JSON.
//!
//! Replies are assumed to be hostile and sloppy. They are parsed in linear time, within bounds, and without guessing:
//!
//! 1. A reply over 256 KiB is refused.
//! 2. The reply is cut into pieces: fenced documents (``` and ~~~ with a label that can mean data), documents in the
//!    prose, and broken pieces, where a document seems to begin but cannot be parsed.
//! 3. `lenient` parses one document: JSON, and the few repairs that are unambiguous. It alone decides where a document
//!    ends, so a fence inside a string is text.
//! 4. A fence contains one document and nothing else but comments. In prose, the text next to a document must not look
//!    like more of it. A bracketed remark such as `[see above]` is prose; any other bracket that cannot be parsed makes
//!    the rest of the reply unreadable.
//! 5. [`document`] returns the last document, of the fenced ones if there are any. If a broken piece follows it, the
//!    reply was truncated or is a draft without its final version: [`Malformed`].
//! 6. `published` parses AGrail's forms: [`checklist`] and [`answers`].

mod lenient;
mod published;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use std::fmt;

use serde_json::Value;

pub use published::{Answered, Proposed, answers, checklist};

/// Longest reply, in bytes.
const LENGTH: usize = 256 * 1024;

/// Labels of a fence that may contain data.
const LABELS: [&str; 10] = ["", "json", "jsonc", "json5", "javascript", "js", "python", "py", "text", "txt"];

/// Why a reply could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The cause, at most 200 characters, with short quotations of the reply.
    pub why: String,
}

impl Malformed {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into().chars().take(200).collect() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed reply: {}", self.why)
    }
}

impl std::error::Error for Malformed {}

/// The JSON document of a reply that is its answer: the last one, of those in fences if there are any.
///
/// # Errors
///
/// If there is none, if it cannot be parsed with certainty, or if a broken document follows it.
pub fn document(text: &str) -> Result<Value, Malformed> {
    let pieces = pieces(text)?;
    match last(&pieces, |_| true)? {
        Some(found) => Ok(found.value.clone()),
        None => Err(Malformed::new("no document")),
    }
}

/// A document of a reply.
#[derive(Debug)]
struct Found {
    value: Value,
    fenced: bool,
    /// Whether only white space separates it from another document in the prose.
    joined: bool,
}

#[derive(Debug)]
enum Piece {
    Read(Found),
    /// Text that looks like a document but cannot be parsed, from byte `at` on.
    Broken {
        at: usize,
        why: String,
    },
}

/// The last document that satisfies `meant`, of the fenced ones if there are any; no broken piece may follow it.
fn last(pieces: &[Piece], meant: impl Fn(&Value) -> bool) -> Result<Option<&Found>, Malformed> {
    let fenced = pieces.iter().any(|piece| matches!(piece, Piece::Read(found) if found.fenced));
    for piece in pieces.iter().rev() {
        match piece {
            Piece::Broken { why, .. } => return Err(Malformed::new(why)),
            Piece::Read(found) if found.fenced >= fenced && meant(&found.value) => return Ok(Some(found)),
            Piece::Read(_) => {}
        }
    }
    Ok(None)
}

/// The documents in `text` and the broken pieces, in order.
fn pieces(text: &str) -> Result<Vec<Piece>, Malformed> {
    if text.len() > LENGTH {
        return Err(Malformed::new("reply too long"));
    }
    let mut scan = Scan { text, at: 0, before: 0, pieces: Vec::new() };
    // whether only white space, quote marks and list marks precede this place in its line
    let mut begins = true;
    let mut readable = true;
    while let (true, Some(c)) = (readable, scan.rest(scan.at).chars().next()) {
        match c {
            '`' | '~' => readable = scan.fence(c, begins),
            '{' | '[' => readable = scan.prose(begins),
            _ => scan.at += c.len_utf8(),
        }
        begins = c == '\n' || begins && (c.is_whitespace() || ">-*".contains(c));
    }
    Ok(scan.pieces)
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// The end of the last piece.
    before: usize,
    pieces: Vec<Piece>,
}

impl<'a> Scan<'a> {
    fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Records a broken piece. Returns whether parsing can continue, at `resume`.
    fn broken(&mut self, at: usize, why: impl Into<String>, resume: Option<usize>) -> bool {
        self.pieces.push(Piece::Broken { at, why: why.into() });
        resume.is_some_and(|end| self.past(end))
    }

    /// Continues at `end`.
    fn past(&mut self, end: usize) -> bool {
        (self.at, self.before) = (end, end);
        true
    }

    /// Processes a run of `mark` and the fence that it opens, if any. Returns whether parsing can continue.
    fn fence(&mut self, mark: char, begins: bool) -> bool {
        let start = self.at;
        let run = run(self.rest(start), mark);
        self.at = start + run;
        let line = self.rest(self.at);
        let label: String =
            line.chars().take(32).take_while(|c| c.is_ascii_alphanumeric() || "+-_.#".contains(*c)).collect();
        if run < 3 || !(begins || mark == '`' && ends_line(line.get(label.len()..).unwrap_or_default())) {
            return true;
        }
        let fence = Fence { mark, run };
        if LABELS.contains(&label.to_ascii_lowercase().as_str()) {
            return self.fenced(start, self.at + label.len(), fence);
        }
        // a fence of code contains no document
        match fence.end(self.text, self.at) {
            Some((_, end)) => self.past(end),
            None => self.broken(start, "truncated fence", None),
        }
    }

    /// Processes the content of a fence that can contain data: one document, or none. Returns whether parsing can
    /// continue.
    fn fenced(&mut self, start: usize, inner: usize, fence: Fence) -> bool {
        let open = lenient::blank(self.text, inner);
        let closed = || fence.end(self.text, inner);
        if !self.rest(open).starts_with(['{', '[']) {
            let Some((close, end)) = closed() else { return self.broken(start, "truncated fence", None) };
            if self.text.get(inner..close).unwrap_or_default().contains(['{', '[', '}', ']']) {
                return self.broken(start, "more than a document in a fence", Some(end));
            }
            return self.past(end);
        }
        match lenient::parse_value(self.text, open) {
            Ok((value, end)) => {
                let after = lenient::blank(self.text, end);
                let mark = run(self.rest(after), fence.mark);
                let close = after + mark;
                let clean = mark >= fence.run && !self.rest(close).starts_with(|c: char| c.is_alphanumeric());
                if !clean && close < self.text.len() {
                    return self.broken(open, "more than a document in a fence", None);
                }
                self.pieces.push(Piece::Read(Found { value, fenced: true, joined: false }));
                self.past(close)
            }
            // if a document extends beyond the end of its fence, it is unknown where the next piece begins
            Err(stop) => {
                let resume = closed().filter(|(close, _)| open <= *close && stop.at <= *close).map(|(_, end)| end);
                self.broken(open, stop.why, resume)
            }
        }
    }

    /// Processes a bracket outside fences. Returns whether parsing can continue.
    fn prose(&mut self, begins: bool) -> bool {
        let start = self.at;
        let remark = remark(self.rest(start)).map(|length| start + length);
        let (value, end) = match (lenient::parse_value(self.text, start), remark) {
            (Ok((Value::Array(items), end)), _) if !begins && !items.iter().any(holds) => {
                self.at = end;
                return true;
            }
            (Ok(read), _) => read,
            (Err(stop), Some(end)) if stop.at <= end => {
                self.at = end;
                return true;
            }
            (Err(stop), _) => return self.broken(start, stop.why, None),
        };
        let between = self.text.get(self.before..start).unwrap_or_default();
        if continues(self.rest(end)) || continued(between) {
            return self.broken(start, "more of a document outside its brackets", None);
        }
        let mut joined = false;
        if between.trim().is_empty()
            && let Some(Piece::Read(other)) = self.pieces.last_mut()
            && !other.fenced
        {
            (other.joined, joined) = (true, true);
        }
        self.pieces.push(Piece::Read(Found { value, fenced: false, joined }));
        self.past(end)
    }
}

#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    run: usize,
}

impl Fence {
    /// The byte offsets of the closing mark of the fence in the lines after `at`, and of the end of that mark.
    ///
    /// `None` if there is none, or if a mark with a label comes first: that would open a fence, so the end is
    /// ambiguous.
    fn end(self, text: &str, at: usize) -> Option<(usize, usize)> {
        let mut offset = at;
        for (number, line) in text.get(at..)?.split_inclusive('\n').enumerate() {
            let inner = line.trim_start();
            let run = run(inner, self.mark);
            if number > 0 && run >= self.run {
                let start = offset + line.len() - inner.len();
                return ends_line(inner.get(run..)?).then_some((start, start + run));
            }
            offset += line.len();
        }
        None
    }
}

/// Whether only white space precedes the end of the line.
fn ends_line(text: &str) -> bool {
    matches!(text.trim_start_matches([' ', '\t', '\r']).chars().next(), None | Some('\n'))
}

/// The length in bytes of the run of `mark` at the beginning of `text`.
fn run(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}

/// The length in bytes of a bracketed remark on one line that contains no brackets, quotes or mapping.
fn remark(text: &str) -> Option<usize> {
    let object = text.starts_with('{');
    let inner = text.get(1..)?;
    let end = inner.find(|c| "[]{}\n\"“”`".contains(c) || object && c == ':')?;
    inner.get(end..)?.starts_with(if object { '}' } else { ']' }).then_some(end + 2)
}

/// Whether an item shows that an array in the middle of prose is more than a citation such as `[1]`.
fn holds(item: &Value) -> bool {
    item.is_object() || item.is_array() || item.is_string()
}

/// Whether `after`, the text after a document in prose, looks like more of the document.
fn continues(after: &str) -> bool {
    let after = after.trim_start();
    let next = after.strip_prefix(',').map(str::trim_start);
    after.starts_with(['}', ']', ':'])
        || next.is_some_and(|rest| rest.starts_with(['"', '\'', '“', '{', '[', '}', ']']))
}

/// Whether `before`, the text before a document in prose, looks like the beginning of the document.
fn continued(before: &str) -> bool {
    let before = before.trim_end();
    let quoted = before.strip_suffix([':', ',']).map(str::trim_end);
    quoted.is_some_and(|rest| rest.ends_with(['"', '\'', '”', '}', ']']))
}
