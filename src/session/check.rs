//! Judges a call in the light of its session, and records it as open before it runs.

use super::{Author, Begun, Open, SessionError, Sessions, origin, sent};
use crate::Guard;
use crate::action::{Action, Context};
use crate::verdict::{Decision, Footprint, Verdict};
use std::borrow::Cow;

/// What the host does with an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnAsk {
    /// It puts it to a person: a call that was asked about and then made has the person's consent.
    Person,
    /// The call does not run.
    Refuse,
    /// It is not known: the call may run, without a person's consent.
    Unknown,
    /// Every call runs, whatever the verdict is.
    Ignore,
}

/// A call that an agent is about to make.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Its id within the session; `None`: the id of its verdict.
    pub id: Option<&'a str>,
    /// What it does; usually one action. Empty if it touches nothing outside the conversation.
    pub actions: &'a [Action],
    /// Name of the tool, for a call without an action.
    pub name: &'a str,
    /// Who may have written what it returns; `None` if it returns only what the agent has written.
    pub author: Option<Author>,
    /// What the host does with an ask.
    pub on_ask: OnAsk,
    /// The host is known to report results. Any other host counts as such once it has reported one.
    pub reports: bool,
}

impl Sessions {
    /// Recalls the session, completes the context with it, judges the call, and records it as open if it may run. The
    /// gravest verdict of its actions counts; `None` if it has no action.
    ///
    /// # Errors
    /// [`SessionError`]: the session cannot be recalled, or the call cannot be recorded. It must not run then.
    pub async fn check(
        &self,
        guard: &Guard,
        session: &str,
        call: Call<'_>,
        mut context: Context,
    ) -> Result<Option<Verdict>, SessionError> {
        let (sessions, of, id) = (self.clone(), session.to_owned(), call.id.unwrap_or_default().to_owned());
        let history = tokio::task::spawn_blocking(move || sessions.recall(&of, &id)).await??;
        history.apply(&mut context);
        self.judge(guard, session, call, &context).await
    }

    /// The same in a context that was completed with [`History::apply`](super::History::apply).
    ///
    /// # Errors
    /// [`SessionError`]: the call cannot be recorded and must not run.
    pub async fn judge(
        &self,
        guard: &Guard,
        session: &str,
        call: Call<'_>,
        context: &Context,
    ) -> Result<Option<Verdict>, SessionError> {
        let mut gravest: Option<Verdict> = None;
        let mut footprint = Footprint::default();
        for action in call.actions {
            let mut verdict = guard.check(action, context).await;
            footprint.join(std::mem::take(&mut verdict.footprint));
            if gravest.as_ref().is_none_or(|g| verdict.decision > g.decision) {
                gravest = Some(verdict);
            }
        }
        let decision = gravest.as_ref().map_or(Decision::Allow, |verdict| verdict.decision);
        let leaves = call.author.is_some() || footprint != Footprint::default();
        if !leaves || !may_run(decision, call.on_ask) {
            return Ok(gravest);
        }
        let asked = decision == Decision::Ask && call.on_ask == OnAsk::Person;
        let origin = call.actions.first().map(origin).unwrap_or_default();
        let verdict = gravest.as_ref().filter(|_| asked).map(|verdict| verdict.id.clone()).unwrap_or_default();
        let open = Open { author: call.author, asked, verdict, footprint, origin };
        let id = call.id.or_else(|| gravest.as_ref().map(|verdict| verdict.id.as_str())).unwrap_or_default().to_owned();
        let what = call.actions.first().map_or(Cow::Borrowed(call.name), Action::text).into_owned();
        let digest = match call.actions {
            [Action::ToolCall { server: Some(_), tool, arguments }] => Some(sent(tool, arguments)),
            _ => None,
        };
        let (sessions, session, reports) = (self.clone(), session.to_owned(), call.reports);
        let begun = Begun { id, what, digest };
        tokio::task::spawn_blocking(move || sessions.begin(&session, &begun, open, reports)).await??;
        Ok(gravest)
    }
}

/// Whether a host may run a call with this decision.
fn may_run(decision: Decision, on_ask: OnAsk) -> bool {
    match decision {
        Decision::Allow => true,
        Decision::Ask => on_ask != OnAsk::Refuse,
        Decision::Deny => on_ask == OnAsk::Ignore,
    }
}
