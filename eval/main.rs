//! `agrail-eval`: replays labelled traces, scores the decisions, and measures the engine.

mod ablate;
#[cfg(feature = "train")]
mod classify;
mod detector;
mod hook;
mod import;
mod load;
mod model;
mod observed;
mod paper;
mod perf;
mod profiles;
mod remember;
mod report;
mod research;
mod run;
mod score;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Replay labelled agent traces against the guard and measure it.
#[derive(Debug, Parser)]
#[command(name = "agrail-eval", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ablate(ablate::Args),
    Detect(detector::detect::Args),
    Evade(detector::evade::Args),
    Import(import::Args),
    Run(run::Args),
    Load(load::Args),
    Perf(perf::Args),
    Research(research::Args),
    #[cfg(feature = "train")]
    TrainDetector(detector::train::Args),
    #[cfg(feature = "train")]
    TrainClassifier(classify::train::Args),
}

fn main() -> ExitCode {
    agrail::replay::sandbox::dispatch();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS };
        }
    };
    let done = match cli.command {
        Command::Ablate(args) => ablate::run(&args),
        Command::Detect(args) => detector::detect::run(&args),
        Command::Evade(args) => detector::evade::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Perf(args) => perf::run(&args),
        Command::Research(args) => research::run(&args),
        #[cfg(feature = "train")]
        Command::TrainDetector(args) => detector::train::run(&args),
        #[cfg(feature = "train")]
        Command::TrainClassifier(args) => classify::train::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("agrail-eval: {error:#}");
            ExitCode::from(1)
        }
    }
}
