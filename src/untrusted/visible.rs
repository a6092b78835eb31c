//! Displays untrusted text to a person: nothing is hidden, moves the cursor or changes the text direction.

use regex::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Control characters, format characters (including bidirectional ones), private use, line and paragraph separators,
/// default-ignorable characters (zero-width characters, tags, variation selectors), and every space but U+0020.
const HIDDEN: &str = r"[[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{DI}\p{Zs}]&&[^ ]]";

/// `None` if the pattern does not compile, which a test rules out; then every character beyond ASCII is escaped.
static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(HIDDEN).ok());

fn is_hidden(c: char) -> bool {
    match &*PATTERN {
        Some(pattern) => pattern.is_match(c.encode_utf8(&mut [0; 4])),
        None => !c.is_ascii_graphic() && c != ' ',
    }
}

/// A text as one line, with each hidden character replaced by an escape: `\n`, `\t`, `\u{202e}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if !c.is_ascii() || c.is_ascii_control() => {
                if is_hidden(c) {
                    out.extend(c.escape_unicode())
                } else {
                    out.push(c)
                }
            }
            c => out.push(c),
        }
    }
    out.into()
}

/// A text of several lines, with each hidden character but the ends of lines replaced by an escape.
#[cfg(feature = "serve")]
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b) || b == b'\n') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && (!c.is_ascii() || c.is_ascii_control()) && is_hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// A text with a space for each control character: a report must not control the terminal that shows it.
#[cfg(any(feature = "research", feature = "evolve"))]
pub(crate) fn without_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A value as JSON, with each hidden character replaced by an escape (`\u202e`). It parses to the same value.
#[must_use]
pub fn visible_json(value: &Value) -> String {
    let text = value.to_string();
    if text.is_ascii() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() || !is_hidden(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_escapes() {
        assert!(PATTERN.is_some());
        for (text, shown) in [
            ("rm a", "rm a"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("a\u{200b}b\u{feff}\u{ad}", "a\\u{200b}b\\u{feff}\\u{ad}"),
            ("\u{e0041}\u{fe0f}\u{3164}", "\\u{e0041}\\u{fe0f}\\u{3164}"),
            ("a\u{a0}b\u{2003}c\u{2028}", "a\\u{a0}b\\u{2003}c\\u{2028}"),
            ("\u{7f}\u{9b}", "\\u{7f}\\u{9b}"),
            ("Grüße, 日本語 …", "Grüße, 日本語 …"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{e0041}\u{1b}é"});
        let shown = visible_json(&value);
        assert_eq!(shown, r#"{"a":"x\u202ey\udb40\udc41\u001bé"}"#);
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
