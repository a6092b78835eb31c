//! Effects of the functions of Python's standard library and of common packages.
//!
//! Rows are data: a new call needs no Rust. `build.rs` compiles `calls.toml`. A name without a row is harmless if its
//! module is listed as `pure` or the name as `harmless`; otherwise it is unknown.

use super::row::{Calls, Constant, Row};
use foldhash::{HashMap, HashSet};
use std::sync::OnceLock;

static CALLS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/calls.bin"));

/// The rows, and the names that need none.
pub struct Table {
    names: HashMap<String, usize>,
    rows: Vec<Row>,
    alias: HashMap<String, String>,
    pub constants: HashMap<String, Constant>,
    pure: HashSet<String>,
    harmless: HashSet<String>,
    pub builtins: HashSet<String>,
    modules: HashSet<String>,
}

/// The table's entry for a dotted name.
pub type Entry<'t> = crate::reading::Entry<'t, Row>;

/// The shipped table, decoded once. `None` if it does not decode, which a test rules out.
pub fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    TABLE.get_or_init(|| postcard::from_bytes::<Calls>(CALLS).ok().map(Table::new)).as_ref()
}

impl Table {
    fn new(calls: Calls) -> Self {
        let names: HashMap<String, usize> = calls.names.into_iter().collect();
        let constants: HashMap<String, Constant> = calls.constants.into_iter().collect();
        let mut modules = HashSet::default();
        for name in names.keys().chain(&calls.harmless).chain(constants.keys()) {
            for (dot, _) in name.match_indices('.') {
                modules.extend(name.get(..dot).map(str::to_string));
            }
        }
        modules.extend(calls.pure.iter().cloned());
        Table {
            names,
            rows: calls.rows,
            alias: calls.alias.into_iter().collect(),
            constants,
            pure: calls.pure.into_iter().collect(),
            harmless: calls.harmless.into_iter().collect(),
            builtins: calls.builtins.into_iter().collect(),
            modules,
        }
    }

    /// The name that the table uses: `posix.remove` is `os.remove`.
    pub fn canonical(&self, name: &str) -> String {
        let mut name = name.to_string();
        for _ in 0..3 {
            let found = name
                .match_indices('.')
                .map(|(at, _)| at)
                .chain([name.len()])
                .rev()
                .find_map(|at| Some((at, self.alias.get(name.get(..at)?)?)));
            match found {
                Some((at, to)) => name = format!("{to}{}", name.get(at..).unwrap_or_default()),
                None => break,
            }
        }
        name
    }

    /// The row of a name, or whether the name is known to be harmless.
    pub fn find(&self, name: &str) -> Entry<'_> {
        if let Some(row) = self.names.get(name).and_then(|i| self.rows.get(*i)) {
            return Entry::Row(row);
        }
        if self.builtins.contains(name) || self.harmless.contains(name) {
            return Entry::Harmless;
        }
        let mut prefix = name;
        while let Some((head, _)) = prefix.rsplit_once('.') {
            if self.pure.contains(head) || self.harmless.contains(&format!("{head}.*")) {
                return Entry::Harmless;
            }
            prefix = head;
        }
        // any other method of a kind of object
        let any = name.rsplit_once('.').and_then(|(kind, _)| self.names.get(&format!("{kind}.*")));
        any.and_then(|at| self.rows.get(*at)).map_or(Entry::Missing, Entry::Row)
    }

    /// Whether this dotted name is a module, so that further names may follow.
    pub fn is_module(&self, name: &str) -> bool {
        self.modules.contains(name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::super::Library;
    use super::super::file::File;
    use super::*;

    #[test]
    fn every_example_of_the_table_matches() {
        let file: File = toml::from_str(include_str!("calls.toml")).unwrap_or_else(|e| panic!("{e}"));
        let (mut checked, mut wrong) = (0, vec![]);
        for (names, examples) in file.examples() {
            if examples.is_empty() {
                wrong.push(format!("{}: no example", names.join(" ")))
            }
            for example in examples {
                let reading = super::super::extract_effects(&example[0], &super::super::Place::NONE, &Library::NONE);
                let mut got: Vec<_> = reading
                    .calls
                    .iter()
                    .map(|c| format!("{} {}{}", c.role, c.target, if c.recursive { " recursive" } else { "" }))
                    .collect();
                let mut want = example[1..].to_vec();
                got.sort();
                want.sort();
                if got != want || !reading.is_complete() {
                    wrong.push(format!("{}\n   want {want:?}\n   got  {got:?} {:?}", example[0], reading.problems))
                }
                checked += 1;
            }
        }
        let table = table().unwrap();
        println!("{} rows, {} names, {checked} examples", table.rows.len(), table.names.len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
