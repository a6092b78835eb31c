//! Which recorded decisions would change with other policies.

use crate::settings::Config;
use crate::show::plain;
use agrail::Guard;
use agrail::audit::{Entry, entries, replay};
use agrail::learn::Learning;
use agrail::machine::Environment;
use agrail::policy::Policy;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Most changes that are listed.
const LISTED: usize = 40;

/// A decision that changes.
#[derive(Debug, serde::Serialize)]
struct Change {
    seq: u64,
    now: String,
    then: String,
    action: String,
    reason: String,
}

/// Repeats all recorded decisions on this machine with the policies as they are and with the others, and compares both.
pub fn run(config: &Config, others: Policy, root: &Path, json: bool) -> Result<ExitCode> {
    let folder = config.audit_folder()?;
    let mut recorded = Vec::new();
    entries(&folder, |entry| recorded.push(entry)).with_context(|| {
        format!("there is no record of decisions in {}; run the guard for a while first", folder.display())
    })?;
    recorded.retain(|entry| !entry.verdict.is_null());
    if recorded.is_empty() {
        bail!("the record in {} has no decisions yet; run the guard for a while first", folder.display());
    }
    let environment = Environment::open(root)?;
    let guard = |policy: Policy| -> Result<Guard> {
        let builder = config.builder(false)?.policy(policy).with(|s| s.learning = Learning::Frozen);
        let builder = if config.memory.off { builder } else { builder.memory(config.open_memory()?) };
        Ok(builder.build()?)
    };
    let (before, after) = (guard(config.policy()?)?, guard(others)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (mut changes, mut all) = (Vec::new(), 0_usize);
    for entry in &recorded {
        let pair = runtime.block_on(async {
            let now = replay(&before, entry, Some(environment.clone())).await?;
            let then = replay(&after, entry, Some(environment.clone())).await?;
            anyhow::Ok(now.zip(then))
        });
        let Some((now, then)) = pair.with_context(|| format!("entry {}", entry.seq))? else { continue };
        all += 1;
        let (now, then) = (now.verdict, then.verdict);
        if now.decision != then.decision {
            let action = plain(&action(entry));
            let (now, decision, reason) = (now.decision.to_string(), then.decision.to_string(), plain(&then.reason));
            changes.push(Change { seq: entry.seq, now, then: decision, action, reason });
        }
    }
    runtime.shutdown_background();
    if json {
        println!("{}", serde_json::json!({"decisions": all, "changes": changes}));
    } else {
        told(all, &changes);
    }
    Ok(ExitCode::SUCCESS)
}

fn told(all: usize, changes: &[Change]) {
    let mut kinds: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for change in changes {
        *kinds.entry((&change.now, &change.then)).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.iter().map(|((now, then), count)| format!("{count} from {now} to {then}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    println!("{} of {all} recorded decisions would change{kinds}", changes.len());
    for change in changes.iter().take(LISTED) {
        println!(
            "  {:>6}  {} -> {}  {}\n          {}",
            change.seq, change.now, change.then, change.action, change.reason
        );
    }
    if changes.len() > LISTED {
        println!("  and {} more; --json lists all", changes.len() - LISTED);
    }
}

fn action(entry: &Entry) -> String {
    entry.event.clone().unwrap_or_else(|| crate::audit::brief(&entry.action))
}
