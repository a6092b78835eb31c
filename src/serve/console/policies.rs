//! The policies in force, what each of them stopped, and how they have changed.

use super::decisions::list;
use super::frame::{Answer, Asked, Desk, Fragment, answer, pairs, query, segment, table, when};
use super::record::Seen;
use crate::check::Response;
use crate::memory::DecisionFilter;
use crate::policy::Rule;
use crate::serve::Service;
use crate::serve::api::Problem;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most recorded decisions in which hits are counted, the newest.
const COUNTED: usize = 20_000;
/// Most decisions that are listed beside a policy.
const SHOWN: usize = 20;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    words: String,
}

pub(super) async fn page(State(service): State<Service>, headers: HeaderMap, Asked(wanted): Asked<Wanted>) -> Answer {
    answer(service, &headers, move |desk| {
        let policy = desk.live.guard.policy();
        let hits = hits(desk)?;
        let words = wanted.words.to_lowercase();
        let named = |rule: &&&Rule| [&rule.id, &rule.reason, &rule.check].iter().any(|text| text.to_lowercase().contains(&words));
        let all = policy.rules();
        // the operator's own first, then what stops most
        let mut rules: Vec<&Rule> = all.iter().filter(named).copied().collect();
        rules.sort_by_key(|rule| (rule.is_shipped(), std::cmp::Reverse(stopped(rule, &hits))));
        let rows: Vec<Vec<Markup>> = rules.iter().map(|rule| row(rule, &hits)).collect();
        let body = html! {
            h1 { "Policies" }
            p.soft { (all.len()) " policies, digest " code { (policy.digest().get(..16).unwrap_or_default()) } }
            @for (id, why) in policy.disabled() { p.warning { "Switched off: " code { (id) } " (" (why) ")" } }
            (changes(desk))
            form.search method="get" action="/console/policies" role="search" {
                div.row {
                    div { label for="words" { "Words" } input #words name="words" type="search" value=(wanted.words); }
                    button type="submit" { "Search" }
                }
            }
            (table("Policies", &["Policy", "Does", "Why", "Stopped", "File"], &rows))
            p.soft { "Stopped: of the last " (COUNTED) " decisions." }
            h2 { "Proof" }
            p { "Statements about these policies that hold for every effect are proved with " code { "agrail policy prove" }
                "; that no version allows more than an earlier one, with " code { "agrail policy prove --no-weaker-than FILE" } "." }
        };
        Ok(Fragment { title: "Policies".to_owned(), body })
    })
    .await
}

/// How often each policy stopped something, among the newest decisions.
fn hits(desk: &Desk) -> Result<BTreeMap<String, usize>, Problem> {
    let mut hits: BTreeMap<String, usize> = BTreeMap::new();
    let Some(memory) = desk.live.guard.memory() else { return Ok(hits) };
    memory.each_decision(0, COUNTED, |_, record| {
        for by in Seen::read(record).stopped_by() {
            *hits.entry(by.to_owned()).or_default() += 1;
        }
    })?;
    Ok(hits)
}

fn stopped(rule: &Rule, hits: &BTreeMap<String, usize>) -> usize {
    hits.get(&format!("policy:{}", rule.id)).copied().unwrap_or_default()
}

fn does(rule: &Rule) -> &'static str {
    match (rule.forbids, rule.response) {
        (false, _) if rule.allows.is_empty() => "permits",
        (false, _) => "allows what others ask about",
        (true, Response::Deny) => "denies",
        (true, Response::Ask(_)) => "asks",
    }
}

fn row(rule: &Rule, hits: &BTreeMap<String, usize>) -> Vec<Markup> {
    vec![
        html! { a.item href={ "/console/policies/" (segment(&rule.id)) } { code { (rule.id) } } },
        html! { (does(rule)) },
        html! { (rule.reason) },
        html! { (stopped(rule, hits)) },
        html! { @if rule.is_shipped() { span.soft { "shipped" } } @else { code { (rule.file) } } },
    ]
}

/// What reloads have changed since the service started.
fn changes(desk: &Desk) -> Markup {
    let changes = desk.service.policy_changes();
    html! {
        @if !changes.is_empty() {
            details { summary { "Changes since the service started (the last " (changes.len()) ")" }
                @for change in changes.iter().rev() {
                    h3 { (when(change.at_ms)) " (UTC), by " (change.by) }
                    pre.diff tabindex="0" { (change.diff) }
                }
            }
        }
    }
}

pub(super) async fn rule(State(service): State<Service>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    answer(service, &headers, move |desk| {
        let policy = desk.live.guard.policy();
        let rules = policy.rules();
        let rule = rules.iter().find(|rule| rule.id == id);
        let gone = || Problem::not_found(format!("no policy in force has the id '{id}'"));
        let rule = rule.ok_or_else(gone)?;
        let filter = DecisionFilter { rule: format!("policy:{id}"), ..DecisionFilter::default() };
        let found = match desk.live.guard.memory() {
            Some(memory) => memory.find_decisions(&filter, None, SHOWN)?,
            None => Vec::new(),
        };
        let body = html! {
            p { a href="/console/policies" { "All policies" } }
            h1 { code { (rule.id) } }
            p { (rule.reason) }
            (pairs(&[
                ("Does", html! { (does(rule)) }),
                ("Check", html! { (rule.category) ": " (rule.check) }),
                ("Instead", html! { (rule.advice.as_deref().unwrap_or("-")) }),
                ("File", html! { (rule.file) }),
            ]))
            pre tabindex="0" { (policy.text(&rule.id).unwrap_or_default()) }
            h2 { "What it stopped" }
            @if found.is_empty() { p { "Nothing on record." } } @else {
                (list(&found))
                @if found.len() == SHOWN { p { a href={ "/console/decisions?" (query([("rule", filter.rule.as_str())])) } { "All of them" } } }
            }
        };
        Ok(Fragment { title: "Policy".to_owned(), body })
    })
    .await
}
