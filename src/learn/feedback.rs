//! An operator's feedback on a recorded verdict, as bounded evidence.
//!
//! 1. `approve`: exactly this action passes where policy only asks, for a limited number of uses and days. It answers
//!    an unknown program or script by the digest of its file, but never a forbid, another unknown, or an ask that
//!    policy reserves for a person each time.
//! 2. `reject`: from now on a person is asked about the same effects on the same targets and below them, and about what
//!    several rejections have in common (`induced.rs`).
//! 3. `incident`: from now on these effects are denied. A person is asked about what several incidents have in common,
//!    until enough of them stand behind it.
//! 4. `false-positive`: counts against the learnt checks that decided. A model's alarm is kept as a contrast, so that
//!    actions with the same kinds of effects are not stopped for the same reason. Policies are not changed.

use super::induced::{self, Reporter};
use crate::check::{Answerer, Outcome, Reasoning, Source};
use crate::clock::now_ms;
use crate::memory::{self, Authority, Change, Entry, Grant, Key, Lesson, Memory, MemoryError, Trigger};
use crate::reason::rules::{INCIDENT, REJECTED};
use crate::shape::{Event, Shape};
use crate::verdict::Decision;

use serde::Deserialize;

/// Feedback of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// The action was right; let it pass.
    Approve {
        /// Number of uses, at least 1.
        uses: u32,
        /// Validity in days.
        days: u32,
    },
    /// The guard should have asked.
    Reject,
    /// The action did harm.
    Incident,
    /// The action was stopped without reason.
    FalsePositive,
}

/// Why feedback was not learnt. The memory is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// The memory refused the lesson or failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The record of the verdict cannot be parsed.
    #[error("the record of verdict {id} cannot be parsed: {why}")]
    Record {
        /// Id of the verdict.
        id: String,
        /// The problem.
        why: String,
    },
    /// The verdict has no target by which the action could be recognised again.
    #[error("verdict {id} cannot be reported: it {why}; write a policy for it instead (agrail policy --help)")]
    NoTarget {
        /// Id of the verdict.
        id: String,
        /// The reason.
        why: &'static str,
    },
    /// The feedback cannot be applied to the verdict.
    #[error("verdict {id} cannot be approved: {why}")]
    NotApprovable {
        /// Id of the verdict.
        id: String,
        /// The reason.
        why: &'static str,
    },
}

/// Result of feedback.
#[derive(Debug)]
pub enum Learnt {
    /// An entry was created or changed.
    Entry(Box<Entry>),
    /// A policy decided, not memory, so nothing was learnt. Holds the source of the finding, or `none`.
    PolicyDecided(String),
}

/// The parts of a recorded verdict that feedback needs.
#[derive(Deserialize)]
pub(super) struct Record {
    /// Absent if it cannot be parsed.
    #[serde(default, deserialize_with = "readable")]
    pub(super) action: Option<crate::action::Action>,
    pub(super) identity: crate::action::Identity,
    pub(super) agent: String,
    pub(super) key: Key,
    /// What the action did. Absent in records of earlier releases.
    #[serde(default)]
    pub(super) events: Vec<Event>,
    #[serde(default)]
    observed: bool,
    #[serde(default)]
    kinds: Vec<(String, String)>,
    signature: Option<String>,
    /// What the action is and does, and what identifies its outline. Absent in records of earlier releases.
    pub(super) shape: Option<Shape>,
    pub(super) outline: Option<String>,
    /// Absent in records of the first release.
    approvable: Option<bool>,
    verdict: Said,
}

/// An action, unless it was recorded by another release.
fn readable<'de, D: serde::Deserializer<'de>>(field: D) -> Result<Option<crate::action::Action>, D::Error> {
    let value = serde_json::Value::deserialize(field)?;
    Ok(serde_json::from_value(value).ok())
}

#[derive(Deserialize)]
struct Said {
    decision: Decision,
    ask_of: Option<Answerer>,
    findings: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    check: Named,
    outcome: Outcome,
    by: Source,
}

#[derive(Deserialize)]
struct Named {
    category: String,
    name: String,
    definition: String,
}

/// Learns the feedback of the operator `who` on the verdict `id`.
///
/// # Errors
/// [`FeedbackError`]
pub fn apply_feedback(memory: &Memory, id: &str, feedback: Feedback, who: &str) -> Result<Learnt, FeedbackError> {
    learnt(memory, id, feedback, Reporter { who, reason: None })
}

impl Memory {
    /// Learns from an `incident` or a `reject`, with the reporter's reason: a statement about the action that leaves out its
    /// subject, such as `told a guest that breakfast is free`. Other feedback ignores the reason. What the reason and the action both name, such as a
    /// program, a table or a branch, is what the rule is about. A report that is known already gets the reason, unless
    /// somebody else gave one.
    ///
    /// # Errors
    /// As [`apply_feedback`].
    pub fn report(&self, id: &str, feedback: Feedback, reason: &str, who: &str) -> Result<Learnt, FeedbackError> {
        learnt(self, id, feedback, Reporter { who, reason: Some(reason) })
    }
}

fn learnt(memory: &Memory, id: &str, feedback: Feedback, by: Reporter<'_>) -> Result<Learnt, FeedbackError> {
    let record = recorded(memory, id)?;
    let entry = match feedback {
        Feedback::Approve { uses, days } => approve(memory, id, &record, uses, days)?,
        Feedback::Reject => induced::report(memory, id, &record, by, REJECTED)?,
        Feedback::Incident => induced::report(memory, id, &record, by, INCIDENT)?,
        Feedback::FalsePositive => return false_positive(memory, id, &record, by.who),
    };
    Ok(Learnt::Entry(Box::new(entry)))
}

/// The record of a verdict.
pub(super) fn recorded(memory: &Memory, id: &str) -> Result<Record, FeedbackError> {
    let stored = memory.decision(id)?;
    let unreadable = |why: serde_json::Error| FeedbackError::Record { id: id.to_owned(), why: why.to_string() };
    serde_json::from_str(&stored.record).map_err(unreadable)
}

/// Whether a person may approve exactly the action on record.
pub(super) fn approvable_record(record: &Record) -> bool {
    check_approvable("", record).is_ok()
}

/// Refuses a verdict that nobody can approve for longer than once; returns the signature of its action.
pub(super) fn check_approvable(id: &str, record: &Record) -> Result<String, FeedbackError> {
    let cannot = |why| FeedbackError::NotApprovable { id: id.to_owned(), why };
    if record.verdict.decision != Decision::Ask {
        return Err(cannot("only an ask can be approved; a deny comes from a policy, and an allow needs no approval"));
    }
    let signature = record.signature.clone().ok_or_else(|| {
        cannot(
            "a part of it is known only at run time, or a program's file cannot be found and read; use constant words, \
             or let a person run it",
        )
    })?;
    if !record.approvable.unwrap_or(record.verdict.ask_of == Some(Answerer::Model)) {
        return Err(cannot("its policy requires a person to answer each time"));
    }
    Ok(signature)
}

fn approve(memory: &Memory, id: &str, record: &Record, uses: u32, days: u32) -> Result<Entry, FeedbackError> {
    let signature = check_approvable(id, record)?;
    Ok(memory.approve(&Grant {
        key: record.key.clone(),
        signature,
        principal: record.identity.name.clone(),
        project: Some(record.agent.clone()),
        uses,
        expires_ms: now_ms().saturating_add(i64::from(days).saturating_mul(86_400_000)),
        taught_by: format!("feedback:approve:{id}"),
        widening: None,
    })?)
}

fn false_positive(memory: &Memory, id: &str, record: &Record, who: &str) -> Result<Learnt, FeedbackError> {
    let speaks = |f: &&Found| matches!(f.outcome, Outcome::Violation | Outcome::Unknown);
    if let Some(found) = record
        .verdict
        .findings
        .iter()
        .find(|f| f.outcome == Outcome::Violation && f.by == Source::Reasoner(Reasoning::Llm))
    {
        return contrast(memory, id, record, who, found);
    }
    let learnt = record.verdict.findings.iter().filter(speaks).find_map(|f| Some((f, f.by.entry()?)));
    let Some((found, entry)) = learnt else {
        let policy =
            record.verdict.findings.iter().find(speaks).map_or_else(|| "none".to_owned(), |f| f.by.to_string());
        return Ok(Learnt::PolicyDecided(policy));
    };
    let reported = |entry: &Entry| {
        entry.authority == Authority::Learned && entry.checks.iter().any(|c| c.name == REJECTED || c.name == INCIDENT)
    };
    let mut changed = None;
    for known in record.verdict.findings.iter().filter(speaks).filter_map(|f| f.by.entry()) {
        let other = memory.show(known)?;
        let left = match induced::false_positive(memory, id, record, who, &other)? {
            // one operator contradicts another's report: the report is retired, and the log names who did it
            None if reported(&other) => Some(memory.retire(known, who)?),
            left => left,
        };
        changed = changed.or(left);
    }
    if let Some(entry) = changed {
        return Ok(Learnt::Entry(Box::new(entry)));
    }
    let current = memory.show(entry)?;
    let change = Change::Remove { category: found.check.category.clone(), name: found.check.name.clone() };
    let mut lesson = lesson(id, record, who, &found.check.definition, current.key.clone(), Vec::new(), vec![change]);
    lesson.entry = Some(entry.to_owned());
    Ok(Learnt::Entry(Box::new(memory.learn(&lesson)?)))
}

/// Keeps a model's false alarm as a contrast for actions with the same kinds of effects.
fn contrast(memory: &Memory, id: &str, record: &Record, who: &str, found: &Found) -> Result<Learnt, FeedbackError> {
    if record.observed {
        return Err(FeedbackError::NotApprovable {
            id: id.to_owned(),
            why: "the agent had read text that the user did not write, which may have influenced the alarm; reword \
                  the request and try again",
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
