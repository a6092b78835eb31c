//! Proves statements about Cedar policies, or finds a case that refutes them. `agrail policy prove` starts it.
//!
//! 1. Standard input is one JSON object ([`job::Job`]): a schema, named sets of policies, and statements about two of
//!    them. Each line of standard output is one answer ([`job::Answer`]), in the order of the statements.
//! 2. Cedar's symbolic compiler translates both sets into a formula for each action of the schema, and a solver ([`solver`])
//!    looks for a case in which the statement is false. If there is none, the statement holds for every case.
//! 3. A case that is found is tried with Cedar itself, and then made as plain as it stays a case ([`plain`]).
//! 4. What cannot be decided is an error, never a proof.

mod job;
mod plain;
mod prove;
mod solver;

use anyhow::{Context as _, Result};
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("agrail-prove: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn run() -> Result<()> {
    // what `agrail doctor` asks
    if std::env::args().nth(1).as_deref() == Some("--solver") {
        println!("{}", solver::Solver::find()?);
        return Ok(());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let job: job::Job = serde_json::from_str(&text)
        .context("standard input is not a job; start 'agrail policy prove', which writes one")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(prove::all(&job, |answer| {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, answer)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }))
}
