//! Safety checks and the findings about them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use strum::{Display, EnumString, IntoStaticStr};

/// A universal safety criterion (confidentiality, integrity, availability), or a category of an operator.
pub type Category = String;

/// Who a check comes from; this decides who may set it aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
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
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Check {
    /// `confidentiality`, `integrity`, `availability`, or a category of an operator.
    pub category: Category,
    /// Short stable name.
    pub name: String,
    /// The condition that it verifies.
    pub definition: String,
    /// Its origin.
    pub authority: Authority,
    /// Whether an unknown answer is unacceptable (a check of a seed, or one learned from an incident).
    #[serde(skip)]
    pub required: bool,
    /// Subject of the check.
    #[serde(skip)]
    pub kind: CheckKind,
}

/// Subject of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// The action.
    #[default]
    Action,
    /// One unknown program in the action. Such a check is never learned.
    Program,
    /// What the policies of a project say of the action. It is never learned and shown to no model, because the project may be
    /// somebody else's.
    Project,
    /// A stage of the guard: whether it worked.
    Stage,
}

impl Check {
    /// A required check of integrity with authority `policy`, so that nothing can set it aside.
    #[must_use]
    pub fn integrity(name: &str, definition: &str) -> Self {
        Self {
            category: "integrity".to_owned(),
            name: name.to_owned(),
            definition: definition.to_owned(),
            authority: Authority::Policy,
            required: true,
            kind: CheckKind::Action,
        }
    }

    /// The check that every effect of an action is known.
    #[must_use]
    pub fn understood() -> Self {
        Self::integrity("understood effects", "every effect is understood")
    }
}

/// The answer to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The action meets it.
    Pass,
    /// The action violates it.
    Violation,
    /// The check does not apply.
    Discarded,
    /// No stage could answer it.
    Unknown,
}

/// Severity of the harm in a finding. The gravest finding is the headline of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// No stage could answer the check.
    Unknown,
    /// The identity lacks the permission, so the action would fail: no harm is done.
    Access,
    /// Worth asking about.
    Minor,
    /// Reserved for a person, or forbidden.
    Serious,
    /// Irreversible loss for others, or a leak of secrets.
    Grave,
}

/// Consequence of a violation. Ordered, the stricter first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Response {
    /// The action is denied.
    #[default]
    Deny,
    /// The answer is ask.
    Ask(Answerer),
}

impl Serialize for Response {
    /// The fields `asks` and `person`, as lists of policies show them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Response", 2)?;
        fields.serialize_field("asks", &(*self != Self::Deny))?;
        fields.serialize_field("person", &(*self == Self::Ask(Answerer::Person)))?;
        fields.end()
    }
}

/// Who may answer an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Answerer {
    /// A person, each time.
    Person,
    /// A model, an earlier approval, or a person.
    Model,
}

/// Who answered a check. Its text form (`policy:ID`, `memory:ENTRY`, `guard:STAGE` ...) is part of the verdict's JSON.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The policy with this id.
    Policy(String),
    /// No policy, because an effect is unknown.
    NotUnderstood,
    /// The memory entry with this id.
    Memory(String),
    /// A reasoner.
    Reasoner(Reasoning),
    /// The tool with this name.
    Tool(String),
    /// The comparison of the action with the request and the observations.
    Provenance(Origin),
    /// The parser: the action has no effect.
    NoEffect,
    /// A stage of the guard that failed.
    Guard(Stage),
}

/// How a reasoner answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Reasoning {
    /// Without a model.
    Rules,
    /// A model, on the checklist.
    Llm,
    /// A model, on injected instructions.
    Judge,
}

/// The basis on which the origin of an action was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Origin {
    /// The request.
    Request,
    /// An observation.
    Read,
    /// An observation that could not be examined in full.
    Unread,
    /// Too many values to compare.
    Values,
    /// None, because the comparison failed.
    Failure,
}

/// A stage of the guard that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Stage {
    /// The guard itself: a deadline, a panic.
    Guard,
    /// The reasoner without a model.
    Rules,
    /// The model.
    Model,
    /// The memory.
    Memory,
    /// The embedder.
    Embedder,
    /// The audit log.
    Audit,
}

impl Source {
    /// The memory entry that answered.
    #[must_use]
    pub fn entry(&self) -> Option<&str> {
        match self {
            Self::Memory(entry) => Some(entry),
            _ => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(id) => write!(f, "policy:{id}"),
            Self::NotUnderstood => f.write_str("policy:understood"),
            Self::Memory(entry) => write!(f, "memory:{entry}"),
            Self::Reasoner(how) => write!(f, "reasoner:{how}"),
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Provenance(origin) => write!(f, "provenance:{origin}"),
            Self::NoEffect => f.write_str("reader:effects"),
            Self::Guard(stage) => write!(f, "guard:{stage}"),
        }
    }
}

/// The text is not the name of a source that this release knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a source of findings")]
pub struct UnknownSource(String);

impl std::str::FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        let unknown = || UnknownSource(text.to_owned());
        let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
        Ok(match kind {
            "policy" if rest == "understood" => Self::NotUnderstood,
            "policy" => Self::Policy(rest.to_owned()),
            "memory" => Self::Memory(rest.to_owned()),
            "reasoner" => Self::Reasoner(rest.parse().map_err(|_| unknown())?),
            "tool" => Self::Tool(rest.to_owned()),
            "provenance" => Self::Provenance(rest.parse().map_err(|_| unknown())?),
            "reader" => Self::NoEffect,
            "guard" => Self::Guard(rest.parse().map_err(|_| unknown())?),
            _ => return Err(unknown()),
        })
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A fact or quotation that supports a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Evidence {
    /// Its subject: an effect, a fact, a memory entry.
    pub about: String,
    /// The fact or quotation.
    pub says: String,
}

/// The answer to one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The answer.
    pub outcome: Outcome,
    /// Who answered; `by` in JSON.
    #[serde(rename = "by")]
    pub source: Source,
    /// One sentence for people.
    pub reason: String,
    /// A safe alternative, if there is one.
    #[serde(skip)]
    pub advice: Option<String>,
    /// Consequence of a violation.
    #[serde(skip)]
    pub response: Response,
    /// The severity that its policy declares. Without one, severity follows from the outcome and from who may answer.
    #[serde(skip)]
    pub declared: Option<Severity>,
    /// The facts and quotations that support it.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// A finding without advice and evidence; a violation denies.
    #[must_use]
    pub fn new(check: Check, outcome: Outcome, source: Source, reason: String) -> Self {
        Self {
            check,
            outcome,
            source,
            reason,
            advice: None,
            response: Response::Deny,
            declared: None,
            evidence: Vec::new(),
        }
    }

    /// Whether it is a violation that denies.
    #[must_use]
    pub fn denies(&self) -> bool {
        self.outcome == Outcome::Violation && self.response == Response::Deny
    }

    /// Whether it prevents an allow, or could.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.outcome, Outcome::Violation | Outcome::Unknown)
    }

    /// Its severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self.outcome {
            Outcome::Violation => self.declared.unwrap_or(match self.response {
                Response::Ask(Answerer::Model) => Severity::Minor,
                Response::Deny | Response::Ask(Answerer::Person) => Severity::Serious,
            }),
            _ => Severity::Unknown,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sources_keep_their_text() {
        for text in [
            "policy:rename-onto-existing",
            "policy:understood",
            "memory:01J",
            "reasoner:llm",
            "reasoner:judge",
            "tool:os",
            "provenance:read",
            "reader:effects",
            "guard:embedder",
        ] {
            let source: Source = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
            assert_eq!(serde_json::to_value(&source).unwrap(), text);
        }
        assert_eq!("policy:understood".parse(), Ok(Source::NotUnderstood));
        assert!("guard:nobody".parse::<Source>().is_err());
    }
}
