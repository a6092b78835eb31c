//! Calls that need more than a row of the table.

mod code;
mod files;
mod methods;
mod network;
mod processes;

use super::Reader;
use super::calls::Args;
use super::row::{Row, Special};
use super::values::{UNKNOWN_SPAN, Value, lift, text};
use crate::reading::quote;

/// A call for which the table has a row.
#[derive(Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub row: &'a Row,
    /// Name of the called function.
    pub via: &'a str,
    /// The object whose method is called.
    pub receiver: Option<&'a Value>,
    pub args: &'a Args,
}

impl Invocation<'_> {
    /// The first argument, which may be given by one of these keywords.
    fn first_or(&self, keywords: &[&str]) -> Value {
        let by_keyword = || keywords.iter().find_map(|key| self.args.keyword(key));
        self.args.pos.first().cloned().or_else(by_keyword).unwrap_or(Value::Hole)
    }
}

impl Reader<'_> {
    /// Interprets a special call. `Some`: the call is complete. `None`: the row applies unchanged.
    pub(super) fn special(&mut self, special: Special, call: &Invocation<'_>) -> Option<Value> {
        match special {
            Special::DataLoad | Special::DataFilter | Special::DataValue | Special::DataSql | Special::DataHelp => {
                self.data(special, call)
            }
            Special::Open
            | Special::OsOpen
            | Special::Archive
            | Special::Extract
            | Special::Added
            | Special::Truncate
            | Special::Grow
            | Special::Content
            | Special::ReadFileOrUrl => self.file_call(special, call),
            Special::ListDir
            | Special::Walk
            | Special::Glob
            | Special::Chdir
            | Special::FileInput
            | Special::Pack
            | Special::Temporary => self.folder_call(special, call),
            Special::Command
            | Special::Program
            | Special::Client
            | Special::Exec
            | Special::Source
            | Special::Compile
            | Special::Import
            | Special::Untrusted
            | Special::Yaml => self.code_call(special, call),
            Special::Kill
            | Special::Fork
            | Special::Start
            | Special::Thread
            | Special::ProcessIter
            | Special::Process
            | Special::WithArgument
            | Special::Variable => self.process_call(special, call),
            Special::Arguments => self.argument_call(call),
            Special::Http
            | Special::Request
            | Special::MakeRequest
            | Special::Session
            | Special::Address
            | Special::Accept => self.network_call(special, call),
        }
    }
}

fn vague(v: &Value) -> bool {
    !matches!(v, Value::Any(_)) && v.show().contains(UNKNOWN_SPAN)
}

fn target_of(v: &Value) -> Value {
    if let Value::Object(_, target) = v { (**target).clone() } else { Value::Hole }
}

fn as_path(v: &Value) -> Value {
    lift(v, &Value::None, |p, _| Value::Path(p.show().into()))
}

/// Formats `("host", 80)` as `host:80`.
pub(super) fn address(v: &Value) -> Value {
    match v.elements().filter(|_| !v.is_text()) {
        Some(parts) => parts
            .into_iter()
            .take(2)
            .reduce(|a, b| lift(&a, &b, |a, b| text(format!("{}:{}", a.show(), b.show()))))
            .unwrap_or(Value::Hole),
        None => v.clone(),
    }
}

/// The command line of a command: a text unchanged, a list with its words quoted.
pub(super) fn command_line(v: &Value) -> String {
    match v {
        Value::List(l) => l
            .items
            .iter()
            .map(|w| match w.choices().as_slice() {
                [one] => quote(&one.show()),
                _ => UNKNOWN_SPAN.to_string(),
            })
            .collect::<Vec<_>>()
            .join(" "),
        v => v.show(),
    }
}
