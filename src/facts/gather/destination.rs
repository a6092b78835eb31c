//! Where an effect connects or sends data to, and how well that place is known.

use super::View;
use super::asked::{asks_to_push, mentions};
use crate::effect::shell::is_public_registry;
use crate::effect::{Effect, Kind, SECRET_VARIABLES, STREAMED, UNKNOWN_SPAN, Verb};
use crate::facts::url::{host_of, is_here, place_of};
use crate::machine::Class;
use crate::machine::repository::Remote;
use crate::policy::{Destination, EffectFacts, Known};

/// The name of the remote that a version control system uses without another word.
const REMOTE: &str = "remote";
/// The place of programs that look up names.
const LOOKUP: &str = "dns";
/// Shortest part of a host name that counts as a name in the request.
const SHORTEST: usize = 3;
/// Words of requests that name no place.
const COMMON: [&str; 14] =
    ["api", "app", "build", "code", "data", "docs", "example", "file", "home", "http", "mail", "server", "test", "web"];
/// Words of variables that name no service, so that a domain of that name does not get them.
const UNSPECIFIC: [&str; 20] = [
    "access",
    "admin",
    "apikey",
    "auth",
    "client",
    "credential",
    "deploy",
    "key",
    "master",
    "pass",
    "passwd",
    "password",
    "prod",
    "production",
    "root",
    "secret",
    "session",
    "staging",
    "token",
    "user",
];
/// Beginnings of variables that stand for a service, and the word of its domain.
const SHORT_NAMES: [(&str, &str); 6] = [
    ("AWS", "amazonaws"),
    ("CF", "cloudflare"),
    ("DO", "digitalocean"),
    ("GH", "github"),
    ("GL", "gitlab"),
    ("HF", "huggingface"),
];

impl View<'_> {
    /// How well the place of a connection or of a transfer is known.
    pub(super) fn destination(&self, effect: &Effect) -> Destination {
        let name = effect.target.name();
        let place = matches!(effect.target.kind(), Kind::Host | Kind::Url);
        if !place || !matches!(effect.verb, Verb::Connect | Verb::Send) {
            return Destination::None;
        }
        if is_here(name) {
            return Destination::Loopback;
        }
        let host = host_of(name).to_ascii_lowercase();
        if let Some(found) = (effect.program == "git").then(|| self.of_remote(name)).flatten() {
            return found;
        }
        if is_public_registry(&host) {
            return Destination::Registry;
        }
        if host.contains(UNKNOWN_SPAN) {
            return Destination::Unknown;
        }
        if self.asks_for(&host) || self.asks_for_service(&effect.program) && !host.contains('.') {
            return Destination::Named;
        }
        if (self.approved.0)(&place_of(name)) { Destination::Known } else { Destination::New }
    }

    /// A remote of the repository around the working folder, by its name or by its address; `None`: it is none. One with
    /// which nothing was ever exchanged is as new as its address.
    fn of_remote(&self, name: &str) -> Option<Destination> {
        let find = |environment| crate::machine::repository::remotes(environment, &self.looks, self.cwd);
        let remotes = self.remotes.get_or_init(|| self.environment.map(find).unwrap_or_default());
        let usual = if name == REMOTE { "origin" } else { name };
        let same = |one: &&Remote| one.name == usual || plain(&one.address) == plain(name);
        let found: Vec<&Remote> = remotes.iter().filter(same).collect();
        let any = |is: &dyn Fn(&Remote) -> bool| found.iter().any(|one| is(one));
        Some(if found.is_empty() {
            if name.contains(['/', ':', '.', UNKNOWN_SPAN]) {
                return None;
            }
            // a name that is no remote here may be one where the action goes, or one that it sets; where there is none at
            // all, git refuses it
            let refused = name == REMOTE || remotes.is_empty() && !self.sets_remotes;
            if refused { Destination::Remote } else { Destination::New }
        } else if any(&|one| one.used) {
            Destination::Remote
        } else if any(&|one| self.asks_for(&host_of(&one.address).to_lowercase()) || self.asks_to_push(one)) {
            Destination::Named
        } else if any(&|one| (self.approved.0)(&place_of(&one.address))) {
            Destination::Known
        } else {
            Destination::New
        })
    }

    /// Whether the request asks to push, and names the remote, or there is no other.
    fn asks_to_push(&self, remote: &Remote) -> bool {
        let request = self.request.to_lowercase();
        let only = self.remotes.get().is_some_and(|remotes| remotes.len() == 1);
        asks_to_push(&request) && (only || mentions(&request, &remote.name.to_lowercase()))
    }

    /// Whether the request names a host: itself, its registered domain, or the word before that domain's end.
    fn asks_for(&self, host: &str) -> bool {
        let request = self.request.to_lowercase();
        if host.len() >= SHORTEST && mentions(&request, host) {
            return true;
        }
        // an address of numbers has no domain
        let numbers = host.starts_with('[') || host.rsplit('.').next().is_some_and(|last| last.parse::<u32>().is_ok());
        let Some(domain) = psl::domain_str(host).filter(|_| !numbers) else { return false };
        let word = domain.split('.').next().unwrap_or_default();
        mentions(&request, domain) || word.len() >= SHORTEST && !COMMON.contains(&word) && mentions(&request, word)
    }

    /// Whether the request names the program, whose service is the place.
    fn asks_for_service(&self, program: &str) -> bool {
        program.len() >= SHORTEST && mentions(&self.request.to_lowercase(), &program.to_ascii_lowercase())
    }
}

/// Whether an effect may change the remotes of a repository.
pub(super) fn sets_remotes(effect: &Effect) -> bool {
    effect.verb == Verb::Config && effect.program == "git"
        || matches!(effect.verb, Verb::Write | Verb::Append | Verb::Overwrite)
            && effect.target.name().ends_with("/.git/config")
}

/// Whether an effect reads data of the user or of a project, which a transfer of the same action may carry.
pub(super) fn reads_data(query: &EffectFacts) -> bool {
    matches!(query.verb, Verb::Read | Verb::Encrypt)
        && query.kind == Kind::Path
        && query.exists != Known::No
        && [
            Class::OwnHome,
            Class::OtherHome,
            Class::SuperuserHome,
            Class::Root,
            Class::Credential,
            Class::Shared,
            Class::SystemConfig,
        ]
        .iter()
        .any(|class| query.class.is(*class))
}

/// Notes which transfers may carry data: all of an action that reads some, those of version control, and those of what
/// another program prints; also those, and requests of the web, that carry a secret variable or a secret that the action
/// itself contains (`written`). A place that the row does not name counts only if no other effect of the program names it.
pub(super) fn carry(queries: &mut [EffectFacts], written: bool) {
    let reads = queries.iter().any(reads_data);
    let named: Vec<String> =
        queries.iter().filter(|q| q.verb == Verb::Send && !is_unnamed(q)).map(|q| q.program.clone()).collect();
    let sets = queries.iter().any(|q| q.verb == Verb::Send && q.operation == REMOTE);
    for query in queries.iter_mut().filter(|query| query.verb == Verb::Connect && tells(query)) {
        query.carries = written || has_secrets_of_others(query);
    }
    for query in queries.iter_mut().filter(|query| query.verb == Verb::Send) {
        let secret = written || has_secrets_of_others(query);
        query.carries = secret || reads || query.program == "git" || query.detail == STREAMED;
        // the address of a remote that the action sets says more than its name
        let by_address =
            sets && query.program == "git" && query.operation != REMOTE && !query.name.contains(['/', ':']);
        if by_address || is_unnamed(query) && named.contains(&query.program) {
            query.destination = Destination::None;
        }
    }
}

/// Whether a connection tells the place something: a request of the web, or a name that is looked up with a part that is
/// known only when it runs. A client that logs in to a host (`mysql -p$DB_PASSWORD`) tells only its password.
fn tells(query: &EffectFacts) -> bool {
    match query.kind {
        Kind::Url => is_web(&query.name),
        Kind::Host => query.name == LOOKUP || query.name.contains(UNKNOWN_SPAN) && query.name.contains('.'),
        _ => false,
    }
}

/// Whether a URL is one of the web; without a scheme, it is.
fn is_web(url: &str) -> bool {
    url.split_once("://")
        .is_none_or(|(scheme, _)| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
}

/// Whether a request carries a secret variable whose name does not say that it belongs to the place: `GITHUB_TOKEN` belongs
/// to `api.github.com`.
fn has_secrets_of_others(query: &EffectFacts) -> bool {
    let Some(names) = query.detail.strip_prefix(SECRET_VARIABLES) else { return false };
    let host = host_of(&query.name).to_ascii_lowercase();
    // a row may name a service without its domain
    let domain = if host.contains('.') { psl::domain_str(&host) } else { Some(host.as_str()) };
    let service = domain.and_then(|domain| domain.split('.').next());
    let service = service.filter(|word| word.len() >= SHORTEST && !COMMON.contains(word) && !UNSPECIFIC.contains(word));
    let belongs = |name: &str| {
        let (lower, first) = (name.to_ascii_lowercase(), name.split('_').next().unwrap_or_default());
        let short = |service: &str| SHORT_NAMES.contains(&(first, service));
        service.is_some_and(|service| lower.replace('_', "").contains(&service.replace('-', "")) || short(service))
    };
    !names.split(' ').all(belongs)
}

/// Whether a row says only that something is sent.
fn is_unnamed(query: &EffectFacts) -> bool {
    query.name.is_empty() || query.name == REMOTE
}

/// An address of a repository without its scheme, its user and its ending: `git@host:a/b.git` as `host/a/b`.
fn plain(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split_once('@').filter(|(user, _)| !user.contains('/')).map_or(rest, |(_, rest)| rest);
    let rest = rest.trim_end_matches('/').trim_end_matches(".git");
    rest.replacen(':', "/", 1).to_ascii_lowercase()
}
