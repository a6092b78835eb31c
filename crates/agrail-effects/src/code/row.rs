//! Semantics of the functions that a program calls, and their format.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All rows and names of a language, as they are written and as `build.rs` compiles them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// Modules that need no package.
    pub modules: Vec<String>,
    /// Dotted names that mean another name.
    pub alias: BTreeMap<String, String>,
    /// Constant texts.
    pub constants: BTreeMap<String, String>,
    /// Names without effects; `name.*` covers all members.
    pub harmless: Vec<String>,
    /// The rows.
    pub call: Vec<Row>,
}

/// Effects and result of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Dotted names; `kind.method` of an object of that kind, `?.method` of an unknown object.
    pub name: Vec<String>,
    /// The role of the target, in the notation of `commands/README.md`; empty if the call has no effect.
    #[serde(default)]
    pub role: String,
    /// Where the target is taken from.
    pub target: Option<Place>,
    /// Whether the call has no effect without its target.
    #[serde(default)]
    pub optional: bool,
    /// Whether paths below the target are affected, too: `always`, or the name of the option that says so.
    pub recursive: Option<String>,
    /// Place of the mode, signal or owner.
    pub detail: Option<Place>,
    /// Further effects.
    #[serde(default)]
    pub also: Vec<Part>,
    /// Kind of the returned object, which keeps the target of the call.
    pub returns: Option<String>,
    /// How the call is interpreted, if the roles of its arguments do not suffice.
    pub special: Option<Special>,
    /// `[source, effect, effect...]`; a test verifies them.
    #[serde(default)]
    pub examples: Vec<Vec<String>>,
}

/// A further effect of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The role of the target.
    pub role: String,
    /// Where the target is taken from.
    pub target: Place,
}

/// Where a target or detail is taken from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Place {
    /// A positional argument, from 0.
    At(usize),
    /// The target of the object whose method is called: `self`.
    Receiver,
    /// A fixed text: `=text`.
    Text(String),
    /// A member of the last argument: `key:`.
    Option(String),
}

/// How a call is interpreted for which roles of arguments do not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Special {
    /// A connection: options, or a port and a host.
    Connect,
    /// A command line of the shell.
    Command,
    /// A program, its arguments in a list, and options.
    Program,
    /// A list of the program and its arguments, or an object with them.
    Words,
    /// A command line as a template, whose values are quoted.
    Template,
    /// Source of the language; the last argument.
    Source,
    /// A request; options name its method.
    Request,
    /// A process receives a signal.
    Kill,
    /// A file is opened with flags.
    Open,
    /// A module by its name.
    Module,
    /// A function that takes the name of a module.
    Require,
    /// All variables of the environment.
    Environment,
    /// The value of a variable of the environment.
    Variable,
    /// The target, as a text.
    Text,
    /// The joined parts of a path.
    Join,
    /// The absolute path of parts.
    Resolve,
    /// The folder of a path.
    Dirname,
    /// The last part of a path.
    Basename,
    /// The path of a URL.
    #[serde(rename = "url path")]
    UrlPath,
    /// A new file or folder whose name begins with the first argument.
    Temporary,
    /// The characters with these numbers.
    Characters,
    /// The text that base64 encodes.
    Decode,
    /// The text in an encoding, such as base64 or hex.
    Buffer,
    /// The first argument.
    Identity,
    /// The value that a text in JSON has.
    Data,
    /// The folder of a command that was made before.
    Inside,
}

/// A word that names no place of a call.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is no place: use an index, self, =text or key:")]
pub struct NoPlace(String);

impl TryFrom<String> for Place {
    type Error = NoPlace;

    fn try_from(word: String) -> Result<Self, NoPlace> {
        if let Ok(index) = word.parse() {
            return Ok(Self::At(index));
        }
        match (word.strip_prefix('='), word.strip_suffix(':')) {
            _ if word == "self" => Ok(Self::Receiver),
            (Some(text), _) => Ok(Self::Text(text.to_owned())),
            (_, Some(key)) => Ok(Self::Option(key.to_owned())),
            _ => Err(NoPlace(word)),
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        match place {
            Place::At(index) => index.to_string(),
            Place::Receiver => "self".into(),
            Place::Text(text) => format!("={text}"),
            Place::Option(key) => format!("{key}:"),
        }
    }
}
