//! `agrail-eval import`: converts official data sets from their published formats into traces.
//!
//! 1. The parser of a format finds the records of a file or folder, each with its place.
//! 2. Each record becomes any number of traces, or a problem that names the missing field and the remedy.
//! 3. The trace keeps keys that the format does not define. A record that cannot be mapped is reported and counted.

mod advweb;
mod agentdojo;
mod eicu;
mod injecagent;
mod mind2web;
mod record;
mod safe_os;

use agrail::replay::Trace;
use anyhow::{Context, Result, ensure};
use record::{Problem, Record};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Number of problems that are printed; further ones are counted.
const SHOWN: usize = 20;

/// Convert an official data set into traces for `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Published format of the data set.
    #[arg(value_enum)]
    format: Format,
    /// Published file, or folder (agentdojo: run logs; safe-os and injecagent: files of the data set).
    path: PathBuf,
    /// Output file, one trace per line; default: standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// AGrail's Safe-OS: benign.json, system_sabotage.json, environment.json, prompt_injection.json.
    SafeOs,
    /// GuardAgent's Mind2Web-SC: sample_labeled_all.json or AGrail's mind2web_sc.json.
    Mind2webSc,
    /// GuardAgent's EICU-AC: eicu_ac.json, with the folder of agent logs beside it.
    EicuAc,
    /// AGrail's advweb.csv.
    Advweb,
    /// AgentDojo's run logs.
    Agentdojo,
    /// InjecAgent's test cases, or its results with `output` and `eval`.
    Injecagent,
}

/// Imported traces, and problems with other records.
#[derive(Debug, Default)]
struct Imported {
    traces: Vec<Trace>,
    records: usize,
    problems: Vec<String>,
}

impl Imported {
    /// Maps each record; keeps each problem with the record's place.
    fn each<'a>(&mut self, records: &'a [Record], map: impl Fn(&'a Record) -> Result<Vec<Trace>, Problem>) {
        for record in records {
            self.records += 1;
            match map(record) {
                Ok(traces) => self.traces.extend(traces),
                Err(problem) => self.problems.push(format!("{}: {problem}", record.place)),
            }
        }
    }
}

/// Imports the data set and reports the records that were left out.
///
/// # Errors
/// If nothing can be read or imported, or the traces cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let mut imported = match args.format {
        Format::SafeOs => safe_os::import(&args.path),
        Format::Mind2webSc => mind2web::import(&args.path),
        Format::EicuAc => eicu::import(&args.path),
        Format::Advweb => advweb::import(&args.path),
        Format::Agentdojo => agentdojo::import(&args.path),
        Format::Injecagent => injecagent::import(&args.path),
    }?;
    let mut ids = HashSet::new();
    let problems = &mut imported.problems;
    imported.traces.retain(|trace| {
        let new = ids.insert(trace.id.clone());
        if !new {
            problems.push(format!("{}: duplicate record", trace.id));
        }
        new
    });
    for problem in imported.problems.iter().take(SHOWN) {
        eprintln!("left out: {problem}");
    }
    if imported.problems.len() > SHOWN {
        eprintln!("left out: {} more records", imported.problems.len() - SHOWN);
    }
    eprintln!(
        "{} traces from {} records of {}; {} left out",
        imported.traces.len(),
        imported.records,
        args.path.display(),
        imported.problems.len()
    );
    ensure!(!imported.traces.is_empty(), "nothing could be imported from {}", args.path.display());
    match &args.out {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            write(&imported.traces, BufWriter::new(file)).with_context(|| path.display().to_string())
        }
        None => write(&imported.traces, std::io::stdout().lock()),
    }
}

fn write(traces: &[Trace], mut out: impl Write) -> Result<()> {
    for trace in traces {
        serde_json::to_writer(&mut out, trace)?;
        out.write_all(b"\n")?;
    }
    out.flush().context("cannot write the traces")
}

/// The file itself, or all files of a folder with one of the extensions, sorted.
fn files(path: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot open {}", folder.display()))? {
            let entry = entry?;
            // links are not followed, so there is no endless loop
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|end| endings.iter().any(|e| end == *e)) {
                found.push(entry.path());
            }
        }
    }
    ensure!(!found.is_empty(), "{} contains no file that ends in .{}", path.display(), endings.join(" or ."));
    found.sort();
    Ok(found)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
