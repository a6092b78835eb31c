//! Names and addresses that resolve to this machine.

use std::net::IpAddr;
use url::Host;

/// Public DNS zones whose names all resolve to this machine, or to the address contained in the name.
const POINTING_INSIDE: &[&str] = &[
    "nip.io",
    "sslip.io",
    "xip.io",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "lacolhost.com",
    "yoogle.com",
    "traefik.me",
    "localhost.direct",
    "local.gd",
    "rbndr.us",
    "1u.ms",
    "backname.io",
];

/// Whether the text of a host alone shows that it is this machine: a loopback or unspecified address in any notation
/// that resolvers accept (`127.1`, `0x7f000001`, `::ffff:127.0.0.1`), or a name reserved by RFC 6761.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    // the zone identifier of an IPv6 address, as in fe80::1%lo
    let bare = bare.split('%').next().unwrap_or_default();
    let address = bare.parse::<IpAddr>().ok().or_else(|| match Host::parse(bare) {
        Ok(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Ok(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        _ => None,
    });
    match address {
        Some(address) => {
            let address = address.to_canonical();
            address.is_loopback() || address.is_unspecified()
        }
        None => {
            matches!(bare, "localhost" | "localhost.localdomain" | "ip6-localhost" | "ip6-loopback")
                || bare.ends_with(".localhost")
                || points_inside(bare)
        }
    }
}

/// The names of this machine in lower case, from the contents of its `/etc/hostname` and `/etc/hosts`.
#[must_use]
pub fn own_names(hostname: &str, hosts: &str) -> Vec<String> {
    let mut names = Vec::new();
    let own = hostname.lines().next().unwrap_or_default().trim().to_ascii_lowercase();
    if !own.is_empty() {
        names.extend(own.split('.').next().map(str::to_owned));
        names.push(own.clone());
    }
    for line in hosts.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(address) = words.next() else { continue };
        let line: Vec<String> = words.map(str::to_ascii_lowercase).collect();
        // the address of the machine's own name is this machine, too
        if is_loopback(address) || (!own.is_empty() && line.contains(&own)) {
            names.push(address.to_owned());
            names.extend(line);
        }
    }
    names
}

/// Whether a name lies in a public zone that resolves to this machine, or to the address contained in the name.
#[must_use]
pub fn points_inside(name: &str) -> bool {
    is_below(name, POINTING_INSIDE)
}

/// Whether a name is one of the zones or lies below one.
#[must_use]
pub fn is_below(name: &str, zones: &[&str]) -> bool {
    zones.iter().any(|zone| name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_recognised_in_every_notation() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "127.0.0.1",
            "127.9.9.9",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "[::1]",
            "::1",
            "::ffff:127.0.0.1",
            "0.0.0.0",
            "0",
            "::",
            "a.localhost",
            "localtest.me",
            "127.0.0.1.nip.io",
            "ip6-localhost",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["example.org", "10.0.0.1", "128.0.0.1", "localhost.example.org", "mylocalhost", "", "fe80::2"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn own_names_come_from_hostname_and_hosts() {
        let names =
            own_names("Build-7.example\n", "127.0.1.1 build-7 # me\n10.0.0.7 build-7.example b7\n10.0.0.8 other\n");
        for name in ["build-7", "build-7.example", "b7", "10.0.0.7"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        assert!(!names.iter().any(|name| name == "other" || name == "10.0.0.8"));
    }
}
