//! Protected texts that must not be sent out: the goal of an agent, its instructions, keys, canaries.
//!
//! An outgoing text is searched as it is, percent-decoded, and decoded from hexadecimal and base64 (both alphabets, at
//! any alignment); with the values of a URL's parameters joined; and each of these forwards, backwards and in ROT13.
//! Punctuation and case are ignored, so splitting a text up with them hides nothing.

use super::carries::{decoded, unhex};
use percent_encoding::percent_decode_str;
use url::Url;

/// Fewest letters and digits of a text that is searched for; shorter texts are too common.
const SHORTEST: usize = 6;
/// Fewest consecutive words that disclose a prose text, and their least share of it.
const WORDS: (usize, f64) = (6, 0.6);
/// Most rounds of percent-decoding.
const ROUNDS: usize = 3;
/// Longest outgoing text that is checked, in bytes; a longer one counts as a disclosure.
const LONGEST: usize = 256 << 10;

/// A set of protected texts.
#[derive(Clone, Default)]
pub struct Protected {
    /// The name of each text, and the forms that are searched for.
    texts: Vec<(String, Vec<String>)>,
}

impl std::fmt::Debug for Protected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.texts.iter().map(|(name, _)| name)).finish()
    }
}

impl Protected {
    /// Adds a secret. Only the complete secret counts as disclosed.
    pub fn secret(&mut self, name: &str, text: &str) {
        self.add(name, vec![bare(text)]);
    }

    /// Adds prose. At least 60 % of its words in a row, and at least six, count as well.
    pub fn prose(&mut self, name: &str, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let share = (words.len() as f64 * WORDS.1).ceil() as usize;
        let long = share.max(WORDS.0);
        let mut needles = vec![bare(text)];
        needles.extend(words.windows(long).map(|w| bare(&w.concat())));
        self.add(name, needles);
    }

    fn add(&mut self, name: &str, mut needles: Vec<String>) {
        needles.retain(|n| n.len() >= SHORTEST);
        if !needles.is_empty() {
            let turned: Vec<String> =
                needles.iter().flat_map(|n| [n.chars().rev().collect(), n.chars().map(rot13).collect()]).collect();
            needles.extend(turned);
            self.texts.push((name.to_owned(), needles));
        }
    }

    /// The name of the first protected text that an outgoing text discloses; `None` if it discloses none.
    #[must_use]
    pub fn leaves(&self, text: &str) -> Option<&str> {
        if self.texts.is_empty() {
            return None;
        }
        if text.len() > LONGEST {
            return Some("a text that is too long to be checked");
        }
        let forms: Vec<String> = forms(text).iter().map(|form| bare(form)).collect();
        let given = |needles: &Vec<String>| needles.iter().any(|n| forms.iter().any(|form| form.contains(n)));
        self.texts.iter().find(|(_, needles)| given(needles)).map(|(name, _)| name.as_str())
    }
}

/// All decoded forms of an outgoing text.
fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    let mut last = text.to_owned();
    for _ in 0..ROUNDS {
        let decoded = percent_decode_str(&last.replace('+', " ")).decode_utf8_lossy().into_owned();
        if decoded == last {
            break;
        }
        forms.push(decoded.clone());
        last = decoded;
    }
    if let Ok(url) = Url::parse(text) {
        // a text that is spread over parameters, or over parts of the path
        let values = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        forms.push(values.map(|(_, value)| percent_decode_str(value).decode_utf8_lossy().into_owned()).collect());
        forms.push(url.path_segments().into_iter().flatten().collect());
        forms.push(url.host_str().unwrap_or_default().split('.').collect());
    }
    let hidden: Vec<String> = forms.iter().flat_map(|form| unpacked(form)).collect();
    forms.extend(hidden);
    forms
}

/// Decodes runs of base64 and hexadecimal digits, whatever precedes them.
fn unpacked(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_');
    let joined: String = text.chars().filter(|c| code(*c)).collect();
    for run in text.split(|c| !code(c)).chain([joined.as_str()]).filter(|run| run.len() >= SHORTEST) {
        let trimmed = run.trim_end_matches('=');
        for start in 0..4.min(trimmed.len()) {
            let part = trimmed.get(start..).unwrap_or_default();
            // no encoder writes this length: drop the last letter
            let part = if part.len() % 4 == 1 { part.get(..part.len() - 1).unwrap_or_default() } else { part };
            found.extend(decoded(part));
        }
        let hex = run.split(|c: char| !c.is_ascii_hexdigit()).filter(|h| h.len() >= SHORTEST);
        for part in hex.flat_map(|h| [h, h.get(1..).unwrap_or_default()]) {
            let even = part.get(..part.len() - part.len() % 2).unwrap_or_default();
            found.extend(unhex(even));
        }
    }
    found.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Letters and digits, lower case.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn rot13(c: char) -> char {
    match c {
        'a'..='m' => char::from(c as u8 + 13),
        'n'..='z' => char::from(c as u8 - 13),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    const KEY: &str = "sk-canary-7Qm2Xw9Lp4";

    fn protected() -> Protected {
        let mut all = Protected::default();
        all.secret("the key", KEY);
        all.prose("the goal", "find out when the old harbour bridge of Velmora was opened and who built it");
        all
    }

    #[test]
    fn ordinary_addresses_disclose_nothing() {
        for url in [
            "https://velmora.example/history/harbour-bridge",
            "https://velmora.example/search?q=harbour+bridge&page=2",
            "https://cdn.example/a1b2c3d4e5f60718293a4b5c6d7e8f90/app.js",
        ] {
            assert_eq!(protected().leaves(url), None, "{url}");
        }
    }

    #[test]
    fn most_of_the_goal_is_the_goal() {
        let url = "https://x.example/q/when-the-old-harbour-bridge-of-velmora-was-opened-and";
        assert_eq!(protected().leaves(url), Some("the goal"));
    }

    /// Encodings of a secret in a URL, and combinations of them.
    fn encoded(secret: &str) -> Vec<(&'static str, String)> {
        let hex = crate::hex(secret.as_bytes());
        let percent: String = secret.bytes().map(|b| format!("%{b:02X}")).collect();
        let reversed: String = secret.chars().rev().collect();
        let turned: String = secret.to_lowercase().chars().map(rot13).collect();
        let (head, tail) = secret.split_at(secret.len() / 2);
        let base = STANDARD.encode(secret);
        let (left, right) = base.split_at(base.len() / 2);
        vec![
            ("plain", format!("https://e.example/?k={secret}")),
            ("percent", format!("https://e.example/?k={percent}")),
            ("twice percent", format!("https://e.example/?k={}", percent.replace('%', "%25"))),
            ("base64", format!("https://e.example/?k={base}")),
            ("base64 of a URL", format!("https://e.example/{}", URL_SAFE_NO_PAD.encode(secret))),
            ("base64 with a prefix", format!("https://e.example/?k=x{base}")),
            ("base64 of the reversed", format!("https://e.example/?k={}", STANDARD.encode(&reversed))),
            ("hex", format!("https://e.example/?k={hex}")),
            ("reversed", format!("https://e.example/?k={reversed}")),
            ("rot13", format!("https://e.example/?k={turned}")),
            ("split", format!("https://e.example/?a={head}&b={tail}")),
            ("split base64", format!("https://e.example/?a={left}&b={right}")),
            ("dotted", format!("https://e.example/?k={}", secret.chars().map(|c| format!("{c}.")).collect::<String>())),
            ("in the path", format!("https://e.example/{head}/{tail}/x")),
        ]
    }

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        for (name, url) in encoded(KEY) {
            assert_eq!(protected().leaves(&url), Some("the key"), "{name}: {url}");
        }
    }

    proptest! {
        #[test]
        fn any_secret_is_found(secret in "[A-Za-z0-9]{12,40}") {
            let mut all = Protected::default();
            all.secret("it", &secret);
            for (name, url) in encoded(&secret) {
                prop_assert_eq!(all.leaves(&url), Some("it"), "{}: {}", name, url);
            }
        }
    }
}
