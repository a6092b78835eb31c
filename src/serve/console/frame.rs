//! What all pages share: the frame, the answer to a request, and small parts.

use crate::memory::Memory;
use crate::serve::api::{Problem, operator};
use crate::serve::{Live, Service};
use crate::untrusted::visible_lines;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The views: path, name.
const VIEWS: [(&str, &str); 7] = [
    ("overview", "Overview"),
    ("decisions", "Decisions"),
    ("questions", "Questions"),
    ("memory", "Memory"),
    ("sessions", "Sessions"),
    ("policies", "Policies"),
    ("audit", "Audit"),
];
/// What is encoded in a part of an address (RFC 3986, all but the unreserved characters).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// htmx needs neither inline styles nor scripts in answers.
const HTMX: &str = r#"{"includeIndicatorCSS":false,"defaultTimeout":60000}"#;

/// A page of the console, without the frame; or a part of one, whose title is empty.
pub(super) struct Fragment {
    pub title: String,
    pub body: Markup,
}

/// Why a page cannot be shown, or why what was asked for was not done, as a page.
pub(super) struct Failure {
    problem: Problem,
    /// The request had a token.
    signed: bool,
}

/// The query of an address.
pub(super) struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let wrong = |why: &dyn std::fmt::Display| {
            Problem::new(StatusCode::BAD_REQUEST, format!("this address cannot be read: {why}")).into()
        };
        Query::from_request_parts(parts, state).await.map(|Query(query)| Self(query)).map_err(|why| wrong(&why))
    }
}

pub(super) type Answer = Result<Fragment, Failure>;

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem, signed: false }
    }
}

impl IntoResponse for Fragment {
    fn into_response(self) -> Response {
        let text =
            html! { @if !self.title.is_empty() { title { (self.title) " - agrail" } } (self.body) }.into_string();
        Html(visible_lines(&text).into_owned()).into_response()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self { problem, signed } = self;
        let status = problem.status();
        let body = html! {
            @if status == StatusCode::UNAUTHORIZED {
                h1 { "Sign in" }
                @if signed { p.warning role="alert" { "This token is not known." } }
                p { "The console shows what agents did. It needs the token of an operator (" code { "operates = true" } "); "
                    code { "agrail serve" } " prints a link that brings one." }
                form #sign-in .row hx-boost="false" {
                    label for="token" { "Token" }
                    input #token type="password" autocomplete="off" required;
                    button type="submit" { "Sign in" }
                }
            } @else {
                h1 { "That did not work" }
                p.warning role="alert" { (problem.message()) }
                p { a href="/console/overview" { "Overview" } }
            }
        };
        (status, Fragment { title: "Problem".to_owned(), body }).into_response()
    }
}

/// What a page works on.
pub(super) struct Desk {
    /// Name of the operator.
    pub who: String,
    pub live: Arc<Live>,
    pub service: Service,
}

impl Desk {
    pub fn memory(&self) -> Result<&Memory, Problem> {
        let none = || Problem::not_found("this service has no memory (memory.off), so it records no decisions to show");
        self.live.guard.memory().ok_or_else(none)
    }
}

/// Runs the work of a page for an operator, off the threads that serve requests.
pub(super) async fn answer(
    service: Service,
    headers: &HeaderMap,
    work: impl FnOnce(&Desk) -> Result<Fragment, Problem> + Send + 'static,
) -> Answer {
    let signed = headers.get(header::AUTHORIZATION).is_some_and(|given| given.len() > "Bearer ".len());
    let who = operator(&service, headers).map_err(|problem| Failure { problem, signed })?;
    let live = service.live();
    // decisions that are still being recorded
    live.guard.settle().await.map_err(Problem::failed)?;
    let desk = Desk { who, live, service };
    let worked = tokio::task::spawn_blocking(move || work(&desk)).await;
    Ok(worked.map_err(|_| Problem::internal()).flatten()?)
}

/// The fields of a form.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub fn of(body: &Bytes) -> Self {
        Self(url::form_urlencoded::parse(body).into_owned().collect())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value, empty if there is none.
    pub fn one(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str())
    }
}

/// The page around all pages. It holds no data.
pub(in crate::serve) async fn frame() -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "agrail" }
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="htmx-config" content=(HTMX);
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/console/console.css";
                script src="/console/htmx.js" defer {}
                script src="/console/console.js" defer {}
            }
            body hx-boost:inherited="true" hx-target:inherited="#main" hx-sync:inherited="#main:replace" {
                a.skip href="#main" hx-boost="false" { "To the content" }
                header {
                    a.brand href="/console/overview" { "agrail" }
                    nav aria-label="Views" {
                        @for (path, name) in VIEWS {
                            a href={ "/console/" (path) } { (name) @if path == "questions" { " " span #waiting .count hidden {} } }
                        }
                    }
                    button #sign-out type="button" hidden { "Sign out" }
                }
                p #status role="status" aria-live="polite" {}
                main #main tabindex="-1" { p.soft { "Loading ..." } noscript { "The console needs JavaScript." } }
            }
        }
    };
    Html(page.into_string())
}

/// UTC, to the second.
pub(super) fn when(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// A decision as a coloured word.
pub(super) fn word(decision: &str) -> Markup {
    let class = match decision {
        "allow" | "ask" | "deny" => decision,
        _ => "soft",
    };
    html! { span class={ "word " (class) } { (decision) } }
}

/// A cell of a table that becomes a list on narrow screens.
pub(super) fn cell(label: &str, inside: &Markup) -> Markup {
    html! { td data-label=(label) { (inside) } }
}

/// A table with its name; it scrolls within itself where it has to.
pub(super) fn table(name: &str, heads: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        table aria-label=(name) {
            thead { tr { @for head in heads { th scope="col" { (head) } } } }
            tbody { @for row in rows { tr { @for (head, inside) in heads.iter().zip(row) { (cell(head, inside)) } } } }
        }
    }
}

/// A part of an address, such as an id that an operator has chosen.
pub(super) fn segment(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, RESERVED)
}

/// Fields as the query of an address; empty ones are left out.
pub(super) fn query<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
    query.finish()
}

/// A form that changes something. It stands alone: nothing that is loaded meanwhile takes its place.
pub(super) fn change(path: &str, class: &str, inside: &Markup) -> Markup {
    html! { form class=(class) hx-post=(path) hx-target="#main" hx-boost="false" hx-sync="this:drop" { (inside) } }
}

/// Names with values.
pub(super) fn pairs(all: &[(&str, Markup)]) -> Markup {
    html! { dl { @for (name, value) in all { dt { (name) } dd { (value) } } } }
}

/// A message about what a form has done; it is read out.
pub(super) fn done(text: &str) -> Markup {
    html! { p.done role="status" { (text) } }
}
