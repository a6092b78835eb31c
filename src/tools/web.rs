//! The web detector: classifies the task of a web agent.

use super::{Tool, ToolError};
use crate::embed::Embedder;
use crate::policy::EffectFacts;
use crate::web::operation;
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::Arc;

const NAME: &str = "web_detector";

/// Determines the operation of a task, with its score.
#[derive(Debug, Clone)]
pub(crate) struct WebDetector {
    embedder: Arc<dyn Embedder>,
}

impl WebDetector {
    /// A detector with this embedder.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder }
    }

    fn wrong(&self, problem: &str) -> ToolError {
        ToolError::Arguments { tool: NAME, problem: problem.to_owned(), schema: self.input_schema().to_string() }
    }
}

#[async_trait]
impl Tool for WebDetector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "what a task on the web amounts to: car, flight, hotel, job, media, shop, other"
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"task": {"type": "string", "description": "the task in words"}},
            "required": ["task"],
            "additionalProperties": false,
        })
    }

    async fn examine(&self, arguments: &Value) -> Result<Value, ToolError> {
        let task = arguments.get("task").and_then(Value::as_str);
        let task = task.ok_or_else(|| self.wrong("\"task\" is a string and needed"))?;
        match operation(task, &*self.embedder).await {
            Ok(Some(found)) => Ok(json!({
                "operation": found.name,
                "score": found.score,
                "lead": found.lead,
                "or": found.or,
            })),
            Ok(None) => Err(self.wrong("\"task\" is empty, or there are no weights for the embedder")),
            Err(problem) => Err(self.wrong(&format!("the task could not be embedded: {problem}"))),
        }
    }

    fn arguments_for(&self, _: &EffectFacts) -> Option<Value> {
        None
    }
}
