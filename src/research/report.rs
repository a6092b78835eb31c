//! What comes of research: the report, and everything that did not get into it.

use crate::verdict::Decision;
use serde::Serialize;

/// A report. Everything in it that is not of the goal was written by someone else, bounded and cited.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Version of this form.
    pub version: u32,
    /// What was to be found out.
    pub goal: String,
    /// `defended`: the naive agent has an outcome of its own.
    pub mode: &'static str,
    /// Every page was read, and something was found.
    pub complete: bool,
    /// The answer, from the key points alone.
    pub summary: String,
    /// What was found, each with where it stands.
    pub key_points: Vec<KeyPoint>,
    /// The pages that are cited.
    pub citations: Vec<Citation>,
    /// What is suspicious about the sources.
    pub notes: Vec<Note>,
    /// What could not be read, and why.
    pub missing: Vec<Missing>,
    /// What was left out because it did not hold.
    pub dropped: Dropped,
    /// Every step and what the guard said to it.
    pub audit: Vec<Step>,
    /// What it cost.
    pub cost: Cost,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyPoint {
    /// The words of the page, at most 300 characters.
    pub text: String,
    /// Where it stands; at least one.
    pub citations: Vec<Span>,
    /// Share of the content words of the claim that chose it that stand in the passages which the claim cites, 0..=1.
    pub lexical: f32,
    /// Cosine of the meaning of that claim and of those passages, -1..=1; absent without an embedder.
    pub embedding: Option<f32>,
    /// Places of key points from other pages that say something else about the same.
    pub contradicts: Vec<usize>,
}

/// A passage of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The page.
    pub url: String,
    /// Bytes of the text of the page as it is read ([`super::Page::text`]).
    pub start: usize,
    /// The end of it.
    pub end: usize,
    /// What stands there.
    pub quote: String,
}

/// A page that is cited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// Where it came from, after redirects.
    pub url: String,
    /// Its title.
    pub title: String,
    /// SHA-256 of its text as it was read, hexadecimal.
    pub sha256: String,
}

/// Something about a source that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The page.
    pub url: String,
    /// `instructions`, `hidden-text`, `cut`, `contradiction`, `model`, `tool`.
    pub kind: &'static str,
    /// One line.
    pub text: String,
}

/// Something that is not in the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What was wanted.
    pub url: String,
    /// Why it is not there.
    pub why: String,
}

/// Counts of what was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Citing a passage that does not exist, or that was withheld.
    pub uncited: usize,
    /// Not borne out by the passages that are cited.
    pub unsupported: usize,
    /// Saying the opposite of the passages that are cited.
    pub contradicted: usize,
    /// About something else than the goal.
    pub off_topic: usize,
    /// Carrying an address, or something that must not leave.
    pub carrying: usize,
    /// Sentences of the summary that no key point bears out.
    pub summary: usize,
    /// Refused by the guard as dictated by a page.
    pub dictated: usize,
    /// Passages that no model was shown.
    pub withheld: usize,
}

/// One step of the agent, and the guard's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// `fetch`, `message` or `tool_call`.
    pub action: &'static str,
    /// The URL, the beginning of the text, or the tool.
    pub what: String,
    /// What the guard said.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// Id of its verdict.
    pub verdict: String,
}

/// What the research cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Pages that were read.
    pub pages: usize,
    /// Calls of a model.
    pub model_calls: u32,
    /// Tokens of its prompts.
    pub tokens_in: u64,
    /// Tokens of its replies.
    pub tokens_out: u64,
    /// Milliseconds.
    pub wall_ms: u64,
}
