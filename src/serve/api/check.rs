//! Checks: may an action run?

use super::problem::Problem;
use super::sessions::sessions_of;
use super::{Answer, parse_body};
use crate::action::{Action, Context, ContextInput, Identity};
use crate::serve::auth::{Caller, authenticate, effective_identity};
use crate::serve::openapi::{AdmissionErrors, AnyRoute, BodyErrors, NotFoundError};
use crate::serve::{Live, Service};
use crate::session::{Author, Call, OnAsk};
use crate::verdict::{Decision, Verdict};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use serde::Deserialize;

/// Largest number of actions in a batch.
const MAX_BATCH: usize = 64;

/// An action with its context.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CheckRequest)]
pub(super) struct CheckBody {
    /// The action.
    action: Action,
    /// Its context. In a session, it adds to what the session has reported.
    #[serde(default)]
    context: ContextInput,
    /// The session to which the action belongs, 1 to 200 characters. If the action may run, the session waits for its
    /// result under the id of the verdict.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200)]
    session: Option<String>,
}

/// Actions to check, each with its own context.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(transparent)]
#[schema(max_items = 64)]
pub(super) struct Batch(Vec<CheckBody>);

/// Check one action
///
/// May this action run? The answer is a verdict: allow, ask or deny, with reasons.
#[utoipa::path(
    post,
    path = "/v1/check",
    tag = "check",
    request_body = CheckBody,
    responses((status = 200, description = "the verdict", body = Verdict), AnyRoute, BodyErrors, AdmissionErrors, NotFoundError),
    security((), ("token" = []))
)]
pub(super) async fn check(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    Ok(Json(judge(&service, &headers, parse_body(&body)?).await?).into_response())
}

/// Check several actions
///
/// Actions are checked in turn, each for itself. The first that is refused ends the batch with an error.
#[utoipa::path(
    post,
    path = "/v1/check/batch",
    tag = "check",
    request_body = Batch,
    responses(
        (status = 200, description = "the verdicts, in the order of the actions", body = Vec<Verdict>),
        AnyRoute, BodyErrors, AdmissionErrors, NotFoundError
    ),
    security((), ("token" = []))
)]
pub(super) async fn check_batch(State(service): State<Service>, headers: HeaderMap, body: Bytes) -> Answer {
    let Batch(requests) = parse_body(&body)?;
    if requests.len() > MAX_BATCH {
        let message = format!("a batch holds at most {MAX_BATCH} actions");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    let mut verdicts = Vec::with_capacity(requests.len());
    for request in requests {
        verdicts.push(judge(&service, &headers, request).await?);
    }
    Ok(Json(verdicts).into_response())
}

async fn judge(service: &Service, headers: &HeaderMap, request: CheckBody) -> Result<Verdict, Problem> {
    let (inner, live) = (&service.inner, service.live());
    let caller = authorize(&live, headers)?;
    let permit = inner.load.permit().await?;
    let _in_progress = inner.load.start_check();
    let CheckBody { action, context: ContextInput { request, agent, identity, observations }, session } = request;
    let identity = effective_identity(&live.settings, caller, identity);
    if claims_superuser(service, &live, caller, &identity) {
        let message = "only a token with acts_for_others may check for the superuser";
        return Err(Problem::new(StatusCode::FORBIDDEN, message));
    }
    let mut context = Context::new(identity, inner.environment.clone());
    context.request = request;
    context.observations = observations;
    if let Some(agent) = agent {
        context.agent = agent;
    }
    let mut verdict = match session {
        None => live.guard.check(&action, &context).await,
        Some(id) => {
            let (sessions, session) = sessions_of(&live, caller, &id)?;
            let on_ask = if live.settings.shadow { OnAsk::Ignore } else { OnAsk::Unknown };
            let actions = std::slice::from_ref(&action);
            // nobody but the client knows what the action returns
            let author = Some(Author::Anyone);
            let call = Call { id: None, actions, name: "", author, on_ask, reports: true };
            let judged = sessions.check(&live.guard, &session, call, context).await.map_err(Problem::failed)?;
            judged.ok_or_else(Problem::internal)?
        }
    };
    drop(permit);
    inner.load.record_verdict(&verdict);
    if live.settings.shadow && verdict.decision != Decision::Allow {
        verdict.reason = format!("shadow mode; it would be {}: {}", verdict.decision, verdict.reason);
        verdict.decision = Decision::Allow;
        verdict.ask_of = None;
    }
    Ok(verdict)
}

pub(super) fn authorize<'a>(live: &'a Live, headers: &HeaderMap) -> Result<Caller<'a>, Problem> {
    let refused = |message| Err(Problem::new(StatusCode::UNAUTHORIZED, message));
    match authenticate(&live.settings, headers) {
        Caller::Unknown => refused("unknown token"),
        Caller::Anonymous if live.settings.check_needs_token => {
            refused("this service requires a token for checks: Authorization: Bearer ...")
        }
        caller @ (Caller::Anonymous | Caller::Known(_)) => Ok(caller),
    }
}

/// The request names the superuser, and neither token nor configuration do.
fn claims_superuser(service: &Service, live: &Live, caller: Caller<'_>, identity: &Identity) -> bool {
    let trusted = matches!(caller, Caller::Known(token) if token.acts_for_others || token.identity.is_some());
    let superuser =
        |name| service.inner.environment.as_ref().is_some_and(|e| e.account_by_uid(0).as_deref() == Some(name));
    !trusted && identity.name != live.settings.identity.name && superuser(&identity.name)
}
