//! The canonical form of text that may hide what it says.
//!
//! 1. Plain printable ASCII is its own canonical form, at the cost of one look at each byte.
//! 2. Characters that cannot be seen are taken out and reported: zero-width, bidirectional controls, tags,
//!    control characters. Joiners between letters and in emoji, where writing needs them, are left alone.
//! 3. The rest is normalised (NFKC), so that full-width and other look-alike forms become what they mean.
//! 4. Text in base64, hexadecimal or percent encoding is decoded, a few levels deep, within a budget.

use base64::Engine as _;
use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// How much work canonicalising may do.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Longest text that is looked at, bytes.
    pub bytes: usize,
    /// Encodings within encodings.
    pub depth: usize,
    /// Decoded parts that are kept.
    pub parts: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 1024 * 1024, depth: 3, parts: 32 }
    }
}

/// A kind of character that cannot be seen, and how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// `zero-width`, `bidirectional`, `tag`, `control`, `filler`
    pub kind: &'static str,
    /// Occurrences.
    pub count: usize,
}

/// Text that was found within an encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// `base64`, `hex` or `percent`
    pub encoding: &'static str,
    /// What it says.
    pub text: String,
    /// 1: in the text itself.
    pub depth: usize,
}

/// The canonical form of a text.
#[derive(Debug, Clone)]
pub struct Canonical<'a> {
    /// The text without what hides it.
    pub text: Cow<'a, str>,
    /// It differs from what was given.
    pub changed: bool,
    /// What was taken out.
    pub hidden: Vec<Hidden>,
    /// What encodings hold.
    pub decoded: Vec<Decoded>,
    /// The text is longer than the budget; the rest was not looked at.
    pub truncated: bool,
}

impl Canonical<'_> {
    /// In a few words.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut words = vec![if self.changed { "differs from the text as given" } else { "same as given" }.to_owned()];
        words.extend(self.hidden.iter().map(|h| format!("{} {} characters", h.count, h.kind)));
        words.extend(self.decoded.iter().map(|d| {
            let text: String = d.text.chars().take(60).collect();
            format!("{} holds \"{text}\"", d.encoding)
        }));
        if self.truncated {
            words.push("too long to be looked at as a whole".to_owned());
        }
        words.join("; ")
    }
}

/// The canonical form of a text.
#[must_use]
pub fn canonical<'a>(given: &'a str, budget: &Budget) -> Canonical<'a> {
    let (text, truncated) = cut(given, budget.bytes);
    let mut hidden = Vec::new();
    let plain = text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t' | b'\r'));
    let clean = if plain { Cow::Borrowed(text) } else { normal(text, &mut hidden) };
    let mut decoded = Vec::new();
    decode(&clean, 1, budget, &mut decoded);
    Canonical { changed: clean != text, text: clean, hidden, decoded, truncated }
}

fn cut(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), true)
}

/// Without what cannot be seen, in NFKC. Repeated until nothing changes, as normalising may bring out more.
fn normal<'a>(text: &'a str, hidden: &mut Vec<Hidden>) -> Cow<'a, str> {
    let mut current = Cow::Borrowed(text);
    for _ in 0..4 {
        let seen = strip(&current, hidden);
        let next = match is_nfkc_quick(seen.chars()) {
            IsNormalized::Yes => seen.into_owned(),
            _ => seen.nfkc().collect(),
        };
        if next == *current {
            break;
        }
        current = Cow::Owned(next);
    }
    current
}

fn strip<'a>(text: &'a str, hidden: &mut Vec<Hidden>) -> Cow<'a, str> {
    let mut out = String::with_capacity(text.len());
    let mut before: Option<char> = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match unseen(c, before, rest.peek().copied()) {
            None => out.push(c),
            Some(kind) => match hidden.iter_mut().find(|h| h.kind == kind) {
                Some(known) => known.count += 1,
                None => hidden.push(Hidden { kind, count: 1 }),
            },
        }
        before = Some(c);
    }
    if out.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// The kind of a character that cannot be seen; `None` where writing needs it.
fn unseen(c: char, before: Option<char>, after: Option<char>) -> Option<&'static str> {
    let written = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !c.is_control() && !c.is_whitespace());
    match c {
        '\n' | '\t' | '\r' => None,
        // joiners between letters of scripts that use them, and in emoji
        '\u{200C}' | '\u{200D}' if written(before) && written(after) => None,
        // the choice between text and emoji form follows a symbol
        '\u{FE00}'..='\u{FE0F}'
            if before.is_some_and(|b| !b.is_ascii_alphabetic() && !b.is_whitespace() && !selector(b)) =>
        {
            None
        }
        // marks of direction beside letters of right-to-left scripts
        '\u{200E}' | '\u{200F}' | '\u{061C}' if right_to_left(before) || right_to_left(after) => None,
        '\u{FEFF}' if before.is_none() => None,
        '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{00AD}' | '\u{180E}' | '\u{034F}' => {
            Some("zero-width")
        }
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' | '\u{180B}'..='\u{180D}' => Some("zero-width"),
        '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}' => {
            Some("bidirectional")
        }
        '\u{E0000}'..='\u{E007F}' => Some("tag"),
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' | '\u{2800}' => Some("filler"),
        c if c.is_control() => Some("control"),
        _ => None,
    }
}

fn selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{200B}'..='\u{200D}')
}

fn right_to_left(c: Option<char>) -> bool {
    c.is_some_and(|c| matches!(c, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'))
}

fn decode(text: &str, depth: usize, budget: &Budget, found: &mut Vec<Decoded>) {
    if depth > budget.depth {
        return;
    }
    let coded = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-' | '%' | '\\');
    for run in text.split(|c: char| !coded(c)).filter(|r| r.len() >= 12 && r.len() <= 64 * 1024) {
        if found.len() >= budget.parts {
            return;
        }
        let Some((encoding, plain)) = decode_run(run) else { continue };
        decode(&plain, depth + 1, budget, found);
        found.push(Decoded { encoding, text: plain, depth });
    }
}

fn decode_run(run: &str) -> Option<(&'static str, String)> {
    if run.matches('%').count() >= 3 {
        let bytes: Vec<u8> = percent_encoding::percent_decode_str(run).collect();
        return readable(bytes).filter(|t| t != run).map(|t| ("percent", t));
    }
    let digits: String = run.replace("\\x", "").replace("0x", "");
    if digits.len() >= 16 && digits.len() % 2 == 0 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        let bytes = (0..digits.len()).step_by(2).filter_map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok());
        if let Some(text) = readable(bytes.collect()) {
            return Some(("hex", text));
        }
    }
    if run.contains(['%', '\\']) || run.len() < 12 {
        return None;
    }
    let engine = if run.contains(['-', '_']) {
        base64::engine::general_purpose::URL_SAFE_NO_PAD
    } else {
        base64::engine::general_purpose::STANDARD_NO_PAD
    };
    let bytes = engine.decode(run.trim_end_matches('=')).ok()?;
    readable(bytes).map(|t| ("base64", t))
}

/// Text of at least eight characters, all of which can be read.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let printable = text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t' | '\r'));
    (printable && text.chars().count() >= 8 && text.is_ascii()).then_some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Canonical<'_> {
        canonical(text, &Budget::default())
    }

    #[test]
    fn hidden_characters_are_taken_out_and_reported() {
        let form = of("rm\u{200B} -rf \u{202E}/etc\u{E0041}");
        assert_eq!(form.text, "rm -rf /etc");
        let kinds: Vec<_> = form.hidden.iter().map(|h| h.kind).collect();
        assert_eq!(kinds, ["zero-width", "bidirectional", "tag"]);
    }

    #[test]
    fn full_width_letters_become_what_they_mean() {
        let form = of("\u{FF52}\u{FF4D} -rf /etc");
        assert_eq!(form.text, "rm -rf /etc");
        assert!(form.changed && form.hidden.is_empty());
    }

    #[test]
    fn ordinary_writing_hides_nothing() {
        for text in [
            "Grüße an Zoë",
            "👨\u{200D}👩\u{200D}👧 ❤\u{FE0F}",
            "שלום\u{200F} world",
            "نامه\u{200C}ای",
            "日本語テキスト",
            "\u{FEFF}#!/bin/sh",
        ] {
            assert!(of(text).hidden.is_empty(), "{text}: {:?}", of(text).hidden);
        }
    }

    #[test]
    fn encodings_within_encodings_are_read() {
        let inner = base64::engine::general_purpose::STANDARD.encode("rm -rf /etc/passwd");
        let outer = base64::engine::general_purpose::STANDARD.encode(format!("echo {inner} | base64 -d"));
        let text = format!("echo {outer}");
        let form = of(&text);
        assert!(form.decoded.iter().any(|d| d.text == "rm -rf /etc/passwd" && d.depth == 2));
        assert_eq!(of("%72%6d%20%2d%72%66%20/etc").decoded[0].text, "rm -rf /etc");
        assert_eq!(of("\\x72\\x6d\\x20\\x2d\\x72\\x66\\x20\\x2f").decoded[0].text, "rm -rf /");
    }

    #[test]
    fn what_is_too_long_is_said_to_be() {
        let text = "a".repeat(2 * 1024 * 1024);
        assert!(of(&text).truncated);
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_its_own(text in any::<String>()) {
            let once = of(&text).text.into_owned();
            let again = of(&once);
            prop_assert_eq!(&once, &again.text);
            prop_assert!(again.hidden.is_empty());
        }

        #[test]
        fn decoding_stays_within_its_budget(text in "[A-Za-z0-9+/=%\\\\x ]{0,4000}") {
            let form = of(&text);
            prop_assert!(form.decoded.len() <= Budget::default().parts + Budget::default().depth);
        }
    }
}
