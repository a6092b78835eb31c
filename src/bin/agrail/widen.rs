//! `agrail approvals propose` and `agrail approvals widen`.

use crate::learn::{RECORD, SHOWN, action};
use crate::memory::{may_approve, table};
use crate::settings::Config;
use crate::show::plain;
use agrail::approvals::Approvals;
use agrail::memory::{DecisionRecord, Memory};
use anyhow::Result;

/// For how many uses and days a widened approval is good unless someone says otherwise.
pub const USES: u32 = 200;
pub const DAYS: u32 = 30;

/// Let actions pass that differ from an approved one only in arguments that you name.
///
/// Without --argument it lists the arguments of the action. The other value must be of the same kind: a number for a
/// number, a path in the same folder with the same extension for a path, an address of the same host, a name for a name.
/// Everything else must be equal: program and its file, options, the other arguments, working directory, identity, agent,
/// and what the action does. It never answers what a policy denies or reserves for a person.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id of the verdict that asked about the action.
    verdict: String,
    /// Number of an argument that may differ; repeat it for several.
    #[arg(long = "argument", value_name = "NUMBER")]
    arguments: Vec<usize>,
    /// Only show what it would let pass.
    #[arg(long)]
    preview: bool,
    /// Number of uses.
    #[arg(long, default_value_t = USES, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    uses: u32,
    /// Number of days for which it is valid.
    #[arg(long, default_value_t = DAYS, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    /// Content of the approval token file, if there is no terminal.
    #[arg(long)]
    token: Option<String>,
}

/// Lists the widenings that earlier answers suggest.
pub fn propose(config: &Config, approvals: &Approvals, as_json: bool) -> Result<()> {
    let memory = config.open_memory()?;
    let record = memory.decisions(RECORD)?;
    let mut answered = approvals.approved()?;
    answered.extend(config.open_sessions()?.permitted()?);
    let proposals = memory.proposals(&answered, &record)?;
    if as_json {
        println!("{}", serde_json::to_string_pretty(&proposals)?);
        return Ok(());
    }
    for proposal in &proposals {
        println!("approved {} times with different values of argument {}:", proposal.approved.len(), proposal.argument);
        shown(&proposal.approved, &record);
        println!("  agrail approvals widen {} --argument {}\n", proposal.verdict, proposal.argument);
    }
    if proposals.is_empty() {
        println!("nothing to propose: no action was approved three times with different values of one argument");
    }
    Ok(())
}

/// Lists the arguments of an action, or widens its approval.
pub fn widen(args: &Args, config: &Config) -> Result<()> {
    let memory = config.open_memory()?;
    let arguments = memory.arguments(&args.verdict)?;
    if args.arguments.is_empty() {
        println!("{}", action(&memory.decision(&args.verdict)?.record));
        let mut rows = table(&["argument", "value", ""]);
        for argument in &arguments {
            let note = if argument.opens { "" } else { "cannot be opened" };
            rows.add_row([argument.number.to_string(), plain(&argument.value), note.to_owned()]);
        }
        println!("{rows}");
        println!("name those that may differ: agrail approvals widen {} --argument NUMBER", args.verdict);
        return Ok(());
    }
    let opened = arguments.iter().filter(|argument| args.arguments.contains(&argument.number));
    preview(args, &memory, &opened.map(|argument| argument.value.as_str()).collect::<Vec<_>>())?;
    if args.preview {
        return Ok(());
    }
    may_approve(config, args.token.as_deref())?;
    let entry = memory.widen(&args.verdict, &args.arguments, args.uses, args.days)?;
    println!(
        "widened for {} uses within {} days; take it back with: agrail memory quarantine {}",
        args.uses, args.days, entry.id
    );
    Ok(())
}

fn preview(args: &Args, memory: &Memory, opened: &[&str]) -> Result<()> {
    let record = memory.decisions(RECORD)?;
    let passes = memory.would_pass(&args.verdict, &args.arguments, &record)?;
    println!("{}", action(&memory.decision(&args.verdict)?.record));
    for value in opened {
        println!("  with another value of the same kind for '{}'", plain(value));
    }
    println!("of the last {} decisions it would have let pass {} that asked:", record.len(), passes.len());
    shown(&passes, &record);
    println!("it passes no other identity, agent, program, option or effect, and nothing that a policy denies");
    Ok(())
}

fn shown(ids: &[String], record: &[DecisionRecord]) {
    for decision in record.iter().filter(|decision| ids.contains(&decision.id)).take(SHOWN) {
        println!("  {}  {}", decision.id, action(&decision.record));
    }
    if ids.len() > SHOWN {
        println!("  and {} more", ids.len() - SHOWN);
    }
}
