//! Tools: typed, read-only probes. No tool runs code, starts a process or changes anything.

pub mod injection;
pub mod os;
pub mod permission;
pub mod web;

use crate::policy::EffectFacts;
use async_trait::async_trait;
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// Why a tool has no answer. Never a reason to allow an action. A model may read the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments do not fit the tool's schema.
    #[error("{tool}: {problem}; its arguments are {schema}")]
    Arguments {
        /// The tool.
        tool: &'static str,
        /// The cause.
        problem: String,
        /// The JSON schema of the arguments.
        schema: String,
    },
    /// The action has no environment to probe.
    #[error("{0}: this action came without an environment to look at")]
    NoEnvironment(&'static str),
}

/// A read-only probe.
#[async_trait]
pub trait Tool: Send + Sync + Debug {
    /// Stable short name.
    fn name(&self) -> &'static str;

    /// One sentence for the model that chooses among tools.
    fn description(&self) -> &'static str;

    /// JSON schema of its arguments.
    fn input_schema(&self) -> Value;

    /// Runs the probe and returns its result as JSON.
    ///
    /// # Errors
    /// [`ToolError`]
    async fn examine(&self, arguments: &Value) -> Result<Value, ToolError>;

    /// Arguments for probing the target of an effect; `None` if the tool does not apply to it.
    fn arguments_for(&self, query: &EffectFacts) -> Option<Value>;
}

/// The tools with which an action may be examined.
#[derive(Debug, Clone, Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// The tool with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|t| t.name() == name)
    }

    /// All tools.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// The results of all applicable tools for the target of an effect: name of the tool, and its answer as JSON text.
    /// A tool that fails is left out.
    pub async fn about(&self, query: &EffectFacts) -> Vec<(&'static str, String)> {
        let mut answers = Vec::new();
        for tool in &self.tools {
            if let Some(arguments) = tool.arguments_for(query)
                && let Ok(answer) = tool.examine(&arguments).await
            {
                answers.push((tool.name(), answer.to_string()));
            }
        }
        answers
    }
}
