//! Cuts a text into segments: sentences, lines, values of JSON, cells of a table.
//!
//! One pass, in time linear in the text. Bytes beyond the budget are counted, never skipped silently.

use std::ops::Range;

/// Limits of the work on one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Most bytes that are read. Default: 8 MiB.
    pub bytes: usize,
    /// Most segments that are kept. Default: 200 000.
    pub segments: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 8 << 20, segments: 200_000 }
    }
}

/// The segments of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    /// Byte ranges of the text, in ascending order, without the punctuation around them.
    pub kept: Vec<Range<usize>>,
    /// Bytes at the end of the text that were not cut into segments because the budget was exhausted.
    pub unread: usize,
}

/// The longest segment, in bytes; longer ones are split at a space if there is one.
pub const LONGEST: usize = 320;

/// Cuts a text into segments.
#[must_use]
pub(crate) fn segments(text: &str, budget: &Budget) -> Segments {
    let limit = text.floor_char_boundary(budget.bytes.min(text.len()));
    let bytes = text.as_bytes().get(..limit).unwrap_or_default();
    let mut found = Segments { kept: Vec::new(), unread: text.len() - limit };
    let (mut begin, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let length = if opens(*byte) { boundary(bytes, at) } else { 0 };
        at += length.max(1);
        if length > 0 || at - begin >= LONGEST || at >= bytes.len() {
            let mut end = at;
            if length == 0 && at < bytes.len() {
                let blank = bytes.get(begin + LONGEST / 2..at).and_then(|part| part.iter().rposition(|&b| b == b' '));
                end = blank.map_or_else(|| text.floor_char_boundary(at), |place| begin + LONGEST / 2 + place + 1);
            }
            if found.kept.len() >= budget.segments {
                found.unread += limit - begin;
                return found;
            }
            found.kept.extend(trimmed(text, begin..end));
            begin = end;
            at = at.max(end);
        }
    }
    found
}

/// Whether a boundary may begin with a byte.
fn opens(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\\' | b'.' | b'!' | b'?' | 0xe3 | b'"' | b'\'' | b'{' | b'[' | b'|' | b' ' | b'<' | b'-')
}

/// The length in bytes of a boundary at a place; 0 if there is none.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let byte = |offset: usize| bytes.get(at + offset).copied().unwrap_or(0);
    let blanks = |from: usize| (from..from + 8).take_while(|&offset| byte(offset).is_ascii_whitespace()).count();
    match byte(0) {
        b'\n' => 1,
        b'\\' if byte(1) == b'n' => 2,
        b'.' | b'!' | b'?' => {
            let marks = (0..8).take_while(|&o| matches!(byte(o), b'.' | b'!' | b'?')).count();
            let quotes =
                (marks..marks + 4).take_while(|&o| matches!(byte(o), b'"' | b'\'' | b')' | b']' | b'*' | b'_'));
            let closed = marks + quotes.count();
            let space = blanks(closed);
            if space > 0 {
                // "a. b"
                return closed + space;
            }
            let glued = marks == closed && byte(marks).is_ascii_uppercase() && at > 0;
            let before = bytes.get(at.wrapping_sub(1)).copied().unwrap_or(0);
            if glued && !before.is_ascii_uppercase() && !before.is_ascii_digit() { marks } else { 0 }
        }
        0xe3 if byte(1) == 0x80 && byte(2) == 0x82 => 3,
        quote @ (b'"' | b'\'') => {
            // the end of a value, a key or an item of JSON, or of text that looks like it
            let space = blanks(1);
            match byte(1 + space) {
                b':' | b',' => {
                    let after = 2 + space + blanks(2 + space);
                    let open = (after..after + 8).take_while(|&o| matches!(byte(o), b'[' | b'{')).count();
                    if matches!(byte(after + open), b'"' | b'\'') { after + open } else { 0 }
                }
                // an apostrophe before a bracket may belong to a word
                b'}' | b']' if quote == b'"' || !byte(2 + space).is_ascii_alphanumeric() => 2 + space,
                _ => 0,
            }
        }
        b'{' | b'[' if matches!(byte(1), b'"' | b'\'') => 1,
        b'|' if byte(1).is_ascii_uppercase() && (1..24).any(|o| byte(o) == b':') => 1,
        b' ' if byte(1) == b'|' && byte(2) == b' ' => 3,
        b'<' if byte(1) == b'!' && byte(2) == b'-' && byte(3) == b'-' => 4,
        b'-' if byte(1) == b'-' && byte(2) == b'>' => 3,
        _ => 0,
    }
}

/// A segment without white space and punctuation around it; `None` if fewer than three letters are left.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let edge: &[char] = &[' ', '\t', '\n', '\r', '"', '\'', '{', '}', '|', ',', ':'];
    let left = part.trim_start_matches(edge);
    let start = range.start + part.len() - left.len();
    let end = start + left.trim_end().trim_end_matches("-->").trim_end_matches(edge).len();
    (text.get(start..end)?.chars().filter(|c| c.is_alphabetic()).take(3).count() == 3).then_some(start..end)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, want: &[&str]) {
        let found = segments(text, &Budget::default());
        let got: Vec<&str> = found.kept.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn sentences_lines_values_and_cells() {
        check("One is here. Two is there!\nThree", &["One is here.", "Two is there!", "Three"]);
        check("{'name': 'Ann', 'note': 'Call me. Now please'}", &["name", "Ann", "note", "Call me.", "Now please"]);
        check("| Pear | Plum |", &["Pear", "Plum"]);
        check("a<!-- hidden text -->", &["hidden text"]);
    }

    #[test]
    fn bytes_over_budget_are_counted() {
        let text = "word here. ".repeat(100);
        let found = segments(&text, &Budget { bytes: 550, segments: 10 });
        assert_eq!(found.kept.len(), 10);
        assert_eq!(found.unread, text.len() - 110);
    }

    proptest! {
        #[test]
        fn spans_are_in_order_and_on_boundaries(text in ".{0,600}") {
            let mut last = 0;
            for range in segments(&text, &Budget::default()).kept {
                prop_assert!(range.start >= last && range.end > range.start);
                prop_assert!(text.get(range.clone()).is_some());
                last = range.end;
            }
        }
    }
}
