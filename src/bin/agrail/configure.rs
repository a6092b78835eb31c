//! `agrail config`: what is set, where it was set, and whether it works.

use crate::config::Config;
use crate::layers::{Setting, settings};
use anyhow::{Context as _, Result};
use clap::Subcommand;
use comfy_table::{Table, presets};
use std::io::Write as _;
use std::process::ExitCode;

/// Show what is set and where it was set, or try whether it works.
///
/// The configuration file is overridden by the environment (`AGRAIL_GUARD__ON_FAILURE=ask`), and both by
/// `--set guard.on_failure=ask`. Relative paths are relative to the file, where there is one.
///
///   agrail config show --origin
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print every setting that has a value, as TOML.
    Show {
        /// A table that says of each where it was set.
        #[arg(long)]
        origin: bool,
        /// The same as JSON: a list of {key, value, origin}.
        #[arg(long)]
        json: bool,
    },
    /// Read everything that it names, policies and their examples too, and say whether a guard can be built.
    Check,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let mut out = anstream::stdout();
    match args.what {
        What::Show { json: true, .. } => writeln!(out, "{}", serde_json::to_string_pretty(&settings(config)?)?)?,
        What::Show { origin: true, .. } => {
            let mut table = Table::new();
            table.load_preset(presets::NOTHING).set_header(["setting", "value", "set in"]);
            for Setting { key, value, origin } in settings(config)? {
                table.add_row([key, value.to_string(), origin]);
            }
            writeln!(out, "{table}")?;
        }
        What::Show { .. } => {
            for Setting { key, value, .. } in settings(config)? {
                writeln!(out, "{key} = {}", toml::Value::try_from(&value)?)?;
            }
        }
        What::Check => {
            let policy = config.policy()?.proved()?;
            let _ = config.builder(false)?.build()?;
            for token in &config.serve.tokens {
                let file = config.beside(&token.file);
                std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            }
            let file = config.file.as_deref().map_or_else(|| "the defaults".into(), |f| f.display().to_string());
            writeln!(out, "{file}: good; {} policies, digest {}", policy.rules().len(), policy.digest())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
