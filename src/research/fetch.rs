//! Fetches one page from the network, within limits.
//!
//! 1. [`Fetcher::start`] judges a URL and resolves its host once. [`Fetcher::hop`] connects only to the checked
//!    addresses, so that a second answer of the name server (DNS rebinding) has no effect.
//! 2. A redirect is returned, not followed, so that the caller can ask the guard first.
//! 3. Size (after decompression), time and media type are limited. A request contains no cookies, referrer or
//!    credentials of the agent.

use crate::net::{Hops, Reason, Refusal, Resolver, SystemResolver, UrlPolicy};
use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Limits of one fetch.
#[derive(Debug, Clone)]
pub struct FetchLimits {
    /// Maximum size of a page after decompression, bytes; a longer page is cut ([`Fetched::cut`]).
    pub bytes: usize,
    /// Time limit of one request, including its body.
    pub time: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { bytes: 2 << 20, time: Duration::from_secs(15) }
    }
}

/// Fetches pages.
#[derive(Debug, Clone)]
pub struct Fetcher {
    /// Policy for URLs and addresses.
    pub policy: UrlPolicy,
    /// Limits of one fetch.
    pub limits: FetchLimits,
    /// Permitted hosts, each with its subdomains; if empty, every host is permitted.
    pub hosts: Vec<String>,
    /// Proxy for all requests. It resolves hosts itself, but they are checked here first.
    pub proxy: Option<Url>,
    resolver: Arc<dyn Resolver>,
}

/// A fetched page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// URL of the page, after redirects.
    pub url: String,
    /// Media type in lower case, without parameters.
    pub kind: String,
    /// Page as text; invalid UTF-8 is replaced.
    pub text: String,
    /// Whether the page was longer than the limit.
    pub cut: bool,
}

/// Result of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hop {
    /// A page.
    Page(Fetched),
    /// A redirect: the value of the `Location` header.
    Redirect(String),
}

/// Reason for a failed fetch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The policy refuses the URL, its host or its address.
    #[error("{0}")]
    Refused(Refusal),
    /// The host is not permitted.
    #[error("{0} is not a permitted host; add it with --allow-host")]
    NotListed(String),
    /// The request exceeded its time limit.
    #[error("no answer within {0:?}")]
    Slow(Duration),
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The server answered with an error status.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// The media type is neither HTML nor plain text.
    #[error("the content is {0}; only HTML and plain text are read")]
    Kind(String),
}

impl From<Refusal> for FetchError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Fetcher {
    /// Creates a fetcher with the resolver of the operating system.
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

    /// Replaces the resolver.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Judges the text of a URL, without using the network.
    ///
    /// # Errors
    /// [`FetchError::Refused`], [`FetchError::NotListed`]
    pub fn judge(&self, url: &str) -> Result<Url, FetchError> {
        let admitted = self.policy.judge(url)?;
        self.listed(admitted.url())?;
        Ok(admitted.url().clone())
    }

    /// Judges the first URL of a fetch and resolves its host.
    ///
    /// # Errors
    /// [`FetchError::Refused`], [`FetchError::NotListed`]
    pub async fn start(&self, url: &str) -> Result<Hops<'_>, FetchError> {
        self.judge(url)?;
        Ok(Hops::start(&self.policy, &*self.resolver, url).await?)
    }

    /// Requests the current URL of `hops`.
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

/// The innermost cause of an error; the outer causes repeat the URL.
fn inmost(problem: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = problem;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string().chars().filter(|c| !c.is_control()).take(160).collect()
}
