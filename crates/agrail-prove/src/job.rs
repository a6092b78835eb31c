//! Requests and answers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Statements about sets of policies.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The schema, as Cedar text.
    pub schema: String,
    /// Actions of the schema that no statement is about.
    #[serde(default)]
    pub without: Vec<String>,
    /// The sets by name, as Cedar text.
    pub sets: BTreeMap<String, String>,
    /// The word of each enumerated type that says least: facts of a case get it where it stays a case.
    #[serde(default)]
    pub plain: BTreeMap<String, String>,
    pub statements: Vec<Statement>,
}

/// A statement about two sets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub id: String,
    pub relation: Relation,
    /// Names of the sets.
    pub left: String,
    pub right: String,
}

/// What holds for every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// No case is allowed by both sets.
    Disjoint,
    /// Every case that the left set allows, the right one allows, too.
    Implies,
}

/// The answer about one statement.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    pub id: &'a str,
    /// The number of actions for which it was decided.
    pub actions: usize,
    pub milliseconds: u128,
    /// A case in which it is false; if there is none and no problem, the statement holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<Case>,
    /// Why it was not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A request, without the facts that do not matter.
#[derive(Debug, Serialize)]
pub struct Case {
    pub action: String,
    pub principal: Thing,
    pub resource: Thing,
    pub context: serde_json::Map<String, serde_json::Value>,
}

/// An entity of a request.
#[derive(Debug, Serialize)]
pub struct Thing {
    pub id: String,
    pub facts: serde_json::Map<String, serde_json::Value>,
    #[serde(rename = "in", skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
}
