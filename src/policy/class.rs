//! Enumerated values of facts.

use crate::effect::Kind;
use crate::machine::{Class, FileKind};
use crate::net::Reason;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A yes-or-no fact that may be unknown.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Known {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Unknown.
    #[default]
    Unknown,
}

impl Known {
    /// `yes`, `no`, `unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl From<Option<bool>> for Known {
    fn from(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

/// How data that an effect destroys can be got back.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Recovery {
    /// It destroys nothing, or nothing that was looked at.
    #[default]
    None,
    /// From version control, which holds all of it.
    Tracked,
    /// Tools make it again: ignored by version control, or in a folder for what is built.
    Ignored,
    /// A call of this session has made it.
    Made,
    /// The request names it.
    Named,
    /// None of these: no copy of it is known.
    Lost,
    /// It could not be seen.
    Unknown,
}

impl Recovery {
    /// Stable name, as policies use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// How well the place of a connection or a transfer is known.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Destination {
    /// It connects to nothing.
    #[default]
    None,
    /// This machine.
    Loopback,
    /// A registry that package managers use without a setting.
    Registry,
    /// A remote of the project's version control.
    Remote,
    /// The request names it.
    Named,
    /// A person approved it before.
    Known,
    /// None of these.
    New,
    /// It is not constant.
    Unknown,
}

impl Destination {
    /// Stable name, as policies use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The class of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetClass {
    /// Class of a path.
    Path(Class),
    /// The reason not to contact a URL or host.
    Url(Reason),
    /// Kind of any other target.
    Kind(Kind),
    /// A path whose beginning is not constant.
    Unresolved,
}

impl TargetClass {
    /// Every class.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let paths = Class::VARIANTS.iter().copied().map(Self::Path);
        let urls = Reason::ALL.into_iter().map(Self::Url);
        let kinds = Kind::VARIANTS.iter().copied().map(Self::Kind);
        paths.chain(urls).chain(kinds).chain([Self::Unresolved])
    }

    /// Stable name, as policies use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path(class) => class.as_str(),
            Self::Url(reason) => reason.id(),
            Self::Kind(kind) => kind.as_str(),
            Self::Unresolved => "unknown",
        }
    }

    /// Whether it is this class of paths.
    #[must_use]
    pub fn is(self, class: Class) -> bool {
        self == Self::Path(class)
    }
}

impl Default for TargetClass {
    fn default() -> Self {
        Self::Kind(Kind::default())
    }
}

impl Serialize for TargetClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TargetClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || format!("'{name}' is not a class of targets; see 'agrail policy check --schema'");
        let found = Self::all().find(|class| class.as_str() == name);
        found.ok_or_else(|| serde::de::Error::custom(unknown()))
    }
}

/// File type of a target.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TargetType {
    /// Unknown, or not a path.
    #[default]
    #[serde(rename = "")]
    #[strum(serialize = "")]
    Unknown,
    /// Regular file.
    File,
    /// Folder.
    Directory,
    /// A dangling symbolic link.
    Symlink,
    /// Named pipe.
    Fifo,
    /// Socket.
    Socket,
    /// Disk or partition.
    BlockDevice,
    /// Terminal, null ...
    CharacterDevice,
}

impl TargetType {
    /// Stable name, as policies use it; empty if unknown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl From<Option<FileKind>> for TargetType {
    fn from(kind: Option<FileKind>) -> Self {
        match kind {
            None => Self::Unknown,
            Some(FileKind::File) => Self::File,
            Some(FileKind::Directory) => Self::Directory,
            Some(FileKind::Symlink) => Self::Symlink,
            Some(FileKind::Fifo) => Self::Fifo,
            Some(FileKind::Socket) => Self::Socket,
            Some(FileKind::BlockDevice) => Self::BlockDevice,
            Some(FileKind::CharacterDevice) => Self::CharacterDevice,
        }
    }
}
