//! A research agent that reads web pages under the control of attackers and resists their prompt injections.
//!
//! 1. `plan`: the planner divides the goal into questions.
//! 2. `fetch`: the guard checks each page and each redirect as an [`crate::Action`].
//! 3. `read`: the reader makes claims and cites the passages that support them.
//! 4. `write`: the writer makes a summary from the claims that passed the checks.
//! 5. The guard checks the answer, also as an [`crate::Action`].
//!
//! The defence is structural and does not depend on the behaviour of the model:
//!
//! - The components (`mind.rs`) have separate contexts. They output only short texts and numbers.
//! - Links are only candidates; policy decides which are fetched.
//! - Passages that give instructions to their reader are withheld (`page.rs`).
//! - A claim is kept only if the cited passages support it (`contract.rs`).
//! - All outgoing text is searched for protected text ([`Protected`]).
//!
//! The worst effect of a fully hijacked model is a poorer report.
//!
//! [`naive`] is the same agent without defences, as it is commonly written; it is for comparison only.

mod contract;
pub mod fetch;
mod html;
mod mind;
pub mod naive;
mod page;
mod report;
mod work;

pub use fetch::{FetchError, FetchLimits, Fetched, Fetcher, Hop};
pub use html::html;
pub use mind::Mind;
pub use page::{Page, PageError, Passage};
pub use report::{Citation, Cost, Dropped, KeyPoint, Missing, Note, Report, Span, Step};

use crate::Guard;
use crate::action::{Context, Identity};
use crate::embed::Embedder;
use crate::llm::{Limits, Meter};
use crate::net::Protected;
use std::sync::Arc;
use std::time::{Duration, Instant};
use work::Work;

/// Time limit for concluding the report after [`Settings::time`] has run out.
const CLOSING: Duration = Duration::from_secs(20);

/// Settings of the research agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Maximum number of pages, including the start pages.
    pub pages: usize,
    /// Time limit for the whole run.
    pub time: Duration,
    /// Model budget of the whole run.
    pub limits: Limits,
    /// Whether links and redirects may lead to hosts other than those of the start pages.
    pub elsewhere: bool,
    /// Name and text of each secret that must not be disclosed: keys, instructions, canaries. The goal is always
    /// protected, too.
    pub secrets: Vec<(String, String)>,
}

impl Default for Settings {
    fn default() -> Self {
        let limits = Limits {
            prompt_tokens: 200_000,
            reply_tokens: 40_000,
            calls: 60,
            wall: Duration::from_secs(600),
            checks: 0,
        };
        Self { pages: 8, time: Duration::from_secs(600), limits, elsewhere: false, secrets: Vec::new() }
    }
}

/// A progress event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// The start of a step: `planning`, `fetching`, `reading` or `writing`, and its goal or URL.
    Begins(&'static str, &'a str),
    /// A page that the guard refused, or that could not be fetched or read: URL and reason.
    Refused(&'a str, &'a str),
}

/// The research agent.
#[derive(Debug)]
pub struct Researcher {
    guard: Guard,
    fetcher: Fetcher,
    mind: Option<Mind>,
    embedder: Option<Arc<dyn Embedder>>,
    settings: Settings,
}

impl Researcher {
    /// Creates an agent whose actions `guard` checks. Without a model, the agent extracts passages. Without an
    /// embedder, it compares texts by their words.
    #[must_use]
    pub fn new(guard: Guard, fetcher: Fetcher) -> Self {
        Self { guard, fetcher, mind: None, embedder: None, settings: Settings::default() }
    }

    /// Sets the model.
    #[must_use]
    pub fn mind(mut self, mind: Mind) -> Self {
        self.mind = Some(mind);
        self
    }

    /// Sets the embedder.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Changes the settings.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Researches a goal from these start pages. Always returns a report, which lists the parts that are missing.
    /// `told` receives the progress events.
    pub async fn run(&self, goal: &str, urls: &[String], told: &(dyn Fn(Event<'_>) + Sync)) -> Report {
        let started = Instant::now();
        let mut secrets = Protected::default();
        for (name, text) in &self.settings.secrets {
            secrets.secret(name, text);
        }
        let mut protected = secrets.clone();
        protected.prose("the goal", goal);
        let origins = urls.iter().filter_map(|url| url::Url::parse(url).ok()).map(|url| url.origin()).collect();
        let request = format!("{goal}\n{}", urls.join("\n"));
        let mut context = Context::new(Identity::default(), None).with_request(request);
        "research".clone_into(&mut context.agent);
        let report = Report { version: 1, goal: goal.to_owned(), mode: "defended", ..Report::default() };
        let meter = Meter::new(self.settings.limits);
        let (questions, pages, points) = (vec![goal.to_owned()], Vec::new(), Vec::new());
        let mut work = Work {
            agent: self,
            context,
            protected,
            secrets,
            origins,
            meter,
            report,
            told,
            questions,
            pages,
            points,
            partial: false,
            late: false,
        };
        if tokio::time::timeout(self.settings.time, work.all(goal, urls)).await.is_err() {
            work.missed(goal, format!("the rest: the time of {:?} was used up", self.settings.time));
            work.late = true;
            // conclude the report from the findings so far, without a model
            if tokio::time::timeout(CLOSING, work.conclude(goal)).await.is_err() {
                work.missed(goal, "the findings could not be summarised in time".to_owned());
            }
        }
        let Work { mut report, meter, partial, .. } = work;
        let spent = meter.spent();
        report.cost.model_calls = spent.calls;
        report.cost.tokens_in = spent.tokens_in;
        report.cost.tokens_out = spent.tokens_out;
        report.cost.wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        report.complete = report.missing.is_empty() && !report.key_points.is_empty() && !partial;
        report
    }
}
