//! Words and values in texts, and where they occur.

pub use agrail_effects::words::{Words, words};
use std::collections::BTreeSet;

/// A word without the most common English endings; at least three bytes of it remain.
#[must_use]
pub fn stem(word: &str) -> &str {
    for ending in ["ing", "ies", "es", "ed", "s", "e"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
        {
            return stem;
        }
    }
    word
}

/// The stems of the words of a text.
#[must_use]
pub fn stems(text: &str) -> BTreeSet<String> {
    Words::of(text).iter().map(|w| stem(w).to_owned()).collect()
}

/// The number of different stems, and how many of them are wanted; (0, 0) if none is.
pub(super) fn overlap(words: &Words, wanted: &BTreeSet<String>) -> (usize, usize) {
    if !words.iter().any(|word| wanted.contains(stem(word))) {
        return (0, 0);
    }
    let mut stems: Vec<&str> = words.iter().map(stem).collect();
    stems.sort_unstable();
    stems.dedup();
    (stems.len(), stems.iter().filter(|stem| wanted.contains(**stem)).count())
}

/// A text in lower case with single spaces: the form in which values are searched for.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        if word.is_ascii() {
            let begin = plain.len();
            plain.push_str(word);
            plain.get_mut(begin..).into_iter().for_each(str::make_ascii_lowercase);
        } else {
            plain.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
    plain
}

/// Whether `part` occurs in `text` without a gap, both as words.
pub(super) fn within(text: &[String], part: &[String]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// Whether a value occurs in a text as a whole and not as part of a word. Both are in [`plain`] form.
#[must_use]
pub fn holds(text: &str, value: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !value.is_empty()
        && text.match_indices(value).any(|(at, _)| {
            let before = text.get(..at).and_then(|t| t.chars().next_back());
            let after = text.get(at + value.len()..).and_then(|t| t.chars().next());
            let open = letter(value.chars().next()) && letter(before);
            let close = letter(value.chars().next_back()) && letter(after);
            !open && !close
        })
}

/// Whether a value identifies one thing: an address, an account, a path, a number of at least five digits. Dates, times
/// and amounts do not.
#[must_use]
pub fn identifying(value: &str) -> bool {
    if value.parse::<std::net::IpAddr>().is_ok_and(|address| !address.is_loopback() && !address.is_unspecified()) {
        return true;
    }
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let number = value.chars().all(|c| c.is_ascii_digit() || ".,-:/ ".contains(c));
    if number {
        // a short number is an amount, a date or a time
        let date = value.matches(['-', '/', ':']).count() >= 1 && digits <= 14;
        return digits >= 5 && !date && !value.contains('.');
    }
    let timestamp = digits >= 8 && value.chars().all(|c| c.is_ascii_digit() || "-:tz .+".contains(c));
    value.chars().count() >= 3 && !timestamp && (digits > 0 || value.contains(['@', '/', '.'])) && !sentence(value)
}

/// Whether a value has more than three words: then it is a text, not a name. An account is written in groups of digits.
fn sentence(value: &str) -> bool {
    value.split_whitespace().nth(3).is_some() && !super::rival::is_account(value)
}

/// Whether every word of a name occurs in the text: `amy.watson@example.com` if the text mentions Amy Watson.
#[must_use]
pub fn named(text: &str, value: &str) -> bool {
    const COMMON: [&str; 9] = ["com", "org", "net", "www", "http", "https", "mail", "gmail", "email"];
    let parts = words(value);
    let mut own = parts
        .iter()
        .filter(|w| w.len() >= 3 && w.chars().all(char::is_alphabetic) && !COMMON.contains(&w.as_str()))
        .peekable();
    own.peek().is_some() && own.all(|w| holds(text, w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        assert_eq!(words("getHTTPStatus2_of-user"), ["get", "http", "status2", "of", "user"]);
        assert_eq!(words("FooBarReadAll"), ["foo", "bar", "read", "all"]);
        assert_eq!(stem("listing"), "list");
    }

    #[test]
    fn values_are_found_only_as_whole_words() {
        assert!(holds("send it to al@x.org now", "al@x.org"));
        assert!(!holds("total 1300", "130") && !holds("xal@x.org", "al@x.org"));
        assert!(holds("(5)", "5") && !holds("", "a") && !holds("a", ""));
    }

    #[test]
    fn identifiers_differ_from_amounts_and_dates() {
        for value in [
            "al@x.org",
            "/etc/hosts",
            "de89370400440532013000",
            "www.x.org",
            "id-7",
            "4005551234",
            "a.txt",
            "203.0.113.7",
        ] {
            assert!(identifying(value), "{value}");
        }
        for value in [
            "2024-05-15",
            "2024-05-15 10:00",
            "2022-02-28t14:00",
            "10:30",
            "12.5",
            "99",
            "hello",
            "see you at 5 in room 3",
        ] {
            assert!(!identifying(value), "{value}");
        }
    }

    #[test]
    fn address_may_be_mentioned_by_name() {
        assert!(
            named("what does jo smith's calendar say", "jo.smith@example.com") || !named("", "jo.smith@example.com")
        );
        assert!(named("ask anna weber about it", "anna.weber@mail.com"));
        assert!(!named("ask anna about it", "anna.weber@mail.com"));
    }
}
