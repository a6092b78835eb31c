//! What a host calls things: its events, fields, tools, arguments and answers, one file of data for each host
//! (`hosts/*.toml`).
//!
//! A field is found by the first of its names that the event has; a name that begins with `/` is a JSON pointer. An event
//! that the file does not list is decided. A tool that it does not list is read as `generic.toml` says, and if that does
//! not know it either, by its arguments.

use serde::Deserialize;
use std::collections::BTreeMap;

/// One file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// The host's own name.
    pub title: String,
    /// Versions, and how the facts are known: from a run, from source code, or from documentation.
    pub known_from: String,
    /// Calls that reach no hook, and what the host does where it should ask or block.
    pub gaps: String,
    /// Fields with the name of the event.
    pub event: Vec<String>,
    pub events: Events,
    pub fields: Fields,
    /// Events that name no tool, by name: the tool and its arguments.
    #[serde(default)]
    pub implied: BTreeMap<String, Implied>,
    pub tools: Tools,
    #[serde(default)]
    pub prompters: Prompters,
    #[serde(default)]
    pub servers: Servers,
    #[serde(default)]
    pub answers: Answers,
    /// How the hook is put into the host's settings.
    pub install: Option<Install>,
    /// Where a prompt goes on with the content of files that the user has named in it.
    #[serde(default)]
    pub attached: String,
    /// The host can type into a running program, and runs no hook then.
    #[serde(default)]
    pub types: bool,
    /// Values of the permission mode in which the host puts an ask to a person; none: it never does. An event without a
    /// mode counts as one in which it does.
    #[serde(default)]
    pub asks_in: Vec<String>,
}

/// Names of events.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Events {
    /// After a call.
    pub after: Vec<String>,
    /// Those of them that do not hold what the call has returned.
    pub unseen: Vec<String>,
    /// A prompt of the user.
    pub prompt: Vec<String>,
    /// Irrelevant to the guard.
    pub ignored: Vec<String>,
    /// Before a call. All names that are listed nowhere count as such, too.
    pub before: Vec<String>,
}

/// Names of the fields of an event.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Fields {
    pub session: Vec<String>,
    /// Id of the call.
    pub call: Vec<String>,
    pub cwd: Vec<String>,
    pub tool: Vec<String>,
    pub input: Vec<String>,
    /// Those of them that may be a text with JSON in it, or hold such texts.
    pub packed: Vec<String>,
    /// What the call has returned.
    pub result: Vec<String>,
    /// Error text of a failed call.
    pub error: Vec<String>,
    pub prompt: Vec<String>,
    /// Who has written the prompt.
    pub prompter: Vec<String>,
    /// Fields that only events of a subagent have.
    pub subagent: Vec<String>,
    /// The whole request of the user.
    pub request: Vec<String>,
    /// Path of the host's transcript.
    pub transcript: Vec<String>,
    /// Permission mode.
    pub mode: Vec<String>,
    /// MCP server of the tool.
    pub server: Vec<String>,
}

/// Who writes prompts.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Prompters {
    /// Values of the field `prompter` that mean the user. An event that does not say means the user, too.
    pub users: Vec<String>,
}

/// A tool that follows from the name of the event.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Implied {
    pub tool: String,
    /// Argument, and the field that holds it.
    pub arguments: BTreeMap<String, String>,
}

/// Built-in tools of the host, by name.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tools {
    /// They run a command of the shell.
    pub shells: Vec<String>,
    /// Arguments with the command: a text, or a list of words.
    pub command: Vec<String>,
    /// Arguments with a list of commands.
    pub commands: Vec<String>,
    /// Arguments with the folder in which the command runs.
    pub folder: Vec<String>,
    /// The argument that says whether the command is typed into what runs already; without a text nothing is typed.
    pub typed: String,
    /// They run code of a language.
    pub code: BTreeMap<String, Code>,
    /// They fetch the URL in this argument, all URLs in its text, or those of a list; several names for the argument are
    /// separated by spaces.
    pub fetches: BTreeMap<String, String>,
    /// They apply a patch, from one of these arguments or as their whole input.
    pub patches: BTreeMap<String, Vec<String>>,
    /// Arguments of built-in tools that are paths; relative ones are below the working directory.
    pub paths: Vec<String>,
    /// They need this argument.
    pub needs: BTreeMap<String, String>,
    /// They look at the working directory if no path is given.
    pub searches: Vec<String>,
    /// They do what this argument says.
    pub modes: BTreeMap<String, String>,
    /// They do what a tool with this name does, for hosts whose names say little. With a mode: `TOOL MODE`, or else `TOOL`.
    pub like: BTreeMap<String, String>,
    /// Names of arguments of such a tool, and what they are usually called.
    pub renames: BTreeMap<String, String>,
    /// They touch nothing outside the conversation. Calls of a subagent are events of their own.
    pub conversation: Vec<String>,
    /// They return only what the agent itself has written.
    pub own: Vec<String>,
    /// They return the user's own files.
    pub local: Vec<String>,
    /// They run a subagent.
    pub agents: Vec<String>,
}

impl Tools {
    /// Whether the file says anything about a tool.
    pub(crate) fn know(&self, tool: &str) -> bool {
        let lists = [&self.shells, &self.searches, &self.conversation, &self.own, &self.local, &self.agents];
        let listed = lists.into_iter().flatten().any(|known| known == tool);
        let maps = [&self.fetches, &self.needs, &self.like];
        listed
            || maps.iter().any(|map| map.contains_key(tool))
            || self.code.contains_key(tool)
            || self.patches.contains_key(tool)
    }
}

/// Code in an argument; with an empty name, the whole input, of which nothing is known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Code {
    pub language: String,
    pub argument: String,
}

/// How the tools of MCP servers are named.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Servers {
    /// Before the name of the server.
    pub prefix: String,
    /// Between the server and the tool; empty: the name does not tell the server. Both empty: the name tells nothing.
    pub separator: String,
    /// A field and the value that it has for such a tool, and the field with its arguments then.
    pub marked: Option<(String, String, String)>,
}

/// JSON objects with `REASON` in the place of the reason and `EVENT` in that of the event's name, said with exit code 0. An answer without one is given by the exit
/// code alone: 0, or 2 with the reason on standard error.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Answers {
    /// Said only if the settings want it: it overrides the host's own permissions.
    pub allow: Option<String>,
    /// For modes in which the host puts it to a person.
    pub ask: Option<String>,
    pub deny: Option<String>,
    /// For a call that is blocked because it cannot be decided or nobody can be asked, where exit code 2 does not block or
    /// loses the reason.
    pub block: Option<String>,
    /// For a host that takes silence for a failure.
    pub silence: Option<String>,
}

/// The settings of a host that run hooks: JSON with lists of hooks by event, or files of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Install {
    /// A variable with the folder that holds the user's settings.
    #[serde(default)]
    pub variable: String,
    /// The folder below that one, if the settings are not in it directly.
    #[serde(default)]
    pub below: String,
    /// The user's file, below the home.
    pub user: String,
    /// The project's file.
    pub project: String,
    /// The administrator's file.
    pub machine: Option<String>,
    /// Events of calls.
    pub tools: Vec<String>,
    /// Other events.
    pub others: Vec<String>,
    /// The matcher of all tools; none: the host needs none.
    pub matcher: Option<String>,
    /// The lists hold hooks, not groups of them.
    #[serde(default)]
    pub flat: bool,
    /// A hook, with `COMMAND` in the place of the command line.
    pub entry: String,
    /// Other fields that the file must have.
    pub root: Option<String>,
    /// The paths above are folders, and each event is a script in them.
    #[serde(default)]
    pub scripts: bool,
    /// The host's own shell blocks the call if it cannot start the command at all.
    #[serde(default)]
    pub or_block: bool,
    /// The file is a plugin of our own.
    #[serde(default)]
    pub plugin: bool,
    /// Seconds after which the command gives up, if the host does not wait for two minutes.
    #[serde(default = "usual")]
    pub limit_s: u64,
}

fn usual() -> u64 {
    110
}
