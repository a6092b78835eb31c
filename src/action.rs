//! What an agent is about to do, and in which circumstances.

use crate::facts::Environment;
use crate::untrusted::Untrusted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What an agent asks to do. The JSON form is that of the trace format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// A shell command line or script.
    Shell {
        /// The text.
        command: String,
        /// Working directory; the identity's home if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<PathBuf>,
    },
    /// Source code that the agent wants to run.
    Code {
        /// `bash` or `python`; other languages are not understood.
        language: String,
        /// The text.
        source: String,
    },
    /// A database statement.
    Sql {
        /// The text.
        statement: String,
    },
    /// A step of a web agent.
    Browse {
        /// click, type, select ...
        operation: String,
        /// The page.
        #[serde(default)]
        url: Option<String>,
        /// The element that is acted on.
        #[serde(default)]
        element: Option<String>,
        /// What is typed or selected.
        #[serde(default)]
        value: Option<String>,
    },
    /// A call of a tool.
    ToolCall {
        /// Where the tool lives.
        #[serde(default)]
        server: Option<String>,
        /// Its name.
        #[serde(alias = "name")]
        tool: String,
        /// Its arguments.
        #[serde(default)]
        arguments: serde_json::Value,
    },
    /// A page or file from the network.
    Fetch {
        /// Where from.
        url: String,
    },
    /// The final answer or a message to a person.
    Message {
        /// The text.
        text: String,
    },
}

impl Action {
    /// The text in which something could be hidden.
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Shell { command: text, .. }
            | Self::Code { source: text, .. }
            | Self::Sql { statement: text }
            | Self::Fetch { url: text }
            | Self::Message { text } => text.into(),
            Self::Browse { url, element, value, .. } => {
                [url, element, value].into_iter().flatten().cloned().collect::<Vec<_>>().join("\n").into()
            }
            Self::ToolCall { arguments, .. } => arguments.to_string().into(),
        }
    }

    /// The same action with another text, where it consists of one text; else unchanged.
    #[must_use]
    pub fn with_text(&self, new: String) -> Self {
        let mut other = self.clone();
        match &mut other {
            Self::Shell { command: text, .. }
            | Self::Code { source: text, .. }
            | Self::Sql { statement: text }
            | Self::Fetch { url: text }
            | Self::Message { text } => *text = new,
            Self::Browse { .. } | Self::ToolCall { .. } => {}
        }
        other
    }

    /// Name of its kind, as in the trace format.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Shell { .. } => "shell",
            Self::Code { .. } => "code",
            Self::Sql { .. } => "sql",
            Self::Browse { .. } => "browse",
            Self::ToolCall { .. } => "tool_call",
            Self::Fetch { .. } => "fetch",
            Self::Message { .. } => "message",
        }
    }
}

/// Who the agent acts for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Something that the agent has read. What it says was not said by the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Where it came from.
    #[serde(default)]
    pub source: String,
    /// What it says.
    #[serde(default)]
    pub text: Untrusted,
}

/// An action with what is said of its circumstances, as `agrail check --action` and `POST /v1/check` take it.
///
/// A key of another name is an error: what is misspelt would be left out, and what was read must not be.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The action.
    pub action: Action,
    /// What surrounds it.
    #[serde(default)]
    pub context: Circumstances,
}

/// What is said of the circumstances of an action; what is left out is as whoever reads it has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Circumstances {
    /// What the user asked for.
    pub request: String,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Who it acts for.
    pub identity: Option<Identity>,
    /// What it has read.
    pub observations: Vec<Observation>,
}

/// The circumstances of an action.
#[derive(Debug, Clone)]
pub struct Context {
    /// What the user asked for; empty if not known.
    pub request: String,
    /// Name of the agent.
    pub agent: String,
    /// Who it acts for.
    pub identity: Identity,
    /// What it has read.
    pub observations: Vec<Observation>,
    /// What it has read of the user's own: files of the project, what a command here has printed. An order in it is followed
    /// every day ("run the tests with ..."), so only an address that nothing else explains is asked about.
    pub local: Vec<Observation>,
    /// Credentials that the agent has read earlier, by name, where a session is known.
    pub held: Vec<String>,
    /// The host can type into a program that it keeps running, without asking about it.
    pub typed: bool,
    /// The machine that the action would run on; `None` if there is nothing to look at.
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

    /// The same with what the user asked for.
    #[must_use]
    pub fn with_request(mut self, request: impl Into<String>) -> Self {
        self.request = request.into();
        self
    }
}
