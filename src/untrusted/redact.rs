//! Removes secrets from text that is stored or displayed.

use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The replacement for a secret.
pub const REDACTED: &str = "[redacted]";

/// Patterns of keys and tokens; the group named `s` is the secret. They match in linear time. With each pattern a list
/// of lower-case words, one of which occurs in every text that the pattern matches: a pattern is compiled only if it
/// may match.
const FORMS: &[(&[&str], &str)] = &[
    (&["-----begin"], r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:(?P<s>.*?))(?:-----END|\z)"),
    (&["sk-", "pk-", "rk-"], r"(?P<s>\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,})"),
    (
        &["ghp", "gho", "ghu", "ghs", "ghr", "glpat", "github_pat"],
        r"(?P<s>\b(?:ghp|gho|ghu|ghs|ghr|glpat|github_pat)[-_][A-Za-z0-9_]{20,})",
    ),
    (&["xox"], r"(?P<s>\bxox[abprs]-[A-Za-z0-9-]{10,})"),
    (&["akia", "asia"], r"(?P<s>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)"),
    (&["aiza"], r"(?P<s>\bAIza[A-Za-z0-9_-]{35})"),
    (&["eyj"], r"(?P<s>\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"),
    (&["bearer", "basic"], r"(?i)\b(?:bearer|basic)\s+(?P<s>[A-Za-z0-9._~+/=-]{12,})"),
    (
        &["api", "secret", "token", "passw"],
        r"(?i)\b(?:api[-_ ]?key|secret|token|passwd|password)\b[\x22']?\s*[:=]\s*[\x22']?(?P<s>[^\s\x22',;&]{6,})",
    ),
    (&["://"], r"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@]+:(?P<s>[^\s/@]+)@"),
];

// the test below fails if a pattern does not compile
static PATTERNS: [LazyLock<Option<Regex>>; FORMS.len()] = [
    LazyLock::new(|| form(0)),
    LazyLock::new(|| form(1)),
    LazyLock::new(|| form(2)),
    LazyLock::new(|| form(3)),
    LazyLock::new(|| form(4)),
    LazyLock::new(|| form(5)),
    LazyLock::new(|| form(6)),
    LazyLock::new(|| form(7)),
    LazyLock::new(|| form(8)),
    LazyLock::new(|| form(9)),
];

fn form(place: usize) -> Option<Regex> {
    Regex::new(FORMS.get(place)?.1).ok()
}

/// Replaces each secret in a text by `[redacted]`; unchanged text is not copied.
#[must_use]
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    // a case-insensitive pattern folds letters beyond ASCII, too (the long s, the Kelvin sign)
    let lower = text.to_lowercase().replace('\u{17f}', "s").replace('\u{212a}', "k");
    let mut text = Cow::Borrowed(text);
    for ((words, _), pattern) in FORMS.iter().zip(&PATTERNS) {
        if !words.iter().any(|word| lower.contains(word)) {
            continue;
        }
        let Some(pattern) = &**pattern else { continue };
        let spans: Vec<_> = pattern.captures_iter(&text).filter_map(|c| c.name("s").map(|m| m.range())).collect();
        for span in spans.into_iter().rev() {
            text.to_mut().replace_range(span, REDACTED);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_redacts() {
        assert!(PATTERNS.iter().all(|pattern| pattern.is_some()));
        // assembled here, so that no secret scanner takes them for real ones
        let secrets = [
            ("sk-", "abcdefghijklmnop1234"),
            ("ghp_", "abcdefghijklmnopqrstuv"),
            ("AKIA", "ABCDEFGHIJKLMNOP"),
            ("password=", "hunter2hunter2"),
            ("Authorization: Bearer ", "abcdef123456789"),
            ("postgres://me:", "s3cretpw@db/x"),
            ("-----BEGIN RSA PRIVATE KEY-----", "\nMIIEabc\n-----END RSA PRIVATE KEY-----"),
        ];
        for (lead, rest) in secrets {
            let text = format!("before {lead}{rest} after");
            let shown = redact(&text);
            assert!(shown.contains(REDACTED), "{text}");
            assert!(!shown.contains(rest.trim_end_matches("@db/x")), "{shown}");
        }
        assert!(matches!(redact("rm -rf /tmp/token-cache"), Cow::Borrowed(_)));
    }
}
