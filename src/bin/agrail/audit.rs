//! `agrail audit`: the log of decisions.

use crate::settings::Config;
use crate::show::plain;
use agrail::audit::{Audit, AuditError, Entry, Verified, entries, replay, verify};
use agrail::machine::Environment;
use anyhow::{Context as _, Result, bail};
use comfy_table::{ContentArrangement, Table, presets};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Verify the log of decisions, show decisions, or replay them.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// Folder of the log, instead of the configured one.
    #[arg(long, global = true, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Verify every byte of the log; exit code 2 if something was changed.
    Verify {
        /// Head hash from an earlier verification; it must still be in the log.
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
    /// Show the newest decisions, newest last, or one decision in full.
    Show {
        /// Id of a verdict or its end, its number in the log, or 'last'.
        id: Option<String>,
        /// Maximum number of lines.
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// Only ask and deny, also those that shadow mode let pass, with a count by source.
        #[arg(long)]
        blocked: bool,
    },
    /// Set a log that fails verification aside unchanged and start a new one; needs a terminal.
    Reseal,
    /// Repeat logged decisions on this machine as it is now and show what changed; exit code 2 if a decision did.
    Replay {
        /// Id of a verdict or its end, or its number in the log; default: the newest.
        id: Option<String>,
        /// Repeat every decision in the log.
        #[arg(long, conflicts_with = "id")]
        all: bool,
        /// Root of the machine to inspect, read-only.
        #[arg(long, value_name = "DIR", default_value = "/")]
        root: PathBuf,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => config.audit_folder()?,
    };
    match &args.command {
        Command::Verify { expect } => verified(&folder, expect.as_deref(), args.json),
        Command::Show { id: Some(id), .. } => {
            let Some(entry) = found(&folder, id)? else {
                bail!("the log has no decision '{id}'; list them with 'agrail audit show'")
            };
            println!("{}", serde_json::to_string_pretty(&entry)?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Reseal => {
            crate::memory::may_approve(config, None)?;
            let why = verify(&folder).err().map_or_else(|| "it was intact".to_owned(), |problem| problem.to_string());
            let aside = Audit::reseal(&folder, &why)?;
            println!(
                "the old log is now {}; the first entry of the new log in {} records this",
                aside.display(),
                folder.display()
            );
            Ok(ExitCode::SUCCESS)
        }
        Command::Show { id: None, limit, blocked } => shown(&folder, *limit, *blocked, args.json),
        Command::Replay { id, all, root } => {
            let mut chosen = Vec::new();
            match (id, all) {
                (Some(id), _) => chosen.extend(found(&folder, id)?),
                (None, true) => {
                    entries(&folder, |entry| chosen.push(entry))?;
                }
                (None, false) => {
                    entries(&folder, |entry| chosen = vec![entry])?;
                }
            }
            if chosen.is_empty() {
                bail!("the log has no such decision; list them with 'agrail audit show'");
            }
            replayed(&chosen, root, config, args.json)
        }
    }
}

fn verified(folder: &std::path::Path, expect: Option<&str>, json: bool) -> Result<ExitCode> {
    match verify(folder) {
        Ok(good) => {
            if let Some(expect) = expect.filter(|hash| *hash != good.head) {
                // an older head must still be part of the chain
                let mut known = false;
                for file in std::fs::read_dir(folder)? {
                    let file = file?.path();
                    if file.extension().is_some_and(|ending| ending == "jsonl") {
                        let text = std::fs::read_to_string(file)?;
                        known |= text.lines().any(|line| line.get(9..73) == Some(expect));
                    }
                }
                if !known {
                    println!("the log is consistent, but does not contain the head {expect}");
                    return Ok(ExitCode::from(2));
                }
            }
            match json {
                true => {
                    let Verified { files, entries, removed, dropped, head } = &good;
                    let json = serde_json::json!({"entries": entries, "files": files, "removed": removed, "dropped": dropped,
                        "head": head});
                    println!("{json}");
                }
                false => println!("{}", said(&good)),
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(AuditError::Broken(broken)) => {
            match json {
                true => {
                    println!("{}", serde_json::json!({"file": broken.file, "line": broken.line, "why": broken.why}))
                }
                false => println!("CHANGED  {broken}"),
            }
            Ok(ExitCode::from(2))
        }
        Err(problem) => Err(problem.into()),
    }
}

/// What was verified, in one line.
fn said(good: &Verified) -> String {
    let Verified { files, entries, removed, dropped, head } = good;
    let removed = if *removed > 0 { format!(", of which an operator has removed {removed}") } else { String::new() };
    let dropped = match dropped {
        0 => String::new(),
        number => format!("; the log begins with entry {}, as its limits of age and size ask", number + 1),
    };
    format!("{entries} entries in {files} files{removed}, unchanged{dropped}; head {head}")
}

fn text<'a>(entry: &'a Entry, part: &str) -> &'a str {
    entry.verdict.pointer(part).and_then(serde_json::Value::as_str).unwrap_or_default()
}

/// The entry with a number, or that of a verdict by its id, the end of its id, or `last`: the newest of several.
fn found(folder: &std::path::Path, id: &str) -> Result<Option<Entry>> {
    let mut found = None;
    let wanted = id.to_ascii_uppercase();
    entries(folder, |entry| {
        let of = text(&entry, "/id");
        let ends = wanted.len() >= 4 && of.ends_with(&wanted) && !wanted.bytes().all(|byte| byte.is_ascii_digit());
        if ends || of == id || entry.seq.to_string() == id || id == "last" {
            found = Some(entry);
        }
    })?;
    Ok(found)
}

fn shown(folder: &std::path::Path, limit: usize, blocked: bool, json: bool) -> Result<ExitCode> {
    let mut newest = VecDeque::new();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let (mut all, mut stopped) = (0_usize, 0_usize);
    entries(folder, |entry| {
        let stops = matches!(text(&entry, "/decision"), "ask" | "deny");
        all += usize::from(!entry.verdict.is_null());
        stopped += usize::from(stops);
        if blocked && !stops {
            return;
        }
        if blocked {
            let by = entry.verdict.pointer("/findings").and_then(serde_json::Value::as_array).into_iter().flatten();
            let by = by.filter(|f| f.get("outcome").and_then(|o| o.as_str()) != Some("pass"));
            let by = by.filter_map(|f| f.get("by")?.as_str()).next().unwrap_or("nothing known");
            *reasons.entry(by.to_owned()).or_default() += 1;
        }
        newest.push_back(entry);
        if newest.len() > limit {
            newest.pop_front();
        }
    })?;
    let mut out = anstream::stdout();
    if json {
        for entry in &newest {
            writeln!(out, "{}", serde_json::to_string(entry)?)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["", "when", "decision", "action", "reason", "verdict"]);
    for entry in &newest {
        let action = entry.event.clone().unwrap_or_else(|| brief(&entry.action));
        let shadow = if entry.shadow { " (shadow)" } else { "" };
        let decision = format!("{}{shadow}", text(entry, "/decision"));
        let (reason, id) = (plain(text(entry, "/reason")), text(entry, "/id").to_owned());
        table.add_row([entry.seq.to_string(), when(entry.at_ms), decision, plain(&action), reason, id]);
    }
    writeln!(out, "{table}")?;
    if blocked {
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (by, count) in reasons {
            writeln!(out, "{count:6}  {}", plain(&by))?;
        }
        writeln!(out, "{stopped} of {all} decisions are ask or deny")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An action in one line.
pub fn brief(action: &serde_json::Value) -> String {
    let one = ["command", "url", "tool", "statement", "source", "text", "element"];
    let text = one.iter().find_map(|key| action.get(*key)?.as_str()).unwrap_or_default();
    text.chars().take(120).collect()
}

/// UTC, to the second.
fn when(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

fn replayed(chosen: &[Entry], root: &std::path::Path, config: &Config, json: bool) -> Result<ExitCode> {
    let environment = Environment::open(root)?;
    let guard = config.builder(false)?;
    let guard = if config.memory.off { guard } else { guard.memory(config.open_memory()?) };
    let guard = guard.with(|s| s.learning = agrail::learn::Learning::Frozen).build()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (mut differ, mut same) = (0, 0);
    for entry in chosen {
        let again = runtime
            .block_on(replay(&guard, entry, Some(environment.clone())))
            .with_context(|| format!("entry {}", entry.seq))?;
        let Some(again) = again else { continue };
        let changed = if again.changed.is_empty() { "nothing".to_owned() } else { again.changed.join(", ") };
        if json {
            let line = serde_json::json!({"seq": entry.seq, "id": text(entry, "/id"), "before": again.before,
                "now": again.verdict.decision, "same": again.same(), "changed": again.changed, "reason": again.verdict.reason});
            println!("{line}");
        } else if !again.same() || chosen.len() == 1 {
            let (seq, now) = (entry.seq, again.verdict.decision);
            println!("{seq}: was {}, is {now}; changed: {changed}; {}", again.before, plain(&again.verdict.reason));
        }
        if again.same() { same += 1 } else { differ += 1 }
    }
    runtime.shutdown_background();
    if !json {
        println!("{same} decisions are unchanged, {differ} have changed");
    }
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
}
