//! `agrail approvals`: questions that wait for a person.

use crate::config::Config;
use crate::memory::may_approve;
use crate::show::plain;
use agrail::approvals::{Approvals, Word};
use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets};
use std::process::ExitCode;

/// Questions that wait for a person: list them, approve one or reject it.
///
/// An approval lets exactly that action pass once, within a quarter of an hour, if the machine, the policies and the memory
/// are as they were. It needs a terminal, or the content of memory.approval_token_file: an agent has neither.
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
    /// What waits (default).
    List,
    /// It may run, once.
    Approve {
        /// Id of the verdict.
        id: String,
        /// Content of the approval token file, where there is no terminal.
        #[arg(long)]
        token: Option<String>,
    },
    /// It may not.
    Reject {
        /// Id of the verdict.
        id: String,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let approvals = Approvals::open(&config.approvals_path()?)?;
    let who = std::env::var("USER").unwrap_or_else(|_| "operator".to_owned());
    match &args.command {
        None | Some(Command::List) => {
            let waiting = approvals.waiting()?;
            if args.json {
                println!("{}", serde_json::to_string_pretty(&waiting)?);
                return Ok(ExitCode::SUCCESS);
            }
            let mut table = Table::new();
            table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
            table.set_header(["verdict", "agent", "for", "action", "why it is asked"]);
            for one in &waiting {
                let action: String = one.action.chars().take(200).collect();
                table.add_row([
                    &one.id,
                    &plain(&one.agent),
                    &plain(&one.identity),
                    &plain(&action),
                    &plain(&one.reason),
                ]);
            }
            println!("{table}\nanswer one: agrail approvals approve|reject VERDICT");
        }
        Some(Command::Approve { id, token }) => {
            may_approve(config, token.as_deref())?;
            approvals.answer(id, Word::Approved, &who)?;
            println!("approved: it may run once within 15 minutes, if nothing changes; let the agent try again");
        }
        Some(Command::Reject { id }) => {
            approvals.answer(id, Word::Rejected, &who)?;
            println!("rejected");
        }
    }
    Ok(ExitCode::SUCCESS)
}
