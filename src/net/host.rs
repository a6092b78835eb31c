//! Classifies host names by their text alone.

use super::{Reason, address};
use agrail_effects::local::{is_below, points_inside};
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

/// Suffixes, without the dot, of names that are valid only inside a network (RFC 6761, 6762, 8375, and common
/// practice).
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

/// Why a host name is refused; `None` for a name of the public internet. `name`: from the URL parser, in lower-case
/// ASCII.
pub(super) fn refuse(name: &str) -> Option<Reason> {
    let bare = name.trim_end_matches('.');
    if METADATA.contains(&bare) || carries_metadata(bare) {
        return Some(Reason::Metadata);
    }
    if is_below(bare, &["localhost"]) || matches!(bare, "ip6-localhost" | "ip6-loopback") {
        return Some(Reason::Loopback);
    }
    if points_inside(bare) {
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

/// The IPv4 addresses spelt by four consecutive numbers, separated by dots or dashes.
fn carried(name: &str) -> Vec<IpAddr> {
    let numbers: Vec<Option<u8>> =
        name.split(['.', '-']).map(|part| if part.len() <= 3 { part.parse().ok() } else { None }).collect();
    let fours = numbers.windows(4).filter_map(|four| match four {
        [Some(a), Some(b), Some(c), Some(d)] => Some(IpAddr::from([*a, *b, *c, *d])),
        _ => None,
    });
    fours.collect()
}

/// Whether a name spells an address that is not public. An address that begins with 0 is a version number: 0.1.2.3.
fn carries_address(name: &str) -> bool {
    let version = |address: &IpAddr| matches!(address, IpAddr::V4(v4) if v4.octets().starts_with(&[0]));
    carried(name).iter().any(|address| !version(address) && address::refuse(*address).is_some())
}

/// Whether a name spells the address of a metadata service, in numbers or in eight hexadecimal digits. Other addresses
/// in hexadecimal cannot be distinguished from commit ids, after which preview sites are named.
fn carries_metadata(name: &str) -> bool {
    let hex = |label: &str| u32::from_str_radix(label, 16).ok().filter(|_| label.len() == 8);
    let hexes = name.split('.').filter_map(hex).map(|bits| IpAddr::V4(Ipv4Addr::from(bits)));
    carried(name).into_iter().chain(hexes).any(address::is_metadata)
}

/// Whether a label mixes scripts that no language mixes, or consists only of letters that look Latin.
fn imitates(name: &str) -> bool {
    let (unicode, problems) = idna::domain_to_unicode(name);
    problems.is_err() || unicode.split('.').any(|label| !label.is_ascii() && label_imitates(label))
}

fn label_imitates(label: &str) -> bool {
    if label.detect_restriction_level() > RestrictionLevel::HighlyRestrictive {
        return true;
    }
    // accented letters are legitimate; a label in another alphabet whose letters all look Latin is not
    let foreign = !label.chars().any(|c| c.is_ascii_alphabetic());
    foreign && label.chars().any(char::is_alphabetic) && skeleton(label).all(|c| c.is_ascii())
}
