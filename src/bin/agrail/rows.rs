//! What the table of programs knows, and how that was verified.

use agrail::effect::table::{Listed, Row, Table};
use anyhow::Result;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

/// A property of a row, and whether a row has it.
type Property = (&'static str, fn(&Row) -> bool);

const PROPERTIES: [Property; 6] = [
    ("rows", |_| true),
    ("complete: list all documented options", |row| row.listed == Listed::Complete),
    ("partial: may lack options", |row| row.listed == Listed::Partial),
    ("compared with documentation", is_compared),
    ("compared with documentation of a known version", |row| is_compared(row) && row.source.contains('(')),
    ("observed: the effects of an example were seen in a run", |row| !row.observed.is_empty()),
];

fn is_compared(row: &Row) -> bool {
    ["man page", "help", "fish", "fig"].iter().any(|source| row.source.contains(source))
}

/// Counts all rows, or shows how the row of one program was verified. Exit code 1: the program has no row.
pub fn print(program: Option<&str>, out: &mut dyn Write) -> Result<ExitCode> {
    let table = Table::shipped();
    let Some(program) = program else {
        count(table, out)?;
        return Ok(ExitCode::SUCCESS);
    };
    let Some(row) = table.row(program) else {
        writeln!(out, "{program}: no row; the guard asks about it")?;
        return Ok(ExitCode::from(1));
    };
    let or = |text: &str, absent: &str| if text.is_empty() { absent.to_owned() } else { text.to_owned() };
    let listed = match row.listed {
        Listed::Complete => "complete: all documented options are listed",
        Listed::Partial => "partial: it may have more options",
    };
    writeln!(out, "{:14} {}", "names", row.names.join(", "))?;
    writeln!(out, "{:14} {listed}", "options")?;
    writeln!(out, "{:14} {}", "compared with", or(&row.source, "nothing"))?;
    writeln!(out, "{:14} {}", "observed in", or(&row.observed, "no run"))?;
    Ok(ExitCode::SUCCESS)
}

fn count(table: &Table, out: &mut dyn Write) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut counts = [0_usize; PROPERTIES.len()];
    for row in table.names().filter_map(|name| table.row(name)) {
        // a file has one row for all its names
        if !seen.insert(row.names.first().cloned()) {
            continue;
        }
        for (count, (_, holds)) in counts.iter_mut().zip(PROPERTIES) {
            *count += usize::from(holds(row));
        }
    }
    writeln!(out, "{:6} names of programs", table.names().count())?;
    for (count, (what, _)) in counts.iter().zip(PROPERTIES) {
        writeln!(out, "{count:6} {what}")?;
    }
    Ok(())
}
