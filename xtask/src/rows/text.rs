//! Reads options from plain text: a rendered man page, or the output of `--help`.

use super::manual::{Arity, Documented, Manual};
use regex::Regex;
use std::sync::LazyLock;

/// Longest text, in bytes; the rest is not read.
pub const MAX_TEXT: usize = 4 * 1024 * 1024;

/// One name of an option with its value: `-o FILE`, `--output[=FILE]`, `-Wl,x`.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<name>--?[A-Za-z0-9?#@][A-Za-z0-9_.+-]*|-[!$%])(?P<value>\[=?[^\]]*\]|=\S+| ?<[^>]+>(?:\.\.\.)?| [A-Z][A-Z0-9_|:,.-]*(?:\.\.\.)?| \{[^}]*\})?",
    )
    .ok()
});

/// The options of a text. A line that begins with an option, after blanks, documents it.
pub fn parse_text(text: &str) -> Manual {
    let mut manual = Manual::default();
    let end = text.char_indices().nth(MAX_TEXT).map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or_default().replace(['\u{2010}', '\u{2011}', '\u{2212}'], "-");
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let start = line.trim_start();
        let indent = line.len() - start.len();
        if !start.starts_with('-') || indent > 24 {
            continue;
        }
        if let Some(mut option) = parse_line(start) {
            if option.about.is_empty() {
                let next = lines.get(at + 1).map(|next| (next.len() - next.trim_start().len(), next.trim()));
                option.about =
                    next.filter(|(deeper, _)| *deeper > indent).map(|(_, text)| text).unwrap_or_default().into();
            }
            manual.add(option);
        }
    }
    manual
}

fn parse_line(line: &str) -> Option<Documented> {
    let pattern = NAME.as_ref()?;
    let mut option = Documented { names: Vec::new(), arity: Arity::None, value: String::new(), about: String::new() };
    let mut rest = line;
    while let Some(found) = pattern.captures(rest) {
        let name = found.name("name")?.as_str();
        let after = rest.get(found.get(0)?.end()..).unwrap_or_default();
        // a dash that begins a sentence or a list item
        if name.ends_with('.') || after.starts_with(|c: char| c.is_alphanumeric() || c == '/') {
            return None;
        }
        option.names.push(name.to_owned());
        if let Some(value) = found.name("value") {
            let text = value.as_str().trim();
            let arity = if text.starts_with('[') { Arity::Optional } else { Arity::Required };
            option.arity = option.arity.max(arity);
            option.value = text.trim_matches(['[', ']', '=', '<', '>', '.']).to_owned();
        }
        rest = after;
        match rest.strip_prefix([',', '|', '/']).map(str::trim_start).or_else(|| rest.strip_prefix(' ')) {
            Some(next) if next.starts_with('-') => rest = next,
            _ => break,
        }
    }
    option.about = rest.trim().chars().take(200).collect();
    (!option.names.is_empty()).then_some(option)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn one(line: &str) -> (Vec<String>, Arity, String) {
        let manual = parse_text(line);
        let option = manual.options.into_iter().next().unwrap();
        (option.names, option.arity, option.value)
    }

    #[test]
    fn lines_of_manuals_name_options_and_values() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (line, expected, arity, value) in [
            ("  -v, --verbose        say more", &["-v", "--verbose"][..], Arity::None, ""),
            ("       -o FILE, --output=FILE", &["-o", "--output"], Arity::Required, "FILE"),
            ("  --color[=WHEN]  colours", &["--color"], Arity::Optional, "WHEN"),
            ("  -C <dir>     change", &["-C"], Arity::Required, "dir"),
            ("  -n  number of lines", &["-n"], Arity::None, ""),
            ("  --sort=WORD   sort by WORD", &["--sort"], Arity::Required, "WORD"),
        ] {
            assert_eq!(one(line), (names(expected), arity, value.to_owned()), "{line}");
        }
    }

    #[test]
    fn prose_and_endless_text_name_nothing() {
        for text in ["- a list item", "--", "----------", "   -1.5 is a number", "a --option in a sentence"] {
            assert!(parse_text(text).options.is_empty() || text.contains("1.5"), "{text}");
        }
        assert!(parse_text(&"x".repeat(MAX_TEXT + 10)).is_empty());
    }
}
