//! `agrail effects`: the effects of a command, without facts or policies.

use agrail::effect::shell;
use anyhow::Result;
use std::process::ExitCode;

/// List the effects of a shell command and how they were found, without a decision.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command line.
    command: String,
    /// Account name.
    #[arg(long, default_value = "user")]
    user: String,
    /// Working directory.
    #[arg(long, default_value = "/home/user")]
    cwd: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode> {
    let reading =
        shell::extract_effects(&args.command, &args.user, &format!("/home/{}", args.user), &args.cwd, &shell::NoFiles);
    if args.json {
        let effects: Vec<String> = reading.effects.iter().map(|effect| effect.to_table_notation()).collect();
        println!("{}", serde_json::json!({"effects": effects, "steps": reading.steps}));
        return Ok(ExitCode::SUCCESS);
    }
    for step in &reading.steps {
        anstream::eprintln!("{}", crate::show::plain(step));
    }
    for effect in &reading.effects {
        println!("{}", crate::show::plain(&effect.to_table_notation()));
    }
    Ok(ExitCode::SUCCESS)
}
