//! Replays traces against a guard.

use super::results::ResultLine;
use super::sandbox::{CaseRoot, Roots};
use super::trace::Trace;
use super::with_causes;
use crate::action::{Action, Context};
use crate::guard::Guard;
use crate::machine::{Environment, MachineError};
use crate::verdict::Verdict;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Why a trace cannot be put to a guard.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PutError {
    /// The action does not have the engine's form.
    #[error("the action does not have the engine's form")]
    Action(#[from] serde_json::Error),
    /// The root cannot be opened.
    #[error(transparent)]
    Root(#[from] MachineError),
}

/// The outcome of one trace.
#[derive(Debug)]
pub struct Case {
    /// Index of the trace in the list.
    pub place: usize,
    /// The line for the results file.
    pub line: ResultLine,
    /// The verdict; `None` if the case failed before it.
    pub verdict: Option<Verdict>,
    /// Exit status of the set-up script; `None` without a script.
    pub setup_exit: Option<i32>,
}

/// Something that answers traces: a guard, or another tool that is measured.
#[async_trait::async_trait]
pub trait Asked: Send + Sync {
    /// Answers one trace, whose machine is `root`. `place`: index of the trace in the list.
    async fn ask(&self, place: usize, trace: &Trace, root: &Path) -> Case;
}

#[async_trait::async_trait]
impl Asked for Guard {
    async fn ask(&self, place: usize, trace: &Trace, root: &Path) -> Case {
        replay_one(self, place, trace, root).await
    }
}

/// Replays traces, `jobs` cases at a time. Cases arrive in the order in which they finish. Dropping the receiver ends
/// the replay.
pub fn replay(guard: &Guard, traces: Arc<Vec<Trace>>, roots: Arc<Roots>, jobs: usize) -> mpsc::Receiver<Case> {
    replay_by(Arc::new(guard.clone()), traces, roots, jobs)
}

/// The same as [`replay`], but `asked` answers the traces.
pub fn replay_by(
    asked: Arc<dyn Asked>,
    traces: Arc<Vec<Trace>>,
    roots: Arc<Roots>,
    jobs: usize,
) -> mpsc::Receiver<Case> {
    let (out, cases) = mpsc::channel(jobs.max(1));
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..jobs.max(1) {
        let (asked, traces, roots, next, out) =
            (Arc::clone(&asked), Arc::clone(&traces), Arc::clone(&roots), Arc::clone(&next), out.clone());
        tokio::spawn(async move {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(trace) = traces.get(place) else { return };
                let case = in_its_root(&*asked, place, trace, &roots).await;
                if out.send(case).await.is_err() {
                    return;
                }
            }
        });
    }
    cases
}

async fn in_its_root(asked: &dyn Asked, place: usize, trace: &Trace, roots: &Arc<Roots>) -> Case {
    let failed = |why: String| Case { place, line: ResultLine::failed(trace, why), verdict: None, setup_exit: None };
    let Some(setup) = trace.environment.setup.clone() else {
        return match roots.shared() {
            Ok(root) => asked.ask(place, trace, &root).await,
            Err(error) => failed(with_causes(&error)),
        };
    };
    let (maker, id) = (Arc::clone(roots), trace.id.clone());
    let made = tokio::task::spawn_blocking(move || maker.case(&id, Some(&setup))).await;
    let root: CaseRoot = match made {
        Ok(Ok(root)) => root,
        Ok(Err(error)) => return failed(format!("set-up: {}", with_causes(&error))),
        Err(error) => return failed(format!("set-up: {error}")),
    };
    let mut case = asked.ask(place, trace, &root.path()).await;
    case.setup_exit = root.setup_exit;
    // ending a root waits for its processes
    let _ = tokio::task::spawn_blocking(move || drop(root)).await;
    case
}

/// Lets a guard that probes `root` check one trace.
pub async fn replay_one(guard: &Guard, place: usize, trace: &Trace, root: &Path) -> Case {
    let (action, context) = match put(trace, root) {
        Ok(put) => put,
        Err(error) => {
            let line = ResultLine::failed(trace, with_causes(&error));
            return Case { place, line, verdict: None, setup_exit: None };
        }
    };
    let verdict = guard.check(&action, &context).await;
    Case { place, line: ResultLine::of(trace, &verdict), verdict: Some(verdict), setup_exit: None }
}

/// The action and the context of a trace, with `root` as the machine.
///
/// # Errors
/// [`PutError`]
pub fn put(trace: &Trace, root: &Path) -> Result<(Action, Context), PutError> {
    let action: Action = serde_json::from_value(trace.action.clone())?;
    let environment = Environment::open(root)?;
    let mut context = Context::new(trace.identity.clone(), Some(environment)).with_request(trace.request.clone());
    context.agent.clone_from(&trace.agent);
    context.observations.clone_from(&trace.observations);
    Ok((action, context))
}
