//! Brace expansion: `a{b,c}`, `{1..9}`.

use super::UNKNOWN_SPAN;
use super::quoting::QUOTED;
use super::word::MAX_FIELDS;

/// Expands the braces of one field: `a{b,c}` to two; a long range to [`UNKNOWN_SPAN`].
pub(super) fn braces(field: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut work = vec![field.to_owned()];
    while let Some(text) = work.pop() {
        if done.len() + work.len() > MAX_FIELDS {
            return vec![UNKNOWN_SPAN.to_string()];
        }
        match first_brace(&text) {
            Some((before, choices, after)) => {
                for choice in choices.iter().rev() {
                    work.push(format!("{before}{choice}{after}"));
                }
            }
            None => done.push(text),
        }
    }
    done
}

fn first_brace(text: &str) -> Option<(String, Vec<String>, String)> {
    let chars: Vec<char> = text.chars().collect();
    let plain = |i: usize| i == 0 || chars.get(i - 1) != Some(&QUOTED);
    let open = (0..chars.len())
        .find(|i| chars.get(*i) == Some(&'{') && plain(*i) && (*i == 0 || chars.get(i - 1) != Some(&'$')))?;
    let mut depth = 0;
    let mut parts = vec![String::new()];
    let mut close = None;
    for i in open..chars.len() {
        let c = *chars.get(i)?;
        match c {
            '{' if plain(i) => {
                depth += 1;
                if depth == 1 {
                    continue;
                }
            }
            '}' if plain(i) => {
                depth -= 1;
                if depth == 0 {
                    close = Some(i);
                    break;
                }
            }
            ',' if plain(i) && depth == 1 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut()?.push(c);
    }
    let close = close?;
    let before: String = chars.iter().take(open).collect();
    let after: String = chars.iter().skip(close + 1).collect();
    if parts.len() == 1 {
        let range = parts.first()?;
        let mut ends = range.split("..");
        let (from, to) = (ends.next()?, ends.next()?);
        if let (Ok(a), Ok(b)) = (from.parse::<i64>(), to.parse::<i64>()) {
            let n = (b - a).unsigned_abs();
            let values = if n > 8 {
                vec![UNKNOWN_SPAN.to_string()]
            } else {
                (a.min(b)..=a.max(b)).map(|v| v.to_string()).collect()
            };
            return Some((before, values, after));
        }
        return (from.chars().count() == 1 && to.chars().count() == 1)
            .then(|| (before, vec![UNKNOWN_SPAN.to_string()], after));
    }
    Some((before, parts, after))
}

/// The number of values of a brace range: `{1..100000}`.
pub(crate) fn range_length(raw: &str) -> Option<u64> {
    let inner = raw.strip_prefix('{')?.strip_suffix('}')?;
    let mut ends = inner.split("..");
    let a: i64 = ends.next()?.parse().ok()?;
    let b: i64 = ends.next()?.parse().ok()?;
    Some(b.saturating_sub(a).unsigned_abs().saturating_add(1))
}
