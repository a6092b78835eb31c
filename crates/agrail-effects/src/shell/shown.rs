//! What a program shows of the files that it reads: some show only how much there is, or the names of settings without
//! their values. Their reading tells no more than a listing.

use super::Shell;
use crate::{Target, Verb};

/// Options by which `grep` prints no line.
const SILENT: [&str; 8] =
    ["-c", "--count", "-q", "--quiet", "--silent", "-l", "--files-with-matches", "--files-without-match"];
/// Shortest word of a comment that may be a secret, in bytes.
const LONG: usize = 16;
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
        let own = self.reading.effects.get(from..).unwrap_or_default();
        let shown: Vec<Target> = own
            .iter()
            .map(|effect| effect.target.clone())
            .filter(|target| !counts && self.has_settings(target.name()))
            .collect();
        for effect in self.reading.effects.get_mut(from..).unwrap_or_default() {
            if effect.verb == Verb::Read && effect.program == program && (counts || shown.contains(&effect.target)) {
                effect.verb = Verb::List;
            }
        }
    }

    /// Whether all that a file has are settings: a line without a name would be shown whole.
    fn has_settings(&self, path: &str) -> bool {
        let contents = self.read_contents(path).unwrap_or_default();
        !contents.is_empty() && contents.iter().all(|content| std::str::from_utf8(content).is_ok_and(is_settings))
    }
}

/// Whether a program shows only numbers, names of files, or nothing.
fn counts(program: &str, words: &[&str]) -> bool {
    match program {
        "wc" => !words.iter().any(|word| word.starts_with("--files0")),
        // before anything else: a later word may be a pattern, a file or the value of an option
        "grep" | "egrep" | "fgrep" => words.first().is_some_and(|word| SILENT.contains(word)) && !words.contains(&"-f"),
        _ => false,
    }
}

/// Whether a program prints only the part of each line before its first `=`.
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

/// Whether each line of a text is a setting, is empty, or is a comment of words.
fn is_settings(text: &str) -> bool {
    let secret = |word: &str| word.len() >= LONG && word.bytes().any(|b| b.is_ascii_digit());
    text.lines().map(str::trim).all(|line| match line.strip_prefix('#') {
        Some(comment) => !comment.split_whitespace().any(secret),
        None => line.is_empty() || line.split_once('=').is_some_and(|(name, _)| is_name(name)),
    })
}

/// Whether a text is the name of a setting.
fn is_name(text: &str) -> bool {
    let name = text.strip_prefix("export ").unwrap_or(text).trim();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use crate::shell::{FileSource, ReadError};
    use crate::{Action, Verb, Who, extract_effects};

    /// A file of settings, one with a line that is none, and a private file.
    struct Files;

    impl FileSource for Files {
        fn script(&self, path: &str, _max: usize) -> Result<Vec<u8>, ReadError> {
            Ok(match path {
                "/home/a/.env" => b"# of the shop\nexport A=1\nAPI_KEY=x=y\n\n".to_vec(),
                "/home/a/odd.env" => b"KEY=\"-----BEGIN\nMIIEpAIBAAKCAQEA7\n\"\n".to_vec(),
                "/home/a/noted.env" => b"# was sk1live2abcdef345\nA=1\n".to_vec(),
                _ => b"machine a.example login b password c\n".to_vec(),
            })
        }

        fn folder(&self, _path: &str) -> Option<bool> {
            None
        }
    }

    fn reads(command: &str) -> bool {
        let action = Action::Shell { command: command.to_owned(), cwd: Some("/home/a".into()) };
        let effects = extract_effects(&action, Who { name: "a", home: "/home/a" }, &Files).effects;
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
            "cut -d= -f1 odd.env",
            "sed 's/=.*//' noted.env",
            "grep -e -q -e . .env",
            "grep . .env -- -q",
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
