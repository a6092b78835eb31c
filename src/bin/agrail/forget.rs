//! `agrail forget`: removes a leaked secret from everything that the guard has written.

use crate::memory::may_approve;
use crate::settings::Config;
use agrail::approvals::Approvals;
use agrail::audit::Audit;
use agrail::memory::Memory;
use agrail::session::Sessions;
use agrail::untrusted::Leak;
use anyhow::{Context as _, Result};
use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Remove a leaked secret from log, memory, sessions and approvals; needs a terminal.
///
/// The guard redacts the secrets that it recognises before it writes. This removes one that it did not recognise. In the
/// log a tombstone takes the place of each entry that holds the secret, and the chain of hashes stays intact. Elsewhere a
/// mark takes the place of the secret. The secret is read from the terminal, without an echo, or from a file, so that it
/// stands in no history of a shell. Copies that you have made of these files are yours to change; and the secret should
/// be replaced all the same.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File that holds the secret; white space around it is ignored.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Secret of the operator, where there is no terminal.
    #[arg(long)]
    token: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    may_approve(config, args.token.as_deref())?;
    let leak = Leak::new(&secret(args)?)
        .context("a text of fewer than 6 characters may stand anywhere by chance; give a longer part of the secret")?;
    let who = "operator";
    let mut found = Vec::new();
    let audit = config.audit_folder()?;
    if audit.is_dir() {
        found.push(("log", Audit::open(&audit, false)?.remove(&leak, who)?));
    }
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    found.push(("memory", number(Memory::forget(&config.memory_path()?, &leak, who)?)));
    found.push(("sessions", number(Sessions::forget(&config.sessions_path()?, &leak)?)));
    found.push(("approvals", number(Approvals::forget(&config.approvals_path()?, &leak)?)));
    if args.json {
        let places: serde_json::Map<String, serde_json::Value> =
            found.iter().map(|(place, number)| ((*place).to_owned(), (*number).into())).collect();
        println!("{}", serde_json::to_string_pretty(&places)?);
        return Ok(ExitCode::SUCCESS);
    }
    for (place, number) in &found {
        println!("{number:6}  {place}");
    }
    match found.iter().map(|(_, number)| number).sum::<u64>() {
        0 => println!("the guard has not written it"),
        _ => println!("removed; replace the secret itself, because others may have read it"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The secret, from the file or else from the terminal.
fn secret(args: &Args) -> Result<String> {
    if let Some(file) = &args.file {
        return std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    }
    if std::io::stdin().is_terminal() {
        return rpassword::prompt_password("secret to remove (not shown): ").context("cannot read from the terminal");
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}
