//! Classifies IP addresses: only addresses of the public internet pass.
//!
//! The ranges are those of the IANA special-purpose registries for IPv4 and IPv6. IPv6 is allowed by range (only
//! 2000::/3 is routed publicly), IPv4 is refused by range.

use super::Reason;
use ipnet::{Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits)
}

/// IPv4 ranges, the narrow ones first.
const RANGES: &[(Ipv4Net, Reason)] = &[
    (v4(127, 0, 0, 0, 8), Reason::Loopback),
    (v4(0, 0, 0, 0, 32), Reason::Unspecified),
    (v4(10, 0, 0, 0, 8), Reason::PrivateAddress),
    (v4(172, 16, 0, 0, 12), Reason::PrivateAddress),
    (v4(192, 168, 0, 0, 16), Reason::PrivateAddress),
    (v4(169, 254, 0, 0, 16), Reason::LinkLocal),
    (v4(224, 0, 0, 0, 4), Reason::Multicast),
    // this network, shared (carrier-grade NAT), protocols, documentation, 6to4 relays, benchmarks, AS112, future
    (v4(0, 0, 0, 0, 8), Reason::ReservedAddress),
    (v4(100, 64, 0, 0, 10), Reason::ReservedAddress),
    (v4(192, 0, 0, 0, 24), Reason::ReservedAddress),
    (v4(192, 0, 2, 0, 24), Reason::ReservedAddress),
    (v4(192, 31, 196, 0, 24), Reason::ReservedAddress),
    (v4(192, 52, 193, 0, 24), Reason::ReservedAddress),
    (v4(192, 88, 99, 0, 24), Reason::ReservedAddress),
    (v4(192, 175, 48, 0, 24), Reason::ReservedAddress),
    (v4(198, 18, 0, 0, 15), Reason::ReservedAddress),
    (v4(198, 51, 100, 0, 24), Reason::ReservedAddress),
    (v4(203, 0, 113, 0, 24), Reason::ReservedAddress),
    (v4(240, 0, 0, 0, 4), Reason::ReservedAddress),
];

/// Addresses at which clouds hand out credentials: the common one, containers and pods, Alibaba, Oracle, Azure,
/// Tencent.
const METADATA: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(169, 254, 0, 23),
];

/// The same in IPv6: EC2, EKS pods, Google.
const METADATA6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

const PUBLIC6: Ipv6Net = v6(0x2000, 0, 0, 3);
const UNIQUE_LOCAL: Ipv6Net = v6(0xfc00, 0, 0, 7);
const LINK_LOCAL: Ipv6Net = v6(0xfe80, 0, 0, 10);
const SITE_LOCAL: Ipv6Net = v6(0xfec0, 0, 0, 10);
const MULTICAST: Ipv6Net = v6(0xff00, 0, 0, 8);
/// Ranges inside 2000::/3 that are not public: protocols, documentation (two ranges), segment routing tests.
const RESERVED6: &[Ipv6Net] = &[v6(0x2001, 0, 0, 23), v6(0x2001, 0xdb8, 0, 32), v6(0x3fff, 0, 0, 20)];
/// The well-known prefix by which IPv6-only networks reach IPv4 (RFC 6052).
const NAT64: Ipv6Net = v6(0x64, 0xff9b, 0, 96);

/// Why connecting to an address is refused; `None` for an address of the public internet. An address that contains
/// another one in a transition format is judged by both.
///
/// `2001:4860:4860::8888` passes, `::ffff:10.0.0.1` is [`Reason::EmbeddedAddress`].
#[must_use]
pub fn refuse(address: IpAddr) -> Option<Reason> {
    match address {
        IpAddr::V4(address) => refuse_v4(address),
        IpAddr::V6(address) => refuse_v6(address),
    }
}

/// Like [`refuse`], for an address from a resolver: an IPv4 address behind the NAT64 prefix is judged as the IPv4
/// address, because an IPv6-only network reaches legitimate hosts that way.
#[must_use]
pub(crate) fn refuse_resolved(address: IpAddr) -> Option<Reason> {
    match address {
        IpAddr::V6(v6) if NAT64.contains(&v6) => last_v4(v6).and_then(refuse_v4),
        _ => refuse(address),
    }
}

/// Whether an address is that of a cloud's metadata service, directly or inside an IPv6 address.
#[must_use]
pub(crate) fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => METADATA.contains(&address),
        IpAddr::V6(address) => {
            METADATA6.contains(&address) || embedded(address).is_some_and(|inner| METADATA.contains(&inner))
        }
    }
}

fn refuse_v4(address: Ipv4Addr) -> Option<Reason> {
    if METADATA.contains(&address) {
        return Some(Reason::Metadata);
    }
    RANGES.iter().find(|(range, _)| range.contains(&address)).map(|(_, reason)| *reason)
}

fn refuse_v6(address: Ipv6Addr) -> Option<Reason> {
    if METADATA6.contains(&address) {
        return Some(Reason::Metadata);
    }
    if address.is_loopback() {
        return Some(Reason::Loopback);
    }
    if address.is_unspecified() {
        return Some(Reason::Unspecified);
    }
    if embedded(address).is_some() {
        return Some(Reason::EmbeddedAddress);
    }
    let is = |range: &Ipv6Net| range.contains(&address);
    if is(&UNIQUE_LOCAL) || is(&SITE_LOCAL) {
        Some(Reason::PrivateAddress)
    } else if is(&LINK_LOCAL) {
        Some(Reason::LinkLocal)
    } else if is(&MULTICAST) {
        Some(Reason::Multicast)
    } else if !is(&PUBLIC6) || RESERVED6.iter().any(is) {
        Some(Reason::ReservedAddress)
    } else {
        None
    }
}

/// The IPv4 address inside an IPv6 address: mapped, compatible, translated, NAT64 (both prefixes), 6to4, Teredo
/// (the client, which is written inverted), ISATAP.
#[must_use]
pub(crate) fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = last_v4(address);
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => last,
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0, _, _] => last,
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] | [0x64, 0xff9b, 1, _, _, _, _, _] => last,
        [0x2002, high, low, ..] => Some(join(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(join(!high, !low)),
        [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => last,
        _ => None,
    }
}

fn last_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., high, low] = address.segments();
    Some(join(high, low))
}

fn join(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}
