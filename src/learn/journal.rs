//! The record of decisions, and lessons from clean episodes.
//!
//! A thread writes the records. A check waits only if its queue is full, for a bounded time.

use super::Learning;
use super::refined::{self, Refined};
use super::{approvable, embedded_text, kinds, signed, targets};
use crate::action::Context;
use crate::check::{Authority, CheckKind, Finding, Outcome, Source};
use crate::embed::Embedder;
use crate::memory::{self, Change, DecisionRecord, Lesson, Memory, MemoryError, Rule};
use crate::reason::{Case, rules};
use crate::shape::{EFFECTS, Event};
use crate::untrusted::Secrets;
use crate::verdict::{Basis, Decision, Verdict};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError, mpsc as std_mpsc};
use tokio::sync::mpsc;

/// Most literals of the events that a record keeps.
const LITERALS: usize = 4_096;
/// Most records in the queue.
const WAITING: usize = 1024;

/// Why a decision or a lesson was lost. Clones share the cause.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The memory could not be written.
    #[error(transparent)]
    Memory(Arc<MemoryError>),
    /// The thread that writes has ended.
    #[error("the thread that records decisions has ended")]
    Ended,
    /// The queue was full for too long.
    #[error("a decision could not be recorded in time")]
    Late,
}

/// One finished check.
#[derive(Debug)]
pub(crate) struct Episode {
    /// Paths and digests of scripts that were parsed.
    pub scripts: Vec<(String, String)>,
    /// The action with its effects, facts and findings.
    pub case: Case,
    /// The verdict before any approval.
    pub verdict: Verdict,
    /// The verdict after a one-time approval or rejection, if there was one. It is recorded but teaches nothing.
    pub answered: Verdict,
    /// The checklist after a model has refined it.
    pub refined: Option<Refined>,
    /// What the guard learns automatically.
    pub learning: Learning,
}

enum Order {
    Keep(Box<Episode>, Vec<Lesson>),
    Settle(std_mpsc::Sender<Result<(), JournalError>>),
}

/// Writes episodes to a memory. Clones share one thread, which ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Journal {
    orders: mpsc::Sender<Order>,
    embedder: Option<Arc<dyn Embedder>>,
    problem: Arc<Mutex<Option<JournalError>>>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("problem", &self.problem).finish_non_exhaustive()
    }
}

impl Episode {
    fn record(&self, memory_version: u64) -> DecisionRecord {
        let (verdict, case) = (&self.answered, &self.case);
        let mut record = json!({
            "action": *case.action,
            "request": case.context.request,
            "agent": case.context.agent,
            "identity": case.context.identity,
            "scripts": self.scripts,
            "key": rules::paraphrase(&case.gathered.queries),
            "targets": targets(&case.gathered.queries),
            "observed": !case.context.observations.is_empty(),
            "kinds": kinds(&case.gathered.queries),
            "events": self.events(),
            "approvable": approvable(&verdict.findings),
            "verdict": verdict,
        });
        // only an ask can be approved
        let asked = verdict.decision == Decision::Ask;
        let signed = asked.then(|| signed(case, &case.context, &verdict.findings)).flatten();
        let shape = json!(
            signed.as_ref().and_then(|signed| signed.shape.as_ref()).filter(|shape| shape.effects.len() <= EFFECTS)
        );
        // the record contains neither secrets nor large files in full
        let secrets = self.secrets();
        crate::audit::cleaned(&mut record, &secrets, &mut false);
        let mut kept = shape.clone();
        crate::audit::cleaned(&mut kept, &secrets, &mut false);
        if let (Some(fields), Some(signed)) = (record.as_object_mut(), signed) {
            fields.insert("signature".to_owned(), json!(signed.signature));
            // a shape without its secrets is another one
            if kept == shape && !shape.is_null() {
                fields.insert("shape".to_owned(), shape);
                fields.insert("outline".to_owned(), json!(signed.outline));
            }
        }
        DecisionRecord {
            id: verdict.id.clone(),
            at_ms: crate::clock::now_ms(),
            action_digest: verdict.digest.action.clone(),
            facts_digest: verdict.digest.facts.clone(),
            policy_digest: verdict.digest.policy.clone(),
            memory_version,
            decision: verdict.decision.to_string(),
            record: record.to_string(),
        }
    }

    /// What the action does, without the pieces of secrets; nothing of an action that names too much to be compared.
    fn events(&self) -> Vec<Event> {
        if self.case.events.iter().map(|event| event.literals.len()).sum::<usize>() > LITERALS {
            return Vec::new();
        }
        let secrets = self.secrets();
        let mut events = Vec::clone(&self.case.events);
        events.iter_mut().for_each(|event| event.literals.retain(|literal| !secrets.hold(&literal.1)));
        events
    }

    /// The secrets in its action and request.
    fn secrets(&self) -> Secrets {
        Secrets::in_values([&json!(*self.case.action), &json!(self.case.context.request)])
    }

    /// Its lessons; none if a stage failed.
    async fn lessons(&self, embedder: Option<&dyn Embedder>) -> Vec<Lesson> {
        let learns = matches!(self.learning, Learning::Episodes | Learning::AtOnce);
        let failed = self.verdict.findings.iter().any(|f| matches!(f.source, Source::Guard(_)));
        if !learns || failed || self.verdict.basis == Basis::Failure {
            return Vec::new();
        }
        let (case, context) = (&self.case, &*self.case.context);
        if let Some(refined) = &self.refined {
            let lesson = refined::lesson(refined, case, context, &self.verdict, self.learning, embedder).await;
            return lesson.into_iter().collect();
        }
        let Some(mut lesson) = lesson(context, rules::paraphrase(&case.gathered.queries), &self.verdict) else {
            return Vec::new();
        };
        if let Some(embedder) = embedder
            && let Ok(vectors) = embedder.embed(&[&embedded_text(&lesson.key)]).await
        {
            lesson.vector = vectors.into_iter().next();
        }
        vec![lesson]
    }
}

/// Adds the checks that the action violated to the checklist of its kind. It never removes a check.
fn lesson(context: &Context, key: memory::Key, verdict: &Verdict) -> Option<Lesson> {
    if verdict.decision == Decision::Allow {
        return None;
    }
    let mut changes: Vec<Change> = Vec::new();
    let teaches = |f: &&Finding| f.outcome == Outcome::Violation && f.check.kind != CheckKind::Project;
    for finding in verdict.findings.iter().filter(teaches) {
        let change = Change::Add {
            category: finding.check.category.clone(),
            name: finding.check.name.clone(),
            definition: finding.check.definition.clone(),
            required: false,
        };
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let policy_checks =
        verdict.findings.iter().filter(|f| f.check.authority == Authority::Policy).map(|f| f.check.name.clone());
    (!changes.is_empty()).then(|| Lesson {
        entry: None,
        key,
        vector: None,
        triggers: Vec::new(),
        changes,
        episode: memory::Episode {
            id: verdict.id.clone(),
            principal: context.identity.name.clone(),
            project: Some(context.agent.clone()),
            tainted: !context.observations.is_empty(),
            clean: true,
        },
        taught_by: format!("episode:{}", verdict.id),
        policy_checks: policy_checks.collect(),
    })
}

impl Journal {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(memory: Memory, embedder: Option<Arc<dyn Embedder>>) -> std::io::Result<Self> {
        let (orders, mut inbox) = mpsc::channel(WAITING);
        let problem = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&problem);
        std::thread::Builder::new().name("agrail journal".to_owned()).spawn(move || {
            while let Some(order) = inbox.blocking_recv() {
                match order {
                    Order::Keep(episode, lessons) => {
                        let record = episode.record(memory.version());
                        let kept = memory.record_decision(&record);
                        let rule = if episode.learning == Learning::AtOnce { Rule::AtOnce } else { Rule::TwoPhase };
                        let learn = |l: &Lesson| memory.learn_by(l, rule).map(drop);
                        let learnt = lessons.iter().try_for_each(learn);
                        if let Err(why) = kept.and(learnt) {
                            let why = JournalError::Memory(Arc::new(why));
                            noted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                        }
                    }
                    Order::Settle(reply) => {
                        let found = noted.lock().unwrap_or_else(PoisonError::into_inner).take();
                        let _ = reply.send(found.map_or(Ok(()), Err));
                    }
                }
            }
        })?;
        Ok(Self { orders, embedder, problem })
    }

    /// Hands an episode to the thread.
    pub async fn keep(&self, episode: Episode) {
        let secrets = episode.secrets();
        let lessons = episode.lessons(self.embedder.as_deref()).await;
        let lessons = lessons.iter().map(|lesson| lesson.redacted(&secrets)).collect();
        if self.orders.send(Order::Keep(Box::new(episode), lessons)).await.is_err() {
            self.lost(JournalError::Ended);
        }
    }

    /// Notes that a record was lost; [`Journal::settle`] reports it.
    pub fn lost(&self, why: JournalError) {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// Blocks until the thread has processed its queue.
    ///
    /// # Errors
    /// The first problem since the last call.
    pub fn settle(&self) -> Result<(), JournalError> {
        let (reply, answer) = std_mpsc::channel();
        self.orders.blocking_send(Order::Settle(reply)).map_err(|_| JournalError::Ended)?;
        answer.recv().map_err(|_| JournalError::Ended)?
    }
}
