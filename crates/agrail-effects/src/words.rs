//! Splits names and texts into words.

use std::ops::Range;

/// The words of a name or a text in lower case, in one allocation: `sendDirectMessage`, `send_direct-message` and `send
/// direct message` give the same words.
#[derive(Debug)]
pub struct Words {
    lower: String,
    places: Vec<Range<usize>>,
}

impl Words {
    /// The words of a text.
    #[must_use]
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

    /// The words in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.places.iter().filter_map(|place| self.lower.get(place.clone()))
    }
}

/// The words of a name or a text in lower case: `sendDirectMessage`, `send_direct-message` and `send direct message`
/// give the same words.
#[must_use]
pub fn words(name: &str) -> Vec<String> {
    Words::of(name).iter().map(str::to_owned).collect()
}

/// The class of a character, for finding word boundaries.
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

/// The byte ranges of the words in a sequence of characters with their ranges. A capital begins a word after a
/// lower-case letter or a number, and after another capital if a lower-case letter follows.
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
