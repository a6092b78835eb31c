//! The canonical form for detectors of words in prose, with a map back to the original text.
//!
//! 1. Invisible characters are removed, and so are marks that only decorate a Latin letter.
//! 2. The rest is normalized to NFKC, character by character, so that every byte can be mapped to its origin.
//! 3. HTML character references (`&#105;`, `&lt;`) are resolved.
//! 4. Letters of other alphabets that look Latin become Latin (Unicode TR 39), if the text mixes them into Latin words.
//! 5. The text spelt by tag characters is a separate reading.
//!
//! Commands are read in the form that [`super::canonical`] gives instead.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::confusable_detection::skeleton;

use super::{is_plain, ordinary};

/// A reading of a text.
#[derive(Debug, Clone)]
pub struct Mapped<'a> {
    /// The text of the reading.
    pub text: Cow<'a, str>,
    /// The number of characters that were hidden, disguised or written as references.
    pub disguised: usize,
    /// The offset in the original text of every byte and of the end; `None` if the two texts are the same.
    places: Option<Vec<u32>>,
}

impl Mapped<'_> {
    /// The bytes of the original text from which a range of the reading was made.
    #[must_use]
    pub fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let Some(places) = &self.places else { return range.clone() };
        let last = places.last().copied().unwrap_or(0);
        let place = |at: usize| places.get(at).copied().unwrap_or(last) as usize;
        place(range.start)..place(range.end)
    }
}

/// Collects a reading.
#[derive(Default)]
struct Writer {
    text: String,
    places: Vec<u32>,
}

impl Writer {
    fn push(&mut self, c: char, place: usize) {
        self.text.push(c);
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        self.places.extend(std::iter::repeat_n(place, c.len_utf8()));
    }

    fn done(mut self, end: usize, disguised: usize) -> Mapped<'static> {
        self.places.push(u32::try_from(end).unwrap_or(u32::MAX));
        Mapped { text: Cow::Owned(self.text), disguised, places: Some(self.places) }
    }
}

/// The visible text, and the text spelt by its tag characters, if it has any.
#[must_use]
pub fn mapped(text: &str) -> (Mapped<'_>, Option<Mapped<'_>>) {
    if is_plain(text) && !text.contains('&') {
        return (Mapped { text: Cow::Borrowed(text), disguised: 0, places: None }, None);
    }
    let mixed = mixes(text);
    let (mut seen, mut tags, mut disguised, mut at) = (Writer::default(), Writer::default(), 0, 0);
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if c == '&'
            && let Some((named, length)) = reference(text.get(at..).unwrap_or_default())
        {
            seen.push(named, at);
            disguised += 1;
            at += length;
            continue;
        }
        let before = seen.text.as_bytes().last().is_some_and(u8::is_ascii_alphabetic);
        if c == '\n' && !tags.text.is_empty() {
            tags.push(c, at);
        }
        match c {
            ' '..='~' | '\n' | '\t' => seen.push(c, at),
            '\u{e0020}'..='\u{e007e}' => {
                disguised += 1;
                tags.push(char::from_u32(u32::from(c) - 0xe0000).unwrap_or(' '), at);
            }
            '\r' => seen.push('\n', at),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{3000}' => seen.push(' ', at),
            '\u{2018}' | '\u{2019}' => seen.push('\'', at),
            '\u{201c}' | '\u{201d}' | '\u{ab}' | '\u{bb}' => seen.push('"', at),
            c if ordinary::kind(c).is_some() => disguised += usize::from(before),
            c if before && is_combining_mark(c) => {}
            c => {
                for part in c.nfkc() {
                    let latin = if mixed { lookalike(part) } else { None };
                    disguised += usize::from(latin.is_some());
                    seen.push(latin.unwrap_or(part), at);
                }
            }
        }
        at += c.len_utf8();
    }
    let tags = (!tags.text.is_empty()).then(|| tags.done(text.len(), disguised));
    (seen.done(text.len(), disguised), tags)
}

/// The Latin letter that a letter of another alphabet looks like.
fn lookalike(c: char) -> Option<char> {
    if c.is_ascii() || !c.is_alphabetic() {
        return None;
    }
    let mut buffer = [0_u8; 4];
    let mut looks = skeleton(c.encode_utf8(&mut buffer));
    looks.next().filter(|first| first.is_ascii_alphabetic() && looks.next().is_none())
}

/// Whether some word has both Latin letters and letters that only look Latin.
fn mixes(text: &str) -> bool {
    let (mut latin, mut like) = (false, false);
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            latin = true;
        } else if c.is_ascii() && !c.is_ascii_digit() {
            (latin, like) = (false, false);
        } else if !like && lookalike(c).is_some() {
            like = true;
        }
        if latin && like {
            return true;
        }
    }
    false
}

/// The character of an HTML reference at the beginning of a text, and the length of the reference in bytes.
fn reference(text: &str) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    let end = body.bytes().take(10).position(|byte| byte == b';')?;
    let name = body.get(..end)?;
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|c| !c.is_control() || *c == '\n')?
        }
    };
    Some((c, end + 2))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str, of: &str, came: &str) {
        let (seen, _) = mapped(text);
        assert_eq!(seen.text, want);
        let at = want.find(of).unwrap();
        assert_eq!(&text[seen.origin(&(at..at + of.len()))], came);
    }

    #[test]
    fn every_form_is_folded_and_maps_back() {
        check("say hello now", "say hello now", "hello", "hello");
        check("s\u{200b}ay he\u{200b}llo", "say hello", "hello", "he\u{200b}llo");
        check("&#104;&#x65;y you", "hey you", "hey", "&#104;&#x65;y");
        check("\u{ff48}\u{ff45}y", "hey", "hey", "\u{ff48}\u{ff45}y");
        check("ign\u{43e}re \u{430}", "ignore a", "a", "\u{430}");
        check("\u{201c}hi\u{201d}", "\"hi\"", "hi", "hi");
    }

    #[test]
    fn other_languages_stay_as_they_are() {
        let russian = "\u{441}\u{43e}\u{440}\u{430} word";
        assert_eq!(mapped(russian).0.text, russian);
    }

    #[test]
    fn tags_are_a_separate_reading() {
        let hidden: String = "act".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
        let text = format!("see {hidden}you");
        let (seen, tags) = mapped(&text);
        assert_eq!(seen.text, "see you");
        let tags = tags.unwrap();
        assert_eq!(tags.text, "act");
        assert_eq!(tags.origin(&(0..3)).start, 4);
    }
}
