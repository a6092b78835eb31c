//! The semantics of one command or subcommand.

use crate::role::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The syntax of the options of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Bundled short flags, long options, `--`.
    #[default]
    Gnu,
    /// Long options with a single dash.
    Single,
    /// Like `single`, but the value of a letter may be attached (`gcc -lm`).
    Joined,
    /// The first argument may be a bundle of flags without a dash.
    Bsd,
    /// `key=value` operands.
    Dd,
    /// Everything is an operand.
    None,
}

/// How many of the program's options a row lists. An option that it does not list is an unknown effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Listed {
    /// Those that were reviewed; the program may have more.
    #[default]
    Partial,
    /// All that the documentation lists.
    Complete,
}

/// The semantics of one command or subcommand.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Names of the program or subcommand.
    pub names: Vec<String>,
    /// Description, one line.
    pub about: String,
    /// Name of a special parser in Rust, if the program has its own small language.
    pub special: Option<String>,
    /// `script:LANG`, if the program runs its standard input.
    pub stdin: Option<Role>,
    /// Whether the program passes on its input.
    pub passes_input: bool,
    /// Whether what it writes comes from elsewhere: from an archive, a patch, another machine.
    pub brings: bool,
    /// Whether one operand `KIND/NAME` is the same as the two operands `KIND NAME`.
    pub(super) pairs: bool,
    /// Whether its options, and those of its subcommands, may stand anywhere among the operands and each other.
    pub(super) unordered: bool,
    /// An ending that operands of the program and its subcommands may have or not: `.service`.
    pub(super) ending: String,
    /// Files of the project that the program runs as code: language and pattern.
    pub loads: Vec<(String, String)>,
    /// `[command line, effect ...]`; a test verifies them.
    #[serde(skip)]
    pub examples: Vec<Vec<String>>,
    /// Whether it lists all options of the program.
    pub listed: Listed,
    /// The documentation with which its options were compared; empty: none was found.
    pub source: String,
    /// Package and version in whose run at least one example was observed; empty: none was.
    pub observed: String,
    pub(super) style: Style,
    pub(super) options: BTreeMap<String, Opt>,
    /// Long names of short options.
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) operands: Option<Pattern>,
    pub(super) effects: Vec<(Role, String)>,
    pub(super) variants: Vec<Variant>,
    pub(super) subs: Vec<Row>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Opt {
    Takes,
    /// Its value, if any, is attached.
    Optional,
    Role(Vec<Role>),
    /// Its effect is not known: the table cannot express it, or nobody has reviewed it.
    Unknown {
        /// Whether the next word is its value.
        valued: bool,
    },
    Flag(Vec<Word>),
}

impl Style {
    /// Whether a word with one dash is one option instead of a bundle of letters.
    pub(super) fn is_single(self) -> bool {
        matches!(self, Self::Single | Self::Joined)
    }
}

impl Opt {
    /// Whether a value follows, attached or as the next word.
    pub(super) fn takes_value(&self) -> bool {
        matches!(self, Self::Takes | Self::Role(_) | Self::Unknown { valued: true })
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Word {
    Attribute(Attribute),
    Effect(Role, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Attribute {
    Recursive,
    Force,
    Keep,
    Parents,
    Dry,
    Symbolic,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pattern {
    pub(super) before: Vec<Slot>,
    pub(super) repeated: Option<Slot>,
    pub(super) after: Vec<Slot>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) role: Role,
    pub(super) optional: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Variant {
    pub(super) flags: Vec<String>,
    pub(super) operands: Option<Pattern>,
    pub(super) effects: Option<Vec<(Role, String)>>,
    pub(super) stdin: Option<Option<Role>>,
    pub(super) options: BTreeMap<String, Opt>,
    /// Whether what it writes comes from elsewhere.
    pub(super) brings: bool,
}
