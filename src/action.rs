//! The action that an agent is about to take, and its context.

use crate::machine::{Environment, MadeFile};
use crate::untrusted::Untrusted;
pub use agrail_effects::Action;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The identity for whom the agent acts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Account name in the environment; `user` if absent.
    #[serde(default = "default_name")]
    pub name: String,
    /// Roles that operator policies may refer to.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Further attributes that operator policies may refer to.
    #[serde(default)]
    pub attributes: BTreeMap<String, serde_json::Value>,
}

impl Default for Identity {
    fn default() -> Self {
        Self { name: default_name(), roles: Vec::new(), attributes: BTreeMap::new() }
    }
}

fn default_name() -> String {
    "user".to_owned()
}

/// A text that the agent has read. The user did not write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Origin of the text, for example `tool:read_page`.
    #[serde(default)]
    pub source: String,
    /// The text.
    #[serde(default)]
    pub text: Untrusted,
}

/// An action with its context, as `agrail check --action` accepts it.
///
/// An unknown key is an error: a misspelt key would otherwise be ignored, and observations must not get lost.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The action.
    pub action: Action,
    /// Its context.
    #[serde(default)]
    pub context: ContextInput,
}

/// The context that a caller states for an action. The receiver fills in the fields that are left out.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = CheckContext))]
#[serde(default, deny_unknown_fields)]
pub struct ContextInput {
    /// The user's request.
    pub request: String,
    /// Name of the agent.
    pub agent: Option<String>,
    /// The identity for whom it acts.
    pub identity: Option<Identity>,
    /// The texts that it has read.
    pub observations: Vec<Observation>,
}

/// What is known of the session of an action, besides texts.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(default)]
pub(crate) struct SessionFacts {
    /// When the session began, in milliseconds since 1970; `None`: no session is known.
    pub began: Option<i64>,
    /// Why the agent may have read a text that is not on record; `None`: all that it has read is.
    pub unread: Option<String>,
    /// Files and folders that calls of the session have made.
    pub made: Vec<MadeFile>,
    /// Places that a person has agreed to send data to.
    pub places: Vec<String>,
}

impl SessionFacts {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The context of an action.
#[derive(Debug, Clone)]
pub struct Context {
    /// The user's request; empty if unknown.
    pub request: String,
    /// Name of the agent.
    pub agent: String,
    /// The identity for whom it acts.
    pub identity: Identity,
    /// The texts that it has read.
    pub observations: Vec<Observation>,
    /// The user's own texts that it has read: project files, output of local commands. Agents follow instructions in
    /// them every day ("run the tests with ..."), so the guard asks only about an address that nothing else explains.
    pub local: Vec<Observation>,
    /// Names of the credentials that the agent has read earlier in the session, if a session is known.
    pub held: Vec<String>,
    /// What else is known of the session, if a session is known.
    pub(crate) session: SessionFacts,
    /// `HOME` of the processes that run the action; `None`: the home of the account.
    pub home: Option<String>,
    /// The host can type into a running program without asking the guard.
    pub typed: bool,
    /// The machine that the action would run on; `None` if there is none to inspect.
    pub environment: Option<Environment>,
}

impl Context {
    /// A context for an identity on a machine.
    #[must_use]
    pub fn new(identity: Identity, environment: Option<Environment>) -> Self {
        let (request, agent) = (String::new(), "agent".to_owned());
        let (observations, local, held) = (Vec::new(), Vec::new(), Vec::new());
        let session = SessionFacts::default();
        Self { request, agent, identity, observations, local, held, session, home: None, typed: false, environment }
    }

    /// The same context with the user's request.
    #[must_use]
    pub fn with_request(mut self, request: impl Into<String>) -> Self {
        self.request = request.into();
        self
    }
}
