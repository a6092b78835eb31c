//! `calls.toml`: effects of the functions of Python's standard library and of common packages.
//!
//! Rows are data: a new call needs no Rust. A name without a row is harmless if its module is listed as `pure` or the
//! name as `harmless`; otherwise it is unknown.

use super::row::Special;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    alias: HashMap<String, String>,
    constants: HashMap<String, toml::Value>,
    pure: Vec<String>,
    harmless: Vec<String>,
    builtins: Vec<String>,
    call: Vec<Row>,
}

/// Effects, result and examples of a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    name: Names,
    #[serde(default)]
    pub role: String,
    pub target: Option<Place>,
    pub keyword: Option<String>,
    /// Target if the argument is left out.
    pub default: Option<String>,
    /// Whether the call has no effect without its argument.
    #[serde(default)]
    pub optional: bool,
    #[serde(default)]
    pub recursive: bool,
    pub detail: Option<Place>,
    /// Further effects.
    #[serde(default)]
    pub also: Vec<Part>,
    /// Kind of the returned object, which keeps the target of the call; `path`, `text`: the target itself is returned.
    pub returns: Option<String>,
    /// How the call is interpreted (`special`), if the roles of its arguments do not suffice.
    pub special: Option<Special>,
    /// `[source, effect, effect...]`
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test only"))]
    #[serde(default)]
    examples: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub role: String,
    pub target: Place,
    pub keyword: Option<String>,
    #[serde(default)]
    pub optional: bool,
}

/// Position of a target: index among the arguments, `self`, a keyword `key=`, or a fixed text.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub enum Place {
    At(usize),
    Word(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

/// The parsed table.
pub struct Table {
    rows: HashMap<String, usize>,
    calls: Vec<Row>,
    alias: HashMap<String, String>,
    pub constants: HashMap<String, toml::Value>,
    pure: HashSet<String>,
    harmless: HashSet<String>,
    pub builtins: HashSet<String>,
    modules: HashSet<String>,
}

/// The table's entry for a dotted name.
pub enum Entry {
    Row(&'static Row),
    Harmless,
    Missing,
}

/// The table, parsed once. `None` if it does not parse, which a test rules out.
pub fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    TABLE.get_or_init(|| toml::from_str::<File>(include_str!("calls.toml")).ok().map(Table::new)).as_ref()
}

impl Table {
    fn new(file: File) -> Self {
        let mut rows = HashMap::new();
        let mut modules = HashSet::new();
        for (i, row) in file.call.iter().enumerate() {
            for name in match &row.name {
                Names::One(n) => std::slice::from_ref(n),
                Names::Many(m) => m,
            } {
                rows.insert(name.clone(), i);
            }
        }
        for name in rows.keys().chain(&file.harmless).chain(file.constants.keys()) {
            for (dot, _) in name.match_indices('.') {
                modules.extend(name.get(..dot).map(str::to_string));
            }
        }
        modules.extend(file.pure.iter().cloned());
        Table {
            rows,
            modules,
            calls: file.call,
            alias: file.alias,
            constants: file.constants,
            pure: file.pure.into_iter().collect(),
            harmless: file.harmless.into_iter().collect(),
            builtins: file.builtins.into_iter().collect(),
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

    pub fn find(&'static self, name: &str) -> Entry {
        if let Some(row) = self.rows.get(name).and_then(|i| self.calls.get(*i)) {
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
        Entry::Missing
    }

    /// Whether this dotted name is a module, so that further names may follow.
    pub fn is_module(&self, name: &str) -> bool {
        self.modules.contains(name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_the_table_matches() {
        let file: File = toml::from_str(include_str!("calls.toml")).unwrap_or_else(|e| panic!("{e}"));
        let (mut checked, mut wrong) = (0, vec![]);
        for row in &file.call {
            let name = match &row.name {
                Names::One(n) => n.clone(),
                Names::Many(n) => n.join(" "),
            };
            if row.examples.is_empty() {
                wrong.push(format!("{name}: no example"))
            }
            for example in &row.examples {
                let reading = super::super::read(&example[0]);
                let mut got: Vec<_> = reading
                    .calls
                    .iter()
                    .map(|c| format!("{} {}{}", c.role, c.target, if c.recursive { " recursive" } else { "" }))
                    .collect();
                let mut want = example[1..].to_vec();
                got.sort();
                want.sort();
                if got != want || !reading.complete {
                    wrong.push(format!("{}\n   want {want:?}\n   got  {got:?} {:?}", example[0], reading.problems))
                }
                checked += 1;
            }
        }
        println!("{} rows, {} names, {checked} examples", file.call.len(), table().unwrap().rows.len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
