//! The verdict, and the gate that decides it: pure, no I/O, no clock.

use crate::check::{Authority, Finding, Outcome};
use serde::{Deserialize, Serialize};
use std::fmt;

/// May the action run? Ordered: the most severe wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may.
    Allow,
    /// A person (or a model, where the operator lists that cause) has to say so.
    Ask,
    /// It may not.
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// What a decision rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A policy.
    Policy,
    /// The findings of the checklist.
    Findings,
    /// An approval or lesson in memory.
    Memory,
    /// Something is not understood.
    Unknown,
    /// A stage failed or the deadline passed.
    Failure,
}

/// What a check cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Wall time, microseconds.
    pub wall_us: u64,
    /// Calls of a language model.
    pub model_calls: u32,
    /// Tokens of its prompts.
    pub tokens_in: u64,
    /// Tokens of its replies.
    pub tokens_out: u64,
    /// Replies that could not be read; not part of the JSON.
    #[serde(skip)]
    pub malformed: u32,
}

/// The memory entry that was recalled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recalled {
    /// Entry id.
    pub entry: String,
    /// Cosine similarity of the paraphrases, -1..=1; 1 for a recall by effect.
    pub similarity: f32,
    /// Version of the entry.
    pub version: u64,
}

/// One effect as a verdict shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownEffect {
    /// The verb.
    pub verb: String,
    /// The target.
    pub target: String,
}

/// SHA-256 (hexadecimal) of what the decision depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Digests {
    /// Action, request and identity.
    pub action: String,
    /// Effects with their facts.
    pub facts: String,
    /// Policies.
    pub policy: String,
    /// Memory version.
    pub memory: String,
}

/// The answer of the guard. Always an answer: what failed is in it.
#[derive(Debug, Clone, Serialize)]
#[must_use]
pub struct Verdict {
    /// Version of this form.
    pub version: u32,
    /// ULID.
    pub id: String,
    /// The decision.
    pub decision: Decision,
    /// What it rests on.
    pub basis: Basis,
    /// `rules`, `tiered` or `llm`.
    pub mode: &'static str,
    /// One sentence.
    pub reason: String,
    /// What to do instead.
    pub advice: Option<String>,
    /// Who may answer an ask.
    pub ask_of: Option<&'static str>,
    /// Every check and who answered it.
    pub findings: Vec<Finding>,
    /// What the action would do.
    pub effects: Vec<ShownEffect>,
    /// How many more effects there are than those above.
    #[serde(skip_serializing_if = "is_zero")]
    pub effects_left_out: usize,
    /// The memory entry that was recalled.
    pub memory: Option<Recalled>,
    /// What it cost.
    pub cost: Cost,
    /// What it depends on.
    pub digest: Digests,
    /// The action reads credentials, as far as its effects tell; not part of the JSON.
    #[serde(skip)]
    pub secrets: bool,
    /// How it was found, for `--explain`; not part of the JSON.
    #[serde(skip)]
    pub trace: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The finding that is the headline of a verdict: the gravest by harm, then the one that decides most severely, then the
/// first. It may be another than the one that decided: what an action would do is told before what it lacks.
#[must_use]
pub fn headline(findings: &[Finding]) -> Option<&Finding> {
    let binding =
        |f: &&Finding| f.check.authority == Authority::Policy || f.check.required || f.outcome == Outcome::Violation;
    let rank = |f: &Finding| (f.severity(), f.outcome == Outcome::Violation && !f.asks);
    findings
        .iter()
        .filter(|f| f.is_open())
        .filter(binding)
        .reduce(|best, f| if rank(f) > rank(best) { f } else { best })
}

/// Decides over the findings of one check (DESIGN section 2, the gate). Returns the decision, its basis
/// and the place of the finding that decided, if one did.
///
/// No finding, or only unknown and discarded ones, is not allow.
#[must_use]
pub fn decide(findings: &[Finding]) -> (Decision, Basis, Option<usize>) {
    let mut decision = Decision::Allow;
    let mut decided = None;
    let mut passed = false;
    for (place, finding) in findings.iter().enumerate() {
        let binding = finding.check.authority == Authority::Policy || finding.check.required;
        let this = match finding.outcome {
            Outcome::Pass => {
                passed = true;
                Decision::Allow
            }
            Outcome::Violation if finding.asks => Decision::Ask,
            Outcome::Violation => Decision::Deny,
            // a policy's check cannot be set aside
            Outcome::Unknown | Outcome::Discarded if finding.check.authority == Authority::Policy => Decision::Ask,
            Outcome::Unknown if binding => Decision::Ask,
            Outcome::Unknown | Outcome::Discarded => Decision::Allow,
        };
        if this > decision {
            decision = this;
            decided = Some(place);
        }
    }
    if decision == Decision::Allow && !passed {
        return (Decision::Ask, Basis::Unknown, None);
    }
    let basis = match decided.and_then(|place| findings.get(place)) {
        Some(finding) if finding.outcome == Outcome::Unknown => Basis::Unknown,
        Some(finding) if finding.check.authority == Authority::Policy => Basis::Policy,
        Some(_) => Basis::Findings,
        None => Basis::Policy,
    };
    (decision, basis, decided)
}
