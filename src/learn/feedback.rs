//! What an operator says of a recorded verdict, as bounded evidence.
//!
//! 1. `approve`: exactly this action passes where policy only asks, a few times, for some days. It never
//!    answers a forbid, an unknown, or an ask that policy wants of a person each time.
//! 2. `reject`: the same effects on the same targets, and below them, ask a person from now on.
//! 3. `incident`: they are denied from now on.
//! 4. `false-positive`: speaks against the learnt checks that decided; a model's alarm is kept as a contrast, so
//!    that actions with the same kinds of effects are not stopped for the same reason. Policies are not touched.

use super::now_ms;
use crate::memory::{self, Authority, Change, Entry, Grant, Key, Lesson, Memory, MemoryError, Trigger};
use crate::reason::rules::{INCIDENT, REJECTED};
use serde::Deserialize;

/// Entries to which one report is kept at most.
const PARTS: usize = 32;

/// What an operator says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// It was right to do; let it pass.
    Approve {
        /// How many times, at least 1.
        uses: u32,
        /// For how long.
        days: u32,
    },
    /// It should have asked.
    Reject,
    /// It did harm.
    Incident,
    /// It was stopped without reason.
    FalsePositive,
}

/// Why feedback was not learnt. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// The memory refused or failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The record does not hold what is needed.
    #[error("the record of {id} cannot be read: {why}")]
    Record {
        /// The verdict.
        id: String,
        /// The problem.
        why: String,
    },
    /// There is nothing by which it would be known again.
    #[error("{id} cannot be reported: it {why}; a rule for it belongs into a policy (agrail policy --help)")]
    NoTarget {
        /// The verdict.
        id: String,
        /// The reason.
        why: &'static str,
    },
    /// It cannot be approved.
    #[error("{id} cannot be approved: {why}")]
    NotApprovable {
        /// The verdict.
        id: String,
        /// The reason.
        why: &'static str,
    },
}

/// What came of feedback.
#[derive(Debug)]
pub enum Learnt {
    /// An entry was made or changed.
    Entry(Box<Entry>),
    /// A policy decided, not memory; its id.
    PolicyDecided(String),
}

#[derive(Deserialize)]
struct Record {
    identity: crate::action::Identity,
    agent: String,
    key: Key,
    targets: Vec<(String, String)>,
    #[serde(default)]
    observed: bool,
    #[serde(default)]
    kinds: Vec<(String, String)>,
    signature: Option<String>,
    /// Absent in records of the first release.
    approvable: Option<bool>,
    verdict: Said,
}

#[derive(Deserialize)]
struct Said {
    decision: String,
    ask_of: Option<String>,
    findings: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    check: Named,
    outcome: String,
    by: String,
}

#[derive(Deserialize)]
struct Named {
    category: String,
    name: String,
    definition: String,
}

/// Learns what `who` says of the verdict `id`.
///
/// # Errors
/// [`FeedbackError`]
pub fn learn(memory: &Memory, id: &str, feedback: Feedback, who: &str) -> Result<Learnt, FeedbackError> {
    let stored = memory.decision(id)?;
    let unreadable = |why: serde_json::Error| FeedbackError::Record { id: id.to_owned(), why: why.to_string() };
    let record: Record = serde_json::from_str(&stored.record).map_err(unreadable)?;
    let entry = match feedback {
        Feedback::Approve { uses, days } => approve(memory, id, &record, uses, days)?,
        Feedback::Reject => report(memory, id, &record, who, REJECTED)?,
        Feedback::Incident => report(memory, id, &record, who, INCIDENT)?,
        Feedback::FalsePositive => return false_positive(memory, id, &record, who),
    };
    Ok(Learnt::Entry(Box::new(entry)))
}

fn approve(memory: &Memory, id: &str, record: &Record, uses: u32, days: u32) -> Result<Entry, FeedbackError> {
    let cannot = |why| FeedbackError::NotApprovable { id: id.to_owned(), why };
    if record.verdict.decision != "ask" {
        return Err(cannot("only what was asked can be approved; a deny comes from a policy, and an allow needs none"));
    }
    let Some(signature) = record.signature.clone() else {
        return Err(cannot(
            "part of it is only decided while it runs, or is a program whose file cannot be found and read; put the constant \
             words in, or let a person run it",
        ));
    };
    if !record.approvable.unwrap_or(record.verdict.ask_of.as_deref() == Some("model")) {
        return Err(cannot("its policy wants a person to answer each time"));
    }
    Ok(memory.approve(&Grant {
        key: record.key.clone(),
        signature,
        principal: record.identity.name.clone(),
        project: Some(record.agent.clone()),
        uses,
        expires_ms: now_ms().saturating_add(i64::from(days).saturating_mul(86_400_000)),
        taught_by: format!("feedback:approve:{id}"),
    })?)
}

/// Only what changes something counts, if anything does; the targets themselves, not their whole class.
fn report(memory: &Memory, id: &str, record: &Record, who: &str, name: &str) -> Result<Entry, FeedbackError> {
    let passive = |verb: &str| matches!(verb, "read" | "list" | "variable" | "answer" | "connect" | "execute");
    let changes = record.targets.iter().any(|(verb, _)| !passive(verb));
    let mut triggers: Vec<Trigger> = (record.targets.iter())
        .filter(|(verb, _)| !changes || !passive(verb))
        .map(|(verb, class)| Trigger { verb: verb.clone(), class: class.clone() })
        .collect();
    if triggers.is_empty() || triggers.len() > memory::TRIGGERS * PARTS {
        let why =
            if triggers.is_empty() { "names no target that could be known again" } else { "has too many targets" };
        return Err(FeedbackError::NoTarget { id: id.to_owned(), why });
    }
    // the targets themselves before the folders above them
    triggers.sort_by_key(|trigger| trigger.class.starts_with("above "));
    let said = if name == INCIDENT {
        "an operator reported that doing this to the same target did harm"
    } else {
        "an operator rejected doing this to the same target"
    };
    let definition = said.to_owned();
    let change = Change::Add { category: "integrity".to_owned(), name: name.to_owned(), definition, required: true };
    // one report, one entry: what is said of another, or taken back, leaves it as it is
    let own = crate::digest([serde_json::to_vec(&triggers).unwrap_or_default()]);
    let own = own.get(..8).unwrap_or_default();
    let mut first = None;
    for (part, triggers) in triggers.chunks(memory::TRIGGERS).enumerate() {
        let part = if part == 0 { String::new() } else { format!(", part {}", part + 1) };
        let natural = format!("{name}: {} (targets {own}{part})", record.key.natural);
        let key = Key { natural, command: record.key.command.clone() };
        let lesson = lesson(id, record, who, name, key, triggers.to_vec(), vec![change.clone()]);
        let entry = memory.learn(&lesson)?;
        first = first.or(Some(entry));
    }
    first.ok_or_else(|| FeedbackError::NoTarget { id: id.to_owned(), why: "names no target" })
}

fn false_positive(memory: &Memory, id: &str, record: &Record, who: &str) -> Result<Learnt, FeedbackError> {
    let speaks = |f: &&Found| f.outcome == "violation" || f.outcome == "unknown";
    if let Some(found) = record.verdict.findings.iter().find(|f| f.outcome == "violation" && f.by == "reasoner:llm") {
        return contrast(memory, id, record, who, found);
    }
    let learnt = record.verdict.findings.iter().filter(speaks).find_map(|f| Some((f, f.by.strip_prefix("memory:")?)));
    let Some((found, entry)) = learnt else {
        let policy = record.verdict.findings.iter().find(speaks).map_or_else(|| "none".to_owned(), |f| f.by.clone());
        return Ok(Learnt::PolicyDecided(policy));
    };
    let reported = |entry: &Entry| {
        entry.authority == Authority::Learned && entry.checks.iter().any(|c| c.name == REJECTED || c.name == INCIDENT)
    };
    let current = memory.show(entry)?;
    if reported(&current) {
        // one operator's report against another's: it is taken out, and the log says by whom
        let others = record.verdict.findings.iter().filter(speaks).filter_map(|f| f.by.strip_prefix("memory:"));
        for other in others.filter(|other| *other != entry) {
            if reported(&memory.show(other)?) {
                memory.retire(other, who)?;
            }
        }
        return Ok(Learnt::Entry(Box::new(memory.retire(entry, who)?)));
    }
    let change = Change::Remove { category: found.check.category.clone(), name: found.check.name.clone() };
    let mut lesson = lesson(id, record, who, &found.check.definition, current.key.clone(), Vec::new(), vec![change]);
    lesson.entry = Some(entry.to_owned());
    Ok(Learnt::Entry(Box::new(memory.learn(&lesson)?)))
}

/// A model's alarm was false: kept as a contrast for actions with the same kinds of effects.
fn contrast(memory: &Memory, id: &str, record: &Record, who: &str, found: &Found) -> Result<Learnt, FeedbackError> {
    if record.observed {
        return Err(FeedbackError::NotApprovable {
            id: id.to_owned(),
            why: "the agent had read text of others, which may have shaped it; reword the request and try again",
        });
    }
    let triggers = record.kinds.iter().take(memory::TRIGGERS);
    let triggers = triggers.map(|(verb, class)| Trigger { verb: verb.clone(), class: class.clone() }).collect();
    let change = Change::Add {
        category: memory::CONTRAST.to_owned(),
        name: found.check.name.clone(),
        definition: found.check.definition.clone(),
        required: false,
    };
    let key = Key { natural: format!("benign: {}", record.key.natural), command: record.key.command.clone() };
    let lesson = lesson(id, record, who, "false-positive", key, triggers, vec![change]);
    Ok(Learnt::Entry(Box::new(memory.learn(&lesson)?)))
}

fn lesson(
    id: &str,
    record: &Record,
    who: &str,
    what: &str,
    key: Key,
    triggers: Vec<Trigger>,
    changes: Vec<Change>,
) -> Lesson {
    Lesson {
        entry: None,
        key,
        vector: None,
        triggers,
        changes,
        episode: memory::Episode {
            id: format!("{id}:{what}"),
            principal: who.to_owned(),
            project: Some(record.agent.clone()),
            tainted: false,
            clean: true,
        },
        taught_by: format!("feedback:{what}:{id}"),
        policy_checks: Vec::new(),
    }
}
