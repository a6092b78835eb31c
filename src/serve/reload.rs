//! Another guard and other settings in the place of those that decide now, all at once or not at all.

use super::{Inner, Now, Service, Settings};
use crate::Guard;
use crate::audit::{Audit, AuditError};
use crate::facts::Environment;
use crate::guard::UnknownPrograms;
use crate::policy::{Policy, Rule};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

/// Reads the configuration anew.
pub(super) struct Make(Box<dyn Fn() -> Result<(Guard, Settings), String> + Send + Sync>);

impl std::fmt::Debug for Make {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Make")
    }
}

/// What a reload has changed.
#[derive(Debug, Clone, Serialize)]
pub struct Reloaded {
    /// Digest of the policies before it.
    pub before: String,
    /// And after it.
    pub after: String,
    /// What no longer stops anything, or stops less; empty if nothing does.
    pub weaker: Vec<String>,
}

/// Why everything stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The service was built without a configuration.
    #[error("this service has no configuration to read anew")]
    Fixed,
    /// What is configured does not work.
    #[error("the configuration does not work: {0}")]
    Broken(String),
    /// It would stop less than before, and no operator has accepted that.
    #[error("it would stop less than before: {}; an operator accepts that with POST /v1/reload and {{\"weaker\": true}}", .0.join("; "))]
    Weaker(Vec<String>),
    /// It could not be logged.
    #[error("the configuration stays as it was, since the change cannot be logged: {0}")]
    Audit(#[from] AuditError),
}

impl Service {
    /// The same as [`Service::new`] with what `make` reads; it is read again at each [`Service::reload`]. Addresses, sizes and
    /// numbers of places stay as they were at the start.
    ///
    /// # Errors
    /// [`ReloadError::Broken`]
    pub fn reloading(
        environment: Option<Environment>,
        make: impl Fn() -> Result<(Guard, Settings), String> + Send + Sync + 'static,
    ) -> Result<Self, ReloadError> {
        let (guard, settings) = make().map_err(ReloadError::Broken)?;
        Ok(Self::reloadable(guard, environment, settings, Some(Make(Box::new(make)))))
    }

    /// The guard that decides at the moment.
    #[must_use]
    pub fn guard(&self) -> Guard {
        self.now().guard.clone()
    }

    /// Reads the configuration anew, on the word of `who`. It waits for files. What stops less than before takes effect only
    /// where an operator `accepts_weaker`.
    ///
    /// # Errors
    /// [`ReloadError`]; then nothing has changed.
    pub fn reload(&self, who: &str, accepts_weaker: bool) -> Result<Reloaded, ReloadError> {
        let Inner { now, reload, reloading, .. } = &*self.inner;
        let _one = reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.now();
        let made = match reload {
            None => return Err(ReloadError::Fixed),
            Some(Make(make)) => make(),
        };
        let (guard, settings) = match made {
            Ok(made) => made,
            Err(why) => {
                if let Some(audit) = old.guard.audit() {
                    audit.note(&format!("{who} asked to read the configuration anew; it stays as it was: {why}"))?;
                }
                tracing::error!(why, "the configuration stays as it was");
                return Err(ReloadError::Broken(why));
            }
        };
        let new = Now { guard, settings };
        let reloaded = Reloaded {
            before: old.guard.policy().digest().to_owned(),
            after: new.guard.policy().digest().to_owned(),
            weaker: weaker(&old, &new),
        };
        let Reloaded { before, after, weaker } = &reloaded;
        if !weaker.is_empty() && !accepts_weaker {
            if let Some(audit) = old.guard.audit() {
                let less = weaker.join("; ");
                let policies = format!("policy {before} -> {after}");
                audit.note(&format!("{who} asked to read the configuration anew; it stays as it was, since it would be WEAKER ({policies}): {less}"))?;
            }
            tracing::error!(weaker = weaker.len(), "the configuration stays as it was: it would stop less");
            return Err(ReloadError::Weaker(reloaded.weaker));
        }
        let how =
            if weaker.is_empty() { "nothing is weaker".to_owned() } else { format!("WEAKER: {}", weaker.join("; ")) };
        let event = format!("{who} read the configuration anew; policy {before} -> {after}; {how}");
        // where the old log is, too, for who reads only that one
        let (was, is) = (old.guard.audit(), new.guard.audit());
        for audit in was.into_iter().chain(is.filter(|is| was.map(Audit::folder) != Some(is.folder()))) {
            audit.note(&event)?;
        }
        tracing::info!(before, after, weaker = weaker.len(), "the configuration was read anew");
        *now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        Ok(reloaded)
    }
}

/// What stops less than before.
fn weaker(old: &Now, new: &Now) -> Vec<String> {
    let mut found = rules(old.guard.policy(), new.guard.policy());
    let (was, is) = (old.guard.settings(), new.guard.settings());
    let free = |programs: UnknownPrograms| match programs {
        UnknownPrograms::Deny => 0,
        UnknownPrograms::Ask => 1,
        UnknownPrograms::Allow => 2,
    };
    let named = |settings: &Settings, what: fn(&super::Token) -> bool| -> Vec<String> {
        settings.tokens.iter().filter(|token| what(token)).map(|token| token.name.clone()).collect()
    };
    for (holds, says) in [
        (is.on_failure < was.on_failure, "what fails is asked of a person instead of denied"),
        (free(is.unknown_programs) > free(was.unknown_programs), "programs that are not known are stopped less"),
        (is.mode != was.mode, "the model is asked in other cases"),
        (was.judge && !is.judge, "no model judges what was read any more"),
        (old.guard.embeds() && !new.guard.embeds(), "there is no embedder any more"),
        (old.settings.identity != new.settings.identity, "agents act for another identity, or with other roles"),
        (
            new.settings.hosts.iter().any(|host| !old.settings.hosts.contains(host)),
            "the service answers under more names",
        ),
        (new.settings.shadow && !old.settings.shadow, "shadow mode: nothing is stopped"),
        (old.settings.check_needs_token && !new.settings.check_needs_token, "a check needs no token any more"),
        (old.guard.audit().is_some() && new.guard.audit().is_none(), "there is no audit log any more"),
        (old.guard.memory().is_some() && new.guard.memory().is_none(), "there is no memory any more"),
        (reports(new) < reports(old), "the memory holds fewer reports of operators"),
        (is.similarity > was.similarity, "the memory recalls less"),
        (
            old.guard.audit().map(crate::audit::Audit::folder) != new.guard.audit().map(crate::audit::Audit::folder),
            "the audit log is another one",
        ),
    ] {
        if holds {
            found.push(says.to_owned());
        }
    }
    for (may, what) in [
        ((|token| token.operates) as fn(&super::Token) -> bool, "operate"),
        (|token| token.acts_for_others, "act for others"),
    ] {
        let before = named(&old.settings, may);
        let added = named(&new.settings, may).into_iter().filter(|name| !before.contains(name));
        found.extend(added.map(|name| format!("the token '{name}' may {what}")));
    }
    found
}

/// Entries in force that hold what must hold.
fn reports(now: &Now) -> usize {
    let active = now.guard.memory().and_then(|memory| memory.active().ok()).unwrap_or_default();
    active.iter().filter(|entry| entry.checks.iter().any(|check| check.required)).count()
}

/// Rules that forbid and are gone or changed, and rules that permit and are new or changed.
fn rules(old: &Policy, new: &Policy) -> Vec<String> {
    if old.digest() == new.digest() {
        return Vec::new();
    }
    let texts = |policy: &Policy| -> BTreeMap<String, (bool, Option<String>)> {
        let known = |rule: &&Rule| (rule.id.clone(), (rule.forbids, policy.text(&rule.id)));
        policy.rules().iter().map(known).collect()
    };
    let (was, is) = (texts(old), texts(new));
    let gone = was.iter().filter(|(_, (forbids, _))| *forbids).filter_map(|(id, text)| match is.get(id) {
        Some(now) if now == text => None,
        Some(_) => Some(format!("the policy '{id}' has changed")),
        None => Some(format!("the policy '{id}' is gone")),
    });
    let permits = is.iter().filter(|(id, text)| !text.0 && was.get(*id) != Some(text));
    gone.chain(permits.map(|(id, _)| format!("the policy '{id}' permits"))).collect()
}
