//! Effects with their facts, the input of the policies.
//!
//! 1. Each effect becomes an [`EffectFacts`]. For a path, the environment is probed once.
//! 2. Whether the identity has *the access that the verb needs* is computed here, so that a policy can simply test
//!    `resource.access == Known::"no"`.
//! 3. A path that is not constant is judged by the constant folder before the first pattern. A path without a constant
//!    beginning is `anywhere`.
//! 4. An address is judged by its text; it is not resolved.
//! 5. A pattern is also judged as each path that it matches, a copy into a folder also as a write to the name inside
//!    it, and a file with several names by its most protected name ([`identity`](crate::machine::identity)).
//! 6. A fact that cannot be determined stays `unknown`. A probe that was cut short becomes an unknown effect.

use crate::action::Context;
use crate::effect::local::own_names;
use crate::effect::{Effect, Kind, Target, UNKNOWN_SPAN, Verb};
use crate::machine::identity::{Alias, Protected};
use crate::machine::{Account, Class, Environment, FileId, FileKind, PathFacts, class, class_below, unseen};
use crate::net::UrlPolicy;
use crate::policy::{EffectFacts, Known, Subject, TargetClass, TargetType};
use sha2::{Digest, Sha256};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

/// The input of the policies for one action.
#[derive(Debug, Clone, Default)]
pub struct ScreenInput {
    /// The identity for whom the agent acts.
    pub subject: Subject,
    /// At least one per effect, in the order of the effects, without repetition.
    pub queries: Vec<EffectFacts>,
    /// SHA-256 of the fields above, hexadecimal.
    pub digest: String,
}

/// Most paths to which one pattern is expanded.
const MATCHES: usize = 4_096;
/// Most copied names that are judged inside their destination folder.
const INCOMING: usize = 64;
/// Longest file with host names that is read, in bytes.
const NAMES: usize = 256 * 1024;

/// Probes the environment for the target of each effect. `urls`: the policy for fetches; `own` and `ports`: absolute
/// paths that belong to the guard, with everything below them, and ports of this machine on which it listens.
#[must_use]
pub fn gather(
    effects: &[Effect],
    context: &Context,
    account: &Account,
    urls: &UrlPolicy,
    (own, ports): (&[String], &[u16]),
) -> ScreenInput {
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
    let mut queries: Vec<EffectFacts> = Vec::with_capacity(effects.len());
    for effect in effects {
        let about = |effect: &Effect| {
            let mut query = view.query(effect);
            query.requested = !context.request.trim().is_empty();
            query.agent.clone_from(&context.agent);
            query
        };
        let query = about(effect);
        // a pattern is also judged as each path that it matches now, if that path is of another class
        let matches: Vec<EffectFacts> = view.matches(effect).iter().chain(&view.inside(effect)).map(about).collect();
        let graver = matches.into_iter().filter(|one| one.is_root_of_class || one.guard || one.class != query.class);
        for query in graver.collect::<Vec<_>>().into_iter().chain([query]) {
            if !queries.contains(&query) {
                queries.push(query);
            }
        }
    }
    for place in view.cut.take() {
        let mut unseen = EffectFacts::new(Verb::Unknown, Kind::Look, &place);
        (unseen.runs_as_root, unseen.agent) = (account.superuser, context.agent.clone());
        queries.push(unseen);
    }
    // a script that does not exist yet may be created before it runs
    let comes: Vec<(bool, String)> = queries.iter().filter_map(makes).collect();
    for query in queries.iter_mut().filter(|q| q.kind == Kind::Script && q.exists == Known::No) {
        let made = |(open, path): &(bool, String)| *open || query.name == *path || is_below(&query.name, path);
        if comes.iter().any(made) {
            query.exists = Known::Unknown;
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
    ScreenInput { subject, queries, digest }
}

/// Where an effect may create something: anywhere (true), or at or below a path.
fn makes(query: &EffectFacts) -> Option<(bool, String)> {
    match query.verb {
        Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite | Verb::Move | Verb::Link | Verb::Mount => {
            Some((query.unresolved || query.is_prefix || query.recursive, query.name.clone()))
        }
        Verb::Install | Verb::Container | Verb::Privilege => Some((true, String::new())),
        Verb::Unknown if query.kind != Kind::Script && query.kind != Kind::Path => Some((true, String::new())),
        _ => None,
    }
}

/// Whether it reads credentials, or a whole home or settings folder, which contains some.
fn holds_secrets(query: &EffectFacts) -> bool {
    let reads = matches!(query.verb, Verb::Read | Verb::Encrypt | Verb::Dump);
    let whole = query.is_root_of_class || query.is_prefix;
    let recursive = query.recursive || query.target_type == TargetType::Directory;
    reads
        && (query.class.is(Class::Credential)
            || (recursive
                && whole
                && [Class::OwnHome, Class::OtherHome, Class::SuperuserHome, Class::SystemConfig, Class::Root]
                    .iter()
                    .any(|class| query.class.is(*class))))
}

/// Whether the request asks for a new name, not for a new location.
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
    /// Folders and files that could not be inspected completely.
    cut: RefCell<BTreeSet<String>>,
    /// Host names of this machine.
    names: OnceCell<Vec<String>>,
    /// Protected files with several names, by the project folder around an inspected file.
    protected: RefCell<HashMap<String, Protected>>,
}

impl View<'_> {
    fn query(&self, effect: &Effect) -> EffectFacts {
        let mut query = EffectFacts::new(effect.verb, effect.target.kind(), effect.target.name());
        query.operation.clone_from(&effect.operation);
        query.program.clone_from(&effect.program);
        query.detail.clone_from(&effect.detail);
        query.recursive = effect.recursive;
        query.keep = effect.keep;
        query.privileged = effect.privileged;
        query.runs_as_root = effect.privileged || self.account.superuser;
        query.network = effect.detail == "network";
        query.widens = matches!(effect.verb, Verb::Chmod | Verb::Overwrite | Verb::Create) && widens(&effect.detail);
        query.chown_to_other = effect.verb == Verb::Chown && effect.program != "chgrp" && self.foreign(&effect.detail);
        match &effect.target {
            Target::Path(path) => self.path(effect, path, &mut query),
            Target::Named(Kind::Pid, name) => self.pid(name, &mut query),
            Target::Named(Kind::Process, name) => self.process(name, &mut query),
            Target::Named(Kind::User, name) => {
                query.owned_by_subject = *name == self.account.name;
                if let Some(environment) = self.environment {
                    query.exists = Known::from(Some(environment.account(name).known));
                }
            }
            Target::Named(Kind::Script, name) => self.script(name, &mut query),
            Target::Named(kind, name) => {
                query.guard = matches!(*kind, Kind::Url | Kind::Host) && self.is_guard(name);
                if let Some(reason) = super::url::concern(effect, self.urls) {
                    query.class = TargetClass::Url(reason);
                }
            }
        }
        query
    }

    /// Whether the address leads to a port of the guard.
    fn is_guard(&self, address: &str) -> bool {
        let names = || {
            let text = |path: &str| {
                let content = self.environment.and_then(|e| e.read_script(path, NAMES).ok()).unwrap_or_default();
                String::from_utf8_lossy(&content).into_owned()
            };
            own_names(&text("/etc/hostname"), &text("/etc/hosts"))
        };
        super::url::is_guard(address, self.ports, || self.names.get_or_init(names))
    }

    fn path(&self, effect: &Effect, path: &str, query: &mut EffectFacts) {
        let constant = constant_folder(path);
        let likeliest = constant.and_then(|folder| self.matched(folder, path));
        if constant.is_none() && (path.starts_with(UNKNOWN_SPAN) || !path.starts_with('/')) {
            query.unresolved = true;
            query.class = TargetClass::Unresolved;
            return;
        }
        let looked_at = constant.unwrap_or(path);
        let facts = self.environment.map(|e| e.path(looked_at, self.account));
        let facts = facts.unwrap_or_else(|| unseen(looked_at, self.account));
        query.is_prefix = constant.is_some();
        query.class = TargetClass::Path(if query.is_prefix {
            class_below(self.environment, looked_at, &facts.resolved, self.account)
        } else {
            facts.class
        });
        if let Some(class) = likeliest {
            query.class = TargetClass::Path(class);
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
        // a folder that its owner can no longer enter is lost, with everything below it
        let shuts = effect.verb == Verb::Chmod && shuts(&effect.detail);
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
        if effect.verb == Verb::Overwrite && facts.kind == Some(FileKind::Directory) && !query.is_prefix {
            query.into_existing_dir = true;
            query.rename = self.rename;
            query.name_collision = self.clash(effect, looked_at);
        } else {
            query.rename = self.rename && effect.verb == Verb::Overwrite;
        }
    }

    /// Whether a copy into a folder merges with files of the guard below it.
    fn merges(&self, folder: &str, effect: &Effect) -> bool {
        let folder = folder.trim_end_matches('/');
        let first = |path: &str| path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next().map(str::to_owned);
        let home = self.account.home.trim_end_matches('/');
        let usual = class::guard_in_home().map(|rest| format!("{home}/{rest}"));
        let there = |path: &String| self.environment.is_none_or(|e| e.path(path, self.account).exists != Some(false));
        let names = self.own.iter().cloned().chain(usual.filter(there)).filter_map(|path| first(&path));
        let comes = |name: &String| effect.incoming.is_empty() || effect.incoming.iter().any(|one| may_be(one, name));
        names.collect::<BTreeSet<_>>().iter().any(comes)
    }

    /// Whether the path belongs to the guard or, if `deep`, contains something that does.
    fn guards(&self, path: &str, deep: bool) -> bool {
        let own = |own: &String| path == own || is_below(path, own) || (deep && is_below(own, path));
        if self.own.iter().any(own) {
            return true;
        }
        let home = self.account.home.trim_end_matches('/');
        deep && (path == home || is_below(path, home))
            && class::guard_in_home().map(|rest| format!("{home}/{rest}")).any(|guard| {
                let exists = || self.environment.is_none_or(|e| e.path(&guard, self.account).exists != Some(false));
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

    /// The same effect on each path that the pattern matches, if that path may be of another class than the pattern: by
    /// its name, or because it is a link or has other names.
    fn matches(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        let special = |part: &str| part.contains(['*', '?', '[']);
        // deleting or listing does not affect the target of a link
        let touches = !matches!(effect.verb, Verb::List | Verb::Delete | Verb::Move);
        let all = path.ends_with("/*");
        if !path.starts_with('/') || path.contains(UNKNOWN_SPAN) || !special(path) || (all && !touches) {
            return Vec::new();
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        // the class of the pattern as a whole
        let folder = constant_folder(path).unwrap_or("/");
        let class = class_below(self.environment, folder, folder, self.account);
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
                    // an entry that cannot be looked up by its name
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

    /// Whether the path is of another class, by its name alone.
    fn stands_out(&self, than: Class, path: &str) -> bool {
        let Some(environment) = self.environment else { return false };
        let (class, itself) = environment.class(path, self.account);
        itself || class != than || self.guards(path, true)
    }

    /// For a copy into a folder, the same effect on each name inside it.
    fn inside(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        let comes = matches!(effect.verb, Verb::Overwrite | Verb::Link) && effect.operation.is_empty();
        if !comes || constant_folder(path).is_some() || !path.starts_with('/') {
            return Vec::new();
        }
        if environment.path(path, self.account).kind != Some(FileKind::Directory) {
            return Vec::new();
        }
        if effect.incoming.len() > INCOMING {
            self.cut.borrow_mut().insert(path.clone());
        }
        let folder = path.trim_end_matches('/');
        let class = environment.class(&format!("{folder}/x"), self.account).0;
        // a name that is not constant may be that of any protected file in the folder
        let protected: Vec<String> = class::startup_names()
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

    /// The most protected class among the files that match a pattern in the last part of a path.
    fn matched(&self, folder: &str, path: &str) -> Option<Class> {
        let last = path.strip_prefix(folder)?.trim_start_matches('/');
        if last.contains(['/', UNKNOWN_SPAN]) || matches!(last, "*" | "") {
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

    /// Whether the folder already contains one of the names that would be copied into it.
    fn clash(&self, effect: &Effect, folder: &str) -> Known {
        let Some(environment) = self.environment else { return Known::Unknown };
        let mut found = if effect.incoming.is_empty() { Known::Unknown } else { Known::No };
        for name in effect.incoming.iter().take(64) {
            if name.is_empty() || constant_folder(&format!("/{name}")).is_some() {
                found = if found == Known::Yes { found } else { Known::Unknown };
                continue;
            }
            let inner = environment.path(&format!("{}/{name}", folder.trim_end_matches('/')), self.account);
            // a folder of the same name is merged or refused, a file is replaced
            if inner.exists == Some(true) {
                found = Known::Yes;
            }
        }
        found
    }

    fn pid(&self, name: &str, query: &mut EffectFacts) {
        if name.starts_with('%') || name == "0" {
            query.owned_by_subject = true;
            return;
        }
        let Ok(number) = name.parse::<i64>() else {
            query.unresolved = true;
            return;
        };
        if number == -1 || number.unsigned_abs() == 1 {
            query.system = true;
            return;
        }
        let pid = u32::try_from(number.unsigned_abs()).unwrap_or(u32::MAX);
        if let Some(environment) = self.environment {
            let process = environment.process(pid, self.account);
            query.exists = Known::from(process.exists);
            query.owned_by_subject = process.mine;
            query.system = process.system;
        }
    }

    fn process(&self, name: &str, query: &mut EffectFacts) {
        query.unresolved = name.contains(UNKNOWN_SPAN);
        if let Some(environment) = self.environment.filter(|_| !query.unresolved) {
            let found = environment.processes_named(name, self.account);
            query.exists = Known::from(Some(!found.is_empty()));
            query.owned_by_subject = !found.is_empty() && found.iter().all(|p| p.mine && !p.system);
            query.system = found.iter().any(|p| p.system);
        }
    }

    /// Facts about a script that could not be read, because it may not exist.
    fn script(&self, path: &str, query: &mut EffectFacts) {
        query.unresolved = path.contains([UNKNOWN_SPAN, '*', '?', '[']) || !path.starts_with('/');
        if let Some(environment) = self.environment.filter(|_| !query.unresolved) {
            query.exists = Known::from(environment.path(path, self.account).exists);
        }
    }

    /// Whether the new owner, or the owner part of `owner:group`, is someone else.
    fn foreign(&self, detail: &str) -> bool {
        let owner = detail.split([':', ' ']).next().unwrap_or_default();
        let own_id = self.account.uid.map(|id| id.to_string());
        !owner.is_empty() && owner != self.account.name && Some(owner) != own_id.as_deref()
    }
}

/// Whether the account has the access that a verb needs on a constant path.
fn access(effect: &Effect, facts: &PathFacts) -> Option<bool> {
    let folder = facts.kind == Some(FileKind::Directory);
    let absent = facts.exists == Some(false);
    match effect.verb {
        Verb::List if !folder => facts.exists.and(Some(true)),
        Verb::Read | Verb::List => facts.readable,
        Verb::Execute if effect.operation == "source" => facts.readable,
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

/// The folder before the first part of an absolute path that is not constant.
fn constant_folder(path: &str) -> Option<&str> {
    let varies = |part: &str| part.contains([UNKNOWN_SPAN, '*', '?', '[']);
    let mut end = 0;
    for part in path.split('/') {
        if varies(part) {
            // a `..` after it may lead anywhere
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

/// Whether a name that may be a pattern or not constant can be this one. A pattern matches a hidden name only if it
/// begins with a dot.
fn may_be(name: &str, this: &str) -> bool {
    if name.contains(UNKNOWN_SPAN) {
        return true;
    }
    let shown = name.starts_with('.') || !this.starts_with('.');
    shown && glob::Pattern::new(name).map_or(name == this, |pattern| pattern.matches(this))
}

fn is_below(path: &str, folder: &str) -> bool {
    !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether the mode takes read or enter permission from the owner, or may do so.
fn shuts(mode: &str) -> bool {
    mode.split([',', ' ']).any(|clause| {
        if !clause.is_empty() && clause.chars().all(|c| c.is_digit(8)) {
            return u32::from_str_radix(clause, 8).is_ok_and(|bits| bits & 0o500 != 0o500);
        }
        let Some(place) = clause.find(['-', '=']) else { return clause.contains(UNKNOWN_SPAN) };
        let (who, rights) = clause.split_at(place);
        let owner = who.is_empty() || who.contains(['u', 'a']);
        let left = |right: char| !rights.contains(right);
        owner && if rights.starts_with('-') { !left('r') || !left('x') } else { left('r') || left('x') }
    })
}

/// Whether the mode lets everyone write, or sets setuid or setgid.
fn widens(mode: &str) -> bool {
    mode.split([',', ' ']).any(|clause| {
        if !clause.is_empty() && clause.chars().all(|c| c.is_digit(8)) {
            return u32::from_str_radix(clause, 8).is_ok_and(|bits| bits & 0o6002 != 0);
        }
        let Some(place) = clause.find(['+', '=']) else { return clause.contains(UNKNOWN_SPAN) };
        let (who, rights) = clause.split_at(place);
        (who.contains(['o', 'a']) && rights.contains('w')) || rights.contains('s') || rights.contains(UNKNOWN_SPAN)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_judged_by_their_constant_folder() {
        assert_eq!(constant_folder("/etc/*.conf"), Some("/etc"));
        assert_eq!(constant_folder("/*"), Some("/"));
        assert_eq!(constant_folder("/home/user/a"), None);
        assert_eq!(constant_folder(&format!("/srv/{UNKNOWN_SPAN}/x")), Some("/srv"));
        assert_eq!(constant_folder(&format!("/srv/a{UNKNOWN_SPAN}/x")), Some("/srv"));
        assert_eq!(constant_folder(&format!("/srv/{UNKNOWN_SPAN}/../../etc")), Some("/"));
        assert_eq!(constant_folder(&format!("{UNKNOWN_SPAN}/x")), None);
    }

    #[test]
    fn modes_that_widen_access_are_recognised() {
        for mode in ["777", "0666", "o+w", "a+rwx", "a=rw", "u+s", "4755", "2755", "u=rw,o+w", "1777"] {
            assert!(widens(mode), "{mode}");
        }
        for mode in ["755", "644", "u+w", "+x", "a+r", "go-w", "o-w", "600", "u+rwx", ""] {
            assert!(!widens(mode), "{mode}");
        }
    }

    #[test]
    fn modes_that_lock_out_the_owner_are_recognised() {
        for mode in ["000", "0", "077", "a-x", "-r", "u=", "u=w", "a-rwx", "644", "u-rx"] {
            assert!(shuts(mode), "{mode}");
        }
        for mode in ["700", "755", "0500", "go-rwx", "o-x", "u+x", "+x", "u=rwx", "a+r", ""] {
            assert!(!shuts(mode), "{mode}");
        }
    }

    #[test]
    fn rename_requests_differ_from_move_requests() {
        assert!(says_rename("Please rename /a to /b."));
        assert!(!says_rename("move the prerenamed file into /b"));
    }
}
