//! Effects, result and special interpretation of a call.

use serde::Deserialize;

/// How the reader interprets a call for which roles of arguments do not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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
    /// A table is loaded from a file or a URL.
    #[serde(rename = "read file or url")]
    ReadFileOrUrl,
    /// A command line runs.
    Command,
    /// A program runs with a list of arguments.
    Exec,
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
