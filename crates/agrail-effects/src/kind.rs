//! Kinds of targets, and causes of unknown effects.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// The kind of an effect's target. The names are stable: policies compare them.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
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
pub enum Kind {
    /// Not specified; used in the examples of policies.
    #[default]
    #[serde(rename = "")]
    #[strum(serialize = "")]
    Unspecified,
    /// Unknown: the arguments do not match the program's row.
    Arguments,
    /// Unknown: a limit of size, depth or steps was reached.
    Budget,
    /// A column, as `table.column`.
    Column,
    /// A setting.
    Config,
    /// A container or container image.
    Container,
    /// A database.
    Database,
    /// A device.
    Device,
    /// Unknown: a command word or source text is computed at run time.
    Dynamic,
    /// An element of a web page.
    Element,
    /// A group of accounts.
    Group,
    /// A machine on the network.
    Host,
    /// A network interface.
    Interface,
    /// A scheduled job.
    Job,
    /// A key of a key ring, or of a keyboard.
    Key,
    /// Unknown: there is no parser for this language.
    Language,
    /// Unknown: a probe of the machine was cut short.
    Look,
    /// The machine itself.
    Machine,
    /// A mount.
    Mount,
    /// Unknown: the text hides its content.
    Obfuscated,
    /// Unknown: an option that the row of its program does not list.
    Option,
    /// A package.
    Package,
    /// Unknown: the text does not parse.
    Parse,
    /// A path.
    Path,
    /// A process, by its number.
    Pid,
    /// A port of this machine.
    Port,
    /// The right to act as another account.
    Privilege,
    /// A process, by its name.
    Process,
    /// Unknown: a program or call without a row in the table.
    Program,
    /// A resource of a remote service.
    Remote,
    /// A resource of this machine: CPU, memory, disk.
    Resource,
    /// Unknown: a script that would run cannot be read.
    Script,
    /// A service.
    Service,
    /// A login session.
    Session,
    /// A setting of the kernel.
    System,
    /// A table.
    Table,
    /// A tool that an agent calls.
    Tool,
    /// Logs and histories.
    Traces,
    /// A URL.
    Url,
    /// An account, or the user.
    User,
    /// An environment variable.
    Variable,
}

impl Kind {
    /// The lower-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl From<Cause> for Kind {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Program => Self::Program,
            Cause::Arguments => Self::Arguments,
            Cause::Option => Self::Option,
            Cause::Parse => Self::Parse,
            Cause::Dynamic => Self::Dynamic,
            Cause::Budget => Self::Budget,
            Cause::Script => Self::Script,
            Cause::Language => Self::Language,
            Cause::Obfuscated => Self::Obfuscated,
        }
    }
}

/// Why a part of an action is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Cause {
    /// The program or call has no row in the table.
    Program,
    /// The arguments do not match the row in the table.
    Arguments,
    /// The row of the program does not list the option.
    Option,
    /// The text does not parse completely.
    Parse,
    /// The command word or the source to run is not constant.
    Dynamic,
    /// A limit of size, depth or steps was reached.
    Budget,
    /// A script that would run cannot be read.
    Script,
    /// There is no parser for this kind of action or language.
    Language,
    /// The text hides its content (invisible characters, nested encodings).
    Obfuscated,
}

impl Cause {
    /// The stable short name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
