use anyhow::Result;
use std::process::ExitCode;
/// d
#[derive(Debug, clap::Args)]
pub struct Args {}
/// r
pub fn run(_: &Args) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
