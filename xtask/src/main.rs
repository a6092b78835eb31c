//! Work on the repository itself: `cargo xtask rows import|lint|observe ...`, `cargo xtask differ bash`,
//! `cargo xtask book`, `cargo xtask terminal`.

mod book;
mod differ;
mod rows;
mod terminal;
mod trace;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Work on the table of commands, and on the readers of source", disable_help_subcommand = true)]
enum Command {
    /// The rows of `commands/`
    #[command(subcommand)]
    Rows(rows::Command),
    /// Run generated programs and compare what happened with what their reading says
    Differ(differ::Options),
    /// Build the documentation as a book in target/book
    Book(book::Options),
    /// Record commands in a terminal as SVG
    Terminal(terminal::Options),
}

fn main() -> anyhow::Result<()> {
    agrail_roots::dispatch();
    match Command::parse() {
        Command::Rows(command) => rows::run(command),
        Command::Differ(options) => differ::run(&options),
        Command::Book(options) => book::run(&options),
        Command::Terminal(options) => terminal::run(&options),
    }
}
