//! The hook of a coding agent: the host runs a command before each tool call and obeys its answer.
//!
//! 1. The host writes an [`Event`] to the command's standard input. [`actions`](Event::actions) translates the call
//!    into the engine's actions; nothing is decided here.
//! 2. [`Sessions`] keeps the user's request, the agent's observations and the credentials that it has read, in a small
//!    local database. Later calls are judged in this context.
//! 3. [`decide`] asks the guard; [`Host::answer`] translates the verdict into the host's protocol.
//! 4. If the guard has no objection, the hook prints nothing, so that the host's own permissions still apply; an
//!    explicit `allow` would override them. If no decision can be made, the call is blocked (exit code 2).
//!
//! Contracts: Claude Code hooks (`code.claude.com/docs/en/hooks`), Codex hooks (`developers.openai.com/codex/hooks`).

mod answer;
mod event;
mod host;
pub mod install;
mod patch;
mod session;
mod transcript;
pub mod trust;

pub use answer::Answer;
#[cfg(feature = "mcp")]
pub(crate) use event::words;
pub use event::{Event, EventError, Kind, MOST_BYTES};
pub use host::{Host, UnknownHost};
pub use session::{SessionError, Sessions};

use crate::Guard;
use crate::action::{Action, Context, Identity};
use crate::machine::Environment;
use crate::untrusted::redact;
use crate::verdict::Verdict;

/// Why no decision could be made. The call must not run then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The event cannot be parsed, or a field is missing.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The session database cannot be used.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// On whose behalf, and on which machine, the agent works.
#[derive(Debug, Clone)]
pub struct HookTarget {
    /// The identity for which the agent acts.
    pub identity: Identity,
    /// The machine that is probed for facts; `None`: no machine is probed.
    pub environment: Option<Environment>,
}

/// Judges the call that the host is about to make: the most severe verdict if the call consists of several actions;
/// `None` if it touches nothing outside the conversation.
///
/// # Errors
/// [`HookError::Event`] if the call lacks an argument, [`HookError::Session`] if the session database fails.
pub async fn decide(
    guard: &Guard,
    sessions: &Sessions,
    target: &HookTarget,
    event: &Event,
) -> Result<Option<Verdict>, HookError> {
    let actions = event.actions()?;
    if actions.is_empty() {
        return Ok(None);
    }
    let mut context = Context::new(target.identity.clone(), target.environment.clone());
    event.host_name().clone_into(&mut context.agent);
    let session = sessions.recall(&event.session())?;
    context.request = match session.request.is_empty() {
        false => session.request,
        true => event.request(),
    };
    context.observations = session.observations;
    context.local = session.local;
    context.held = session.held;
    context.typed = event.types();
    let mut gravest: Option<Verdict> = None;
    let mut secrets = false;
    for action in &actions {
        let verdict = guard.check(action, &context).await;
        secrets |= verdict.secrets;
        if gravest.as_ref().is_none_or(|g| verdict.decision > g.decision) {
            gravest = Some(verdict);
        }
    }
    if secrets {
        // confirmed once the host reports that the call was made
        sessions.may_hold(&event.session(), event.call(), &name(&actions))?;
    }
    Ok(gravest)
}

/// Records an event that needs no answer: a prompt of the user, or the result of a tool call.
///
/// # Errors
/// [`HookError::Session`] if the session database fails.
pub fn note(sessions: &Sessions, event: &Event) -> Result<(), HookError> {
    match event.kind() {
        Kind::PreToolUse | Kind::Ignored => {}
        // a prompt that begins with a tag was written by the host or a timer, not by the user
        Kind::UserPrompt if event.prompt().trim_start().starts_with('<') => {}
        Kind::UserPrompt => sessions.asked(&event.session(), event.prompt())?,
        Kind::PostToolUse => {
            sessions.holds(&event.session(), event.call())?;
            if let Some(observation) = event.observation() {
                sessions.seen(&event.session(), &observation, event.foreign())?;
            }
        }
    }
    Ok(())
}

/// The text of the first action, redacted; at most 200 characters are taken.
fn name(actions: &[Action]) -> String {
    let text: String = actions.first().map(|a| a.text().chars().take(200).collect()).unwrap_or_default();
    redact(&text).into_owned()
}
