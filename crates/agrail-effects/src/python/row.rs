//! Semantics of the functions that a program calls: effects, results, harmless names.

use serde::{Deserialize, Serialize};

/// All rows and names, as `build.rs` compiles them from `calls.toml`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Calls {
    /// The rows.
    pub rows: Vec<Row>,
    /// Dotted names, each with the index of its row.
    pub names: Vec<(String, usize)>,
    /// Dotted names that mean another name.
    pub alias: Vec<(String, String)>,
    /// Constants of modules.
    pub constants: Vec<(String, Constant)>,
    /// Modules without effects.
    pub pure: Vec<String>,
    /// Names without effects; `module.*` covers a whole module.
    pub harmless: Vec<String>,
    /// Names that need no import.
    pub builtins: Vec<String>,
}

/// Effects and result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The role of the target; empty if the call has no effect.
    pub role: String,
    /// Place of the target.
    pub target: Option<Place>,
    /// Name of the target as a keyword argument.
    pub keyword: Option<String>,
    /// Target if the argument is left out.
    pub default: Option<String>,
    /// Whether the call has no effect without its argument.
    pub optional: bool,
    /// Whether paths below the target are affected, too.
    pub recursive: bool,
    /// Place of the mode, signal or owner.
    pub detail: Option<Place>,
    /// Further effects.
    pub also: Vec<Part>,
    /// Kind of the returned object, which keeps the target of the call; `local`: a harmless value.
    pub returns: Option<String>,
    /// How the call is interpreted (`special`), if the roles of its arguments do not suffice.
    pub special: Option<Special>,
}

/// A further effect of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The role of the target.
    pub role: String,
    /// Place of the target.
    pub target: Place,
    /// Name of the target as a keyword argument.
    pub keyword: Option<String>,
    /// Whether the effect needs the argument.
    pub optional: bool,
}

/// Where a target or detail is taken from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// A positional argument, from 0.
    At(usize),
    /// The target of the object whose method is called.
    Receiver,
    /// A keyword argument.
    Keyword(String),
    /// A fixed text.
    Text(String),
}

/// The value of a constant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Constant {
    /// A number, e.g. `os.O_RDONLY`.
    Number(i64),
    /// A text, e.g. `os.sep`.
    Text(String),
}

/// How the reader interprets a call for which roles of arguments do not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Special {
    /// `open(path, mode)`: the mode decides between reading and writing.
    Open,
    /// `os.open(path, flags)`.
    #[serde(rename = "os.open")]
    OsOpen,
    /// An archive is opened.
    Archive,
    /// An archive is extracted.
    Extract,
    /// A file is added to an archive.
    Added,
    /// A file is set to a length.
    Truncate,
    /// Content is written at once.
    Grow,
    /// The content of a file is read at once.
    Content,
    /// The entries of a folder.
    ListDir,
    /// The files below a folder.
    Walk,
    /// The files that match a pattern.
    Glob,
    /// The working folder changes.
    Chdir,
    /// `fileinput.input`.
    FileInput,
    /// A temporary file or folder is created.
    Temporary,
    /// A folder is packed into an archive whose name gets the ending of its format.
    Pack,
    /// A table is loaded from a file or a URL.
    #[serde(rename = "read file or url")]
    ReadFileOrUrl,
    /// A command line runs.
    Command,
    /// A program runs with a list of arguments.
    Exec,
    /// The call does what a command line of a program does: its texts are the arguments.
    Program,
    /// A method of a client does what a subcommand of a program does: `client.list_buckets()`.
    Client,
    /// Python source runs.
    Source,
    /// Python source is compiled.
    Compile,
    /// A module is imported by name.
    Import,
    /// Deserialised data may run code.
    Untrusted,
    /// YAML may run code unless the loader is safe.
    Yaml,
    /// A process receives a signal.
    Kill,
    /// The process forks.
    Fork,
    /// A child process or thread starts.
    Start,
    /// A thread or child process is created.
    Thread,
    /// All processes.
    #[serde(rename = "process_iter")]
    ProcessIter,
    /// A process by its number.
    #[serde(rename = "psutil.Process")]
    Process,
    /// The call has an effect only with an argument.
    #[serde(rename = "with argument")]
    WithArgument,
    /// Environment variables change.
    Variable,
    /// A URL is requested with the verb in the name of the function.
    Http,
    /// A URL is requested with the verb in an argument.
    Request,
    /// A request is prepared.
    #[serde(rename = "make request")]
    MakeRequest,
    /// An HTTP session starts.
    Session,
    /// A connection to a host and port.
    Address,
    /// A connection is accepted.
    Accept,
    /// A parser of the command line, its arguments and its result.
    Arguments,
    /// A data agent loads a table.
    #[serde(rename = "data load")]
    DataLoad,
    /// A data agent filters rows.
    #[serde(rename = "data filter")]
    DataFilter,
    /// A data agent takes values of columns.
    #[serde(rename = "data value")]
    DataValue,
    /// A data agent runs an SQL statement.
    #[serde(rename = "data sql")]
    DataSql,
    /// A data agent computes without reading data.
    #[serde(rename = "data help")]
    DataHelp,
}

impl Special {
    /// Whether the call is one of a data agent (`data`).
    pub fn of_data_agent(self) -> bool {
        matches!(self, Self::DataLoad | Self::DataFilter | Self::DataValue | Self::DataSql | Self::DataHelp)
    }
}
