//! Words and values in texts: what occurs where.

use std::collections::BTreeSet;
use std::ops::Range;

/// Words of a name or a text, lower case, in one piece of memory: `sendDirectMessage`, `send_direct-message` and
/// `send direct message` agree.
#[derive(Debug)]
pub(super) struct Words {
    lower: String,
    places: Vec<Range<usize>>,
}

impl Words {
    pub fn of(text: &str) -> Self {
        if text.is_ascii() {
            let places = places(text.bytes().enumerate().map(|(at, byte)| (at..at + 1, ascii(byte))), text.len());
            return Self { lower: text.to_ascii_lowercase(), places };
        }
        let mut lower = String::with_capacity(text.len());
        let letters = text.chars().map(|c| {
            let begin = lower.len();
            lower.extend(c.to_lowercase());
            (begin..lower.len(), class(c))
        });
        let places = places(letters, text.len());
        Self { lower, places }
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.places.iter().filter_map(|place| self.lower.get(place.clone()))
    }

    /// How many different stems there are, and how many of them are wanted; nothing where none is.
    pub fn overlap(&self, wanted: &BTreeSet<String>) -> (usize, usize) {
        if !self.iter().any(|word| wanted.contains(stem(word))) {
            return (0, 0);
        }
        let mut stems: Vec<&str> = self.iter().map(stem).collect();
        stems.sort_unstable();
        stems.dedup();
        (stems.len(), stems.iter().filter(|stem| wanted.contains(**stem)).count())
    }
}

/// What a character is to the words around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Outside,
    Lower,
    Upper,
    Number,
    /// A letter without case.
    Letter,
}

fn class(c: char) -> Class {
    match c {
        c if c.is_uppercase() => Class::Upper,
        c if c.is_lowercase() => Class::Lower,
        c if c.is_numeric() => Class::Number,
        c if c.is_alphanumeric() => Class::Letter,
        _ => Class::Outside,
    }
}

fn ascii(byte: u8) -> Class {
    match byte {
        b'A'..=b'Z' => Class::Upper,
        b'a'..=b'z' => Class::Lower,
        b'0'..=b'9' => Class::Number,
        _ => Class::Outside,
    }
}

/// Where the words are, of characters with their places. A capital begins one after a small letter or a number, and after a
/// capital where a small letter follows.
fn places(characters: impl Iterator<Item = (Range<usize>, Class)>, length: usize) -> Vec<Range<usize>> {
    let mut found = Vec::with_capacity(length / 4);
    let (mut open, mut previous): (Option<Range<usize>>, Class) = (None, Class::Outside);
    let mut characters = characters.peekable();
    while let Some((place, class)) = characters.next() {
        let hump = class == Class::Upper
            && match previous {
                Class::Lower | Class::Number => true,
                Class::Upper => characters.peek().is_some_and(|(_, next)| *next == Class::Lower),
                Class::Outside | Class::Letter => false,
            };
        if hump || class == Class::Outside {
            found.extend(open.take());
        }
        if class != Class::Outside {
            open = Some(open.map_or(place.start, |word| word.start)..place.end);
        }
        previous = class;
    }
    found.extend(open);
    found
}

/// Words of a name or a text, lower case: `sendDirectMessage`, `send_direct-message` and `send direct message` agree.
#[must_use]
pub fn words(name: &str) -> Vec<String> {
    Words::of(name).iter().map(str::to_owned).collect()
}

/// The word without the commonest English endings.
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

/// The stems of a text.
#[must_use]
pub fn stems(text: &str) -> BTreeSet<String> {
    Words::of(text).iter().map(|w| stem(w).to_owned()).collect()
}

/// Lower case, blanks made single: the form in which values are looked for.
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

/// Whether a value occurs in a text as a whole, not within a word. Both are [`plain`].
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

/// Names one thing and no other: an address, an account, a path, a number of some length. Not a date.
#[must_use]
pub fn identifying(value: &str) -> bool {
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

/// More than a few words are a text, not a name.
fn sentence(value: &str) -> bool {
    value.split_whitespace().nth(3).is_some()
}

/// Every word of a name stands in the text: `amy.watson@example.com` where the text speaks of Amy Watson.
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
    fn values_are_found_whole_or_not_at_all() {
        assert!(holds("send it to al@x.org now", "al@x.org"));
        assert!(!holds("total 1300", "130") && !holds("xal@x.org", "al@x.org"));
        assert!(holds("(5)", "5") && !holds("", "a") && !holds("a", ""));
    }

    #[test]
    fn what_names_one_thing_is_told_from_amounts_and_dates() {
        for value in ["al@x.org", "/etc/hosts", "de89370400440532013000", "www.x.org", "id-7", "4005551234", "a.txt"] {
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
    fn an_address_may_be_spoken_of_by_name() {
        assert!(
            named("what does jo smith's calendar say", "jo.smith@example.com") || !named("", "jo.smith@example.com")
        );
        assert!(named("ask anna weber about it", "anna.weber@mail.com"));
        assert!(!named("ask anna about it", "anna.weber@mail.com"));
    }
}
