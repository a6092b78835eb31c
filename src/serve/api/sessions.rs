//! Sessions: what their clients report.

use super::check::authorize;
use super::problem::Problem;
use super::{Answer, blocking, parse_body};
use crate::action::Observation;
use crate::machine::Environment;
use crate::serve::auth::Caller;
use crate::serve::openapi::{AdmissionErrors, AnyRoute, BodyErrors, NotFoundError};
use crate::serve::{Live, Service};
use crate::session::{Author, SessionError, Sessions};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

/// Longest id of a session, in characters.
const LONGEST_ID: usize = 200;

/// What happened in a session: a prompt of the user; the end of a call; or another text that the agent has read.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionEvent {
    /// A prompt of the user. It stands alone.
    #[serde(default)]
    prompt: Option<String>,
    /// Id of the verdict about a call that has ended.
    #[serde(default)]
    call: Option<String>,
    /// Whether the call was made.
    #[serde(default = "default_made")]
    #[schema(default = true)]
    made: bool,
    /// Origin of the text, for example `tool:read_page`.
    #[serde(default)]
    source: String,
    /// The text that the agent has read.
    #[serde(default)]
    text: Option<String>,
    /// What the agent was given that is not text, for example `a screenshot`: until the next prompt, what could carry out
    /// somebody else's word is asked about.
    #[serde(default)]
    unread: Option<String>,
    /// Who may have written the text.
    #[serde(default = "default_author")]
    author: Author,
}

fn default_made() -> bool {
    true
}

fn default_author() -> Author {
    Author::Anyone
}

/// The state of a session.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct SessionState {
    /// Why the agent may have read a text that is not on record; null if all is.
    #[schema(required)]
    unread: Option<String>,
}

/// Report to a session
///
/// Exactly one of: `prompt`; `call`, with the `text` that it returned, if any, or with `made: false`; `text` alone. What
/// was returned beside the text, such as an image, is named in `unread`. A
/// call whose result was not reported counts as unread: what could carry out somebody else's word is asked about until
/// the next prompt.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/observe",
    tag = "check",
    params(("id" = String, Path, description = "id of the session, 1 to 200 characters")),
    request_body = SessionEvent,
    responses(
        (status = 200, description = "the session afterwards", body = SessionState),
        AnyRoute, BodyErrors, AdmissionErrors, NotFoundError
    ),
    security((), ("token" = []))
)]
pub(super) async fn observe(
    State(service): State<Service>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let live = service.live();
    let caller = authorize(&live, &headers)?;
    let event: SessionEvent = parse_body(&body)?;
    let (sessions, session) = sessions_of(&live, caller, &id)?;
    let permit = service.inner.load.permit().await?;
    let environment = service.inner.environment.clone();
    let answer = blocking(move || {
        record(&sessions, &session, event, environment.as_ref())?;
        let history = sessions.recall(&session, "").map_err(Problem::failed)?;
        Ok(SessionState { unread: history.unread() })
    })
    .await;
    drop(permit);
    answer
}

fn record(
    sessions: &Sessions,
    session: &str,
    event: SessionEvent,
    environment: Option<&Environment>,
) -> Result<(), Problem> {
    let SessionEvent { prompt, call, made, source, text, unread, author } = event;
    if let Some(what) = &unread
        && author == Author::Anyone
        && made
    {
        sessions.unread(session, what).map_err(Problem::failed)?;
    }
    let observation = text.map(|text| Observation { source, text: text.as_str().into() });
    let recorded: Result<(), SessionError> = match (prompt, call, &observation) {
        (Some(prompt), None, None) if made => sessions.prompt(session, &prompt),
        (None, Some(call), None) if !made => sessions.cancel(session, &call),
        (None, Some(call), returned) if made => {
            sessions.close(session, &call, returned.as_ref().map(|text| (text, author)), environment)
        }
        (None, None, Some(text)) if made => sessions.observe(session, text, author),
        (None, None, None) if made && unread.is_some() => Ok(()),
        _ => {
            let message =
                "give a prompt; or a call with its text, or with \"made\": false; or a text; or what is unread";
            return Err(Problem::new(StatusCode::BAD_REQUEST, message));
        }
    };
    recorded.map_err(Problem::failed)
}

/// The sessions, and the full name of one: callers do not share sessions.
pub(super) fn sessions_of(live: &Live, caller: Caller<'_>, id: &str) -> Result<(Sessions, String), Problem> {
    if id.is_empty() || id.chars().nth(LONGEST_ID).is_some() {
        let message = format!("the id of a session has 1 to {LONGEST_ID} characters");
        return Err(Problem::new(StatusCode::BAD_REQUEST, message));
    }
    let Some(sessions) = live.settings.sessions.clone() else {
        return Err(Problem::new(StatusCode::NOT_FOUND, "this service is set up without sessions"));
    };
    let name = match caller {
        Caller::Known(token) => Some(token.name.as_str()),
        Caller::Anonymous | Caller::Unknown => None,
    };
    Ok((sessions, serde_json::json!(["http", name, id]).to_string()))
}
