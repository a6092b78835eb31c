//! Replacing guard and settings of a running service, together or not at all.
//!
//! 1. [`Service::reload`] reads configuration and policies through the [`ConfigLoader`].
//! 2. It compares the result with the configuration in force ([`weaknesses`]).
//! 3. A broken configuration is refused, and so is a weaker one unless an operator accepts it.
//! 4. The attempt is written to the audit log before the replacement takes effect.

use super::{Live, Service, Settings, Token};
use crate::Guard;
use crate::audit::{Audit, AuditError};
use crate::guard::UnknownPrograms;
use crate::machine::Environment;
use crate::policy::{Policy, Rule, Source};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

/// Most changes of policies that are kept, and characters of one.
const CHANGES: usize = 20;
const LONGEST_DIFF: usize = 100_000;

/// Why a configuration cannot be loaded: an error of the program that reads it.
pub type LoadError = Box<dyn std::error::Error + Send + Sync>;

/// Reads configuration and policies, and builds the guard from them.
pub(super) struct ConfigLoader(Box<dyn Fn() -> Result<(Guard, Settings), LoadError> + Send + Sync>);

impl std::fmt::Debug for ConfigLoader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConfigLoader")
    }
}

/// The outcome of a reload.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Reloaded {
    /// Digest of the policies before the reload.
    pub before: String,
    /// Digest of the policies after it.
    pub after: String,
    /// One line for each respect in which the new configuration is weaker; empty if there is none.
    pub weaker: Vec<String>,
}

/// Why a reload changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The service was built with [`Service::new`].
    #[error("this service was started without a configuration to reload")]
    Fixed,
    /// The configuration or a policy is invalid.
    #[error("invalid configuration: {0}")]
    Broken(LoadError),
    /// The new configuration is weaker, and no operator has accepted that.
    #[error("the new configuration is weaker: {}; an operator can accept it with POST /v1/reload and {{\"weaker\": true}}", .0.join("; "))]
    Weaker(Vec<String>),
    /// The reload cannot be recorded.
    #[error("the configuration was not replaced because the change cannot be logged: {0}")]
    Audit(#[from] AuditError),
}

impl Service {
    /// The same as [`Service::new`] with the guard and settings that `load` returns; each [`Service::reload`] calls it
    /// again. [`Settings::body`], [`Settings::at_once`], [`Settings::waiting`] and [`Settings::per_second`] keep their
    /// first values.
    ///
    /// # Errors
    /// [`ReloadError::Broken`]
    pub fn reloading(
        environment: Option<Environment>,
        load: impl Fn() -> Result<(Guard, Settings), LoadError> + Send + Sync + 'static,
    ) -> Result<Self, ReloadError> {
        let (guard, settings) = load().map_err(ReloadError::Broken)?;
        Ok(Self::with_loader(guard, environment, settings, Some(ConfigLoader(Box::new(load)))))
    }

    /// The guard in force.
    #[must_use]
    pub fn guard(&self) -> Guard {
        self.live().guard.clone()
    }

    /// Reloads the configuration on behalf of `who`; blocks on file access. A weaker configuration takes effect only if
    /// `accepts_weaker`.
    ///
    /// # Errors
    /// [`ReloadError`]; then nothing has changed.
    pub fn reload(&self, who: &str, accepts_weaker: bool) -> Result<Reloaded, ReloadError> {
        let _one_at_a_time = self.inner.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.live();
        let Some(ConfigLoader(load)) = &self.inner.config_loader else { return Err(ReloadError::Fixed) };
        let (guard, settings) = match load() {
            Ok(loaded) => loaded,
            Err(why) => {
                note(&old, &format!("{who} asked to reload the configuration; it stays as it was: {why}"))?;
                tracing::error!(%why, "the configuration was not replaced: it is invalid");
                return Err(ReloadError::Broken(why));
            }
        };
        let new = Live { guard, settings };
        let reloaded = Reloaded {
            before: old.guard.policy().digest().to_owned(),
            after: new.guard.policy().digest().to_owned(),
            weaker: weaknesses(&old, &new),
        };
        let Reloaded { before, after, weaker } = &reloaded;
        if !weaker.is_empty() && !accepts_weaker {
            note(
                &old,
                &format!(
                    "{who} asked to reload the configuration; it stays as it was, because the new one is WEAKER (policy {before} -> \
                     {after}): {}",
                    weaker.join("; ")
                ),
            )?;
            tracing::error!(weaker = weaker.len(), "the configuration was not replaced: the new one is weaker");
            return Err(ReloadError::Weaker(reloaded.weaker));
        }
        let change =
            if weaker.is_empty() { "nothing is weaker".to_owned() } else { format!("WEAKER: {}", weaker.join("; ")) };
        let event = format!("{who} read the configuration anew; policy {before} -> {after}; {change}");
        note(&old, &event)?;
        // a reader of the new log must find the change, too
        if folder(&new).is_some() && folder(&new) != folder(&old) {
            note(&new, &event)?;
        }
        self.record_change(who, old.guard.policy(), new.guard.policy());
        tracing::info!(before, after, weaker = weaker.len(), "the configuration was replaced");
        *self.inner.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        Ok(reloaded)
    }
}

/// A change of the policies by a reload.
#[derive(Debug, Clone)]
pub(super) struct PolicyChange {
    pub at_ms: i64,
    /// Who asked for the reload.
    pub by: String,
    /// Unified difference of the texts.
    pub diff: String,
}

impl Service {
    fn record_change(&self, by: &str, old: &Policy, new: &Policy) {
        if old.digest() == new.digest() {
            return;
        }
        let (was, is) = (old.sources(), new.sources());
        let files: BTreeSet<&str> = was.iter().chain(is).map(|source| source.file.as_str()).collect();
        let text = |all: &[Source], file: &str| {
            all.iter().filter(|source| source.file == file).map(|source| source.text.as_str()).collect::<String>()
        };
        let mut diff = String::new();
        for file in files {
            let (before, after) = (text(was, file), text(is, file));
            if before != after {
                let lines = similar::TextDiff::from_lines(&before, &after);
                diff.push_str(&lines.unified_diff().header(file, file).to_string());
            }
        }
        if diff.is_empty() {
            "No text has changed; policies were switched off or on.".clone_into(&mut diff);
        }
        let more = diff.chars().count().saturating_sub(LONGEST_DIFF);
        let mut diff: String = diff.chars().take(LONGEST_DIFF).collect();
        if more > 0 {
            diff.push_str(&format!("\n[… {more} more characters]"));
        }
        let mut changes = self.inner.policy_changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.push(PolicyChange { at_ms: crate::clock::now_ms(), by: by.to_owned(), diff });
        let many = changes.len().saturating_sub(CHANGES);
        changes.drain(..many);
    }

    /// How reloads have changed the policies, oldest first.
    pub(super) fn policy_changes(&self) -> Vec<PolicyChange> {
        self.inner.policy_changes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Writes an event to the audit log, where there is one.
fn note(live: &Live, event: &str) -> Result<(), AuditError> {
    live.guard.audit().map_or(Ok(()), |audit| audit.note(event).map(|_| ()))
}

fn folder(live: &Live) -> Option<&std::path::Path> {
    live.guard.audit().map(Audit::folder)
}

/// Each respect in which `new` is weaker than `old`.
fn weaknesses(old: &Live, new: &Live) -> Vec<String> {
    let mut found = weaker_rules(old.guard.policy(), new.guard.policy());
    found.extend(weaker_guard(old, new).into_iter().chain(weaker_settings(old, new)).map(str::to_owned));
    found.extend(new_powers(old, new, "operate", |token| token.operates));
    found.extend(new_powers(old, new, "act for others", |token| token.acts_for_others));
    found
}

/// Weaknesses of the new guard: its settings, its model, its memory and its log.
fn weaker_guard(old: &Live, new: &Live) -> Vec<&'static str> {
    let (was, is) = (old.guard.settings(), new.guard.settings());
    let lenience = |programs: UnknownPrograms| match programs {
        UnknownPrograms::Deny => 0,
        UnknownPrograms::Ask => 1,
        UnknownPrograms::Allow => 2,
    };
    let reports = |live: &Live| required_entries(&live.guard);
    holding([
        (is.on_failure < was.on_failure, "a failure asks a person instead of denying"),
        (
            lenience(is.unknown_programs) > lenience(was.unknown_programs),
            "programs that are not known are stopped less",
        ),
        (is.library != was.library, "the functions of the agents' Python code are described differently"),
        (was.project_policies && !is.project_policies, "the policies of projects are ignored"),
        (is.mode != was.mode, "the model is consulted in other cases"),
        (was.judge && !is.judge, "no model checks any more whether an action follows injected instructions"),
        (old.guard.embeds() && !new.guard.embeds(), "there is no embedder any more"),
        (old.guard.audit().is_some() && new.guard.audit().is_none(), "there is no audit log any more"),
        (old.guard.memory().is_some() && new.guard.memory().is_none(), "there is no memory any more"),
        (reports(new) < reports(old), "the memory holds fewer reports of operators"),
        (is.similarity > was.similarity || is.neighbours < was.neighbours, "the memory recalls less"),
        (is.learning != was.learning, "the memory learns from other episodes"),
        (old.guard.rows() != new.guard.rows(), "the rows about in-house tools have changed"),
        (folder(old) != folder(new), "the audit log is in another folder"),
    ])
}

/// Weaknesses of the new settings of the service: its callers and its answers.
fn weaker_settings(old: &Live, new: &Live) -> Vec<&'static str> {
    let (was, is) = (&old.settings, &new.settings);
    holding([
        (was.identity != is.identity, "agents act for another identity, or with other roles"),
        (is.hosts.iter().any(|host| !was.hosts.contains(host)), "the service accepts more host names"),
        (is.shadow && !was.shadow, "shadow mode: nothing is stopped"),
        (was.check_needs_token && !is.check_needs_token, "a check needs no token any more"),
    ])
}

fn holding<const N: usize>(table: [(bool, &'static str); N]) -> Vec<&'static str> {
    table.into_iter().filter_map(|(holds, weakness)| holds.then_some(weakness)).collect()
}

/// Tokens that have gained a power.
fn new_powers(old: &Live, new: &Live, power: &str, has: fn(&Token) -> bool) -> Vec<String> {
    let had = |name: &str| old.settings.tokens.iter().any(|token| has(token) && token.name == name);
    let gained = new.settings.tokens.iter().filter(|token| has(token) && !had(&token.name));
    gained.map(|token| format!("token '{}' may {power}", token.name)).collect()
}

/// Active entries of the memory with a required check.
fn required_entries(guard: &Guard) -> usize {
    let active = guard.memory().and_then(|memory| memory.active().ok()).unwrap_or_default();
    active.iter().filter(|entry| entry.checks.iter().any(|check| check.required)).count()
}

/// Forbidding rules that were removed or changed, and permitting rules that are new or changed.
fn weaker_rules(old: &Policy, new: &Policy) -> Vec<String> {
    if old.digest() == new.digest() {
        return Vec::new();
    }
    let texts = |policy: &Policy| -> BTreeMap<String, (bool, Option<String>)> {
        let entry = |rule: &&Rule| (rule.id.clone(), (rule.forbids, policy.text(&rule.id)));
        policy.rules().iter().map(entry).collect()
    };
    let (was, is) = (texts(old), texts(new));
    let forbids = was.iter().filter(|(_, (forbids, _))| *forbids).filter_map(|(id, text)| match is.get(id) {
        Some(new_text) if new_text == text => None,
        Some(_) => Some(format!("policy '{id}' has changed")),
        None => Some(format!("policy '{id}' was removed")),
    });
    let permits = is.iter().filter(|(id, text)| !text.0 && was.get(*id) != Some(text));
    forbids.chain(permits.map(|(id, _)| format!("policy '{id}' permits"))).collect()
}
