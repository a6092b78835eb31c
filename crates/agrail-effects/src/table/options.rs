//! The options of a command line, by the grammar of a row. Wrappers (`sudo`, `env`, `xargs` ...) read theirs with it.
//!
//! 1. Short flags may be bundled, a value is attached or the next word; long options may be abbreviated and take their
//!    value after `=` or as the next word.
//! 2. Reading stops at the first operand, or after `--`.

use super::row::{Opt, Row};

/// One option that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The long name if the row pairs one with it (`-u --user`), otherwise as written; with its dashes.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
}

/// The options before the first operand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// In their order.
    pub given: Vec<Given>,
    /// How many words they and a `--` take.
    pub used: usize,
    /// They ended with `--`.
    pub ended: bool,
}

impl Options {
    /// An option of one of these names was given.
    #[must_use]
    pub fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name.as_str()))
    }

    /// The last value of an option of one of these names.
    #[must_use]
    pub fn value(&self, names: &[&str]) -> Option<&str> {
        let given = self.given.iter().rev().find(|given| names.contains(&given.name.as_str()))?;
        given.value.as_deref()
    }
}

impl Row {
    /// Reads the options at the beginning of `words`, which do not include the program's name.
    #[must_use]
    pub fn options(&self, words: &[String]) -> Options {
        let mut options = Options::default();
        while let Some(word) = words.get(options.used) {
            if word == "--" {
                options.used += 1;
                options.ended = true;
                break;
            }
            if word.len() < 2 || !word.starts_with('-') {
                break;
            }
            options.used += 1;
            let next = words.get(options.used);
            if word.starts_with("--") {
                self.long_option(word, next, &mut options)
            } else {
                self.letters(word, next, &mut options)
            }
        }
        options
    }

    fn long_option(&self, word: &str, next: Option<&String>, options: &mut Options) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let (name, found) = match self.options.get(name) {
            Some(found) => (name.to_owned(), Some(found)),
            None => match self.abbreviation(&[], name) {
                Some((full, found)) => (full, Some(found)),
                None => (name.to_owned(), None),
            },
        };
        let separate = matches!(found, Some(Opt::Takes | Opt::Role(_))) && value.is_none();
        options.used += usize::from(separate && next.is_some());
        let value = if separate { next.cloned() } else { value };
        options.given.push(Given { name, value });
    }

    fn letters(&self, word: &str, next: Option<&String>, options: &mut Options) {
        let mut rest = word.trim_start_matches('-').chars();
        while let Some(letter) = rest.next() {
            let short = format!("-{letter}");
            let name = self.aliases.get(&short).cloned().unwrap_or_else(|| short.clone());
            let inline = Some(rest.as_str()).filter(|text| !text.is_empty());
            match self.options.get(&short) {
                Some(Opt::Takes | Opt::Role(_)) => {
                    options.used += usize::from(inline.is_none() && next.is_some());
                    let value = inline.map(str::to_owned).or_else(|| next.cloned());
                    options.given.push(Given { name, value });
                    return;
                }
                Some(Opt::Optional) => {
                    options.given.push(Given { name, value: inline.map(str::to_owned) });
                    return;
                }
                Some(Opt::Flag(_)) | None => options.given.push(Given { name, value: None }),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Table;

    fn read(line: &str) -> (Vec<(String, Option<String>)>, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (program, rest) = words.split_first().unwrap();
        let options = Table::shipped().row(program).unwrap().options(rest);
        let given = options.given.into_iter().map(|given| (given.name, given.value)).collect();
        (given, rest.get(options.used..).unwrap().join(" "))
    }

    #[test]
    fn options_are_read_in_every_spelling() {
        for (line, user) in [
            ("sudo -u bob ls -l", "bob"),
            ("sudo -ubob ls -l", "bob"),
            ("sudo -nu bob ls -l", "bob"),
            ("sudo --user=bob ls -l", "bob"),
            ("sudo --user bob -- ls -l", "bob"),
            ("sudo --us bob ls -l", "bob"),
        ] {
            let (given, rest) = read(line);
            assert!(given.contains(&("--user".to_owned(), Some(user.to_owned()))), "{line}: {given:?}");
            assert_eq!(rest, "ls -l", "{line}");
        }
    }

    #[test]
    fn optional_values_are_attached() {
        assert_eq!(read("xargs -i rm {}").1, "rm {}");
        assert_eq!(read("xargs -i% rm %"), (vec![("-i".to_owned(), Some("%".to_owned()))], "rm %".to_owned()));
        assert_eq!(read("xargs --replace rm {}").1, "rm {}");
    }
}
