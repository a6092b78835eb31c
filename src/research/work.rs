//! The loop: plan, fetch, read, follow, conclude. The guard checks each fetch, each redirect and the answer.

use super::contract::{Claim, Contract, POINTS, content};
use super::page::short;
use super::report::{Citation, Dropped, KeyPoint, Missing, Note, Report, Step};
use super::{Event, FetchError, Fetched, Hop, Page, PageError, Passage, Researcher};
use crate::action::{Action, Context, Observation};
use crate::injection::Detector;
use crate::llm::Meter;
use crate::net::Protected;
use crate::provenance::stems;
use crate::verdict::{Decision, Verdict};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Maximum size of the observation that the guard receives of a page, in bytes.
const OBSERVED: usize = 256 << 10;
/// Maximum number of passages that are extracted from a page without the model.
const EXTRACTED: usize = 3;
/// Time limit for the analysis of a page: its layout and the detection of instructions.
const READING: Duration = Duration::from_secs(20);

/// Why a page could not be read; the message appears in the report.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("redirected: {0}")]
    Redirected(#[source] Box<Self>),
    #[error("redirected to {0}, a host that was not named; permit it with --elsewhere")]
    Elsewhere(String),
    #[error("its URL would disclose {0}")]
    GivesAway(String),
    #[error("{decision}: {reason}")]
    Guard { decision: Decision, reason: String },
    #[error("its analysis exceeded the time limit")]
    Slow,
    #[error(transparent)]
    Page(#[from] PageError),
}

impl Unread {
    /// The problem, marked as the problem of a redirect.
    fn redirected(problem: impl Into<Self>) -> Self {
        Self::Redirected(Box::new(problem.into()))
    }
}

/// The state of the work on one goal.
pub(super) struct Work<'a> {
    pub agent: &'a Researcher,
    pub context: Context,
    pub protected: Protected,
    pub secrets: Protected,
    /// Permitted origins: those of the start pages, and of redirects that were permitted.
    pub origins: Vec<url::Origin>,
    /// Whether a part of a page was not read.
    pub partial: bool,
    pub meter: Meter,
    pub report: Report,
    pub told: &'a (dyn Fn(Event<'_>) + Sync),
    pub questions: Vec<String>,
    pub pages: Vec<Page>,
    pub points: Vec<KeyPoint>,
    /// Whether the time limit has passed, so that no model is called any more.
    pub late: bool,
}

impl Work<'_> {
    pub(super) async fn all(&mut self, goal: &str, urls: &[String]) {
        let detector = match &self.agent.embedder {
            Some(embedder) => Detector::with_head(Arc::clone(embedder)),
            None => Detector::rules(),
        };
        let steps = asks_how(goal);
        let planned = self.planned(goal, &[]).await.0;
        self.questions.extend(planned);
        let mut known: BTreeSet<String> = urls.iter().cloned().collect();
        let mut next: VecDeque<String> = urls.iter().cloned().collect();
        let mut candidates = Vec::<(String, String)>::new();
        while let Some(url) = next.pop_front() {
            if self.pages.len() >= self.agent.settings.pages {
                self.missed(&url, format!("not read: the limit is {} pages", self.agent.settings.pages));
                continue;
            }
            (self.told)(Event::Begins("fetching", &url));
            let page = match self.fetch(&url).await {
                Ok(fetched) => {
                    (self.told)(Event::Begins("reading", &url));
                    let read = tokio::time::timeout(READING, Page::from_fetched(fetched, &detector, steps)).await;
                    read.map_err(|_| Unread::Slow).and_then(|read| Ok(read?))
                }
                Err(why) => Err(why),
            };
            match page {
                Ok(page) => {
                    self.noted(&page);
                    for link in &page.links {
                        if known.insert(link.1.clone()) && self.candidate(&link.1) {
                            candidates.push(link.clone());
                        }
                    }
                    let mut points = self.key_points(&page).await;
                    self.points.append(&mut points);
                    self.pages.push(page);
                    self.report.cost.pages += 1;
                }
                Err(why) => {
                    let why = why.to_string();
                    (self.told)(Event::Refused(&url, &why));
                    self.missed(&url, why);
                }
            }
            let room = self.agent.settings.pages.saturating_sub(self.pages.len());
            if next.is_empty() && room > 0 && !candidates.is_empty() {
                next.extend(self.follow(goal, std::mem::take(&mut candidates)).await.into_iter().take(room));
            }
        }
        self.conclude(goal).await;
    }

    /// Asks the guard for its verdict and records it in the audit.
    async fn checked(&mut self, action: &Action) -> Verdict {
        let verdict = self.agent.guard.check(action, &self.context).await;
        self.report.audit.push(Step {
            action: action.kind(),
            what: short(&action.text(), 200),
            decision: verdict.decision,
            reason: short(&verdict.reason, 300),
            verdict: verdict.id.clone(),
        });
        verdict
    }

    /// Fetches one page. The guard checks each redirect as a separate action.
    async fn fetch(&mut self, url: &str) -> Result<Fetched, Unread> {
        let fetcher = &self.agent.fetcher;
        self.admitted(url).await?;
        let mut hops = fetcher.start(url).await?;
        loop {
            match fetcher.hop(&hops).await? {
                Hop::Page(page) => return Ok(page),
                Hop::Redirect(location) => {
                    // every check that needs no network comes before the DNS query, which already sends data
                    let to = hops.next(&location).map_err(|e| Unread::redirected(FetchError::from(e)))?;
                    let from = hops.current().admitted.url();
                    let origin = to.url().origin();
                    let named = self.origins.contains(&origin) || moved(from, to.url());
                    if !self.agent.settings.elsewhere && !named {
                        return Err(Unread::Elsewhere(to.url().host_str().unwrap_or_default().to_owned()));
                    }
                    let url = to.url().to_string();
                    fetcher.judge(&url).map_err(Unread::redirected)?;
                    self.admitted(&url).await.map_err(Unread::redirected)?;
                    if !self.origins.contains(&origin) {
                        self.origins.push(origin);
                    }
                    hops.go(to).await.map_err(|e| Unread::redirected(FetchError::from(e)))?;
                }
            }
        }
    }

    async fn admitted(&mut self, url: &str) -> Result<(), Unread> {
        // a URL that the user gave may contain the goal, and so may a redirect to the same page of the same site
        let given = self.context.request.lines().any(|line| same_page(line, url));
        let what = if given { self.secrets.leaves(url) } else { self.protected.leaves(url) };
        if let Some(what) = what {
            return Err(Unread::GivesAway(what.to_owned()));
        }
        let verdict = self.checked(&Action::Fetch { url: url.to_owned() }).await;
        match verdict.decision {
            Decision::Allow => Ok(()),
            decision => Err(Unread::Guard { decision, reason: verdict.reason }),
        }
    }

    /// Whether policy admits a link: only to a permitted origin, unless links elsewhere are permitted.
    fn candidate(&self, link: &str) -> bool {
        let Ok(url) = self.agent.fetcher.judge(link) else { return false };
        self.agent.settings.elsewhere || self.origins.contains(&url.origin())
    }

    /// Adds a page to the observations, for the provenance check, and its suspicious signs to the notes of the report.
    fn noted(&mut self, page: &Page) {
        let everything = page.everything();
        let end = everything.floor_char_boundary(OBSERVED.min(everything.len()));
        let text = everything.get(..end).unwrap_or_default().to_owned();
        self.context.observations.push(Observation { source: page.url.clone(), text: text.into() });
        let note = |kind, text| Note { url: page.url.clone(), kind, text };
        let withheld: Vec<&Passage> = page.passages.iter().filter(|p| p.withheld.is_some()).collect();
        self.report.dropped.withheld += withheld.len();
        if let Some(first) = withheld.first() {
            let text = format!(
                "{} passages give instructions to their reader, e.g. \"{}\"",
                withheld.len(),
                short(page.says(first), 160)
            );
            self.report.notes.push(note("instructions", text));
        }
        for (why, text) in page.hidden.iter().take(5) {
            self.report.notes.push(note("hidden-text", format!("{why}: \"{text}\"")));
        }
        if page.cut {
            self.report.notes.push(note("cut", "the page exceeds the size limit; the rest was not fetched".to_owned()));
        }
        if page.unread > 0 {
            self.report.notes.push(note("cut", format!("{} bytes of its text were not read", page.unread)));
        }
        self.partial |= page.cut || page.unread > 0;
        if page.passages.is_empty() {
            self.missed(&page.url.clone(), "there is no text on the page".to_owned());
        }
    }

    /// Questions and link numbers from the planner; none without a model or if the planner fails.
    async fn planned(&mut self, goal: &str, titles: &[&str]) -> (Vec<String>, Vec<usize>) {
        let Some(mind) = &self.agent.mind else { return (Vec::new(), Vec::new()) };
        (self.told)(Event::Begins("planning", goal));
        match mind.plan(&self.meter, goal, titles).await {
            Ok(plan) => {
                // only the user decides the topic, so a question must not add a content word to the goal
                let asked = content(goal);
                let own = |q: &String| !content(q).is_empty() && content(q).is_subset(&asked);
                (plan.questions.into_iter().filter(own).collect(), plan.follow)
            }
            Err(problem) => {
                self.failed("the planner", &problem.to_string());
                (Vec::new(), Vec::new())
            }
        }
    }

    /// The links to read next: those that the planner chooses by their titles or, without a model, those whose titles
    /// share at least two words with the goal.
    async fn follow(&mut self, goal: &str, candidates: Vec<(String, String)>) -> Vec<String> {
        let asked = stems(goal);
        let mut ranked: Vec<(usize, String, String)> = (candidates.into_iter())
            .map(|(title, url)| (stems(&title).intersection(&asked).count(), title, url))
            .filter(|(shared, ..)| *shared > 0)
            .collect();
        ranked.sort_by_key(|(shared, ..)| std::cmp::Reverse(*shared));
        if ranked.is_empty() {
            return Vec::new();
        }
        let titles: Vec<&str> = ranked.iter().map(|(_, title, _)| title.as_str()).collect();
        let (_, chosen) = self.planned(goal, &titles).await;
        let at = |n: usize| ranked.get(n.checked_sub(1)?).map(|(.., url)| url.clone());
        let mut urls: Vec<String> = Vec::new();
        for url in chosen.into_iter().filter_map(at) {
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
        if self.agent.mind.is_none() {
            urls = ranked.into_iter().filter(|(shared, ..)| *shared > 1).map(|(.., url)| url).collect();
        }
        urls
    }

    /// The key points of a page: passages from claims that pass the contract, and extracted passages that contain at
    /// least half of the content words of the questions. If no claim passes, the passages nearest to the questions are
    /// extracted.
    async fn key_points(&mut self, page: &Page) -> Vec<KeyPoint> {
        let mut claims = Vec::new();
        if let Some(mind) = &self.agent.mind {
            let reading = mind.read_page(&self.meter, &self.questions, page).await;
            if let Some(problem) = reading.problem {
                self.failed("the reader", &problem.to_string());
            }
            if reading.left > 0 {
                let text = format!("{} less relevant passages were not read", reading.left);
                self.report.notes.push(Note { url: page.url.clone(), kind: "cut", text });
                self.partial = true;
            }
            claims = reading.claims;
        }
        let embedder = self.agent.embedder.as_deref();
        let contract = Contract { questions: &self.questions, embedder, secrets: &self.secrets };
        let held = contract.hold(page, claims, &mut self.report.dropped).await;
        let least = if held.is_empty() { 0 } else { content(&self.questions.join(" ")).len().div_ceil(2) };
        let passages: Vec<(usize, &str)> = page.readable().map(|(number, p)| (number, page.says(p))).collect();
        let nearest = contract.nearest(passages, EXTRACTED, least).await;
        let claims = nearest.into_iter().map(|(n, text)| Claim { text: text.to_owned(), from: vec![n] }).collect();
        // rejected extracts do not count as dropped claims, because no model made them
        let extracted = contract.hold(page, claims, &mut Dropped::default()).await;
        let mut points = held;
        for point in extracted {
            if !points.iter().any(|p| p.text == point.text) {
                points.push(point);
            }
        }
        points
    }

    /// Completes the report: the guard checks each key point and the summary.
    pub(super) async fn conclude(&mut self, goal: &str) {
        // a copy, because this function runs again if the time limit interrupts it
        let mut points = self.points.clone();
        let mut seen = BTreeSet::new();
        points.retain(|p| seen.insert(p.text.to_lowercase()));
        points.truncate(POINTS);
        let mut kept = Vec::new();
        for point in points {
            if self.checked(&Action::Message { text: point.text.clone() }).await.decision == Decision::Allow {
                kept.push(point);
            } else {
                self.report.dropped.dictated += 1;
            }
        }
        let embedder = self.agent.embedder.as_deref();
        let (secrets, questions) = (self.secrets.clone(), self.questions.clone());
        let contract = Contract { questions: &questions, embedder, secrets: &secrets };
        contract.compare(&mut kept).await;
        let mut summary = self.written(goal, &kept, &contract).await;
        let answer = Action::Message { text: summary.clone() };
        if !summary.is_empty() && self.checked(&answer).await.decision != Decision::Allow {
            self.report.dropped.dictated += 1;
            summary.clear();
        }
        let cited: BTreeSet<&str> = kept.iter().flat_map(|p| p.citations.iter().map(|c| c.url.as_str())).collect();
        self.report.citations = (self.pages.iter())
            .filter(|page| cited.contains(page.url.as_str()))
            .map(|page| Citation {
                url: page.url.clone(),
                title: page.title.clone(),
                sha256: crate::hex(&Sha256::digest(page.text.as_bytes())),
            })
            .collect();
        for (place, point) in kept.iter().enumerate() {
            for other in point.contradicts.iter().filter(|other| **other > place) {
                let url = point.citations.first().map(|c| c.url.clone()).unwrap_or_default();
                let text = format!("key points {} and {} contradict each other", place + 1, other + 1);
                self.report.notes.push(Note { url, kind: "contradiction", text });
            }
        }
        if kept.is_empty() && self.report.missing.is_empty() {
            self.missed(goal, "the pages contain no answer".to_owned());
        }
        self.report.summary = summary;
        self.report.key_points = kept;
    }

    /// The summary, in the words of the key points. The model only chooses the key points and their order. If it
    /// chooses none, the first ones are used.
    async fn written(&mut self, goal: &str, points: &[KeyPoint], contract: &Contract<'_>) -> String {
        let texts: Vec<&str> = points.iter().map(|p| p.text.as_str()).collect();
        let mut sentences: Vec<String> = Vec::new();
        if let (Some(mind), false) = (&self.agent.mind, points.is_empty() || self.late) {
            (self.told)(Event::Begins("writing", goal));
            match mind.write(&self.meter, goal, &texts).await {
                Err(problem) => self.failed("the writer", &problem.to_string()),
                Ok(written) => {
                    for sentence in written {
                        let text = short(&sentence.text, 400);
                        let at = |n: &usize| points.get(n.checked_sub(1)?);
                        let rests: Vec<&KeyPoint> = sentence.claims.iter().filter_map(at).collect();
                        if contract.rests(&text, &rests).await {
                            let rests: Vec<String> = rests.iter().map(|p| p.text.clone()).collect();
                            for text in rests {
                                if !sentences.contains(&text) {
                                    sentences.push(text);
                                }
                            }
                        } else {
                            self.report.dropped.summary += 1;
                        }
                    }
                }
            }
        }
        if sentences.is_empty() {
            sentences = texts.iter().take(4).map(|t| (*t).to_owned()).collect();
        }
        sentences.join(" ")
    }

    fn failed(&mut self, who: &str, why: &str) {
        let name = self.agent.mind.as_ref().map(|m| m.model().name().to_owned()).unwrap_or_default();
        let text = short(&format!("{who} ({name}) gave no answer: {why}"), 300);
        if !self.report.notes.iter().any(|n| n.text == text) {
            self.report.notes.push(Note { url: String::new(), kind: "model", text });
        }
    }

    pub(super) fn missed(&mut self, url: &str, why: String) {
        self.report.missing.push(Missing { url: short(url, 300), why: short(&why, 300) });
    }
}

/// Whether two URLs belong to the same site; `www.` and the difference between http and https are ignored.
fn moved(from: &url::Url, to: &url::Url) -> bool {
    let bare = |url: &url::Url| url.host_str().map(|host| host.trim_start_matches("www.").to_owned());
    bare(from).is_some_and(|host| Some(host) == bare(to)) && from.port() == to.port()
}

/// Whether two URLs of the same site have the same path, except for a trailing slash, and the same query.
fn same_page(given: &str, url: &str) -> bool {
    let (Ok(own), Ok(other)) = (url::Url::parse(given), url::Url::parse(url)) else { return given == url };
    let path = |url: &url::Url| url.path().trim_end_matches('/').to_owned();
    moved(&own, &other) && path(&own) == path(&other) && own.query() == other.query()
}

/// Whether the goal asks for instructions.
fn asks_how(goal: &str) -> bool {
    let lower = goal.to_lowercase();
    ["how to ", "how do ", "how can ", "steps to", "instructions for", "recipe"].iter().any(|w| lower.contains(w))
}
