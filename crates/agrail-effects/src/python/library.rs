//! The functions that an agent's host provides to its Python code, such as those of a data agent.
//!
//! An operator describes them by rows as in `calls.toml`; the names are the operator's own.

use super::row::{Row, Special};
use super::source::LibraryFile;
use crate::role::{Role, RoleError};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Functions with their effects, deserialised from `[[call]]` rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "LibraryFile")]
pub struct Library {
    rows: Vec<Row>,
    names: BTreeMap<String, usize>,
    examples: Vec<Vec<String>>,
    /// Tells libraries with other functions apart; empty if there are none.
    digest: String,
}

impl Library {
    /// No functions.
    pub const NONE: Self =
        Self { rows: Vec::new(), names: BTreeMap::new(), examples: Vec::new(), digest: String::new() };

    /// The digest of the functions.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    fn set_digest(&mut self) {
        if self.rows.is_empty() {
            return self.digest.clear();
        }
        let sum = Sha256::digest(format!("{:?} {:?}", self.rows, self.names));
        self.digest = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    }

    /// Adds the functions of another library; those that both have stay as they are.
    pub fn extend(&mut self, other: Self) {
        let from = self.rows.len();
        self.rows.extend(other.rows);
        for (name, at) in other.names {
            self.names.entry(name).or_insert(from + at);
        }
        self.examples.extend(other.examples);
        self.set_digest();
    }

    /// Interprets the examples of the rows: `[source, effect...]`.
    ///
    /// # Errors
    /// The first example with other effects.
    pub fn verify(&self) -> Result<(), ExampleError> {
        for example in &self.examples {
            let Some((code, want)) = example.split_first() else { continue };
            let reading = super::extract_effects(code, &super::Place::NONE, self);
            let mut found: Vec<String> =
                reading.calls.iter().map(|call| format!("{} {}", call.role, call.target)).collect();
            let mut want = want.to_vec();
            found.sort();
            want.sort();
            if found != want || !reading.is_complete() {
                return Err(ExampleError { code: code.clone(), want, found });
            }
        }
        Ok(())
    }

    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.names.get(name).and_then(|at| self.rows.get(*at))
    }

    /// The names of the functions that read data.
    pub(super) fn readers(&self) -> impl Iterator<Item = &str> {
        let reads = |at: &usize| {
            self.rows.get(*at).is_some_and(|row| matches!(row.special, Some(Special::DataLoad | Special::DataSql)))
        };
        self.names.iter().filter(move |(_, at)| reads(at)).map(|(name, _)| name.as_str())
    }
}

impl TryFrom<LibraryFile> for Library {
    type Error = RoleError;

    fn try_from(file: LibraryFile) -> Result<Self, RoleError> {
        let mut library = Self::NONE;
        for (names, row, examples) in file.rows() {
            let roles = row.also.iter().map(|part| &part.role).chain([&row.role]);
            roles.filter(|role| !role.is_empty()).try_for_each(|role| Role::parse(role).map(drop))?;
            library.names.extend(names.into_iter().map(|name| (name, library.rows.len())));
            library.rows.push(row);
            library.examples.extend(examples);
        }
        library.set_digest();
        Ok(library)
    }
}

/// An example of a row has other effects than it lists.
#[derive(Debug, thiserror::Error)]
#[error("example {code:?}: expected {want:?}, found {found:?}")]
pub struct ExampleError {
    code: String,
    want: Vec<String>,
    found: Vec<String>,
}
