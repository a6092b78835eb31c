//! `agrail pause`: for a while, hooks stop nothing.
//!
//! 1. A person starts it, in a terminal or with the approval token, with a reason. It ends by itself, after a day at most.
//! 2. Every decision is still made and logged. Beginning and end are entries of the audit log.
//! 3. A record that cannot be read, or that lasts longer than a pause may, is no pause.

use crate::memory::may_approve;
use crate::settings::Config;
use crate::show::plain;
use agrail::audit::Audit;
use anyhow::{Context as _, Result, bail};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest pause, in minutes.
const LONGEST: u64 = 24 * 60;

/// Let the hooks stop nothing for a while, and log what they would have stopped.
///
/// It concerns the hooks of coding agents, not the service and the MCP proxy. It needs a terminal, or the content of
/// memory.approval_token_file; an agent has neither. Without a time it says whether a pause is on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long: 30m, 2h; at most 24h.
    #[arg(value_name = "TIME", value_parser = minutes)]
    time: Option<u64>,
    /// Why; the audit log keeps it.
    #[arg(long, value_name = "TEXT", requires = "time")]
    why: Option<String>,
    /// End the pause now.
    #[arg(long, conflicts_with_all = ["time", "why"])]
    end: bool,
    /// Content of the approval token file, if there is no terminal.
    #[arg(long)]
    token: Option<String>,
    /// Print JSON: the pause that is on afterwards, or null.
    #[arg(long)]
    json: bool,
}

/// A pause.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    from_ms: u64,
    until_ms: u64,
    why: String,
    by: String,
}

impl Pause {
    /// What a person reads beside a decision.
    pub fn says(&self) -> String {
        let left = self.until_ms.saturating_sub(now_ms()).div_ceil(60_000);
        format!("agrail is paused for {left} more minutes by {} ({})", plain(&self.by), plain(&self.why))
    }
}

fn minutes(text: &str) -> Result<u64, String> {
    let time: SignedDuration = text.parse().map_err(|_| "write a time such as 30m or 2h".to_owned())?;
    match u64::try_from(time.as_mins()) {
        Err(_) | Ok(0) => Err("a pause has at least one minute".to_owned()),
        Ok(minutes) if minutes > LONGEST || time > SignedDuration::from_hours(24) => {
            Err("a pause ends after 24h at most; set hook.shadow for a longer time".to_owned())
        }
        Ok(minutes) => Ok(minutes),
    }
}

/// The pause that is on, if any.
pub fn current(config: &Config) -> Option<Pause> {
    let text = std::fs::read_to_string(config.pause_path().ok()?).ok()?;
    let pause: Pause = serde_json::from_str(&text).ok()?;
    let now = now_ms();
    let short = pause.until_ms.saturating_sub(pause.from_ms) <= LONGEST * 60_000;
    (pause.from_ms <= now && now < pause.until_ms && short).then_some(pause)
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let file = config.pause_path()?;
    let by = std::env::var("USER").unwrap_or_else(|_| "operator".to_owned());
    if let Some(minutes) = args.time {
        let Some(why) = args.why.as_deref().map(str::trim).filter(|why| !why.is_empty()) else {
            bail!("give a reason for the log: agrail pause {minutes}m --why 'the deployment is watched'");
        };
        may_approve(config, args.token.as_deref())?;
        let now = now_ms();
        let pause = Pause { from_ms: now, until_ms: now + minutes * 60_000, why: why.to_owned(), by: by.clone() };
        log(config, &format!("paused for {minutes} minutes by {by}: {why}"))?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        std::fs::write(&file, serde_json::to_vec(&pause)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        let says = format!("{}; hooks stop nothing, and the audit log has what they would stop", pause.says());
        tell(args, config, &format!("{says}\nend it with: agrail pause --end"));
    } else if args.end {
        let was = current(config).is_some();
        match std::fs::remove_file(&file) {
            Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => {
                return Err(problem).with_context(|| format!("cannot remove {}", file.display()));
            }
            _ if was => {
                log(config, &format!("the pause was ended by {by}"))?;
                tell(args, config, "the pause has ended");
            }
            _ => tell(args, config, "no pause was on"),
        }
    } else {
        let says = current(config).map_or_else(|| "no pause is on".to_owned(), |pause| pause.says());
        tell(args, config, &says);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the pause that is on as JSON, or the words.
fn tell(args: &Args, config: &Config, words: &str) {
    match args.json {
        true => println!("{}", serde_json::json!(current(config))),
        false => println!("{words}"),
    }
}

fn log(config: &Config, event: &str) -> Result<()> {
    if config.audit.off {
        bail!("a pause needs the audit log, which records it; audit.off is set");
    }
    Audit::open(&config.audit_folder()?, false)?.note(event)?;
    Ok(())
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::minutes;

    #[test]
    fn times_are_minutes_or_hours() {
        assert_eq!((minutes("30m"), minutes("2h"), minutes("24h")), (Ok(30), Ok(120), Ok(1440)));
        assert_eq!((minutes("1h 30m"), minutes("1.5h")), (Ok(90), Ok(90)));
        for wrong in ["", "30", "m", "0m", "30s", "25h", "24h 30s", "-1h", "1 year", "99999999999999999999h"] {
            assert!(minutes(wrong).is_err(), "{wrong}");
        }
    }
}
