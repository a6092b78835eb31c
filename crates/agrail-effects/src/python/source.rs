//! The format of `calls.toml`. `build.rs` uses it to compile the shipped rows.

use super::row::{Calls, Constant, Part, Place, Row, Special};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A file of rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    alias: BTreeMap<String, String>,
    constants: BTreeMap<String, RawConstant>,
    pure: Vec<String>,
    harmless: Vec<String>,
    builtins: Vec<String>,
    call: Vec<RawRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    name: Names,
    #[serde(default)]
    role: String,
    target: Option<RawPlace>,
    keyword: Option<String>,
    default: Option<String>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    recursive: bool,
    detail: Option<RawPlace>,
    #[serde(default)]
    also: Vec<RawPart>,
    returns: Option<String>,
    special: Option<Special>,
    /// `[source, effect, effect...]`
    #[serde(default)]
    examples: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    role: String,
    target: RawPlace,
    keyword: Option<String>,
    #[serde(default)]
    optional: bool,
}

/// Index of an argument, `self`, a keyword `key=`, or a fixed text `=text`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawPlace {
    At(usize),
    Word(String),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawConstant {
    Number(i64),
    Text(String),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

impl File {
    /// The names of each row, and its examples: source, then the effects.
    pub fn examples(&self) -> impl Iterator<Item = (&[String], &[Vec<String>])> {
        self.call.iter().map(|row| (row.name.as_slice(), row.examples.as_slice()))
    }
}

impl From<File> for Calls {
    fn from(file: File) -> Self {
        let mut calls = Self {
            alias: file.alias.into_iter().collect(),
            constants: file.constants.into_iter().map(|(name, value)| (name, value.into())).collect(),
            pure: file.pure,
            harmless: file.harmless,
            builtins: file.builtins,
            ..Self::default()
        };
        for (at, raw) in file.call.into_iter().enumerate() {
            calls.names.extend(raw.name.as_slice().iter().map(|name| (name.clone(), at)));
            calls.rows.push(raw.into());
        }
        calls
    }
}

impl From<RawRow> for Row {
    fn from(raw: RawRow) -> Self {
        Self {
            role: raw.role,
            target: raw.target.map(Place::from),
            keyword: raw.keyword,
            default: raw.default,
            optional: raw.optional,
            recursive: raw.recursive,
            detail: raw.detail.map(Place::from),
            also: raw.also.into_iter().map(Part::from).collect(),
            returns: raw.returns,
            special: raw.special,
        }
    }
}

impl From<RawPart> for Part {
    fn from(raw: RawPart) -> Self {
        Self { role: raw.role, target: raw.target.into(), keyword: raw.keyword, optional: raw.optional }
    }
}

impl From<RawPlace> for Place {
    fn from(raw: RawPlace) -> Self {
        match raw {
            RawPlace::At(index) => Self::At(index),
            RawPlace::Word(word) if word == "self" => Self::Receiver,
            RawPlace::Word(word) => match word.strip_prefix('=') {
                Some(text) => Self::Text(text.to_owned()),
                None => Self::Keyword(word.trim_end_matches('=').to_owned()),
            },
        }
    }
}

impl From<RawConstant> for Constant {
    fn from(raw: RawConstant) -> Self {
        match raw {
            RawConstant::Number(number) => Self::Number(number),
            RawConstant::Text(text) => Self::Text(text),
        }
    }
}
