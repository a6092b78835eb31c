//! What all connections with one server share: whose agent it is, what the agent has read, and how the server described
//! its tools at first.

use super::pins::{OF_SERVER, PinError, Pins, Tool, orders};
use crate::Guard;
use crate::action::{Action, Context, Observation};
use crate::hook::{HookTarget, resolve};
use crate::session::{Author, Caller, SessionError, Sessions};
use crate::untrusted::Content;
use crate::verdict::{Decision, Verdict};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The state that all connections with one server share.
#[derive(Debug)]
pub struct House {
    guard: Guard,
    target: HookTarget,
    sessions: Sessions,
    pins: Mutex<Pins>,
    /// The one session with the observations of all connections: the server chooses session ids, and must not be
    /// able to discard observations by choosing a new one.
    session: String,
    /// Name of the server.
    server: String,
    /// The user's request; empty if unknown.
    request: String,
    /// The working folder of a server on this machine.
    folder: Option<PathBuf>,
}

impl House {
    /// `server`: the command line or the URL of the server; `request`: the user's request, empty if unknown.
    #[must_use]
    pub fn new(guard: Guard, target: HookTarget, sessions: Sessions, pins: Pins, server: &str, request: &str) -> Self {
        let (pins, session) = (Mutex::new(pins), format!("mcp-{}", ulid::Ulid::new()));
        let (server, request) = (server.to_owned(), request.to_owned());
        Self { guard, target, sessions, pins, session, server, request, folder: None }
    }

    /// The working folder of a server on this machine: relative paths in arguments are below it.
    #[must_use]
    pub fn within(mut self, folder: Option<PathBuf>) -> Self {
        self.folder = folder;
        self
    }

    /// Asks the guard about a call. `Err`: the call must not be made.
    pub(super) async fn judge(&self, tool: &str, mut arguments: Value) -> Result<(), Blocked> {
        let mut context = Context::new(self.target.identity.clone(), self.target.environment.clone());
        "mcp".clone_into(&mut context.agent);
        context.home.clone_from(&self.target.home);
        context.request.clone_from(&self.request);
        if let Some(folder) = &self.folder {
            resolve(&mut arguments, folder);
        }
        let caller = self.sessions.caller(tool, &arguments)?;
        // what the server answers is recorded before the client sees it, so no call is open
        let mut history = self.sessions.recall(&self.session, "")?;
        history.begin();
        if let Some(Caller { session, call, .. }) = &caller {
            // the hook has judged the call in the light of those that are made beside it
            history = self.sessions.recall(session, call)?.with_texts(history);
        }
        history.apply(&mut context);
        let action = Action::ToolCall { server: Some(self.server.clone()), tool: tool.to_owned(), arguments };
        let verdict = self.guard.check(&action, &context).await;
        match verdict.decision {
            Decision::Deny => return Err(Blocked::Deny(Box::new(verdict))),
            // the host has put the same question to a person
            Decision::Ask if !caller.is_some_and(|caller| caller.agreed) => {
                return Err(Blocked::Ask(Box::new(verdict)));
            }
            Decision::Ask | Decision::Allow => {}
        }
        match verdict.footprint.secrets {
            true => self.sessions.hold(&self.session, tool).map_err(Blocked::Unrecorded),
            false => Ok(()),
        }
    }

    /// Records text of the server as an observation. `what`: its kind, for the name of the source.
    ///
    /// # Errors
    /// [`SessionError`]: the text could not be recorded and must not be forwarded.
    pub(super) fn said(&self, what: &str, text: &str) -> Result<(), SessionError> {
        self.observe(what, text, Author::Anyone)
    }

    /// Records what the server says of itself. It speaks to an agent, as the description of a tool does: unless it gives
    /// orders beyond its tools, it is the word of a program that the user has set up.
    pub(super) fn introduced(&self, text: &str) -> Result<(), SessionError> {
        let author = if orders(text, &OF_SERVER).is_some() { Author::Anyone } else { Author::User };
        self.observe("the introduction", text, author)
    }

    fn observe(&self, what: &str, text: &str, author: Author) -> Result<(), SessionError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let seen = Observation { source: format!("{what} of {}", self.server), text: text.into() };
        self.sessions.observe(&self.session, &seen, author)
    }

    /// Records what the server has answered. `what`: its kind; `closed`: it comes from a closed set of things, such as the
    /// files of a project, if the server runs on this machine.
    pub(super) fn answered(&self, what: &str, values: &[&Value], closed: bool) -> Result<(), SessionError> {
        let own = closed && self.folder.is_some();
        for content in values.iter().map(|value| Content::of(value)) {
            if let Some(unread) = content.unread().filter(|_| !own) {
                self.sessions.unread(&self.session, &format!("{unread} that {what} has returned"))?;
            }
            self.said(what, &content.text)?;
        }
        Ok(())
    }

    /// Whether the server describes a tool differently than at first.
    ///
    /// # Errors
    /// [`PinError`]
    pub(super) fn drifted(&self, tool: &Tool) -> Result<bool, PinError> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner).drifted(&self.server, tool)
    }

    /// Name of the server.
    pub(super) fn server(&self) -> &str {
        &self.server
    }
}

/// Why a call must not be made. The model reads the text.
#[derive(Debug, thiserror::Error)]
pub(super) enum Blocked {
    #[error(transparent)]
    Observations(#[from] SessionError),
    #[error("cannot record that the call reads credentials")]
    Unrecorded(#[source] SessionError),
    #[error("{} [{}]", said(.0), .0.id)]
    Deny(Box<Verdict>),
    #[error("{}; to allow it once, a person runs: agrail approvals approve {}; then try again", said(.0), .0.id)]
    Ask(Box<Verdict>),
}

/// Reason and advice of a verdict.
fn said(verdict: &Verdict) -> String {
    let advice = verdict.advice.as_deref().map(|advice| format!(" ({advice})")).unwrap_or_default();
    format!("{}{advice}", verdict.reason)
}
