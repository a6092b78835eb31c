//! The qualifier of an effect, such as the mode that `chmod` sets.

use std::fmt;

/// The qualifier of an effect. The verb decides which variants can occur.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Detail {
    /// No qualifier.
    #[default]
    None,
    /// Modes, owners and signals among the operands, in their order (`chmod`, `chown`, `kill`, `overwrite`, `create`).
    Attributes(Vec<Attribute>),
    /// The new value of a variable (`variable`).
    Value(String),
    /// The command line for another machine (`remote`).
    Command(String),
    /// SHA-256 of the content that runs, in hexadecimal (`execute`).
    Digest(String),
    /// The data written, or the code run, comes over the network.
    Network,
    /// The error that kept a script from being read (`unknown`).
    Unreadable(String),
    /// What is sent is the output of another program (`send`).
    Streamed,
    /// The names of the secret variables of the environment that are sent (`send`, `connect`).
    Secret(Vec<String>),
    /// Another part of the action changes the script before it runs (`unknown`).
    Changed,
    /// What would run comes from an archive, a repository or a patch that the action itself brings.
    Brought,
    /// The path is an argument of an unknown program (`unknown`).
    Argument,
    /// The program edits the file in place (`write`).
    InPlace,
    /// The shell empties the file before the program that reads it starts (`write`).
    Emptied,
    /// How long a lock is held, in seconds; `None` without limit (`limit`).
    Held(Option<u64>),
    /// The operation of a step on the web, in lower case (`browse`).
    Operation(String),
}

/// One operand that qualifies the effects of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// A mode, octal or symbolic.
    Mode(String),
    /// An owner as `user`, `user:group` or `:group`.
    Owner(String),
    /// A signal by name or number.
    Signal(String),
}

impl Attribute {
    fn as_str(&self) -> &str {
        match self {
            Self::Mode(text) | Self::Owner(text) | Self::Signal(text) => text,
        }
    }
}

impl Detail {
    /// The digest of the content that runs.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        match self {
            Self::Digest(digest) => Some(digest),
            _ => None,
        }
    }

    /// The modes among the operands.
    pub fn modes(&self) -> impl Iterator<Item = &str> {
        self.attributes().iter().filter_map(|one| match one {
            Attribute::Mode(mode) => Some(mode.as_str()),
            _ => None,
        })
    }

    /// The owners among the operands.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.attributes().iter().filter_map(|one| match one {
            Attribute::Owner(owner) => Some(owner.as_str()),
            _ => None,
        })
    }

    fn attributes(&self) -> &[Attribute] {
        match self {
            Self::Attributes(attributes) => attributes,
            _ => &[],
        }
    }
}

/// The text for policies and the audit log; empty for [`Detail::None`].
impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Attributes(attributes) => {
                f.write_str(&attributes.iter().map(Attribute::as_str).collect::<Vec<_>>().join(" "))
            }
            Self::Value(text)
            | Self::Command(text)
            | Self::Digest(text)
            | Self::Unreadable(text)
            | Self::Operation(text) => f.write_str(text),
            Self::Network => f.write_str("network"),
            Self::Streamed => f.write_str(STREAMED),
            Self::Secret(names) => write!(f, "{SECRET_VARIABLES}{}", names.join(" ")),
            Self::Changed => f.write_str(CHANGED),
            Self::Brought => f.write_str(BROUGHT),
            Self::Argument => f.write_str("argument"),
            Self::Emptied => f.write_str("emptied before it is read"),
            Self::InPlace => f.write_str("in place"),
            Self::Held(Some(seconds)) => write!(f, "{seconds} s"),
            Self::Held(None) => f.write_str("for ever"),
        }
    }
}

/// The operation of an unknown effect of a binary file.
pub const BINARY: &str = "binary";
/// The text of [`Detail::Brought`], which is also the advice to the agent.
pub const BROUGHT: &str = "it comes from elsewhere: look at it first, and run it in an action of its own";
/// The text of [`Detail::Streamed`].
pub const STREAMED: &str = "output of another program";
/// The text of [`Detail::Secret`] before the names.
pub const SECRET_VARIABLES: &str = "secret variables: ";
/// The text of [`Detail::Changed`], which is also the advice to the agent.
pub const CHANGED: &str = "make the change an action of its own, and run it then";
