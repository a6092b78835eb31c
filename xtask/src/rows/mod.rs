//! Imports the options of programs from their documentation, and compares rows with it.
//!
//! Sources: the man page of the program (rendered by `man`), the output of `--help` if the program is installed, the
//! completions of fish, and the specs of `@withfig/autocomplete`. Names, arity and kind of value are facts; no text is
//! copied. Flags whose words do not suggest an effect are imported as inert. All other options are imported as
//! unreviewed: their effect is unknown, until a person reviews them (`review` prints what is documented about them,
//! `settle` enters the findings).

mod classify;
mod fig;
mod file;
mod fish;
mod manual;
mod observe;
mod review;
mod settle;
mod sources;
mod text;

use agrail_effects::{Effect, shell, table};
use anyhow::Result;
use file::RowFile;
use sources::Sources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const COMMANDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../commands");

/// `cargo xtask rows`
#[derive(clap::Subcommand)]
pub enum Command {
    /// Add the documented options that rows lack
    Import {
        /// Programs; default: all
        names: Vec<String>,
        #[command(flatten)]
        sources: Sources,
    },
    /// Print unreviewed options with their documentation
    Review {
        /// Programs; default: all
        names: Vec<String>,
        #[command(flatten)]
        sources: Sources,
    },
    /// Enter the effects of options, as reviewed, into rows
    Settle {
        /// Lines of: program and subcommands, TAB, options, TAB, kind (inert, takes, optional, unknown, option, flag,
        /// when; with `!` it replaces a role, too), TAB, roles
        file: PathBuf,
    },
    /// List the documented options that rows lack, and options of rows that no source documents
    Lint {
        /// Programs; default: all
        names: Vec<String>,
        /// Also list options of rows that no source documents
        #[arg(long)]
        extra: bool,
        /// Enter the versions of the documentation into the rows
        #[arg(long)]
        record: bool,
        #[command(flatten)]
        sources: Sources,
    },
    /// Run the examples of installed programs in disposable roots, and compare what happened with their effects
    Observe {
        /// Programs; default: all
        names: Vec<String>,
        /// Also run each option that is said to be harmless
        #[arg(long)]
        all: bool,
        /// Enter the observed version, and the options whose effect was not seen, into the rows
        #[arg(long)]
        record: bool,
    },
    /// Verify the examples of all rows
    Test,
    /// Count rows by the completeness of their options
    Count,
}

/// Runs one command.
pub fn run(command: Command) -> Result<()> {
    let commands = Path::new(COMMANDS);
    match command {
        Command::Import { names, sources } => import(commands, &names, &sources),
        Command::Review { names, sources } => review::print_sheets(commands, &names, &sources),
        Command::Settle { file } => settle::settle(commands, &file),
        Command::Lint { names, extra, record, sources } => lint(commands, &names, extra, record, &sources),
        Command::Observe { names, all, record } => observe::observe(commands, &names, all, record),
        Command::Test => test(commands),
        Command::Count => count(commands),
    }
}

fn import(commands: &Path, names: &[String], sources: &Sources) -> Result<()> {
    let mut done = 0;
    for row in rows(commands, names)? {
        // another program may have changed their family
        let mut row = RowFile::read_file(commands, row.path)?;
        let (manual, origin) = sources.manual(&row.names());
        if manual.is_empty() {
            continue;
        }
        let manual = if row.has_subcommands() { manual } else { manual.flatten() };
        row.complete(&manual);
        let complete = origin.full && row.is_reviewed();
        row.document.insert("options", toml_edit::value(if complete { "complete" } else { "partial" }));
        row.compared_with(&origin);
        row.save()?;
        done += 1;
    }
    println!("{done} rows compared with their documentation");
    Ok(())
}

fn lint(commands: &Path, names: &[String], extra: bool, record: bool, sources: &Sources) -> Result<()> {
    let (mut lacking, mut compared) = (0, 0);
    for mut row in rows(commands, names)? {
        let (manual, origin) = sources.manual(&row.names());
        if manual.is_empty() {
            continue;
        }
        if record {
            row.compared_with(&origin);
            row.save()?;
        }
        compared += 1;
        let gap = row.gap(&manual);
        lacking += usize::from(!gap.missing.is_empty());
        let listed = gap
            .missing
            .iter()
            .map(|one| ("lacks", one))
            .chain(gap.extra.iter().filter(|_| extra).map(|one| ("has besides", one)));
        for (what, (sub, option)) in listed {
            println!("{}{sub}: {what} {option} ({})", row.path.display(), origin.text());
        }
    }
    println!("{compared} rows compared, {lacking} lack options");
    Ok(())
}

/// As `cargo test --release table` does, but without a build of the engine.
fn test(commands: &Path) -> Result<()> {
    let (mut wrong, mut verified) = (0, 0);
    for file in rows(commands, &[])? {
        let row = file.row()?;
        verified += row.examples.len();
        for (command, found) in failing_examples(&row) {
            wrong += 1;
            println!("{}: {command}: {found:?}", file.path.display());
        }
    }
    anyhow::ensure!(wrong == 0, "{wrong} of {verified} examples differ");
    println!("{verified} examples hold");
    Ok(())
}

/// The examples of a row that do not hold, with the effects that were found. Only the compiled row can be tested: the
/// engine takes its table from the build.
fn failing_examples(row: &table::Row) -> Vec<(String, BTreeSet<String>)> {
    let mut failing = Vec::new();
    for example in &row.examples {
        let Some((command, expected)) = example.split_first() else { continue };
        let reading = shell::extract_effects(command, "user", "/home/user", "", &shell::NoFiles);
        let notation = |effect: &Effect| effect.to_table_notation().replace("program ", "");
        let found: BTreeSet<String> = reading.effects.iter().map(notation).collect();
        let plain = |text: &String| match text.split_once(' ') {
            Some((role, target)) => format!("{} {target}", role.split(':').next().unwrap_or(role)),
            None => text.clone(),
        };
        if found != expected.iter().map(plain).collect() {
            failing.push((command.clone(), found));
        }
    }
    failing
}

fn count(commands: &Path) -> Result<()> {
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(commands, &[])? {
        *states.entry(row.state().unwrap_or("partial, not compared").to_owned()).or_default() += 1;
    }
    states.iter().for_each(|(state, rows)| println!("{state}\t{rows}"));
    Ok(())
}

/// The rows of these programs, or all.
fn rows(commands: &Path, names: &[String]) -> Result<Vec<RowFile>> {
    if !names.is_empty() {
        return names.iter().map(|name| RowFile::open(commands, name)).collect();
    }
    let mut found = Vec::new();
    for folder in std::fs::read_dir(commands)? {
        let folder = folder?.path();
        if !folder.is_dir() || folder.ends_with("families") {
            continue;
        }
        for file in std::fs::read_dir(folder)? {
            found.push(RowFile::read_file(commands, file?.path())?);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
