//! A file of a row: the options that it lists, and their completion from a manual.

use super::classify::{Class, classify};
use super::manual::{Arity, Documented, Manual};
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, Value};

/// Fields that list options in one text: `takes = "-n --lines"`.
const LISTS: [&str; 4] = ["takes", "optional", "inert", "unreviewed"];
/// Fields whose keys list options: `option."-o --output" = "write"`.
const KEYED: [&str; 2] = ["option", "flag"];
/// Longest line of a list.
const WIDTH: usize = 116;

/// A file below `commands/`.
pub struct RowFile {
    pub path: PathBuf,
    pub document: DocumentMut,
    family: Option<DocumentMut>,
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

    /// Opens a file by its path.
    pub fn read_file(commands: &Path, path: PathBuf) -> Result<Self> {
        let parse = |path: &Path| -> Result<DocumentMut> {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot open {}", path.display()))?;
            text.parse().with_context(|| format!("cannot parse {}", path.display()))
        };
        let document = parse(&path)?;
        let family = document.get("include").and_then(Item::as_str);
        let family = family.map(|name| parse(&commands.join("families").join(format!("{name}.toml")))).transpose()?;
        Ok(Self { path, document, family })
    }

    /// The names of the program and its aliases.
    pub fn names(&self) -> Vec<String> {
        names(self.document.as_table())
    }

    /// `complete`, `partial`, or nothing if the row was never compared with a manual.
    pub fn state(&self) -> Option<&str> {
        self.document.get("options").and_then(Item::as_str)
    }

    /// Whether the row is parsed by Rust code.
    pub fn is_special(&self) -> bool {
        let special = |document: &DocumentMut| document.get("special").is_some();
        special(&self.document) || self.family.as_ref().is_some_and(special)
    }

    /// Adds every documented option that the row lacks.
    pub fn complete(&mut self, manual: &Manual) {
        let family = self.family.as_ref().map(|family| family.as_table());
        let inherited = family.map(listed).unwrap_or_default();
        complete(self.document.as_table_mut(), manual, &inherited, family);
    }

    /// Compares the row with a manual.
    pub fn gap(&self, manual: &Manual) -> Gap {
        let mut gap = Gap::default();
        let inherited = self.family.as_ref().map(|family| listed(family.as_table())).unwrap_or_default();
        compare(self.document.as_table(), manual, &inherited, "", &mut gap);
        gap
    }

    /// Whether the row, or its family, has rows of subcommands.
    pub fn has_subcommands(&self) -> bool {
        self.document.contains_key("sub") || self.family.as_ref().is_some_and(|family| family.contains_key("sub"))
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
        std::fs::write(&self.path, self.document.to_string())
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn names(table: &Table) -> Vec<String> {
    match table.get("name") {
        Some(Item::Value(Value::String(name))) => vec![name.value().clone()],
        Some(Item::Value(Value::Array(names))) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// All options that a row lists, those of its variants included.
fn listed(table: &Table) -> BTreeSet<String> {
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

fn words(item: Option<&Item>) -> Vec<String> {
    item.and_then(Item::as_str).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn complete(table: &mut Table, manual: &Manual, inherited: &BTreeSet<String>, family: Option<&Table>) {
    let mut known = listed(table);
    known.extend(inherited.iter().cloned());
    let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for option in manual.options.iter().filter(|option| option.names.iter().all(|name| usable(name))) {
        let missing: Vec<String> = option.names.iter().filter(|name| !known.contains(*name)).cloned().collect();
        if missing.is_empty() {
            continue;
        }
        known.extend(missing.iter().cloned());
        let alias = option.names.iter().find(|name| !missing.contains(name));
        if let Some(alias) = alias
            && (add_alias(table, alias, &missing, option) || like_family(table, family, alias, &missing))
        {
            continue;
        }
        match classify(option) {
            Class::Inert => lists.entry("inert").or_default().extend(missing),
            Class::Takes => lists.entry("takes").or_default().extend(missing),
            Class::Optional => lists.entry("optional").or_default().extend(missing),
            Class::Unknown if option.arity == Arity::Required => {
                let valued = missing.iter().map(|name| format!("{name}="));
                lists.entry("unreviewed").or_default().extend(valued);
            }
            Class::Unknown => lists.entry("unreviewed").or_default().extend(missing),
        }
    }
    for (field, more) in lists {
        let of_family = family.filter(|_| !table.contains_key(field)).and_then(|family| family.get(field));
        let mut all = words(of_family.or_else(|| table.get(field)));
        all.extend(more);
        table.insert(field, list(&all));
    }
    let known: BTreeSet<String> = known;
    for sub in table.get_mut("sub").and_then(Item::as_array_of_tables_mut).into_iter().flat_map(|subs| subs.iter_mut())
    {
        for name in names(sub) {
            if let Some(documented) = manual.subs.get(&name) {
                complete(sub, documented, &known, None);
            }
        }
    }
}

/// Adds further names of an option where the row lists one of its names.
fn add_alias(table: &mut Table, alias: &str, missing: &[String], option: &Documented) -> bool {
    for field in LISTS {
        let mut all = words(table.get(field));
        if all.iter().any(|name| name == alias) && (field != "inert" || option.arity == Arity::None) {
            all.extend(missing.iter().cloned());
            table.insert(field, list(&all));
            return true;
        }
    }
    for field in KEYED {
        let Some(keyed) = table.get_mut(field).and_then(Item::as_table_like_mut) else { continue };
        let key =
            keyed.iter().map(|(key, _)| key.to_owned()).find(|key| key.split_whitespace().any(|name| name == alias));
        if let Some(key) = key
            && let Some(value) = keyed.remove(&key)
        {
            keyed.insert(&format!("{key} {}", missing.join(" ")), value);
            return true;
        }
    }
    for variant in
        table.get_mut("when").and_then(Item::as_array_of_tables_mut).into_iter().flat_map(|all| all.iter_mut())
    {
        let mut flags = words(variant.get("flag"));
        if flags.iter().any(|name| name == alias) {
            flags.extend(missing.iter().cloned());
            variant.insert("flag", toml_edit::value(flags.join(" ")));
            return true;
        }
    }
    false
}

/// Lists further names of an option as the family lists one of its names.
fn like_family(table: &mut Table, family: Option<&Table>, alias: &str, missing: &[String]) -> bool {
    let Some(family) = family else { return false };
    for field in LISTS {
        if words(family.get(field)).iter().any(|name| name == alias) {
            // the list of a program replaces that of its family
            let mut all = if table.contains_key(field) { words(table.get(field)) } else { words(family.get(field)) };
            all.extend(missing.iter().cloned());
            table.insert(field, list(&all));
            return true;
        }
    }
    for field in KEYED {
        let keyed = family.get(field).and_then(Item::as_table_like);
        let found =
            keyed.and_then(|keyed| keyed.iter().find(|(key, _)| key.split_whitespace().any(|name| name == alias)));
        if let Some((_, value)) = found {
            insert_keyed(table, field, &missing.join(" "), value.clone());
            return true;
        }
    }
    false
}

fn insert_keyed(table: &mut Table, field: &str, names: &str, value: Item) {
    let keyed = table.entry(field).or_insert_with(|| {
        let mut empty = Table::new();
        empty.set_dotted(true);
        Item::Table(empty)
    });
    if let Some(keyed) = keyed.as_table_like_mut() {
        keyed.insert(names, value);
    }
}

/// Whether the name can stand in a row.
fn usable(name: &str) -> bool {
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
        complete(document.as_table_mut(), &manual, &BTreeSet::new(), None);
        let now = document.to_string();
        for line in [
            "option.\"-o --output\" = \"write\"",
            "unreviewed = \"--load=\"",
            "inert = \"-v --verbose\"",
            "takes = \"--sort\"",
            "inert = \"--tags\"",
        ] {
            assert!(now.contains(line), "{line} in\n{now}");
        }
    }
}
