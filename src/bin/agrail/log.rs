//! The program's log for operators: `tracing` to standard error or to a file.

use anyhow::{Context as _, Result};
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Mutex;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Level and destination of the log.
#[derive(Debug, clap::Args)]
pub struct Log {
    /// Log level: off, error, warn, info (one line per decision), debug (each stage and its duration).
    #[arg(
        long,
        global = true,
        env = "AGRAIL_LOG",
        value_name = "LEVEL",
        default_value = "off",
        hide_env_values = true
    )]
    log: LevelFilter,
    /// Log to this file as JSON lines; default: standard error, or no log for a hook.
    #[arg(long, global = true, env = "AGRAIL_LOG_FILE", value_name = "FILE", hide_env_values = true)]
    log_file: Option<PathBuf>,
}

impl Log {
    /// Starts the log. `speaks`: standard error belongs to the host.
    pub fn begin(&self, speaks: bool) -> Result<()> {
        if self.log == LevelFilter::OFF || (speaks && self.log_file.is_none()) {
            return Ok(());
        }
        // log this program alone: messages of libraries may contain request data
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
