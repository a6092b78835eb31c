//! The action that an agent wants to take.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The action that an agent wants to take. The JSON form is the one of the trace format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// A shell command line or script.
    Shell {
        /// The command text.
        command: String,
        /// Working directory; the identity's home if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
        cwd: Option<PathBuf>,
    },
    /// Source code to run.
    Code {
        /// `bash` or `python`; any other language is unknown.
        language: String,
        /// The source text.
        source: String,
    },
    /// A database statement.
    Sql {
        /// The statement text.
        statement: String,
    },
    /// A step of a web agent.
    Browse {
        /// The operation: click, type, select ...
        operation: String,
        /// URL of the page.
        #[serde(default)]
        url: Option<String>,
        /// The page element that the step acts on.
        #[serde(default)]
        element: Option<String>,
        /// The text to type or the option to select.
        #[serde(default)]
        value: Option<String>,
    },
    /// A call of a tool.
    ToolCall {
        /// Name of the server that offers the tool.
        #[serde(default)]
        server: Option<String>,
        /// Name of the tool.
        #[serde(alias = "name")]
        tool: String,
        /// Arguments of the call.
        #[serde(default)]
        arguments: serde_json::Value,
    },
    /// A request for a page or file from the network.
    Fetch {
        /// The URL to fetch.
        url: String,
    },
    /// The final answer, or a message to a person.
    Message {
        /// The message text.
        text: String,
    },
}

impl Action {
    /// The text of the action in which an attacker could hide something.
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

    /// The same action with another text. Actions that consist of several texts are returned unchanged.
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

    /// Name of the kind of action, as in the trace format.
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
