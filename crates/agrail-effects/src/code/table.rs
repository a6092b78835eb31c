//! The functions of a language's runtime and of common packages.
//!
//! Rows are data: a new call needs no Rust. `build.rs` compiles `javascript.toml`. A name without a row is harmless if it
//! or a part of it is listed as such; otherwise it is unknown.

use super::row::{Names, Row};
use foldhash::{HashMap, HashSet};
use std::sync::OnceLock;

static JAVASCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/javascript.bin"));

/// The rows, and the names that need none.
pub struct Table {
    modules: HashSet<String>,
    alias: HashMap<String, String>,
    constants: HashMap<String, String>,
    harmless: HashSet<String>,
    /// Beginnings of names of harmless packages.
    families: Vec<String>,
    names: HashMap<String, usize>,
    rows: Vec<Row>,
}

/// The table's entry for a dotted name.
pub type Entry<'t> = crate::reading::Entry<'t, Row>;

/// The table of JavaScript, decoded once. `None` if it does not decode, which a test rules out.
pub fn javascript() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    TABLE.get_or_init(|| postcard::from_bytes::<Names>(JAVASCRIPT).ok().map(Table::new)).as_ref()
}

impl Table {
    fn new(names: Names) -> Self {
        let rows = names.call;
        Table {
            modules: names.modules.into_iter().collect(),
            alias: names.alias.into_iter().collect(),
            constants: names.constants.into_iter().collect(),
            families: names
                .harmless
                .iter()
                .filter_map(|name| name.strip_suffix("-*").map(|begin| format!("{begin}-")))
                .collect(),
            harmless: names.harmless.into_iter().collect(),
            names: rows
                .iter()
                .enumerate()
                .flat_map(|(at, row)| row.name.iter().map(move |name| (name.clone(), at)))
                .collect(),
            rows,
        }
    }

    /// The name of a module: that of the runtime's own is its name, of another `package NAME`.
    pub fn module(&self, specifier: &str) -> String {
        let name =
            if self.is_root(specifier) { specifier } else { specifier.strip_prefix("node:").unwrap_or(specifier) };
        match name {
            name if self.is_root(name) => name.replace('/', "."),
            name if name.starts_with('/') => format!("module {name}"),
            name => format!("package {name}"),
        }
    }

    /// Whether a specifier names a module of the runtime.
    pub fn is_own(&self, specifier: &str) -> bool {
        self.is_root(specifier) || specifier.strip_prefix("node:").is_some_and(|name| self.is_root(name))
    }

    fn is_root(&self, specifier: &str) -> bool {
        specifier.split('/').next().is_some_and(|root| self.modules.contains(root))
    }

    /// The name that the table uses: `fs.promises.rm` is `fs.rm`.
    pub fn canonical(&self, name: &str) -> String {
        // `import x from`, of a package that exports all of itself
        let mut name = match name.strip_prefix("package ") {
            Some(package) => format!("package {}", package.replacen(".default", "", 1)),
            None => name.to_owned(),
        };
        for _ in 0..4 {
            let found = name
                .match_indices('.')
                .map(|(at, _)| at)
                .chain([name.len()])
                .rev()
                .find_map(|at| Some((at, self.alias.get(name.get(..at)?)?)));
            let Some((at, to)) = found else { break };
            let rest = name.get(at..).unwrap_or_default();
            if to.is_empty() && rest.is_empty() {
                break;
            }
            name = if to.is_empty() { rest.trim_start_matches('.').to_owned() } else { format!("{to}{rest}") };
        }
        name
    }

    /// The row of a canonical name, or whether it is known to be harmless.
    pub fn find(&self, name: &str) -> Entry<'_> {
        if let Some(row) = self.names.get(name).and_then(|at| self.rows.get(*at)) {
            return Entry::Row(row);
        }
        if self.harmless.contains(name) || self.families.iter().any(|begin| name.starts_with(begin)) {
            return Entry::Harmless;
        }
        // a part of a harmless package: `package date-fns/format`
        let package = name.strip_prefix("package ").and_then(|rest| {
            let scoped = usize::from(rest.starts_with('@'));
            let (end, _) = rest.match_indices('/').nth(scoped)?;
            rest.get(..end)
        });
        if package.is_some_and(|package| self.harmless.contains(&format!("package {package}.*"))) {
            return Entry::Harmless;
        }
        let mut prefix = name;
        while let Some((head, _)) = prefix.rsplit_once('.') {
            if self.harmless.contains(&format!("{head}.*")) {
                return Entry::Harmless;
            }
            prefix = head;
        }
        Entry::Missing
    }

    /// The text of a constant.
    pub fn constant(&self, name: &str) -> Option<&str> {
        self.constants.get(name).map(String::as_str)
    }

    /// Whether the table has something to say about a name: it is a module or function of the runtime.
    pub fn knows(&self, name: &str) -> bool {
        let canonical = self.canonical(name);
        self.modules.contains(&canonical)
            || !matches!(self.find(&canonical), Entry::Missing)
            || self.is_module(&canonical)
    }

    /// Whether names with an effect follow this one: `fs`, `Bun`.
    pub fn is_module(&self, name: &str) -> bool {
        let begin = format!("{name}.");
        self.names.keys().any(|known| known.starts_with(&begin))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::super::extract_effects;
    use super::*;
    use crate::reading::NoModules;

    #[test]
    fn every_example_of_the_table_matches() {
        let table = javascript().unwrap();
        let (mut checked, mut wrong) = (0, vec![]);
        for row in &table.rows {
            if row.examples.is_empty() {
                wrong.push(format!("{}: no example", row.name.join(" ")));
            }
            for example in &row.examples {
                let reading = extract_effects(&example[0], "", &NoModules);
                let mut got: Vec<_> = reading
                    .calls
                    .iter()
                    .map(|call| {
                        format!("{} {}{}", call.role, call.target, if call.recursive { " recursive" } else { "" })
                    })
                    .collect();
                let mut want = example[1..].to_vec();
                got.sort();
                want.sort();
                if got != want || !reading.is_complete() {
                    wrong.push(format!("{}\n   want {want:?}\n   got  {got:?} {:?}", example[0], reading.problems));
                }
                checked += 1;
            }
        }
        println!("{} rows, {} names, {checked} examples", table.rows.len(), table.names.len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
