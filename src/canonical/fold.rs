//! Removes invisible characters and normalizes the rest.
//!
//! 1. One pass removes, normalizes and truncates; passes are repeated until nothing changes, because each of the three
//!    can make work for the others.
//! 2. If a text still changes after four passes, every invisible character is removed, after which it converges.

use unicode_normalization::{UnicodeNormalization, is_nfkc};

use super::ordinary::{Around, FLAGS, Fate, kind, needed, right_to_left};
use super::{Hidden, HiddenKind, prefix};

const PASSES: usize = 4;

/// A folded text.
#[derive(Debug)]
pub(super) struct Folded {
    pub text: String,
    pub hidden: Vec<Hidden>,
    /// It exceeded the limit and was truncated.
    pub cut: bool,
}

/// Folds a text to at most `limit` bytes.
pub(super) fn fold(text: &str, limit: usize) -> Folded {
    let mut folded = Folded { text: text.to_owned(), hidden: Vec::new(), cut: false };
    for pass in 0.. {
        let stripped = strip(&folded.text, pass >= PASSES, &mut folded.hidden);
        let normal: String = if is_nfkc(&stripped) { stripped } else { stripped.nfkc().collect() };
        let fits = prefix(&normal, limit);
        folded.cut |= fits.len() < normal.len();
        if fits == folded.text || pass >= 4 * PASSES {
            break;
        }
        folded.text = fits.to_owned();
    }
    folded
}

fn strip(text: &str, all: bool, hidden: &mut Vec<Hidden>) -> String {
    let text_rtl = text.chars().any(right_to_left);
    let mut out = String::with_capacity(text.len());
    let mut first = true;
    for line in text.split_inclusive('\n') {
        let line_rtl = text_rtl && line.chars().any(right_to_left);
        let mut kept = None;
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let after = rest.get(c.len_utf8()..).unwrap_or_default();
            let (skip, fate) = if all { (0, Fate::Report) } else { sequence(c, after, kept, hidden) };
            let Some(found) = kind(c) else {
                // the Unicode line and paragraph separators become line feeds
                out.push(if matches!(c, '\u{2028}' | '\u{2029}') { '\n' } else { c });
                kept = Some(c);
                rest = after;
                first = false;
                continue;
            };
            if skip > 0 {
                let (taken, left) = rest.split_at_checked(skip).unwrap_or((rest, ""));
                if fate == Fate::Keep {
                    out.push_str(taken);
                    kept = taken.chars().next_back();
                }
                rest = left;
                first = false;
                continue;
            }
            let next = after.chars().next();
            let control = found == HiddenKind::Control;
            let fate = match needed(c, Around { kept, next, text_rtl, line_rtl, first }) {
                Fate::Keep if all && !control => Fate::Drop,
                fate => fate,
            };
            match fate {
                Fate::Keep => {
                    out.push(c);
                    kept = Some(c);
                }
                Fate::Drop if control => {
                    out.push('\n');
                    kept = None;
                }
                Fate::Drop => {}
                Fate::Report => report(hidden, found, 1),
            }
            rest = after;
            first = false;
        }
    }
    out
}

/// Sequences that are judged as a whole: their length in bytes from `c` on (0 if there is none), and their fate.
fn sequence(c: char, after: &str, kept: Option<char>, hidden: &mut Vec<Hidden>) -> (usize, Fate) {
    if c == '\u{1b}' || c == '\u{9b}' {
        let length = escape(c, after);
        if length > 0 {
            report(hidden, HiddenKind::Escape, 1);
            return (c.len_utf8() + length, Fate::Report);
        }
    }
    if kept == Some('\u{1f3f4}') && matches!(c, '\u{e0061}'..='\u{e007a}') {
        for flag in FLAGS {
            let spelt: String = flag.chars().map(tag).chain(['\u{e007f}']).collect();
            let from_here = after.strip_prefix(spelt.get(c.len_utf8()..).unwrap_or_default());
            if spelt.starts_with(c) && from_here.is_some() {
                return (spelt.len(), Fate::Keep);
            }
        }
    }
    (0, Fate::Report)
}

fn tag(c: char) -> char {
    char::from_u32(0xe0000 + u32::from(c)).unwrap_or(c)
}

/// The length in bytes of a terminal sequence after its first character; 0 if there is none.
fn escape(c: char, after: &str) -> usize {
    let bytes = after.as_bytes();
    let control = match (c, bytes.first()) {
        ('\u{9b}', _) => 0,
        (_, Some(b'[')) => 1,
        (_, Some(b']')) => {
            let end = bytes.iter().take(2048).position(|&byte| byte == 7 || byte == 0x1b || byte == b'\n');
            return match end.and_then(|end| bytes.get(end).map(|&byte| (end, byte))) {
                Some((end, 7)) => end + 1,
                Some((end, 0x1b)) if bytes.get(end + 1) == Some(&b'\\') => end + 2,
                _ => 0,
            };
        }
        (_, Some(b'(' | b')')) => return if bytes.get(1).is_some_and(u8::is_ascii_alphanumeric) { 2 } else { 0 },
        (_, Some(b'7' | b'8' | b'=' | b'>' | b'M' | b'c')) => return 1,
        _ => return 0,
    };
    let parameters = bytes.iter().skip(control).take(64).take_while(|byte| matches!(byte, b' '..=b'?')).count();
    match bytes.get(control + parameters) {
        Some(b'@'..=b'~') => control + parameters + 1,
        _ => 0,
    }
}

fn report(hidden: &mut Vec<Hidden>, kind: HiddenKind, count: usize) {
    match hidden.iter_mut().find(|entry| entry.kind == kind) {
        Some(entry) => entry.count += count,
        None => hidden.push(Hidden { kind, count }),
    }
}
