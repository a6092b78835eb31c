//! Verbs: the kinds of effects.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// The kind of an effect. The names are stable: they are Cedar action ids and appear in verdicts. `commands/README.md`
/// explains each of them.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[allow(missing_docs, reason = "explained once, in the README of the command table")]
pub enum Verb {
    Read,
    List,
    Write,
    Append,
    Create,
    Overwrite,
    Delete,
    Discard,
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
    #[serde(rename = "cover")]
    #[strum(serialize = "cover")]
    EraseTraces,
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
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The lower-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
