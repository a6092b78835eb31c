//! One page from the network, within limits.
//!
//! 1. [`Fetcher::start`] judges a URL and looks its host up once; [`Fetcher::hop`] connects to the addresses that were
//!    checked and to no others, so that a second answer of the name server changes nothing.
//! 2. A redirect is handed back, not followed: whoever fetches asks the guard about it first.
//! 3. Size (after decompression), time and kind are bounded; nothing of the agent's goes along: no cookies, no referrer,
//!    no credentials.

use crate::net::{Hops, Reason, Refusal, Resolver, SystemResolver, UrlPolicy};
use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// What a fetch may take.
#[derive(Debug, Clone)]
pub struct FetchLimits {
    /// Bytes of one page, decompressed; the rest is left out and said to be.
    pub bytes: usize,
    /// Longest time of one request, its body included.
    pub time: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { bytes: 2 << 20, time: Duration::from_secs(15) }
    }
}

/// Gets pages.
#[derive(Debug, Clone)]
pub struct Fetcher {
    /// What may be fetched.
    pub policy: UrlPolicy,
    /// What one fetch may take.
    pub limits: FetchLimits,
    /// Hosts that may be fetched from; any if empty. A host stands for itself and the names below it.
    pub hosts: Vec<String>,
    /// A proxy through which everything goes. It looks hosts up itself; they are checked here first all the same.
    pub proxy: Option<Url>,
    resolver: Arc<dyn Resolver>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it came from, after redirects.
    pub url: String,
    /// Its media type, lower case, without parameters.
    pub kind: String,
    /// The page, as text; what is no UTF-8 is replaced.
    pub text: String,
    /// It was longer than the limit.
    pub cut: bool,
}

/// What one request led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hop {
    /// A page.
    Page(Fetched),
    /// Somewhere else: the value of the `Location` header.
    Redirect(String),
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The URL, its host or its address may not be fetched.
    #[error("{0}")]
    Refused(Refusal),
    /// The host is not on the list.
    #[error("{0} is not among the hosts that may be fetched from; add it with --allow-host")]
    NotListed(String),
    /// It took too long.
    #[error("no answer within {0:?}")]
    Slow(Duration),
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The server said no.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// It is no text.
    #[error("it is {0}; only HTML and plain text are read")]
    Kind(String),
}

impl From<Refusal> for FetchError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Fetcher {
    /// A fetcher with the resolver of the operating system.
    #[must_use]
    pub fn new(policy: UrlPolicy) -> Self {
        Self {
            policy,
            limits: FetchLimits::default(),
            hosts: Vec::new(),
            proxy: None,
            resolver: Arc::new(SystemResolver),
        }
    }

    /// With another resolver.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// What the text of a URL alone says: no network is used.
    ///
    /// # Errors
    /// [`FetchError::Refused`], [`FetchError::NotListed`]
    pub fn judge(&self, url: &str) -> Result<Url, FetchError> {
        let admitted = self.policy.judge(url)?;
        self.listed(admitted.url())?;
        Ok(admitted.url().clone())
    }

    /// Judges the first URL of a fetch and looks its host up.
    ///
    /// # Errors
    /// [`FetchError::Refused`], [`FetchError::NotListed`]
    pub async fn start(&self, url: &str) -> Result<Hops<'_>, FetchError> {
        self.judge(url)?;
        Ok(Hops::start(&self.policy, &*self.resolver, url).await?)
    }

    /// Asks the host that `hops` stands at.
    ///
    /// # Errors
    /// [`FetchError`]
    pub async fn hop(&self, hops: &Hops<'_>) -> Result<Hop, FetchError> {
        let pinned = hops.current();
        self.listed(pinned.admitted.url())?;
        if pinned.admitted.concern() == Some(Reason::CarriesSecret) {
            return Err(Refusal::new(Reason::CarriesSecret, "it is not sent").into());
        }
        match tokio::time::timeout(self.limits.time, self.get(pinned)).await {
            Ok(done) => done,
            Err(_) => Err(FetchError::Slow(self.limits.time)),
        }
    }

    fn listed(&self, url: &Url) -> Result<(), FetchError> {
        let host = url.host_str().unwrap_or_default();
        let below =
            |listed: &String| host == listed || host.strip_suffix(listed).is_some_and(|rest| rest.ends_with('.'));
        if self.hosts.is_empty() || self.hosts.iter().any(below) {
            return Ok(());
        }
        Err(FetchError::NotListed(host.to_owned()))
    }

    async fn get(&self, pinned: &crate::net::Pinned) -> Result<Hop, FetchError> {
        let url = pinned.admitted.url();
        let failed = |problem: reqwest::Error| FetchError::Connection(inmost(&problem));
        let mut client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .user_agent(concat!("agrail-research/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.limits.time);
        if let Some(domain) = url.domain() {
            client = client.resolve_to_addrs(domain, &pinned.addresses);
        }
        if let Some(proxy) = &self.proxy {
            client = client.proxy(reqwest::Proxy::all(proxy.clone()).map_err(failed)?);
        }
        let client = client.build().map_err(failed)?;
        let request = client.get(url.clone()).header(ACCEPT, "text/html, application/xhtml+xml, text/plain;q=0.9");
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        if status.is_redirection() {
            let location = header(LOCATION).ok_or(FetchError::Status(status.as_u16()))?;
            return Ok(Hop::Redirect(location));
        }
        if !status.is_success() {
            return Err(FetchError::Status(status.as_u16()));
        }
        let kind = header(CONTENT_TYPE).unwrap_or_else(|| "of no declared kind".to_owned());
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !matches!(kind.as_str(), "text/html" | "application/xhtml+xml" | "text/plain" | "text/markdown") {
            return Err(FetchError::Kind(kind.chars().filter(|c| !c.is_control()).take(60).collect()));
        }
        let (mut bytes, mut cut) = (Vec::new(), false);
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(failed)?;
            let room = self.limits.bytes - bytes.len();
            bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
            if chunk.len() > room {
                cut = true;
                break;
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Hop::Page(Fetched { url: url.to_string(), kind, text, cut }))
    }
}

/// The inmost cause: the outer ones repeat the URL.
fn inmost(problem: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = problem;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string().chars().filter(|c| !c.is_control()).take(160).collect()
}
