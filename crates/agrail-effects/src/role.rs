//! The role of an argument, in the notation of the command table: `VERB/OPERATION:KIND`.

use crate::kind::Kind;
use crate::verb::Verb;
use serde::{Deserialize, Serialize};

/// A word of a row that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {expected} '{word}'; commands/README.md lists the valid ones")]
pub struct RoleError {
    /// The invalid word.
    pub word: String,
    /// The expected part: `role` or `kind`.
    pub expected: &'static str,
}

impl RoleError {
    fn new(word: &str, expected: &'static str) -> Self {
        Self { word: word.to_owned(), expected }
    }
}

/// The meaning of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// No effect.
    Skip,
    /// This verb acts on the argument.
    Act {
        /// The verb.
        verb: Verb,
        /// Variant of the verb; empty if there is only one.
        operation: String,
        /// Kind of the target.
        kind: Kind,
    },
    /// Source of a copy: it is read, including everything below it if an option makes the copy recursive.
    Copy,
    /// Destination of a copy or move.
    Into,
    /// The same, and what the source does not have is deleted there.
    Mirror,
    /// New mode of the following paths.
    Mode,
    /// New owner of the following paths.
    Owner,
    /// The signal to send.
    Signal,
    /// The target of a new link.
    Linked,
    /// Port of the host that precedes it.
    Port,
    /// The folder in which the program works: all other paths are relative to it.
    Cwd,
    /// The folder to which the operands after it are relative.
    Base,
    /// How long the command may run, such as `10s`.
    Duration,
    /// How many bytes a file takes, such as `10G`.
    Size,
    /// Local path whose content is sent from the machine.
    Upload,
    /// This argument and all after it are a command line.
    Run,
    /// An argument of the code that the program runs: neither it nor any after it is an option of the program. Beside the
    /// role of an option's value: the options end there.
    Rest,
    /// A program that runs without arguments.
    Exec,
    /// Source text in a language.
    Script(String),
    /// Path of a script in a language.
    ScriptFile(String),
    /// Harmless if it names no path, address or command; otherwise its effect is unknown.
    Plain,
    /// The effect of the argument is unknown.
    Unknown,
}

impl Role {
    /// Parses a role. The error contains the part that is not valid.
    pub fn parse(text: &str) -> Result<Self, RoleError> {
        let (head, kind) = match text.split_once(':') {
            Some((head, kind)) => (head, Some(kind)),
            None => (text, None),
        };
        let (verb, operation) = head.split_once('/').unwrap_or((head, ""));
        Ok(match verb {
            "skip" => Self::Skip,
            "copy" => Self::Copy,
            "into" => Self::Into,
            "mirror" => Self::Mirror,
            "mode" => Self::Mode,
            "owner" => Self::Owner,
            "signal" => Self::Signal,
            "linked" => Self::Linked,
            "port" => Self::Port,
            "cwd" => Self::Cwd,
            "base" => Self::Base,
            "duration" => Self::Duration,
            "size" => Self::Size,
            "upload" => Self::Upload,
            "run" => Self::Run,
            "rest" => Self::Rest,
            "exec" => Self::Exec,
            "script" => Self::Script(kind.unwrap_or("bash").to_owned()),
            "scriptfile" => Self::ScriptFile(kind.unwrap_or("bash").to_owned()),
            "plain" => Self::Plain,
            "unknown" => Self::Unknown,
            _ => {
                let verb = verb.parse::<Verb>().map_err(|_| RoleError::new(verb, "role"))?;
                let kind = match kind {
                    Some(kind) => kind.parse().map_err(|_| RoleError::new(kind, "kind"))?,
                    None => default_kind(verb),
                };
                Self::Act { verb, operation: operation.to_owned(), kind }
            }
        })
    }
}

/// The kind of target of a verb, for roles that name none.
#[must_use]
pub fn default_kind(verb: Verb) -> Kind {
    match verb {
        Verb::Kill | Verb::Dump => Kind::Pid,
        Verb::Limit | Verb::Exhaust => Kind::Resource,
        Verb::Service => Kind::Service,
        Verb::Account => Kind::User,
        Verb::Privilege => Kind::Privilege,
        Verb::Schedule => Kind::Job,
        Verb::Install => Kind::Package,
        Verb::Connect | Verb::Send => Kind::Host,
        Verb::Listen => Kind::Port,
        Verb::Config => Kind::Config,
        Verb::Data => Kind::Database,
        Verb::Select | Verb::Insert | Verb::Update => Kind::Column,
        Verb::Drop => Kind::Table,
        Verb::Container => Kind::Container,
        Verb::Remote => Kind::Remote,
        Verb::EraseTraces => Kind::Traces,
        Verb::Variable => Kind::Variable,
        _ => Kind::Path,
    }
}
