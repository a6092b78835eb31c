//! The canonical form of text that may be hostile.
//!
//! 1. Invisible characters are removed and reported, unless the script around them needs them: a joiner in an emoji or
//!    between Arabic or Indic letters, a direction mark in Hebrew, a selector after an emoji.
//! 2. The rest is normalized to NFKC, so that full-width and other compatibility forms become the plain ones.
//! 3. Text encoded in base64, hexadecimal or percent encoding is decoded and listed separately, to a bounded depth and
//!    size.
//! 4. Plain printable ASCII is its own canonical form and is not copied.
//! 5. Canonicalisation is idempotent.

use std::borrow::Cow;

mod decode;
mod fold;
pub mod mapped;
mod ordinary;
#[cfg(test)]
mod tests;

/// Limits of the work on one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Most bytes of the text that are read, and most bytes of the canonical form. Default: 1 MiB.
    pub input: usize,
    /// Most nested encodings that are decoded. Default: 3.
    pub depth: usize,
    /// Most bytes of all decoded texts together. Default: 256 KiB.
    pub decoded: usize,
    /// Most decoded texts. Default: 256.
    pub items: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { input: 1 << 20, depth: 3, decoded: 256 << 10, items: 256 }
    }
}

/// The canonical form of a text, with the hidden characters and encoded texts that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical<'a> {
    /// The canonical form.
    pub text: Cow<'a, str>,
    /// The canonical form differs from the original text, other than by truncation.
    pub changed: bool,
    /// The removed characters that no ordinary script needs, by kind, each kind once.
    pub hidden: Vec<Hidden>,
    /// A limit was reached: part of the text was not read or decoded.
    pub truncated: bool,
    /// The texts that were encoded in the text.
    pub decoded: Vec<Decoded>,
}

/// A kind of invisible character, and how many of them were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden {
    /// The kind.
    pub kind: HiddenKind,
    /// The number of removed characters.
    pub count: usize,
}

/// The kinds of invisible characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HiddenKind {
    /// Zero-width spaces, joiners, fillers and other characters without a glyph.
    ZeroWidth,
    /// Marks, embeddings and isolates of text direction.
    Direction,
    /// Overrides of text direction: the displayed order differs from the order in memory.
    Override,
    /// Tag characters, which can carry a whole ASCII text invisibly.
    Tag,
    /// Variation selectors, which can carry bytes invisibly.
    VariationSelector,
    /// Soft hyphens.
    SoftHyphen,
    /// Terminal control sequences, such as colours.
    Escape,
    /// Other control characters.
    Control,
}

/// How a text was encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// Base64, in the standard or the URL-safe alphabet.
    Base64,
    /// `\x72\x6d`.
    HexEscape,
    /// `726d`.
    Hex,
    /// `%72%6d`.
    Percent,
    /// Tag characters that represent ASCII.
    Tags,
    /// Variation selectors that represent bytes.
    Selectors,
}

/// A text that was encoded in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The encoding.
    pub encoding: Encoding,
    /// The decoded text, in canonical form.
    pub text: String,
    /// 1 for a text encoded in the text itself, 2 for a text encoded in that, and so on.
    pub depth: usize,
    /// Where the encoded text begins, in bytes: at depth 1 of the canonical form (for tags and selectors of the
    /// original text), at greater depths of the decoded text one level up.
    pub offset: usize,
}

impl Canonical<'_> {
    /// A short summary for explanations.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut words =
            vec![if self.changed { "differs from the original" } else { "same as the original" }.to_owned()];
        words.extend(self.hidden.iter().map(|h| format!("{} hidden characters ({:?})", h.count, h.kind)));
        words.extend(self.decoded.iter().take(8).map(|d| {
            let text: String = d.text.chars().take(60).collect();
            format!("{:?} decodes to \"{text}\"", d.encoding)
        }));
        if self.truncated {
            words.push("the text was not examined completely".to_owned());
        }
        words.join("; ")
    }
}

/// Computes the canonical form of a text.
pub fn canonical<'a>(text: &'a str, budget: &Budget) -> Canonical<'a> {
    let read = prefix(text, budget.input);
    let mut truncated = read.len() < text.len();
    let mut found = decode::Found::new(budget);
    let mut hidden = Vec::new();
    let folded = if is_plain(read) {
        Cow::Borrowed(read)
    } else {
        found.invisible(read);
        let folded = fold::fold(read, budget.input);
        hidden = folded.hidden;
        truncated |= folded.cut;
        if folded.text == read { Cow::Borrowed(read) } else { Cow::Owned(folded.text) }
    };
    found.search(&folded, 1);
    let changed = matches!(folded, Cow::Owned(_));
    Canonical { text: folded, changed, hidden, truncated: truncated || found.full, decoded: found.decoded }
}

/// Whether a text consists of printable ASCII, tabs and line feeds only.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

fn prefix(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}
