//! The verdict, and the gate that decides it. The gate is pure: no I/O, no clock.

use crate::check::{Authority, Finding, Outcome, Response};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether the action may run. Ordered: the most severe decision wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may run.
    Allow,
    /// A person has to approve it (or a model, if the operator lists that cause).
    Ask,
    /// It may not run.
    Deny,
}

/// When to ask a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(rename_all = "lowercase"))]
pub enum Mode {
    /// Never.
    #[default]
    Rules,
    /// If the deterministic stages leave open a check that a model may answer: an unknown program, or an allow that a
    /// memory entry questions.
    Tiered,
    /// Always, as in AGrail. Deterministic findings still apply.
    Llm,
}

impl Mode {
    /// `rules`, `tiered` or `llm`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Tiered => "tiered",
            Self::Llm => "llm",
        }
    }
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

/// The basis of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A policy.
    Policy,
    /// The findings of the checklist.
    Findings,
    /// An approval or lesson in memory.
    Memory,
    /// An effect is unknown.
    Unknown,
    /// A stage failed or the deadline passed.
    Failure,
}

/// Cost of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Cost {
    /// Wall time, microseconds.
    pub wall_us: u64,
    /// Calls of a language model.
    pub model_calls: u32,
    /// Tokens of its prompts.
    pub tokens_in: u64,
    /// Tokens of its replies.
    pub tokens_out: u64,
    /// Replies that could not be parsed; not part of the JSON.
    #[serde(skip)]
    pub malformed: u32,
}

/// The memory entry that was recalled.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Recalled {
    /// Entry id.
    pub entry: String,
    /// Cosine similarity of the paraphrases, -1..=1; 1 if an effect recalled it.
    pub similarity: f32,
    /// Version of the entry.
    pub version: u64,
}

/// One effect as a verdict shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct ShownEffect {
    /// The verb.
    pub verb: String,
    /// The target.
    pub target: String,
}

/// SHA-256 digests (hexadecimal) of everything that the decision depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Digests {
    /// Action, request and identity.
    pub action: String,
    /// Effects with their facts.
    pub facts: String,
    /// Policies.
    pub policy: String,
    /// Version of the memory.
    pub memory: String,
}

/// What is left of an action once it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Footprint {
    /// It reads credentials.
    pub secrets: bool,
    /// Paths that it makes and that did not exist before.
    pub makes: Vec<String>,
    /// Places that it sends data to and that nobody has named before.
    pub places: Vec<String>,
}

impl Footprint {
    /// Adds what another action leaves.
    pub(crate) fn join(&mut self, other: Self) {
        self.secrets |= other.secrets;
        self.makes.extend(other.makes);
        self.places.extend(other.places);
    }
}

/// The answer of the guard. A check always has one; it reports failures.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[must_use]
pub struct Verdict {
    /// Version of this format.
    pub version: u32,
    /// ULID.
    pub id: String,
    /// The decision.
    pub decision: Decision,
    /// Its basis.
    pub basis: Basis,
    /// `rules`, `tiered` or `llm`.
    #[cfg_attr(feature = "serve", schema(value_type = Mode))]
    pub mode: &'static str,
    /// One sentence for people.
    pub reason: String,
    /// A safe alternative.
    pub advice: Option<String>,
    /// Who may answer an ask: `person` or `model`.
    #[cfg_attr(feature = "serve", schema(value_type = Option<crate::check::Answerer>))]
    pub ask_of: Option<&'static str>,
    /// Every check with its answer and who gave it.
    pub findings: Vec<Finding>,
    /// The effects of the action.
    pub effects: Vec<ShownEffect>,
    /// Number of effects that are not listed above.
    #[serde(skip_serializing_if = "is_zero")]
    pub effects_left_out: usize,
    /// The memory entry that was recalled.
    pub memory: Option<Recalled>,
    /// Its cost.
    pub cost: Cost,
    /// Digests of everything that it depends on.
    pub digest: Digests,
    /// What the action leaves behind, according to its effects; not part of the JSON.
    #[serde(skip)]
    pub(crate) footprint: Footprint,
    /// The steps of the check, for `--explain`; not part of the JSON.
    #[serde(skip)]
    pub trace: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The finding that is the headline of a verdict: the gravest harm, then a finding that denies, then the first. It may
/// differ from the finding that decided, because the harm of an action comes before a missing permission.
#[must_use]
pub(crate) fn headline(findings: &[Finding]) -> Option<&Finding> {
    let binding =
        |f: &&Finding| f.check.authority == Authority::Policy || f.check.required || f.outcome == Outcome::Violation;
    let rank = |f: &Finding| (f.severity(), f.denies());
    findings
        .iter()
        .filter(|f| f.is_open())
        .filter(binding)
        .reduce(|best, f| if rank(f) > rank(best) { f } else { best })
}

/// The gate: decides over the findings of one check. Returns the decision, its basis, and the index of the finding that
/// decided, if one did.
///
/// The most severe finding wins. No finding, or only unknown and discarded ones, is not allow.
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
            Outcome::Violation if finding.response != Response::Deny => Decision::Ask,
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
