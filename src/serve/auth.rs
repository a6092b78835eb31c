//! Who calls, and from where.

use super::Settings;
use crate::action::Identity;
use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Shortest secret, bytes.
const SHORTEST: usize = 16;

/// Why a token cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the secret of the token '{0}' is shorter than {SHORTEST} characters; make one with 'openssl rand -hex 16'")]
pub struct TokenError(String);

/// A bearer token: only the digest of its secret is kept.
#[derive(Debug, Clone)]
pub struct Token {
    /// Whose it is, for the record.
    pub name: String,
    digest: [u8; 32],
    /// It may approve, give feedback, and look at memory and audit log.
    pub operates: bool,
    /// It may name another identity, with roles and attributes.
    pub acts_for_others: bool,
    /// For whom its calls are.
    pub identity: Option<Identity>,
}

impl Token {
    /// A token that may check.
    ///
    /// # Errors
    /// If the secret is too short.
    pub fn new(name: &str, secret: &str) -> Result<Self, TokenError> {
        if secret.len() < SHORTEST {
            return Err(TokenError(name.to_owned()));
        }
        let digest = Sha256::digest(secret).into();
        Ok(Self { name: name.to_owned(), digest, operates: false, acts_for_others: false, identity: None })
    }
}

/// Who calls.
#[derive(Debug, Clone, Copy)]
pub(super) enum Caller<'a> {
    Nobody,
    Known(&'a Token),
    /// A token was given, and it is none of ours.
    Wrong,
}

/// Every token is compared, so that the time tells nothing.
pub(super) fn caller<'a>(settings: &'a Settings, headers: &HeaderMap) -> Caller<'a> {
    let Some(given) = headers.get(header::AUTHORIZATION) else { return Caller::Nobody };
    let secret = given.to_str().ok().and_then(|text| {
        let (scheme, secret) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    let digest: [u8; 32] = Sha256::digest(secret.unwrap_or_default()).into();
    let mut found = Caller::Wrong;
    for token in &settings.tokens {
        if bool::from(token.digest.ct_eq(&digest)) {
            found = Caller::Known(token);
        }
    }
    found
}

/// The request was meant for this service, by its own pages or by no page.
pub(crate) fn meant_for_us(hosts: &[String], headers: &HeaderMap, uri: &axum::http::Uri) -> bool {
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
    let host = host.or_else(|| uri.authority().map(axum::http::uri::Authority::as_str));
    let own = host.is_some_and(|host| known(hosts, host));
    // another page of this machine is another origin: its port differs
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let same = origins.all(|origin| {
        let text = origin.to_str().unwrap_or_default();
        let from = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        from.is_some() && from == host
    });
    own && same && headers.get_all(header::HOST).iter().count() <= 1
}

/// A name of this service, with or without a port.
fn known(hosts: &[String], host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name) || hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// For whom a call is, whoever it says.
pub(super) fn identity(settings: &Settings, caller: Caller<'_>, said: Option<Identity>) -> Identity {
    let own = match caller {
        Caller::Known(token) if token.acts_for_others => return said.unwrap_or_else(|| settings.identity.clone()),
        Caller::Known(Token { identity: Some(identity), .. }) => return identity.clone(),
        _ => &settings.identity,
    };
    // a name is needed to look at files; what it may do comes from the configuration
    Identity { name: said.map_or_else(|| own.name.clone(), |said| said.name), ..own.clone() }
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
    fn only_requests_that_are_meant_for_it_are_taken() {
        let settings = Settings { hosts: vec!["guard.example".to_owned()], ..Settings::default() };
        let meant =
            |pairs: &[(&'static str, &str)]| meant_for_us(&settings.hosts, &headers(pairs), &"/".parse().unwrap());
        for host in ["localhost", "127.0.0.1:8642", "[::1]:8642", "[::1]", "Guard.example:443"] {
            assert!(meant(&[("host", host)]), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8642", "", "127.0.0.1:8642:x", "::1"]
        {
            assert!(!meant(&[("host", host)]), "{host}");
        }
        assert!(!meant(&[]));
        assert!(!meant(&[("host", "localhost"), ("host", "evil.example")]));
        assert!(meant(&[("host", "localhost:8642"), ("origin", "http://localhost:8642")]));
        assert!(!meant(&[("host", "localhost:8642"), ("origin", "http://localhost:3000")]));
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://localhost"] {
            assert!(!meant(&[("host", "localhost"), ("origin", origin)]), "{origin}");
        }
    }

    #[test]
    fn a_token_is_known_by_its_secret_alone() {
        let secret = "0123456789abcdef";
        let settings = Settings { tokens: vec![Token::new("a", secret).unwrap()], ..Settings::default() };
        let who = |value: &str| caller(&settings, &headers(&[("authorization", value)]));
        assert!(matches!(who(&format!("Bearer {secret}")), Caller::Known(token) if token.name == "a"));
        for wrong in ["Bearer", "Bearer ", "Basic 0123456789abcdef", "0123456789abcdef", "Bearer 0123456789abcde"] {
            assert!(matches!(who(wrong), Caller::Wrong), "{wrong}");
        }
        assert!(matches!(caller(&settings, &HeaderMap::new()), Caller::Nobody));
        assert!(Token::new("b", "short").is_err());
    }

    #[test]
    fn what_an_identity_may_do_is_not_its_own_to_say() {
        let said = Identity { name: "eve".to_owned(), roles: vec!["admin".to_owned()], ..Identity::default() };
        let mut token = Token::new("a", "0123456789abcdef").unwrap();
        let mut settings = Settings::default();
        settings.identity.roles = vec!["nurse".to_owned()];
        let found = identity(&settings, Caller::Nobody, Some(said.clone()));
        assert_eq!((found.name.as_str(), found.roles), ("eve", vec!["nurse".to_owned()]));
        token.identity = Some(Identity { name: "bot".to_owned(), ..Identity::default() });
        assert_eq!(identity(&settings, Caller::Known(&token), Some(said.clone())).name, "bot");
        token.acts_for_others = true;
        assert_eq!(identity(&settings, Caller::Known(&token), Some(said.clone())), said);
    }
}
