//! String and number literals, and formatting.

use super::statements::{field, named};
use super::values::{self, UNKNOWN_SPAN, Value, binary, either, lift, text};
use super::{Reader, Source};
use crate::tree::Node;
use std::rc::Rc;

impl Reader<'_> {
    pub(super) fn string(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let mut out = Value::Text("".into());
        let mut prefix = String::new();
        for part in named(node) {
            let piece = match part.kind() {
                "string_start" => {
                    prefix = src.of(part).trim_end_matches(['"', '\'']).to_ascii_lowercase();
                    continue;
                }
                "string_content" => {
                    let raw = src.of(part);
                    let raw =
                        if prefix.contains('f') { raw.replace("{{", "{").replace("}}", "}") } else { raw.to_string() };
                    text(if prefix.contains('r') { raw } else { unescape(&raw) })
                }
                "interpolation" => {
                    let value = field(part, "expression").map_or(Value::Hole, |e| self.expr(src, e));
                    self.every_column(&value, "f-string");
                    let spec = field(part, "format_specifier").map(|s| src.of(s).trim_start_matches(':').to_string());
                    value
                        .choices()
                        .iter()
                        .map(|v| text(format_value(v, spec.as_deref().unwrap_or_default())))
                        .reduce(either)
                        .unwrap_or(Value::Hole)
                }
                _ => continue,
            };
            out = lift(&out, &piece, |a, b| binary("+", a, b));
        }
        match out {
            Value::Text(t) if prefix.contains('b') => Value::Bytes(
                t.chars()
                    .flat_map(|c| match u8::try_from(u32::from(c)) {
                        Ok(b) => vec![b],
                        Err(_) => c.to_string().into_bytes(),
                    })
                    .collect(),
            ),
            v => v,
        }
    }
}

pub(super) fn integer(digits: &str) -> Value {
    let digits = digits.replace('_', "").to_ascii_lowercase();
    let digits = digits.trim_end_matches('l');
    let radix = |p: &str, r| digits.strip_prefix(p).and_then(|d| i128::from_str_radix(d, r).ok());
    let octal = digits
        .strip_prefix('0')
        .filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|d| i128::from_str_radix(d, 8).ok());
    radix("0x", 16)
        .or_else(|| radix("0o", 8))
        .or_else(|| radix("0b", 2))
        .or(octal)
        .or_else(|| digits.parse().ok())
        .map_or(Value::Local, Value::Int)
}

/// `format(value, spec)` for simple format specifications.
pub(super) fn format_value(value: &Value, spec: &str) -> String {
    if spec.is_empty() {
        return value.show();
    }
    let (zero, rest) = spec.strip_prefix('0').map_or((false, spec), |r| (true, r));
    let kind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let width = rest.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
    let Some(n) = value.int().filter(|_| width < 64) else {
        return if spec == "s" { value.show() } else { UNKNOWN_SPAN.into() };
    };
    let digits = match kind {
        "" | "d" => n.to_string(),
        "x" => format!("{n:x}"),
        "X" => format!("{n:X}"),
        "o" => format!("{n:o}"),
        "b" => format!("{n:b}"),
        "c" => return values::chr(value).show(),
        _ => return UNKNOWN_SPAN.into(),
    };
    if zero { format!("{digits:0>width$}") } else { format!("{digits:>width$}") }
}

/// Resolves the escape sequences of a string literal.
pub(super) fn unescape(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let mut chars = rest.get(at + 1..).unwrap_or_default().chars();
        let code = |chars: &std::str::Chars<'_>, radix, max| {
            let digits: String = chars.as_str().chars().take_while(|c| c.is_digit(radix)).take(max).collect();
            (u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32), digits.len())
        };
        let (c, used) = match chars.clone().next() {
            Some('n') => (Some('\n'), 1),
            Some('t') => (Some('\t'), 1),
            Some('r') => (Some('\r'), 1),
            Some('a') => (Some('\x07'), 1),
            Some('b') => (Some('\x08'), 1),
            Some('f') => (Some('\x0c'), 1),
            Some('v') => (Some('\x0b'), 1),
            Some('\n') => (None, 1),
            Some('0'..='7') => code(&chars, 8, 3),
            Some(k @ ('x' | 'u' | 'U')) => {
                chars.next();
                let (c, n) = code(
                    &chars,
                    16,
                    match k {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    },
                );
                (c.or(Some(UNKNOWN_SPAN)), n + 1)
            }
            Some('N') => (Some(UNKNOWN_SPAN), 1),
            Some(c @ ('\\' | '\'' | '"')) => (Some(c), 1),
            _ => (Some('\\'), 0),
        };
        out.extend(c);
        rest = rest.get(at + 1 + used..).unwrap_or_default();
    }
    out + rest
}
