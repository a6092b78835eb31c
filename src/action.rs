//! The action that an agent is about to take, and its context.

use crate::machine::Environment;
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

/// An action with its context, as `agrail check --action` and `POST /v1/check` accept it.
///
/// An unknown key is an error: a misspelt key would otherwise be ignored, and observations must not get lost.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = CheckRequest))]
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
        Self { request, agent, identity, observations, local, held, typed: false, environment }
    }

    /// The same context with the user's request.
    #[must_use]
    pub fn with_request(mut self, request: impl Into<String>) -> Self {
        self.request = request.into();
        self
    }
}
