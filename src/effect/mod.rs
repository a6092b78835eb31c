//! What an action would do: a list of [`Effect`]s.
//!
//! 1. The action's own language is parsed: a shell script, Python source, database statements, a message.
//! 2. Each command or call is looked up in a table of semantics ([`table`], data with examples).
//! 3. What the tables or the parsers do not understand is [`Verb::Unknown`], never nothing.

pub(crate) mod file;
mod normal;
pub mod python;
mod read;
pub mod role;
pub mod shell;
pub mod sql;
pub mod table;
pub mod tool_call;

pub use normal::normal;
pub use read::{Who, read};

use serde::{Deserialize, Serialize};
use std::fmt;

/// Stands in a target for each part that is not constant.
pub const HOLE: char = '\u{FFFC}';

/// What is done to a target (DESIGN section 6). The names are stable: they are Cedar action ids and
/// appear in verdicts. Each is explained in `src/effect/commands/README.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "explained once, in the README of the command table")]
#[non_exhaustive]
pub enum Verb {
    Read,
    List,
    Write,
    Append,
    Create,
    Overwrite,
    Delete,
    Move,
    Encrypt,
    Chmod,
    Chown,
    Link,
    Mount,
    Device,
    Execute,
    Kill,
    Limit,
    Service,
    Account,
    Privilege,
    Schedule,
    Install,
    Connect,
    Send,
    Listen,
    Exhaust,
    Cover,
    Config,
    Data,
    Select,
    Insert,
    Update,
    Drop,
    Container,
    Remote,
    Dump,
    Variable,
    Answer,
    Browse,
    Call,
    Unknown,
}

impl Verb {
    /// Every verb, in declaration order.
    pub const ALL: [Self; 41] = [
        Self::Read,
        Self::List,
        Self::Write,
        Self::Append,
        Self::Create,
        Self::Overwrite,
        Self::Delete,
        Self::Move,
        Self::Encrypt,
        Self::Chmod,
        Self::Chown,
        Self::Link,
        Self::Mount,
        Self::Device,
        Self::Execute,
        Self::Kill,
        Self::Limit,
        Self::Service,
        Self::Account,
        Self::Privilege,
        Self::Schedule,
        Self::Install,
        Self::Connect,
        Self::Send,
        Self::Listen,
        Self::Exhaust,
        Self::Cover,
        Self::Config,
        Self::Data,
        Self::Select,
        Self::Insert,
        Self::Update,
        Self::Drop,
        Self::Container,
        Self::Remote,
        Self::Dump,
        Self::Variable,
        Self::Answer,
        Self::Browse,
        Self::Call,
        Self::Unknown,
    ];

    /// The lower-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
            Self::Append => "append",
            Self::Create => "create",
            Self::Overwrite => "overwrite",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Encrypt => "encrypt",
            Self::Chmod => "chmod",
            Self::Chown => "chown",
            Self::Link => "link",
            Self::Mount => "mount",
            Self::Device => "device",
            Self::Execute => "execute",
            Self::Kill => "kill",
            Self::Limit => "limit",
            Self::Service => "service",
            Self::Account => "account",
            Self::Privilege => "privilege",
            Self::Schedule => "schedule",
            Self::Install => "install",
            Self::Connect => "connect",
            Self::Send => "send",
            Self::Listen => "listen",
            Self::Exhaust => "exhaust",
            Self::Cover => "cover",
            Self::Config => "config",
            Self::Data => "data",
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Drop => "drop",
            Self::Container => "container",
            Self::Remote => "remote",
            Self::Dump => "dump",
            Self::Variable => "variable",
            Self::Answer => "answer",
            Self::Browse => "browse",
            Self::Call => "call",
            Self::Unknown => "unknown",
        }
    }

    /// The verb of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.as_str() == name)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an effect acts on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A path as written, made absolute where the working directory is known. [`HOLE`] stands for
    /// what is not constant.
    Path(String),
    /// Anything else: kind (`process`, `service`, `host` ...) and name.
    Named(&'static str, String),
}

impl Target {
    /// `path`, or the kind of a named thing.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Path(_) => "path",
            Self::Named(kind, _) => kind,
        }
    }

    /// The path or name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Path(name) | Self::Named(_, name) => name,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.name().replace(HOLE, "…");
        match self {
            Self::Path(_) => f.write_str(&shown),
            Self::Named(kind, _) if shown.is_empty() => f.write_str(kind),
            Self::Named(kind, _) => write!(f, "{kind} {shown}"),
        }
    }
}

/// One thing that an action would do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Effect {
    /// What is done.
    pub verb: Verb,
    /// Which kind of it, e.g. `stop` of `service/stop`; empty if there is only one.
    pub operation: String,
    /// To what.
    pub target: Target,
    /// The program or call that does it, e.g. `rm`, `os.remove`.
    pub program: String,
    /// What was unwrapped to find it, outermost first, e.g. `sudo`, `sh -c`.
    pub via: Vec<String>,
    /// The mode, owner or signal that goes with it, or the cause of an unknown.
    pub detail: String,
    /// Paths below the target too.
    pub recursive: bool,
    /// What exists is kept (`mv -n`, `cp --no-clobber`).
    pub keep: bool,
    /// With raised privilege (sudo, doas, su, pkexec).
    pub privileged: bool,
    /// The names that a copy or move gives its target if that is a directory.
    pub incoming: Vec<String>,
}

impl Effect {
    /// An effect with no qualifiers.
    #[must_use]
    pub fn new(verb: Verb, target: Target, program: &str) -> Self {
        Self {
            verb,
            operation: String::new(),
            target,
            program: program.to_owned(),
            via: Vec::new(),
            detail: String::new(),
            recursive: false,
            keep: false,
            privileged: false,
            incoming: Vec::new(),
        }
    }

    /// What is not understood: `cause` is stable and short (`program`, `parse`, `dynamic-command` ...).
    #[must_use]
    pub fn unknown(cause: Cause, what: &str, program: &str) -> Self {
        let mut effect = Self::new(Verb::Unknown, Target::Named(cause.as_str(), what.to_owned()), program);
        effect.operation = cause.as_str().to_owned();
        effect
    }

    /// Some part of the target is not constant.
    #[must_use]
    pub fn dynamic(&self) -> bool {
        self.target.name().contains(HOLE)
    }

    /// `verb target`, as it is written in examples of the table.
    #[must_use]
    pub fn brief(&self) -> String {
        let operation = if self.operation.is_empty() || matches!(self.verb, Verb::Unknown | Verb::Execute) {
            String::new()
        } else {
            format!("/{}", self.operation)
        };
        format!("{}{operation} {}", self.verb, self.target.name()).trim_end().to_owned()
    }
}

/// Why something is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The program or call is not in the table.
    Program,
    /// The arguments are not what the table's row says.
    Arguments,
    /// The text does not parse as a whole.
    Parse,
    /// The command word or the source to run is not constant.
    Dynamic,
    /// A limit of size, depth or steps was reached.
    Budget,
    /// A script that would run cannot be read.
    Script,
    /// No reader for this kind of action or language.
    Language,
    /// The text hides what it says (invisible characters, nested encodings).
    Obfuscated,
}

impl Cause {
    /// Stable short name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Arguments => "arguments",
            Self::Parse => "parse",
            Self::Dynamic => "dynamic",
            Self::Budget => "budget",
            Self::Script => "script",
            Self::Language => "language",
            Self::Obfuscated => "obfuscated",
        }
    }
}
