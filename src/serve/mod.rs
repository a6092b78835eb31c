//! The guard as an HTTP service: checks, feedback, approvals, memory, audit log, metrics and a web console.
//!
//! 1. [`Service::new`] puts a guard behind a router; [`run`] serves it until told to stop and lets pending requests
//!    finish.
//! 2. **Authentication.** A bearer token names the caller; secrets are compared in constant time. `POST /v1/check`
//!    needs no token unless one is configured; every route that changes or shows state does. Roles and attributes of an
//!    identity come from the token or the configuration, unless the token may act for others.
//! 3. **Origin.** `Host` must name this service, and so must `Origin` where a request has one. Neither another page in
//!    a browser nor DNS rebinding can reach the service.
//! 4. **Sessions.** A check may name the session that it belongs to. It is then judged by what that session has reported
//!    to `POST /v1/sessions/{id}/observe`: prompts of the user, and the results of calls. A session belongs to the caller
//!    that uses it.
//! 5. **Load.** Bodies are bounded, slow clients are disconnected, and a check that cannot run soon is refused with 503
//!    at once: an agent without an answer must not act.
//! 6. **Reload.** [`Service::reload`] replaces guard and settings together or not at all. A pending request keeps those
//!    that it started with. The log lists each respect in which the new configuration is weaker.
//!
//! This module decides nothing: every verdict comes from [`Guard::check`].

mod api;
mod auth;
mod console;
mod load;
mod openapi;
mod reload;
mod run;

#[cfg(feature = "mcp")]
pub(crate) use auth::host_and_origin_allowed;
pub use auth::{Token, TokenError};
pub use reload::{LoadError, ReloadError, Reloaded};
pub use run::run;
#[cfg(feature = "mcp")]
pub(crate) use run::serve_router;

use crate::Guard;
use crate::action::Identity;
use crate::machine::Environment;
use crate::session::Sessions;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

pub use crate::guard::PORT;

/// How a service behaves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Tokens of known callers.
    pub tokens: Vec<Token>,
    /// `POST /v1/check` needs a token, too.
    pub check_needs_token: bool,
    /// Host names of this service besides those of loopback, as in the `Host` header, without a port.
    pub hosts: Vec<String>,
    /// The identity of checks that name none; its roles and attributes apply to every caller whose token has no
    /// identity.
    pub identity: Identity,
    /// Maximum size of a request body, bytes; default 1 MiB.
    pub body: usize,
    /// Concurrent checks; default two per processor.
    pub at_once: usize,
    /// Queued checks; more are refused with 503. Default six per processor: a longer queue would only answer late.
    pub waiting: usize,
    /// Checks per second, and the largest burst; more are refused with 429. `None` sets no limit, 0 refuses every
    /// check.
    pub per_second: Option<u32>,
    /// Request timeout; default 60 s.
    pub patience: Duration,
    /// The sessions of checks that name one; `None`: no check may.
    pub sessions: Option<Sessions>,
    /// Shadow mode: every check is answered with allow, and the audit log keeps the real verdict.
    pub shadow: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            tokens: Vec::new(),
            check_needs_token: false,
            hosts: Vec::new(),
            identity: Identity::default(),
            body: 1024 * 1024,
            at_once: 2 * processors,
            waiting: 6 * processors,
            per_second: None,
            patience: Duration::from_secs(60),
            sessions: None,
            shadow: false,
        }
    }
}

/// A guard behind HTTP. Clones share all state.
#[derive(Debug, Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    live: RwLock<Arc<Live>>,
    environment: Option<Environment>,
    load: load::Load,
    config_loader: Option<reload::ConfigLoader>,
    /// Serialises reloads.
    reloading: std::sync::Mutex<()>,
    /// How reloads have changed the policies, oldest first.
    policy_changes: std::sync::Mutex<Vec<reload::PolicyChange>>,
}

/// Guard and settings in force; a reload replaces them together.
#[derive(Debug)]
struct Live {
    guard: Guard,
    settings: Settings,
}

impl Service {
    /// A service that cannot be reloaded. `environment`: the machine that actions would run on.
    #[must_use]
    pub fn new(guard: Guard, environment: Option<Environment>, settings: Settings) -> Self {
        Self::with_loader(guard, environment, settings, None)
    }

    fn with_loader(
        guard: Guard,
        environment: Option<Environment>,
        settings: Settings,
        config_loader: Option<reload::ConfigLoader>,
    ) -> Self {
        let load = load::Load::new(&settings);
        let live = RwLock::new(Arc::new(Live { guard, settings }));
        let (reloading, policy_changes) = (std::sync::Mutex::default(), std::sync::Mutex::default());
        Self { inner: Arc::new(Inner { live, environment, load, config_loader, reloading, policy_changes }) }
    }

    /// Guard and settings in force.
    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.inner.live.read().unwrap_or_else(PoisonError::into_inner))
    }
}
