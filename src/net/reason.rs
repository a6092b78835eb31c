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

    /// Stable id: `url-` followed by one or two words.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::TooLong => "url-too-long",
            Self::Characters => "url-characters",
            Self::Malformed => "url-malformed",
            Self::Scheme => "url-scheme",
            Self::Credentials => "url-credentials",
            Self::EncodedHost => "url-encoded-host",
            Self::EmbeddedAddress => "url-embedded-address",
            Self::Metadata => "url-metadata",
            Self::Loopback => "url-loopback",
            Self::Unspecified => "url-unspecified",
            Self::PrivateAddress => "url-private-address",
            Self::LinkLocal => "url-link-local",
            Self::Multicast => "url-multicast",
            Self::ReservedAddress => "url-reserved-address",
            Self::InternalName => "url-internal-name",
            Self::Homograph => "url-homograph",
            Self::TrailingDot => "url-trailing-dot",
            Self::Port => "url-port",
            Self::Unresolved => "url-unresolved",
            Self::Redirects => "url-redirects",
            Self::Downgrade => "url-downgrade",
            Self::CarriesSecret => "url-carries-secret",
            Self::CarriesData => "url-carries-data",
        }
    }

    /// The reason in plain words; "it" is the URL.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::TooLong => "it exceeds the length limit for URLs",
            Self::Characters => "it contains white space, control characters, invisible characters or backslashes",
            Self::Malformed => "it is not a complete web address",
            Self::Scheme => "its scheme is not http or https",
            Self::Credentials => "it contains a user name or password",
            Self::EncodedHost => "its host is disguised by an unusual notation",
            Self::EmbeddedAddress => "its host contains another address",
            Self::Metadata => "it is a cloud metadata service, which hands out credentials",
            Self::Loopback => "it points to this machine",
            Self::Unspecified => "its address is unspecified and leads to this machine",
            Self::PrivateAddress => "it points into a private network",
            Self::LinkLocal => "it points to a link-local address",
            Self::Multicast => "it points to a multicast address",
            Self::ReservedAddress => "its address is not on the public internet",
            Self::InternalName => "its host name belongs to an internal network",
            Self::Homograph => "its host name mixes or imitates letters to look like another name",
            Self::TrailingDot => "its host name ends in a dot",
            Self::Port => "web sites do not use its port",
            Self::Unresolved => "its host name could not be resolved",
            Self::Redirects => "it redirects too often",
            Self::Downgrade => "it redirects from https to http",
            Self::CarriesSecret => "it appears to contain a key, token or password",
            Self::CarriesData => "it contains a long encoded text",
        }
    }

    /// An alternative for the agent.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::TooLong => "use a shorter URL",
            Self::Characters => "remove these characters, or percent-encode them where they are needed",
            Self::Malformed => "write it as https://host/path",
            Self::Scheme => "use an https URL",
            Self::Credentials => "remove the part before the @",
            Self::EncodedHost => "write the host name or address in its ordinary form",
            Self::EmbeddedAddress => "use that address itself, if it is a public one",
            Self::Metadata => "ask a person for the one value that is needed",
            Self::Loopback => "use a public address",
            Self::Unspecified => "use a public address",
            Self::PrivateAddress => "use a public address",
            Self::LinkLocal => "use a public address",
            Self::Multicast => "use a public address",
            Self::ReservedAddress => "use a public address",
            Self::InternalName => "use a public host name",
            Self::Homograph => "check which host is meant and write its name plainly",
            Self::TrailingDot => "remove the last dot",
            Self::Port => "use port 80 or 443",
            Self::Unresolved => "check the name, or try again later",
            Self::Redirects => "fetch the final page directly",
            Self::Downgrade => "fetch the https URL of the page",
            Self::CarriesSecret => "remove the secret, or let a person fetch the URL",
            Self::CarriesData => "state what is sent and why, or remove it",
        }
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
