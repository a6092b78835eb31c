//! `agrail approvals`: the queue of pending approvals.

use crate::memory::may_approve;
use crate::settings::Config;
use crate::show::plain;
use crate::{short, widen};
use agrail::approvals::{Answer, Approvals, PendingApproval};
use anyhow::{Result, bail};
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// List pending approvals, approve one or reject one.
///
/// An approval lets exactly that action pass once, within 15 minutes, if the machine, the policies and the memory are
/// unchanged. `widen` lets actions pass that differ from an approved one in arguments that you name. Both need a terminal,
/// or the content of memory.approval_token_file; an agent has neither.
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
    /// List pending approvals (default).
    List,
    /// Approve an action: it may run once.
    Approve {
        /// Id of the verdict, its end or its beginning, or 'last'.
        id: String,
        /// Content of the approval token file, if there is no terminal.
        #[arg(long)]
        token: Option<String>,
    },
    /// Reject an action.
    Reject {
        /// Id of the verdict, its end or its beginning, or 'last'.
        id: String,
    },
    /// List the approvals that could be widened: actions that were approved several times and differed in an argument.
    ///
    /// Answers in the queue, by `agrail memory feedback ... approve` and to the questions of a host count.
    Propose,
    Widen(widen::Args),
}

/// A pending approval as text: the effects first, then the whole action.
fn asked(one: &PendingApproval) -> String {
    let mut text = format!("{}  {} for {}\n", short::shown(&one.id), plain(&one.agent), plain(&one.identity));
    text.push_str(&format!("  why     {}\n", plain(&one.reason)));
    for (place, effect) in one.effects.iter().enumerate() {
        let head = if place == 0 { "would" } else { "" };
        text.push_str(&format!("  {head:7} {}\n", plain(effect)));
    }
    let mark = if one.cut { " (truncated: it cannot be approved)" } else { "" };
    text.push_str(&format!("  action{mark}  {}\n", plain(&one.action)));
    text
}

/// The id of a pending approval. One that is no longer pending keeps the name that was given, for the message.
fn named(given: &str, waiting: &[PendingApproval]) -> Result<String> {
    let known: Vec<String> = waiting.iter().map(|one| one.id.clone()).collect();
    if known.is_empty() {
        bail!("no approval is pending, so there is none with the id '{given}'; a pending one is valid for an hour");
    }
    short::named(given, &known)
}

/// Whether a person says yes in the terminal.
fn confirmed(question: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("'last' needs a terminal, because a person has to see what it is; give the id");
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
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
                0 => println!("no approval is pending"),
                _ => println!("answer one with: agrail approvals approve|reject ID"),
            }
        }
        Some(Command::Approve { id, token }) => {
            may_approve(config, token.as_deref())?;
            // an agent may ask about something else meanwhile
            let is_last = id == "last";
            let waiting = approvals.waiting()?;
            let id = named(id, &waiting)?;
            if let Some(one) = waiting.iter().find(|one| one.id == id) {
                println!("{}", asked(one));
            }
            if is_last && !confirmed("approve this?")? {
                bail!("nothing was approved");
            }
            approvals.answer(&id, Answer::Approved, &who)?;
            println!("approved: the action may run once within 15 minutes if nothing changes; let the agent try again");
        }
        Some(Command::Reject { id }) => {
            let waiting = approvals.waiting()?;
            let id = named(id, &waiting)?;
            if let Some(one) = waiting.iter().find(|one| one.id == id) {
                println!("{}", asked(one));
            }
            approvals.answer(&id, Answer::Rejected, &who)?;
            println!("rejected");
        }
        Some(Command::Propose) => widen::propose(config, &approvals, args.json)?,
        Some(Command::Widen(args)) => widen::widen(args, config)?,
    }
    Ok(ExitCode::SUCCESS)
}
