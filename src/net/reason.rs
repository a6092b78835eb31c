//! Why a URL is refused or looked at twice: stable ids, plain reasons, and what to do instead.

use std::fmt;

/// One reason. The ids are stable: they are the classes of URL targets that policies speak about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// Longer than the policy's limit.
    TooLong,
    /// White space, control or invisible characters, backslashes.
    Characters,
    /// It does not parse, or not the same way everywhere.
    Malformed,
    /// Another scheme than http and https.
    Scheme,
    /// A user name or password before the host.
    Credentials,
    /// The host is percent-encoded, in look-alike digits or letters, or an IPv4 address in another notation.
    EncodedHost,
    /// An IPv4 address carried in an IPv6 address or in a host name.
    EmbeddedAddress,
    /// A cloud's metadata service.
    Metadata,
    /// This machine.
    Loopback,
    /// The address of no host, which many systems take for this machine.
    Unspecified,
    /// Private and unique local addresses.
    PrivateAddress,
    /// Addresses of the local link.
    LinkLocal,
    /// Addresses of groups.
    Multicast,
    /// Shared, documentation, broadcast and other addresses that are not of the public internet.
    ReservedAddress,
    /// A name that only means something inside a network, or that is made to point there.
    InternalName,
    /// A host name that looks like another.
    Homograph,
    /// A host name that ends in a dot.
    TrailingDot,
    /// A port that no web site uses.
    Port,
    /// The name has no address, or the look-up failed or took too long.
    Unresolved,
    /// More redirects than the policy follows.
    Redirects,
    /// A redirect from https to http.
    Downgrade,
    /// It carries a key, token or password.
    CarriesSecret,
    /// It carries a long encoded text.
    CarriesData,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 23] = [
        Self::TooLong,
        Self::Characters,
        Self::Malformed,
        Self::Scheme,
        Self::Credentials,
        Self::EncodedHost,
        Self::EmbeddedAddress,
        Self::Metadata,
        Self::Loopback,
        Self::Unspecified,
        Self::PrivateAddress,
        Self::LinkLocal,
        Self::Multicast,
        Self::ReservedAddress,
        Self::InternalName,
        Self::Homograph,
        Self::TrailingDot,
        Self::Port,
        Self::Unresolved,
        Self::Redirects,
        Self::Downgrade,
        Self::CarriesSecret,
        Self::CarriesData,
    ];

    /// The stable id, the reason in plain words, and what to do instead.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::TooLong => ("url-too-long", "it is longer than any ordinary address", "use a shorter address"),
            Self::Characters => (
                "url-characters",
                "it has white space, control characters, invisible characters or backslashes",
                "write the address plainly, with percent-encoding where it is needed",
            ),
            Self::Malformed => ("url-malformed", "it is not a whole web address", "write it as https://host/path"),
            Self::Scheme => ("url-scheme", "only http and https are fetched", "use an https address"),
            Self::Credentials => {
                ("url-credentials", "it has a user name or password in it", "leave the part before the @ out")
            }
            Self::EncodedHost => (
                "url-encoded-host",
                "the host is written so that it hides which host it is",
                "write the host name or address in its ordinary form",
            ),
            Self::EmbeddedAddress => (
                "url-embedded-address",
                "the host carries another address inside it",
                "use the address itself, if it is a public one",
            ),
            Self::Metadata => (
                "url-metadata",
                "it is a cloud metadata service, which hands out credentials",
                "ask a person for the one value that is needed",
            ),
            Self::Loopback => ("url-loopback", "it leads to this machine", "use a public address"),
            Self::Unspecified => {
                ("url-unspecified", "the address names no host and leads to this machine", "use a public address")
            }
            Self::PrivateAddress => ("url-private-address", "it leads into a private network", "use a public address"),
            Self::LinkLocal => ("url-link-local", "it leads into the local network", "use a public address"),
            Self::Multicast => ("url-multicast", "it is the address of a group", "use a public address"),
            Self::ReservedAddress => {
                ("url-reserved-address", "the address is not of the public internet", "use a public address")
            }
            Self::InternalName => {
                ("url-internal-name", "the name belongs to an internal network", "use a public host name")
            }
            Self::Homograph => (
                "url-homograph",
                "the host name mixes or imitates letters so that it looks like another",
                "check which host is meant and write it plainly",
            ),
            Self::TrailingDot => ("url-trailing-dot", "the host name ends in a dot", "leave the last dot out"),
            Self::Port => ("url-port", "no ordinary web site answers at that port", "use port 80 or 443"),
            Self::Unresolved => {
                ("url-unresolved", "the host name could not be looked up", "check the name, or try again later")
            }
            Self::Redirects => ("url-redirects", "it redirects too often", "fetch the page that it should lead to"),
            Self::Downgrade => {
                ("url-downgrade", "it redirects from https to http", "fetch the https address of the page")
            }
            Self::CarriesSecret => (
                "url-carries-secret",
                "it carries what looks like a key, token or password",
                "leave the secret out, or let a person fetch it",
            ),
            Self::CarriesData => {
                ("url-carries-data", "it carries a long encoded text", "say what is sent and why, or leave it out")
            }
        }
    }

    /// Stable id, `url-` and a word or two.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.words().0
    }

    /// Why, in plain words; the subject is the URL.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        self.words().1
    }

    /// What to do instead.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        self.words().2
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A URL that is not fetched, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {} ({subject})", reason.id(), reason.explain())]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// Which part: the host, address or port; at most 120 characters, without control characters.
    pub subject: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, subject: &str) -> Self {
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        Self { reason, subject: subject.chars().take(120).map(clean).collect() }
    }
}
