//! Effects with their facts: what the policies are asked.
//!
//! 1. Each effect becomes a [`Query`]; for a path the environment is probed once.
//! 2. Whether the identity has *the access that the verb needs* is worked out here, so that a policy can
//!    simply say `resource.access == "no"`.
//! 3. A path that is not constant is judged by the constant folder before the first pattern. What does
//!    not even begin with a constant is `anywhere`.
//! 4. An address is judged by its text; nothing is looked up.
//! 5. What cannot be learnt stays `unknown`; no fact is invented.

use super::{Account, Class, Environment, Kind, PathFacts};
use crate::action::Context;
use crate::effect::{Effect, HOLE, Target, Verb};
use crate::net::UrlPolicy;
use crate::policy::query::{Query, Subject, Tri};
use sha2::{Digest, Sha256};

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
const MATCHES: usize = 64;

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
    let view = View { environment: context.environment.as_ref(), account, urls, own, ports, rename };
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
        let matches: Vec<Query> = view.matches(effect).iter().map(about).collect();
        let graver = matches.into_iter().filter(|one| one.itself || one.guard || one.class != query.class);
        for query in graver.collect::<Vec<_>>().into_iter().chain([query]) {
            if !queries.contains(&query) {
                queries.push(query);
            }
        }
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
                query.guard = matches!(*kind, "url" | "host") && super::url::is_guard(name, self.ports);
                if let Some(class) = super::url::class(effect, self.urls) {
                    class.clone_into(&mut query.class);
                }
            }
        }
        query
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
        let taken = matches!(effect.verb, Verb::Read | Verb::Encrypt | Verb::Move);
        if taken && (super::class::holds_credentials(looked_at) || super::class::holds_credentials(&facts.resolved)) {
            Class::Credential.as_str().clone_into(&mut query.class);
        }
        let deep =
            query.below || effect.recursive || matches!(effect.verb, Verb::Move | Verb::Delete | Verb::Overwrite);
        // beside the class: what forbids more for that class still does
        query.guard = self.guards(looked_at, deep) || self.guards(&facts.resolved, deep);
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

    /// The same effect on each thing that the pattern in its path stands for, the first few; `*` at the end is left to what
    /// is said of everything below.
    fn matches(&self, effect: &Effect) -> Vec<Effect> {
        let (Target::Path(path), Some(environment)) = (&effect.target, self.environment) else { return Vec::new() };
        let special = |part: &str| part.contains(['*', '?', '[']);
        if !path.starts_with('/') || path.contains(HOLE) || !special(path) || path.ends_with("/*") {
            return Vec::new();
        }
        let mut found = vec![String::new()];
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let Some(pattern) = glob::Pattern::new(part).ok().filter(|_| special(part)) else {
                found.iter_mut().for_each(|folder| *folder = format!("{folder}/{part}"));
                continue;
            };
            let below = |folder: &String| {
                let names = environment.names(if folder.is_empty() { "/" } else { folder });
                let fits = |name: &String| pattern.matches(name) && (part.starts_with('.') || !name.starts_with('.'));
                names.into_iter().filter(fits).map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
            };
            found = found.iter().flat_map(below).take(MATCHES).collect();
        }
        let there = |path: &String| environment.path(path, self.account).exists != Some(false);
        let on = |path| Effect { target: Target::Path(path), ..effect.clone() };
        found.into_iter().filter(there).map(on).collect()
    }

    /// The most protected class among the files that a pattern in the last part of a path stands for.
    fn matched(&self, folder: &str, path: &str) -> Option<Class> {
        let last = path.strip_prefix(folder)?.trim_start_matches('/');
        if last.contains(['/', HOLE]) || matches!(last, "*" | "") {
            return None;
        }
        let pattern = glob::Pattern::new(last).ok()?;
        let names = self.environment?.names(folder);
        let classes = names.iter().filter(|name| pattern.matches(name)).map(|name| {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
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
    fn a_request_to_rename_is_told_from_a_request_to_move() {
        assert!(says_rename("Please rename /a to /b."));
        assert!(!says_rename("move the prerenamed file into /b"));
    }
}
