//! `agrail tune`: which rules ask most, and what would pass without each of them.

use crate::audit::brief;
use crate::settings::Config;
use crate::show::plain;
use agrail::audit::{Entry, entries};
use agrail::check::Response;
use agrail::policy::Policy;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

/// Show which rules ask most, what would pass without each of them, and how to loosen it for a part.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of rules.
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Number of examples of each rule.
    #[arg(long, default_value_t = 3)]
    examples: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What one rule does.
#[derive(Debug, Default, serde::Serialize)]
struct Friction {
    rule: String,
    /// Decisions in which it asked.
    asked: usize,
    /// Those in which nothing else did: they would be allowed without it.
    alone: usize,
    /// Different actions among those.
    different: usize,
    /// The most frequent of them.
    examples: Vec<(usize, String)>,
    /// How to loosen it.
    loosen: String,
}

#[derive(Default)]
struct Counted {
    asked: usize,
    alone: BTreeMap<String, usize>,
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let folder = config.audit_folder()?;
    let mut rules: BTreeMap<String, Counted> = BTreeMap::new();
    let (mut all, mut asks) = (0_usize, 0_usize);
    entries(&folder, |entry| {
        all += usize::from(!entry.verdict.is_null());
        let stopping = stopping(&entry);
        if entry.verdict.get("decision").and_then(Value::as_str) != Some("ask") || stopping.is_empty() {
            return;
        }
        asks += 1;
        for rule in &stopping {
            let counted = rules.entry(rule.clone()).or_default();
            counted.asked += 1;
            if stopping.len() == 1 {
                *counted.alone.entry(plain(&brief(&entry.action))).or_default() += 1;
            }
        }
    })
    .with_context(|| {
        format!("there is no record of decisions in {}; run the guard for a while first", folder.display())
    })?;
    let policy = config.policy()?;
    let mut found: Vec<Friction> =
        rules.into_iter().map(|(rule, counted)| friction(rule, counted, &policy, args.examples)).collect();
    found.sort_by(|a, b| (b.alone, b.asked, &a.rule).cmp(&(a.alone, a.asked, &b.rule)));
    found.truncate(args.limit);
    if args.json {
        println!("{}", serde_json::json!({"decisions": all, "asks": asks, "rules": found}));
    } else {
        told(all, asks, &found);
    }
    Ok(ExitCode::SUCCESS)
}

/// The sources of what stopped a decision.
fn stopping(entry: &Entry) -> BTreeSet<String> {
    let findings = entry.verdict.get("findings").and_then(Value::as_array).into_iter().flatten();
    let stops =
        |finding: &&Value| matches!(finding.get("outcome").and_then(Value::as_str), Some("violation" | "unknown"));
    findings.filter(stops).filter_map(|finding| finding.get("by")?.as_str().map(str::to_owned)).collect()
}

fn friction(rule: String, counted: Counted, policy: &Policy, examples: usize) -> Friction {
    let alone = counted.alone.values().sum();
    let different = counted.alone.len();
    let mut most: Vec<(usize, String)> = counted.alone.into_iter().map(|(action, count)| (count, action)).collect();
    most.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    most.truncate(examples);
    let loosen = loosened(&rule, policy);
    Friction { rule, asked: counted.asked, alone, different, examples: most, loosen }
}

/// How an operator loosens a rule, in one line.
fn loosened(source: &str, policy: &Policy) -> String {
    let Some(id) = source.strip_prefix("policy:") else {
        return "approve what is right: agrail memory feedback ID approve".to_owned();
    };
    if id == "understood" {
        return "describe the programs that are not known: agrail learn tool NAME".to_owned();
    }
    let rules = policy.rules();
    let rule = rules.iter().find(|rule| rule.id == id);
    match rule.map(|rule| (rule.forbids, rule.response, rule.is_shipped())) {
        Some((true, Response::Ask(_), true)) => format!(
            "allow a part: a policy that permits with @allows(\"{id}\") and a condition (agrail policy init shows how)"
        ),
        Some((true, _, false)) => format!("it is yours: {}", rule.map(|rule| rule.file.as_str()).unwrap_or_default()),
        _ => "it cannot be loosened".to_owned(),
    }
}

fn told(all: usize, asks: usize, found: &[Friction]) {
    println!("{asks} of {all} recorded decisions asked");
    for one in found {
        println!(
            "\n{}  asked {} times, in {} of them alone ({} different actions)",
            one.rule, one.asked, one.alone, one.different
        );
        for (count, action) in &one.examples {
            println!("  {count:>5}  {action}");
        }
        println!("  {}", one.loosen);
    }
    if !found.is_empty() {
        println!("\nWhat would change is shown by: agrail policy try FILE");
    }
}
