//! The stages that compare meanings: the origin of an action, and the task of a step on the web.
//!
//! They need embeddings and are therefore separate from the other stages. They return at once if the agent has read
//! nothing, the request names no target, and the action is not a step on the web. A result that cannot be determined stays open; it is never treated
//! as harmless.

use super::Inner;
use crate::action::{Action, Context};
use crate::check::Finding;
use crate::{provenance, scope, web};

/// The origin of an action.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub findings: Vec<Finding>,
    pub trace: Vec<String>,
}

/// The task of a step on the web.
#[derive(Debug, Default)]
pub(super) struct Operation {
    /// Name of the operation; empty if it could not be determined.
    pub name: String,
    /// A second reading of the task.
    pub or: Option<&'static str>,
    pub trace: Vec<String>,
}

pub(super) async fn origin(inner: &Inner, action: &Action, context: &Context) -> Origin {
    let mut findings = provenance::judge(action, context, inner.embedder.as_deref()).await;
    findings.extend(scope::judge(action, context));
    let said = |found: &Finding| format!("origin: {:?}: {}", found.outcome, found.reason);
    Origin { trace: findings.iter().map(said).collect(), findings }
}

pub(super) async fn operation(inner: &Inner, action: &Action, context: &Context) -> Operation {
    let (Action::Browse { .. }, Some(embedder)) = (action, &inner.embedder) else { return Operation::default() };
    let (name, or, said) = match web::operation(&context.request, embedder.as_ref()).await {
        Ok(Some(operation)) => {
            let (score, lead) = (operation.score, operation.lead);
            let said = format!("web: the task is '{}' ({score:.2}, ahead by {lead:.2})", operation.name);
            (operation.name.to_owned(), operation.or, said)
        }
        Ok(None) => (String::new(), None, "web: the task is unknown".to_owned()),
        Err(problem) => (String::new(), None, format!("web: the task could not be determined: {problem}")),
    };
    Operation { name, or, trace: vec![said] }
}
