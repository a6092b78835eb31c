//! Policies about what an action does as a whole: `action == Action::"event"`.
//!
//! 1. An effect is what parsers and the table know of an action. An [`EventFacts`] is what it can be recognised by, known or
//!    not: a command with its words, a call with its arguments, all that it names. The rules that reports lead to are
//!    written as such policies (`agrail learn policy`), and operators may write their own.
//! 2. They have a schema of their own, so that a policy about every effect need not know of them. They only forbid.
//! 3. A policy that cannot be evaluated makes the event unknown, which asks.

use super::load::{self, PolicyError};
use super::{Inner, Policies, Rule, Screener, filled};
use crate::check::{Authority, Check, CheckKind, Evidence, Finding, Outcome, Source as Answered};
use cedar_policy::{
    ActionConstraint, Authorizer, Context, Decision, Entities, Entity, EntityUid, PolicySet, Request,
    RestrictedExpression as Value, Schema, ValidationMode, Validator,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The Cedar action.
pub(super) const EVENT: &str = "event";
/// The kinds of events: the resources.
const FAMILIES: [&str; 7] = ["place", "thing", "call", "command", "plain", "mention", "said"];
/// Most facts of an event that a finding shows.
const SHOWN: usize = 12;

/// The schema of these policies, as Cedar text; it follows that of the effects.
pub(super) const SCHEMA: &str = "
// A policy whose action is Action::\"event\" is about what an action does as a whole, known or not. It has these
// definitions instead of the above, but for User, and can only forbid. The resource is the kind of event: an effect on a
// place or on another thing, a call of a tool, a command (plain: one that only works on files), all that an action names
// (mention), a message (said).
entity Event enum [\"place\", \"thing\", \"call\", \"command\", \"plain\", \"mention\", \"said\"];

type EventContext = {
  facts: Set<String>, // slot and value: \"program git\", \"word deploy\", \"option --force\", \"below /srv/data\", \"named depot-3\"
  spreads: Bool, // it reaches everything below \"at ...\", too
  whole: Bool, // all of it; otherwise what ends as \"ends ...\" says
  more: Bool, // it has more words, names or values than are listed
};

action event appliesTo { principal: [User], resource: [Event], context: EventContext };
";

/// One thing that an action does as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventFacts {
    /// Its kind: the Cedar resource.
    pub family: String,
    /// It reaches everything below its target, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spreads: bool,
    /// It reaches all of that, whatever it is called.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// It has more words, names or values than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Its facts: slot and value.
    pub facts: BTreeSet<String>,
}

/// Whether a policy is about events.
pub(super) fn is_of_events(policy: &cedar_policy::Policy) -> bool {
    let named = |uid: &EntityUid| uid.id().unescaped() == EVENT;
    match policy.action_constraint() {
        ActionConstraint::Any => false,
        ActionConstraint::Eq(uid) => named(&uid),
        ActionConstraint::In(uids) => uids.iter().any(named),
    }
}

/// The policies about events, apart from those about effects.
pub(super) fn split(everything: &Policies) -> (PolicySet, Policies) {
    let (mut effects, mut events) = (PolicySet::new(), Policies::default());
    for policy in everything.set.policies() {
        let set = if is_of_events(policy) { &mut events.set } else { &mut effects };
        // ids are unique in the whole
        let _ = set.add(policy.clone());
    }
    if !events.set.is_empty() {
        events.rules.clone_from(&everything.rules);
    }
    (effects, events)
}

/// Validates policies about events.
///
/// # Errors
/// The first problem.
pub(super) fn validate(events: &Policies, user: &str) -> Result<Option<Schema>, PolicyError> {
    if events.set.is_empty() {
        return Ok(None);
    }
    let invalid = |id: &cedar_policy::PolicyId, problem: String| {
        let file = events.rules.get(id).map_or_else(String::new, |rule| rule.file.clone());
        PolicyError::Invalid { file, id: id.to_string(), problem }
    };
    for policy in events.set.policies() {
        if !events.rules.get(policy.id()).is_some_and(|rule| rule.forbids) {
            return Err(invalid(policy.id(), "a policy about events can only forbid".to_owned()));
        }
    }
    let text = format!("{user}{SCHEMA}");
    let schema = Schema::from_cedarschema_str(&text).map_err(|error| PolicyError::Schema(Box::new(error)))?.0;
    let result = Validator::new(schema.clone()).validate(&events.set, ValidationMode::Strict);
    match result.validation_errors().next() {
        Some(error) => Err(invalid(error.policy_id(), error.to_string())),
        None => Ok(Some(schema)),
    }
}

impl Inner {
    /// The policies about events; `None` if there are none.
    pub(super) fn events(&self) -> Option<&Policies> {
        let known = self.events.get_or_init(|| {
            // the shipped policies are about effects
            if self.texts.iter().all(|text| text.file == load::BASE_FILE) {
                return Some(Policies::default());
            }
            self.everything().map(|everything| split(everything).1)
        });
        known.as_ref().filter(|events| !events.set.is_empty())
    }
}

impl EventFacts {
    /// Its kind and facts, bounded.
    pub(super) fn in_words(&self) -> String {
        let facts: Vec<&str> = self.facts.iter().map(String::as_str).take(SHOWN).collect();
        let more = if self.facts.len() > SHOWN { ", ..." } else { "" };
        format!("{}: {}{more}", self.family, facts.join(", "))
    }
}

impl Screener<'_> {
    /// The violations of policies about events, each policy once, and what is unknown.
    pub(crate) fn screen_events(&self, events: impl Iterator<Item = EventFacts>) -> Vec<Finding> {
        let Some(policies) = self.inner.events() else { return Vec::new() };
        let mut found: BTreeMap<String, Finding> = BTreeMap::new();
        for event in events {
            match self.event(policies, &event) {
                Ok(rules) => {
                    for rule in rules {
                        found.entry(rule.id.clone()).or_insert_with(|| self.violated(rule, &event));
                    }
                }
                Err(problem) => {
                    let unknown =
                        Finding::new(Check::understood(), Outcome::Unknown, Answered::NotUnderstood, problem.clone());
                    found.entry(problem).or_insert(unknown);
                }
            }
        }
        let mut findings: Vec<Finding> = found.into_values().collect();
        // denials first, because the first reason is shown
        findings.sort_by(|a, b| (a.response, &a.source).cmp(&(b.response, &b.source)));
        findings
    }

    /// The policies that forbid one event.
    fn event<'p>(&self, policies: &'p Policies, event: &EventFacts) -> Result<Vec<&'p Rule>, String> {
        let who = self.who.as_ref().map_err(|problem| problem.to_string())?;
        let (request, entities) = event_request(who, event, None)?;
        let response = Authorizer::new().is_authorized(&request, &policies.set, &entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Err(format!("a policy about events could not be evaluated: {error}"));
        }
        let reasons = response.diagnostics().reason().filter(|_| response.decision() == Decision::Deny);
        Ok(reasons.filter_map(|id| policies.rules.get(id)).collect())
    }

    fn violated(&self, rule: &Rule, event: &EventFacts) -> Finding {
        let check = Check {
            category: rule.category.clone(),
            name: rule.check.clone(),
            definition: rule.reason.clone(),
            authority: Authority::Policy,
            required: true,
            kind: CheckKind::Action,
        };
        let reason = filled(&rule.reason, self.subject);
        Finding {
            response: rule.response,
            declared: rule.severity,
            advice: rule.advice.clone(),
            evidence: vec![Evidence { about: event.family.clone(), says: event.in_words() }],
            ..Finding::new(check, Outcome::Violation, Answered::Policy(rule.id.clone()), reason)
        }
    }
}

/// One event as a Cedar request. With a `schema`, it is validated.
pub(super) fn event_request(
    who: &Entity,
    event: &EventFacts,
    schema: Option<&Schema>,
) -> Result<(Request, Entities), String> {
    let problem =
        |error: &dyn std::fmt::Display| format!("the policy request about an event could not be built: {error}");
    let uid = |text: String| text.parse::<EntityUid>().map_err(|error| problem(&error));
    if !FAMILIES.contains(&event.family.as_str()) {
        return Err(problem(&format!("there is no kind of event '{}'; use {}", event.family, FAMILIES.join(", "))));
    }
    let facts = Value::new_set(event.facts.iter().map(|fact| Value::new_string(fact.clone())));
    let pairs = [
        ("facts", facts),
        ("spreads", Value::new_bool(event.spreads)),
        ("whole", Value::new_bool(event.whole)),
        ("more", Value::new_bool(event.more)),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    let context = Context::from_pairs(pairs).map_err(|error| problem(&error))?;
    let (action, resource) = (uid(format!("Action::\"{EVENT}\""))?, uid(format!("Event::\"{}\"", event.family))?);
    let request = Request::new(who.uid(), action, resource, context, schema).map_err(|error| problem(&error))?;
    let entities = Entities::from_entities([who.clone()], schema).map_err(|error| problem(&error))?;
    Ok((request, entities))
}
