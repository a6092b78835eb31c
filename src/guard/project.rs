//! The policies of the projects that an action runs in or touches (`Policy::of_project`).
//!
//! 1. They are looked for in the folders in which the action runs, at its targets, and in all folders above these. An action
//!    is judged as a whole by those around the folders in which it runs, by the others as far as it touches their project.
//! 2. Each project is judged by a set of its own, and its violations are added to what the guard's policies say. A file that
//!    cannot be used makes a person answer, and changes nothing else.
//! 3. Nothing is learnt from what they say, and no model reads it (`CheckKind::Project`). Verdicts quote their reasons, and
//!    no other text of them.
//! 4. Where the identity itself cannot enter, none are looked for.
//!
//! Limits: what is named from above a project by a pattern or an unknown part (`rm sho*/gen/a`) is not judged by it.

use crate::check::{Answerer, Check, CheckKind, Finding, Outcome, Response, Source};
use crate::effect::{Kind, UNKNOWN_SPAN, Verb};
use crate::facts::ScreenInput;
use crate::machine::{Account, Environment};
use crate::policy::{self, EffectFacts, Policy, PolicyError};
use crate::shape::Event;
use crate::untrusted::visible;
use quick_cache::sync::Cache;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// Longest file, in bytes.
const LONGEST: usize = 32 * 1024;
/// Longest path, in bytes.
const LONGEST_PATH: usize = 4_096;
/// Most folders in which it is looked for.
const FOLDERS: usize = 4_096;
/// Most projects that one action is judged by.
const MOST: usize = 64;
/// Most sets of policies that are kept.
const KEPT: usize = 32;

/// The policies of projects as they were last read, by the digest of folder and text.
#[derive(Debug)]
pub(super) struct Projects(Cache<String, Arc<Result<Policy, String>>>);

impl Default for Projects {
    fn default() -> Self {
        Self(Cache::new(KEPT))
    }
}

/// The projects around one action.
#[derive(Debug, Default)]
pub(super) struct Found {
    projects: Vec<Project>,
    /// Why projects were left out.
    problem: Option<&'static str>,
    /// Folders whose projects the guard cannot see.
    unseen: Vec<String>,
}

#[derive(Debug)]
struct Project {
    /// Its folder; links are resolved.
    folder: String,
    /// The action, or a part of it, runs in it.
    around: bool,
    /// Of folder and text.
    digest: String,
    /// Its policies, or why they cannot be used.
    policy: Arc<Result<Policy, String>>,
}

impl Projects {
    /// The projects around an action that starts in `cwd` (empty: not known) and does what was gathered.
    pub(super) fn find(
        &self,
        environment: Option<&Environment>,
        account: &Account,
        cwd: &str,
        gathered: &ScreenInput,
    ) -> Found {
        let Some(environment) = environment else { return Found::default() };
        let mut found = Found::default();
        let (folders, whole) = folders(environment, cwd, gathered);
        if !whole {
            found.problem = Some("the action touches too many folders to look for the policies of projects");
        }
        for (folder, around) in folders {
            let file = Policy::project_file(&folder);
            match environment.is_named(&file) {
                Some(false) => continue,
                Some(true) => {}
                // one is enough for a question
                None if !found.unseen.is_empty() || shut(environment, account, &folder) => continue,
                None => {
                    found.unseen.push(folder);
                    continue;
                }
            }
            let folder = environment.resolve(&folder).unwrap_or(folder);
            if let Some(known) = found.projects.iter_mut().find(|known| known.folder == folder) {
                known.around |= around;
                continue;
            }
            if found.projects.len() >= MOST {
                found.problem = Some("the action touches too many projects with policies");
                break;
            }
            found.projects.push(self.project(environment, folder, around));
        }
        found
    }

    fn project(&self, environment: &Environment, folder: String, around: bool) -> Project {
        let file = Policy::project_file(&folder);
        let read = || match environment.resolve(&file) {
            Some(real) if real == file => match environment.read_small(&file, LONGEST).map(String::from_utf8) {
                Ok(Ok(text)) => Ok(text),
                Ok(Err(_)) => Err("it is not UTF-8 text".to_owned()),
                Err(why) => Err(why.to_string()),
            },
            Some(_) => Err("it is a link; it has to be a file of the project".to_owned()),
            None => Err("it cannot be looked at".to_owned()),
        };
        match read() {
            Ok(text) => {
                let digest = crate::digest([folder.clone().into_bytes(), text.clone().into_bytes()]);
                let loaded = || Ok::<_, Infallible>(Arc::new(loaded(&folder, &text)));
                let Ok(policy) = self.0.get_or_insert_with(&digest, loaded);
                Project { folder, around, digest, policy }
            }
            Err(why) => {
                let digest = crate::digest([folder.clone().into_bytes(), why.clone().into_bytes()]);
                Project { folder, around, digest, policy: Arc::new(Err(why)) }
            }
        }
    }
}

/// The policies, or why they cannot be used, without a word of the text.
fn loaded(folder: &str, text: &str) -> Result<Policy, String> {
    Policy::of_project(folder, text).map_err(|error| match error {
        PolicyError::Syntax { line, .. } => format!("line {line} is not Cedar"),
        PolicyError::Deep { line, .. } => format!("line {line} is too complex"),
        PolicyError::Word { line, .. } => format!("line {line} has a word that does not exist"),
        PolicyError::Empty { .. } => "it contains no policy".to_owned(),
        PolicyError::TooMany { .. } => "it contains too many policies".to_owned(),
        _ => "one of its policies is not valid".to_owned(),
    })
}

impl Found {
    /// Whether any of their policies are about the action as a whole.
    pub(super) fn judge_events(&self) -> bool {
        self.policies().any(|(project, policy)| project.around && policy.judges_events())
    }

    /// SHA-256 of these policies and those of the guard (`digest`), hexadecimal.
    pub(super) fn digest(&self, digest: &str) -> String {
        match self.projects.is_empty() {
            true => digest.to_owned(),
            false => {
                let projects = self.projects.iter().map(|project| project.digest.as_str());
                crate::digest([std::iter::once(digest).chain(projects).collect::<String>().into_bytes()])
            }
        }
    }

    /// The violations by effects, and which files cannot be used.
    pub(super) fn screen(&self, gathered: &ScreenInput) -> Vec<Finding> {
        let left_out = self.problem.map(|why| Finding {
            response: Response::Deny,
            advice: Some("do it in several steps".to_owned()),
            ..unusable(why.to_owned())
        });
        let unseen = self.unseen.iter().map(|folder| {
            let why = format!("whether {} has policies of a project cannot be seen", visible(folder));
            let advice = "let the guard run as the agent's account, or set policy.projects = false";
            Finding { advice: Some(advice.to_owned()), ..unusable(why) }
        });
        let mut findings: Vec<Finding> = left_out.into_iter().chain(unseen.take(1)).collect();
        for project in &self.projects {
            match project.policy.as_ref() {
                Ok(policy) => findings.extend(project.screen(policy, gathered)),
                Err(why) => findings.push(unusable(format!(
                    "the policies of the project cannot be used ({}: {why})",
                    visible(&Policy::project_file(&project.folder))
                ))),
            }
        }
        findings
    }

    /// The violations by the action as a whole: what runs in a project is its matter.
    pub(super) fn screen_events(&self, gathered: &ScreenInput, events: &[Event]) -> Vec<Finding> {
        let screened = self.policies().filter(|(project, _)| project.around).flat_map(|(project, policy)| {
            let screener = policy.screener(&gathered.subject);
            let found = screener.screen_events(events.iter().map(Event::facts), None);
            found.into_iter().map(|finding| project.own(finding))
        });
        screened.collect()
    }

    fn policies(&self) -> impl Iterator<Item = (&Project, &Policy)> {
        self.projects.iter().filter_map(|project| Some((project, project.policy.as_ref().as_ref().ok()?)))
    }
}

impl Project {
    fn screen(&self, policy: &Policy, gathered: &ScreenInput) -> Vec<Finding> {
        let screener = policy.screener(&gathered.subject);
        let queries = gathered.queries.iter().filter(|query| self.concerns(query));
        let found = queries.flat_map(|query| {
            let violations = screener.screen(query).into_iter().filter(|f| f.outcome == Outcome::Violation);
            violations.map(move |finding| (query, finding))
        });
        let found = policy::together(&gathered.subject, found.collect(), policy);
        found.into_iter().map(|finding| self.own(finding)).collect()
    }

    /// Whether an effect happens in the project.
    fn concerns(&self, query: &EffectFacts) -> bool {
        let inside = |path: &str| is_inside(path, &self.folder);
        self.around || (query.kind == Kind::Path && (inside(query.constant_part()) || inside(&query.resolved)))
    }

    /// A finding as one of the project. What Cedar says of a policy that fails quotes its text.
    fn own(&self, mut finding: Finding) -> Finding {
        if !matches!(finding.source, Source::Policy(_)) {
            let file = Policy::project_file(&self.folder);
            finding.reason = format!("a policy of the project could not be evaluated ({})", visible(&file));
        }
        finding.check.kind = CheckKind::Project;
        "the policies of the project do not forbid it".clone_into(&mut finding.check.definition);
        finding
    }
}

/// Whether a path is a folder or below it.
fn is_inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the account cannot enter a folder, or one above it.
fn shut(environment: &Environment, account: &Account, folder: &str) -> bool {
    above(folder).any(|folder| environment.path(folder, account).executable == Some(false))
}

fn unusable(why: String) -> Finding {
    let check = Check::integrity("the policies of the project", "the policies of the project can be used");
    let check = Check { kind: CheckKind::Project, ..check };
    let mut finding = Finding::new(check, Outcome::Violation, Source::Policy("project".to_owned()), why);
    finding.response = Response::Ask(Answerer::Person);
    finding.advice =
        Some("let a person correct or remove the file; 'agrail policy check FILE' lists its problems".to_owned());
    finding
}

/// The folders in which the action runs, its targets, and all folders above these, each with whether it is around a folder in
/// which the action runs; and whether these are all.
fn folders(environment: &Environment, cwd: &str, gathered: &ScreenInput) -> (BTreeMap<String, bool>, bool) {
    let resolved = Some(cwd).filter(|cwd| !cwd.is_empty()).and_then(|cwd| environment.resolve(cwd));
    let mut found = BTreeMap::new();
    // where programs run, and what is entered: a program may have no effect of its own
    let entered = |query: &&EffectFacts| query.verb == Verb::List && query.operation == "enter";
    let real = |query: &'_ EffectFacts| match query.resolved.as_str() {
        "" => query.constant_part().to_owned(),
        real => real.to_owned(),
    };
    let entered: Vec<String> = gathered.queries.iter().filter(entered).map(real).collect();
    let runs = gathered.queries.iter().map(|query| query.folder.as_str());
    let runs = runs.chain(entered.iter().map(String::as_str));
    let runs = runs.filter(|folder| !folder.is_empty());
    for folder in std::iter::once(resolved.as_deref().unwrap_or(cwd)).chain(runs) {
        if !found.contains_key(folder) {
            found.extend(above(folder).map(|folder| (folder.to_owned(), true)));
        }
    }
    let paths = gathered.queries.iter().filter(|query| query.kind == Kind::Path);
    for path in paths.flat_map(|query| [query.constant_part(), query.resolved.as_str()]) {
        for folder in above(path) {
            // what is above it is there, too
            if found.contains_key(folder) {
                break;
            }
            if found.len() >= FOLDERS {
                return (found, false);
            }
            found.insert(folder.to_owned(), false);
        }
    }
    (found, true)
}

/// An absolute path up to its first unknown part, and the folders above it to the root; none of a relative path.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let known = path.split(UNKNOWN_SPAN).next().unwrap_or_default().trim_end_matches('/');
    // a longer one names nothing
    let absolute = Some(known).filter(|known| path.starts_with('/') && known.len() <= LONGEST_PATH);
    std::iter::successors(absolute, |path| path.rsplit_once('/').map(|(folder, _)| folder))
        .map(|path| if path.is_empty() { "/" } else { path })
}
