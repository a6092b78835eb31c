//! Rows as they are written in TOML, and what they mean.

use super::{Attribute, Opt, Pattern, Row, Style, Variant, Word};
use crate::effect::role::Role;
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

/// The text of each row of a file.
pub(super) fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = text.match_indices("[[command]]\n").map(|(at, _)| at).collect();
    starts.retain(|at| *at == 0 || text.get(..*at).is_some_and(|before| before.ends_with('\n')));
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).filter_map(|(start, end)| text.get(start..end))
}

/// The names of a row, without parsing it: the quoted texts after its first `name =`.
pub(super) fn names(block: &str) -> Vec<&str> {
    let Some(line) = block.lines().find(|line| line.starts_with("name")) else { return Vec::new() };
    let Some((_, value)) = line.split_once('=') else { return Vec::new() };
    let at = block.find(line).map_or(0, |start| start + (line.len() - value.len()));
    let list = block.get(at..).unwrap_or_default();
    let several = value.trim_start().starts_with('[');
    let mut names = Vec::new();
    let mut rest = list;
    while let Some((before, after)) = rest.split_once('"') {
        if before.contains(']') || (!names.is_empty() && !several) {
            break;
        }
        let Some((name, tail)) = after.split_once('"') else { break };
        names.push(name);
        rest = tail;
    }
    names
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
        _ => {
            let (role, target) = fixed_effect(word)?;
            Word::Effect(role, target)
        }
    })
}
