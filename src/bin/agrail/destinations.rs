//! `agrail destinations`: places to which data may go because a person approved it.

use crate::settings::Config;
use crate::show::plain;
use agrail::approvals::Approvals;
use anyhow::{Result, bail};
use std::process::ExitCode;

/// List the places to which data may go, or revoke one.
///
/// A transfer of the user's or the project's data to a place that neither the request nor the project names asks. If a
/// person approves it, the host is known from then on, and transfers to it no longer ask.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List known places (default).
    List,
    /// Ask about a place again.
    Revoke {
        /// The host, as it is listed.
        host: String,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let approvals = Approvals::open(&config.approvals_path()?)?;
    match &args.command {
        None | Some(Command::List) => {
            let known = approvals.destinations()?;
            if args.json {
                println!("{}", serde_json::to_string_pretty(&known)?);
                return Ok(ExitCode::SUCCESS);
            }
            for one in &known {
                println!("{}  approved by {}", plain(&one.host), plain(&one.by));
            }
            if known.is_empty() {
                println!("no place is known; approve a transfer with: agrail approvals approve VERDICT");
            }
        }
        Some(Command::Revoke { host }) => {
            if !approvals.revoke(host)? {
                bail!("'{host}' is not a known place; list them with: agrail destinations");
            }
            println!("{} is asked about again", plain(host));
        }
    }
    Ok(ExitCode::SUCCESS)
}
