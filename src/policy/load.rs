//! Loading: parse, validate against the schema, read annotations, split by verb.

use super::{Inner, Policies, Rule, examples, query};
use crate::check::Severity;
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
    /// A file has no policy in it.
    #[error("{file}: there is no policy in it; write its policies again, or take the file out of policy.files")]
    Empty {
        /// File name.
        file: String,
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
    let texts: Vec<Source> = std::iter::once(base).chain(sources.iter().cloned()).collect();
    let mut hash = Sha256::new();
    hash.update(SCHEMA);
    for source in &texts {
        hash.update([0]);
        hash.update(&source.text);
    }
    let mut inner = Inner {
        parts: std::array::from_fn(|_| OnceLock::new()),
        everything: OnceLock::new(),
        digest: crate::hex(&hash.finalize()),
        names: query::Names::new().map_err(PolicyError::Schema)?,
        schema: None,
        texts,
        examples: Vec::new(),
    };
    let twice = sources.iter().enumerate().any(|(n, s)| sources.iter().take(n).any(|other| other.text == s.text));
    if !whole && !twice && sources.iter().all(Source::ships) {
        return Ok(inner);
    }
    let everything = everything(&inner.texts)?;
    let empty = |source: &&Source| !everything.rules.values().any(|rule| rule.file == source.file);
    if let Some(source) = sources.iter().find(empty) {
        return Err(PolicyError::Empty { file: source.file.clone() });
    }
    // the schema takes as long to read as the policies
    let schema = Schema::from_cedarschema_str(SCHEMA).map_err(|e| PolicyError::Schema(e.to_string()))?.0;
    let result = Validator::new(schema.clone()).validate(&everything.set, ValidationMode::Strict);
    if let Some(error) = result.validation_errors().next() {
        let rule = everything.rules.get(error.policy_id());
        return Err(PolicyError::Invalid {
            file: rule.map_or_else(String::new, |r| r.file.clone()),
            id: error.policy_id().to_string(),
            problem: error.to_string(),
        });
    }
    inner.schema = Some(schema);
    inner.everything = OnceLock::from(Some(everything));
    let mut verified = Vec::new();
    // an operator's policy may forbid what an example of a shipped one allows: these are proved without it
    let alone = whole && inner.texts.iter().all(|source| source.file == BASE_FILE || source.ships());
    for source in inner.texts.iter().filter(|source| alone || (source.file != BASE_FILE && !source.ships())) {
        verified.extend(examples::verify(&inner, source)?);
    }
    inner.examples = verified;
    Ok(inner)
}

/// Every policy of these texts.
pub(super) fn everything(texts: &[Source]) -> Result<Policies, PolicyError> {
    let mut found = Policies::default();
    for source in texts {
        let parsed: PolicySet = source.text.parse().map_err(|e| syntax(source, &e))?;
        for policy in parsed.policies() {
            found.add(source, policy)?;
        }
    }
    Ok(found)
}

/// The policies that speak of a verb: a request is compared only with them. Of the texts only what may speak of it is
/// parsed, since a process may ask about one action alone. `None` if that fails, which a test rules out.
pub(super) fn speaking_of(verb: Verb, inner: &Inner) -> Option<Policies> {
    let mut found = Policies::default();
    if let Some(Some(everything)) = inner.everything.get() {
        for policy in everything.set.policies().filter(|policy| speaks(policy, verb)) {
            found.set.add(policy.clone()).ok()?;
        }
        found.rules.clone_from(&everything.rules);
        return Some(found);
    }
    for source in &inner.texts {
        let text: String = pieces(&source.text).filter(|piece| mentions(piece, verb)).collect();
        let parsed: PolicySet = text.parse().ok()?;
        for policy in parsed.policies().filter(|policy| speaks(policy, verb)) {
            found.add(source, policy).ok()?;
        }
    }
    Some(found)
}

fn speaks(policy: &cedar_policy::Policy, verb: Verb) -> bool {
    let named = |uid: &cedar_policy::EntityUid| uid.id().unescaped() == verb.as_str();
    match policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(uid) => named(&uid),
        ActionConstraint::In(uids) => uids.iter().any(named),
    }
}

/// A text cut where a line begins with `@id`: a policy each, as the shipped ones are written.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let begins = text.match_indices("\n@id(").map(|(at, _)| at + 1);
    let cuts: Vec<usize> = std::iter::once(0).chain(begins).chain(std::iter::once(text.len())).collect();
    let ranges: Vec<(usize, usize)> = cuts.iter().copied().zip(cuts.iter().copied().skip(1)).collect();
    ranges.into_iter().filter_map(|(from, to)| text.get(from..to))
}

/// It names the verb, or no verb at all.
fn mentions(piece: &str, verb: Verb) -> bool {
    !piece.contains("Action::\"") || piece.contains(&format!("Action::\"{verb}\""))
}

impl Policies {
    fn add(&mut self, source: &Source, policy: &cedar_policy::Policy) -> Result<(), PolicyError> {
        let rule = rule(source, policy)?;
        let id = PolicyId::new(&rule.id);
        let wrong =
            |problem: String| PolicyError::Annotation { file: source.file.clone(), id: rule.id.clone(), problem };
        if self.rules.contains_key(&id) {
            return Err(wrong("another policy has this @id".to_owned()));
        }
        self.set.add(policy.new_id(id.clone())).map_err(|e| wrong(e.to_string()))?;
        self.rules.insert(id, rule);
        Ok(())
    }
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
    let severity = text("severity").map(|name| {
        Severity::parse(&name).ok_or_else(|| PolicyError::Annotation {
            file: source.file.clone(),
            id: id.clone(),
            problem: format!("@severity is \"{name}\"; it may be \"access\", \"minor\", \"serious\" or \"grave\""),
        })
    });
    Ok(Rule {
        category: text("category").ok_or_else(|| missing("category"))?,
        reason: text("reason").ok_or_else(|| missing("reason"))?,
        check: text("check").unwrap_or_else(|| id.clone()),
        advice: text("advice"),
        asks,
        severity: severity.transpose()?,
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
