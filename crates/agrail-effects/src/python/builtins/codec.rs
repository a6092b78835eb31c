//! Decoders: hexadecimal, base64 and the codecs of `str.encode` and `bytes.decode`.

use crate::python::calls::Args;
use crate::python::values::{self, UNKNOWN_SPAN, Value, text};

/// Decodes by the functions of `base64`, `binascii` and `codecs`.
pub(super) fn decode(name: &str, first: &Value, args: &Args) -> Option<Value> {
    Some(match name {
        "bytes.fromhex" | "bytearray.fromhex" | "binascii.unhexlify" | "binascii.a2b_hex" | "base64.b16decode" => {
            unhex(&first.show())
        }
        "base64.b64decode"
        | "base64.standard_b64decode"
        | "base64.urlsafe_b64decode"
        | "binascii.a2b_base64"
        | "base64.decodebytes" => base64(first),
        "base64.b32decode" => bits(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5),
        "codecs.decode" | "codecs.encode" => recode(first, &args.get(1, "encoding").unwrap_or(Value::None).show()),
        _ => return None,
    })
}

pub(super) fn recode(v: &Value, codec: &str) -> Value {
    match codec.to_lowercase().replace(['-', '_'], "").as_str() {
        "rot13" => text(
            v.show()
                .chars()
                .map(|c| {
                    let turn = |base: u8| char::from((c as u8 - base + 13) % 26 + base);
                    match c {
                        'a'..='z' => turn(b'a'),
                        'A'..='Z' => turn(b'A'),
                        c => c,
                    }
                })
                .collect::<String>(),
        ),
        "hex" | "hexcodec" => unhex(&v.show()),
        "base64" | "base64codec" => base64(v),
        "unicodeescape" | "utf16" | "utf32" | "utf7" | "zlib" | "bz2" | "rawunicodeescape" | "idna" | "punycode"
        | "cp037" | "cp500" => values::hole_text(),
        _ if v.is_text() => text(v.show()),
        _ => Value::Hole,
    }
}

fn unhex(t: &str) -> Value {
    let digits: Vec<u8> = t
        .chars()
        .filter(|c| !c.is_whitespace())
        .map_while(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
        .collect();
    if t.contains(UNKNOWN_SPAN) || digits.len() % 2 == 1 {
        return Value::Hole;
    }
    Value::Bytes(digits.chunks(2).filter_map(|p| Some(p.first()? * 16 + p.get(1)?)).collect())
}

fn base64(v: &Value) -> Value {
    let standard = text(v.show().replace('-', "+").replace('_', "/"));
    bits(&standard, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6)
}

fn bits(v: &Value, alphabet: &str, width: u32) -> Value {
    let t = v.show();
    if t.contains(UNKNOWN_SPAN) {
        return Value::Hole;
    }
    let (mut out, mut held, mut count) = (vec![], 0u32, 0);
    for c in t.chars().take_while(|c| *c != '=') {
        let Some(digit) = alphabet.chars().position(|a| a == c).and_then(|d| u32::try_from(d).ok()) else { continue };
        held = (held << width | digit) & 0xffff;
        count += width;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(held >> count & 0xff).unwrap_or(0));
        }
    }
    Value::Bytes(out.into())
}
