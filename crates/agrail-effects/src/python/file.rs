//! The format of `calls.toml`. `build.rs` uses it to compile the shipped rows and names.

use super::row::{Calls, Constant};
use super::source::RawRow;
use serde::Deserialize;
use std::collections::BTreeMap;

/// All rows and names.
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
#[serde(untagged)]
enum RawConstant {
    Number(i64),
    Text(String),
}

impl File {
    /// The names of each row, and its examples: source, then the effects.
    pub fn examples(&self) -> impl Iterator<Item = (&[String], &[Vec<String>])> {
        self.call.iter().map(|row| (row.names(), row.examples.as_slice()))
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
            calls.names.extend(raw.names().iter().map(|name| (name.clone(), at)));
            calls.rows.push(raw.into());
        }
        calls
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
