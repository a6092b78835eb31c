//! A file of a row: the options that it lists, and their completion from a manual.

use super::classify::is_inert;
use super::manual::{Arity, Manual};
use super::sources::Origin;
use agrail_effects::table::{self, Row};
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, Value};

/// Fields that list options in one text: `takes = "-n --lines"`.
pub const LISTS: [&str; 5] = ["takes", "optional", "inert", "unknown", "unreviewed"];
/// Fields whose keys list options: `option."-o --output" = "write"`.
pub const KEYED: [&str; 2] = ["option", "flag"];
/// Longest line of a list.
const WIDTH: usize = 116;

/// A file below `commands/`.
pub struct RowFile {
    pub path: PathBuf,
    pub document: DocumentMut,
    pub family: Option<Family>,
}

/// A file below `commands/families/`.
pub struct Family {
    pub path: PathBuf,
    pub document: DocumentMut,
}

/// The difference between a row and a manual.
#[derive(Debug, Default)]
pub struct Gap {
    /// Documented options that the row lacks: subcommand and names.
    pub missing: Vec<(String, String)>,
    /// Options of the row that no source documents.
    pub extra: Vec<(String, String)>,
}

impl RowFile {
    /// Opens the file of a program.
    pub fn open(commands: &Path, program: &str) -> Result<Self> {
        let initial = program.chars().next().filter(char::is_ascii_alphanumeric).unwrap_or('_').to_ascii_lowercase();
        let folder = if initial.is_ascii_alphabetic() { initial } else { '_' };
        let path = commands.join(folder.to_string()).join(format!("{program}.toml"));
        Self::read_file(commands, path)
    }

    /// Finds the file of a program by its name or by one of its aliases.
    pub fn find(commands: &Path, program: &str) -> Result<Self> {
        Self::open(commands, program).or_else(|why| {
            let rows = super::rows(commands, &[])?;
            rows.into_iter().find(|row| row.names().iter().any(|name| name == program)).ok_or(why)
        })
    }

    /// Opens a file by its path.
    pub fn read_file(commands: &Path, path: PathBuf) -> Result<Self> {
        let parse = |path: &Path| -> Result<DocumentMut> {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot open {}", path.display()))?;
            text.parse().with_context(|| format!("cannot parse {}", path.display()))
        };
        let document = parse(&path)?;
        let family = document.get("include").and_then(Item::as_str);
        let family = family.map(|name| -> Result<Family> {
            let path = commands.join("families").join(format!("{name}.toml"));
            Ok(Family { document: parse(&path)?, path })
        });
        let family = family.transpose()?;
        Ok(Self { path, document, family })
    }

    /// The names of the program and its aliases.
    pub fn names(&self) -> Vec<String> {
        names(self.document.as_table())
    }

    /// The compiled row.
    pub fn row(&self) -> Result<Row> {
        let family = |_: &str| self.family.as_ref().map(|family| family.document.to_string());
        Ok(table::parse(&self.path.display().to_string(), &self.document.to_string(), family)?)
    }

    /// `complete`, `partial`, or nothing if the row was never compared with a manual.
    pub fn state(&self) -> Option<&str> {
        self.document.get("options").and_then(Item::as_str)
    }

    /// Adds every documented option that the row lacks, and those of the subcommands of its family.
    pub fn complete(&mut self, manual: &Manual) {
        let inherited = self.family.as_ref().map(|family| listed(family.document.as_table())).unwrap_or_default();
        complete(self.document.as_table_mut(), manual, &inherited);
        if let Some(family) = &mut self.family {
            let mut known = listed(self.document.as_table());
            known.extend(inherited);
            complete_subs(family.document.as_table_mut(), manual, &known);
        }
    }

    /// Enters the documentation that the row was compared with.
    pub fn compared_with(&mut self, origin: &Origin) {
        let before = self.document.get("source").and_then(Item::as_str).unwrap_or_default();
        let source = origin.joined(before);
        self.document.insert("source", toml_edit::value(source));
    }

    /// Compares the row with a manual.
    pub fn gap(&self, manual: &Manual) -> Gap {
        let mut gap = Gap::default();
        let inherited = self.family.as_ref().map(|family| listed(family.document.as_table())).unwrap_or_default();
        compare(self.document.as_table(), manual, &inherited, "", &mut gap);
        gap
    }

    /// Whether the row, or its family, has rows of subcommands.
    pub fn has_subcommands(&self) -> bool {
        self.document.contains_key("sub")
            || self.family.as_ref().is_some_and(|family| family.document.contains_key("sub"))
    }

    /// Whether no option of the row or of its subcommands waits for a review.
    pub fn is_reviewed(&self) -> bool {
        fn reviewed(table: &Table) -> bool {
            let subs = table.get("sub").and_then(Item::as_array_of_tables);
            !table.contains_key("unreviewed") && subs.into_iter().flatten().all(reviewed)
        }
        reviewed(self.document.as_table())
    }

    pub fn save(&self) -> Result<()> {
        let family = self.family.as_ref().map(|family| (&family.path, &family.document));
        for (path, document) in std::iter::once((&self.path, &self.document)).chain(family) {
            std::fs::write(path, document.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

pub fn names(table: &Table) -> Vec<String> {
    match table.get("name") {
        Some(Item::Value(Value::String(name))) => vec![name.value().clone()],
        Some(Item::Value(Value::Array(names))) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// All options that a row lists, those of its variants included.
pub fn listed(table: &Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for list in LISTS {
        found.extend(words(table.get(list)).into_iter().map(|name| name.trim_end_matches('=').to_owned()));
    }
    for field in KEYED {
        for (keys, _) in table.get(field).and_then(Item::as_table_like).into_iter().flat_map(|keyed| keyed.iter()) {
            found.extend(keys.split_whitespace().map(str::to_owned));
        }
    }
    for variant in table.get("when").and_then(Item::as_array_of_tables).into_iter().flatten() {
        found.extend(words(variant.get("flag")));
        found.extend(listed(variant));
    }
    found
}

pub fn words(item: Option<&Item>) -> Vec<String> {
    item.and_then(Item::as_str).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Lists the documented options that a row lacks: as inert where their words leave no doubt, otherwise for a review.
fn complete(table: &mut Table, manual: &Manual, inherited: &BTreeSet<String>) {
    let mut known = listed(table);
    known.extend(inherited.iter().cloned());
    for option in manual.options.iter().filter(|option| option.names.iter().all(|name| usable(name))) {
        let missing: Vec<String> = option.names.iter().filter(|name| !known.contains(*name)).cloned().collect();
        known.extend(missing.iter().cloned());
        // a name that the row lists already may have another meaning in this row
        let new = missing.len() == option.names.len();
        let (field, suffix) = match (is_inert(option) && new, option.arity) {
            (true, _) => ("inert", ""),
            (false, Arity::Required) => ("unreviewed", "="),
            (false, _) => ("unreviewed", ""),
        };
        add_to_list(table, field, missing.iter().map(|name| format!("{name}{suffix}")));
    }
    complete_subs(table, manual, &known);
}

fn complete_subs(table: &mut Table, manual: &Manual, known: &BTreeSet<String>) {
    for sub in table.get_mut("sub").and_then(Item::as_array_of_tables_mut).into_iter().flat_map(|subs| subs.iter_mut())
    {
        for name in names(sub) {
            if let Some(documented) = manual.subs.get(&name) {
                complete(sub, documented, known);
            }
        }
    }
}

/// Adds options to a list; the list of a program replaces that of its family.
pub fn add_to_list(table: &mut Table, field: &str, more: impl Iterator<Item = String>) {
    let mut all = words(table.get(field));
    let before = all.len();
    all.extend(more);
    if all.len() > before {
        table.insert(field, list(&all));
    }
}

/// Whether the name can stand in a row.
pub fn usable(name: &str) -> bool {
    name.len() > 1
        && name.len() < 60
        && name.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '=' | '[' | ']' | '\\' | '|' | ','))
}

/// A list of options as TOML, wrapped.
fn list(names: &[String]) -> Item {
    let mut seen = BTreeSet::new();
    let names: Vec<&String> = names.iter().filter(|name| seen.insert(*name)).collect();
    let (mut lines, mut line) = (Vec::new(), String::new());
    for name in names {
        if line.len() + name.len() > WIDTH {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(name);
    }
    lines.push(line);
    let text = match lines.as_slice() {
        [one] => format!("x = \"{one}\""),
        _ => format!("x = \"\"\"\n{}\"\"\"", lines.join("\n")),
    };
    text.parse::<DocumentMut>().ok().and_then(|document| document.get("x").cloned()).unwrap_or(Item::None)
}

fn compare(table: &Table, manual: &Manual, inherited: &BTreeSet<String>, place: &str, gap: &mut Gap) {
    let own = listed(table);
    let known: BTreeSet<String> = own.union(inherited).cloned().collect();
    let documented: BTreeSet<&String> =
        manual.options.iter().flat_map(|option| &option.names).filter(|name| usable(name)).collect();
    gap.missing.extend(
        documented.iter().filter(|name| !known.contains(**name)).map(|name| (place.to_owned(), (*name).clone())),
    );
    if !manual.options.is_empty() {
        gap.extra
            .extend(own.iter().filter(|name| !documented.contains(name)).map(|name| (place.to_owned(), name.clone())));
    }
    for sub in table.get("sub").and_then(Item::as_array_of_tables).into_iter().flatten() {
        for name in names(sub) {
            if let Some(documented) = manual.subs.get(&name) {
                compare(sub, documented, &known, &format!("{place} {name}"), gap);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::rows::text::parse_text;

    #[test]
    fn missing_options_join_the_row() {
        let text = "name = \"frob\"\noption.\"-o\" = \"write\"\noperands = \"read+\"\nexamples = []\n[[sub]]\nname = \"push\"\n";
        let mut document: DocumentMut = text.parse().unwrap();
        let mut manual = parse_text(
            "  -o, --output=FILE  write there\n  -v, --verbose  say more\n  --load=LIB  load it\n  --sort=WORD  sort",
        );
        manual.subs.insert("push".to_owned(), parse_text("  --tags  all of them"));
        complete(document.as_table_mut(), &manual, &BTreeSet::new());
        let now = document.to_string();
        for line in [
            "option.\"-o\" = \"write\"",
            "unreviewed = \"--output= --load= --sort=\"",
            "inert = \"-v --verbose\"",
            "inert = \"--tags\"",
        ] {
            assert!(now.contains(line), "{line} in\n{now}");
        }
    }
}
