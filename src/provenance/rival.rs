//! Two candidates for one slot: another value of the same form.

use super::spans::{holds, words};
use regex::Regex;
use std::sync::LazyLock;

/// Longest identifier without a meaning of its own, in bytes.
const IDENTIFIER: usize = 16;
/// Words of slots for an account.
const ACCOUNTS: [&str; 7] = ["account", "acct", "bank", "iban", "routing", "sort", "wallet"];
/// Words of slots for a place, a person or a way to reach one.
const PLACES: [&str; 12] = [
    "address",
    "addressee",
    "contact",
    "deliver",
    "delivery",
    "destination",
    "fax",
    "location",
    "phone",
    "recipient",
    "ship",
    "shipping",
];
/// Words of tools and slots for an address to which something will be sent from then on.
pub(super) const REACHED: [&str; 7] = ["callback", "endpoint", "hook", "mirror", "relay", "webhook", "webhooks"];
/// Longest value that is shown, in characters.
const LONGEST: usize = 60;
/// Letters by which two names of fields are alike.
const ALIKE: usize = 5;

/// What kind of thing a value identifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Mail,
    /// The account of a bank.
    Account,
    Link,
    /// An identifier without a meaning of its own.
    Opaque,
    /// What stands in a slot for a place.
    Place,
}

impl Form {
    /// The form of a value; `None` if it does not decide who or what gets something. `slots`: the words of the name of each
    /// argument, with its value.
    pub fn of(value: &str, slots: &[(Vec<String>, String)]) -> Option<Self> {
        let slot = |names: &[&str]| {
            let is = |word: &String| names.contains(&word.as_str());
            slots.iter().any(|(key, own)| own == value && key.iter().any(is))
        };
        if value
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !value.contains(' '))
        {
            Some(Self::Mail)
        } else if is_wallet(value) || is_account(value) || is_number(value) && slot(&ACCOUNTS) {
            Some(Self::Account)
        } else if value.contains("://") {
            Some(if slot(&REACHED) { Self::Place } else { Self::Link })
        } else if is_opaque(value) {
            Some(Self::Opaque)
        } else {
            (value.len() >= 8 && slot(&PLACES)).then_some(Self::Place)
        }
    }

    /// Whether it is somebody who gets something.
    pub fn is_person(self) -> bool {
        matches!(self, Self::Mail | Self::Account)
    }

    /// Whether something is sent or brought there.
    pub fn is_reached(self) -> bool {
        self.is_person() || self == Self::Place
    }

    /// Whether a text has a value of this form. Both are in plain form.
    pub fn has(self, text: &str, value: &str) -> bool {
        holds(text, value) || self == Self::Account && joined(text).contains(&joined(value))
    }
}

/// Whether a value has the form of an account of a bank: a country, and many digits.
pub(super) fn is_account(value: &str) -> bool {
    let joined = joined(value);
    let digits = joined.bytes().filter(u8::is_ascii_digit).count();
    let begin = joined.bytes().take_while(u8::is_ascii_alphabetic).count();
    let checked = joined.bytes().skip(2).take(2).all(|b| b.is_ascii_digit());
    begin == 2
        && checked
        && digits >= 10
        && (14..=34).contains(&joined.len())
        && joined.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether a value has the form of an address of a digital currency.
fn is_wallet(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (26..=90).contains(&value.len())
        && digits >= 5
        && value.bytes().all(|b| b.is_ascii_alphanumeric())
        && !is_account(value)
}

/// Whether a value is a number of an account, without a country.
fn is_number(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    digits >= 6 && value.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b' ')
}

fn is_opaque(value: &str) -> bool {
    (4..=IDENTIFIER).contains(&value.len())
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// A text without the blanks within numbers.
fn joined(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '-' | '\u{a0}')).collect()
}

/// Another value of the same form in a text, both in plain form.
pub(super) fn rival(form: Form, text: &str, value: &str, slots: &[(Vec<String>, String)]) -> Option<String> {
    let parts = || {
        text.split(|c: char| c.is_whitespace() || "<>()[]{}'\",;|".contains(c))
            .map(|part| part.trim_end_matches(['.', ':', '!', '?']))
            .filter(|part| !part.is_empty() && *part != value)
    };
    match form {
        Form::Mail => parts()
            .map(|part| part.strip_prefix("mailto:").unwrap_or(part))
            .find(|part| *part != value && Form::of(part, &[]) == Some(Form::Mail) && !is_robot(part))
            .map(str::to_owned),
        Form::Account if is_account(value) => account(text, value),
        // of the same length, and of digits alone if it is
        Form::Account => {
            let own = joined(value);
            let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            let alike = |part: &String| {
                part.len() == own.len()
                    && *part != own
                    && digits(part) == digits(&own)
                    && (is_wallet(part) || is_number(part))
            };
            parts().map(joined).find(alike)
        }
        Form::Link => {
            let host = |part: &str| super::weight::host(part);
            let own = host(value);
            parts().find(|part| part.contains("://") && host(part) != own).map(str::to_owned)
        }
        Form::Opaque => parts().find(|part| is_opaque(part) && shape(part) == shape(value)).map(str::to_owned),
        Form::Place => place(text, value, slots),
    }
}

/// Whether nobody reads what is sent to an address.
fn is_robot(address: &str) -> bool {
    let name = address.split('@').next().unwrap_or_default();
    let robots = ["mailer", "notification", "notifications", "noreply", "donotreply", "notify"];
    let joined = words(name).concat();
    robots.iter().any(|robot| joined.contains(robot))
}

/// Letters before a mark or a number, and how long it is: `sd-4410` and `gp-7781` are alike.
fn shape(value: &str) -> (bool, usize, bool) {
    let letters = value.bytes().take_while(u8::is_ascii_alphabetic).count();
    (letters > 0, letters, value.contains(['-', '_']))
}

/// An account of a bank in a text, but not this one.
pub(super) fn account(text: &str, value: &str) -> Option<String> {
    let own = joined(value);
    let words: Vec<&str> = text.split_whitespace().collect();
    // an account is written in groups
    (0..words.len()).find_map(|from| {
        let first = words.get(from)?.trim_start_matches(|c: char| !c.is_alphanumeric());
        let number = words.get(from + 1).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()));
        let country = first.len() == 2 && first.bytes().all(|b| b.is_ascii_alphabetic()) && number;
        if !(country || first.bytes().any(|b| b.is_ascii_digit())) {
            return None;
        }
        let mut found = String::new();
        for word in std::iter::once(first).chain(words.iter().skip(from + 1).copied()).take(9) {
            let ends = word.ends_with([',', ';', '.', ')', '"', '\'']);
            let core = word.trim_matches(|c: char| !c.is_alphanumeric());
            // only the code of a bank has no digit
            let code = core.len() == 4 && found.len() == 4;
            if core.is_empty() || !core.bytes().any(|b| b.is_ascii_digit()) && !found.is_empty() && !code {
                break;
            }
            found.push_str(&joined(core));
            if ends {
                break;
            }
        }
        let lengthy = (14..=34).rev().filter_map(|end| found.get(..end.min(found.len())));
        let mut whole = lengthy.filter(|part| is_account(part));
        whole
            .next()
            .filter(|part| own.is_empty() || !part.starts_with(&own) && !own.starts_with(*part))
            .map(str::to_owned)
    })
}

/// The value of a field that is alike the slot in which a value stands.
fn place(text: &str, value: &str, slots: &[(Vec<String>, String)]) -> Option<String> {
    static FIELD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"\b([a-z][a-z_]{2,30}(?: [a-z_]{2,30})?)["']?\s*[:=]\s*["']?"#).ok());
    let alike = |a: &str, b: &str| a.len() >= ALIKE && b.len() >= ALIKE && a.get(..ALIKE) == b.get(..ALIKE);
    let keys: Vec<&String> = slots.iter().filter(|(_, own)| own == value).flat_map(|(key, _)| key).collect();
    let fields: Vec<regex::Captures<'_>> = FIELD.as_ref()?.captures_iter(text).collect();
    fields.iter().enumerate().find_map(|(at, found)| {
        let next = fields.get(at + 1).and_then(|next| next.get(0)).map_or(text.len(), |next| next.start());
        let other = text.get(found.get(0)?.end()..next)?.split(['"', '\'', '\n']).next()?.trim();
        let same = words(found.get(1)?.as_str()).iter().any(|word| keys.iter().any(|key| alike(key, word)));
        let differs = other.len() >= 4 && !holds(other, value) && !holds(value, other);
        (same && differs).then(|| other.chars().take(LONGEST).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_have_the_same_form() {
        let of = |text: &str, value: &str| rival(Form::of(value, &[]).unwrap_or(Form::Place), text, value, &[]);
        assert_eq!(of("pay to xx88 6000 7171 3300, soon", "xx31 1000 2222 0700").as_deref(), Some("xx88600071713300"));
        assert_eq!(of("pay to xx31 1000 2222 0700", "xx31 1000 2222 0700"), None);
        assert_eq!(of("from: eva <eva@b.example>", "eva@a.example").as_deref(), Some("eva@b.example"));
        assert_eq!(of("see https://b.example/x.", "https://a.example/y").as_deref(), Some("https://b.example/x"));
        assert_eq!(of("item sd-4410, wheat", "gp-77813").as_deref(), Some("sd-4410"));
        assert_eq!(of("on 2025-10-03", "gp-77813"), None);
        let slots = [(vec!["deliver".to_owned(), "to".to_owned()], "yard 3, brick road".to_owned())];
        let text = r#"{"name":"b ltd","delivery_address":"unit 6, harrow lane"#;
        assert_eq!(rival(Form::Place, text, "yard 3, brick road", &slots).as_deref(), Some("unit 6, harrow lane"));
        assert_eq!(
            rival(Form::Place, "delivery_address: yard 3, brick road, leeds", "yard 3, brick road", &slots),
            None
        );
    }

    #[test]
    fn accounts_have_a_country_and_many_digits() {
        assert!(is_account("de02 1203 0000 0000 2020 51") && is_account("gb33bukb20201555555555"));
        assert!(!is_account("2025-1-88342") && !is_account("inv-2025") && !is_account("see you at 5 in room 3"));
        assert!(crate::provenance::spans::identifying("de02 1203 0000 0000 2020 51"));
    }
}
