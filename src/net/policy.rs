//! The policy for the text of a URL.
//!
//! The text is parsed according to the WHATWG URL standard. Defects that the standard repairs (backslashes, white
//! space, missing slashes, numbers as addresses) are refused instead: where two parsers differ, an attacker can exploit
//! it.

use super::{Reason, Refusal, address, carries, host};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Ports above 1023 on which services other than web sites answer: the list of the Fetch standard, data stores, and
/// interfaces of container engines and clusters.
const OTHER_SERVICES: &[u16] = &[
    1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5900, 5984, 6000,
    6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9200, 9300, 10080, 10250, 11211, 27017,
];

/// The URLs that may be fetched. The default is for an agent on the public internet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPolicy {
    /// Longest URL, in bytes, as written and as it is fetched. Default: 2048.
    pub length: usize,
    /// Allowed ports; if empty, 80, 443 and those above 1023 that are not known for another service.
    pub ports: Vec<u16>,
    /// Most redirects that are followed. Default: 5.
    pub redirects: usize,
    /// Whether this machine may be fetched from, at any port: for tests only.
    pub allow_loopback: bool,
}

impl Default for UrlPolicy {
    fn default() -> Self {
        Self { length: 2_048, ports: Vec::new(), redirects: 5, allow_loopback: false }
    }
}

/// A URL that the policy admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    url: Url,
    concern: Option<Reason>,
}

impl Admitted {
    /// The URL, parsed.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Data in the URL that a person should look at first: [`Reason::CarriesSecret`] or [`Reason::CarriesData`].
    #[must_use]
    pub fn concern(&self) -> Option<Reason> {
        self.concern
    }
}

impl UrlPolicy {
    /// Judges a URL by its text, without using the network.
    ///
    /// # Errors
    /// The first reason to refuse it.
    pub fn judge(&self, text: &str) -> Result<Admitted, Refusal> {
        self.length_of(text)?;
        if let Some(c) = text.chars().find(|c| is_unfit(*c)) {
            return Err(Refusal::new(Reason::Characters, &format!("U+{:04X}", u32::from(c))));
        }
        let parsed = Url::parse(text);
        match &parsed {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                return Err(Refusal::new(Reason::Scheme, url.scheme()));
            }
            Err(url::ParseError::RelativeUrlWithoutBase) => return Err(Refusal::new(Reason::Malformed, text)),
            _ => {}
        }
        let Some(authority) = authority(text) else { return Err(Refusal::new(Reason::Malformed, text)) };
        if authority.contains('@') {
            // this part may be a password
            return Err(Refusal::new(Reason::Credentials, "the part before the @"));
        }
        let url = parsed.map_err(|problem| Refusal::new(Reason::Malformed, &problem.to_string()))?;
        // the form that is fetched is longer if characters are encoded in it
        self.length_of(url.as_str())?;
        self.host_of(&url, raw_host(authority))?;
        self.port(&url)?;
        let concern = carries::carries(&url);
        Ok(Admitted { url, concern })
    }

    /// Judges a host alone, in the form in which it occurs in a URL.
    ///
    /// # Errors
    /// The reason to refuse it.
    pub fn host(&self, host: &str) -> Result<(), Refusal> {
        let refused = |problem: &str| Refusal::new(Reason::Malformed, problem);
        let url = Url::parse(&format!("http://{host}/")).map_err(|problem| refused(&problem.to_string()))?;
        self.host_of(&url, host)
    }

    /// Judges an address from a resolver before a connection.
    ///
    /// # Errors
    /// The reason to refuse it.
    pub fn address(&self, address: IpAddr) -> Result<(), Refusal> {
        match address::refuse_resolved(address) {
            Some(reason) if !self.permits(reason) => Err(Refusal::new(reason, &address.to_string())),
            _ => Ok(()),
        }
    }

    fn length_of(&self, text: &str) -> Result<(), Refusal> {
        if text.len() > self.length {
            return Err(Refusal::new(Reason::TooLong, &format!("{} bytes", text.len())));
        }
        Ok(())
    }

    fn host_of(&self, url: &Url, raw: &str) -> Result<(), Refusal> {
        let found = match url.host() {
            None => return Err(Refusal::new(Reason::Malformed, "no host")),
            Some(Host::Domain(name)) => host::refuse(name).or_else(|| is_disguised(raw).then_some(Reason::EncodedHost)),
            Some(Host::Ipv4(address)) if raw != address.to_string() => Some(Reason::EncodedHost),
            Some(Host::Ipv4(address)) => address::refuse(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => address::refuse(IpAddr::V6(address)),
        };
        match found {
            Some(reason) if !self.permits(reason) => Err(Refusal::new(reason, raw)),
            _ => Ok(()),
        }
    }

    fn port(&self, url: &Url) -> Result<(), Refusal> {
        let Some(port) = url.port_or_known_default() else { return Ok(()) };
        let fit = if self.ports.is_empty() {
            matches!(port, 80 | 443) || (port > 1_023 && !OTHER_SERVICES.contains(&port))
        } else {
            self.ports.contains(&port)
        };
        if fit || (self.allow_loopback && is_loopback(url)) {
            return Ok(());
        }
        Err(Refusal::new(Reason::Port, &port.to_string()))
    }

    fn permits(&self, reason: Reason) -> bool {
        self.allow_loopback && reason == Reason::Loopback
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => host::refuse(name) == Some(Reason::Loopback),
        Some(Host::Ipv4(address)) => Ipv4Addr::is_loopback(&address),
        Some(Host::Ipv6(address)) => Ipv6Addr::is_loopback(&address),
        None => false,
    }
}

/// Whether a character is white space, a control character, a backslash, or a character without a glyph.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || c.is_whitespace()
        || c == '\\'
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFF}' | '\u{E0000}'..='\u{E0FFF}')
}

/// The part between `://` and the path, if the URL is in the standard's own notation.
fn authority(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://").filter(|(scheme, _)| matches!(scheme.len(), 4 | 5))?;
    rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())
}

/// The host as written, without its port.
fn raw_host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Whether a host name is percent-encoded, or uses characters that normalize to plain ones: full-width letters, circled
/// letters, ideographic dots. Capital letters and other alphabets are no disguise.
fn is_disguised(raw: &str) -> bool {
    use unicode_normalization::UnicodeNormalization as _;
    raw.contains('%') || raw.contains(['。', '．', '｡']) || (!raw.is_ascii() && !raw.nfc().eq(raw.nfkc()))
}

/// Whether a host is a cloud's metadata service, by name or by address in any notation. `text`: as written in a URL.
#[must_use]
pub(crate) fn is_metadata(text: &str) -> bool {
    let Ok(url) = Url::parse(&format!("http://{text}/")) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => host::refuse(name) == Some(Reason::Metadata),
        Some(Host::Ipv4(address)) => address::is_metadata(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => address::is_metadata(IpAddr::V6(address)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_that_is_fetched_is_not_longer_than_the_limit() {
        let policy = UrlPolicy::default();
        let path = |count| format!("https://example.org/{}", "ч".repeat(count));
        assert!(policy.judge(&path(100)).is_ok());
        let refused = policy.judge(&path(400)).map_err(|refusal| refusal.reason);
        assert_eq!(refused.err(), Some(Reason::TooLong));
    }
}
