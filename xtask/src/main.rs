//! Work on the repository itself: `cargo xtask rows import|lint|observe ...`.

mod rows;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Work on the table of commands", disable_help_subcommand = true)]
enum Command {
    /// The rows of `commands/`
    #[command(subcommand)]
    Rows(rows::Command),
}

fn main() -> anyhow::Result<()> {
    agrail_roots::dispatch();
    match Command::parse() {
        Command::Rows(command) => rows::run(command),
    }
}
