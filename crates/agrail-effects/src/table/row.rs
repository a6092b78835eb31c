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
    /// The first argument may be a bundle of flags without a dash.
    Bsd,
    /// `key=value` operands.
    Dd,
    /// Everything is an operand.
    None,
}

/// How far the options of a row were compared with the documentation of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Listed {
    /// Never: an option that the row does not list is ignored.
    #[default]
    Open,
    /// With a source that need not list all options.
    Partial,
    /// With a source that lists all options.
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
    /// `[command line, effect ...]`; a test verifies them.
    #[serde(skip)]
    pub examples: Vec<Vec<String>>,
    /// How far its options are listed. An option that a closed row does not list is an unknown effect.
    pub listed: Listed,
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
    /// Documented, but nobody has reviewed its effect.
    Unreviewed,
    Flag(Vec<Word>),
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
}
