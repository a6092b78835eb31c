//! A research agent that reads pages which an attacker may control, and is not hijacked.
//!
//! 1. `plan`: the goal becomes questions. 2. `fetch`: each page, and each redirect, is an [`crate::Action`] that the guard
//!    allows or not. 3. `read`: claims with the passages that bear them out. 4. `write`: a summary from the claims that
//!    held. 5. The answer is an [`crate::Action`], too.
//!
//! It holds by construction, not by good behaviour of the model: the components (`mind.rs`) have separate contexts and can
//! say nothing but numbers and claims; links are candidates that policy admits; passages that order their reader are
//! withheld (`page.rs`); a claim stands only if what it cites bears it out (`contract.rs`); what is protected is looked for
//! in all that leaves ([`Protected`]). A model that is fully hijacked can make the report poorer, and no more.
//!
//! [`naive`] is the same agent as it is commonly written, for comparison only.

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

/// How long it may take to put together what was found, once the time is up.
const CLOSING: Duration = Duration::from_secs(20);

/// How research is done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Most pages, those that were named included.
    pub pages: usize,
    /// Longest time for all of it.
    pub time: Duration,
    /// Caps on what all of it may use of a model.
    pub limits: Limits,
    /// Links to other hosts than those that were named may be followed.
    pub elsewhere: bool,
    /// Texts that must not leave, with a name: keys, instructions, canaries. The goal always counts.
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

/// What happens, as it happens: for progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// A step begins: `planning`, `fetching`, `reading`, `writing`, and what it is about.
    Begins(&'static str, &'a str),
    /// The guard said no to it, or it failed.
    Refused(&'a str, &'a str),
}

/// The agent.
#[derive(Debug)]
pub struct Researcher {
    guard: Guard,
    fetcher: Fetcher,
    mind: Option<Mind>,
    embedder: Option<Arc<dyn Embedder>>,
    settings: Settings,
}

impl Researcher {
    /// An agent in front of which `guard` stands. Without a mind it extracts; without an embedder, meaning is compared by
    /// words.
    #[must_use]
    pub fn new(guard: Guard, fetcher: Fetcher) -> Self {
        Self { guard, fetcher, mind: None, embedder: None, settings: Settings::default() }
    }

    /// With a model.
    #[must_use]
    pub fn mind(mut self, mind: Mind) -> Self {
        self.mind = Some(mind);
        self
    }

    /// With an embedder.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// With settings changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Researches a goal, beginning with these pages. Always a report: what is missing is in it.
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
            // what was found so far is put together without a model
            if tokio::time::timeout(CLOSING, work.conclude(goal)).await.is_err() {
                work.missed(goal, "what was found could not be put together in time".to_owned());
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
