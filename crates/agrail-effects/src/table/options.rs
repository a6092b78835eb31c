//! The options of a command line, by the grammar of a row. All code that reads options uses it.
//!
//! 1. Short flags may be bundled, a value is attached or the next word; long options may be abbreviated and take their
//!    value after `=` or as the next word. The style of the row changes that: `single` has no bundles, in `bsd` the
//!    values follow the bundle, in `none` a word with a letter that the row does not list is an operand.
//! 2. A word that begins with `+` counts if the row lists an option that does (`set +o`).
//! 3. Reading stops at the first operand, or after `--`. A program that permutes its arguments reads on.

use super::bind::{Bound, Unlisted};
use super::row::{Opt, Row, Style};
use crate::role::Role;
use crate::{Kind, Verb};

/// One option that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The long name if the row pairs one with it (`-u --user`), otherwise as written; with its dashes.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// Index of the word after it and its value.
    pub end: usize,
}

/// The options before the first operand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The options in their order.
    pub given: Vec<Given>,
    /// Number of words that they and a `--` take.
    pub used: usize,
    /// Whether they ended with `--`.
    pub ended: bool,
    /// Those with an unknown effect.
    pub unlisted: Vec<Unlisted>,
}

impl Options {
    /// Whether an option of one of these names was given.
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
            if word == "--" && self.style != Style::None {
                options.used += 1;
                options.ended = true;
                break;
            }
            if !self.begins_option(word) {
                break;
            }
            options.used += 1;
            let rest = words.get(options.used..).unwrap_or_default();
            let before = options.given.len();
            if self.is_long(word, &[]) {
                self.long_option(word, rest.first(), &mut options);
            } else {
                self.letters(word, rest, &mut options);
            }
            let end = options.used;
            options.given.iter_mut().skip(before).for_each(|given| given.end = end);
        }
        options
    }

    /// Reads the options and the operands of a program that accepts options after operands, too.
    #[must_use]
    pub fn permuted(&self, words: &[String]) -> (Options, Vec<String>) {
        let (mut all, mut operands) = (Options::default(), Vec::new());
        while !all.ended && all.used < words.len() {
            let found = self.options(words.get(all.used..).unwrap_or_default());
            let before = all.used;
            all.given.extend(found.given.into_iter().map(|given| Given { end: given.end + before, ..given }));
            all.used += found.used;
            all.ended = found.ended;
            all.unlisted.extend(found.unlisted);
            if let Some(word) = words.get(all.used).filter(|_| !all.ended) {
                operands.push(word.clone());
                all.used += 1;
            }
        }
        operands.extend(words.get(all.used..).unwrap_or_default().iter().cloned());
        (all, operands)
    }

    /// The values of given options that name a path which is changed or from which code is loaded.
    #[must_use]
    pub fn changes_of(&self, options: &Options) -> Bound {
        let mut bound = Bound::default();
        for given in &options.given {
            let (Some(Opt::Role(roles)), Some(value)) = (self.options.get(&given.name), &given.value) else { continue };
            let changes = |role: &&Role| match role {
                Role::Act { verb, kind: Kind::Path, .. } => {
                    matches!(
                        verb,
                        Verb::Write | Verb::Overwrite | Verb::Append | Verb::Create | Verb::Delete | Verb::Execute
                    )
                }
                _ => false,
            };
            bound.arguments.extend(roles.iter().filter(changes).map(|role| (role.clone(), value.clone(), None)));
        }
        bound.option_values = bound.arguments.len();
        bound
    }

    /// Whether the next word is the value of an option.
    #[must_use]
    pub fn has_value(&self, option: &str) -> bool {
        self.options.get(option).is_some_and(Opt::takes_value)
    }

    /// Whether the row, one of its variants or its subcommands lists the option.
    #[must_use]
    pub fn lists(&self, option: &str) -> bool {
        self.options.contains_key(option)
            || self
                .variants
                .iter()
                .any(|variant| variant.options.contains_key(option) || variant.flags.iter().any(|flag| flag == option))
            || self.subs.iter().any(|sub| sub.lists(option))
    }

    /// Whether a word that begins with a dash is an option.
    #[must_use]
    pub fn takes_options(&self) -> bool {
        !matches!(self.style, Style::None | Style::Dd)
    }

    /// The row of a subcommand.
    #[must_use]
    pub fn sub(&self, name: &str) -> Option<&Self> {
        self.subs.iter().find(|sub| sub.names.iter().any(|known| known == name))
    }

    fn begins_option(&self, word: &str) -> bool {
        if word.len() < 2 {
            return false;
        }
        match word.chars().next() {
            Some('-') if self.style == Style::None => {
                word.chars().skip(1).all(|letter| self.options.contains_key(&format!("-{letter}")))
            }
            Some('-') => true,
            Some('+') => self.options.keys().any(|key| key.len() > 1 && key.starts_with('+')),
            _ => false,
        }
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
        let separate = found.is_some_and(Opt::takes_value) && value.is_none();
        options.used += usize::from(separate && next.is_some());
        let value = if separate { next.cloned() } else { value };
        self.note_unlisted(found, &name, value.as_deref(), options);
        options.given.push(Given { name, value, end: 0 });
    }

    /// Notes an option that the row does not list, or lists as unknown.
    fn note_unlisted(&self, found: Option<&Opt>, name: &str, value: Option<&str>, options: &mut Options) {
        let of_variant = || self.variants.iter().any(|variant| variant.flags.iter().any(|flag| flag == name));
        let unlisted = match found {
            Some(option) => matches!(option, Opt::Unknown { .. }),
            None => !of_variant(),
        };
        if unlisted {
            let value = value.map(str::to_owned);
            options.unlisted.push(Unlisted {
                name: name.to_owned(),
                value,
                perhaps_harmless: false,
                perhaps_own: false,
            });
        }
    }

    fn letters(&self, word: &str, mut after: &[String], options: &mut Options) {
        let sign = if word.starts_with('+') { '+' } else { '-' };
        let mut rest = word.trim_start_matches(sign).chars();
        while let Some(letter) = rest.next() {
            let short = format!("{sign}{letter}");
            let name = self.aliases.get(&short).cloned().unwrap_or_else(|| short.clone());
            let inline = Some(rest.as_str()).filter(|text| !text.is_empty() && self.style != Style::Bsd);
            let number = letter.is_ascii_digit();
            let switched_off = sign == '+' && self.options.contains_key(&format!("-{letter}"));
            if !number && !switched_off {
                self.note_unlisted(self.options.get(&short), &short, inline, options);
            }
            match self.options.get(&short) {
                Some(option) if option.takes_value() => {
                    let value = inline.map(str::to_owned).or_else(|| {
                        let (next, rest) = after.split_first()?;
                        after = rest;
                        options.used += 1;
                        Some(next.clone())
                    });
                    options.given.push(Given { name, value, end: 0 });
                    if self.style != Style::Bsd {
                        return;
                    }
                }
                Some(Opt::Optional) => {
                    options.given.push(Given { name, value: inline.map(str::to_owned), end: 0 });
                    return;
                }
                _ => options.given.push(Given { name, value: None, end: 0 }),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Table;

    fn parse_line(line: &str) -> (Vec<(String, Option<String>)>, String) {
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
            let (given, rest) = parse_line(line);
            assert!(given.contains(&("--user".to_owned(), Some(user.to_owned()))), "{line}: {given:?}");
            assert_eq!(rest, "ls -l", "{line}");
        }
    }

    #[test]
    fn style_of_a_row_decides_on_values() {
        let flag = |name: &str| (name.to_owned(), None);
        let value = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        for (line, given, rest) in [
            ("bash -oc pipefail x", vec![value("-o", "pipefail"), flag("-c")], "x"),
            ("set +o vi -e x", vec![value("+o", "vi"), flag("-e")], "x"),
            ("echo -en -x a", vec![flag("-e"), flag("-n")], "-x a"),
            ("xxd -ps -l 4 f", vec![flag("-ps"), value("-l", "4")], "f"),
        ] {
            assert_eq!(parse_line(line), (given, rest.to_owned()), "{line}");
        }
    }

    #[test]
    fn optional_values_are_attached() {
        assert_eq!(parse_line("xargs -i rm {}").1, "rm {}");
        assert_eq!(parse_line("xargs -i% rm %"), (vec![("-i".to_owned(), Some("%".to_owned()))], "rm %".to_owned()));
        assert_eq!(parse_line("xargs --replace rm {}").1, "rm {}");
    }
}
