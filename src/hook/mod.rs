//! The hook of a coding agent: the host runs a command before each tool call and obeys its answer.
//!
//! 1. The host writes an [`Event`] to the command's standard input. [`actions`](Event::actions) translates the call
//!    into the engine's actions; nothing is decided here.
//! 2. [`Sessions`] keeps the user's prompts and what the agent has read. Later calls are judged in this context. A call is
//!    recorded as open before it runs, and closed by the event after it ([`note`]).
//! 3. [`decide`] asks the guard; [`Host::answer`] translates the verdict into the host's protocol.
//! 4. If the guard has no objection, the hook prints nothing, so that the host's own permissions still apply; an
//!    explicit `allow` would override them. If no decision can be made, the call is blocked (exit code 2).
//!
//! What a host calls things is data: `hosts/*.toml` ([`Host`], `profile.rs`).

mod answer;
mod event;
mod host;
pub mod install;
mod patch;
mod profile;
mod transcript;
pub mod trust;

pub use answer::Answer;
#[cfg(feature = "mcp")]
pub(crate) use event::resolve;
pub use event::{Event, EventError, Kind, MOST_BYTES, Returned};
pub use host::{Host, UnknownHost};

use crate::Guard;
use crate::action::{Context, Identity};
use crate::machine::Environment;
use crate::session::{Author, Call, OnAsk, SessionError, Sessions};
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
    /// `HOME` of the host's processes; `None`: the home of the account.
    pub home: Option<String>,
    /// Every call runs, whatever the verdict is.
    pub shadow: bool,
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
    let (session, call) = (event.session(), event.call());
    let mut history = sessions.recall(&session, &call)?;
    if history.is_new && event.has_history() {
        history.facts.unread = Some("the session is older than its record".to_owned());
    }
    // an agent that makes several calls at once has not read the results of the others
    history.open.retain(|other| !event.is_made_beside(&other.id));
    let mut context = Context::new(target.identity.clone(), target.environment.clone());
    event.host_name().clone_into(&mut context.agent);
    context.home.clone_from(&target.home);
    if history.request.is_empty() {
        context.request = event.request();
    }
    context.typed = event.types();
    history.apply(&mut context);
    let on_ask = match target.shadow {
        true => OnAsk::Ignore,
        false if event.asks() => OnAsk::Person,
        false => OnAsk::Refuse,
    };
    // what a subagent reports comes from its own calls, which are on record; it is open while they are made
    let (name, author) = (event.tool(), event.author().filter(|_| !event.starts_agent()));
    let call = Call { id: Some(&call), actions: &actions, name, author, on_ask, reports: false };
    Ok(sessions.judge(guard, &session, call, &context).await?)
}

/// Records an event that needs no answer: a prompt of the user, or the result of a tool call. `environment`: the machine
/// on which the call was made.
///
/// # Errors
/// [`HookError::Session`] if the session database fails.
pub fn note(sessions: &Sessions, event: &Event, environment: Option<&Environment>) -> Result<(), HookError> {
    match event.kind() {
        Kind::PreToolUse | Kind::Ignored => {}
        Kind::UserPrompt => {
            // what a file says is not the word of the user who names it
            if let Some(attached) = event.attached() {
                sessions.observe(&event.session(), &attached, Author::User)?;
            }
            if event.is_the_users() {
                sessions.prompt(&event.session(), event.prompt())?;
            }
        }
        Kind::PostToolUse => {
            let Returned { observation, unread } = event.returned().unwrap_or_default();
            let author = event.author();
            // before the call is closed: until then, its result counts as unread
            if let Some(what) = unread.filter(|_| author == Some(Author::Anyone)) {
                sessions.unread(&event.session(), &what)?;
            }
            sessions.close(&event.session(), &event.call(), observation.as_ref().zip(author), environment)?;
        }
    }
    Ok(())
}
