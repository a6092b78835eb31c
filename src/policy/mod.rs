//! Policies in Cedar over effects and facts.
//!
//! 1. Policy texts are parsed, validated against the schema, and split into one set per verb at load.
//! 2. [`Policy::screen`] authorises one [`Query`] (an effect with its facts) against the set of its verb.
//! 3. Each forbid that holds is a violation, with the policy's own reason; a permit alone is a pass; no
//!    answer, or an error while evaluating, is unknown. Nothing here turns an error into a pass.

mod examples;
mod load;
pub mod query;

pub use load::{PolicyError, Source};
pub use query::{Query, Subject};

use crate::check::{Authority, Check, Evidence, Finding, Outcome, Severity};
use crate::effect::Verb;
use cedar_policy::{Authorizer, Decision as CedarDecision, PolicyId, PolicySet, Schema};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

/// What a policy's annotations say.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Rule {
    /// Stable id.
    pub id: String,
    /// confidentiality, integrity, availability or an operator's own.
    pub category: String,
    /// The check that it answers.
    pub check: String,
    /// Why it forbids or permits.
    pub reason: String,
    /// What to do instead.
    pub advice: Option<String>,
    /// A violation asks.
    pub asks: bool,
    /// Only a person may answer.
    pub person: bool,
    /// How grave a violation is, where the policy says so.
    pub severity: Option<Severity>,
    /// It forbids (else permits).
    pub forbids: bool,
    /// File it comes from.
    pub file: String,
}

/// A loaded set of policies. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Policy {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The base, and what was added to it.
    texts: Vec<Source>,
    /// The policies that speak of a verb, by its place; read when first asked for.
    parts: [OnceLock<Option<Policies>>; Verb::ALL.len()],
    /// All of them; read at load only where they have to be proved.
    everything: OnceLock<Option<Policies>>,
    schema: Option<Schema>,
    digest: String,
    names: query::Names,
    examples: Vec<(String, String, String)>,
}

/// Policies, and what their annotations say.
#[derive(Debug, Default)]
struct Policies {
    set: PolicySet,
    rules: HashMap<PolicyId, Rule>,
}

impl Inner {
    /// `None` where the shipped text cannot be read: nothing is known then.
    fn part(&self, verb: Verb) -> Option<&Policies> {
        self.parts.get(verb as usize)?.get_or_init(|| load::speaking_of(verb, self)).as_ref()
    }

    fn everything(&self) -> Option<&Policies> {
        self.everything.get_or_init(|| load::everything(&self.texts).ok()).as_ref()
    }
}

impl Policy {
    /// The universal criteria that ship with the engine.
    ///
    /// # Errors
    /// If the shipped text does not load, which a test rules out.
    pub fn base() -> Result<Self, PolicyError> {
        Self::load(&[])
    }

    /// The universal criteria and an operator's own policies. Operator policies can only forbid more or
    /// permit effects that the base does not understand; they cannot lift a base forbid (Cedar: forbid wins).
    ///
    /// # Errors
    /// The first problem with file, line and column.
    pub fn load(sources: &[Source]) -> Result<Self, PolicyError> {
        load::load(sources, false).map(|inner| Self { inner: Arc::new(inner) })
    }

    /// The same, proved as a whole: the shipped policies too are validated and their examples verified. [`Self::load`]
    /// leaves that to the tests of the engine, and proves only what is the operator's.
    ///
    /// # Errors
    /// The first problem with file, line and column.
    pub fn proved(&self) -> Result<Self, PolicyError> {
        load::load(self.inner.texts.get(1..).unwrap_or_default(), true).map(|inner| Self { inner: Arc::new(inner) })
    }

    /// The Cedar text of a policy, if there is one of that id.
    #[must_use]
    pub fn text(&self, id: &str) -> Option<String> {
        self.inner.everything()?.set.policy(&PolicyId::new(id))?.to_cedar()
    }

    /// SHA-256 of all policy texts, hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.inner.digest
    }

    /// The schema that policies are written against, as Cedar text.
    #[must_use]
    pub fn schema_text() -> &'static str {
        load::SCHEMA
    }

    /// The examples that were verified: file, effect, decision.
    #[must_use]
    pub fn examples(&self) -> &[(String, String, String)] {
        &self.inner.examples
    }

    /// Every rule, by id.
    #[must_use]
    pub fn rules(&self) -> Vec<&Rule> {
        let mut rules: Vec<&Rule> = self.inner.everything().into_iter().flat_map(|all| all.rules.values()).collect();
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        rules
    }

    /// The findings about one effect: every violation, or one pass, or one unknown.
    #[must_use]
    pub fn screen(&self, subject: &Subject, query: &Query) -> Vec<Finding> {
        Self::screen_with(&self.inner, subject, query)
    }

    fn screen_with(inner: &Inner, subject: &Subject, query: &Query) -> Vec<Finding> {
        let unknown = |reason: String| {
            vec![finding(
                Check {
                    category: "integrity".to_owned(),
                    name: "understood effects".to_owned(),
                    definition: "every effect is understood".to_owned(),
                    authority: Authority::Policy,
                    required: true,
                },
                Outcome::Unknown,
                "policy:understood",
                reason,
                query,
            )]
        };
        let Some(part) = inner.part(query.verb) else {
            return unknown(query.lead());
        };
        let built = query::request(&inner.names, None, subject, query);
        let (request, entities) = match built {
            Ok(built) => built,
            Err(problem) => return unknown(format!("the policy request could not be built: {problem}")),
        };
        let response = Authorizer::new().is_authorized(&request, &part.set, &entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return unknown(format!("a policy could not be evaluated: {error}"));
        }
        let rules: Vec<&Rule> = response.diagnostics().reason().filter_map(|id| part.rules.get(id)).collect();
        match response.decision() {
            // of several permits the universal one speaks, whatever operators add
            CedarDecision::Allow => rules.iter().min_by_key(|r| (r.file != load::BASE_FILE, &r.id)).map_or_else(
                || unknown("no policy names a reason".to_owned()),
                |rule| vec![rule_finding(rule, Outcome::Pass, subject, query)],
            ),
            CedarDecision::Deny if rules.is_empty() => unknown(query.lead()),
            CedarDecision::Deny => {
                let mut findings: Vec<Finding> =
                    rules.iter().map(|r| rule_finding(r, Outcome::Violation, subject, query)).collect();
                // a denial first: it is the reason that is shown
                findings.sort_by_key(|f| (f.asks, f.by.clone()));
                findings
            }
        }
    }

    /// The first rule that answers the check of that name for any of these verbs.
    #[must_use]
    pub fn answers(&self, check: &str, verbs: &BTreeSet<Verb>) -> Option<&str> {
        let speaks = |rule: &&&Rule| {
            let id = PolicyId::new(&rule.id);
            verbs.iter().any(|v| self.inner.part(*v).is_some_and(|part| part.set.policy(&id).is_some()))
        };
        let rules: Vec<&Rule> = self
            .inner
            .everything()
            .into_iter()
            .flat_map(|all| all.rules.values())
            .filter(|r| r.check == check)
            .collect();
        rules.iter().filter(speaks).map(|r| r.id.as_str()).min()
    }
}

fn rule_finding(rule: &Rule, outcome: Outcome, subject: &Subject, query: &Query) -> Finding {
    let reason = if outcome == Outcome::Pass {
        rule.reason.clone()
    } else {
        format!("{}: {}", query.lead(), filled(&rule.reason, subject))
    };
    Finding {
        asks: rule.asks,
        person: rule.person,
        declared: rule.severity,
        advice: (outcome == Outcome::Violation).then(|| rule.advice.clone()).flatten(),
        ..finding(
            Check {
                category: rule.category.clone(),
                name: rule.check.clone(),
                definition: rule.reason.clone(),
                authority: Authority::Policy,
                required: true,
            },
            outcome,
            &format!("policy:{}", rule.id),
            reason,
            query,
        )
    }
}

/// A reason with the identity's roles and name where it says `{roles}` or `{name}`.
fn filled(reason: &str, subject: &Subject) -> String {
    // for those who read it: no line breaks, no end
    let shown = |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(60).collect() };
    let mut roles: Vec<String> = subject.roles.iter().take(8).map(|r| shown(r)).collect();
    if roles.is_empty() {
        roles.push("(none)".to_owned());
    }
    // one pass: a role cannot bring a placeholder
    let mut out = String::with_capacity(reason.len());
    let mut rest = reason;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = if let Some(after) = from.strip_prefix("{roles}") {
            out.push_str(&roles.join(", "));
            after
        } else if let Some(after) = from.strip_prefix("{name}") {
            out.push_str(&shown(&subject.name));
            after
        } else {
            out.push('{');
            from.get(1..).unwrap_or_default()
        };
    }
    out + rest
}

/// Violations of one policy by several columns or tables become one finding that names them all, with the facts of
/// each as evidence; every other finding stays as it is.
#[must_use]
pub fn together(subject: &Subject, found: Vec<(&Query, Finding)>, policy: &Policy) -> Vec<Finding> {
    let data = |q: &Query| matches!(q.kind.as_str(), "column" | "table");
    let mut groups: Vec<(Vec<&Query>, Finding)> = Vec::with_capacity(found.len());
    for (query, finding) in found {
        let joins = finding.outcome == Outcome::Violation && data(query);
        let same = |(queries, first): &&mut (Vec<&Query>, Finding)| {
            first.by == finding.by
                && first.outcome == Outcome::Violation
                && queries.first().is_some_and(|q| data(q) && q.verb == query.verb)
        };
        match groups.iter_mut().find(same).filter(|_| joins) {
            Some((queries, first)) => {
                queries.push(query);
                first.evidence.extend(finding.evidence);
            }
            None => groups.push((vec![query], finding)),
        }
    }
    let reworded = |(queries, mut finding): (Vec<&Query>, Finding)| {
        let rules = queries.first().and_then(|query| policy.inner.part(query.verb)).map(|part| &part.rules);
        let id = finding.by.strip_prefix("policy:").map(PolicyId::new);
        let rule = rules.zip(id).and_then(|(rules, id)| rules.get(&id));
        if let (true, Some(rule)) = (queries.len() > 1, rule) {
            finding.reason = format!("{}: {}", query::lead_of(&queries), filled(&rule.reason, subject));
        }
        finding
    };
    groups.into_iter().map(reworded).collect()
}

fn finding(check: Check, outcome: Outcome, by: &str, reason: String, query: &Query) -> Finding {
    Finding {
        check,
        outcome,
        by: by.to_owned(),
        reason,
        advice: None,
        asks: false,
        person: false,
        declared: None,
        evidence: vec![Evidence { about: format!("{} {}", query.verb, query.name), says: query.facts_in_words() }],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_read_for_a_verb_is_what_speaks_of_it() {
        let sources: Vec<Source> = Source::shipped_names().filter_map(Source::shipped).collect();
        let (lazy, proved) = (Policy::load(&sources).unwrap(), Policy::load(&sources).unwrap().proved().unwrap());
        assert!(lazy.inner.everything.get().is_none() && proved.inner.everything.get().is_some());
        for verb in Verb::ALL {
            let ids = |policy: &Policy| -> BTreeSet<String> {
                policy.inner.part(verb).unwrap().set.policies().map(|p| p.to_string()).collect()
            };
            assert_eq!(ids(&lazy), ids(&proved), "{verb}");
            assert!(!ids(&lazy).is_empty(), "{verb}");
        }
    }
}
