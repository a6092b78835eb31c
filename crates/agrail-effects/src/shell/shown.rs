//! What a program shows of the files that it reads: some show only how much there is, or the names of settings without
//! their values. Their reading tells no more than a listing.

use super::Shell;
use crate::Verb;

/// Options by which `grep` prints no line.
const SILENT: [&str; 8] =
    ["-c", "--count", "-q", "--quiet", "--silent", "-l", "--files-with-matches", "--files-without-match"];
/// Parts of a file of settings that the names before `=` match, and no value.
const NAME_PATTERNS: [&str; 8] = [
    "^[^=]*",
    "^[^=]+",
    "^[A-Z_]+",
    "^[A-Z0-9_]+",
    "^[A-Z_0-9]+",
    "^[A-Za-z_]+",
    "^[A-Za-z0-9_]+",
    "^[A-Za-z_][A-Za-z0-9_]*",
];

impl Shell<'_> {
    /// Turns the readings of a program that shows no content into listings.
    /// `from`: the index of its first effect.
    pub(super) fn list_what_is_not_shown(&mut self, program: &str, words: &[String], from: usize) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let counts = counts(program, &words);
        if !counts && !names(program, &words) {
            return;
        }
        for effect in self.reading.effects.get_mut(from..).unwrap_or_default() {
            let name = effect.target.name().rsplit('/').next().unwrap_or_default();
            if effect.verb == Verb::Read && effect.program == program && (counts || is_settings(name)) {
                effect.verb = Verb::List;
            }
        }
    }
}

/// Whether a program shows only numbers, names of files, or nothing.
fn counts(program: &str, words: &[&str]) -> bool {
    match program {
        "wc" => !words.iter().any(|word| word.starts_with("--files0")),
        // a list of files or patterns would be opened, too
        "grep" | "egrep" | "fgrep" => words.iter().any(|word| SILENT.contains(word)) && !words.contains(&"-f"),
        _ => false,
    }
}

/// Whether a program shows only what is before the first `=` of a line.
fn names(program: &str, words: &[&str]) -> bool {
    match (program, words) {
        (
            "cut",
            ["-d=" | "-d'='", "-f1", _] | ["-d", "=", "-f1", _] | ["-d=", "-f", "1", _] | ["-d", "=", "-f", "1", _],
        ) => true,
        ("sed", ["s/=.*//" | "s/=.*$//", _] | ["-e" | "-E", "s/=.*//" | "s/=.*$//", _]) => true,
        (
            "awk" | "gawk" | "mawk",
            ["-F=", "{print $1}" | "{ print $1 }", _] | ["-F", "=", "{print $1}" | "{ print $1 }", _],
        ) => true,
        ("grep", [option, pattern, _]) => match *option {
            "-o" => *pattern == "^[^=]*",
            "-oE" | "-Eo" => NAME_PATTERNS.contains(pattern),
            _ => false,
        },
        ("egrep", ["-o", pattern, _]) => NAME_PATTERNS.contains(pattern),
        _ => false,
    }
}

/// Whether a file of this name has a setting on each line.
fn is_settings(name: &str) -> bool {
    name.starts_with(".env") || name.ends_with(".env")
}

#[cfg(test)]
mod tests {
    use crate::shell::NoFiles;
    use crate::{Action, Verb, Who, extract_effects};

    fn reads(command: &str) -> bool {
        let action = Action::Shell { command: command.to_owned(), cwd: Some("/home/a".into()) };
        let effects = extract_effects(&action, Who { name: "a", home: "/home/a" }, &NoFiles).effects;
        effects.iter().any(|effect| effect.verb == Verb::Read)
    }

    #[test]
    fn names_and_numbers_are_no_content() {
        for shown in [
            "cut -d= -f1 .env",
            "sed 's/=.*//' .env",
            "awk -F= '{print $1}' .env",
            "grep -oE '^[A-Z0-9_]+' .env",
            "wc -l .env ~/.netrc",
            "grep -c KEY ~/.netrc",
            "grep -q '^API_KEY=' .env",
        ] {
            assert!(!reads(shown), "{shown}");
        }
        for other in [
            "cut -d= -f2 .env",
            "cut -d= -f1- .env",
            "cut -d= -f1 ~/.netrc",
            "cut -d: -f1 .env",
            "sed 's/=x//' .env",
            "sed -n 's/=.*//' .env ~/.netrc",
            "awk -F= '{print $2}' .env",
            "grep -oE '.+' .env",
            "grep -o '^[^=]*' .env -e ''",
            "grep KEY .env",
            "wc --files0-from=.env",
            "grep -c -f .env x",
        ] {
            assert!(reads(other), "{other}");
        }
    }
}
