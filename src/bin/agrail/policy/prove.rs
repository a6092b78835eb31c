//! `agrail policy prove`: statements about the policies, for every effect that can be described.
//!
//! 1. What is asked is written as Cedar sets ([`Policy::allowed_set`], [`Policy::undenied_set`]); `agrail-prove`, which lies
//!    beside this program, decides. It is a program of its own because the symbolic compiler doubles what has to be built.
//! 2. A statement that is not decided is a failure, like one that is refuted.

use agrail::policy::{Policy, Source};
use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// What the shipped policies never do.
const SHIPPED: &str = include_str!("../../../policy/base.statements.toml");
/// The word of each type that says least.
const PLAIN: [(&str, &str); 6] = [
    ("Class", "ordinary"),
    ("Destination", "none"),
    ("Kind", "path"),
    ("Known", "unknown"),
    ("Recovery", "none"),
    ("Type", ""),
];
/// Longest text of a case that is shown.
const SHOWN: usize = 60;

/// What is to be proved.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Cedar files; default: the configured ones.
    files: Vec<PathBuf>,
    /// A Cedar rule, or @FILE with rules: what it is about is never allowed without an answer. May be repeated.
    #[arg(long, value_name = "RULE")]
    never: Vec<String>,
    /// With --never: no answer can allow it either.
    #[arg(long, requires = "never")]
    denied: bool,
    /// Cedar files of before: what is allowed now was allowed with these, and what was denied is still denied.
    #[arg(long, value_name = "FILE")]
    no_weaker_than: Vec<PathBuf>,
    /// Print one JSON object for each statement.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shipped {
    never: Vec<Never>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Never {
    id: String,
    says: String,
    #[serde(default)]
    denied: bool,
    cases: String,
}

/// Everything that is asked of `agrail-prove`.
#[derive(Default, Serialize)]
struct Job {
    schema: &'static str,
    without: [&'static str; 1],
    sets: Map<String, Value>,
    plain: Map<String, Value>,
    statements: Vec<Value>,
    /// What each statement says, in words.
    #[serde(skip)]
    words: Vec<String>,
}

impl Job {
    fn new(policy: &Policy) -> Result<Self> {
        let mut job = Self { schema: Policy::schema_text(), without: ["event"], ..Self::default() };
        job.plain = PLAIN.iter().map(|(kind, word)| ((*kind).to_owned(), json!(word))).collect();
        job.sets.insert("allowed".to_owned(), json!(policy.allowed_set()?));
        job.sets.insert("undenied".to_owned(), json!(policy.undenied_set()?));
        Ok(job)
    }

    /// States that what `cases` is about is never allowed, or never even asked about.
    fn never(&mut self, id: &str, words: String, cases: &Source, denied: bool) -> Result<()> {
        self.sets.insert(id.to_owned(), json!(Policy::cases(cases)?));
        let left = if denied { "undenied" } else { "allowed" };
        self.statements.push(json!({ "id": id, "relation": "disjoint", "left": left, "right": id }));
        self.words.push(words);
        Ok(())
    }

    /// States that the policies allow nothing that these do not.
    fn no_weaker_than(&mut self, before: &Policy) -> Result<()> {
        let sets = [("allowed", before.allowed_set()?), ("undenied", before.undenied_set()?)];
        for (left, text) in sets {
            let right = format!("{left} before");
            self.sets.insert(right.clone(), json!(text));
            let id = if left == "allowed" { "no-weaker" } else { "no-fewer-denials" };
            self.statements.push(json!({ "id": id, "relation": "implies", "left": left, "right": right }));
            self.words.push(match left {
                "allowed" => "what is allowed now was allowed before".to_owned(),
                _ => "what was denied before is still denied".to_owned(),
            });
        }
        Ok(())
    }
}

/// An answer of `agrail-prove`.
#[derive(Deserialize)]
struct Answer {
    id: String,
    actions: usize,
    case: Option<Case>,
    problem: Option<String>,
}

#[derive(Deserialize)]
struct Case {
    action: String,
    principal: Thing,
    resource: Thing,
    context: Map<String, Value>,
}

#[derive(Deserialize)]
struct Thing {
    facts: Map<String, Value>,
    #[serde(default, rename = "in")]
    within: Vec<String>,
}

/// Proves what is asked; `load` loads files, or those that are configured.
pub fn run(args: &Args, load: impl Fn(&[PathBuf]) -> Result<Policy>) -> Result<ExitCode> {
    let mut job = Job::new(&load(&args.files)?)?;
    for (number, rule) in args.never.iter().enumerate() {
        let (file, text) = match rule.strip_prefix('@') {
            Some(file) => {
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
                (file.to_owned(), text)
            }
            None => ("--never".to_owned(), rule.clone()),
        };
        let rule = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let says = if args.denied { "always denied" } else { "never allowed without an answer" };
        let words = format!("{says}: {rule}");
        let source = Source { file, text, examples: None, organisation: false };
        job.never(&format!("never {}", number + 1), words, &source, args.denied)?;
    }
    if !args.no_weaker_than.is_empty() {
        job.no_weaker_than(&load(&args.no_weaker_than)?)?;
    }
    if job.statements.is_empty() {
        let shipped: Shipped = toml::from_str(SHIPPED)?;
        for one in shipped.never {
            let source = Source { file: one.id.clone(), text: one.cases, examples: None, organisation: false };
            job.never(&one.id, one.says, &source, one.denied)?;
        }
    }
    decided(&job, args.json)
}

/// Starts `agrail-prove` and prints what it answers.
fn decided(job: &Job, as_json: bool) -> Result<ExitCode> {
    let program = program()?;
    let unstarted = || format!("cannot start {}; install it beside this program", program.display());
    let mut child =
        Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().with_context(unstarted)?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("{} has no standard streams", program.display());
    };
    // it ends early if there is no solver, and says so
    let _ = serde_json::to_writer(&mut to, job).map_err(anyhow::Error::from).and_then(|()| Ok(to.flush()?));
    drop(to);
    let (mut held, mut refuted, mut undecided, mut actions) = (0, 0, 0, 0);
    for (line, words) in BufReader::new(from).lines().zip(&job.words) {
        let line = line?;
        let answer: Answer = serde_json::from_str(&line).context("agrail-prove gave an answer that cannot be read")?;
        actions = answer.actions;
        if as_json {
            crate::exit::print(format_args!("{line}"), "\n");
        }
        match (&answer.case, &answer.problem) {
            (None, None) => held += 1,
            (Some(_), _) => refuted += 1,
            (None, Some(_)) => undecided += 1,
        }
        if !as_json {
            show(&answer, words);
        }
    }
    if !child.wait()?.success() {
        bail!("the policies were not proved");
    }
    let answered = held + refuted + undecided;
    if answered != job.statements.len() {
        bail!("agrail-prove answered {answered} of {} statements", job.statements.len());
    }
    if !as_json {
        let all = format_args!(
            "{held} hold for every effect of all {actions} actions, {refuted} refuted, {undecided} undecided"
        );
        crate::exit::print(all, "\n");
    }
    Ok(match (refuted, undecided) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(1),
        _ => ExitCode::from(2),
    })
}

/// The program that proves.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(own.with_file_name("agrail-prove"))
}

/// What `agrail doctor` says of the solver: which one would be used.
///
/// # Errors
/// What is missing, and how to get it.
pub fn solver() -> Result<String> {
    let program = program()?;
    if !Path::new(&program).exists() {
        bail!("agrail-prove is not beside this program; build it with: cargo build --release -p agrail-prove");
    }
    let output = Command::new(&program).arg("--solver").stdin(Stdio::null()).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        bail!("{}", text(&output.stderr).trim_start_matches("agrail-prove: "));
    }
    Ok(text(&output.stdout))
}

fn show(answer: &Answer, words: &str) {
    let print = |line: std::fmt::Arguments<'_>| crate::exit::print(line, "\n");
    match (&answer.case, &answer.problem) {
        (None, None) => print(format_args!("holds      {}: {words}", answer.id)),
        (None, Some(problem)) => print(format_args!("undecided  {}: {words}\n             {problem}", answer.id)),
        (Some(case), _) => {
            print(format_args!("refuted    {}: {words}\n             by this case:", answer.id));
            print(format_args!("             action     {}", case.action));
            let resource = told(&case.resource.facts, &case.resource.within);
            let rows = [
                ("principal", told(&case.principal.facts, &[])),
                ("resource", resource),
                ("context", told(&case.context, &[])),
            ];
            for (name, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
                print(format_args!("             {name:10} {text}"));
            }
        }
    }
}

/// Facts in one line.
fn told(facts: &Map<String, Value>, within: &[String]) -> String {
    let facts = facts.iter().map(|(name, value)| match value {
        Value::Bool(true) => name.clone(),
        other => format!("{name} {}", shown(other)),
    });
    let within = within.iter().map(|folder| format!("in {}", shown(&json!(folder))));
    facts.chain(within).collect::<Vec<_>>().join(", ")
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}"));
    text.chars().take(SHOWN).collect()
}
