//! `agrail notify`: tells a program or an address about each new question.
//!
//! It is a process of its own: what hooks do takes no longer, and a program that hangs delays no decision.

use crate::settings::Config;
use crate::short;
use agrail::approvals::{Approvals, PendingApproval};
use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::process::{ExitCode, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

/// How often the queue is read.
const EVERY: Duration = Duration::from_secs(2);
/// Longest time for one notification.
const LIMIT: Duration = Duration::from_secs(10);
/// How often one is tried.
const TRIES: u32 = 3;

/// Tell a program, an address, or both about each new question; it runs until it is stopped
///
///   agrail notify -- sh -c 'notify-send "agrail: $(jq -r .reason)"'
///   agrail notify --url https://chat.example/hooks/agrail
///
/// The program gets one JSON object on its standard input, the address the same by POST: id, short,
/// agent, identity, reason, effects (lines), action, cut, asked_ms, until_ms (milliseconds since
/// 1970), approve and reject (the commands that answer). Secrets are redacted. What fails is tried
/// three times.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Address that gets each question by POST.
    #[arg(long, value_name = "URL", required_unless_present = "program")]
    url: Option<reqwest::Url>,
    /// Tell what is pending now, and end; exit code 1 if something could not be told.
    #[arg(long)]
    once: bool,
    /// Program and arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// What is told.
#[derive(Serialize)]
struct Message<'a> {
    #[serde(flatten)]
    question: &'a PendingApproval,
    short: &'a str,
    approve: String,
    reject: String,
}

impl<'a> Message<'a> {
    fn new(question: &'a PendingApproval) -> Self {
        let short = short::shown(&question.id);
        let answer = |word: &str| format!("agrail approvals {word} {short}");
        Self { question, short, approve: answer("approve"), reject: answer("reject") }
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, config: &Config) -> Result<ExitCode> {
    let approvals = Approvals::open(&config.approvals_path()?)?;
    let client = reqwest::Client::builder().timeout(LIMIT).redirect(reqwest::redirect::Policy::none()).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut told, mut failed) = (HashSet::new(), HashMap::<String, u32>::new());
        loop {
            let waiting = approvals.waiting()?;
            // answered and expired ones are forgotten
            told.retain(|id: &String| waiting.iter().any(|one| one.id == *id));
            for question in waiting.iter().filter(|one| !told.contains(&one.id)).collect::<Vec<_>>() {
                let Err(problem) = tell(args, &client, question).await else {
                    told.insert(question.id.clone());
                    continue;
                };
                anstream::eprintln!("agrail: question {} was not told: {problem:#}", short::shown(&question.id));
                let tries = failed.entry(question.id.clone()).or_default();
                *tries += 1;
                if *tries == TRIES {
                    told.insert(question.id.clone());
                }
            }
            if args.once {
                return Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) });
            }
            tokio::time::sleep(EVERY).await;
        }
    })
}

async fn tell(args: &Args, client: &reqwest::Client, question: &PendingApproval) -> Result<()> {
    let message = serde_json::to_vec(&Message::new(question))?;
    if let Some((program, rest)) = args.program.split_first() {
        started(program, rest, &message).await.with_context(|| format!("'{program}'"))?;
    }
    if let Some(url) = &args.url {
        let sent = client.post(url.clone()).header("content-type", "application/json").body(message).send().await?;
        if !sent.status().is_success() {
            bail!("{} answered {}", url.host_str().unwrap_or_default(), sent.status());
        }
    }
    Ok(())
}

async fn started(program: &str, arguments: &[String], message: &[u8]) -> Result<()> {
    let mut command = tokio::process::Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).kill_on_drop(true).spawn()?;
    let whole = async {
        if let Some(mut input) = child.stdin.take() {
            // a program need not read it
            let _ = input.write_all(message).await;
        }
        child.wait().await
    };
    match tokio::time::timeout(LIMIT, whole).await {
        Err(_) => bail!("it did not end within {} s", LIMIT.as_secs()),
        Ok(ended) if ended.as_ref().is_ok_and(std::process::ExitStatus::success) => Ok(()),
        Ok(ended) => bail!("it ended with {}", ended?),
    }
}
