//! `agrail config`: the settings, their origin, and whether they work.

use crate::accepted;
use crate::layers::{Setting, settings};
use crate::memory::may_approve;
use crate::settings::Config;
use agrail::audit::Audit;
use anyhow::{Context as _, Result};
use clap::Subcommand;
use comfy_table::{Table, presets};
use std::io::Write as _;
use std::process::ExitCode;

/// Show the settings and their origin, or check whether they work
///
/// The environment (`AGRAIL_GUARD__ON_FAILURE=ask`) overrides the configuration file, and `--set
/// guard.on_failure=ask` overrides both. Relative paths are relative to the file, if there is one.
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
        /// Print a table with the origin of each setting.
        #[arg(long)]
        origin: bool,
        /// Print JSON: a list of {key, value, origin}.
        #[arg(long)]
        json: bool,
    },
    /// Check that a guard can be built: load every configured file, including policies and their examples.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Accept the configuration as it is, although it is weaker than before.
    ///
    /// Hooks, the MCP proxy and the service do not start with a configuration that is weaker than the one they last started
    /// with. Needs a terminal, or the content of memory.approval_token_file.
    Accept {
        /// Content of the approval token file, if there is no terminal.
        #[arg(long)]
        token: Option<String>,
        /// Print JSON: the respects in which it is weaker.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let mut out = anstream::stdout();
    match &args.what {
        What::Accept { token, json } => {
            may_approve(config, token.as_deref())?;
            accepted::accept(config, |weaker| {
                let what = if weaker.is_empty() { "nothing is weaker".to_owned() } else { weaker.join("; ") };
                if !config.audit.off {
                    let who = std::env::var("USER").unwrap_or_else(|_| "operator".to_owned());
                    let audit = Audit::open(&config.audit_folder()?, false)?;
                    audit.note(&format!("{who} accepted the configuration: {what}"))?;
                }
                let said = match json {
                    true => serde_json::json!({ "weaker": weaker }).to_string(),
                    false => format!("accepted: {what}"),
                };
                Ok(writeln!(out, "{said}")?)
            })?;
        }
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
        What::Check { json } => {
            let policy = config.policy()?.proved()?;
            let _ = config.builder(false)?.build()?;
            for token in &config.serve.tokens {
                let file = config.beside(&token.file);
                std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            }
            if *json {
                let (rules, rows) = (policy.rules().len(), config.rows()?.len());
                let found = serde_json::json!({"file": config.file, "policies": rules, "rows": rows, "digest": policy.digest()});
                writeln!(out, "{found}")?;
                return Ok(ExitCode::SUCCESS);
            }
            let file = config.file.as_deref().map_or_else(|| "the defaults".into(), |f| f.display().to_string());
            let rows = match config.rows()?.len() {
                0 => String::new(),
                count => format!(", {count} rows about tools in {}", config.tools_folder()?.display()),
            };
            writeln!(out, "{file}: valid; {} policies{rows}, digest {}", policy.rules().len(), policy.digest())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
