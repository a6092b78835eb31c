//! `agrail policy`: write, check, try and explain policies.

mod lint;
pub mod prove;
mod trial;

use crate::check::own_name;
use crate::settings::{Config, default_file, is_of_project, source};
use crate::settled;
use agrail::check::{Answerer, Response};
use agrail::machine::Environment;
use agrail::policy::{Policy, PolicyError, Rule, Source};
use anyhow::{Context as _, Result, bail};
use comfy_table::{ContentArrangement, Table, presets};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A commented file of common wishes.
const WISHES: &str = include_str!("policy/wishes.cedar");

/// Write, check, try and explain policies.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a commented file of common wishes to start from.
    Init {
        /// File to write; default: policies.cedar beside the configuration file.
        file: Option<PathBuf>,
        /// Print JSON: the file that was written.
        #[arg(long)]
        json: bool,
    },
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
        /// Print JSON: a list of {file, example, expected}.
        #[arg(long)]
        json: bool,
    },
    /// Try each rule about a folder against commands that reach the same files in another way; exit code 2 if one is missed.
    Lint {
        /// Cedar files; default: the configured ones.
        files: Vec<PathBuf>,
        /// Root of the machine to inspect, read-only.
        #[arg(long, value_name = "DIR", default_value = "/")]
        root: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show which of the recorded decisions would change if these policies were used, too.
    Try {
        /// Cedar files, to be used beside the configured ones.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Root of the machine to inspect, read-only.
        #[arg(long, value_name = "DIR", default_value = "/")]
        root: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Prove statements about the policies for every effect that can be described; exit code 2 if one is refuted, with a case.
    /// Without options: what the shipped policies never do, with the configured policies beside them.
    Prove(prove::Args),
    /// Show one policy: its decision, its reason and its text.
    Explain {
        /// Id of the policy, as in "policy:ID" in a verdict.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    match &args.command {
        Command::Check { schema: true, .. } => print!("{}", Policy::schema_text()),
        Command::Init { file, json } => init(file.as_deref(), *json, config)?,
        Command::Check { files, json, .. } => {
            let policy = match files.as_slice() {
                [file] if is_of_project(file) => checked_project(file)?,
                files => checked(files, config)?,
            };
            list(&policy, *json)?;
        }
        Command::Lint { files, root, json } => return linted(files, root, *json, config),
        Command::Try { files, root, json } => {
            let mut sources = config.policy_sources()?;
            // a file that is in use already is tried as it is now
            for file in files {
                let mut new = source(file)?;
                let same =
                    |old: &Source| std::fs::canonicalize(&old.file).ok() == std::fs::canonicalize(&new.file).ok();
                new.organisation = sources.iter().any(|old| old.organisation && same(old));
                sources.retain(|old| !same(old));
                sources.push(new);
            }
            valid(&sources, config)?;
            return trial::run(config, Policy::load_without(&sources, &config.policy.disable)?, root, *json);
        }
        Command::Prove(args) => {
            return prove::run(args, |files| load(files, config));
        }
        Command::Test { files, json } => {
            let policy = load(files, config)?.proved()?;
            if *json {
                let line = |(file, example, expected): &(String, String, String)| serde_json::json!({"file": file, "example": example, "expected": expected});
                let all: Vec<serde_json::Value> = policy.examples().iter().map(line).collect();
                println!("{}", serde_json::to_string_pretty(&all)?);
                return Ok(ExitCode::SUCCESS);
            }
            for (file, what, expected) in policy.examples() {
                println!("ok  {file}: {what} -> {expected}");
            }
            println!("{} examples verified, {} policies", policy.examples().len(), policy.rules().len());
        }
        Command::Explain { id, json } => match id.strip_prefix("policy:").unwrap_or(id).rsplit_once('#') {
            Some((file, _)) if is_of_project(Path::new(file)) => {
                explain(&checked_project(Path::new(file))?, id, *json)?
            }
            _ => explain(&config.policy()?, id, *json)?,
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn load(files: &[PathBuf], config: &Config) -> Result<Policy> {
    let (sources, config) = chosen(files, config)?;
    Ok(match config {
        Some(config) => Policy::load_without(&sources, &config.policy.disable)?,
        None => Policy::load(&sources)?,
    })
}

/// The sources, and the configuration if they are its own.
fn chosen<'c>(files: &[PathBuf], config: &'c Config) -> Result<(Vec<Source>, Option<&'c Config>)> {
    if files.is_empty() {
        return Ok((config.policy_sources()?, Some(config)));
    }
    Ok((files.iter().map(|file| source(file)).collect::<Result<Vec<_>>>()?, None))
}

/// The policies, verified as a whole.
///
/// # Errors
/// All their problems at once.
fn checked(files: &[PathBuf], config: &Config) -> Result<Policy> {
    let (sources, of) = chosen(files, config)?;
    let none = std::collections::BTreeMap::new();
    problems(&Policy::problems(&sources, of.map_or(&none, |config| &config.policy.disable)))?;
    Ok(load(files, config)?.proved()?)
}

/// The policies of a project, verified.
///
/// # Errors
/// All their problems at once.
fn checked_project(file: &Path) -> Result<Policy> {
    let text = settled::text(file, "the policies of the project")?;
    let whole = std::fs::canonicalize(file).with_context(|| format!("cannot look up {}", file.display()))?;
    let folder = whole.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_string_lossy();
    problems(&Policy::problems_of_project(&folder, &text))?;
    Ok(Policy::of_project(&folder, &text)?)
}

fn valid(sources: &[Source], config: &Config) -> Result<()> {
    problems(&Policy::problems(sources, &config.policy.disable))
}

fn problems(found: &[(usize, PolicyError)]) -> Result<()> {
    let line = |(line, problem): &(usize, PolicyError)| match (line, problem) {
        // these name their place themselves
        (0, _) | (_, PolicyError::Syntax { .. } | PolicyError::Word { .. }) => problem.to_string(),
        (line, _) => {
            let text = problem.to_string();
            match text.split_once(": ") {
                Some((file, rest)) => format!("{file}:{line}: {rest}"),
                None => text,
            }
        }
    };
    match found {
        [] => Ok(()),
        [one] => bail!("{}", line(one)),
        more => bail!("{} problems\n  {}", more.len(), more.iter().map(line).collect::<Vec<_>>().join("\n  ")),
    }
}

fn init(file: Option<&Path>, json: bool, config: &Config) -> Result<()> {
    let beside = config.file.clone().or_else(default_file).map(|file| file.with_file_name("policies.cedar"));
    let Some(file) = file.map(Path::to_owned).or(beside) else {
        bail!("there is no home folder for the configuration; name the file: agrail policy init FILE");
    };
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let new = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
    let unwritten = || format!("cannot write {}; name another file, or move this one away", file.display());
    new.and_then(|mut new| new.write_all(WISHES.as_bytes())).with_context(unwritten)?;
    if json {
        println!("{}", serde_json::json!({ "file": file }));
        return Ok(());
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    println!("wrote {}\n", file.display());
    println!(
        "1. Take the wishes that are yours, and try them:  agrail policy check {0}\n{1:49} agrail policy lint {0}",
        file.display(),
        ""
    );
    println!("2. Use it; in the configuration file beside it:    [policy]\n{:50} files = [\"{name}\"]", "");
    Ok(())
}

fn linted(files: &[PathBuf], root: &Path, json: bool, config: &Config) -> Result<ExitCode> {
    let policy = checked(files, config)?;
    let own: Vec<&Rule> = policy.rules().into_iter().filter(|rule| !rule.is_shipped()).collect();
    let environment = Environment::open(root)?;
    let user = own_name(&environment)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let tried = runtime.block_on(lint::tried(&policy, &own, &environment, &user))?;
    runtime.shutdown_background();
    if json {
        println!("{}", serde_json::to_string(&tried)?);
    } else if tried.is_empty() {
        println!("none of the {} rules names a folder, so there is nothing to try", own.len());
    }
    for one in tried.iter().filter(|_| !json) {
        println!("{} about {}: stops {} of {} commands", one.rule, one.folder, one.stopped, one.tried);
        let commands = one.misses.iter().map(|miss| format!("  misses: {} ({})", miss.what, miss.command));
        commands.for_each(|line| println!("{line}"));
        if one.misses.len() > 2 {
            println!(
                "  a rule with 'action in [Action::\"change\"], resource in Folder::\"{}\"' stops all changes",
                one.folder
            );
        }
    }
    Ok(if tried.iter().all(|one| one.misses.is_empty()) { ExitCode::SUCCESS } else { ExitCode::from(2) })
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
        let says = match policy.disabled().contains_key(&rule.id) {
            true => "disabled".to_owned(),
            false => says(rule),
        };
        table.add_row([rule.id.as_str(), &says, rule.category.as_str(), rule.reason.as_str()]);
    }
    println!("{table}");
    for (id, reason) in policy.disabled() {
        println!("disabled: {id} ({reason})");
    }
    println!("{} policies are valid; digest {}", rules.len(), policy.digest());
    Ok(())
}

fn says(rule: &Rule) -> String {
    match (rule.forbids, rule.response) {
        (false, _) if !rule.allows.is_empty() => format!("allow what {} asks about", rule.allows.join(" and ")),
        (false, _) => "permit".to_owned(),
        (true, Response::Deny) => "deny".to_owned(),
        (true, Response::Ask(Answerer::Person)) => "ask a person".to_owned(),
        (true, Response::Ask(Answerer::Model)) => "ask".to_owned(),
    }
}

fn explain(policy: &Policy, id: &str, json: bool) -> Result<()> {
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
    if json {
        let text = policy.text(&rule.id);
        println!("{}", serde_json::json!({"policy": rule, "text": text, "disabled": policy.disabled().get(&rule.id)}));
        return Ok(());
    }
    println!("{} ({}, {})", rule.id, says(rule), rule.file);
    if let Some(reason) = policy.disabled().get(&rule.id) {
        println!("  disabled  {reason}");
    }
    println!("  category  {}\n  check     {}\n  reason    {}", rule.category, rule.check, rule.reason);
    if let Some(advice) = &rule.advice {
        println!("  instead   {advice}");
    }
    println!("\n{}", policy.text(&rule.id).unwrap_or_default());
    Ok(())
}
