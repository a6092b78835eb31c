//! What operators allow although a policy asks about it, and policies that they disable.
//!
//! 1. A policy that permits may name others in `@allows("install, schedule")`. Where it applies, those do not ask. It
//!    cannot name a policy that denies, and it must have a condition, or `@whole("yes")`.
//! 2. `policy.disable` switches a policy off everywhere, with a reason: one that asks, or one of the operator's own.
//! 3. Neither loosens what the organisation's policies ask about, unless the file that allows it is the organisation's, too.
//!    Only a person answers those (`@by("person")` is implied).
//! 4. A folder in such a policy means what is in it. In a policy that forbids it also means what holds it: whoever deletes
//!    `/data` deletes `/data/prod`.

use super::load::{PolicyError, Source};
use super::{Policies, Rule};
use crate::check::Response;
use cedar_policy::{Policy, PolicyId, PolicySet, ResourceConstraint};
use std::collections::{BTreeMap, BTreeSet};

/// The policies that allow what others ask about, as a set of their own.
pub(super) fn allowing(all: &Policies) -> PolicySet {
    let mut set = PolicySet::new();
    for policy in all.set.policies().filter(|policy| all.rules.get(policy.id()).is_some_and(|r| !r.allows.is_empty())) {
        // the ids are those of another set, so they are unique
        let _ = set.add(policy.clone());
    }
    set
}

/// The names in an annotation: separated by commas.
pub(super) fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Verifies what policies allow and what is disabled. Returns all problems.
pub(super) fn problems(all: &Policies, texts: &[Source], disabled: &BTreeMap<String, String>) -> Vec<PolicyError> {
    let mut found = Vec::new();
    let files: BTreeSet<&str> =
        texts.iter().filter(|source| source.organisation).map(|source| source.file.as_str()).collect();
    let is_kept =
        |id: &String| all.rules.get(&PolicyId::new(id)).is_some_and(|rule| files.contains(rule.file.as_str()));
    for policy in all.set.policies() {
        let Some(rule) = all.rules.get(policy.id()).filter(|rule| !rule.allows.is_empty()) else { continue };
        let mut wrong = |problem: String| {
            found.push(PolicyError::Annotation { file: rule.file.clone(), id: rule.id.clone(), problem });
        };
        if rule.forbids {
            wrong("@allows belongs to a policy that permits; this one forbids".to_owned());
            continue;
        }
        rule.allows.iter().filter_map(|id| not_asking(all, id)).for_each(&mut wrong);
        if !files.contains(rule.file.as_str()) {
            rule.allows.iter().filter(|id| is_kept(id)).map(kept).for_each(&mut wrong);
        }
        if policy.annotation("whole") != Some("yes") && is_unconditional(policy) {
            wrong(format!(
                "it would allow all that {} asks about; write a condition (when {{ ... }}), or @whole(\"yes\") above the \
                 policy if you mean all",
                rule.allows.join(" and ")
            ));
        }
    }
    for (id, reason) in disabled {
        let mut wrong = |problem: String| found.push(PolicyError::Disabled { id: id.clone(), problem });
        match all.rules.get(&PolicyId::new(id)) {
            Some(_) if is_kept(id) => wrong(kept(id)),
            Some(rule) if !rule.is_shipped() => {}
            _ => not_asking(all, id).into_iter().for_each(&mut wrong),
        }
        if reason.trim().is_empty() {
            wrong("has no reason; write why, for whoever reads the configuration later".to_owned());
        }
    }
    found
}

fn kept(id: &String) -> String {
    format!("'{id}' is a rule of the organisation, which only the organisation can loosen")
}

/// Why an operator cannot take back what the policy with this id says; `None` if it asks.
fn not_asking(all: &Policies, id: &str) -> Option<String> {
    match all.rules.get(&PolicyId::new(id)) {
        Some(Rule { forbids: true, response: Response::Ask(_), .. }) => None,
        Some(Rule { forbids: true, .. }) => {
            Some(format!("'{id}' denies, and only what a policy asks about can be allowed"))
        }
        Some(_) => Some(format!("'{id}' permits, so there is nothing to allow")),
        None => {
            let ids = all.rules.values().filter(|rule| rule.forbids).map(|rule| rule.id.as_str());
            let near = ids.max_by(|a, b| strsim::jaro_winkler(a, id).total_cmp(&strsim::jaro_winkler(b, id)));
            let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            Some(format!("there is no policy '{id}'{near}"))
        }
    }
}

/// Whether a policy applies to all effects of its actions.
fn is_unconditional(policy: &Policy) -> bool {
    let any_target = matches!(policy.resource_constraint(), ResourceConstraint::Any | ResourceConstraint::Is(_));
    any_target && !policy.has_non_scope_constraint()
}
