//! Safety checks and what was found for each.

use serde::{Deserialize, Serialize};

/// The universal safety criteria (CIA), or an operator's own category.
pub type Category = String;

/// Who a check comes from, which decides what may set it aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authority {
    /// A policy: cannot be discarded.
    Policy,
    /// Shipped with the engine or by the operator.
    Seed,
    /// Learned.
    Learned,
}

/// One safety check.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Check {
    /// `confidentiality`, `integrity`, `availability`, or an operator's own.
    pub category: Category,
    /// Short stable name.
    pub name: String,
    /// What it asks.
    pub definition: String,
    /// Who it comes from.
    pub authority: Authority,
    /// An unknown answer is not acceptable (a seed's, or learned from an incident).
    #[serde(skip)]
    pub required: bool,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The action is in order.
    Pass,
    /// It is not.
    Violation,
    /// The check does not apply.
    Discarded,
    /// Nobody could tell.
    Unknown,
}

/// How grave the harm is that a finding speaks of. The gravest one is the headline of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nobody could tell.
    Unknown,
    /// The identity lacks the permission, so the action would fail: no harm is done.
    Access,
    /// Worth a question.
    Minor,
    /// A person decides, or it is forbidden.
    Serious,
    /// Others lose what cannot be brought back, or secrets leave.
    Grave,
}

impl Severity {
    /// The severity that a policy names in `@severity`; `access`, `minor`, `serious` or `grave`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "access" => Self::Access,
            "minor" => Self::Minor,
            "serious" => Self::Serious,
            "grave" => Self::Grave,
            _ => return None,
        })
    }
}

/// A fact or quotation that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is about: an effect, a fact, a memory entry.
    pub about: String,
    /// What it says.
    pub says: String,
}

/// The answer to one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The answer.
    pub outcome: Outcome,
    /// Who answered: `policy:ID`, `tool:os`, `reasoner:rules`, `memory:ENTRY`.
    pub by: String,
    /// One sentence.
    pub reason: String,
    /// What to do instead, where there is a safe way.
    #[serde(skip)]
    pub advice: Option<String>,
    /// A violation asks a person rather than denying.
    #[serde(skip)]
    pub asks: bool,
    /// Only a person may let it pass: no model, no memory.
    #[serde(skip)]
    pub person: bool,
    /// How grave its policy says it is; else it follows from the outcome and who may answer.
    #[serde(skip)]
    pub declared: Option<Severity>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// It keeps the action from being allowed, or could.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.outcome, Outcome::Violation | Outcome::Unknown)
    }

    /// How grave it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self.outcome {
            Outcome::Violation => self.declared.unwrap_or(match (self.asks, self.person) {
                (true, false) => Severity::Minor,
                _ => Severity::Serious,
            }),
            _ => Severity::Unknown,
        }
    }
}
