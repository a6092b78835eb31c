//! Judges the destination of an address in an effect by its text alone.

use crate::effect::Kind;
use crate::effect::local::{is_loopback, points_inside};
use crate::effect::shell::is_shared_host;
use crate::effect::{Effect, FETCH, Target, UNKNOWN_SPAN};
use crate::net::{Reason, UrlPolicy, is_metadata};

/// The reason not to contact the address; `None` if no reason is known.
pub(super) fn concern(effect: &Effect, urls: &UrlPolicy) -> Option<Reason> {
    match &effect.target {
        Target::Named(Kind::Url, url) if effect.operation == FETCH => match urls.judge(url) {
            Ok(admitted) => admitted.concern(),
            Err(refusal) => Some(refusal.reason),
        },
        Target::Named(Kind::Url, url) => of_command(url),
        Target::Named(Kind::Host, name) => is_metadata(host_of(name)).then_some(Reason::Metadata),
        _ => None,
    }
}

/// Whether the target is a port of this machine on which the guard listens. `names`: the host names of this machine.
pub(super) fn is_guard<'n>(target: &str, ports: &[u16], names: impl FnOnce() -> &'n Vec<String>) -> bool {
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
    // a port that is known only at run time may be any port; what the guard serves lies below its own paths
    let path = target.split_once("://").and_then(|(_, rest)| rest.find(['/', '?', '#']).and_then(|at| rest.get(at..)));
    let other = |path: &str| !path.contains([UNKNOWN_SPAN, '%', '\\']) && !path.contains("..") && !path.contains("/v1");
    let elsewhere = path.is_some_and(other);
    port.map_or(!elsewhere, |port| ports.contains(&port))
        && (host.is_empty()
            || host.contains(UNKNOWN_SPAN)
            || is_loopback(host)
            || names().iter().any(|n| n.eq_ignore_ascii_case(host)))
}

/// Whether the target is on this machine by its own words, without a name that others resolve.
pub(super) fn is_here(target: &str) -> bool {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    // programs disagree on the host behind other characters
    let plain = |c: char| c.is_ascii_alphanumeric() || ".:[]-".contains(c);
    let host = host_of(target);
    rest.split('/').next().unwrap_or_default().chars().all(plain)
        && is_loopback(host)
        && !points_inside(&host.to_ascii_lowercase())
}

/// The concern about a URL of a command: only hidden destinations and metadata services count.
fn of_command(url: &str) -> Option<Reason> {
    let host = host_of(url);
    if host.contains(UNKNOWN_SPAN) {
        // an address before a path that a variable holds
        let before = host.split(UNKNOWN_SPAN).next().unwrap_or_default();
        return is_metadata(before).then_some(Reason::Metadata);
    }
    // a set or range of numbers, which curl expands
    let numeric = host.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '{' | '}' | ',' | '-' | '[' | ']'));
    if numeric && (host.contains('{') || (host.contains('[') && !host.starts_with('['))) {
        return Some(Reason::EncodedHost);
    }
    let reason = UrlPolicy::default().host(host).err()?.reason;
    let hides = match reason {
        Reason::Metadata | Reason::EncodedHost | Reason::Homograph => true,
        // machine names often contain their private address
        Reason::EmbeddedAddress => host.starts_with('['),
        _ => false,
    };
    hides.then_some(reason)
}

/// What stands for the place of a transfer in the answers of a person, in lower case: the host; for mail the address; on a
/// host that many share, the host with the owner of what lies there.
pub(crate) fn place_of(text: &str) -> String {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    if rest == text && text.contains('@') && !text.contains([':', '/']) {
        return text.to_lowercase();
    }
    let host = host_of(text);
    let lower = host.to_lowercase();
    // below a shared domain everyone has a name, and on a shared host everyone has a folder
    if !is_shared_host(&lower) && psl::suffix_str(&lower) != Some(lower.as_str()) {
        return lower;
    }
    let tail = rest.split_once(host).map_or("", |(_, tail)| tail).trim_start_matches([':', '/']);
    let mut parts = tail.split(['/', '?', '#']).filter(|part| part.parse::<u16>().is_err());
    match parts.next() {
        Some(owner) if !owner.is_empty() => format!("{lower}/{}", owner.to_lowercase()),
        _ => lower,
    }
}

/// The host of `scheme://user@host:port/path`, `user@host:path` or `host`.
pub(super) fn host_of(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.find(']') {
        Some(end) if host.starts_with('[') => host.get(..=end).unwrap_or(host),
        _ => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_here, place_of};

    #[test]
    fn a_place_is_whose_it_is() {
        for (text, place) in [
            ("https://Drop.Example/in?x", "drop.example"),
            ("q@drop.example", "q@drop.example"),
            ("q@drop.example:in/", "drop.example"),
            ("https://github.com/Acme/app.git", "github.com/acme"),
            ("git@github.com:acme/app", "github.com/acme"),
            ("ssh://git@github.com:22/acme/app", "github.com/acme"),
            ("github.com", "github.com"),
            ("https://acme.github.io/x", "acme.github.io"),
            ("203.0.113.7:4444", "203.0.113.7"),
        ] {
            assert_eq!(place_of(text), place, "{text}");
        }
    }

    #[test]
    fn an_address_of_this_machine_is_told_by_its_words() {
        for here in
            ["http://127.0.0.1:4100/healthz", "http://localhost/\u{fffc}", "http://[::1]:8080/", "127.0.0.1:5432"]
        {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in [
            "http://127.0.0.1\\@x.example/",
            "http://127.0.0.1@x.example/",
            "http://127.0.0.1#@x.example/",
            "http://a.localtest.me/",
            "http://127.0.0.1.nip.io/",
            "http://\u{fffc}/",
            "http://10.0.0.1/",
        ] {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }
}
