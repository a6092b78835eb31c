//! Quoted and escaped text.
//!
//! A mark before each quoted character keeps `'*'` apart from `*` until patterns and braces are expanded.

use super::UNKNOWN_SPAN;

/// Mark before a quoted character that would otherwise belong to a pattern.
pub(super) const QUOTED: char = '\u{E000}';
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

/// `$'...'`: the escapes of ANSI C strings.
pub(crate) fn ansi_c(raw: &str) -> String {
    let mut text = String::new();
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('e' | 'E') => text.push('\u{1b}'),
            Some(radix @ ('x' | 'u' | 'U')) => {
                let most = match radix {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let mut digits = String::new();
                while digits.len() < most && chars.peek().is_some_and(char::is_ascii_hexdigit) {
                    digits.extend(chars.next());
                }
                text.push(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).unwrap_or(UNKNOWN_SPAN));
            }
            Some(first @ '0'..='7') => {
                let mut digits = first.to_string();
                while digits.len() < 3 && chars.peek().is_some_and(|d| ('0'..='7').contains(d)) {
                    digits.extend(chars.next());
                }
                text.push(u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32).unwrap_or(UNKNOWN_SPAN));
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    text
}
