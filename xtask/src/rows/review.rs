//! Prints unreviewed options with what the documentation says about them, row by row.

use super::Sources;
use super::file::{names, words};
use super::manual::{Arity, Documented, Manual};
use anyhow::Result;
use std::path::Path;
use toml_edit::{Item, Table};

/// Fields that say what a row already knows.
const KNOWN: [&str; 9] = ["about", "style", "operands", "effects", "takes", "option", "flag", "stdin", "unknown"];

/// Prints the sheet of each row with options to review, or of a row that has no documentation.
pub fn print_sheets(commands: &Path, programs: &[String], sources: &Sources) -> Result<()> {
    for row in super::rows(commands, programs)? {
        let (manual, _) = sources.manual(&row.names());
        let manual = if row.has_subcommands() { manual } else { manual.flatten() };
        let label = row.names().join(", ");
        print_sheet(row.document.as_table(), &label, &manual);
        if let Some(family) = &row.family {
            print_subs(family.document.as_table(), &label, &manual);
        }
    }
    Ok(())
}

fn print_sheet(table: &Table, label: &str, manual: &Manual) {
    let waiting = words(table.get("unreviewed"));
    if !waiting.is_empty() || manual.is_empty() {
        println!("== {label}");
        if let Some(family) = table.get("include").and_then(Item::as_str) {
            println!("  family: {family}");
        }
        for (field, item) in KNOWN.iter().filter_map(|field| Some((field, table.get(field)?))) {
            println!("  {field} = {}", item.to_string().split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if manual.is_empty() {
            println!("  no documentation");
        }
    }
    let waits = |name: &String| waiting.iter().any(|word| word.trim_end_matches('=') == name);
    for option in manual.options.iter().filter(|option| option.names.iter().any(waits)) {
        println!("{}", line(option));
    }
    print_subs(table, label, manual);
}

fn print_subs(table: &Table, label: &str, manual: &Manual) {
    for sub in table.get("sub").and_then(Item::as_array_of_tables).into_iter().flatten() {
        let of_sub = names(sub);
        let mut documented = Manual::default();
        of_sub.iter().filter_map(|name| manual.subs.get(name)).for_each(|one| documented.merge(one.clone()));
        print_sheet(sub, &format!("{label} {}", of_sub.join("|")), &documented);
    }
}

fn line(option: &Documented) -> String {
    let value = match option.arity {
        Arity::None => String::new(),
        Arity::Optional => format!("[={}]", option.value),
        Arity::Required => format!("={}", option.value),
    };
    let about: String = option.about.chars().take(110).collect();
    format!("{} {value} | {about}", option.names.join(" "))
}
