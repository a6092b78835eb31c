//! `agrail policy`: check, test and explain policies.

use crate::settings::{Config, source};
use agrail::check::{Answerer, Response};
use agrail::policy::{Policy, Rule};
use anyhow::{Result, bail};
use comfy_table::{ContentArrangement, Table, presets};
use std::path::PathBuf;
use std::process::ExitCode;

/// Check, test and explain policies.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Load policy files as the guard would and list their policies.
    Check {
        /// Cedar files; default: the configured ones.
        files: Vec<PathBuf>,
        /// Print the schema for policies instead.
        #[arg(long)]
        schema: bool,
        /// List as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Verify the examples beside the policies (for team.cedar: team.examples.toml) and print one line each.
    Test {
        /// Cedar files; default: the configured ones.
        files: Vec<PathBuf>,
    },
    /// Show one policy: its decision, its reason and its text.
    Explain {
        /// Id of the policy, as in "policy:ID" in a verdict.
        id: String,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    match &args.command {
        Command::Check { schema: true, .. } => print!("{}", Policy::schema_text()),
        Command::Check { files, json, .. } => {
            let policy = load(files, config)?.proved()?;
            list(&policy, *json)?;
        }
        Command::Test { files } => {
            let policy = load(files, config)?.proved()?;
            for (file, what, expected) in policy.examples() {
                println!("ok  {file}: {what} -> {expected}");
            }
            println!("{} examples verified, {} policies", policy.examples().len(), policy.rules().len());
        }
        Command::Explain { id } => explain(&config.policy()?, id)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn load(files: &[PathBuf], config: &Config) -> Result<Policy> {
    if files.is_empty() {
        return config.policy();
    }
    Ok(Policy::load(&files.iter().map(|f| source(f)).collect::<Result<Vec<_>>>()?)?)
}

fn list(policy: &Policy, json: bool) -> Result<()> {
    let rules = policy.rules();
    if json {
        println!("{}", serde_json::to_string_pretty(&rules)?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["policy", "decision", "category", "reason"]);
    for rule in &rules {
        table.add_row([rule.id.as_str(), says(rule), rule.category.as_str(), rule.reason.as_str()]);
    }
    println!("{table}");
    println!("{} policies are valid; digest {}", rules.len(), policy.digest());
    Ok(())
}

fn says(rule: &Rule) -> &'static str {
    match (rule.forbids, rule.response) {
        (false, _) => "permit",
        (true, Response::Deny) => "deny",
        (true, Response::Ask(Answerer::Person)) => "ask a person",
        (true, Response::Ask(Answerer::Model)) => "ask",
    }
}

fn explain(policy: &Policy, id: &str) -> Result<()> {
    let id = id.strip_prefix("policy:").unwrap_or(id);
    let rules = policy.rules();
    let Some(rule) = rules.iter().find(|r| r.id == id) else {
        let near: Vec<&str> =
            rules.iter().map(|r| r.id.as_str()).filter(|r| r.contains(id) || id.contains(r)).collect();
        let hint = if near.is_empty() {
            "list all policies with 'agrail policy check'".to_owned()
        } else {
            format!("did you mean: {}", near.join(", "))
        };
        bail!("there is no policy '{id}'; {hint}");
    };
    println!("{} ({}, {})", rule.id, says(rule), rule.file);
    println!("  category  {}\n  check     {}\n  reason    {}", rule.category, rule.check, rule.reason);
    if let Some(advice) = &rule.advice {
        println!("  instead   {advice}");
    }
    println!("\n{}", policy.text(&rule.id).unwrap_or_default());
    Ok(())
}
