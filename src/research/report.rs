//! The report of a research run, with the parts that are missing or were dropped.

use crate::verdict::Decision;
use serde::Serialize;

/// A report. All content except the goal comes from untrusted sources; it is limited in length and cited.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Version of this format.
    pub version: u32,
    /// Goal of the research.
    pub goal: String,
    /// Always `defended`; the naive agent returns [`super::naive::Outcome`] instead.
    pub mode: &'static str,
    /// Whether every page was read completely and there is at least one key point.
    pub complete: bool,
    /// Answer, in the words of the key points.
    pub summary: String,
    /// Findings with their citations.
    pub key_points: Vec<KeyPoint>,
    /// Cited pages.
    pub citations: Vec<Citation>,
    /// Notes on the sources, such as suspicious signs.
    pub notes: Vec<Note>,
    /// Pages that could not be read and other missing parts, with reasons.
    pub missing: Vec<Missing>,
    /// Counts of the parts that were dropped because they failed a check.
    pub dropped: Dropped,
    /// Every action with the guard's verdict.
    pub audit: Vec<Step>,
    /// Cost of the run.
    pub cost: Cost,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyPoint {
    /// Words of the page, at most 300 characters.
    pub text: String,
    /// Cited passages, at least one.
    pub citations: Vec<Span>,
    /// Share of the content words of the original claim that occur in the passages that it cites, 0..=1.
    pub lexical: f32,
    /// Cosine similarity of that claim and those passages, -1..=1; `None` without an embedder.
    pub embedding: Option<f32>,
    /// Indices of the key points from other pages that contradict this one, from 0.
    pub contradicts: Vec<usize>,
}

/// A passage of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// URL of the page.
    pub url: String,
    /// Start of the passage, a byte offset in [`super::Page::text`].
    pub start: usize,
    /// End of the passage, a byte offset, exclusive.
    pub end: usize,
    /// Text of the passage, at most 600 characters.
    pub quote: String,
}

/// A cited page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// URL of the page, after redirects.
    pub url: String,
    /// Title of the page.
    pub title: String,
    /// SHA-256 of [`super::Page::text`], hexadecimal.
    pub sha256: String,
}

/// A note on a source or on the run, for the reader of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// URL of the page; empty if the note is not about a page.
    pub url: String,
    /// `instructions`, `hidden-text`, `cut`, `contradiction` or `model`.
    pub kind: &'static str,
    /// Text of the note, one line.
    pub text: String,
}

/// A part that is missing from the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// URL of the page, or the goal if no single page is concerned.
    pub url: String,
    /// Reason.
    pub why: String,
}

/// Counts of dropped claims, passages, sentences and answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Claims that cite no passage, a passage that does not exist, or a withheld one.
    pub uncited: usize,
    /// Claims that the cited passages do not support.
    pub unsupported: usize,
    /// Claims that state the opposite of the cited passages.
    pub contradicted: usize,
    /// Claims and cited passages that are not about the goal.
    pub off_topic: usize,
    /// Claims and cited passages that contain an address, and claims that contain a secret.
    pub carrying: usize,
    /// Sentences of the summary that no key point supports.
    pub summary: usize,
    /// Key points and summaries that the guard refused because a page dictates them.
    pub dictated: usize,
    /// Passages that were withheld from every model.
    pub withheld: usize,
}

/// An action of the agent with the guard's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Kind of the action: `fetch`, `message` or `tool_call`.
    pub action: &'static str,
    /// URL, beginning of the text, or tool.
    pub what: String,
    /// Decision of the guard.
    pub decision: Decision,
    /// Reason for the decision.
    pub reason: String,
    /// Id of the verdict.
    pub verdict: String,
}

/// Cost of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Number of pages that were read.
    pub pages: usize,
    /// Number of model calls.
    pub model_calls: u32,
    /// Tokens of all prompts.
    pub tokens_in: u64,
    /// Tokens of all replies.
    pub tokens_out: u64,
    /// Duration of the run, milliseconds.
    pub wall_ms: u64,
}
