//! The format of a row.

use super::row::{Part, Place, Row, Special};
use serde::Deserialize;

/// The rows of a library.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryFile {
    call: Vec<RawRow>,
}

impl LibraryFile {
    /// Names, semantics and examples of each row.
    pub fn rows(self) -> impl Iterator<Item = (Vec<String>, Row, Vec<Vec<String>>)> {
        self.call.into_iter().map(|mut raw| {
            let examples = std::mem::take(&mut raw.examples);
            (raw.names().to_vec(), raw.into(), examples)
        })
    }
}

/// A row as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRow {
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
    pub examples: Vec<Vec<String>>,
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
enum Names {
    One(String),
    Many(Vec<String>),
}

impl RawRow {
    /// The dotted names that the row describes.
    pub fn names(&self) -> &[String] {
        match &self.name {
            Names::One(name) => std::slice::from_ref(name),
            Names::Many(names) => names,
        }
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
