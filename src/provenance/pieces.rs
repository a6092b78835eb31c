//! Splits a text into sentences and fields, in one pass.

/// Shortest piece that is kept, in bytes.
const SHORT: usize = 8;

/// The pieces of a text, in order: sentences, lines, and the strings of anything that looks like JSON or a Python
/// value.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        match cut(rest) {
            Some((keep, skip)) => {
                push(&mut found, text, begin, at + keep);
                begin = at + skip;
                at = begin;
            }
            None => at += 1,
        }
    }
    push(&mut found, text, begin, bytes.len());
    found
}

fn push<'a>(found: &mut Vec<&'a str>, text: &'a str, begin: usize, end: usize) {
    let piece = text.get(begin..end.min(text.len())).unwrap_or_default().trim();
    if piece.len() >= SHORT {
        found.push(piece);
    }
}

/// Whether a piece ends at the beginning of `rest`: how many bytes still belong to it, and after how many the next
/// piece begins.
fn cut(rest: &[u8]) -> Option<(usize, usize)> {
    match rest {
        // most bytes end nothing
        [b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9', ..] => None,
        [b'\n' | b'\r', ..] => Some((0, 1)),
        [b'\\', b'n', ..] => Some((0, 2)),
        [b'.' | b'!' | b'?' | b';', next, ..] if next.is_ascii_whitespace() => Some((1, 2)),
        // after a label
        [b':', b' ', next, ..] if next.is_ascii_uppercase() => Some((1, 2)),
        // between two strings
        [b'\'', b',' | b':', b' ', b'\'' | b'"', ..] | [b'"', b',' | b':', b' ', b'"' | b'\'', ..] => Some((0, 4)),
        [b'"', b',' | b':', b'"', ..] => Some((0, 3)),
        // a quoted cell of a table
        [b',', b'"', next, ..] if next.is_ascii_uppercase() => Some((0, 2)),
        _ if rest.starts_with(b" and then ") || rest.starts_with(b", and then") => Some((0, 10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_lines_and_strings_are_pieces() {
        let text = "First sentence. Second one!\nA line {'title': 'Weekly plan', 'body': \"Please call Tom\"}";
        let expected = ["First sentence.", "Second one!", "A line {'title", "Weekly plan", "Please call Tom\"}"];
        assert_eq!(pieces(text), expected);
    }

    #[test]
    fn nothing_panics_on_odd_text() {
        for text in ["", "é", "…\u{10FFFF}. x", "': '': '", "a. ", "\\n\\n", "\u{202e}. B"] {
            let _ = pieces(text);
        }
        assert_eq!(pieces(&"long enough. ".repeat(10_000)).len(), 10_000);
    }
}
