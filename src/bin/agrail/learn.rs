//! `agrail learn`: shows the rules that were induced from reports, confirms them, and drafts rows about in-house tools.

use crate::memory::{may_approve, table};
use crate::settings::Config;
use crate::show::plain;
use agrail::memory::{DecisionRecord, Entry, Memory};
use agrail::policy::{Policy, Source};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Recorded decisions over which a rule or a widened approval is replayed.
pub const RECORD: usize = 2_000;
/// Most actions of the record that are shown for a rule.
pub const SHOWN: usize = 5;

/// Show or confirm the rules that operators' reports led to; draft rows about in-house tools.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the rules: what each covers, and whether it asks or denies.
    ///
    /// `agrail memory feedback VERDICT incident|reject` teaches them, and `false-positive` narrows them. A rule asks a
    /// person until four reports of different people support it, whoever is left out, or you confirm it. The reported
    /// action itself is denied at once.
    /// `agrail memory log|diff|rollback|quarantine RULE` show and undo each step.
    Rules {
        /// Also show the reports behind each rule and the recorded actions it would have stopped.
        #[arg(long)]
        explain: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the rules as Cedar policies, with their examples beside them, for review and version control.
    ///
    /// List the file under policy.files to have its policies judged like any other. Then they no longer depend on the
    /// memory: they neither decay nor narrow. What stays with the memory: the reported action itself is denied at once,
    /// and texts are recalled by meaning.
    Policy {
        /// The new file (`team.cedar`; the examples go to `team.examples.toml`), or `-` to print the policies.
        file: PathBuf,
        /// Only this rule.
        #[arg(long, value_name = "ID")]
        rule: Option<String>,
        /// Print JSON: the files, and how many policies and examples they have.
        #[arg(long)]
        json: bool,
    },
    Tool(crate::tool::Args),
    /// Answer the question how far a rule reaches; without an answer, show the question.
    ///
    /// A rule from few reports may be about all that they share, or about one fact of it. The question is the one about which
    /// the recorded actions that asked a person differ most. Without an answer the rule stays as it is.
    Question {
        /// Id of the rule.
        rule: String,
        /// `every`: the rule covers all of them, and asks. `only`: it covers no more than the second; needs a terminal,
        /// because it may narrow the rule.
        #[arg(value_parser = ["every", "only"])]
        answer: Option<String>,
        /// Content of the approval token file, if there is no terminal.
        #[arg(long)]
        token: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Confirm a rule, so that it denies instead of asking. Needs a terminal.
    Confirm {
        /// Id of the rule.
        rule: String,
        /// Content of the approval token file, if there is no terminal.
        #[arg(long)]
        token: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the subcommand.
pub fn run(args: Args, config: &Config) -> Result<ExitCode> {
    match args.command {
        Command::Tool(args) => crate::tool::run(&args, config)?,
        Command::Rules { explain, json } => rules(&config.open_memory()?, explain, json)?,
        Command::Policy { file, rule, json } => policy(&config.open_memory()?, &file, rule.as_deref(), json)?,
        Command::Question { rule, answer: None, json, .. } => {
            let memory = config.open_memory()?;
            if json {
                println!("{}", serde_json::to_string_pretty(&memory.question(&rule)?)?);
            } else if !asks(&memory, &rule)? {
                println!("there is no question about {rule}: no recorded action tells the answers apart");
            }
        }
        Command::Question { rule, answer: Some(answer), token, .. } => {
            if answer == "only" {
                may_approve(config, token.as_deref())?;
            }
            let who = std::env::var("USER").unwrap_or_else(|_| "operator".to_owned());
            match config.open_memory()?.answer_question(&rule, answer == "every", &who)? {
                Some(entry) => println!("{} version {}: {}", entry.id, entry.version, plain(&sentence(&entry))),
                None => bail!("there is no question about {rule}"),
            }
        }
        Command::Confirm { rule, token, json } => {
            let memory = config.open_memory()?;
            may_approve(config, token.as_deref())?;
            if memory.show(&rule)?.condition.is_none() {
                bail!("{rule} is no rule; list the rules with 'agrail learn rules'");
            }
            let who = std::env::var("USER").unwrap_or_else(|_| "operator".to_owned());
            let entry = memory.activate(&rule, &who)?;
            if json {
                println!("{}", json!({"rule": entry.id, "version": entry.version, "says": sentence(&entry)}));
                return Ok(ExitCode::SUCCESS);
            }
            println!("{} version {} denies from now on: {}", entry.id, entry.version, plain(&sentence(&entry)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the rules as policies. Neither file may exist, because an operator may have edited it.
fn policy(memory: &Memory, file: &Path, rule: Option<&str>, as_json: bool) -> Result<()> {
    let (policies, examples) = memory.policies(rule)?;
    if policies.is_empty() {
        match rule {
            Some(rule) => bail!("{rule} is no rule; list the rules with 'agrail learn rules'"),
            None => bail!("there are no rules yet; teach one: agrail memory feedback VERDICT incident"),
        }
    }
    if file == Path::new("-") {
        print!("{policies}");
        return Ok(());
    }
    let beside = file.with_extension("examples.toml");
    for path in [file, &beside] {
        if std::fs::symlink_metadata(path).is_ok() {
            bail!("{} exists already; name a file that does not exist yet", path.display());
        }
    }
    let name = file.display().to_string();
    let source =
        Source { file: name.clone(), text: policies.clone(), examples: Some(examples.clone()), organisation: false };
    let loaded = Policy::load(&[source]).context("the rules make no valid policies, so nothing was written")?;
    for (path, text) in [(file, &policies), (&beside, &examples)] {
        write_new(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let written = loaded.rules().iter().filter(|rule| rule.file == name).count();
    if as_json {
        let examples = loaded.examples().len();
        println!("{}", json!({"file": file, "examples_file": beside, "policies": written, "examples": examples}));
        return Ok(());
    }
    println!("{name}: policies: {written}; examples verified: {}", loaded.examples().len());
    println!("the examples hold actions on record: read {} before you share it", beside.display());
    println!("to have them judged, list the file under policy.files of the configuration");
    Ok(())
}

/// Writes a new file that only its owner reads.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut new = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    std::io::Write::write_all(&mut new, text.as_bytes())
}

fn rules(memory: &Memory, explain: bool, as_json: bool) -> Result<()> {
    let rules: Vec<Arc<Entry>> = memory.active()?.into_iter().filter(|entry| entry.condition.is_some()).collect();
    let record = if explain || as_json { memory.decisions(RECORD)? } else { Vec::new() };
    if as_json {
        let rules: Vec<_> = rules.iter().map(|rule| described(rule, &record)).collect();
        println!("{}", serde_json::to_string_pretty(&rules)?);
        return Ok(());
    }
    if rules.is_empty() {
        println!("there are no rules yet; teach one: agrail memory feedback VERDICT incident");
        return Ok(());
    }
    let mut table = table(&["rule", "stops", "how", "reports", "false positives"]);
    for rule in &rules {
        let Some(condition) = &rule.condition else { continue };
        table.add_row([
            rule.id.clone(),
            plain(&condition.sentence()),
            how(rule).to_owned(),
            condition.examples.len().to_string(),
            condition.against.len().to_string(),
        ]);
    }
    println!("{table}");
    if explain {
        for rule in &rules {
            explained(rule, &record);
            for line in memory.policies(Some(&rule.id))?.0.lines() {
                println!("  | {}", plain(line));
            }
        }
    }
    Ok(())
}

/// Shows the question about a rule, with the recorded actions that it is about and the command that answers it; false if
/// there is none.
pub fn asks(memory: &Memory, rule: &str) -> Result<bool> {
    let Some(question) = memory.question(rule)? else { return Ok(false) };
    println!("one question would help, but nothing depends on it. Does the rule cover");
    for (answer, says, now) in
        [("every", &question.every, question.covers_every), ("only", &question.only, !question.covers_every)]
    {
        println!("  {answer:5}  {}{}", plain(says), if now { "  (as it is now)" } else { "" });
    }
    println!("on record, a person was asked about these, which are in the first and not in the second:");
    for id in &question.others {
        println!("  {id}  {}", action(&memory.decision(id)?.record));
    }
    println!("answer with: agrail learn question {} every|only", question.rule);
    Ok(true)
}

fn sentence(rule: &Entry) -> String {
    rule.condition.as_ref().map(|condition| condition.sentence()).unwrap_or_default()
}

/// What reporters said was wrong.
fn reasons(rule: &Entry) -> Vec<&str> {
    rule.condition.as_ref().map(|condition| condition.reasons()).unwrap_or_default()
}

/// Whether a rule denies or asks.
fn how(rule: &Entry) -> &'static str {
    let rejected = rule.checks.iter().any(|check| check.name.starts_with("rejected"));
    match &rule.condition {
        Some(condition) if condition.is_firm() && !rejected => "denies",
        _ => "asks",
    }
}

/// The actions on record that a rule covers and that passed.
fn covered<'r>(rule: &Entry, record: &'r [DecisionRecord]) -> Vec<&'r DecisionRecord> {
    let condition = rule.condition.as_ref();
    let reported = |id: &str| condition.is_some_and(|c| c.examples.iter().any(|example| example.verdict == id));
    let covers = |decision: &&DecisionRecord| {
        decision.decision == "allow"
            && !reported(&decision.id)
            && condition.is_some_and(|condition| condition.covers_record(&decision.record))
    };
    record.iter().filter(covers).collect()
}

/// The action of a record, in at most 100 characters.
pub fn action(record: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(record).unwrap_or_default();
    let text = |pointer: &str| value.pointer(pointer).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    let said = ["/action/command", "/action/source", "/action/url", "/action"].iter().find_map(|p| text(p));
    plain(&said.unwrap_or_default()).chars().take(100).collect()
}

fn explained(rule: &Entry, record: &[DecisionRecord]) {
    let Some(condition) = &rule.condition else { return };
    println!("\n{} {}: {}", rule.id, how(rule), plain(&condition.sentence()));
    let said = |id: &str| record.iter().find(|d| d.id == id).map_or_else(String::new, |d| action(&d.record));
    for example in &condition.examples {
        println!("  reported by {}: {} {}", plain(&example.by), example.verdict, said(&example.verdict));
    }
    for reason in reasons(rule) {
        println!("  because: {}", plain(reason));
    }
    for example in &condition.against {
        println!("  false positive, by {}: {} {}", plain(&example.by), example.verdict, said(&example.verdict));
    }
    let covered = covered(rule, record);
    println!("  of the last {} decisions it would have stopped {} that passed", record.len(), covered.len());
    for decision in covered.iter().take(SHOWN) {
        println!("    {} {}", decision.id, action(&decision.record));
    }
}

fn described(rule: &Entry, record: &[DecisionRecord]) -> serde_json::Value {
    let covered: Vec<&str> = covered(rule, record).iter().map(|decision| decision.id.as_str()).collect();
    json!({
        "id": rule.id, "version": rule.version, "stops": sentence(rule), "how": how(rule), "reasons": reasons(rule),
        "condition": rule.condition, "covered": covered,
    })
}
