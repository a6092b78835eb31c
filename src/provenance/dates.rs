//! Days in texts, in the notations of requests, letters and arguments.
//!
//! Limits: names of months are English; a day that is only relative ("tomorrow") is none.

use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The beginnings of the names of months.
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A month and a day of it, from 1.
pub(super) type Day = (u32, u32);

static DAY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)
        \b\d{4}-(?<m1>\d{1,2})-(?<d1>\d{1,2})(?:\b|t\d)
        | \b(?<a2>\d{1,2})[./](?<b2>\d{1,2})[./]\d{2,4}\b
        | \b(?<n3>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\ (?:the\ )?(?<d3>\d{1,2})(?:st|nd|rd|th)?\b
          (?:\ ?(?:-|–|to|until|and|or)\ ?(?:the\ )?(?<e3>\d{1,2})(?:st|nd|rd|th)?\b)?
        | (?:\b(?<e4>\d{1,2})(?:st|nd|rd|th|\.)?\ ?(?:-|–|to|until|and|or)\ ?(?:the\ )?)?
          \b(?<d4>\d{1,2})(?:st|nd|rd|th|\.)?\ (?:of\ )?(?<n4>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b
        ",
    )
    .ok()
});

/// The days that a text names; of `3/4/2025`, both readings.
pub(super) fn days(text: &str) -> BTreeSet<Day> {
    let mut found = BTreeSet::new();
    for one in DAY.as_ref().into_iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let number = |name: &str| one.name(name).and_then(|part| part.as_str().parse::<u32>().ok());
        let month = |name: &str| {
            let begin = one.name(name)?.as_str().to_ascii_lowercase();
            (1..).zip(MONTHS).find(|(_, month)| *month == begin).map(|(at, _)| at)
        };
        let pairs = [
            (number("m1"), number("d1")),
            (number("a2"), number("b2")),
            (number("b2"), number("a2")),
            (month("n3"), number("d3")),
            (month("n3"), number("e3")),
            (month("n4"), number("d4")),
            (month("n4"), number("e4")),
        ];
        let whole = pairs.into_iter().filter_map(|(month, day)| month.zip(day));
        found.extend(whole.filter(|(month, day)| (1..=12).contains(month) && (1..=31).contains(day)));
    }
    found
}

/// A day in words.
pub(super) fn in_words((month, day): Day) -> String {
    let names = "January February March April May June July August September October November December";
    let name = names.split(' ').nth(month.saturating_sub(1) as usize).unwrap_or_default();
    format!("{name} {day}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_in_their_notations() {
        for (text, expected) in [
            ("on 2024-05-01 09:00", vec![(5, 1)]),
            ("2024-05-01t09:00", vec![(5, 1)]),
            ("May 1st, 2024, and on the 14th of November", vec![(5, 1), (11, 14)]),
            ("from the 1st to the 5th of May 2024", vec![(5, 1), (5, 5)]),
            ("March 3 - 7, or 8 Sept", vec![(3, 3), (3, 7), (9, 8)]),
            ("am 24.12.2025", vec![(12, 24)]),
            ("3/4/2025", vec![(3, 4), (4, 3)]),
            ("it may 5 times; version 1.2.3; 10 marks", vec![(5, 5)]),
            ("99/99/2024, June 45", vec![]),
        ] {
            let found: Vec<Day> = days(text).into_iter().collect();
            assert!(expected.iter().all(|day| found.contains(day)), "{text}: {found:?}");
            assert!(found.len() <= expected.len() + 1, "{text}: {found:?}");
        }
        assert_eq!(in_words((5, 1)), "May 1");
    }
}
