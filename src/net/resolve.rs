//! Resolves a host once, and follows redirects.

use super::{Admitted, Reason, Refusal, UrlPolicy};
use async_trait::async_trait;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use url::Host;

/// Most addresses of one host; a host with more is refused.
const MOST_ADDRESSES: usize = 64;
/// Time limit for resolving one host.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Resolves host names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Returns every address of a host.
    ///
    /// # Errors
    /// If there is none, or the resolution fails.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system, which uses its hosts file and its name servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect())
    }
}

/// A URL with the addresses to connect to, each admitted by the policy. Connect to these addresses; do not resolve the
/// host again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The URL.
    pub admitted: Admitted,
    /// The addresses to connect to, at least one, in the resolver's order.
    pub addresses: Vec<SocketAddr>,
}

impl UrlPolicy {
    /// Resolves the host of a URL once and checks each of its addresses. A single refused address refuses the host,
    /// because it would be chance which address the connection uses.
    ///
    /// # Errors
    /// If the host has no address, or one that the policy refuses.
    pub async fn resolve(&self, admitted: Admitted, resolver: &dyn Resolver) -> Result<Pinned, Refusal> {
        let url = admitted.url();
        let port = url.port_or_known_default().unwrap_or(443);
        let found = match url.host() {
            Some(Host::Ipv4(address)) => vec![IpAddr::V4(address)],
            Some(Host::Ipv6(address)) => vec![IpAddr::V6(address)],
            Some(Host::Domain(name)) => {
                let unresolved = |why: &str| Refusal::new(Reason::Unresolved, &format!("{name}: {why}"));
                match tokio::time::timeout(LOOK_UP, resolver.resolve(name)).await {
                    Ok(Ok(found)) if found.is_empty() => return Err(unresolved("no address")),
                    Ok(Ok(found)) if found.len() > MOST_ADDRESSES => return Err(unresolved("too many addresses")),
                    Ok(Ok(found)) => found,
                    Ok(Err(problem)) => return Err(unresolved(&problem.to_string())),
                    Err(_) => return Err(unresolved("the name server did not answer in time")),
                }
            }
            None => return Err(Refusal::new(Reason::Malformed, "no host")),
        };
        for address in &found {
            self.address(*address)?;
        }
        let addresses = found.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        Ok(Pinned { admitted, addresses })
    }
}

/// A URL and the redirects from it, each judged and resolved like the first.
#[derive(Debug)]
pub struct Hops<'a> {
    policy: &'a UrlPolicy,
    resolver: &'a dyn Resolver,
    current: Pinned,
    followed: usize,
}

impl<'a> Hops<'a> {
    /// Judges and resolves the first URL.
    ///
    /// # Errors
    /// If the URL is refused.
    pub async fn start(policy: &'a UrlPolicy, resolver: &'a dyn Resolver, url: &str) -> Result<Self, Refusal> {
        let current = policy.resolve(policy.judge(url)?, resolver).await?;
        Ok(Self { policy, resolver, current, followed: 0 })
    }

    /// The URL to fetch now, with its addresses.
    #[must_use]
    pub fn current(&self) -> &Pinned {
        &self.current
    }

    /// The number of redirects followed so far.
    #[must_use]
    pub fn followed(&self) -> usize {
        self.followed
    }

    /// Follows a redirect: `location` is the header's value, which may be relative to the current URL.
    ///
    /// # Errors
    /// If the limit is reached, the redirect leads from https to http, or its URL is refused. The current URL is kept.
    pub async fn follow(&mut self, location: &str) -> Result<&Pinned, Refusal> {
        let next = self.next(location)?;
        self.go(next).await
    }

    /// Judges the target of a redirect by its text alone; the host is not resolved.
    ///
    /// # Errors
    /// As [`Hops::follow`], except for the resolution.
    pub fn next(&self, location: &str) -> Result<Admitted, Refusal> {
        if self.followed >= self.policy.redirects {
            return Err(Refusal::new(Reason::Redirects, &format!("after {} redirects", self.followed)));
        }
        let from = self.current.admitted.url();
        let next = if location.starts_with("//") {
            self.policy.judge(&format!("{}:{location}", from.scheme()))?
        } else if is_relative(location) {
            // the text is judged as written first, because joining repairs it
            let (origin, path) = (from.origin().ascii_serialization(), location.trim_start_matches('/'));
            self.policy.judge(&format!("{origin}/{path}"))?;
            let joined =
                from.join(location).map_err(|problem| Refusal::new(Reason::Malformed, &problem.to_string()))?;
            self.policy.judge(joined.as_str())?
        } else {
            self.policy.judge(location)?
        };
        if from.scheme() == "https" && next.url().scheme() == "http" {
            return Err(Refusal::new(Reason::Downgrade, next.url().host_str().unwrap_or_default()));
        }
        Ok(next)
    }

    /// Resolves a target returned by [`Hops::next`] and makes it the current URL.
    ///
    /// # Errors
    /// If the host has no address, or one that the policy refuses. The current URL is kept.
    pub async fn go(&mut self, next: Admitted) -> Result<&Pinned, Refusal> {
        self.current = self.policy.resolve(next, self.resolver).await?;
        self.followed += 1;
        Ok(&self.current)
    }
}

impl std::fmt::Debug for dyn Resolver + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a resolver")
    }
}

/// Whether a location has no scheme: `/path`, `path`, `?query`.
fn is_relative(location: &str) -> bool {
    let scheme = location.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.is_empty() || !scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}
