//! Finds encoded text within a text.
//!
//! 1. A run of letters that could be an encoding is decoded; it counts only if the result is readable text.
//! 2. Short results must look like plain words or a command, because short runs can be readable by chance.
//! 3. Decoded text is searched again, down to the bounded depth.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::{Budget, Decoded, Encoding, fold, is_plain};

/// Fewest characters of a decoded text.
const LEAST: usize = 8;
/// Fewest letters of an encoded text.
const SHORTEST: usize = 11;
/// Decoded text of fewer bytes may be readable by chance.
const CERTAIN: usize = 24;
/// Most nested encodings that are decoded, whatever the budget allows.
const DEEPEST: usize = 8;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The texts decoded so far.
#[derive(Debug)]
pub(super) struct Found<'b> {
    budget: &'b Budget,
    pub decoded: Vec<Decoded>,
    used: usize,
    /// A limit was reached.
    pub full: bool,
}

impl<'b> Found<'b> {
    pub(super) fn new(budget: &'b Budget) -> Self {
        Self { budget, decoded: Vec::new(), used: 0, full: false }
    }

    /// Searches a text for encodings in visible characters.
    pub(super) fn search(&mut self, text: &str, depth: usize) {
        self.percent(text, depth);
        self.escapes(text, depth);
        self.runs(text, depth);
    }

    /// Searches a text for tags and selectors.
    pub(super) fn invisible(&mut self, text: &str) {
        let (mut tags, mut first, mut flag) = (Vec::new(), 0, false);
        let (mut bytes, mut begin) = (Vec::new(), 0);
        for (offset, c) in text.char_indices() {
            let code = u32::from(c);
            match c {
                '\u{e0020}'..='\u{e007e}' if !flag => {
                    if tags.is_empty() {
                        first = offset;
                    }
                    tags.extend(u8::try_from(code - 0xe0000));
                }
                '\u{e0020}'..='\u{e007e}' => {}
                _ => flag = c == '\u{1f3f4}',
            }
            let byte = match c {
                '\u{fe00}'..='\u{fe0f}' => u8::try_from(code - 0xfe00).ok(),
                '\u{e0100}'..='\u{e01ef}' => u8::try_from(code - 0xe0100 + 16).ok(),
                _ => None,
            };
            if let Some(byte) = byte {
                if bytes.is_empty() {
                    begin = offset;
                }
                bytes.push(byte);
            } else if !bytes.is_empty() {
                self.add(Encoding::Selectors, &bytes, begin, 1);
                bytes.clear();
            }
        }
        self.add(Encoding::Selectors, &bytes, begin, 1);
        self.add(Encoding::Tags, &tags, first, 1);
    }

    fn percent(&mut self, text: &str, depth: usize) {
        if !text.contains('%') {
            return;
        }
        for (offset, word) in words(text) {
            if self.full {
                return;
            }
            if !word.contains('%') {
                continue;
            }
            let (bytes, count) = unescape(word.as_bytes(), b"%");
            if count >= 2 {
                self.add(Encoding::Percent, &bytes, offset, depth);
            }
        }
    }

    fn escapes(&mut self, text: &str, depth: usize) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(begin) = text.get(at..).and_then(|rest| rest.find("\\x")).map(|found| at + found) {
            if self.full {
                return;
            }
            let run = bytes.get(begin..).unwrap_or_default();
            let length = 4 * run.chunks_exact(4).take_while(|four| escaped(four, b"\\x").is_some()).count();
            if length >= 4 * LEAST {
                let (decoded, _) = unescape(run.get(..length).unwrap_or_default(), b"\\x");
                self.add(Encoding::HexEscape, &decoded, begin, depth);
            }
            at = begin + length.max(2);
        }
    }

    fn runs(&mut self, text: &str, depth: usize) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && !self.full {
            let length = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| letter(**byte)).count();
            if length < SHORTEST {
                at += length + 1;
                continue;
            }
            let (run, whole_lines, end) = run(bytes, at);
            // the part after the last full line may be another word
            let lines = run.get(..whole_lines).filter(|lines| !lines.is_empty());
            if !self.encoded(&run, at, depth)
                && !lines.is_some_and(|lines| self.encoded(lines, at, depth))
                && run.len() >= 16
            {
                let mut offset = at;
                for part in run.split(|byte| matches!(byte, b'/' | b'-' | b'_')) {
                    if part.len() >= 16 && part.len() < run.len() {
                        self.encoded(part, offset, depth);
                    }
                    offset += part.len() + 1;
                }
            }
            at = end.max(at + 1);
        }
    }

    fn encoded(&mut self, run: &[u8], offset: usize, depth: usize) -> bool {
        if let Some(bytes) = hex(run)
            && self.add(Encoding::Hex, &bytes, offset, depth)
        {
            return true;
        }
        let standard: Vec<u8> = run
            .iter()
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                &byte => byte,
            })
            .collect();
        BASE64.decode(standard).is_ok_and(|bytes| self.add(Encoding::Base64, &bytes, offset, depth))
    }

    /// Keeps a decoded text if it is readable, and searches it in turn. Returns whether it is readable.
    fn add(&mut self, encoding: Encoding, bytes: &[u8], offset: usize, depth: usize) -> bool {
        let Some(text) = readable(bytes, encoding) else { return false };
        let text = if is_plain(&text) { text } else { fold::fold(&text, self.budget.decoded).text };
        if depth > self.budget.depth.min(DEEPEST)
            || self.decoded.len() >= self.budget.items
            || self.used + text.len() > self.budget.decoded
        {
            self.full = true;
            return true;
        }
        self.used += text.len();
        self.decoded.push(Decoded { encoding, text: text.clone(), depth, offset });
        self.search(&text, depth + 1);
        true
    }
}

/// The words of a text with their byte offsets; quotes and brackets end a word too.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let begin = text.as_ptr() as usize;
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '{' | '}' | '|'))
        .map(move |word| (word.as_ptr() as usize - begin, word))
}

/// The value of `\xNN` or `%NN` at the beginning.
fn escaped(bytes: &[u8], mark: &[u8]) -> Option<u8> {
    match bytes.strip_prefix(mark)? {
        [high, low, ..] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Decodes every escape; returns the bytes and the number of escapes.
fn unescape(mut bytes: &[u8], mark: &[u8]) -> (Vec<u8>, usize) {
    let (mut out, mut count) = (Vec::with_capacity(bytes.len()), 0);
    while let Some((first, rest)) = bytes.split_first() {
        if let Some(byte) = escaped(bytes, mark) {
            out.push(byte);
            count += 1;
            bytes = bytes.get(mark.len() + 2..).unwrap_or_default();
        } else {
            out.push(*first);
            bytes = rest;
        }
    }
    (out, count)
}

/// Whether a byte is a letter of base64, in the standard or the URL-safe alphabet.
fn letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The run of base64 letters from `begin` on, across line ends if the lines have at least 60 letters; how many of its
/// letters precede the last line end; and the offset of its end.
fn run(bytes: &[u8], begin: usize) -> (Vec<u8>, usize, usize) {
    let (mut run, mut at, mut line, mut before) = (Vec::new(), begin, 0, 0);
    loop {
        match bytes.get(at) {
            Some(&byte) if letter(byte) => {
                run.push(byte);
                line += 1;
                at += 1;
            }
            Some(b'\r' | b'\n') if line >= 60 => {
                (line, before) = (0, run.len());
                at += if bytes.get(at..at + 2) == Some(b"\r\n") { 2 } else { 1 };
            }
            _ => return (run, before, at),
        }
    }
}

/// The bytes of a long run of hexadecimal digits; a run of decimal digits only must have at least 32.
fn hex(run: &[u8]) -> Option<Vec<u8>> {
    if run.len() < 2 * LEAST || !run.len().is_multiple_of(2) {
        return None;
    }
    if run.len() < 32 && run.iter().all(u8::is_ascii_digit) {
        return None;
    }
    run.chunks_exact(2).map(|pair| escaped(pair, b"")).collect()
}

/// The bytes as text, if it is readable and unlikely to be readable by chance.
fn readable(bytes: &[u8], encoding: Encoding) -> Option<String> {
    if bytes.len() < LEAST {
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(printable) => text.to_owned(),
        _ => wide(bytes)?,
    };
    let length = text.chars().count();
    if length < LEAST {
        return None;
    }
    let chance = matches!(encoding, Encoding::Base64 | Encoding::Hex) && bytes.len() < CERTAIN;
    if chance && !(text.chars().all(plain) && 10 * text.chars().filter(|&c| word(c)).count() >= 7 * length) {
        return None;
    }
    Some(text)
}

/// ASCII text in UTF-16LE, as some shells accept it.
fn wide(bytes: &[u8]) -> Option<String> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    bytes
        .chunks_exact(2)
        .map(|pair| match pair {
            [low, 0] => Some(char::from(*low)).filter(|c| c.is_ascii() && printable(*c)),
            _ => None,
        })
        .collect()
}

fn printable(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' => true,
        '\u{fffd}' => false,
        c if c.is_ascii() => !c.is_control(),
        c => !c.is_control() && unicode_normalization::char::is_public_assigned(c),
    }
}

fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || " \n\t-./_:;|&$(){}\"'=,@~>*<\\?!#%+".contains(c)
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == ' '
}
