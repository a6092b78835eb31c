//! The overview: what was decided lately, and what stops most.

use super::frame::{Answer, Asked, Desk, Fragment, answer, query, table, word};
use super::record::Seen;
use crate::picture::{Counts, over_time};
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::extract::State;
use axum::http::HeaderMap;
use jiff::Timestamp;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most decisions that are counted, the newest.
const COUNTED: usize = 50_000;
/// Rows of a table.
const ROWS: usize = 12;
/// Periods: name, hours, bars, and the form of a label.
const PERIODS: [(&str, i64, usize, &str); 3] =
    [("day", 24, 24, "%H:%M"), ("week", 24 * 7, 28, "%b %d, %H:%M"), ("month", 24 * 30, 30, "%b %d")];
const HOUR: i64 = 3_600_000;

#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    period: String,
}

/// What one rule did.
#[derive(Default, Clone)]
struct Friction {
    asked: usize,
    denied: usize,
    /// Nothing else stopped these.
    alone: usize,
}

struct Count {
    /// From when on, in milliseconds since 1970, as text.
    since: String,
    all: usize,
    by_decision: Counts,
    bars: Vec<Counts>,
    rules: BTreeMap<String, Friction>,
    folders: BTreeMap<String, Friction>,
    agents: BTreeMap<String, Counts>,
}

pub(super) async fn page(State(service): State<Service>, headers: HeaderMap, Asked(wanted): Asked<Wanted>) -> Answer {
    answer(service, &headers, move |desk| {
        let (name, hours, bars, form) =
            PERIODS.into_iter().find(|(name, ..)| *name == wanted.period).unwrap_or(PERIODS[1]);
        let now = crate::clock::now_ms();
        let width = hours * HOUR / i64::try_from(bars).unwrap_or(1);
        // bars begin at whole multiples of their width, so that a later look shows the same bars
        let begin = (now / width + 1) * width - hours * HOUR;
        let counted = count(desk, begin, width, bars)?;
        let label = |place: usize| {
            let at = begin + i64::try_from(place).unwrap_or_default() * width;
            Timestamp::from_millisecond(at).map(|time| time.strftime(form).to_string()).unwrap_or_default()
        };
        let each = if width < HOUR * 24 { format!("{} h", width / HOUR) } else { "1 day".to_owned() };
        let plot = over_time(&counted.bars, &format!("time (UTC), {each} for each bar"), label).map_err(Problem::failed)?;
        let body = html! {
            h1 { "Overview" }
            (state(desk)?)
            nav.row aria-label="Period" {
                @for (other, ..) in PERIODS {
                    a.choice href={ "/console/overview?period=" (other) } aria-current=[(other == name).then_some("true")] { "last " (other) }
                }
            }
            @if counted.all == 0 { p { "Nothing was decided in this period." } }
            (totals(&counted))
            figure.plot {
                div.scroll tabindex="0" role="region" aria-label={ "Decisions over the last " (name) } { (PreEscaped(plot)) }
                figcaption.soft { "From the bottom: " (word("allow")) ", " (word("ask")) ", " (word("deny")) "." }
            }
            (friction(&counted))
        };
        Ok(Fragment { title: "Overview".to_owned(), body })
    })
    .await
}

fn count(desk: &Desk, begin: i64, width: i64, bars: usize) -> Result<Count, Problem> {
    let mut count = Count {
        since: begin.to_string(),
        all: 0,
        by_decision: [0; 3],
        bars: vec![[0; 3]; bars],
        rules: BTreeMap::new(),
        folders: BTreeMap::new(),
        agents: BTreeMap::new(),
    };
    desk.memory()?
        .each_decision(begin, COUNTED, |at_ms, record| count.add(&Seen::read(record), (at_ms - begin) / width))?;
    Ok(count)
}

impl Count {
    fn add(&mut self, seen: &Seen, bar: i64) {
        let place = match seen.verdict.decision.as_str() {
            "allow" => 0,
            "ask" => 1,
            _ => 2,
        };
        self.all += 1;
        let bar = usize::try_from(bar).ok().and_then(|bar| self.bars.get_mut(bar));
        let agent = self.agents.entry(seen.agent.clone()).or_default();
        for counts in [Some(&mut self.by_decision), bar, Some(agent)].into_iter().flatten() {
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
        }
        if place == 0 {
            return;
        }
        let by = seen.stopped_by();
        let alone = by.len() == 1;
        let folder = seen.folder().map(|folder| self.folders.entry(folder.to_owned()).or_default());
        let rules = &mut self.rules;
        for rule in &by {
            rules.entry((*rule).to_owned()).or_default().add(place, alone);
        }
        if let Some(folder) = folder {
            folder.add(place, alone);
        }
    }
}

impl Friction {
    fn add(&mut self, place: usize, alone: bool) {
        self.asked += usize::from(place == 1);
        self.denied += usize::from(place == 2);
        self.alone += usize::from(alone);
    }
}

/// What an operator should know before anything else.
fn state(desk: &Desk) -> Result<Markup, Problem> {
    let guard = &desk.live.guard;
    let waiting = guard.approvals().map_or(Ok(0), |queue| queue.count_waiting()).map_err(Problem::failed)?;
    Ok(html! {
        @if desk.live.settings.shadow { p.warning role="alert" { "Shadow mode: nothing is stopped. Every check is answered with allow." } }
        @if waiting > 0 {
            p.warning { a href="/console/questions" { (waiting) @if waiting == 1 { " question waits" } @else { " questions wait" } " for an answer" } }
        }
        p.soft {
            "agrail " (env!("CARGO_PKG_VERSION")) ", mode " (guard.settings().mode.as_str()) ", policies "
            code { (guard.policy().digest().get(..12).unwrap_or_default()) }
            @if guard.audit().is_none() { ", no audit log" }
        }
    })
}

fn totals(counted: &Count) -> Markup {
    let [allowed, asked, denied] = counted.by_decision;
    let share = |part: usize| format!("{:.1} %", 100.0 * part as f64 / counted.all.max(1) as f64);
    html! {
        ul.totals {
            li { strong { (counted.all) } " decisions" @if counted.all == COUNTED { " (the newest)" } }
            @for (number, decision, name) in [(allowed, "allow", "allowed"), (asked, "ask", "asked"), (denied, "deny", "denied")] {
                li class=(decision) { a href={ "/console/decisions?" (query([("decision", decision), ("since", counted.since.as_str())])) } { strong { (number) } " " (name) } " " span.soft { (share(number)) } }
            }
        }
    }
}

fn friction(counted: &Count) -> Markup {
    let most = |all: &BTreeMap<String, Friction>| {
        let mut sorted: Vec<(String, Friction)> = all.iter().map(|(name, one)| (name.clone(), one.clone())).collect();
        sorted.sort_by(|a, b| (b.1.asked + b.1.denied, &a.0).cmp(&(a.1.asked + a.1.denied, &b.0)));
        sorted.truncate(ROWS);
        sorted
    };
    let link = |field: &str, name: &str| query([(field, name), ("since", counted.since.as_str())]);
    let more = |all: usize| html! { @if all > ROWS { p.soft { "and " (all - ROWS) " more" } } };
    let row = |field: &str, (name, one): &(String, Friction)| {
        vec![
            html! { a href={ "/console/decisions?" (link(field, name)) } { code { (name) } } },
            html! { (one.asked) },
            html! { (one.denied) },
            html! { (one.alone) },
        ]
    };
    let rules: Vec<_> = most(&counted.rules).iter().map(|one| row("rule", one)).collect();
    let folders: Vec<_> = most(&counted.folders).iter().map(|one| row("folder", one)).collect();
    let mut agents: Vec<(&String, &Counts)> = counted.agents.iter().collect();
    agents.sort_by_key(|(_, [_, asked, denied])| std::cmp::Reverse(asked + denied));
    let agents = agents.into_iter().take(ROWS).map(|(name, [allowed, asked, denied])| {
        vec![
            html! { a href={ "/console/decisions?" (link("agent", name)) } { (name) } },
            html! { (allowed) },
            html! { (asked) },
            html! { (denied) },
        ]
    });
    html! {
        h2 { "What stops most" }
        @if rules.is_empty() { p { "Nothing was stopped." } } @else {
            (table("Rules", &["Rule", "Asked", "Denied", "Only reason"], &rules))
            (more(counted.rules.len()))
            p.soft { "How to loosen a rule for a part: " code { "agrail tune" } "." }
        }
        @if !folders.is_empty() {
            h2 { "Where" }
            p.soft { "What was stopped in each folder. The links also show what was stopped below it." }
            (table("Folders", &["Folder", "Asked", "Denied", "Only reason"], &folders))
            (more(counted.folders.len()))
        }
        h2 { "Who" }
        (table("Agents", &["Agent", "Allowed", "Asked", "Denied"], &agents.collect::<Vec<_>>()))
        (more(counted.agents.len()))
    }
}
