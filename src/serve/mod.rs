//! The guard as a service over HTTP: checks, feedback, approvals, memory, audit, metrics, and a console for people.
//!
//! 1. [`Service::new`] puts a guard behind a router; [`run`] serves it until it is told to stop, and lets what is under way
//!    end.
//! 2. **Who.** A bearer token says who calls, compared in constant time. `POST /v1/check` needs none on loopback unless one
//!    is configured for it; whatever changes or shows something always does. Roles and attributes of an identity come from
//!    the token or the configuration, unless the token may act for others.
//! 3. **From where.** The `Host` header must be a name of this service, and so must `Origin` where there is one: no page in a
//!    browser, and no name that is bound to this address later, can use it.
//! 4. **How much.** Bodies are bounded, slow clients are cut off, and what cannot be worked on soon is refused with 503 at
//!    once rather than late: an agent that gets no answer must not act.
//!
//! 5. **Reload.** [`Service::reload`] takes a new guard and new settings at once, or none at all: what is under way ends with
//!    what it began with. What becomes weaker by it is logged.
//!
//! Nothing is decided here.

mod api;
mod auth;
mod load;
mod openapi;
mod reload;
mod run;

pub(crate) use auth::meant_for_us;
pub use auth::{Token, TokenError};
pub use reload::{ReloadError, Reloaded};
pub(crate) use run::answer;
pub use run::run;

use crate::Guard;
use crate::action::Identity;
use crate::facts::Environment;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Port of the service, where none is named.
pub const PORT: u16 = 8642;

/// How a service behaves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Who may call.
    pub tokens: Vec<Token>,
    /// `POST /v1/check` needs a token, too.
    pub check_needs_token: bool,
    /// Names of this service beside those of loopback, as in the `Host` header, without a port.
    pub hosts: Vec<String>,
    /// For whom an agent acts that names nobody; its roles and attributes hold for everybody without a token of their own.
    pub identity: Identity,
    /// Largest body, bytes; default 1 MiB.
    pub body: usize,
    /// Checks at a time; default two for each processor.
    pub at_once: usize,
    /// Checks that wait; more are refused with 503. Default six for each processor: what waits longer is late.
    pub waiting: usize,
    /// Checks a second; more are refused with 429. Default: as many as can be.
    pub per_second: Option<u32>,
    /// Longest time for one request; default 60 s.
    pub patience: Duration,
    /// Every check is answered with allow; the audit log says what would have been blocked.
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
            shadow: false,
        }
    }
}

/// A guard that answers over HTTP. Clones share everything.
#[derive(Debug, Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    now: RwLock<Arc<Now>>,
    environment: Option<Environment>,
    load: load::Load,
    reload: Option<reload::Make>,
    /// One at a time.
    reloading: std::sync::Mutex<()>,
}

/// What a reload replaces.
#[derive(Debug)]
struct Now {
    guard: Guard,
    settings: Settings,
}

impl Service {
    /// A service. `environment`: the machine that actions would run on.
    #[must_use]
    pub fn new(guard: Guard, environment: Option<Environment>, settings: Settings) -> Self {
        Self::reloadable(guard, environment, settings, None)
    }

    fn reloadable(
        guard: Guard,
        environment: Option<Environment>,
        settings: Settings,
        reload: Option<reload::Make>,
    ) -> Self {
        let load = load::Load::new(&settings);
        let now = RwLock::new(Arc::new(Now { guard, settings }));
        Self { inner: Arc::new(Inner { now, environment, load, reload, reloading: std::sync::Mutex::default() }) }
    }

    /// What decides at the moment.
    fn now(&self) -> Arc<Now> {
        Arc::clone(&self.inner.now.read().unwrap_or_else(PoisonError::into_inner))
    }
}
