//! What a host name stands for, from its text alone.

use super::{Reason, address};
use std::net::{IpAddr, Ipv4Addr};
use unicode_security::{RestrictionLevel, RestrictionLevelDetection, skeleton};

/// Names of metadata services.
const METADATA: &[&str] = &[
    "metadata",
    "instance-data",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data.ec2.internal",
    "metadata.azure.internal",
    "metadata.azure.com",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "metadata.packet.net",
    "rancher-metadata",
];

/// Ends of names that only mean something inside a network (RFC 6761, 6762, 8375, and custom), without the dot.
const INTERNAL: &[&str] = &[
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "localdomain",
    "home.arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "test",
    "invalid",
    "onion",
    "svc",
    "cluster.local",
    "consul",
];

/// Public zones whose names all lead to this machine, or to the address that is part of the name.
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

/// The name leads to this machine, or to the address in it, whoever asks.
pub(super) fn points_inside(name: &str) -> bool {
    is_below(name, POINTING_INSIDE)
}

/// Why a host name is not one of the public internet. `name`: as the URL parser gives it, ASCII and lower case.
pub(super) fn refuse(name: &str) -> Option<Reason> {
    let bare = name.trim_end_matches('.');
    if METADATA.contains(&bare) || carries_metadata(bare) {
        return Some(Reason::Metadata);
    }
    if is_below(bare, &["localhost"]) || matches!(bare, "ip6-localhost" | "ip6-loopback") {
        return Some(Reason::Loopback);
    }
    if is_below(bare, POINTING_INSIDE) {
        return Some(Reason::InternalName);
    }
    if carries_address(bare) {
        return Some(Reason::EmbeddedAddress);
    }
    if is_below(bare, INTERNAL) || !bare.contains('.') {
        return Some(Reason::InternalName);
    }
    if imitates(bare) {
        return Some(Reason::Homograph);
    }
    (bare.len() != name.len()).then_some(Reason::TrailingDot)
}

/// It is one of the zones, or a name below it.
fn is_below(name: &str, zones: &[&str]) -> bool {
    zones.iter().any(|zone| name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// The addresses that four numbers in a row spell, by dots or dashes.
fn carried(name: &str) -> Vec<IpAddr> {
    let numbers: Vec<Option<u8>> =
        name.split(['.', '-']).map(|part| if part.len() <= 3 { part.parse().ok() } else { None }).collect();
    let fours = numbers.windows(4).filter_map(|four| match four {
        [Some(a), Some(b), Some(c), Some(d)] => Some(IpAddr::from([*a, *b, *c, *d])),
        _ => None,
    });
    fours.collect()
}

/// It spells an address that is not public. Small numbers are versions: 0.1.2.3.
fn carries_address(name: &str) -> bool {
    let version = |address: &IpAddr| matches!(address, IpAddr::V4(v4) if v4.octets().starts_with(&[0]));
    carried(name).iter().any(|address| !version(address) && address::refuse(*address).is_some())
}

/// It spells the address of a metadata service, by numbers or by eight hexadecimal digits. Other addresses in
/// hexadecimal are not told from the commit ids that previews of sites are named after.
fn carries_metadata(name: &str) -> bool {
    let hex = |label: &str| u32::from_str_radix(label, 16).ok().filter(|_| label.len() == 8);
    let hexes = name.split('.').filter_map(hex).map(|bits| IpAddr::V4(Ipv4Addr::from(bits)));
    carried(name).into_iter().chain(hexes).any(address::is_metadata)
}

/// A label mixes scripts that no language mixes, or consists of letters that all look like Latin ones.
fn imitates(name: &str) -> bool {
    let (unicode, problems) = idna::domain_to_unicode(name);
    problems.is_err() || unicode.split('.').any(|label| !label.is_ascii() && label_imitates(label))
}

fn label_imitates(label: &str) -> bool {
    if label.detect_restriction_level() > RestrictionLevel::HighlyRestrictive {
        return true;
    }
    // a letter with an accent is its own letter; a foreign alphabet that reads as Latin throughout is not
    let foreign = !label.chars().any(|c| c.is_ascii_alphabetic());
    foreign && label.chars().any(char::is_alphabetic) && skeleton(label).all(|c| c.is_ascii())
}
