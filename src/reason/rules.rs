//! The reasoner without a model: deterministic, microseconds.
//!
//! 1. The paraphrase is made from the effects: verbs and classes of targets, no names.
//! 2. The checklist is what the policies of these verbs check, and what memory recalls.
//! 3. A check is answered by the policy of that name; one that an operator's report brought is a violation
//!    where its entry was recalled by an effect; for any other the tools supply the facts, and it stays unknown.

use super::{Case, Checklist, Item, Reasoner, Recall};
use crate::check::{Authority, Check, Evidence, Finding, Outcome};
use crate::effect::Verb;
use crate::llm::{Meter, ModelError};
use crate::memory::{self, Key};
use crate::policy::{Policy, Query};
use crate::tools::Toolbox;
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Name of the check that an operator's `reject` teaches: asks from then on.
pub const REJECTED: &str = "rejected by an operator";
/// Name of the check that an operator's `incident` teaches: denies from then on.
pub const INCIDENT: &str = "reported as an incident";
/// Most effects that a paraphrase names.
const NAMED: usize = 12;

/// The reasoner without a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;

#[async_trait]
impl Reasoner for Rules {
    fn name(&self) -> &'static str {
        "rules"
    }

    async fn paraphrase(&self, case: &Case, _meter: &Meter) -> Result<Key, ModelError> {
        Ok(paraphrase(&case.gathered.queries))
    }

    async fn analyze(
        &self,
        _case: &Case,
        recalled: &[Recall],
        known: &[Item],
        meter: &Meter,
    ) -> Result<Checklist, ModelError> {
        let mut items: Vec<Item> = known.to_vec();
        let entries: Vec<_> = recalled.iter().map(|r| Arc::clone(&r.entry)).collect();
        for (check, entry) in memory::pooled(&entries, meter.limits().checks) {
            let authority = match entry.authority {
                memory::Authority::Seed => Authority::Seed,
                memory::Authority::Learned => Authority::Learned,
            };
            // a report binds where one of its effects recurs; nearness alone only reminds
            let by_effect = recalled.iter().any(|r| r.entry.id == entry.id && r.by_effect);
            let check = Check {
                category: check.category,
                name: check.name,
                definition: check.definition,
                authority,
                required: check.required && by_effect,
            };
            if !items.iter().any(|i| i.check == check) {
                items.push(Item { check, entry: Some(entry), fixed: false });
            }
        }
        Ok(Checklist { items, ..Checklist::default() })
    }

    async fn execute(
        &self,
        case: &Case,
        checklist: &[Item],
        policy: &Policy,
        tools: &Toolbox,
        _meter: &Meter,
    ) -> Result<Vec<Finding>, ModelError> {
        let mut findings = Vec::with_capacity(checklist.len());
        for item in checklist {
            let answered = reported(item).or_else(|| by_policy(case, item, policy));
            let finding = match answered {
                Some(finding) => finding,
                None => by_tools(case, item, tools).await,
            };
            findings.push(finding);
        }
        Ok(findings)
    }
}

fn finding(item: &Item, outcome: Outcome, by: String, reason: String) -> Finding {
    Finding {
        check: item.check.clone(),
        outcome,
        by,
        reason,
        advice: None,
        asks: false,
        person: false,
        declared: None,
        evidence: Vec::new(),
    }
}

/// An operator reported this before.
fn reported(item: &Item) -> Option<Finding> {
    let entry = item.entry.as_ref().filter(|_| item.check.required)?;
    let asks = match item.check.name.as_str() {
        REJECTED => true,
        INCIDENT => false,
        _ => return None,
    };
    let reason = item.check.definition.clone();
    Some(Finding { asks, person: asks, ..finding(item, Outcome::Violation, format!("memory:{}", entry.id), reason) })
}

/// The policies that answer a check of this name have spoken already.
fn by_policy(case: &Case, item: &Item, policy: &Policy) -> Option<Finding> {
    let same = |f: &&Finding| f.check.name == item.check.name && f.outcome == Outcome::Violation;
    if let Some(found) = case.screened.iter().find(same) {
        return Some(finding(item, Outcome::Violation, found.by.clone(), found.reason.clone()).like(found));
    }
    let verbs: BTreeSet<Verb> = case.gathered.queries.iter().map(|q| q.verb).collect();
    let rule = policy.answers(&item.check.name, &verbs)?;
    let reason = "no policy of this name speaks against it".to_owned();
    Some(finding(item, Outcome::Pass, format!("policy:{rule}"), reason))
}

/// What the tools know of the targets, for whoever decides.
async fn by_tools(case: &Case, item: &Item, tools: &Toolbox) -> Finding {
    let reason = "no policy answers it; the facts are attached".to_owned();
    let mut found = finding(item, Outcome::Unknown, "reasoner:rules".to_owned(), reason);
    for query in case.gathered.queries.iter().take(NAMED) {
        for (tool, answer) in tools.about(query).await {
            found.by = format!("tool:{tool}");
            found.evidence.push(Evidence { about: format!("{} {}", query.verb, query.name), says: answer });
        }
    }
    found
}

impl Finding {
    /// Asks and advises as another finding does.
    fn like(mut self, other: &Self) -> Self {
        (self.asks, self.person, self.declared) = (other.asks, other.person, other.declared);
        self.advice.clone_from(&other.advice);
        self.evidence.clone_from(&other.evidence);
        self
    }
}

/// The step-back form of some effects: the same for every action of the kind.
#[must_use]
pub fn paraphrase(queries: &[Query]) -> Key {
    let mut natural = BTreeSet::new();
    let mut command = BTreeSet::new();
    for query in queries {
        natural.insert(sentence(query));
        let flag = if query.recursive { " -r" } else { "" };
        let operation = if query.operation.is_empty() { String::new() } else { format!(" {}", query.operation) };
        let class = query.class.to_uppercase().replace('-', "_");
        command.insert(format!("{}{operation}{flag} {class}", short(&query.program)));
    }
    let join = |set: BTreeSet<String>, glue: &str| {
        let more = if set.len() > NAMED { format!("{glue}…") } else { String::new() };
        format!("{}{more}", set.into_iter().take(NAMED).collect::<Vec<_>>().join(glue))
    };
    let natural = if natural.is_empty() { "Do nothing".to_owned() } else { join(natural, "; ") };
    Key { natural, command: join(command, "; ") }
}

fn short(program: &str) -> String {
    program.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn sentence(query: &Query) -> String {
    let place = match query.class.as_str() {
        "own-home" => "in the user's own home",
        "other-home" => "in another person's home",
        "superuser-home" => "in the superuser's home",
        "system-binary" => "among the system's programs",
        "system-library" => "among the system's libraries",
        "boot" => "of the boot loader",
        "kernel" => "of the kernel",
        "root" => "at the top of the file system",
        "system-config" => "of the system's settings",
        "system-data" => "of the system's data",
        "credential" => "that holds credentials",
        "persistence" => "that runs by itself later",
        "shared" => "in a shared folder",
        "log" => "that is a log",
        "device" => "that is a device",
        _ => "",
    };
    let thing = match (query.kind.as_str(), query.target_type.as_str()) {
        ("path", "directory") => "a directory",
        ("path", "file") => "a file",
        ("path", _) => "something",
        (kind, _) => kind,
    };
    let who = if query.root { " as the superuser" } else { "" };
    let operation = if query.operation.is_empty() { String::new() } else { format!(" ({})", query.operation) };
    let deep = if query.recursive { " with everything below" } else { "" };
    let text = format!("{}{operation} {thing} {place}{deep}{who}", query.verb);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
