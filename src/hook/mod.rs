//! In front of a coding agent: the host runs a command before each tool call, and obeys what it answers.
//!
//! 1. [`Event`] is what the host writes to the command's standard input; [`actions`](Event::actions) says what the call
//!    would do, in the engine's own terms. Nothing is decided here.
//! 2. [`Sessions`] remembers, in a small local database, what the user asked for, what the agent has read, and which
//!    credentials: a later call is judged by it.
//! 3. [`decide`] asks the guard; [`Host::answer`] puts the verdict into the host's own words.
//! 4. Where the guard has nothing against a call the hook is silent, so that the host's own permissions hold; an `allow` of
//!    ours would pass over them. What cannot be decided blocks (exit code 2).
//!
//! Contracts: Claude Code hooks (`code.claude.com/docs/en/hooks`), Codex hooks (`developers.openai.com/codex/hooks`).

mod answer;
mod event;
pub mod install;
mod patch;
mod session;
mod transcript;
pub mod trust;

pub use answer::{Answer, Host};
pub(crate) use event::words;
pub use event::{Event, EventError, Kind, MOST_BYTES};
pub(crate) use session::private;
pub use session::{SessionError, Sessions};

use crate::Guard;
use crate::action::{Action, Context, Identity};
use crate::facts::Environment;
use crate::untrusted::redact;
use crate::verdict::Verdict;

/// Why a call could not be decided. Never a reason to let it run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The event cannot be read.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The session's database cannot be used.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// For whom the agent works, and on which machine.
#[derive(Debug, Clone)]
pub struct Desk {
    /// Whose account it is.
    pub identity: Identity,
    /// The machine.
    pub environment: Option<Environment>,
}

/// The verdict on a call that is about to be made, the gravest one if it does several things; `None` if it does nothing
/// that a guard is asked about.
///
/// # Errors
/// [`HookError`]
pub async fn decide(
    guard: &Guard,
    sessions: &Sessions,
    desk: &Desk,
    event: &Event,
) -> Result<Option<Verdict>, HookError> {
    let actions = event.actions()?;
    if actions.is_empty() {
        return Ok(None);
    }
    let mut context = Context::new(desk.identity.clone(), desk.environment.clone());
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
        // it counts once the host says that the call was made
        sessions.may_hold(&event.session(), event.call(), &name(&actions))?;
    }
    Ok(gravest)
}

/// Takes note of what is not a question: what the user asks for, what a tool has answered.
///
/// # Errors
/// [`HookError`]
pub fn note(sessions: &Sessions, event: &Event) -> Result<(), HookError> {
    match event.kind() {
        Kind::Before | Kind::Other => {}
        // what begins with a tag is the host's, or comes from a timer
        Kind::Asked if event.prompt().trim_start().starts_with('<') => {}
        Kind::Asked => sessions.asked(&event.session(), event.prompt())?,
        Kind::After => {
            sessions.holds(&event.session(), event.call())?;
            if let Some(observation) = event.observation() {
                sessions.seen(&event.session(), &observation, event.foreign())?;
            }
        }
    }
    Ok(())
}

/// What is read, in a few words.
fn name(actions: &[Action]) -> String {
    let text: String = actions.first().map(|a| a.text().chars().take(200).collect()).unwrap_or_default();
    redact(&text).into_owned()
}
