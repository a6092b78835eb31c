//! The table of command semantics: one row per program, which assigns roles to arguments.
//!
//! 1. `build.rs` compiles the rows (`commands/`; its README describes the format) to one block of bytes with an index
//!    by name.
//! 2. [`Table::row`] finds the row of a program and decodes it, once.
//! 3. [`Row::bind`] parses the options in the style of the row, chooses the subcommand and the variant, and assigns
//!    each argument its role. Anything that the row does not cover is reported, never dropped.

mod bind;
mod normal;
mod options;
mod row;
#[cfg(feature = "source")]
mod source;
mod unordered;

pub(crate) use bind::is_plain;
pub use bind::{Bound, Unlisted};
pub use options::{Given, Options};
pub use row::{Listed, Row, Style};
#[cfg(feature = "source")]
pub use source::{RowError, parse};

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};

// INDEX: the names in alphabetical order, each with the byte range of its row
include!(concat!(env!("OUT_DIR"), "/table.rs"));
static ROWS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rows.bin"));

/// All rows by program name.
#[derive(Debug, Default)]
pub struct Table {
    /// Rows that were already looked up; `None` if a row does not decode.
    rows: RwLock<HashMap<&'static str, Option<&'static Row>>>,
}

impl Table {
    /// The shipped table. A row is decoded when its program is first looked up.
    pub fn shipped() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(Self::default)
    }

    /// The row of a program.
    #[must_use]
    pub fn row(&self, program: &str) -> Option<&'static Row> {
        self.exactly(program).or_else(|| {
            // python3.11, gcc-12, lua5.4: the name without its version
            let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
            (base.len() >= 2 && base != program).then(|| self.exactly(base)).flatten()
        })
    }

    fn exactly(&self, program: &str) -> Option<&'static Row> {
        if let Some(known) = self.rows.read().unwrap_or_else(PoisonError::into_inner).get(program) {
            return *known;
        }
        let at = INDEX.binary_search_by(|(name, ..)| (*name).cmp(program)).ok()?;
        let (name, from, to) = INDEX.get(at)?;
        // The tests catch a row that does not decode; here its program stays unknown. A decoded row is kept for the
        // lifetime of the process.
        let row = ROWS.get(*from as usize..*to as usize).and_then(|bytes| postcard::from_bytes::<Row>(bytes).ok());
        let row: Option<&'static Row> = row.map(|row| &*Box::leak(Box::new(row)));
        *self.rows.write().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(row)
    }

    /// Names of all programs with a row.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        INDEX.iter().map(|(name, ..)| *name)
    }
}
