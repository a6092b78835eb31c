//! Authentication of callers, and the check of `Host` and `Origin`.

use super::Settings;
use crate::action::Identity;
use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Minimum length of a secret, bytes.
const MIN_SECRET: usize = 16;

/// A secret that is too short.
#[derive(Debug, thiserror::Error)]
#[error("the secret of token '{0}' is shorter than {MIN_SECRET} characters; generate one with `openssl rand -hex 16`")]
pub struct TokenError(String);

/// A bearer token, of which only the digest of the secret is kept.
#[derive(Debug, Clone)]
pub struct Token {
    /// Name of the holder, for records and messages.
    pub name: String,
    digest: [u8; 32],
    /// It may approve, give feedback, reload, and read memory, decisions and audit log.
    pub operates: bool,
    /// A check may name any identity, with roles and attributes.
    pub acts_for_others: bool,
    /// The identity of every check with this token.
    pub identity: Option<Identity>,
}

impl Token {
    /// A token that may only check.
    ///
    /// # Errors
    /// [`TokenError`] if the secret is too short.
    pub fn new(name: &str, secret: &str) -> Result<Self, TokenError> {
        if secret.len() < MIN_SECRET {
            return Err(TokenError(name.to_owned()));
        }
        let digest = Sha256::digest(secret).into();
        Ok(Self { name: name.to_owned(), digest, operates: false, acts_for_others: false, identity: None })
    }
}

/// Who sent a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Caller<'a> {
    /// The request has no `Authorization` header.
    Anonymous,
    Known(&'a Token),
    /// The header holds no known token.
    Unknown,
}

/// Authenticates a request. Compares every token in constant time, so that timing reveals nothing.
pub(super) fn authenticate<'a>(settings: &'a Settings, headers: &HeaderMap) -> Caller<'a> {
    let Some(given) = headers.get(header::AUTHORIZATION) else { return Caller::Anonymous };
    let secret = given.to_str().ok().and_then(|text| {
        let (scheme, secret) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    let digest: [u8; 32] = Sha256::digest(secret.unwrap_or_default()).into();
    let mut found = Caller::Unknown;
    for token in &settings.tokens {
        if bool::from(token.digest.ct_eq(&digest)) {
            found = Caller::Known(token);
        }
    }
    found
}

/// `Host` names this service, and so does `Origin` if there is one: the request comes from a page of this service or
/// from no page.
pub(crate) fn host_and_origin_allowed(hosts: &[String], headers: &HeaderMap, uri: &axum::http::Uri) -> bool {
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
    let host = host.or_else(|| uri.authority().map(axum::http::uri::Authority::as_str));
    let host_allowed = host.is_some_and(|host| is_own_name(hosts, host));
    // a page that another program on this machine serves has another port, so another origin
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let same_origin = origins.all(|origin| {
        let text = origin.to_str().unwrap_or_default();
        let from = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        from.is_some() && from == host
    });
    host_allowed && same_origin && headers.get_all(header::HOST).iter().count() <= 1
}

/// Whether `host`, with or without a port, is a name of this service.
fn is_own_name(hosts: &[String], host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name) || hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// The identity that a check runs under. `claimed` is the identity in the request.
pub(super) fn effective_identity(settings: &Settings, caller: Caller<'_>, claimed: Option<Identity>) -> Identity {
    let own = match caller {
        Caller::Known(token) if token.acts_for_others => return claimed.unwrap_or_else(|| settings.identity.clone()),
        Caller::Known(Token { identity: Some(identity), .. }) => return identity.clone(),
        _ => &settings.identity,
    };
    // the claimed name only selects whose files are probed; roles and attributes come from the configuration
    Identity { name: claimed.map_or_else(|| own.name.clone(), |claimed| claimed.name), ..own.clone() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn host_and_origin_must_name_the_service() {
        let settings = Settings { hosts: vec!["guard.example".to_owned()], ..Settings::default() };
        let allowed = |pairs: &[(&'static str, &str)]| {
            host_and_origin_allowed(&settings.hosts, &headers(pairs), &"/".parse().unwrap())
        };
        for host in ["localhost", "127.0.0.1:8642", "[::1]:8642", "[::1]", "Guard.example:443"] {
            assert!(allowed(&[("host", host)]), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8642", "", "127.0.0.1:8642:x", "::1"]
        {
            assert!(!allowed(&[("host", host)]), "{host}");
        }
        assert!(!allowed(&[]));
        assert!(!allowed(&[("host", "localhost"), ("host", "evil.example")]));
        assert!(allowed(&[("host", "localhost:8642"), ("origin", "http://localhost:8642")]));
        assert!(!allowed(&[("host", "localhost:8642"), ("origin", "http://localhost:3000")]));
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://localhost"] {
            assert!(!allowed(&[("host", "localhost"), ("origin", origin)]), "{origin}");
        }
    }

    #[test]
    fn a_token_is_known_by_its_secret_only() {
        let secret = "0123456789abcdef";
        let settings = Settings { tokens: vec![Token::new("a", secret).unwrap()], ..Settings::default() };
        let who = |value: &str| authenticate(&settings, &headers(&[("authorization", value)]));
        assert!(matches!(who(&format!("Bearer {secret}")), Caller::Known(token) if token.name == "a"));
        for wrong in ["Bearer", "Bearer ", "Basic 0123456789abcdef", "0123456789abcdef", "Bearer 0123456789abcde"] {
            assert!(matches!(who(wrong), Caller::Unknown), "{wrong}");
        }
        assert!(matches!(authenticate(&settings, &HeaderMap::new()), Caller::Anonymous));
        assert!(Token::new("b", "short").is_err());
    }

    #[test]
    fn a_request_cannot_claim_roles() {
        let claimed = Identity { name: "eve".to_owned(), roles: vec!["admin".to_owned()], ..Identity::default() };
        let mut token = Token::new("a", "0123456789abcdef").unwrap();
        let mut settings = Settings::default();
        settings.identity.roles = vec!["nurse".to_owned()];
        let found = effective_identity(&settings, Caller::Anonymous, Some(claimed.clone()));
        assert_eq!((found.name.as_str(), found.roles), ("eve", vec!["nurse".to_owned()]));
        token.identity = Some(Identity { name: "bot".to_owned(), ..Identity::default() });
        assert_eq!(effective_identity(&settings, Caller::Known(&token), Some(claimed.clone())).name, "bot");
        token.acts_for_others = true;
        assert_eq!(effective_identity(&settings, Caller::Known(&token), Some(claimed.clone())), claimed);
    }
}
