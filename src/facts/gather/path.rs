//! Facts about a path: its class, whether it belongs to the guard, and the access that the account has.

use super::View;
use super::modes::shuts;
use super::names::{above, constant_folder, is_below, may_be};
use crate::effect::{Effect, UNKNOWN_SPAN, Verb};
use crate::machine::identity::{Alias, Protected};
use crate::machine::{Class, FileId, FileKind, PathFacts, class, class_below, unseen};
use crate::policy::{EffectFacts, Known, TargetClass, TargetType};
use std::collections::BTreeSet;

impl View<'_> {
    /// The facts about a path.
    pub(super) fn path(&self, effect: &Effect, path: &str, query: &mut EffectFacts) {
        let constant = constant_folder(path);
        let likeliest = constant.and_then(|folder| self.matched(folder, path).or_else(|| self.ends_as(folder, path)));
        if constant.is_none() && (path.starts_with(UNKNOWN_SPAN) || !path.starts_with('/')) {
            query.unresolved = true;
            query.class = TargetClass::Unresolved;
            self.recover_unresolved(query);
            return;
        }
        let looked_at = constant.unwrap_or(path);
        let facts = self.environment.map(|e| self.look(e, looked_at));
        let facts = facts.unwrap_or_else(|| unseen(looked_at, self.account));
        query.is_prefix = constant.is_some();
        let same_as_guards = self.classify(effect, looked_at, likeliest, &facts, query);
        self.reach_guard(effect, looked_at, same_as_guards, &facts, query);
        if facts.resolved != looked_at && !query.is_prefix {
            query.resolved.clone_from(&facts.resolved);
        }
        query.is_root_of_class = facts.itself && (!query.is_prefix || path.ends_with("/*"));
        query.exists = Known::from(facts.exists);
        query.parent = Known::from(facts.parent);
        query.owned_by_subject = facts.mine || (facts.exists != Some(true) && is_below(looked_at, &self.account.home));
        query.owner.clone_from(&facts.owner_name);
        query.target_type = TargetType::from(facts.kind.filter(|_| !query.is_prefix));
        let access = if query.is_prefix { below_access(effect.verb, &facts) } else { access(effect, &facts) };
        query.access = match effect.verb {
            Verb::Chmod | Verb::Chown if facts.exists == Some(true) => {
                Known::from(Some(query.runs_as_root || (facts.mine && !query.chown_to_other)))
            }
            _ if query.runs_as_root && facts.parent != Some(false) => Known::Yes,
            _ => Known::from(access),
        };
        self.recover(query, looked_at, &facts, self.behind_link(effect, looked_at, &facts).as_deref());
        query.update = effect.program == "mv" && is_update(&effect.incoming, path);
        if effect.verb == Verb::Overwrite && facts.kind == Some(FileKind::Directory) && !query.is_prefix {
            query.into_existing_dir = true;
            query.rename = self.rename;
            query.name_collision = self.clash(effect, looked_at);
        } else {
            query.rename = self.rename && effect.verb == Verb::Overwrite;
        }
    }

    /// What a path is behind links: the path that the effect changes, if it is another one. To delete a link deletes the
    /// link alone, and so does a version control system that puts a file in its place.
    fn behind_link(&self, effect: &Effect, path: &str, facts: &PathFacts) -> Option<String> {
        let path = path.trim_end_matches('/');
        let itself = match effect.verb {
            Verb::Delete => !effect.target.name().ends_with(['/', '*']),
            Verb::Discard => facts.kind != Some(FileKind::Directory),
            _ => false,
        };
        let real = if itself {
            let (folder, name) = path.rsplit_once('/')?;
            format!("{}/{name}", self.look(self.environment?, folder).resolved.trim_end_matches('/'))
        } else {
            facts.resolved.clone()
        };
        (!real.is_empty() && real != path).then_some(real)
    }

    /// Sets the class of a path: the most protected one of its own, of a file that a pattern matches (`likeliest`) and
    /// of its other names. Returns whether it is another name of a file of the guard.
    fn classify(
        &self,
        effect: &Effect,
        looked_at: &str,
        likeliest: Option<Class>,
        facts: &PathFacts,
        query: &mut EffectFacts,
    ) -> bool {
        query.class = TargetClass::Path(if query.is_prefix {
            class_below(self.environment, looked_at, &facts.resolved, self.account)
        } else {
            facts.class
        });
        if let Some(class) = likeliest {
            query.class = TargetClass::Path(class);
        }
        // each match of `*/.claude/*` is in such a folder
        if let (true, TargetClass::Path(class), Some(environment)) = (query.is_prefix, query.class, self.environment)
            && class.weight() < Class::Guard.weight()
            && environment.class(effect.target.name(), self.account).0 == Class::Guard
        {
            query.class = TargetClass::Path(Class::Guard);
        }
        // what is read is what a link leads to, and not what its name stands for: a credential is one under any name
        if effect.verb == Verb::Read && facts.class == Class::Guard && !query.is_prefix && facts.resolved != looked_at {
            match self.environment.map(|environment| self.look(environment, &facts.resolved).class) {
                Some(real) if real != Class::Guard => query.class = TargetClass::Path(real),
                // policies tell the guard's files apart by their names
                _ => query.name.clone_from(&facts.resolved),
            }
        }
        let mut same_as_guards = false;
        if let Some(id) =
            facts.several.filter(|_| !query.is_prefix && !matches!(effect.verb, Verb::List | Verb::Delete))
        {
            match self.alias(&facts.resolved, id) {
                Alias::Ordinary => {}
                Alias::Unseen => drop(self.cut.borrow_mut().insert(looked_at.to_owned())),
                Alias::Of(class, guard) => {
                    same_as_guards = guard;
                    if class.weight() > facts.class.weight() {
                        query.class = TargetClass::Path(class);
                    }
                }
            }
        }
        let taken = matches!(effect.verb, Verb::Read | Verb::Encrypt | Verb::Move)
            || (effect.verb == Verb::Link && effect.operation == "to");
        if taken && (class::holds_credentials(looked_at) || class::holds_credentials(&facts.resolved)) {
            query.class = TargetClass::Path(Class::Credential);
        }
        same_as_guards
    }

    /// Sets whether the effect reaches the guard, certainly or perhaps.
    fn reach_guard(
        &self,
        effect: &Effect,
        looked_at: &str,
        same_as_guards: bool,
        facts: &PathFacts,
        query: &mut EffectFacts,
    ) {
        // a folder that its owner can no longer enter is lost, with everything below it
        let shuts = effect.verb == Verb::Chmod && effect.detail.modes().any(shuts);
        let moved = matches!(effect.verb, Verb::Move | Verb::Delete | Verb::Mount);
        // a copy into a folder is judged by the name inside; a copy of the whole content of a folder merges with it
        let into = effect.verb == Verb::Overwrite && facts.kind == Some(FileKind::Directory);
        let deep = query.is_prefix || (effect.recursive && !into) || moved || shuts || effect.verb == Verb::Chown;
        // a separate fact, so that stricter policies for the class still apply
        let guards = |deep| self.guards(looked_at, deep) || self.guards(&facts.resolved, deep);
        let merged = into && (self.merges(looked_at, effect) || self.merges(&facts.resolved, effect));
        query.guard = same_as_guards || guards(deep) || merged;
        // a change of a parent folder certainly reaches the guard only if it affects everything below
        let whole = !query.is_prefix && (moved || shuts || effect.verb == Verb::Encrypt);
        query.perhaps = query.guard && !same_as_guards && !guards(whole);
    }

    /// Whether a copy into a folder merges with files of the guard below it.
    fn merges(&self, folder: &str, effect: &Effect) -> bool {
        let folder = folder.trim_end_matches('/');
        let first = |path: &str| path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next().map(str::to_owned);
        let home = self.account.home.trim_end_matches('/');
        let usual = class::guard_in_home().map(|rest| format!("{home}/{rest}"));
        let there = |path: &String| self.environment.is_none_or(|e| self.look(e, path).exists != Some(false));
        let names = self.own.iter().cloned().chain(usual.filter(there)).filter_map(|path| first(&path));
        let comes = |name: &String| effect.incoming.is_empty() || effect.incoming.iter().any(|one| may_be(one, name));
        names.collect::<BTreeSet<_>>().iter().any(comes)
    }

    /// Whether the path belongs to the guard or, if `deep`, contains something that does.
    pub(super) fn guards(&self, path: &str, deep: bool) -> bool {
        let own = |own: &String| path == own || is_below(path, own) || (deep && is_below(own, path));
        if self.own.iter().any(own) {
            return true;
        }
        let home = self.account.home.trim_end_matches('/');
        deep && (path == home || is_below(path, home))
            && class::guard_in_home().map(|rest| format!("{home}/{rest}")).any(|guard| {
                let exists = || self.environment.is_none_or(|e| self.look(e, &guard).exists != Some(false));
                is_below(&guard, path) && exists()
            })
    }

    /// The class of a file with several names: that of its most protected name.
    fn alias(&self, resolved: &str, id: FileId) -> Alias {
        let Some(environment) = self.environment else { return Alias::Ordinary };
        let project = |folder: &&str| environment.named(&format!("{folder}/.git")).is_some();
        let project = above(resolved).find(project).unwrap_or_default().to_owned();
        let mut protected = self.protected.borrow_mut();
        let known = protected.entry(project.clone()).or_insert_with(|| {
            let folders: Vec<String> = Some(project).filter(|folder| !folder.is_empty()).into_iter().collect();
            Protected::list(environment, self.account, self.own, &folders)
        });
        known.alias(id)
    }

    /// Whether the folder already contains one of the names that would be copied into it.
    fn clash(&self, effect: &Effect, folder: &str) -> Known {
        let Some(environment) = self.environment else { return Known::Unknown };
        let mut found = if effect.incoming.is_empty() { Known::Unknown } else { Known::No };
        for name in effect.incoming.iter().take(64) {
            if name.is_empty() || constant_folder(&format!("/{name}")).is_some() {
                found = if found == Known::Yes { found } else { Known::Unknown };
                continue;
            }
            let inner = self.look(environment, &format!("{}/{name}", folder.trim_end_matches('/')));
            // a folder of the same name is merged or refused, a file is replaced
            if inner.exists == Some(true) {
                found = Known::Yes;
            }
        }
        found
    }
}

/// Whether a file takes the place of one whose name it has, with an ending: `x.conf.new` of `x.conf`.
fn is_update(incoming: &[String], path: &str) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let [from] = incoming else { return false };
    !name.is_empty()
        && from
            .strip_prefix(name)
            .is_some_and(|rest| rest == "~" || rest.len() > 1 && rest.starts_with(['.', '-', '_']))
}

/// Whether the account has the access that a verb needs on a constant path.
fn access(effect: &Effect, facts: &PathFacts) -> Option<bool> {
    let folder = facts.kind == Some(FileKind::Directory);
    let absent = facts.exists == Some(false);
    match effect.verb {
        Verb::List if !folder => facts.exists.and(Some(true)),
        Verb::List if effect.operation == "enter" => facts.executable,
        Verb::Read | Verb::List => facts.readable,
        // code that a program loads or interprets has to be readable only
        Verb::Execute if facts.executable != Some(true) && !folder => facts.readable,
        Verb::Execute => facts.executable,
        // a hard link to it: nothing is written now
        Verb::Link if effect.operation == "to" => None,
        Verb::Create if !absent => Some(true),
        Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite | Verb::Link if absent => facts.creatable,
        Verb::Overwrite if effect.program == "mv" && !folder => facts.removable,
        Verb::Write | Verb::Append | Verb::Overwrite | Verb::Link | Verb::Encrypt => facts.writable,
        Verb::Delete | Verb::Move => facts.removable,
        _ => None,
    }
}

/// Whether the account has the access that a verb needs on an unspecified path below a folder.
fn below_access(verb: Verb, facts: &PathFacts) -> Option<bool> {
    match verb {
        Verb::Read | Verb::List | Verb::Execute => facts.executable,
        Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite | Verb::Link | Verb::Delete | Verb::Move => {
            // a folder further down may be writable where this one is not
            (facts.executable == Some(false)).then_some(false).or(facts.writable.filter(|w| *w))
        }
        _ => None,
    }
}
