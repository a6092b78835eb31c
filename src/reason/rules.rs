//! The reasoner without a model: deterministic, microseconds.
//!
//! 1. The paraphrase consists of the verbs and target classes of the effects, without names.
//! 2. The checklist consists of the known checks and those that memory recalls.
//! 3. A policy with the name of a check answers it. A check from an operator's report is a violation if an effect
//!    recalled its entry. Any other check stays unknown; the tools supply facts for it.

use super::{Case, Checklist, Item, Reasoner, Recall};
use crate::check::{Answerer, Authority, Check, CheckKind, Evidence, Finding, Outcome, Reasoning, Response, Source};
use crate::effect::Kind;
use crate::effect::Verb;
use crate::llm::{Meter, ModelError};
use crate::machine::Class;
use crate::memory::{self, Key};
use crate::policy::{EffectFacts, Policy, TargetClass, TargetType};
use crate::tools::Toolbox;
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Name of the check that an operator's `reject` teaches: ask from then on.
pub(crate) const REJECTED: &str = "rejected by an operator";
/// Name of the check that an operator's `incident` teaches: deny from then on.
pub(crate) const INCIDENT: &str = "reported as an incident";
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
            // a report binds only if one of its effects recurs; similarity alone does not
            let by_effect = recalled.iter().any(|r| r.entry.id == entry.id && r.by_effect);
            let firm = recalled.iter().all(|r| r.entry.id != entry.id || r.firm);
            let check = Check {
                category: check.category,
                name: check.name,
                definition: check.definition,
                authority,
                required: check.required && by_effect,
                kind: CheckKind::Action,
            };
            if !items.iter().any(|i| i.check == check) {
                items.push(Item { check, entry: Some(entry), fixed: false, firm });
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

fn finding(item: &Item, outcome: Outcome, source: Source, reason: String) -> Finding {
    Finding::new(item.check.clone(), outcome, source, reason)
}

/// The violation of a check that an operator reported.
fn reported(item: &Item) -> Option<Finding> {
    let entry = item.entry.as_ref().filter(|_| item.check.required)?;
    let response = match item.check.name.as_str() {
        REJECTED => Response::Ask(Answerer::Person),
        INCIDENT if !item.firm => Response::Ask(Answerer::Person),
        INCIDENT => Response::Deny,
        _ => return None,
    };
    let reason = item.check.definition.clone();
    Some(Finding { response, ..finding(item, Outcome::Violation, Source::Memory(entry.id.clone()), reason) })
}

/// The answer of the policies with the name of the check, which the screen has evaluated already.
fn by_policy(case: &Case, item: &Item, policy: &Policy) -> Option<Finding> {
    let same = |f: &&Finding| f.check.name == item.check.name && f.outcome == Outcome::Violation;
    if let Some(found) = case.screened.iter().find(same) {
        return Some(finding(item, Outcome::Violation, found.source.clone(), found.reason.clone()).like(found));
    }
    let verbs: BTreeSet<Verb> = case.gathered.queries.iter().map(|q| q.verb).collect();
    let rule = policy.answers(&item.check.name, &verbs)?;
    let reason = "no policy of this check forbids it".to_owned();
    Some(finding(item, Outcome::Pass, Source::Policy(rule.to_owned()), reason))
}

/// An unknown finding with the facts of the tools about the targets, for the person who decides.
async fn by_tools(case: &Case, item: &Item, tools: &Toolbox) -> Finding {
    let reason = "no policy answers this check; the facts are attached".to_owned();
    let mut found = finding(item, Outcome::Unknown, Source::Reasoner(Reasoning::Rules), reason);
    for query in case.gathered.queries.iter().take(NAMED) {
        for (tool, answer) in tools.about(query).await {
            found.source = Source::Tool(tool.to_owned());
            found.evidence.push(Evidence { about: format!("{} {}", query.verb, query.name), says: answer });
        }
    }
    found
}

impl Finding {
    /// The finding with response, severity, advice and evidence of another one.
    fn like(mut self, other: &Self) -> Self {
        (self.response, self.declared) = (other.response, other.declared);
        self.advice.clone_from(&other.advice);
        self.evidence.clone_from(&other.evidence);
        self
    }
}

/// The step-back paraphrase of the effects. It is the same for every action of the kind.
#[must_use]
pub(crate) fn paraphrase(queries: &[EffectFacts]) -> Key {
    let mut natural = BTreeSet::new();
    let mut command = BTreeSet::new();
    for query in queries {
        natural.insert(sentence(query));
        let flag = if query.recursive { " -r" } else { "" };
        let operation = if query.operation.is_empty() { String::new() } else { format!(" {}", query.operation) };
        let class = query.class.as_str().to_uppercase().replace('-', "_");
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

fn sentence(query: &EffectFacts) -> String {
    let place = match query.class {
        TargetClass::Path(class) => place(class),
        TargetClass::Url(_) | TargetClass::Kind(_) | TargetClass::Unresolved => "",
    };
    let thing = match (query.kind, query.target_type) {
        (Kind::Path, TargetType::Directory) => "a directory",
        (Kind::Path, TargetType::File) => "a file",
        (Kind::Path, _) => "something",
        (kind, _) => kind.as_str(),
    };
    let who = if query.runs_as_root { " as the superuser" } else { "" };
    let operation = if query.operation.is_empty() { String::new() } else { format!(" ({})", query.operation) };
    let deep = if query.recursive { " with everything below" } else { "" };
    let text = format!("{}{operation} {thing} {place}{deep}{who}", query.verb);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn place(class: Class) -> &'static str {
    match class {
        Class::OwnHome => "in the user's own home",
        Class::OtherHome => "in another person's home",
        Class::SuperuserHome => "in the superuser's home",
        Class::SystemBinary => "among the system's programs",
        Class::SystemLibrary => "among the system's libraries",
        Class::Boot => "of the boot loader",
        Class::Kernel => "of the kernel",
        Class::Root => "at the top of the file system",
        Class::SystemConfig => "of the system's settings",
        Class::SystemData => "of the system's data",
        Class::Credential => "that holds credentials",
        Class::Persistence => "that runs by itself later",
        Class::Shared => "in a shared folder",
        Class::Log => "that is a log",
        Class::Device => "that is a device",
        Class::Automation | Class::Guard | Class::Harmless | Class::Ordinary => "",
    }
}
