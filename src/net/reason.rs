//! Why a URL is refused or needs a second look: stable ids, reasons in plain words, and alternatives.

use std::fmt;

/// One reason. The ids are stable: they are the classes of URL targets to which policies refer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The URL is longer than the policy's limit.
    TooLong,
    /// White space, control or invisible characters, backslashes.
    Characters,
    /// The URL does not parse, or not in the same way everywhere.
    Malformed,
    /// A scheme other than http and https.
    Scheme,
    /// A user name or password before the host.
    Credentials,
    /// The host is percent-encoded, in look-alike digits or letters, or an IPv4 address in another notation.
    EncodedHost,
    /// An IPv4 address inside an IPv6 address or a host name.
    EmbeddedAddress,
    /// A cloud's metadata service.
    Metadata,
    /// This machine.
    Loopback,
    /// The unspecified address (`0.0.0.0`, `::`), which many systems treat as this machine.
    Unspecified,
    /// Private and unique local addresses.
    PrivateAddress,
    /// Link-local addresses.
    LinkLocal,
    /// Multicast addresses.
    Multicast,
    /// Shared, documentation, broadcast and other addresses outside the public internet.
    ReservedAddress,
    /// A name that is valid only inside a network, or that is made to point there.
    InternalName,
    /// A host name that looks like another.
    Homograph,
    /// A host name that ends in a dot.
    TrailingDot,
    /// A port that web sites do not use.
    Port,
    /// The name has no address, or its resolution failed or timed out.
    Unresolved,
    /// More redirects than the policy allows.
    Redirects,
    /// A redirect from https to http.
    Downgrade,
    /// The URL contains a key, token or password.
    CarriesSecret,
    /// The URL contains a long encoded text.
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

    /// The stable id, the reason in plain words, and an alternative.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::TooLong => ("url-too-long", "it exceeds the length limit for URLs", "use a shorter URL"),
            Self::Characters => (
                "url-characters",
                "it contains white space, control characters, invisible characters or backslashes",
                "remove these characters, or percent-encode them where they are needed",
            ),
            Self::Malformed => ("url-malformed", "it is not a complete web address", "write it as https://host/path"),
            Self::Scheme => ("url-scheme", "its scheme is not http or https", "use an https URL"),
            Self::Credentials => {
                ("url-credentials", "it contains a user name or password", "remove the part before the @")
            }
            Self::EncodedHost => (
                "url-encoded-host",
                "its host is disguised by an unusual notation",
                "write the host name or address in its ordinary form",
            ),
            Self::EmbeddedAddress => (
                "url-embedded-address",
                "its host contains another address",
                "use that address itself, if it is a public one",
            ),
            Self::Metadata => (
                "url-metadata",
                "it is a cloud metadata service, which hands out credentials",
                "ask a person for the one value that is needed",
            ),
            Self::Loopback => ("url-loopback", "it points to this machine", "use a public address"),
            Self::Unspecified => {
                ("url-unspecified", "its address is unspecified and leads to this machine", "use a public address")
            }
            Self::PrivateAddress => ("url-private-address", "it points into a private network", "use a public address"),
            Self::LinkLocal => ("url-link-local", "it points to a link-local address", "use a public address"),
            Self::Multicast => ("url-multicast", "it points to a multicast address", "use a public address"),
            Self::ReservedAddress => {
                ("url-reserved-address", "its address is not on the public internet", "use a public address")
            }
            Self::InternalName => {
                ("url-internal-name", "its host name belongs to an internal network", "use a public host name")
            }
            Self::Homograph => (
                "url-homograph",
                "its host name mixes or imitates letters to look like another name",
                "check which host is meant and write its name plainly",
            ),
            Self::TrailingDot => ("url-trailing-dot", "its host name ends in a dot", "remove the last dot"),
            Self::Port => ("url-port", "web sites do not use its port", "use port 80 or 443"),
            Self::Unresolved => {
                ("url-unresolved", "its host name could not be resolved", "check the name, or try again later")
            }
            Self::Redirects => ("url-redirects", "it redirects too often", "fetch the final page directly"),
            Self::Downgrade => ("url-downgrade", "it redirects from https to http", "fetch the https URL of the page"),
            Self::CarriesSecret => (
                "url-carries-secret",
                "it appears to contain a key, token or password",
                "remove the secret, or let a person fetch the URL",
            ),
            Self::CarriesData => {
                ("url-carries-data", "it contains a long encoded text", "state what is sent and why, or remove it")
            }
        }
    }

    /// Stable id: `url-` followed by one or two words.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.words().0
    }

    /// The reason in plain words; "it" is the URL.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        self.words().1
    }

    /// What the agent can do instead.
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

/// The refusal of a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {} ({subject})", reason.id(), reason.explain())]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// The offending part: the host, address or port; at most 120 characters, without control characters.
    pub subject: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, subject: &str) -> Self {
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        Self { reason, subject: subject.chars().take(120).map(clean).collect() }
    }
}
