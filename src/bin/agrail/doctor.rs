use crate::config::Config;
use anyhow::Result;
use std::process::ExitCode;
/// d
#[derive(Debug, clap::Args)]
pub struct Args {}
/// r
pub fn run(_: &Args, _: &Config) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
