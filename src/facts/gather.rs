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
//! 6. What an action destroys is looked up in the version control around it (`recovery`); where it sends data is compared
//!    with the request and with the remotes of the repository (`destination`).
//! 7. A fact that cannot be determined stays `unknown`. A probe that was cut short becomes an unknown effect.

mod asked;
mod destination;
mod expand;
mod modes;
mod named;
mod names;
mod path;
mod recovery;
mod stake;

use crate::action::{Context, SessionFacts};
use crate::effect::budget;
use crate::effect::local::own_names;
use crate::effect::shell::Seen;
use crate::effect::{BROUGHT, Detail, Effect, Kind, Target, UNKNOWN_SPAN, Verb};
use crate::machine::identity::Protected;
use crate::machine::repository::{Looks, Remote};
use crate::machine::{Account, Class, Environment, Folders, PathFacts};
use crate::net::UrlPolicy;
use crate::policy::{Destination, EffectFacts, Known, Recovery, Subject, TargetClass, TargetType};
use crate::verdict::Footprint;
use modes::widens;
use names::is_below;
use serde_json::Value;
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
/// Most files whose content an approval is bound to.
const MOST_READ: usize = 256;
/// Most files that one action is noted to make.
const MOST_MADE: usize = 256;
/// Longest file with host names that is read, in bytes.
const NAMES: usize = 256 * 1024;

/// What lies around an action.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// Absolute paths that belong to the guard, with everything below them.
    pub own: &'a [String],
    /// Ports of this machine on which the guard listens.
    pub ports: &'a [u16],
    /// The working folder; empty if it is not known.
    pub cwd: &'a str,
    /// The places to which data may go because a person approved it.
    pub approved: Approved<'a>,
    /// What the reading of the action has looked at.
    pub seen: Option<&'a Seen<'a>>,
    /// Whether the action contains a secret that the request does not.
    pub written: bool,
}

/// Tells of a place (an address of mail, an owner on a shared host, or else a host) whether a person approved that data
/// goes there. It is asked only where nothing else is known about the place.
#[derive(Clone, Copy)]
pub struct Approved<'a>(pub &'a dyn Fn(&str) -> bool);

impl Default for Approved<'_> {
    fn default() -> Self {
        Self(&|_| false)
    }
}

impl std::fmt::Debug for Approved<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Approved")
    }
}

/// Probes the environment for the target of each effect. `urls`: the policy for fetches.
#[must_use]
pub fn gather(
    effects: &[Effect],
    context: &Context,
    account: &Account,
    urls: &UrlPolicy,
    around: Surroundings<'_>,
) -> ScreenInput {
    // a budget of its own: what was read is looked at, however much there was to read
    budget::within(budget::TIME, || looked_at(effects, context, account, urls, around))
}

fn looked_at(
    effects: &[Effect],
    context: &Context,
    account: &Account,
    urls: &UrlPolicy,
    around: Surroundings<'_>,
) -> ScreenInput {
    let subject = subject(context, account);
    let view = view(effects, context, account, urls, around);
    let mut queries: Vec<EffectFacts> = Vec::with_capacity(effects.len());
    for effect in effects {
        if budget::is_spent() {
            queries.push(EffectFacts::new(Verb::Unknown, Kind::Budget, "there is too much to look at"));
            break;
        }
        let about = |effect: &Effect| {
            let mut query = view.query(effect);
            query.requested = !context.request.trim().is_empty();
            query.only_looks = asked::only_looks(&context.request);
            query.watched = context.session.began.is_some() && context.session.unread.is_none();
            query.agent.clone_from(&context.agent);
            query.asked = asked::names_target(&context.request, &query);
            query
        };
        let query = about(effect);
        // a pattern is also judged as each path that it matches now, if that path is of another class
        let further = [view.matches(effect), view.inside(effect), view.mounted(effect)].concat();
        let matches: Vec<EffectFacts> = further.iter().map(about).collect();
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
    await_scripts(&mut queries);
    if queries.iter().any(holds_secrets) {
        queries.iter_mut().filter(|q| !stays_here(q)).for_each(|q| q.secrets = true);
    }
    destination::carry(&mut queries, around.written);
    if !context.held.is_empty() {
        queries.iter_mut().for_each(|q| q.held = true);
    }
    if context.session.unread.is_some() {
        queries.iter_mut().for_each(|q| q.unread = true);
    }
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&subject).unwrap_or_default());
    hash.update(serde_json::to_vec(&queries).unwrap_or_default());
    let digest = crate::hex(&hash.finalize());
    ScreenInput { subject, queries, digest }
}

/// What the effects of one action are looked at with.
fn view<'a>(
    effects: &[Effect],
    context: &'a Context,
    account: &'a Account,
    urls: &'a UrlPolicy,
    around: Surroundings<'a>,
) -> View<'a> {
    let Surroundings { own, ports, cwd, approved, seen, .. } = around;
    let enters = |effect: &&Effect| effect.verb == Verb::List && effect.operation == "enter";
    View {
        environment: context.environment.as_ref(),
        account,
        urls,
        own,
        ports,
        cwd,
        approved,
        request: context.request.as_str(),
        entered: effects.iter().filter(enters).map(|effect| effect.target.name().to_owned()).collect(),
        session: &context.session,
        rename: says_rename(&context.request),
        cut: RefCell::default(),
        names: OnceCell::new(),
        remotes: OnceCell::new(),
        sets_remotes: effects.iter().any(destination::sets_remotes),
        protected: RefCell::default(),
        looked: RefCell::default(),
        seen,
        folders: Folders::default(),
        looks: Looks::default(),
    }
}

/// The identity for whom the agent acts, with its account.
fn subject(context: &Context, account: &Account) -> Subject {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Subject {
        name: account.name.clone(),
        known: account.known,
        superuser: account.superuser,
        groups: account.groups.iter().map(|(_, name)| name.clone()).collect(),
        roles: context.identity.roles.clone(),
        attributes: context.identity.attributes.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
    }
}

/// What an action leaves behind, according to its effects. It makes the files that did not exist, and makes those its own
/// whose content version control holds.
#[must_use]
pub(crate) fn footprint(input: &ScreenInput) -> Footprint {
    // what is moved was there before
    let moves = |program: &str| input.queries.iter().any(|q| q.verb == Verb::Move && q.program == program);
    let makes = |q: &&EffectFacts| {
        q.kind == Kind::Path
            && !moves(&q.program)
            && (q.exists == Known::No || q.recovery == Recovery::Tracked)
            && !q.is_prefix
            && !q.unresolved
            && matches!(q.verb, Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite)
    };
    let goes = |q: &&EffectFacts| {
        matches!(q.verb, Verb::Send | Verb::Connect) && q.carries && q.destination == Destination::New
    };
    Footprint {
        secrets: input.queries.iter().any(|q| q.secrets),
        makes: input.queries.iter().filter(makes).map(|q| q.name.clone()).take(MOST_MADE).collect(),
        places: input.queries.iter().filter(goes).map(|q| super::url::place_of(&q.name)).collect(),
    }
}

/// Digest of the content of the files that an action reads, hexadecimal: an approval of the action is bound to it. A file
/// that is too long to be read is known by its identity.
#[must_use]
pub(crate) fn contents(input: &ScreenInput, environment: Option<&Environment>) -> String {
    let Some(environment) = environment else { return String::new() };
    let read = |q: &&EffectFacts| {
        matches!(q.verb, Verb::Read | Verb::Encrypt | Verb::Execute)
            && q.kind == Kind::Path
            && q.target_type == TargetType::File
    };
    let content = |query: &EffectFacts| {
        let digest = environment.file_digest(&query.name);
        digest.unwrap_or_else(|| format!("{:?}", environment.made_file(&query.name)))
    };
    let parts: Vec<String> =
        input.queries.iter().filter(read).take(MOST_READ).map(|q| format!("{}\n{}", q.name, content(q))).collect();
    crate::digest([parts.join("\n").into_bytes()])
}

/// A script that does not exist yet may be created before it runs.
fn await_scripts(queries: &mut [EffectFacts]) {
    let comes: Vec<(bool, String)> = queries.iter().filter_map(makes).collect();
    for query in queries.iter_mut().filter(|q| q.kind == Kind::Script && q.exists == Known::No) {
        let made = |(open, path): &(bool, String)| *open || query.name == *path || is_below(&query.name, path);
        if query.detail == BROUGHT || comes.iter().any(made) {
            query.exists = Known::Unknown;
        }
    }
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

/// Whether it talks to a server of this machine alone.
fn stays_here(query: &EffectFacts) -> bool {
    matches!(query.verb, Verb::Connect | Verb::Send)
        && matches!(query.kind, Kind::Url | Kind::Host)
        && super::url::is_here(&query.name)
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
    cwd: &'a str,
    approved: Approved<'a>,
    request: &'a str,
    /// Folders that the action enters.
    entered: Vec<String>,
    /// What is known of the session.
    session: &'a SessionFacts,
    rename: bool,
    /// Folders and files that could not be inspected completely.
    cut: RefCell<BTreeSet<String>>,
    /// Host names of this machine.
    names: OnceCell<Vec<String>>,
    /// The remotes of the repository around the working folder.
    remotes: OnceCell<Vec<Remote>>,
    /// Whether the action itself changes settings of version control.
    sets_remotes: bool,
    /// Protected files with several names, by the project folder around an inspected file.
    protected: RefCell<HashMap<String, Protected>>,
    /// The paths and folders that were looked at.
    looked: RefCell<HashMap<String, PathFacts>>,
    folders: Folders,
    /// What was read of repositories.
    looks: Looks,
    seen: Option<&'a Seen<'a>>,
}

impl View<'_> {
    /// The facts about an absolute path; each is looked at once.
    fn look(&self, environment: &Environment, path: &str) -> PathFacts {
        if let Some(known) = self.looked.borrow().get(path) {
            return known.clone();
        }
        let absent = self.seen.is_some_and(|seen| seen.is_absent(path));
        let facts = environment.path_among(path, self.account, &self.folders, absent);
        if let Some(seen) = self.seen.filter(|_| !absent && facts.exists == Some(false)) {
            seen.miss(path);
        }
        self.looked.borrow_mut().insert(path.to_owned(), facts.clone());
        facts
    }

    fn query(&self, effect: &Effect) -> EffectFacts {
        let mut query = EffectFacts::new(effect.verb, effect.target.kind(), effect.target.name());
        query.operation.clone_from(&effect.operation);
        query.program.clone_from(&effect.program);
        // where it runs, whatever the links on the way are called
        let real = self.environment.filter(|_| !effect.cwd.is_empty()).and_then(|e| e.resolve(&effect.cwd));
        query.folder = real.unwrap_or_else(|| effect.cwd.clone());
        query.detail = effect.detail.to_string();
        query.destination = self.destination(effect);
        query.recursive = effect.recursive;
        query.keep = effect.keep;
        query.privileged = effect.privileged;
        query.runs_as_root = effect.privileged || self.account.superuser;
        query.network = effect.detail == Detail::Network;
        query.widens =
            matches!(effect.verb, Verb::Chmod | Verb::Overwrite | Verb::Create) && effect.detail.modes().any(widens);
        query.chown_to_other = effect.verb == Verb::Chown
            && effect.program != "chgrp"
            && effect.detail.owners().any(|owner| self.foreign(owner));
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
            // a program that nobody knows but the user
            Target::Named(Kind::Program, name)
                if effect.verb == Verb::Unknown && named::names_program(self.request, name) =>
            {
                "named".clone_into(&mut query.operation);
            }
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
        if *name == self.account.name {
            // all that the account runs
            "every".clone_into(&mut query.operation);
        }
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
            query.exists = Known::from(self.look(environment, path).exists);
        }
    }

    /// Whether the new owner, or the owner part of `owner:group`, is someone else.
    fn foreign(&self, owner: &str) -> bool {
        let owner = owner.split(':').next().unwrap_or_default();
        let own_id = self.account.uid.map(|id| id.to_string());
        !owner.is_empty() && owner != self.account.name && Some(owner) != own_id.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rename_requests_differ_from_move_requests() {
        assert!(says_rename("Please rename /a to /b."));
        assert!(!says_rename("move the prerenamed file into /b"));
    }
}
