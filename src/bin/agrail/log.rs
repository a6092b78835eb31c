//! What the program tells of its work, for operators: `tracing` to standard error or to a file.

use anyhow::{Context as _, Result};
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Mutex;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Where the log goes, and how much of it.
#[derive(Debug, clap::Args)]
pub struct Log {
    /// How much is told: off, error, warn, info (a line for each decision), debug (each stage and its time).
    #[arg(
        long,
        global = true,
        env = "AGRAIL_LOG",
        value_name = "LEVEL",
        default_value = "off",
        hide_env_values = true
    )]
    log: LevelFilter,
    /// A file for it, in lines of JSON. Default: standard error; of a hook, which speaks to its host there, nothing.
    #[arg(long, global = true, env = "AGRAIL_LOG_FILE", value_name = "FILE", hide_env_values = true)]
    log_file: Option<PathBuf>,
}

impl Log {
    /// Begins. `speaks`: standard error belongs to somebody else.
    pub fn begin(&self, speaks: bool) -> Result<()> {
        if self.log == LevelFilter::OFF || (speaks && self.log_file.is_none()) {
            return Ok(());
        }
        // of this program alone: what libraries tell may hold what was sent
        let ours = Targets::new().with_target("agrail", self.log);
        let layer = tracing_subscriber::fmt::layer().with_span_events(FmtSpan::CLOSE);
        let layer = match &self.log_file {
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                let file = file.with_context(|| {
                    format!("cannot write the log {}; name another with --log-file", path.display())
                })?;
                layer.json().with_writer(Mutex::new(file)).with_filter(ours).boxed()
            }
            None => layer.with_ansi(false).with_writer(std::io::stderr).with_filter(ours).boxed(),
        };
        tracing_subscriber::registry().with(layer).init();
        Ok(())
    }
}
