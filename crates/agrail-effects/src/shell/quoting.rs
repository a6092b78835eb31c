//! Quoted and escaped text.
//!
//! A mark before each quoted character keeps `'*'` apart from `*` until patterns and braces are expanded.

use super::UNKNOWN_SPAN;

/// Mark before a quoted character that would otherwise belong to a pattern.
pub const QUOTED: char = '\u{E000}';
pub(super) fn push_quoted(text: &str, into: &mut String) {
    for c in text.chars() {
        if "*?[]{},~".contains(c) {
            into.push(QUOTED);
        }
        into.push(c);
    }
}

pub(super) fn unescape(raw: &str, quoted: bool, into: &mut String) {
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(next) => push_quoted(&next.to_string(), into),
            },
            _ if quoted => push_quoted(&c.to_string(), into),
            _ => into.push(c),
        }
    }
}

pub(super) fn unescape_double(raw: &str, into: &mut String) {
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied()) {
            ('\\', Some('\n')) => {
                chars.next();
            }
            ('\\', Some(next @ ('$' | '`' | '"' | '\\'))) => {
                chars.next();
                push_quoted(&next.to_string(), into);
            }
            _ => push_quoted(&c.to_string(), into),
        }
    }
}

/// `$'...'`: the escapes of ANSI C strings. `\x` and octal numbers are bytes; bytes that are not UTF-8 are not constant.
pub(crate) fn ansi_c(raw: &str) -> String {
    let mut text = String::new();
    let mut bytes = Vec::new();
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let escape = if c == '\\' { chars.next() } else { None };
        match escape {
            Some('x') => {
                bytes.push(digits(&mut chars, String::new(), 2, 16).and_then(|number| u8::try_from(number).ok()));
                continue;
            }
            // the ninth bit of an octal number is dropped
            Some(first @ '0'..='7') => {
                let number = digits(&mut chars, first.to_string(), 3, 8);
                bytes.push(number.and_then(|number| u8::try_from(number & 0xff).ok()));
                continue;
            }
            _ => decode(&mut bytes, &mut text),
        }
        match escape {
            None if c == '\\' => {}
            None => text.push(c),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('e' | 'E') => text.push('\u{1b}'),
            Some(length @ ('u' | 'U')) => {
                let number = digits(&mut chars, String::new(), if length == 'u' { 4 } else { 8 }, 16);
                text.push(number.and_then(char::from_u32).unwrap_or(UNKNOWN_SPAN));
            }
            Some(other) => text.push(other),
        }
    }
    decode(&mut bytes, &mut text);
    text
}

/// A number of at most `most` digits, of which some are read already.
fn digits(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    mut digits: String,
    most: usize,
    radix: u32,
) -> Option<u32> {
    while digits.len() < most && chars.peek().is_some_and(|c| c.is_digit(radix)) {
        digits.extend(chars.next());
    }
    u32::from_str_radix(&digits, radix).ok()
}

/// Appends bytes as UTF-8.
fn decode(bytes: &mut Vec<Option<u8>>, text: &mut String) {
    let run: Option<Vec<u8>> = std::mem::take(bytes).into_iter().collect();
    match run.map(String::from_utf8) {
        Some(Ok(run)) => text.push_str(&run),
        Some(Err(_)) | None => text.push(UNKNOWN_SPAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_bytes_are_utf8_or_unknown() {
        for (raw, text) in [
            (r"a\x62c", "abc"),
            (r"\303\274ber", "\u{fc}ber"),
            (r"\xc3\xbcber", "\u{fc}ber"),
            (r"\u00fcber\n", "\u{fc}ber\n"),
            (r"\141\'\\", "a'\\"),
            (r"\501", "A"),
            (r"raw\xff0", "raw\u{fffc}0"),
            (r"\xc3", "\u{fffc}"),
            (r"\x", "\u{fffc}"),
            (r"end\", "end"),
        ] {
            assert_eq!(ansi_c(raw), text.replace('\u{fffc}', &UNKNOWN_SPAN.to_string()), "{raw}");
        }
    }
}
