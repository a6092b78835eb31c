//! Drafts of rows about in-house tools, from what people approved and reported.

use super::feedback::Record;
use crate::action::Action;
use crate::inhouse::{Declared, Seen, Subject, describes, loose, runs};
use crate::memory::{DecisionRecord, Memory, MemoryError};
use crate::untrusted::{REDACTED, REMOVED};
use serde_json::Value;
use std::collections::BTreeSet;

/// A draft of a row about a tool.
#[derive(Debug, Clone)]
pub struct ToolDraft {
    /// The row, as TOML.
    pub text: String,
    /// Number of approved calls from which it was drafted.
    pub approved: usize,
    /// Number of reported calls that it would let pass, because their arguments are those of approved ones.
    pub alike: usize,
    /// Ids of the recorded decisions that asked about the tool and that it would have let pass.
    pub passes: Vec<String>,
    /// Ids of those about which it would still ask.
    pub asks: Vec<String>,
    /// Whether the definition describes the tool.
    pub declared: bool,
}

/// Why a row could not be drafted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The memory failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Several servers have a tool of this name.
    #[error("several servers have a tool {tool}; name one with --server: {}", servers.join(", "))]
    Several {
        /// The tool.
        tool: String,
        /// Their names.
        servers: Vec<String>,
    },
    /// The commands of the program have several subcommands.
    #[error("{program} was run with several subcommands; name one with --words: {}", words.join(", "))]
    Subcommands {
        /// The program.
        program: String,
        /// Their first words.
        words: Vec<String>,
    },
    /// Nothing is known of the tool.
    #[error(
        "nothing is known of {0}: the record has no approved call of it. Approve some of its calls, or give its definition \
         with --definition"
    )]
    Nothing(String),
}

impl Memory {
    /// Drafts a row about a tool of a framework or of an MCP server. `answered`: ids of the verdicts that a person approved,
    /// wherever; those in the memory itself are added. `definition`: a document that describes the tool.
    ///
    /// # Errors
    /// If the memory cannot be read, several servers have such a tool, or nothing is known of it.
    pub fn draft_tool(
        &self,
        tool: &str,
        server: Option<&str>,
        definition: Option<&Value>,
        answered: &BTreeSet<String>,
        record: &[DecisionRecord],
    ) -> Result<ToolDraft, ToolError> {
        let calls: Vec<Called> = record.iter().filter_map(|decision| called(decision, tool, server)).collect();
        let servers: BTreeSet<Option<&String>> = calls.iter().map(|call| call.server.as_ref()).collect();
        if servers.len() > 1 {
            let servers = servers.into_iter().map(|server| server.cloned().unwrap_or_else(|| "none".to_owned()));
            return Err(ToolError::Several { tool: tool.to_owned(), servers: servers.collect() });
        }
        let known = server.map(str::to_owned).or_else(|| servers.first().copied().flatten().cloned());
        let declared = definition.and_then(|definition| Declared::find(definition, tool));
        drafted(self, Subject::Tool { server: known, tool: tool.to_owned() }, &calls, declared, answered)
    }

    /// Drafts a row about a program by the path of its file, as [`Memory::draft_tool`] does. `words`: what its commands begin
    /// with; if there are none, what all approved ones begin with. `help`: its help text.
    ///
    /// # Errors
    /// If the memory cannot be read, the program was run with several subcommands, or nothing is known of it.
    pub fn draft_program(
        &self,
        path: &str,
        words: &[String],
        help: Option<&str>,
        answered: &BTreeSet<String>,
        record: &[DecisionRecord],
    ) -> Result<ToolDraft, ToolError> {
        let declared = help.map(Declared::of_help);
        let commands: Vec<(&DecisionRecord, Vec<String>)> = record.iter().flat_map(|one| ran(one, path)).collect();
        let words = match words {
            [] => subcommand(&commands, path)?,
            words => words.to_vec(),
        };
        let own = commands.into_iter().filter_map(|(decision, command)| {
            let rest = command.strip_prefix(words.as_slice())?.to_vec();
            let (id, asked) = (decision.id.clone(), decision.decision == "ask");
            let arguments = loose(&rest, declared.as_ref());
            Some(Called { id, server: None, arguments, asked, command: Some(rest) })
        });
        let calls: Vec<Called> = own.collect();
        drafted(self, Subject::Program { path: path.to_owned(), words }, &calls, declared, answered)
    }
}

/// The row that calls and what is declared of a tool lead to.
fn drafted(
    memory: &Memory,
    subject: Subject,
    calls: &[Called],
    declared: Option<Declared>,
    answered: &BTreeSet<String>,
) -> Result<ToolDraft, ToolError> {
    let name = match &subject {
        Subject::Tool { tool, .. } => tool.clone(),
        Subject::Program { path, .. } => path.clone(),
    };
    let (given, rules) = (memory.approved()?, memory.active()?);
    let conditions = rules.iter().filter_map(|entry| entry.condition.as_ref());
    let reports: BTreeSet<&str> =
        conditions.flat_map(|condition| &condition.examples).map(|example| example.verdict.as_str()).collect();
    let approved = |call: &&Called| {
        (answered.contains(&call.id) || given.contains(&call.id)) && !reports.contains(call.id.as_str())
    };
    let reported = |call: &&Called| reports.contains(call.id.as_str());
    let spelled: Vec<(Value, Vec<String>)> =
        calls.iter().filter_map(|call| Some((call.arguments.clone(), call.command.clone()?))).collect();
    let seen = Seen {
        subject,
        approved: calls.iter().filter(approved).map(|call| &call.arguments).collect(),
        reported: calls.iter().filter(reported).map(|call| &call.arguments).collect(),
        declared,
        spelled: &spelled,
    };
    if seen.approved.is_empty() && seen.declared.is_none() {
        return Err(ToolError::Nothing(name));
    }
    let (count, declared, draft) = (seen.approved.len(), seen.declared.is_some(), seen.draft());
    let asked = calls.iter().filter(|call| call.asked);
    let (passes, asks): (Vec<&Called>, Vec<&Called>) = asked.partition(|call| describes(&draft.text, &call.arguments));
    let ids = |calls: Vec<&Called>| calls.into_iter().map(|call| call.id.clone()).collect();
    Ok(ToolDraft {
        text: draft.text,
        approved: count,
        alike: draft.alike,
        passes: ids(passes),
        asks: ids(asks),
        declared,
    })
}

/// The commands of a recorded action that run a program.
fn ran<'r>(decision: &'r DecisionRecord, path: &str) -> Vec<(&'r DecisionRecord, Vec<String>)> {
    let record: Option<Record> = serde_json::from_str(&decision.record).ok();
    let Some(action @ Action::Shell { .. }) = record.and_then(|record| record.action) else { return Vec::new() };
    let whole = |words: &Vec<String>| !words.iter().any(|word| word.contains(REDACTED) || word.contains(REMOVED));
    runs(&action, path).into_iter().filter(whole).map(|words| (decision, words)).collect()
}

/// The word that all commands begin with, if it is a plain one.
fn subcommand(commands: &[(&DecisionRecord, Vec<String>)], path: &str) -> Result<Vec<String>, ToolError> {
    let plain = |word: &&String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let firsts: BTreeSet<Option<&String>> = commands.iter().map(|(_, words)| words.first().filter(plain)).collect();
    let names: Vec<String> = firsts.iter().copied().flatten().cloned().collect();
    match names.as_slice() {
        [_, _, ..] => Err(ToolError::Subcommands { program: path.to_owned(), words: names }),
        [one] if firsts.len() == 1 && commands.len() > 1 => Ok(vec![one.clone()]),
        _ => Ok(Vec::new()),
    }
}

/// A recorded call.
struct Called {
    id: String,
    server: Option<String>,
    arguments: Value,
    asked: bool,
    /// The words of a command behind its subcommand.
    command: Option<Vec<String>>,
}

/// The call of a tool in a record; `None` for another action, or if a part of it was removed from the record.
fn called(decision: &DecisionRecord, name: &str, of: Option<&str>) -> Option<Called> {
    let record: Record = serde_json::from_str(&decision.record).ok()?;
    let Action::ToolCall { server, tool, arguments } = record.action? else { return None };
    let whole = |text: &String| !text.contains(REDACTED) && !text.contains(REMOVED);
    let same = tool == name && of.is_none_or(|of| server.as_deref() == Some(of));
    let complete = crate::effect::tool_call::strings(&arguments).iter().all(whole);
    let asked = decision.decision == "ask";
    (same && complete).then(|| Called { id: decision.id.clone(), server, arguments, asked, command: None })
}
