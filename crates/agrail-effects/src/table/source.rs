//! Parses rows from TOML. `build.rs` uses it to compile the shipped rows.

use super::row::{Attribute, Listed, Opt, Pattern, Row, Slot, Style, Variant, Word};
use crate::role::{Role, RoleError};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    name: Names,
    #[serde(default)]
    about: String,
    #[serde(default)]
    takes: String,
    #[serde(default)]
    optional: String,
    /// Options without a value and without an effect.
    #[serde(default)]
    inert: String,
    /// Options with effects that a row cannot express; `=` follows the name of one that takes a value.
    #[serde(default)]
    unknown: String,
    /// Documented options whose effect nobody has reviewed; written like `unknown`.
    #[serde(default)]
    unreviewed: String,
    #[serde(default)]
    options: Listed,
    /// The documentation that the options were compared with.
    #[serde(default)]
    source: String,
    /// Package and version in whose run the examples were observed.
    #[serde(default)]
    observed: String,
    /// Options whose effect was not observed, by the reason.
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the table")]
    unobserved: BTreeMap<String, String>,
    #[serde(default)]
    option: BTreeMap<String, String>,
    #[serde(default)]
    flag: BTreeMap<String, String>,
    operands: Option<String>,
    #[serde(default)]
    effects: String,
    stdin: Option<String>,
    stdout: Option<String>,
    content: Option<String>,
    /// One operand `KIND/NAME` is the same as the two operands `KIND NAME`.
    #[serde(default)]
    pairs: bool,
    /// Its options may stand anywhere.
    #[serde(default)]
    unordered: bool,
    /// An ending of operands that may be left out.
    #[serde(default)]
    ending: String,
    /// Files of the project that the program runs: `LANGUAGE:PATTERN`.
    #[serde(default)]
    loads: String,
    #[serde(default)]
    style: Option<Style>,
    #[serde(default)]
    when: Vec<RawVariant>,
    #[serde(default)]
    sub: Vec<RawRow>,
    special: Option<String>,
    #[serde(default)]
    examples: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVariant {
    flag: String,
    operands: Option<String>,
    effects: Option<String>,
    stdin: Option<String>,
    content: Option<String>,
    #[serde(default)]
    option: BTreeMap<String, String>,
    #[serde(default)]
    #[expect(dead_code, reason = "a comment for readers of the table")]
    about: String,
}

/// Why a file is not a valid row.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The file is not TOML, or contains unknown keys.
    #[error("{file}: {problem}")]
    Toml {
        /// The file.
        file: String,
        /// Position and problem.
        problem: String,
    },
    /// The file includes a family that does not exist.
    #[error("{file}: commands/families contains no family '{family}'")]
    Family {
        /// The file.
        file: String,
        /// Name of the family.
        family: String,
    },
    /// The file contains a word that is not a role.
    #[error("{file}: {row}: {problem}")]
    Role {
        /// The file.
        file: String,
        /// Name of the row or subcommand.
        row: String,
        /// The invalid word.
        problem: RoleError,
    },
    /// The file lists a file that the program runs without its language.
    #[error("{file}: {row}: '{word}' is not LANGUAGE:PATTERN")]
    Loads {
        /// The file.
        file: String,
        /// Name of the row or subcommand.
        row: String,
        /// The invalid word.
        word: String,
    },
    /// A pattern contains more than one role that repeats.
    #[error("{file}: {row}: '{word}' repeats, but only one role of a pattern may repeat")]
    Repeats {
        /// The file.
        file: String,
        /// Name of the row or subcommand.
        row: String,
        /// The second role that repeats.
        word: String,
    },
}

/// A problem within a row, before its file is known.
enum Problem {
    Role(String, RoleError),
    Repeats(String, String),
    Loads(String, String),
}

impl Problem {
    fn in_file(self, file: &str) -> RowError {
        let file = file.to_owned();
        match self {
            Self::Role(row, problem) => RowError::Role { file, row, problem },
            Self::Repeats(row, word) => RowError::Repeats { file, row, word },
            Self::Loads(row, word) => RowError::Loads { file, row, word },
        }
    }
}

/// Parses the row in one file. `family` returns the text of an included family by its name.
///
/// # Errors
/// [`RowError`], with the name of the file.
pub fn parse(file: &str, text: &str, family: impl Fn(&str) -> Option<String>) -> Result<Row, RowError> {
    let wrong = |problem: toml::de::Error| RowError::Toml { file: file.to_owned(), problem: problem.to_string() };
    let mut own: toml::Table = toml::from_str(text).map_err(wrong)?;
    if let Some(toml::Value::String(name)) = own.remove("include") {
        let missing = || RowError::Family { file: file.to_owned(), family: name.clone() };
        let mut shared: toml::Table = toml::from_str(&family(&name).ok_or_else(missing)?).map_err(wrong)?;
        merge_lists(&mut shared, &mut own);
        // the variants of the program come first
        if let (Some(toml::Value::Array(of_family)), Some(toml::Value::Array(of_program))) =
            (shared.get_mut("when"), own.get_mut("when"))
        {
            of_program.append(of_family);
        }
        // options and flags of program and family are merged; any other key of the program replaces the family's
        for key in ["option", "flag"] {
            if let (Some(toml::Value::Table(of_family)), Some(toml::Value::Table(of_program))) =
                (shared.get_mut(key), own.get_mut(key))
            {
                of_family.extend(std::mem::take(of_program));
                own.remove(key);
            }
        }
        shared.extend(own);
        own = shared;
    }
    let raw: RawRow = own.try_into().map_err(wrong)?;
    compile(raw, Style::Gnu).map_err(|problem| problem.in_file(file))
}

/// Fields that list options in one text.
const LISTS: [&str; 5] = ["takes", "optional", "inert", "unknown", "unreviewed"];

/// Adds the lists of a family to those of a program. What the program says about an option replaces what the family says.
fn merge_lists(family: &mut toml::Table, program: &mut toml::Table) {
    let list = |table: &toml::Table, key: &str| -> Vec<String> {
        let text = table.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let own: Vec<String> = LISTS.iter().flat_map(|key| list(program, key)).collect();
    let bare = |option: &str| option.trim_end_matches('=').to_owned();
    for key in LISTS {
        let mut all = list(program, key);
        all.extend(list(family, key).into_iter().filter(|option| own.iter().all(|known| bare(known) != bare(option))));
        program.remove(key);
        family.insert(key.to_owned(), toml::Value::String(all.join(" ")));
    }
}

fn compile(raw: RawRow, inherited: Style) -> Result<Row, Problem> {
    let names = match raw.name {
        Names::One(name) => vec![name],
        Names::Many(names) => names,
    };
    let label = names.first().cloned().unwrap_or_default();
    let at = |error: RoleError| Problem::Role(label.clone(), error);
    let pattern = |text: &str| Pattern::parse(text, &label);
    let style = raw.style.unwrap_or(inherited);
    let lists = [&raw.takes, &raw.optional, &raw.inert].into_iter().chain(raw.option.keys()).chain(raw.flag.keys());
    let lists = lists.chain(raw.when.iter().flat_map(|w| std::iter::once(&w.flag).chain(w.option.keys())));
    let aliases = lists.flat_map(|list| long_names(list)).collect();
    let mut options = BTreeMap::new();
    for option in raw.takes.split_whitespace() {
        options.insert(option.to_owned(), Opt::Takes);
    }
    for option in raw.inert.split_whitespace() {
        options.insert(option.to_owned(), Opt::Flag(Vec::new()));
    }
    for option in raw.unknown.split_whitespace().chain(raw.unreviewed.split_whitespace()) {
        let name = option.strip_suffix('=').unwrap_or(option);
        options.insert(name.to_owned(), Opt::Unknown { valued: name.len() < option.len() });
    }
    for option in raw.optional.split_whitespace() {
        options.insert(option.to_owned(), Opt::Optional);
    }
    options.extend(role_options(&raw.option).map_err(at)?);
    for (keys, words) in &raw.flag {
        let words = words.split_whitespace().map(flag_word).collect::<Result<Vec<_>, _>>().map_err(at)?;
        for key in keys.split_whitespace() {
            options.insert(key.to_owned(), Opt::Flag(words.clone()));
        }
    }
    let variants = raw.when.into_iter().map(|one| variant(one, &label)).collect::<Result<_, Problem>>()?;
    Ok(Row {
        about: raw.about,
        special: raw.special,
        stdin: raw.stdin.as_deref().map(input).transpose().map_err(at)?.flatten(),
        passes_input: raw.stdout.as_deref() == Some("input"),
        brings: raw.content.as_deref() == Some("elsewhere"),
        pairs: raw.pairs,
        unordered: raw.unordered,
        ending: raw.ending,
        loads: loads(&raw.loads, &label)?,
        examples: raw.examples,
        listed: raw.options,
        source: raw.source,
        observed: raw.observed,
        style,
        options,
        aliases,
        operands: raw.operands.as_deref().map(pattern).transpose()?,
        effects: fixed(&raw.effects).map_err(at)?,
        variants,
        subs: raw.sub.into_iter().map(|s| compile(s, style)).collect::<Result<_, _>>()?,
        names,
    })
}

/// The files that a program runs, by language and pattern.
fn loads(text: &str, row: &str) -> Result<Vec<(String, String)>, Problem> {
    let pair = |word: &str| match word.split_once(':') {
        Some((language, pattern)) if !language.is_empty() && !pattern.is_empty() => {
            Ok((language.to_owned(), pattern.to_owned()))
        }
        _ => Err(Problem::Loads(row.to_owned(), word.to_owned())),
    };
    text.split_whitespace().map(pair).collect()
}

fn variant(raw: RawVariant, label: &str) -> Result<Variant, Problem> {
    let at = |error: RoleError| Problem::Role(label.to_owned(), error);
    Ok(Variant {
        flags: raw.flag.split_whitespace().map(str::to_owned).collect(),
        operands: raw.operands.as_deref().map(|text| Pattern::parse(text, label)).transpose()?,
        effects: raw.effects.as_deref().map(fixed).transpose().map_err(at)?,
        stdin: raw.stdin.as_deref().map(input).transpose().map_err(at)?,
        options: role_options(&raw.option).map_err(at)?,
        brings: raw.content.as_deref() == Some("elsewhere"),
    })
}

fn role_options(raw: &BTreeMap<String, String>) -> Result<BTreeMap<String, Opt>, RoleError> {
    let mut options = BTreeMap::new();
    for (keys, roles) in raw {
        let roles = roles.split_whitespace().map(Role::parse).collect::<Result<Vec<_>, _>>()?;
        for key in keys.split_whitespace() {
            options.insert(key.to_owned(), Opt::Role(roles.clone()));
        }
    }
    Ok(options)
}

/// The role of the standard input; `None` if it is data instead of source text.
fn input(text: &str) -> Result<Option<Role>, RoleError> {
    if text.is_empty() || text == "args" || text == "data" { Ok(None) } else { Role::parse(text).map(Some) }
}

fn fixed(text: &str) -> Result<Vec<(Role, String)>, RoleError> {
    text.split_whitespace().map(fixed_effect).collect()
}

fn fixed_effect(word: &str) -> Result<(Role, String), RoleError> {
    let (role, target) = word.split_once('=').unwrap_or((word, ""));
    Ok((Role::parse(role)?, target.to_owned()))
}

fn flag_word(word: &str) -> Result<Word, RoleError> {
    Ok(match word {
        "recursive" => Word::Attribute(Attribute::Recursive),
        "force" => Word::Attribute(Attribute::Force),
        "keep" => Word::Attribute(Attribute::Keep),
        "parents" => Word::Attribute(Attribute::Parents),
        "dry" => Word::Attribute(Attribute::Dry),
        "symbolic" => Word::Attribute(Attribute::Symbolic),
        _ => {
            let (role, target) = fixed_effect(word)?;
            Word::Effect(role, target)
        }
    })
}

impl Pattern {
    fn parse(text: &str, row: &str) -> Result<Self, Problem> {
        let mut pattern = Self { before: Vec::new(), repeated: None, after: Vec::new() };
        for word in text.split_whitespace() {
            let (name, suffix) = match word.strip_suffix(['+', '*', '?']) {
                Some(name) => (name, word.chars().last()),
                None => (word, None),
            };
            let slot = Slot {
                role: Role::parse(name).map_err(|error| Problem::Role(row.to_owned(), error))?,
                optional: suffix == Some('?'),
            };
            match suffix {
                Some('+' | '*') if pattern.repeated.is_none() => pattern.repeated = Some(slot),
                Some('+' | '*') => return Err(Problem::Repeats(row.to_owned(), word.to_owned())),
                _ if pattern.repeated.is_some() => pattern.after.push(slot),
                _ => pattern.before.push(slot),
            }
        }
        Ok(pattern)
    }
}

/// The long names of short options in a list of options as rows write them: `-f --force -n`.
fn long_names(list: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let words: Vec<&str> = list.split_whitespace().collect();
    let pairs: Vec<(String, String)> = words
        .iter()
        .zip(words.iter().skip(1))
        .filter(|(short, long)| {
            let letter = short.strip_prefix('-').filter(|rest| rest.chars().count() == 1);
            let initial = long.strip_prefix("--").and_then(|rest| rest.get(..1));
            letter.zip(initial).is_some_and(|(letter, initial)| letter.eq_ignore_ascii_case(initial))
        })
        .map(|(short, long)| ((*short).to_owned(), (*long).to_owned()))
        .collect();
    pairs.into_iter()
}
