//! Rows as they are written in TOML, and what they mean.

use super::normal::long_names;
use super::{Attribute, Opt, Pattern, Row, Style, Variant, Word};
use crate::effect::role::Role;
use memchr::memmem;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    command: Vec<RawRow>,
}

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
    option: BTreeMap<String, String>,
    #[serde(default)]
    flag: BTreeMap<String, String>,
    operands: Option<String>,
    #[serde(default)]
    effects: String,
    stdin: Option<String>,
    stdout: Option<String>,
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
    #[serde(default)]
    option: BTreeMap<String, String>,
    #[serde(default)]
    #[expect(dead_code, reason = "a comment for readers of the table")]
    about: String,
}

/// The heading of each row, and the same with the end of the row before it.
const HEADING: &str = "[[command]]\n";
const BETWEEN: &str = "\n[[command]]\n";

/// Every name of a file with the text of its row, without parsing it: one pass over the lines. The names are the quoted texts
/// after the first `name =` of a row.
pub(super) fn names(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    // where the row begins, and where its names are among those found
    let mut row: Option<(usize, usize)> = None;
    let mut reading = Reading::Nothing;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line == HEADING {
            close(&mut found, text, row, at);
            row = Some((at, found.len()));
            reading = Reading::Wanted;
        } else if reading != Reading::Nothing {
            let mut rest = line;
            if reading == Reading::Wanted && line.starts_with("name") {
                let value = line.split_once('=').map_or("", |(_, value)| value);
                let several = value.trim_start().starts_with('[');
                reading = if several { Reading::Several } else { Reading::One };
                rest = value;
            }
            while matches!(reading, Reading::One | Reading::Several) {
                let Some((before, after)) = rest.split_once('"') else {
                    if reading == Reading::One || rest.contains(']') {
                        reading = Reading::Nothing;
                    }
                    break;
                };
                let Some((name, tail)) = after.split_once('"').filter(|_| !before.contains(']')) else {
                    reading = Reading::Nothing;
                    break;
                };
                found.push((name, ""));
                rest = tail;
                if reading == Reading::One {
                    reading = Reading::Nothing;
                }
            }
        }
        at += line.len();
    }
    close(&mut found, text, row, at);
    found
}

/// The row of one program, and its name as it stands there, without looking at the others.
pub(super) fn found<'a>(text: &'a str, program: &str) -> Option<(&'a str, &'a str)> {
    let quoted = format!("\"{program}\"");
    let row = |at: usize| {
        let (before, after) = text.split_at_checked(at)?;
        let start = memmem::rfind(before.as_bytes(), HEADING.as_bytes())?;
        let end = memmem::find(after.as_bytes(), BETWEEN.as_bytes()).map_or(text.len(), |end| at + end + 1);
        names(text.get(start..end)?).into_iter().find(|(name, _)| *name == program)
    };
    memmem::find_iter(text.as_bytes(), quoted.as_bytes()).find_map(row)
}

/// The names found from `row` on belong to the text up to `end`.
fn close<'a>(found: &mut [(&'a str, &'a str)], text: &'a str, row: Option<(usize, usize)>, end: usize) {
    let Some((start, first)) = row else { return };
    let block = text.get(start..end).unwrap_or_default();
    found.iter_mut().skip(first).for_each(|(_, of)| *of = block);
}

/// What a pass over the lines of a row is looking for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The next row.
    Nothing,
    /// Its names.
    Wanted,
    /// One name.
    One,
    /// The rest of a list of names.
    Several,
}

/// Rows of one file; the error names file and row.
pub fn parse(file: &str, text: &str) -> Result<Vec<Row>, String> {
    let raw: File = toml::from_str(text).map_err(|e| format!("{file}: {e}"))?;
    raw.command.into_iter().map(|row| compile(row, Style::Gnu).map_err(|e| format!("{file}: {e}"))).collect()
}

fn compile(raw: RawRow, inherited: Style) -> Result<Row, String> {
    let names = match raw.name {
        Names::One(name) => vec![name],
        Names::Many(names) => names,
    };
    let label = names.first().cloned().unwrap_or_default();
    let at = |e: String| format!("{label}: {e}");
    let style = raw.style.unwrap_or(inherited);
    let lists = std::iter::once(&raw.takes).chain(raw.option.keys()).chain(raw.flag.keys());
    let lists = lists.chain(raw.when.iter().flat_map(|w| std::iter::once(&w.flag).chain(w.option.keys())));
    let aliases = lists.flat_map(|list| long_names(list)).collect();
    let mut options = HashMap::new();
    for option in raw.takes.split_whitespace() {
        options.insert(option.to_owned(), Opt::Takes);
    }
    options.extend(role_options(&raw.option).map_err(at)?);
    for (keys, words) in &raw.flag {
        let words = words.split_whitespace().map(flag_word).collect::<Result<Vec<_>, _>>().map_err(at)?;
        for key in keys.split_whitespace() {
            options.insert(key.to_owned(), Opt::Flag(words.clone()));
        }
    }
    let mut variants = Vec::new();
    for variant in raw.when {
        variants.push(Variant {
            flags: variant.flag.split_whitespace().map(str::to_owned).collect(),
            operands: variant.operands.as_deref().map(Pattern::parse).transpose().map_err(at)?,
            effects: variant.effects.as_deref().map(fixed).transpose().map_err(at)?,
            stdin: variant.stdin.as_deref().map(input).transpose().map_err(at)?,
            options: role_options(&variant.option).map_err(at)?,
        });
    }
    Ok(Row {
        about: raw.about,
        special: raw.special,
        stdin: raw.stdin.as_deref().map(input).transpose().map_err(at)?.flatten(),
        passes_input: raw.stdout.as_deref() == Some("input"),
        examples: raw.examples,
        style,
        options,
        aliases,
        operands: raw.operands.as_deref().map(Pattern::parse).transpose().map_err(at)?,
        effects: fixed(&raw.effects).map_err(at)?,
        variants,
        subs: raw.sub.into_iter().map(|s| compile(s, style)).collect::<Result<_, _>>().map_err(at)?,
        names,
    })
}

fn role_options(raw: &BTreeMap<String, String>) -> Result<HashMap<String, Opt>, String> {
    let mut options = HashMap::new();
    for (keys, roles) in raw {
        let roles = roles.split_whitespace().map(Role::parse).collect::<Result<Vec<_>, _>>()?;
        for key in keys.split_whitespace() {
            options.insert(key.to_owned(), Opt::Role(roles.clone()));
        }
    }
    Ok(options)
}

/// What a program does with its standard input: data unless it is source text.
fn input(text: &str) -> Result<Option<Role>, String> {
    if text.is_empty() || text == "args" || text == "data" { Ok(None) } else { Role::parse(text).map(Some) }
}

fn fixed(text: &str) -> Result<Vec<(Role, String)>, String> {
    text.split_whitespace().map(fixed_effect).collect()
}

fn fixed_effect(word: &str) -> Result<(Role, String), String> {
    let (role, target) = word.split_once('=').unwrap_or((word, ""));
    Ok((Role::parse(role)?, target.to_owned()))
}

fn flag_word(word: &str) -> Result<Word, String> {
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
