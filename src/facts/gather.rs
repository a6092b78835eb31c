//! Effects with their facts: what the policies are asked.
//!
//! 1. Each effect becomes a [`Query`]; for a path the environment is probed once.
//! 2. Whether the identity has *the access that the verb needs* is worked out here, so that a policy can
//!    simply say `resource.access == "no"`.
//! 3. A path that is not constant is judged by the constant folder before the first pattern. What does
//!    not even begin with a constant is `anywhere`.
//! 4. An address is judged by its text; nothing is looked up.
//! 5. A pattern is also each thing that it stands for, a copy into a folder is also a write to the name inside it, and a
//!    file with several names is what its most protected name is ([`identity`](super::identity)).
//! 6. What cannot be learnt stays `unknown`; no fact is invented. A look that was cut short is an unknown effect.

use super::identity::{Alias, Protected};
use super::{Account, Class, Environment, FileId, Kind, PathFacts};
use crate::action::Context;
use crate::effect::{Effect, HOLE, Target, Verb};
use crate::net::UrlPolicy;
use crate::net::local::own_names;
use crate::policy::query::{Query, Subject, Tri};
use sha2::{Digest, Sha256};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

/// All that the policies are asked about one action.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// Who the agent acts for.
    pub subject: Subject,
    /// One per effect, in their order, without repetition.
    pub queries: Vec<Query>,
    /// SHA-256 of the above, hexadecimal.
    pub digest: String,
}

/// Most things that one pattern is followed to.
const MATCHES: usize = 4_096;
/// Most names that are followed into the folder that they are copied to.
const INCOMING: usize = 64;
/// Longest file of host names that is read, bytes.
const NAMES: usize = 256 * 1024;
/// Kind of what is unknown because a look at the machine was cut short.
const LOOK: &str = "look";

/// Probes the environment for the target of each effect. `urls`: what may be fetched; `own`: absolute paths that belong
/// to the guard, with all below them, and ports of this machine at which it answers.
#[must_use]
pub fn gather(
    effects: &[Effect],
    context: &Context,
    account: &Account,
    urls: &UrlPolicy,
    (own, ports): (&[String], &[u16]),
) -> Gathered {
    let mut subject = Subject {
        name: account.name.clone(),
        known: account.known,
        superuser: account.superuser,
        groups: account.groups.iter().map(|(_, name)| name.clone()).collect(),
        roles: context.identity.roles.clone(),
        ..Subject::default()
    };
    for (key, value) in &context.identity.attributes {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        subject.attributes.insert(key.clone(), text);
    }
    let rename = says_rename(&context.request);
    let environment = context.environment.as_ref();
    let (cut, protected) = (RefCell::default(), RefCell::default());
    let view = View { environment, account, urls, own, ports, rename, cut, names: OnceCell::new(), protected };
    let mut queries: Vec<Query> = Vec::with_capacity(effects.len());
    for effect in effects {
        let about = |effect: &Effect| {
            let mut query = view.query(effect);
            query.requested = !context.request.trim().is_empty();
            query.agent.clone_from(&context.agent);
            query
        };
        let query = about(effect);
        // a pattern is also each thing that it stands for now, where that is another kind of thing
        let matches: Vec<Query> = view.matches(effect).iter().chain(&view.inside(effect)).map(about).collect();
        let graver = matches.into_iter().filter(|one| one.itself || one.guard || one.class != query.class);
        for query in graver.collect::<Vec<_>>().into_iter().chain([query]) {
            if !queries.contains(&query) {
                queries.push(query);
            }
        }
    }
    for place in view.cut.take() {
        let mut unseen = Query::new(Verb::Unknown, LOOK, &place);
        (unseen.root, unseen.agent) = (account.superuser, context.agent.clone());
        queries.push(unseen);
    }
    // a script that is not there yet may come into being before it runs
    let comes: Vec<(bool, String)> = queries.iter().filter_map(makes).collect();
    for query in queries.iter_mut().filter(|q| q.kind == "script" && q.exists == Tri::No) {
        let made = |(open, path): &(bool, String)| *open || query.name == *path || is_below(&query.name, path);
        if comes.iter().any(made) {
            query.exists = Tri::Unknown;
        }
    }
    if queries.iter().any(holds_secrets) {
        queries.iter_mut().for_each(|q| q.secrets = true);
    }
    if !context.held.is_empty() {
        queries.iter_mut().for_each(|q| q.held = true);
    }
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&subject).unwrap_or_default());
    hash.update(serde_json::to_vec(&queries).unwrap_or_default());
    let digest = crate::hex(&hash.finalize());
    Gathered { subject, queries, digest }
}

/// What an effect may bring into being: anything, or something at or below a path.
fn makes(query: &Query) -> Option<(bool, String)> {
    match query.verb {
        Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite | Verb::Move | Verb::Link | Verb::Mount => {
            Some((query.anywhere || query.below || query.recursive, query.name.clone()))
        }
        Verb::Install | Verb::Container | Verb::Privilege => Some((true, String::new())),
        Verb::Unknown if query.kind != "script" && query.kind != "path" => Some((true, String::new())),
        _ => None,
    }
}

/// It reads credentials, or a whole home or settings folder, which holds some.
fn holds_secrets(query: &Query) -> bool {
    let reads = matches!(query.verb, Verb::Read | Verb::Encrypt | Verb::Dump);
    let whole = query.itself || query.below;
    let recursive = query.recursive || query.target_type == "directory";
    reads
        && (query.class == Class::Credential.as_str()
            || (recursive
                && whole
                && [Class::OwnHome, Class::OtherHome, Class::SuperuserHome, Class::SystemConfig, Class::Root]
                    .iter()
                    .any(|c| c.as_str() == query.class)))
}

/// The request asks for another name, not for another place.
fn says_rename(request: &str) -> bool {
    let words = || request.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words().any(|w| matches!(w.as_str(), "rename" | "renamed" | "renames" | "renaming"))
}

struct View<'a> {
    environment: Option<&'a Environment>,
    account: &'a Account,
    urls: &'a UrlPolicy,
    own: &'a [String],
    ports: &'a [u16],
    rename: bool,
    /// Places that could not be looked at in full.
    cut: RefCell<BTreeSet<String>>,
    /// What this machine is called.
    names: OnceCell<Vec<String>>,
    /// The protected files with several names, for each project around a file that was asked about.
    protected: RefCell<HashMap<String, Protected>>,
}

impl View<'_> {
    fn query(&self, effect: &Effect) -> Query {
        let mut query = Query::new(effect.verb, effect.target.kind(), effect.target.name());
        query.operation.clone_from(&effect.operation);
        query.program.clone_from(&effect.program);
        query.detail.clone_from(&effect.detail);
        query.recursive = effect.recursive;
        query.keep = effect.keep;
        query.privileged = effect.privileged;
        query.root = effect.privileged || self.account.superuser;
        query.network = effect.detail == "network";
        query.widens = matches!(effect.verb, Verb::Chmod | Verb::Overwrite | Verb::Create) && widens(&effect.detail);
        query.foreign = effect.verb == Verb::Chown && effect.program != "chgrp" && self.foreign(&effect.detail);
        match &effect.target {
            Target::Path(path) => self.path(effect, path, &mut query),
            Target::Named("pid", name) => self.pid(name, &mut query),
            Target::Named("process", name) => self.process(name, &mut query),
            Target::Named("user", name) => {
                query.mine = *name == self.account.name;
                if let Some(environment) = self.environment {
                    query.exists = Tri::from(Some(environment.account(name).known));
                }
            }
            Target::Named("script", name) => self.script(name, &mut query),
            Target::Named(kind, name) => {
                query.guard = matches!(*kind, "url" | "host") && self.is_guard(name);
                if let Some(class) = super::url::class(effect, self.urls) {
                    class.clone_into(&mut query.class);
                }
            }
        }
        query
    }

    /// It leads to the guard's own port.
    fn is_guard(&self, address: &str) -> bool {
        let names = || {
            let text = |path: &str| {
                let content = self.environment.and_then(|e| e.read_script(path, NAMES).ok()).unwrap_or_default();
                String::from_utf8_lossy(&content).into_owned()
            };
            own_names(&text("/etc/hostname"), &text("/etc/hosts"))
        };
        super::url::is_guard(address, self.ports, self.names.get_or_init(names))
    }

    fn path(&self, effect: &Effect, path: &str, query: &mut Query) {
        let constant = constant_folder(path);
        let likeliest = constant.and_then(|folder| self.matched(folder, path));
        if constant.is_none() && (path.starts_with(HOLE) || !path.starts_with('/')) {
            query.anywhere = true;
            "unknown".clone_into(&mut query.class);
            return;
        }
        let looked_at = constant.unwrap_or(path);
        let facts = self.environment.map(|e| e.path(looked_at, self.account));
        let facts = facts.unwrap_or_else(|| super::unseen(looked_at, self.account));
        query.below = constant.is_some();
        query.class = if query.below {
            super::class_below(self.environment, looked_at, &facts.resolved, self.account)
        } else {
            facts.class
        }
        .as_str()
        .to_owned();
        if let Some(class) = likeliest {
            class.as_str().clone_into(&mut query.class);
        }
        let mut same_as_guards = false;
        if let Some(id) = facts.several.filter(|_| !query.below && !matches!(effect.verb, Verb::List | Verb::Delete)) {
            match self.alias(&facts.resolved, id) {
                Alias::Ordinary => {}
                Alias::Unseen => drop(self.cut.borrow_mut().insert(looked_at.to_owned())),
                Alias::Of(class, guard) => {
                    same_as_guards = guard;
                    if class.weight() > facts.class.weight() {
                        class.as_str().clone_into(&mut query.class);
                    }
                }
            }
        }
        let taken = matches!(effect.verb, Verb::Read | Verb::Encrypt | Verb::Move)
            || (effect.verb == Verb::Link && effect.operation == "to");
        if taken && (super::class::holds_credentials(looked_at) || super::class::holds_credentials(&facts.resolved)) {
            Class::Credential.as_str().clone_into(&mut query.class);
        }
        // a folder that its owner may no longer enter is gone, with all below it
        let shuts = effect.verb == Verb::Chown || (effect.verb == Verb::Chmod && shuts(&effect.detail));
        let moved = matches!(effect.verb, Verb::Move | Verb::Delete | Verb::Mount);
        // what is copied into a folder is judged by its name inside; a copy of all that is in another merges with it
        let into = effect.verb == Verb::Overwrite && facts.kind == Some(Kind::Directory);
        let deep = query.below || (effect.recursive && !into) || moved || shuts;
        // beside the class: what forbids more for that class still does
        let guards = |deep| self.guards(looked_at, deep) || self.guards(&facts.resolved, deep);
        let merged = into && (self.merges(looked_at, effect) || self.merges(&facts.resolved, effect));
        query.guard = same_as_guards || guards(deep) || merged;
        // a change of a folder above is one of the guard only where all that is below goes with it
        let whole = !query.below && (moved || shuts || effect.verb == Verb::Encrypt);
        query.perhaps = query.guard && !same_as_guards && !guards(whole);
        query.itself = facts.itself && (!query.below || path.ends_with("/*"));
        query.exists = Tri::from(facts.exists);
        query.parent = Tri::from(facts.parent);
        query.mine = facts.mine || (facts.exists != Some(true) && is_below(looked_at, &self.account.home));
        query.owner.clone_from(&facts.owner_name);
        query.target_type = if query.below { String::new() } else { facts.kind.map_or("", kind_word).to_owned() };
        let access = if query.below { below_access(effect.verb, &facts) } else { access(effect, &facts) };
        query.access = match effect.verb {
            Verb::Chmod | Verb::Chown if facts.exists == Some(true) => {
                Tri::from(Some(query.root || (facts.mine && !query.foreign)))
            }
            _ if query.root && facts.parent != Some(false) => Tri::Yes,
            _ => Tri::from(access),
        };
        if effect.verb == Verb::Overwrite && facts.kind == Some(Kind::Directory) && !query.below {
            query.into = true;
            query.rename = self.rename;
            query.clash = self.clash(effect, looked_at);
        } else {
            query.rename = self.rename && effect.verb == Verb::Overwrite;
        }
    }

    /// What comes into a folder merges with something of the guard below it.
    fn merges(&self, folder: &str, effect: &Effect) -> bool {
        let folder = folder.trim_end_matches('/');
        let first = |path: &str| path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next().map(str::to_owned);
        let home = self.account.home.trim_end_matches('/');
        let usual = super::class::guard_in_home().map(|rest| format!("{home}/{rest}"));
        let there = |path: &String| self.environment.is_none_or(|e| e.path(path, self.account).exists != Some(false));
        let names = self.own.iter().cloned().chain(usual.filter(there)).filter_map(|path| first(&path));
        let comes = |name: &String| effect.incoming.is_empty() || effect.incoming.iter().any(|one| may_be(one, name));
        names.collect::<BTreeSet<_>>().iter().any(comes)
    }

    /// The path belongs to the guard; or, where what is below it is meant too, something of the guard is below it.
    fn guards(&self, path: &str, deep: bool) -> bool {
        let own = |own: &String| path == own || is_below(path, own) || (deep && is_below(own, path));
        if self.own.iter().any(own) {
            return true;
        }
        let home = self.account.home.trim_end_matches('/');
        deep && (path == home || is_below(path, home))
            && super::class::guard_in_home().map(|rest| format!("{home}/{rest}")).any(|guard| {
                let exists = || self.environment.is_none_or(|e| e.path(&guard, self.account).exists != Some(false));
                is_below(&guard, path) && exists()
            })
    }

    /// What a file with several names is, by the most protected of them.
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

    /// The same effect on each thing that the pattern in its path stands for, where that is another kind of thing than the
    /// pattern says: by its name, or because it is a link or has other names.
    fn matches(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        let special = |part: &str| part.contains(['*', '?', '[']);
        // deleting or listing does nothing to what a link leads to
        let touches = !matches!(effect.verb, Verb::List | Verb::Delete | Verb::Move);
        let all = path.ends_with("/*");
        if !path.starts_with('/') || path.contains(HOLE) || !special(path) || (all && !touches) {
            return Vec::new();
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        // the kind of thing that the pattern as a whole is taken for
        let folder = constant_folder(path).unwrap_or("/");
        let class = super::class_below(self.environment, folder, folder, self.account);
        let mut found = vec![String::new()];
        for (place, part) in parts.iter().enumerate() {
            let Some(pattern) = glob::Pattern::new(part).ok().filter(|_| special(part)) else {
                found.iter_mut().for_each(|folder| *folder = format!("{folder}/{part}"));
                continue;
            };
            let last = place + 1 == parts.len();
            let mut next = Vec::new();
            for folder in &found {
                let listing = environment.entries(if folder.is_empty() { "/" } else { folder }, last && touches);
                let shown = |name: &str| part.starts_with('.') || !name.starts_with('.');
                let fits = |name: &str| pattern.matches(name) && shown(name);
                let mut unseen = !listing.complete;
                for entry in listing.entries.iter().filter(|entry| fits(&entry.name)) {
                    let inner = format!("{folder}/{}", entry.name);
                    // what cannot be looked up by its name
                    unseen |= !entry.exact && touches && (entry.link || entry.several || !last);
                    if !last || (entry.link && touches) || (entry.several && touches) || self.stands_out(class, &inner)
                    {
                        next.push(inner);
                    }
                }
                if (unseen || next.len() > MATCHES) && effect.verb != Verb::List {
                    self.cut.borrow_mut().insert(if folder.is_empty() { "/".to_owned() } else { folder.clone() });
                }
                next.truncate(MATCHES);
            }
            found = next;
        }
        let there = |path: &String| environment.path(path, self.account).exists != Some(false);
        let on = |path| Effect { target: Target::Path(path), ..effect.clone() };
        found.into_iter().filter(there).map(on).collect()
    }

    /// By its name alone it is another kind of thing.
    fn stands_out(&self, than: Class, path: &str) -> bool {
        let Some(environment) = self.environment else { return false };
        let (class, itself) = environment.class(path, self.account);
        itself || class != than || self.guards(path, true)
    }

    /// What comes into a folder is written to its name inside: the same effect there.
    fn inside(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        let comes = matches!(effect.verb, Verb::Overwrite | Verb::Link) && effect.operation.is_empty();
        if !comes || constant_folder(path).is_some() || !path.starts_with('/') {
            return Vec::new();
        }
        if environment.path(path, self.account).kind != Some(Kind::Directory) {
            return Vec::new();
        }
        if effect.incoming.len() > INCOMING {
            self.cut.borrow_mut().insert(path.clone());
        }
        let folder = path.trim_end_matches('/');
        let class = environment.class(&format!("{folder}/x"), self.account).0;
        // a name that is not constant may be that of any protected file in such a folder
        let protected: Vec<String> = super::class::startup_names()
            .map(str::to_owned)
            .filter(|name| environment.class(&format!("{folder}/{name}"), self.account).0 != class)
            .collect();
        let constant = |name: &String| constant_folder(&format!("/{name}")).is_none();
        let mut names: BTreeSet<&String> =
            effect.incoming.iter().take(INCOMING).filter(|name| constant(name)).collect();
        let vague: Vec<&String> = effect.incoming.iter().filter(|name| !constant(name)).collect();
        names.extend(protected.iter().filter(|name| vague.iter().any(|one| may_be(one, name))));
        let on = |name: &String| Effect {
            target: Target::Path(format!("{folder}/{name}")),
            incoming: Vec::new(),
            ..effect.clone()
        };
        names.into_iter().filter(|name| !name.is_empty()).map(on).collect()
    }

    /// The most protected class among the files that a pattern in the last part of a path stands for.
    fn matched(&self, folder: &str, path: &str) -> Option<Class> {
        let last = path.strip_prefix(folder)?.trim_start_matches('/');
        if last.contains(['/', HOLE]) || matches!(last, "*" | "") {
            return None;
        }
        let pattern = glob::Pattern::new(last).ok()?;
        let listing = self.environment?.entries(folder, false);
        let classes = listing.entries.iter().filter(|entry| pattern.matches(&entry.name)).map(|entry| {
            let path = format!("{}/{}", folder.trim_end_matches('/'), entry.name);
            self.environment.map_or(Class::Ordinary, |e| e.class(&path, self.account).0)
        });
        classes.max_by_key(|class| class.weight())
    }

    /// Does the folder already have something of a name that would come into it?
    fn clash(&self, effect: &Effect, folder: &str) -> Tri {
        let Some(environment) = self.environment else { return Tri::Unknown };
        let mut found = if effect.incoming.is_empty() { Tri::Unknown } else { Tri::No };
        for name in effect.incoming.iter().take(64) {
            if name.is_empty() || constant_folder(&format!("/{name}")).is_some() {
                found = if found == Tri::Yes { found } else { Tri::Unknown };
                continue;
            }
            let inner = environment.path(&format!("{}/{name}", folder.trim_end_matches('/')), self.account);
            // a folder that comes into one of the same name is merged or refused, a file is replaced
            if inner.exists == Some(true) {
                found = Tri::Yes;
            }
        }
        found
    }

    fn pid(&self, name: &str, query: &mut Query) {
        if name.starts_with('%') || name == "0" {
            query.mine = true;
            return;
        }
        let Ok(number) = name.parse::<i64>() else {
            query.anywhere = true;
            return;
        };
        if number == -1 || number.unsigned_abs() == 1 {
            query.system = true;
            return;
        }
        let pid = u32::try_from(number.unsigned_abs()).unwrap_or(u32::MAX);
        if let Some(environment) = self.environment {
            let process = environment.process(pid, self.account);
            query.exists = Tri::from(process.exists);
            query.mine = process.mine;
            query.system = process.system;
        }
    }

    fn process(&self, name: &str, query: &mut Query) {
        query.anywhere = name.contains(HOLE);
        if let Some(environment) = self.environment.filter(|_| !query.anywhere) {
            let found = environment.processes_named(name, self.account);
            query.exists = Tri::from(Some(!found.is_empty()));
            query.mine = !found.is_empty() && found.iter().all(|p| p.mine && !p.system);
            query.system = found.iter().any(|p| p.system);
        }
    }

    /// A script that could not be read: perhaps there is none.
    fn script(&self, path: &str, query: &mut Query) {
        query.anywhere = path.contains([HOLE, '*', '?', '[']) || !path.starts_with('/');
        if let Some(environment) = self.environment.filter(|_| !query.anywhere) {
            query.exists = Tri::from(environment.path(path, self.account).exists);
        }
    }

    /// The new owner, or the owner part of `owner:group`, is someone else.
    fn foreign(&self, detail: &str) -> bool {
        let owner = detail.split([':', ' ']).next().unwrap_or_default();
        let own_id = self.account.uid.map(|id| id.to_string());
        !owner.is_empty() && owner != self.account.name && Some(owner) != own_id.as_deref()
    }
}

/// The access that a verb needs on something that is named exactly.
fn access(effect: &Effect, facts: &PathFacts) -> Option<bool> {
    let folder = facts.kind == Some(Kind::Directory);
    let absent = facts.exists == Some(false);
    match effect.verb {
        Verb::List if !folder => facts.exists.and(Some(true)),
        Verb::Read | Verb::List => facts.readable,
        Verb::Execute if effect.operation == "source" => facts.readable,
        Verb::Execute => facts.executable,
        // another name for it: nothing is written now
        Verb::Link if effect.operation == "to" => None,
        Verb::Create if !absent => Some(true),
        Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite | Verb::Link if absent => facts.creatable,
        Verb::Overwrite if effect.program == "mv" && !folder => facts.removable,
        Verb::Write | Verb::Append | Verb::Overwrite | Verb::Link | Verb::Encrypt => facts.writable,
        Verb::Delete | Verb::Move => facts.removable,
        _ => None,
    }
}

/// The access that a verb needs on what is somewhere below a folder.
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

/// The folder before the first part of an absolute path that is not constant.
fn constant_folder(path: &str) -> Option<&str> {
    let varies = |part: &str| part.contains([HOLE, '*', '?', '[']);
    let mut end = 0;
    for part in path.split('/') {
        if varies(part) {
            // a `..` behind it may lead anywhere
            let rest = path.get(end..).unwrap_or_default();
            if rest.split('/').any(|p| p == "..") {
                return path.get(..1).filter(|p| *p == "/");
            }
            let folder = path.get(..end.saturating_sub(1)).unwrap_or_default();
            return if !path.starts_with('/') || (end == 0) {
                None
            } else if folder.is_empty() {
                Some("/")
            } else {
                Some(folder)
            };
        }
        end += part.len() + 1;
    }
    None
}

/// The folders above a path, the nearest first, without the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').rev().filter_map(|(at, _)| path.get(..at)).filter(|folder| !folder.is_empty())
}

/// A name that is a pattern or not constant may be this one. A pattern means no hidden name unless it says so.
fn may_be(name: &str, this: &str) -> bool {
    if name.contains(HOLE) {
        return true;
    }
    let shown = name.starts_with('.') || !this.starts_with('.');
    shown && glob::Pattern::new(name).map_or(name == this, |pattern| pattern.matches(this))
}

fn is_below(path: &str, folder: &str) -> bool {
    !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "symlink",
        Kind::Fifo => "fifo",
        Kind::Socket => "socket",
        Kind::BlockDevice => "block-device",
        Kind::CharacterDevice => "character-device",
    }
}

/// The mode takes reading or entering away from the owner, or it is not known whether it does.
fn shuts(mode: &str) -> bool {
    mode.split([',', ' ']).any(|clause| {
        if !clause.is_empty() && clause.chars().all(|c| c.is_digit(8)) {
            return u32::from_str_radix(clause, 8).is_ok_and(|bits| bits & 0o500 != 0o500);
        }
        let Some(place) = clause.find(['-', '=']) else { return clause.contains(HOLE) };
        let (who, rights) = clause.split_at(place);
        let owner = who.is_empty() || who.contains(['u', 'a']);
        let left = |right: char| !rights.contains(right);
        owner && if rights.starts_with('-') { !left('r') || !left('x') } else { left('r') || left('x') }
    })
}

/// The mode lets everyone write, or runs the file with its owner's or group's rights.
fn widens(mode: &str) -> bool {
    mode.split([',', ' ']).any(|clause| {
        if !clause.is_empty() && clause.chars().all(|c| c.is_digit(8)) {
            return u32::from_str_radix(clause, 8).is_ok_and(|bits| bits & 0o6002 != 0);
        }
        let Some(place) = clause.find(['+', '=']) else { return clause.contains(HOLE) };
        let (who, rights) = clause.split_at(place);
        (who.contains(['o', 'a']) && rights.contains('w')) || rights.contains('s') || rights.contains(HOLE)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_judged_by_the_constant_folder_before_it() {
        assert_eq!(constant_folder("/etc/*.conf"), Some("/etc"));
        assert_eq!(constant_folder("/*"), Some("/"));
        assert_eq!(constant_folder("/home/user/a"), None);
        assert_eq!(constant_folder(&format!("/srv/{HOLE}/x")), Some("/srv"));
        assert_eq!(constant_folder(&format!("/srv/a{HOLE}/x")), Some("/srv"));
        assert_eq!(constant_folder(&format!("/srv/{HOLE}/../../etc")), Some("/"));
        assert_eq!(constant_folder(&format!("{HOLE}/x")), None);
    }

    #[test]
    fn modes_that_open_a_file_to_everyone_are_seen() {
        for mode in ["777", "0666", "o+w", "a+rwx", "a=rw", "u+s", "4755", "2755", "u=rw,o+w", "1777"] {
            assert!(widens(mode), "{mode}");
        }
        for mode in ["755", "644", "u+w", "+x", "a+r", "go-w", "o-w", "600", "u+rwx", ""] {
            assert!(!widens(mode), "{mode}");
        }
    }

    #[test]
    fn modes_that_shut_the_owner_out_are_seen() {
        for mode in ["000", "0", "077", "a-x", "-r", "u=", "u=w", "a-rwx", "644", "u-rx"] {
            assert!(shuts(mode), "{mode}");
        }
        for mode in ["700", "755", "0500", "go-rwx", "o-x", "u+x", "+x", "u=rwx", "a+r", ""] {
            assert!(!shuts(mode), "{mode}");
        }
    }

    #[test]
    fn a_request_to_rename_is_told_from_a_request_to_move() {
        assert!(says_rename("Please rename /a to /b."));
        assert!(!says_rename("move the prerenamed file into /b"));
    }
}
