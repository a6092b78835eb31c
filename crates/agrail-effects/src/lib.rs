//! Turns the action of an agent into a list of [`Effect`]s, without I/O and without running anything.
//!
//! 1. The action is parsed in its own language: a shell script, Python, JavaScript or TypeScript source,
//!    database statements, a tool call.
//! 2. Each command or call is looked up in a table of semantics ([`table`]: data, with examples).
//! 3. Anything that neither a parser nor a table covers becomes [`Verb::Unknown`]; it is never dropped.

mod action;
pub mod budget;
mod code;
mod detail;
pub mod file;
mod kept;
mod kind;
pub mod local;
mod normal;
mod oneliner;
pub mod python;
mod read;
pub mod reading;
pub mod role;
pub mod shell;
pub mod sql;
pub mod startup;
pub mod table;
pub mod tool_call;
mod tree;
mod verb;
mod warm;
pub mod words;

pub use action::Action;
pub use detail::{Attribute, BINARY, BROUGHT, CHANGED, Detail, SECRET_VARIABLES, STREAMED};
pub use kind::{Cause, Kind};
pub use normal::normal;
pub use read::{FETCH, Who, extract_effects};
pub use verb::Verb;
pub use warm::warm;

use std::fmt;

/// Placeholder in a target for each part that is not constant.
pub const UNKNOWN_SPAN: char = '\u{FFFC}';

/// The object of an effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A path as written, made absolute if the working directory is known. [`UNKNOWN_SPAN`] replaces each part that is
    /// not constant.
    Path(String),
    /// Any other target: its kind (`process`, `service`, `host` ...) and its name.
    Named(Kind, String),
}

impl Target {
    /// [`Kind::Path`], or the kind of a named target.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Path(_) => Kind::Path,
            Self::Named(kind, _) => *kind,
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
        let shown = self.name().replace(UNKNOWN_SPAN, "…");
        match self {
            Self::Path(_) => f.write_str(&shown),
            Self::Named(kind, _) if shown.is_empty() => f.write_str(kind.as_str()),
            Self::Named(kind, _) => write!(f, "{kind} {shown}"),
        }
    }
}

/// One effect of an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Effect {
    /// The verb: read, write, delete ...
    pub verb: Verb,
    /// Which variant of the verb, e.g. `stop` of `service/stop`; empty if there is only one.
    pub operation: String,
    /// The target.
    pub target: Target,
    /// The program or call with this effect, e.g. `rm`, `os.remove`.
    pub program: String,
    /// The wrappers around the program, outermost first, e.g. `sudo`, `sh -c`.
    pub via: Vec<String>,
    /// The qualifier of the effect, e.g. the mode that it sets.
    pub detail: Detail,
    /// Whether paths below the target are affected, too.
    pub recursive: bool,
    /// Whether existing files are kept (`mv -n`, `cp --no-clobber`).
    pub keep: bool,
    /// Whether the effect has elevated privileges (sudo, doas, su, pkexec).
    pub privileged: bool,
    /// The names that a copy or move creates inside its target if the target is a directory.
    pub incoming: Vec<String>,
    /// The folder in which the program runs; empty if it is unknown, or the target is a path.
    pub cwd: String,
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
            detail: Detail::None,
            recursive: false,
            keep: false,
            privileged: false,
            incoming: Vec::new(),
            cwd: String::new(),
        }
    }

    /// An unknown effect. `cause` has a stable short name (`program`, `parse`, `dynamic` ...); `what` describes the
    /// unknown part.
    #[must_use]
    pub fn unknown(cause: Cause, what: &str, program: &str) -> Self {
        let mut effect = Self::new(Verb::Unknown, Target::Named(cause.into(), what.to_owned()), program);
        effect.operation = cause.as_str().to_owned();
        effect
    }

    /// Whether some part of the target is not constant.
    #[must_use]
    pub fn dynamic(&self) -> bool {
        self.target.name().contains(UNKNOWN_SPAN)
    }

    /// `verb target`, the notation of the examples in the table.
    #[must_use]
    pub fn to_table_notation(&self) -> String {
        let operation = if self.operation.is_empty() || matches!(self.verb, Verb::Unknown | Verb::Execute) {
            String::new()
        } else {
            format!("/{}", self.operation)
        };
        format!("{}{operation} {}", self.verb, self.target.name()).trim_end().to_owned()
    }
}
