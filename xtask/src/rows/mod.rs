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
mod review;
mod settle;
mod text;

use agrail_effects::{Effect, shell, table};
use anyhow::{Context as _, Result};
use file::RowFile;
use manual::Manual;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

const COMMANDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../commands");

/// Where the documentation lies.
#[derive(clap::Args)]
pub struct Sources {
    /// Folder of a man page tree with `man1`, `man8` ... instead of the system's
    #[arg(long)]
    man: Option<PathBuf>,
    /// Folder of fish completions
    #[arg(long, default_value = "/usr/share/fish/completions")]
    fish: PathBuf,
    /// Folder `build` of the package `@withfig/autocomplete`; needs Node.js
    #[arg(long)]
    fig: Option<PathBuf>,
    /// Also run installed programs with `--help`
    #[arg(long)]
    help: bool,
}

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
        /// when), TAB, roles
        file: PathBuf,
    },
    /// List the documented options that rows lack, and options of rows that no source documents
    Lint {
        /// Programs; default: all
        names: Vec<String>,
        /// Also list options of rows that no source documents
        #[arg(long)]
        extra: bool,
        #[command(flatten)]
        sources: Sources,
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
        Command::Lint { names, extra, sources } => lint(commands, &names, extra, &sources),
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
        row.document.insert("source", toml_edit::value(origin.text));
        row.save()?;
        done += 1;
    }
    println!("{done} rows compared with their documentation");
    Ok(())
}

fn lint(commands: &Path, names: &[String], extra: bool, sources: &Sources) -> Result<()> {
    let (mut lacking, mut compared) = (0, 0);
    for row in rows(commands, names)? {
        let (manual, origin) = sources.manual(&row.names());
        if manual.is_empty() {
            continue;
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
            println!("{}{sub}: {what} {option} ({})", row.path.display(), origin.text);
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

/// The sources that documented a program.
struct Origin {
    text: String,
    /// Whether one of them lists all options.
    full: bool,
}

impl Sources {
    /// The documented options of a program, from all sources. A source that fails is left out with a message.
    fn manual(&self, names: &[String]) -> (Manual, Origin) {
        let (mut manual, mut from, mut full) = (Manual::default(), Vec::new(), false);
        for name in names {
            for (source, complete, found) in [
                ("man page", true, self.man_page(name)),
                ("help", true, self.help_text(name)),
                ("fish", false, self.fish_file(name)),
                ("fig", false, self.fig_file(name)),
            ] {
                match found {
                    Ok(Some(found)) if !found.is_empty() => {
                        manual.merge(found);
                        full |= complete;
                        if !from.contains(&source) {
                            from.push(source);
                        }
                    }
                    Ok(_) => {}
                    Err(why) => eprintln!("{name}: {source}: {why:#}"),
                }
            }
        }
        (manual, Origin { text: from.join(", "), full })
    }

    fn man_page(&self, name: &str) -> Result<Option<Manual>> {
        let Some(tree) = &self.man else { return Ok(None) };
        let page = |name: &str| {
            ["1", "8", "6", "1p"]
                .iter()
                .flat_map(|section| {
                    let folder = tree.join(format!("man{}", section.chars().next().unwrap_or('1')));
                    [folder.join(format!("{name}.{section}.gz")), folder.join(format!("{name}.{section}"))]
                })
                .find(|file| file.is_file())
        };
        let Some(file) = page(name) else { return Ok(None) };
        let mut manual = text::parse_text(&render(&file)?);
        // `git push` is documented as git-push
        let prefix = format!("{name}-");
        for entry in std::fs::read_dir(tree.join("man1")).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            if let Some(sub) =
                file.strip_prefix(&prefix).and_then(|rest| rest.split_once(".1")).map(|(sub, _)| sub.to_owned())
            {
                manual.subs.entry(sub).or_default().merge(text::parse_text(&render(&entry.path())?));
            }
        }
        Ok(Some(manual))
    }

    fn help_text(&self, name: &str) -> Result<Option<Manual>> {
        if !self.help
            || !["/usr/bin", "/usr/sbin", "/bin", "/sbin"].iter().any(|folder| Path::new(folder).join(name).is_file())
        {
            return Ok(None);
        }
        Ok(Some(text::parse_text(&bounded(Process::new("timeout").args(["5", name, "--help"]))?)))
    }

    fn fish_file(&self, name: &str) -> Result<Option<Manual>> {
        let file = self.fish.join(format!("{name}.fish"));
        if !file.is_file() {
            return Ok(None);
        }
        Ok(Some(fish::parse_fish(name, &std::fs::read_to_string(&file).with_context(|| file.display().to_string())?)))
    }

    fn fig_file(&self, name: &str) -> Result<Option<Manual>> {
        let Some(folder) = &self.fig else { return Ok(None) };
        let file = folder.join(format!("{name}.js"));
        if file.is_file() { fig::parse_fig(&file).map(Some) } else { Ok(None) }
    }
}

/// A man page as plain text.
fn render(file: &Path) -> Result<String> {
    bounded(
        Process::new("timeout")
            .args(["20", "man", "-l", "-P", "cat"])
            .arg(file)
            .env("MANWIDTH", "160")
            .env("LC_ALL", "C.UTF-8"),
    )
}

/// Standard output of a process that gets no input and no terminal, up to a bound.
fn bounded(command: &mut Process) -> Result<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut bytes = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(text::MAX_TEXT as u64).read_to_end(&mut bytes)?;
    }
    let _ = child.kill();
    child.wait()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
