//! What the address in an effect says about where it leads, by its text alone.

use crate::effect::{Effect, HOLE, Target};
use crate::net::local::is_loopback;
use crate::net::{Reason, UrlPolicy, is_metadata};

/// The operation of an effect that fetches a page for the agent itself, for which the whole policy of URLs holds.
/// What a command line connects to is judged less strictly: developers talk to their own machines.
pub const FETCH: &str = "fetch";

/// The id of the reason that speaks against the address; `None` if there is none, or none is known.
pub(super) fn class(effect: &Effect, urls: &UrlPolicy) -> Option<&'static str> {
    let reason = match &effect.target {
        Target::Named("url", url) if effect.operation == FETCH => match urls.judge(url) {
            Ok(admitted) => admitted.concern(),
            Err(refusal) => Some(refusal.reason),
        },
        Target::Named("url", url) => of_command(url),
        Target::Named("host", name) => is_metadata(host_of(name)).then_some(Reason::Metadata),
        _ => None,
    };
    reason.map(Reason::id)
}

/// It leads to a port of this machine at which the guard answers. `names`: what this machine is called.
pub(super) fn is_guard(target: &str, ports: &[u16], names: &[String]) -> bool {
    let (host, port) = match url::Url::parse(target) {
        Ok(url) if url.has_host() => (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default()),
        _ => {
            let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let place = rest.get(..end).unwrap_or_default();
            match place.rsplit_once([':', ' ']) {
                Some((host, port)) => (host.to_owned(), port.parse().ok()),
                None => return false,
            }
        }
    };
    let host = host.trim_matches(['[', ']']);
    let local = host.is_empty()
        || host.contains(HOLE)
        || is_loopback(host)
        || names.iter().any(|n| n.eq_ignore_ascii_case(host));
    // a port that is only known at run time may be any
    local && port.is_none_or(|port| ports.contains(&port))
}

/// Only what hides its destination, and metadata services.
fn of_command(url: &str) -> Option<Reason> {
    let host = host_of(url);
    if host.contains(HOLE) {
        return None;
    }
    // a set or range of numbers, which curl expands
    let numeric = host.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '{' | '}' | ',' | '-' | '[' | ']'));
    if numeric && (host.contains('{') || (host.contains('[') && !host.starts_with('['))) {
        return Some(Reason::EncodedHost);
    }
    let reason = UrlPolicy::default().host(host).err()?.reason;
    let hides = match reason {
        Reason::Metadata | Reason::EncodedHost | Reason::Homograph => true,
        // names of machines often spell their private address
        Reason::EmbeddedAddress => host.starts_with('['),
        _ => false,
    };
    hides.then_some(reason)
}

/// The host of `scheme://user@host:port/path`, `user@host:path` or `host`.
fn host_of(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.find(']') {
        Some(end) if host.starts_with('[') => host.get(..=end).unwrap_or(host),
        _ => host.split(':').next().unwrap_or_default(),
    }
}
