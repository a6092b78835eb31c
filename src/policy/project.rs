//! The policies of a project: `.agrail/policy.cedar` in its folder.
//!
//! 1. They are a set of their own and only forbid. A project is often somebody else's: nothing in it may loosen what the user
//!    or the organisation says, and a mistake in it may not touch their policies.
//! 2. What they say reaches the agent, so that a project must not speak in the guard's voice: its reasons are quoted, and its
//!    advice is left out. An id names the file, because several projects may use the same.
//! 3. A folder is meant relative to the project: `Folder::"gen"`.

use super::load::{self, PolicyError, Source};
use super::upgrade::UpgradeError;
use super::{Policies, Policy, Rule, bounds};
use crate::untrusted::visible;
use cedar_policy::Policy as CedarPolicy;
use serde_json::Value;
use std::sync::Arc;

/// The file, relative to the folder of the project.
const FILE: &str = ".agrail/policy.cedar";
/// Longest id of a policy, in bytes: verdicts name it.
const ID: usize = 64;
/// Longest reason, in characters.
const REASON: usize = 200;
/// What could end the quotation of a reason for its reader.
const QUOTES: [char; 15] = ['"', '“', '”', '„', '‟', '«', '»', '‹', '›', '「', '」', '『', '』', '＂', '″'];
/// The categories that a policy may have: a free text would be the project's word in the guard's mouth.
const CATEGORIES: [&str; 3] = ["confidentiality", "integrity", "availability"];

impl Policy {
    /// The file with the policies of the project in this folder.
    #[must_use]
    pub fn project_file(folder: &str) -> String {
        format!("{}/{FILE}", folder.trim_end_matches('/'))
    }

    /// The policies of the project in a folder (an absolute path), without the universal ones. They only forbid.
    ///
    /// # Errors
    /// The first problem, with file and line where it has them.
    pub fn of_project(folder: &str, text: &str) -> Result<Self, PolicyError> {
        let source = source(folder, text);
        bounds::roomy(|| {
            let (found, problems) = read(&source, folder)?;
            match problems.into_iter().next() {
                Some(problem) => Err(problem),
                None => load::alone(source, found).map(|inner| Self { inner: Arc::new(inner) }),
            }
        })
        .map_err(as_written)
    }

    /// All problems of the policies of a project at once, each with its line (0: of no line), for a person who mends them.
    #[must_use]
    pub fn problems_of_project(folder: &str, text: &str) -> Vec<(usize, PolicyError)> {
        let source = source(folder, text);
        let problems = match bounds::roomy(|| read(&source, folder)) {
            Ok((_, problems)) if !problems.is_empty() => problems,
            Ok(_) => Self::of_project(folder, text).err().into_iter().collect(),
            Err(problem) => vec![problem],
        };
        problems.into_iter().map(|problem| (load::line_of(std::slice::from_ref(&source), &problem), problem)).collect()
    }
}

fn source(folder: &str, text: &str) -> Source {
    Source { file: Policy::project_file(folder), text: text.to_owned(), examples: None, organisation: false }
}

/// A problem with the id as it is written.
fn as_written(problem: PolicyError) -> PolicyError {
    match problem {
        PolicyError::Invalid { file, id, problem } => {
            let whole = format!("{file}#");
            PolicyError::Invalid { id: id.replace(&whole, ""), problem: problem.replace(&whole, ""), file }
        }
        other => other,
    }
}

/// The policies, and the problems of each.
fn read(source: &Source, folder: &str) -> Result<(Policies, Vec<PolicyError>), PolicyError> {
    let mut found = Policies::default();
    let mut problems = Vec::new();
    bounds::verify_project(source)?;
    for policy in load::parsed(source)? {
        let added = anchored(source, folder, &policy).and_then(|policy| {
            let rule = quoted(load::rule(source, &policy)?, &policy)?;
            found.insert(source, &policy, rule)
        });
        problems.extend(added.err());
    }
    Ok((found, problems))
}

/// The rule as one that speaks for its project alone.
fn quoted(mut rule: Rule, policy: &CedarPolicy) -> Result<Rule, PolicyError> {
    let problem = if !rule.forbids {
        "permits; the policies of a project can only forbid"
    } else if policy.annotation("later").is_some() {
        "has @later, which the policies of a project cannot have"
    } else if rule.id.len() > ID || !rule.id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        "has an @id of other characters than letters, digits, - and _, or a very long one"
    } else if !CATEGORIES.contains(&rule.category.as_str()) {
        "has another @category than confidentiality, integrity or availability"
    } else {
        let reason: String = visible(&rule.reason).chars().take(REASON).collect();
        let says = if rule.response == crate::check::Response::Deny { "forbids" } else { "asks about" };
        rule.reason = format!("the project {says} it: \"{}\"", reason.replace(QUOTES, "'"));
        rule.check = "the policies of the project".to_owned();
        rule.id = format!("{}#{}", rule.file, rule.id);
        rule.advice = None;
        return Ok(rule);
    };
    Err(PolicyError::Annotation { file: rule.file, id: rule.id, problem: problem.to_owned() })
}

/// The policy with absolute folders.
fn anchored(source: &Source, folder: &str, policy: &CedarPolicy) -> Result<CedarPolicy, PolicyError> {
    let invalid = |problem: String| {
        let id = policy.annotation("id").map_or_else(|| policy.id().to_string(), str::to_owned);
        PolicyError::Invalid { file: source.file.clone(), id, problem }
    };
    let json = policy.to_json().map_err(|error| invalid(UpgradeError::ToJson(Box::new(error)).to_string()));
    let mut json = json?;
    anchor(&mut json, folder.trim_end_matches('/')).map_err(invalid)?;
    CedarPolicy::from_json(Some(policy.id().clone()), json)
        .map_err(|error| invalid(UpgradeError::FromJson(Box::new(error)).to_string()))
}

/// Makes the folders in a policy absolute.
///
/// # Errors
/// Why a folder is none of the project.
fn anchor(node: &mut Value, folder: &str) -> Result<(), String> {
    match node {
        Value::Array(items) => items.iter_mut().try_for_each(|item| anchor(item, folder)),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            if let (Some("Folder"), Some(id)) = (text("type"), text("id")) {
                let absolute = absolute(folder, id)?;
                fields.insert("id".to_owned(), Value::String(absolute));
                return Ok(());
            }
            fields.values_mut().try_for_each(|value| anchor(value, folder))
        }
        _ => Ok(()),
    }
}

fn absolute(folder: &str, path: &str) -> Result<String, String> {
    if path.starts_with('/') {
        return Ok(path.to_owned());
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") || path.starts_with('~') {
        return Err("names a folder that is not below the project; write its absolute path".to_owned());
    }
    let path = [&[folder], parts.as_slice()].concat().join("/");
    Ok(if path.is_empty() { "/".to_owned() } else { path })
}
