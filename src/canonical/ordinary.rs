//! Classifies invisible characters, and decides whether the script around one needs it.
//!
//! 1. [`kind`] classifies a character alone.
//! 2. [`needed`] decides about it between its neighbours.

use unicode_normalization::UnicodeNormalization;

use super::HiddenKind;

/// The kind of an invisible character; `None` for all others.
pub(super) fn kind(c: char) -> Option<HiddenKind> {
    Some(match c {
        '\u{ad}' => HiddenKind::SoftHyphen,
        '\u{200b}'..='\u{200d}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{180e}' => HiddenKind::ZeroWidth,
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' => {
            HiddenKind::Direction
        }
        '\u{202d}' | '\u{202e}' => HiddenKind::Override,
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            HiddenKind::VariationSelector
        }
        // The rest of the plane is reserved for characters without a glyph.
        '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' => HiddenKind::Tag,
        '\n' | '\t' => return None,
        c if c.is_control() => HiddenKind::Control,
        _ => return None,
    })
}

/// The treatment of an invisible character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is kept, because the script needs it.
    Keep,
    /// It is ordinary and removed without a report; a control character becomes a line feed.
    Drop,
    /// It is removed and reported.
    Report,
}

/// The neighbours of a character in its line: `kept` is the last character that was kept, `next` the following one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    pub kept: Option<char>,
    pub next: Option<char>,
    /// The whole text has letters that are written from right to left.
    pub text_rtl: bool,
    /// The line has letters that are written from right to left.
    pub line_rtl: bool,
    /// It is the first character of the text.
    pub first: bool,
}

/// The treatment of an invisible character between its neighbours.
pub(super) fn needed(c: char, around: Around) -> Fate {
    let before = |test: fn(char) -> bool| around.kept.is_some_and(test);
    let after = |test: fn(char) -> bool| around.next.is_some_and(test);
    let keep = |yes: bool| if yes { Fate::Keep } else { Fate::Report };
    let silent = |yes: bool| if yes { Fate::Drop } else { Fate::Report };
    match c {
        '\u{200d}' => keep((before(emoji_end) && after(emoji)) || before(joining)),
        '\u{200c}' => keep(before(joining)),
        '\u{fe0e}' | '\u{fe0f}' => {
            let keycap = before(|c| matches!(c, '0'..='9' | '#' | '*')) && around.next == Some('\u{20e3}');
            match around.kept {
                // the normalized form of this sign takes no selector
                Some(sign) if emoji(sign) && !sign.nfkc().eq([sign]) => Fate::Drop,
                _ => keep(keycap || before(emoji)),
            }
        }
        '\u{fe00}'..='\u{fe0d}' => keep(before(ideograph) || before(mathematical) || before(joining)),
        '\u{e0100}'..='\u{e01ef}' => keep(before(ideograph)),
        '\u{180b}'..='\u{180f}' => keep(before(|c| matches!(c, '\u{1820}'..='\u{18aa}'))),
        '\u{115f}' | '\u{1160}' => {
            keep(before(|c| matches!(c, '\u{1100}'..='\u{11ff}')) || after(|c| matches!(c, '\u{1161}'..='\u{11ff}')))
        }
        '\u{200b}' => silent(before(unspaced) || after(unspaced)),
        '\u{feff}' => silent(around.first),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => silent(around.text_rtl),
        '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' => silent(around.line_rtl),
        '\u{34f}' => silent(before(|c| combining(c) || right_to_left(c))),
        '\r' if around.next == Some('\n') => Fate::Keep,
        // these controls become line feeds
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' => Fate::Drop,
        _ => Fate::Report,
    }
}

/// The flags of England, Scotland and Wales are the only ones spelt with tags.
pub(super) const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

fn emoji(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}'
        | '\u{2122}' | '\u{2139}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
}

fn emoji_end(c: char) -> bool {
    emoji(c) || matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Letters and marks of scripts whose shapes depend on joiners: Arabic, Syriac, N'Ko, Mongolian and the Indic ones.
fn joining(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{df4}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{17d3}'
        | '\u{1820}'..='\u{18aa}' | '\u{1b00}'..='\u{1bff}' | '\u{a840}'..='\u{a877}' | '\u{a8e0}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aa7f}' | '\u{abc0}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{11000}'..='\u{11fff}')
}

/// Scripts that separate words by zero-width spaces instead of spaces.
fn unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{f00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1950}'..='\u{1aad}' | '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
}

fn ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{303f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' | '\u{3040}'..='\u{30ff}')
}

fn mathematical(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2aff}')
}

fn combining(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Letters that are written from right to left.
pub(super) fn right_to_left(c: char) -> bool {
    matches!(c, '\u{5d0}'..='\u{5f4}' | '\u{620}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}
