//! The role of an argument, as rows of the command table write it: `VERB/OPERATION:KIND`.

use super::Verb;

/// What an argument is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// No effect.
    Skip,
    /// An effect of this verb on the argument.
    Act {
        /// What is done.
        verb: Verb,
        /// Which kind of it; empty if there is only one.
        operation: String,
        /// Kind of target.
        kind: &'static str,
    },
    /// Source of a copy: read, below too where a flag says so.
    Copy,
    /// Destination of a copy or move.
    Into,
    /// New mode of the paths that follow.
    Mode,
    /// New owner of the paths that follow.
    Owner,
    /// Signal that is sent.
    Signal,
    /// What a new link points to.
    Linked,
    /// Port of the host that is named before it.
    Port,
    /// Local path whose content leaves the machine.
    Upload,
    /// This argument and all after it are a command line.
    Run,
    /// A program that is run without arguments.
    Exec,
    /// Source text in a language.
    Script(String),
    /// Path of a script in a language.
    ScriptFile(String),
    /// Not known.
    Unknown,
}

impl Role {
    /// Reads a role; `Err` is the part that is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (head, kind) = match text.split_once(':') {
            Some((head, kind)) => (head, Some(kind)),
            None => (text, None),
        };
        let (verb, operation) = head.split_once('/').unwrap_or((head, ""));
        Ok(match verb {
            "skip" => Self::Skip,
            "copy" => Self::Copy,
            "into" => Self::Into,
            "mode" => Self::Mode,
            "owner" => Self::Owner,
            "signal" => Self::Signal,
            "linked" => Self::Linked,
            "port" => Self::Port,
            "upload" => Self::Upload,
            "run" => Self::Run,
            "exec" => Self::Exec,
            "script" => Self::Script(kind.unwrap_or("bash").to_owned()),
            "scriptfile" => Self::ScriptFile(kind.unwrap_or("bash").to_owned()),
            "unknown" => Self::Unknown,
            _ => {
                let verb = Verb::parse(verb).ok_or_else(|| format!("'{verb}' is not a role"))?;
                let kind = match kind {
                    Some(kind) => known_kind(kind).ok_or_else(|| format!("'{kind}' is not a kind"))?,
                    None => default_kind(verb),
                };
                Self::Act { verb, operation: operation.to_owned(), kind }
            }
        })
    }
}

/// The kind that a verb acts on where a role names none.
#[must_use]
pub fn default_kind(verb: Verb) -> &'static str {
    match verb {
        Verb::Kill | Verb::Dump => "pid",
        Verb::Limit | Verb::Exhaust => "resource",
        Verb::Service => "service",
        Verb::Account => "user",
        Verb::Privilege => "privilege",
        Verb::Schedule => "job",
        Verb::Install => "package",
        Verb::Connect | Verb::Send => "host",
        Verb::Listen => "port",
        Verb::Config => "config",
        Verb::Data => "database",
        Verb::Select | Verb::Insert | Verb::Update => "column",
        Verb::Drop => "table",
        Verb::Container => "container",
        Verb::Remote => "remote",
        Verb::Cover => "traces",
        Verb::Variable => "variable",
        _ => "path",
    }
}

fn known_kind(kind: &str) -> Option<&'static str> {
    const KINDS: [&str; 29] = [
        "path",
        "pid",
        "process",
        "resource",
        "service",
        "user",
        "group",
        "privilege",
        "job",
        "package",
        "host",
        "url",
        "port",
        "config",
        "system",
        "database",
        "container",
        "remote",
        "traces",
        "variable",
        "device",
        "mount",
        "program",
        "machine",
        "session",
        "key",
        "interface",
        "column",
        "table",
    ];
    KINDS.into_iter().find(|k| *k == kind)
}
