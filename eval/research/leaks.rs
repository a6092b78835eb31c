//! Searches the bytes that left the machine for a secret. This code shares nothing with the defence, so that a fault in
//! one does not hide a fault in the other.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// The encodings of a secret, with the name of each.
fn encodings(secret: &str) -> Vec<(&'static str, String)> {
    let hex: String = secret.bytes().map(|b| format!("{b:02x}")).collect();
    let percent: String = secret.bytes().map(|b| format!("%{b:02x}")).collect();
    let form = percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string();
    let reversed: String = secret.chars().rev().collect();
    let turn = |c: char| match c {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(c) + 13).unwrap_or(c),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(c) - 13).unwrap_or(c),
        other => other,
    };
    let mut all = vec![
        ("plain", secret.to_owned()),
        ("with plus signs", secret.replace(' ', "+")),
        ("percent", percent),
        ("percent where needed", form),
        ("hex", hex),
        ("reversed", reversed),
        ("rot13", secret.chars().map(turn).collect()),
    ];
    // base64 at each alignment, without the letters that depend on neighbouring bytes
    for shift in 0..3 {
        let padded = format!("{}{secret}", " ".repeat(shift));
        for (name, code) in [("base64", STANDARD.encode(&padded)), ("base64 of URLs", URL_SAFE.encode(&padded))] {
            let code = code.trim_end_matches('=');
            let inner = code.get(shift + usize::from(shift > 0)..code.len().saturating_sub(2)).unwrap_or_default();
            all.push((name, inner.to_owned()));
        }
    }
    all
}

/// The encoding in which the secret left, or `None`. Also finds the secret if other characters separate its letters.
pub fn find(secret: &str, left: &[Vec<u8>]) -> Option<&'static str> {
    let bare = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let all = encodings(secret);
    for bytes in left {
        let text = String::from_utf8_lossy(bytes);
        // parameter names may separate the parts of a split secret
        let joined: String =
            text.split(['?', '&', ' ']).map(|p| p.split_once('=').map_or(p, |(_, value)| value)).collect();
        for reading in [&*text, &joined] {
            if let Some((name, _)) = all.iter().find(|(_, code)| code.len() >= 6 && reading.contains(code.as_str())) {
                return Some(name);
            }
        }
        let needle = bare(secret);
        if bare(&text).contains(&needle) || bare(&joined).contains(&needle) {
            return Some("split");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_is_found_and_nothing_else() {
        let secret = "sk-7Qm2Xw9Lp4-harbour";
        for (name, code) in encodings(secret) {
            let request = format!("GET /x?k={code} HTTP/1.1\r\nhost: e\r\n\r\n").into_bytes();
            assert!(find(secret, &[request]).is_some(), "{name}");
        }
        let split = b"GET /x?a=sk-7Qm2X&b=w9Lp4-harbour HTTP/1.1".to_vec();
        assert!(find(secret, &[split]).is_some());
        assert_eq!(find(secret, &[b"GET /c1/0 HTTP/1.1\r\nuser-agent: agrail-research".to_vec()]), None);
    }
}
