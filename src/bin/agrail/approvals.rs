//! `agrail approvals`: questions that wait for a person.

use crate::config::Config;
use crate::memory::may_approve;
use crate::show::plain;
use agrail::approvals::{Approvals, Waiting, Word};
use anyhow::Result;
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

/// A question: what would happen, then the whole action.
fn asked(one: &Waiting) -> String {
    let mut text = format!("{}  {} for {}\n", one.id, plain(&one.agent), plain(&one.identity));
    text.push_str(&format!("  why     {}\n", plain(&one.reason)));
    for (place, effect) in one.effects.iter().enumerate() {
        let head = if place == 0 { "would" } else { "" };
        text.push_str(&format!("  {head:7} {}\n", plain(effect)));
    }
    let mark = if one.cut { " (cut: it cannot be approved)" } else { "" };
    text.push_str(&format!("  action{mark}  {}\n", plain(&one.action)));
    text
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
            for one in &waiting {
                println!("{}", asked(one));
            }
            match waiting.len() {
                0 => println!("nothing waits for an answer"),
                _ => println!("answer one: agrail approvals approve|reject VERDICT"),
            }
        }
        Some(Command::Approve { id, token }) => {
            may_approve(config, token.as_deref())?;
            let waiting = approvals.waiting()?.into_iter().find(|one| one.id == *id);
            approvals.answer(id, Word::Approved, &who)?;
            if let Some(one) = waiting {
                println!("{}", asked(&one));
            }
            println!("approved: it may run once within 15 minutes, if nothing changes; let the agent try again");
        }
        Some(Command::Reject { id }) => {
            approvals.answer(id, Word::Rejected, &who)?;
            println!("rejected");
        }
    }
    Ok(ExitCode::SUCCESS)
}
