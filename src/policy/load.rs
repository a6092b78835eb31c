//! Loading: parse, validate against the schema, read annotations, split by verb.

use super::{Inner, Rule, examples, query};
use crate::effect::Verb;
use cedar_policy::{ActionConstraint, Effect as CedarEffect, PolicyId, PolicySet, Schema, ValidationMode, Validator};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::OnceLock;

pub(super) const SCHEMA: &str = include_str!("schema.cedarschema");
/// Name of the universal policies in messages.
pub(super) const BASE_FILE: &str = "base.cedar";
const BASE: &str = include_str!("base.cedar");
const BASE_EXAMPLES: &str = include_str!("base.examples.toml");

/// Operator policies that ship with the engine: name, text, examples. They are scoped by `context.agent`, and loaded
/// only where they are named.
const SHIPPED: [(&str, &str, &str); 2] = [
    ("ehr", include_str!("operator/ehr.cedar"), include_str!("operator/ehr.examples.toml")),
    ("web", include_str!("operator/web.cedar"), include_str!("operator/web.examples.toml")),
];

/// A policy text with its name.
#[derive(Debug, Clone)]
pub struct Source {
    /// File name, for messages.
    pub file: String,
    /// Cedar text.
    pub text: String,
    /// The examples beside it (TOML), if there are any.
    pub examples: Option<String>,
}

impl Source {
    /// The operator policies that ship under a name, if there are any.
    #[must_use]
    pub fn shipped(name: &str) -> Option<Self> {
        let (name, text, examples) = SHIPPED.into_iter().find(|(known, ..)| *known == name)?;
        Some(Self { file: format!("{name}.cedar"), text: text.to_owned(), examples: Some(examples.to_owned()) })
    }

    /// It is one of those, unchanged.
    fn ships(&self) -> bool {
        SHIPPED.iter().any(|(_, text, examples)| self.text == *text && self.examples.as_deref() == Some(*examples))
    }

    /// The names of the operator policies that ship.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.into_iter().map(|(name, ..)| name)
    }
}

/// Why policies could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The text is not Cedar.
    #[error("{file}:{line}:{column}: {problem}")]
    Syntax {
        /// File name.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The parser's words.
        problem: String,
    },
    /// A policy does not fit the schema.
    #[error("{file}: policy '{id}': {problem}; see the schema with 'agrail policy check --schema'")]
    Invalid {
        /// File name.
        file: String,
        /// Policy id.
        id: String,
        /// The validator's words.
        problem: String,
    },
    /// An annotation is missing or wrong.
    #[error("{file}: policy '{id}': {problem}")]
    Annotation {
        /// File name.
        file: String,
        /// Policy id, or its place.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// An example beside a policy file does not hold.
    #[error("{file}: example {example}: expected {expected}, is {found}")]
    Example {
        /// File name.
        file: String,
        /// The action.
        example: String,
        /// What the file says.
        expected: String,
        /// What the policies say.
        found: String,
    },
    /// The examples beside a policy file cannot be read.
    #[error("{file}: {problem}")]
    Examples {
        /// File name.
        file: String,
        /// Line, column and problem.
        problem: String,
    },
    /// The shipped schema does not load.
    #[error("the shipped schema does not load: {0}")]
    Schema(String),
}

/// What ships is proved by a test and not again each time; `whole` proves all of it.
pub(super) fn load(sources: &[Source], whole: bool) -> Result<Inner, PolicyError> {
    let base = Source { file: BASE_FILE.to_owned(), text: BASE.to_owned(), examples: Some(BASE_EXAMPLES.to_owned()) };
    let mut all = PolicySet::new();
    let mut rules = HashMap::new();
    let mut hash = Sha256::new();
    hash.update(SCHEMA);
    for source in std::iter::once(&base).chain(sources) {
        hash.update([0]);
        hash.update(&source.text);
        let parsed: PolicySet = source.text.parse().map_err(|e| syntax(source, &e))?;
        for policy in parsed.policies() {
            let rule = rule(source, policy)?;
            let id = PolicyId::new(&rule.id);
            if rules.contains_key(&id) {
                let problem = "another policy has this @id".to_owned();
                return Err(PolicyError::Annotation { file: source.file.clone(), id: rule.id, problem });
            }
            all.add(policy.new_id(id.clone())).map_err(|e| PolicyError::Annotation {
                file: source.file.clone(),
                id: rule.id.clone(),
                problem: e.to_string(),
            })?;
            rules.insert(id, rule);
        }
    }
    // the schema takes as long to read as the policies
    let own = whole || sources.iter().any(|source| !source.ships());
    let schema = match own {
        true => Some(Schema::from_cedarschema_str(SCHEMA).map_err(|e| PolicyError::Schema(e.to_string()))?.0),
        false => None,
    };
    let result = schema.clone().map(|schema| Validator::new(schema).validate(&all, ValidationMode::Strict));
    if let Some(error) = result.as_ref().and_then(|result| result.validation_errors().next()) {
        let rule = rules.get(error.policy_id());
        return Err(PolicyError::Invalid {
            file: rule.map_or_else(String::new, |r| r.file.clone()),
            id: error.policy_id().to_string(),
            problem: error.to_string(),
        });
    }
    let names = query::Names::new().map_err(PolicyError::Schema)?;
    let digest = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    let sets = std::array::from_fn(|_| OnceLock::new());
    let mut inner = Inner { schema, all, sets, rules, digest, names, sources: sources.to_vec(), examples: Vec::new() };
    let shipped = |source: &&Source| whole || (source.file != BASE_FILE && !source.ships());
    for source in std::iter::once(&base).chain(sources).filter(shipped) {
        let verified = examples::verify(&inner, source)?;
        inner.examples.extend(verified);
    }
    Ok(inner)
}

/// The policies that speak of a verb: a request is compared only with them.
pub(super) fn speaking_of(verb: Verb, all: &PolicySet) -> Option<PolicySet> {
    let named = |uid: &cedar_policy::EntityUid| uid.id().unescaped() == verb.as_str();
    let mut set = PolicySet::new();
    for policy in all.policies() {
        let applies = match policy.action_constraint() {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(uid) => named(&uid),
            ActionConstraint::In(uids) => uids.iter().any(named),
        };
        if applies {
            set.add(policy.clone()).ok()?;
        }
    }
    Some(set)
}

fn rule(source: &Source, policy: &cedar_policy::Policy) -> Result<Rule, PolicyError> {
    // all at once: to ask for one by its name parses the name
    let annotations: HashMap<&str, &str> = policy.annotations().collect();
    let text = |key: &str| annotations.get(key).map(|text| (*text).to_owned());
    let id = text("id").unwrap_or_else(|| policy.id().to_string());
    let missing = |what: &str| PolicyError::Annotation {
        file: source.file.clone(),
        id: id.clone(),
        problem: format!("has no @{what}(\"...\"); write one above the policy"),
    };
    let asks = match text("decision").as_deref() {
        None | Some("deny") => false,
        Some("ask") => true,
        Some(other) => {
            return Err(PolicyError::Annotation {
                file: source.file.clone(),
                id: id.clone(),
                problem: format!("@decision is \"{other}\"; it may be \"ask\" or \"deny\""),
            });
        }
    };
    if text("id").is_none() {
        return Err(missing("id"));
    }
    Ok(Rule {
        category: text("category").ok_or_else(|| missing("category"))?,
        reason: text("reason").ok_or_else(|| missing("reason"))?,
        check: text("check").unwrap_or_else(|| id.clone()),
        advice: text("advice"),
        asks,
        person: asks && text("by").as_deref() == Some("person"),
        forbids: policy.effect() == CedarEffect::Forbid,
        file: source.file.clone(),
        id,
    })
}

fn syntax(source: &Source, error: &cedar_policy::ParseErrors) -> PolicyError {
    use miette::Diagnostic as _;
    let offset = error.iter().next().and_then(|e| e.labels().and_then(|mut l| l.next())).map_or(0, |l| l.offset());
    let before = source.text.get(..offset.min(source.text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    PolicyError::Syntax { file: source.file.clone(), line, column, problem: error.to_string() }
}
