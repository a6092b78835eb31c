//! Policies about what an action does as a whole: `action == Action::"event"`.
//!
//! 1. An effect is what parsers and the table know of an action. An [`EventFacts`] is what it can be recognised by, known or
//!    not: a command with its words, a call with its arguments, all that it names. The rules that reports lead to are
//!    written as such policies (`agrail learn policy`), and operators may write their own.
//! 2. They have a schema of their own, so that a policy about every effect need not know of them. They only forbid.
//! 3. A policy that cannot be evaluated makes the event unknown, which asks.

use super::load::PolicyError;
use super::request::RequestError;
use super::{Policies, Rule, Screener, check_of, filled};
use crate::check::{Check, Evidence, Finding, Outcome, Source as Answered, Stage};
use cedar_policy::{
    ActionConstraint, Authorizer, Context, Decision, Entities, Entity, EntityUid, PolicyId, PolicySet, Request,
    RestrictedExpression as Value, Schema, ValidationMode, Validator,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The Cedar action.
pub(super) const EVENT: &str = "event";
/// The kinds of events: the resources.
pub(crate) const FAMILIES: [&str; 7] = ["place", "thing", "call", "command", "plain", "mention", "said"];
/// The slots of facts: what stands before the value.
pub(crate) const SLOTS: [&str; 14] = [
    "does", "how", "kind", "at", "below", "named", "ends", "program", "first", "word", "pair", "option", "tool",
    "value",
];
/// Most facts of an event that a finding shows.
const SHOWN: usize = 12;

/// The schema of these policies, as Cedar text; it follows that of the effects.
pub(super) const SCHEMA: &str = "
// A policy whose action is Action::\"event\" is about what an action does as a whole, known or not, and can only forbid.
// Of the definitions above it has only User. The resource is the kind of event: an effect on a place or on another thing,
// a call of a tool, a command (plain: one that only works on files), all that an action names (mention), a message (said).
entity Event enum [\"place\", \"thing\", \"call\", \"command\", \"plain\", \"mention\", \"said\"];

type EventContext = {
  // slot and value: \"does change\", \"how delete\", \"kind table\", \"at /srv/a.csv\", \"below /srv\", \"named a.csv\",
  // \"ends .csv\", \"program git\", \"first push\", \"word main\", \"pair remote add\", \"option --force\", \"tool send\", \"value x\"
  facts: Set<String>,
  spreads: Bool, // it reaches what is below \"at ...\", too
  whole: Bool, // if it spreads, to every file; otherwise only to names with one of the listed endings
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

/// The policies about effects, and those about events.
///
/// # Errors
/// If a policy cannot be taken into its set: it must not be lost.
pub(super) fn split(everything: &Policies) -> Result<(PolicySet, Policies), PolicyError> {
    let (mut effects, mut events) = (PolicySet::new(), Policies::default());
    for policy in everything.set.policies() {
        let set = if is_of_events(policy) { &mut events.set } else { &mut effects };
        set.add(policy.clone()).map_err(|error| invalid(everything, policy.id(), error.to_string()))?;
    }
    if !events.set.is_empty() {
        events.rules.clone_from(&everything.rules);
    }
    Ok((effects, events))
}

fn invalid(policies: &Policies, id: &PolicyId, problem: String) -> PolicyError {
    let file = policies.rules.get(id).map_or_else(String::new, |rule| rule.file.clone());
    PolicyError::Invalid { file, id: id.to_string(), problem }
}

/// Validates policies about events.
///
/// # Errors
/// The first problem.
pub(super) fn validate(events: &Policies, user: &str) -> Result<(), PolicyError> {
    if events.set.is_empty() {
        return Ok(());
    }
    for policy in events.set.policies() {
        let rule = events.rules.get(policy.id());
        if !rule.is_some_and(|rule| rule.forbids) {
            return Err(invalid(events, policy.id(), "a policy about events can only forbid".to_owned()));
        }
        if rule.is_some_and(|rule| rule.later) {
            return Err(invalid(events, policy.id(), "@later is for policies about effects".to_owned()));
        }
    }
    let text = format!("{user}{SCHEMA}");
    let schema = Schema::from_cedarschema_str(&text).map_err(|error| PolicyError::Schema(Box::new(error)))?.0;
    let result = Validator::new(schema).validate(&events.set, ValidationMode::Strict);
    match result.validation_errors().next() {
        Some(error) => Err(invalid(events, error.policy_id(), error.to_string())),
        None => Ok(()),
    }
}

impl EventFacts {
    /// Its kind and facts, bounded.
    pub(crate) fn in_words(&self) -> String {
        let facts: Vec<&str> = self.facts.iter().map(String::as_str).take(SHOWN).collect();
        let more = if self.facts.len() > SHOWN { ", ..." } else { "" };
        format!("{}: {}{more}", self.family, facts.join(", "))
    }
}

impl Screener<'_> {
    /// The violations of policies about events, each policy once, and which event could not be judged. `file`: only the
    /// policies of this file.
    pub(crate) fn screen_events(&self, events: impl Iterator<Item = EventFacts>, file: Option<&str>) -> Vec<Finding> {
        let policies = &self.inner.events;
        let mut found: BTreeMap<String, Finding> = BTreeMap::new();
        for event in events {
            let (rules, problems) = self.event(policies, &event);
            for rule in rules.into_iter().filter(|rule| file.is_none_or(|file| rule.file == file)) {
                found.entry(rule.id.clone()).or_insert_with(|| self.violated(rule, &event));
            }
            for problem in problems {
                // no approval answers it
                let source = Answered::Guard(Stage::Guard);
                let unknown = Finding::new(Check::understood(), Outcome::Unknown, source, problem.clone());
                found.entry(problem).or_insert(unknown);
            }
        }
        let mut findings: Vec<Finding> = found.into_values().collect();
        // denials first, because the first reason is shown
        findings.sort_by(|a, b| (a.response, &a.source).cmp(&(b.response, &b.source)));
        findings
    }

    /// The policies that forbid one event, and those that could not be evaluated.
    fn event<'p>(&self, policies: &'p Policies, event: &EventFacts) -> (Vec<&'p Rule>, Vec<String>) {
        let request = self
            .who
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|who| event_request(who, event).map_err(|error| error.to_string()));
        let (request, entities) = match request {
            Ok(request) => request,
            Err(problem) => return (Vec::new(), vec![problem]),
        };
        let response = Authorizer::new().is_authorized(&request, &policies.set, &entities);
        let errors = response.diagnostics().errors();
        let problems = errors.map(|error| format!("a policy about events could not be evaluated: {error}")).collect();
        let reasons = response.diagnostics().reason().filter(|_| response.decision() == Decision::Deny);
        (reasons.filter_map(|id| policies.rules.get(id)).collect(), problems)
    }

    fn violated(&self, rule: &Rule, event: &EventFacts) -> Finding {
        let reason = filled(&rule.reason, self.subject);
        Finding {
            response: rule.response,
            declared: rule.severity,
            advice: rule.advice.clone(),
            evidence: vec![Evidence { about: event.family.clone(), says: event.in_words() }],
            ..Finding::new(check_of(rule), Outcome::Violation, Answered::Policy(rule.id.clone()), reason)
        }
    }
}

/// Why an event is no Cedar request.
#[derive(Debug, thiserror::Error)]
pub(super) enum EventError {
    #[error("there is no kind of event '{0}'; use {kinds}", kinds = FAMILIES.join(", "))]
    Family(String),
    #[error("the policy request about an event could not be built: {0}")]
    Request(#[from] RequestError),
}

/// One event as a Cedar request.
///
/// # Errors
/// [`EventError`]
pub(super) fn event_request(who: &Entity, event: &EventFacts) -> Result<(Request, Entities), EventError> {
    let uid = |text: String| text.parse::<EntityUid>().map_err(|error| RequestError::Name(Box::new(error)));
    if !FAMILIES.contains(&event.family.as_str()) {
        return Err(EventError::Family(event.family.clone()));
    }
    let facts = Value::new_set(event.facts.iter().map(|fact| Value::new_string(fact.clone())));
    let pairs = [
        ("facts", facts),
        ("spreads", Value::new_bool(event.spreads)),
        ("whole", Value::new_bool(event.whole)),
        ("more", Value::new_bool(event.more)),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    let context = Context::from_pairs(pairs).map_err(|error| RequestError::Context(Box::new(error)))?;
    let (action, resource) = (uid(format!("Action::\"{EVENT}\""))?, uid(format!("Event::\"{}\"", event.family))?);
    let request = Request::new(who.uid(), action, resource, context, None)
        .map_err(|error| RequestError::Request(Box::new(error)))?;
    let entities =
        Entities::from_entities([who.clone()], None).map_err(|error| RequestError::Entities(Box::new(error)))?;
    Ok((request, entities))
}
