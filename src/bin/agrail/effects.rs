//! `agrail effects`: what a command would do, without facts or policies.

use agrail::effect::shell;
use anyhow::Result;
use std::process::ExitCode;

/// What would this shell command do? Lists its effects and how they were found; decides nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command line.
    command: String,
    /// Account name.
    #[arg(long, default_value = "user")]
    user: String,
    /// Working directory.
    #[arg(long, default_value = "/home/user")]
    cwd: String,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<ExitCode> {
    let reading = shell::read(&args.command, &args.user, &format!("/home/{}", args.user), &args.cwd, &shell::Nowhere);
    for step in &reading.steps {
        anstream::eprintln!("{}", crate::show::plain(step));
    }
    for effect in &reading.effects {
        println!("{}", crate::show::plain(&effect.brief()));
    }
    Ok(ExitCode::SUCCESS)
}
