//! `agrail-eval perf`.
/// Measure.
#[derive(Debug, clap::Args)]
pub struct Args {}
/// Runs.
pub fn run(_: &Args) -> anyhow::Result<()> {
    Ok(())
}
