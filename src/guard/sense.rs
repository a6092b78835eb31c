//! What only meaning tells: where an action comes from, and what a step on the web amounts to.
//!
//! Needs embeddings, so it is apart from the stages that need none. It ends at once where nothing was read and the action
//! is no step on the web. What it cannot tell is left open, never taken as harmless.

use super::Inner;
use crate::action::{Action, Context};
use crate::check::Finding;
use crate::provenance;

/// Where an action comes from.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub findings: Vec<Finding>,
    pub trace: Vec<String>,
}

/// What a step on the web amounts to.
#[derive(Debug, Default)]
pub(super) struct Operation {
    /// Empty if it could not be told.
    pub name: String,
    pub trace: Vec<String>,
}

pub(super) async fn origin(inner: &Inner, action: &Action, context: &Context) -> Origin {
    let findings = provenance::judge(action, context, inner.embedder.as_deref()).await;
    let said = |found: &Finding| format!("origin: {:?}: {}", found.outcome, found.reason);
    Origin { trace: findings.iter().map(said).collect(), findings }
}

pub(super) async fn operation(inner: &Inner, action: &Action, context: &Context) -> Operation {
    let (Action::Browse { .. }, Some(embedder)) = (action, &inner.embedder) else { return Operation::default() };
    let (name, said) = match inner.operations.of(&context.request, embedder.as_ref()).await {
        Ok(Some(operation)) => {
            let (score, lead) = (operation.score, operation.lead);
            let said = format!("web: the task is '{}' ({score:.2}, ahead by {lead:.2})", operation.name);
            (operation.name.to_owned(), said)
        }
        Ok(None) => (String::new(), "web: no task is known".to_owned()),
        Err(problem) => (String::new(), format!("web: the task could not be read: {problem}")),
    };
    Operation { name, trace: vec![said] }
}
