//! `agrail memory`: shows and changes the memory, and takes feedback on verdicts.

use crate::settings::Config;
use crate::short;
use crate::show::plain;
use agrail::learn::{self, Feedback, Learnt};
use agrail::memory::{Entry, ImportAs, Memory};
use anyhow::{Context, Result, anyhow, bail};
use comfy_table::{ContentArrangement, Table, presets};
use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// How many of the newest decisions can be named by a part of their id.
const NEWEST: usize = 10_000;

/// Show or change the memory, or give feedback on a verdict.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// Database of the memory, instead of the configured one.
    #[arg(long, global = true, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show the history of the memory or of one entry; with --decisions, the verdicts.
    Log {
        /// Id of an entry.
        id: Option<String>,
        /// Maximum number of lines.
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// List verdicts instead of the history.
        #[arg(long)]
        decisions: bool,
    },
    /// Show one entry or one recorded verdict in full.
    Show {
        /// Id of an entry or a verdict.
        id: String,
    },
    /// List the entries that contain all of these words.
    Search {
        /// Words to search for.
        words: Vec<String>,
    },
    /// Show the difference between two versions of an entry.
    Diff {
        /// Id of the entry.
        id: String,
        /// Earlier version.
        from: u64,
        /// Later version.
        to: u64,
    },
    /// Restore an earlier version of an entry.
    Rollback {
        /// Id of the entry.
        id: String,
        /// Version to restore.
        version: u64,
        /// Content of the approval token file, if there is no terminal; entries with required checks need it.
        #[arg(long)]
        token: Option<String>,
    },
    /// Remove an entry from use; lessons cannot restore it.
    Quarantine {
        /// Id of the entry.
        id: String,
        /// Content of the approval token file, if there is no terminal; entries with required checks need it.
        #[arg(long)]
        token: Option<String>,
    },
    /// Add the shipped checklists, or those in TOML files; idempotent.
    Seed {
        /// Seed files.
        files: Vec<PathBuf>,
    },
    /// Write every entry as JSON lines.
    Export {
        /// Output file; default: standard output.
        file: Option<PathBuf>,
    },
    /// Import exported entries; they stay proposed unless --active is given.
    Import {
        /// File to import.
        file: PathBuf,
        /// Activate the entries at once.
        #[arg(long)]
        active: bool,
    },
    /// Show the size of the memory.
    Stats,
    /// Give feedback on a verdict: approve, reject, false-positive or incident.
    ///
    /// approve: exactly this action passes if policy only asks (--uses times, for --days days). Needs a terminal.
    /// reject: agrail asks about these targets from now on. incident: agrail denies them. false-positive: counts
    /// against the lessons behind the verdict. No feedback overrides a policy that denies.
    Feedback {
        /// Id of the verdict, its end or its beginning, or 'last'.
        verdict: String,
        /// Your feedback.
        #[arg(value_parser = ["approve", "reject", "false-positive", "incident"])]
        says: String,
        /// Number of uses of an approval.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        uses: u32,
        /// Number of days for which an approval is valid.
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=365))]
        days: u32,
        /// What was wrong with the action, as a statement without its subject: "deployed to depot-3", "told a guest that
        /// breakfast is free". What it and the action both name is what the rule is about; a model is asked whether it is
        /// true of later actions of like meaning, in whatever words.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Content of the approval token file, if there is no terminal.
        #[arg(long)]
        token: Option<String>,
    },
}

/// Runs the subcommand.
pub fn run(args: Args, config: &Config) -> Result<ExitCode> {
    let memory = match &args.memory {
        Some(path) => Memory::open_as_is(path)?,
        None => config.open_memory()?,
    };
    let who = std::env::var("USER").unwrap_or_else(|_| "operator".to_owned());
    match args.command {
        Command::Log { limit, decisions: true, .. } => decisions(&memory, limit, args.json)?,
        Command::Log { id, limit, .. } => log(&memory, id.as_deref(), limit, args.json)?,
        Command::Show { id } => show(&memory, &id)?,
        Command::Search { words } => list(&memory.search(&words.join(" "), 100)?, args.json)?,
        Command::Diff { id, from, to } => json(&memory.diff(&id, from, to)?)?,
        Command::Rollback { id, version, token } => {
            // an earlier version of a rule may stop less
            if memory.show(&id)?.checks.iter().any(|check| check.required) {
                may_approve(config, token.as_deref())?;
            }
            changed(&memory.rollback(&id, version, &who)?);
        }
        Command::Quarantine { id, token } => {
            // an agent must not remove a required check that restricts it
            if memory.show(&id)?.checks.iter().any(|check| check.required) {
                may_approve(config, token.as_deref())?;
            }
            changed(&memory.quarantine(&id, &who)?);
        }
        Command::Seed { files } => seed(&memory, &files)?,
        Command::Export { file } => export(&memory, file)?,
        Command::Import { file, active } => {
            let from = File::open(&file)
                .map_err(|e| anyhow!("{}: {e}; name a file that 'agrail memory export' wrote", file.display()))?;
            let how = if active { ImportAs::Active } else { ImportAs::Proposed };
            json(&memory.import(BufReader::new(from), how, &who)?)?;
        }
        Command::Stats => json(&memory.stats()?)?,
        Command::Feedback { verdict, says, uses, days, reason, token } => {
            let feedback = match says.as_str() {
                "approve" => {
                    may_approve(config, token.as_deref())?;
                    Feedback::Approve { uses, days }
                }
                "reject" => Feedback::Reject,
                "incident" => Feedback::Incident,
                _ => {
                    may_approve(config, token.as_deref())?;
                    Feedback::FalsePositive
                }
            };
            let verdict = decided(&memory, &verdict)?;
            give_feedback(&memory, &verdict, feedback, reason.as_deref(), &who)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The id of a recorded decision by a short name.
fn decided(memory: &Memory, given: &str) -> Result<String> {
    let newest = if given.len() >= 26 { 0 } else { NEWEST };
    let mut known: Vec<String> = memory.decisions(newest)?.into_iter().map(|record| record.id).collect();
    known.sort_unstable();
    short::named(given, &known)
}

fn give_feedback(memory: &Memory, verdict: &str, feedback: Feedback, reason: Option<&str>, who: &str) -> Result<()> {
    if reason.is_some() && !matches!(feedback, Feedback::Reject | Feedback::Incident) {
        bail!("--reason belongs to reject and incident; nothing was learnt");
    }
    let learnt = match reason {
        Some(reason) => memory.report(verdict, feedback, reason, who)?,
        None => learn::apply_feedback(memory, verdict, feedback, who)?,
    };
    match learnt {
        Learnt::Entry(entry) => {
            about(memory, verdict)?;
            changed(&entry);
            crate::learn::asks(memory, &entry.id)?;
        }
        Learnt::PolicyDecided(by) => {
            println!(
                "nothing was learnt: {by} decided, and memory cannot override it; see 'agrail policy explain {by}'"
            );
        }
    }
    Ok(())
}

/// Prints the action that got feedback: its effects, then the whole action.
fn about(memory: &Memory, verdict: &str) -> Result<()> {
    let record: serde_json::Value = serde_json::from_str(&memory.decision(verdict)?.record)?;
    let effects = record.pointer("/verdict/effects").and_then(serde_json::Value::as_array);
    let text = |value: &serde_json::Value, key: &str| {
        value.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    for effect in effects.into_iter().flatten() {
        println!("  would  {}", plain(&format!("{} {}", text(effect, "verb"), text(effect, "target"))));
    }
    let action = record.get("action").cloned().unwrap_or_default();
    println!("  action {}", agrail::untrusted::visible_json(&action));
    Ok(())
}

/// Refuses callers without a terminal or the operator's secret: an agent must not approve its own actions.
pub fn may_approve(config: &Config, token: Option<&str>) -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    let Some(file) = config.approval_token_file() else {
        bail!(
            "this needs a terminal, because an agent must not do it; to use it without one, set memory.approval_token_file and give --token"
        );
    };
    let secret = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let secret = secret.trim();
    if secret.len() < 16 {
        bail!("the secret in {} is shorter than 16 characters; make one with 'openssl rand -hex 16'", file.display());
    }
    if token.map(str::trim) != Some(secret) {
        bail!("--token is not the secret in memory.approval_token_file");
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

fn changed(entry: &Entry) {
    println!("{} version {} is {}: {}", entry.id, entry.version, entry.status.as_str(), plain(&entry.key.natural));
}

/// An empty table without lines.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}

fn log(memory: &Memory, id: Option<&str>, limit: usize, as_json: bool) -> Result<()> {
    let events = memory.log(id, limit)?;
    if as_json {
        return json(&events);
    }
    let mut rows = table(&["seq", "who", "what", "entry", "version"]);
    for event in &events {
        let version = event.version.map(|v| v.to_string()).unwrap_or_default();
        rows.add_row([
            event.seq.to_string(),
            plain(&event.who),
            plain(&event.what),
            event.entry.clone().unwrap_or_default(),
            version,
        ]);
    }
    println!("{rows}");
    Ok(())
}

fn decisions(memory: &Memory, limit: usize, as_json: bool) -> Result<()> {
    let records = memory.decisions(limit)?;
    if as_json {
        return json(&records);
    }
    let mut rows = table(&["verdict", "decision", "action", "reason"]);
    for record in &records {
        let value: serde_json::Value = serde_json::from_str(&record.record).unwrap_or_default();
        let text = |pointer: &str| {
            value.pointer(pointer).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).unwrap_or_default()
        };
        let action = ["/action/command", "/action/source", "/action"]
            .iter()
            .map(|p| text(p))
            .find(|t| !t.is_empty())
            .unwrap_or_default();
        let action: String = plain(&action).chars().take(60).collect();
        rows.add_row([record.id.clone(), record.decision.clone(), action, plain(&text("/verdict/reason"))]);
    }
    println!("{rows}");
    println!("give feedback with: agrail memory feedback VERDICT approve|reject|false-positive|incident");
    Ok(())
}

fn show(memory: &Memory, id: &str) -> Result<()> {
    match memory.show(id) {
        Ok(entry) => json(&entry),
        Err(missing) => match memory.decision(id) {
            Ok(record) => {
                let value: serde_json::Value = serde_json::from_str(&record.record)?;
                json(&value)
            }
            Err(_) => Err(missing.into()),
        },
    }
}

fn list(entries: &[Entry], as_json: bool) -> Result<()> {
    if as_json {
        return json(&entries);
    }
    let mut rows = table(&["entry", "version", "status", "kind of action", "checks"]);
    for entry in entries {
        let checks: Vec<&str> = entry.checks.iter().map(|c| c.name.as_str()).collect();
        rows.add_row([
            entry.id.clone(),
            entry.version.to_string(),
            entry.status.as_str().to_owned(),
            plain(&entry.key.natural),
            plain(&checks.join(", ")),
        ]);
    }
    println!("{rows}");
    Ok(())
}

fn seed(memory: &Memory, files: &[PathBuf]) -> Result<()> {
    if files.is_empty() {
        return json(&memory.seed_shipped()?);
    }
    for file in files {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        json(&memory.seed(&file.display().to_string(), &text)?)?;
    }
    Ok(())
}

fn export(memory: &Memory, file: Option<PathBuf>) -> Result<()> {
    match file {
        Some(file) => {
            let mut out =
                BufWriter::new(File::create(&file).with_context(|| format!("cannot write {}", file.display()))?);
            memory.export(&mut out)?;
            out.flush()?;
        }
        None => {
            memory.export(&mut std::io::stdout().lock())?;
        }
    }
    Ok(())
}
