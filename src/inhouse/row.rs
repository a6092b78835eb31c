//! One row: a TOML file about one tool or program.

use super::schema::Arguments;
use super::{Machine, Word, command, places};
use crate::effect::Verb;
use crate::machine::{Account, Environment};
use crate::policy::Source;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Largest file of a row, in bytes.
const LARGEST: usize = 256 * 1024;
/// Longest file of a program that is hashed, in bytes.
const PROGRAM: usize = 256 * 1024 * 1024;
/// Longest arguments of a call that a row may describe, in bytes of JSON.
const CALL: usize = 256 * 1024;

/// Why a row could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct RowError {
    /// File name.
    file: String,
    /// The place and the problem.
    problem: String,
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A tool of an MCP server, or one without a server.
    Tool {
        /// Name of the server.
        server: Option<String>,
        /// Name of the tool.
        tool: String,
    },
    /// A program, by the path of its file, and the words with which its commands begin.
    Program {
        /// Absolute path.
        path: String,
        /// Subcommand.
        words: Vec<String>,
    },
}

/// A row.
#[derive(Debug)]
pub(super) struct Row {
    file: String,
    subject: Subject,
    does: Option<(Verb, &'static str)>,
    denies: bool,
    /// SHA-256 of the program's file.
    digest: Option<String>,
    arguments: Arguments,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    tool: Option<String>,
    server: Option<String>,
    program: Option<String>,
    #[serde(default)]
    words: Vec<String>,
    digest: Option<String>,
    does: Option<Does>,
    #[serde(default)]
    outside: Outside,
    #[serde(default)]
    required: Vec<String>,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    examples: Vec<Example>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Does {
    Read,
    Write,
    Send,
    Pay,
    Delete,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outside {
    #[default]
    Ask,
    Deny,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    passes: bool,
    arguments: Option<Value>,
    command: Option<Vec<String>>,
    cwd: Option<String>,
}

impl Row {
    /// Parses a row and verifies its examples.
    pub(super) fn parse(source: &Source) -> Result<Self, RowError> {
        let wrong = |problem: String| RowError { file: source.file.clone(), problem };
        if source.text.len() > LARGEST {
            return Err(wrong(format!("it is larger than {} KiB", LARGEST >> 10)));
        }
        let text: Text = toml::from_str(&source.text).map_err(|problem| wrong(problem.to_string()))?;
        let subject = subject(&text).map_err(|problem| wrong(problem.to_owned()))?;
        let arguments = Arguments::new(&text.arguments, &text.required).map_err(wrong)?;
        let hex = |digest: &String| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if text.digest.as_ref().is_some_and(|digest| !hex(digest)) {
            return Err(wrong("'digest' is the SHA-256 of the file: 64 hexadecimal digits".to_owned()));
        }
        let row = Self {
            file: source.file.clone(),
            subject,
            does: text.does.map(Does::effect),
            denies: text.outside == Outside::Deny,
            digest: text.digest.map(|digest| digest.to_lowercase()),
            arguments,
        };
        for (number, example) in text.examples.iter().enumerate() {
            row.verify(example).map_err(|problem| wrong(format!("example {}: {problem}", number + 1)))?;
        }
        Ok(row)
    }

    fn verify(&self, example: &Example) -> Result<(), String> {
        let found = match (&example.arguments, &example.command, &self.subject) {
            (Some(arguments), None, Subject::Tool { .. }) => self.describes(arguments),
            (None, Some(command), Subject::Program { words, .. }) => match self.own(command, example.cwd.as_deref()) {
                Some(arguments) => arguments.and_then(|arguments| self.arguments.describe(&arguments)),
                None => Err(format!("the command does not begin with {}", words.join(" "))),
            },
            _ => return Err("give 'arguments' for a tool, or 'command' for a program".to_owned()),
        };
        match (example.passes, found) {
            (true, Err(why)) => Err(format!("it should pass, but {why}")),
            (false, Ok(())) => Err("it should not pass, but all its arguments are described".to_owned()),
            _ => Ok(()),
        }
    }

    pub(super) fn wrong(&self, problem: &str) -> RowError {
        RowError { file: self.file.clone(), problem: problem.to_owned() }
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn is_of_same(&self, other: &Self) -> bool {
        self.subject == other.subject
    }

    /// A row without a server is about the tools of this name of all servers.
    pub(super) fn is_about_tool(&self, of: Option<&str>, name: &str) -> bool {
        matches!(&self.subject, Subject::Tool { server, tool }
            if tool == name && (server.is_none() || server.as_deref() == of))
    }

    /// Whether it denies what it does not describe.
    pub(super) fn denies(&self) -> bool {
        self.denies
    }

    /// The path of its program.
    pub(super) fn program(&self) -> Option<&str> {
        match &self.subject {
            Subject::Program { path, .. } => Some(path),
            Subject::Tool { .. } => None,
        }
    }

    /// How many words the commands begin with.
    pub(super) fn words(&self) -> usize {
        match &self.subject {
            Subject::Program { words, .. } => words.len(),
            Subject::Tool { .. } => 0,
        }
    }

    /// The arguments of a command of its program whose operands begin with its words, without these; `None` if they do not.
    /// `words`: what follows the program; options may stand before its words.
    fn own(&self, words: &[String], folder: Option<&str>) -> Option<Result<Value, String>> {
        let Subject::Program { words: begins, .. } = &self.subject else { return None };
        if words.starts_with(begins) {
            let rest = words.get(begins.len()..).unwrap_or_default();
            return Some(command::arguments(rest, &self.arguments, folder));
        }
        let skip = command::options_before(words, &self.arguments);
        let (before, rest) = words.split_at_checked(skip)?;
        let rest = rest.strip_prefix(begins.as_slice())?;
        let whole: Vec<String> = before.iter().chain(rest).cloned().collect();
        Some(command::arguments(&whole, &self.arguments, folder))
    }

    /// Whether the words of a command begin with its words, perhaps behind options.
    pub(super) fn begins(&self, words: &[String]) -> bool {
        self.own(words, None).is_some()
    }

    /// What it says of a call of its tool.
    pub(super) fn word(&self, arguments: &Value, machine: Option<Machine<'_>>) -> Word {
        let described = self.describes(arguments);
        let led = described.and_then(|()| machine.map_or(Ok(()), |machine| self.leads(arguments, machine)));
        self.said(led)
    }

    /// What it says of a command of its program; `words`: what follows the program; `folder`: the working directory, if
    /// it is known.
    pub(super) fn command_word(&self, words: &[String], folder: Option<&str>, machine: Machine<'_>) -> Word {
        let mut paths = Vec::new();
        let found = self.is_the_same_file(machine).and_then(|()| {
            // what every program answers
            if matches!(words, [only] if only == "--help" || only == "--version") {
                return Ok(());
            }
            let arguments = self.own(words, folder).unwrap_or_else(|| Err("it has another subcommand".to_owned()))?;
            self.arguments.describe(&arguments)?;
            paths = places::paths(self.arguments.schema(), &arguments);
            self.leads(&arguments, machine)
        });
        Word { paths, ..self.said(found) }
    }

    /// What it says of a call that it describes or, for a reason, does not describe.
    pub(super) fn said(&self, found: Result<(), String>) -> Word {
        let does = self.does.filter(|_| found.is_ok());
        Word {
            file: self.file.clone(),
            does,
            outside: found.err().map(|why| format!("{} does not describe this call: {why}", self.file)),
            denies: self.denies,
            paths: Vec::new(),
        }
    }

    /// Whether all arguments are described; otherwise the reason, which begins with an argument or "it".
    pub(super) fn describes(&self, arguments: &Value) -> Result<(), String> {
        let none = json!({});
        let arguments = if arguments.is_null() { &none } else { arguments };
        if serde_json::to_string(arguments).map_or(usize::MAX, |text| text.len()) > CALL {
            return Err("its arguments are too long to compare".to_owned());
        }
        self.arguments.describe(arguments)
    }

    /// Follows the links of the paths among the arguments.
    fn leads(&self, arguments: &Value, Machine { environment, account }: Machine<'_>) -> Result<(), String> {
        let resolved = |path: &str| environment.path(path, account).resolved;
        places::lead(self.arguments.schema(), arguments, &account.home, &resolved)
    }

    /// Whether its program is the file that the operator has seen: by its digest, or because the account cannot change it.
    fn is_the_same_file(&self, Machine { environment, account }: Machine<'_>) -> Result<(), String> {
        let Some(path) = self.program() else { return Ok(()) };
        match &self.digest {
            Some(digest) if sha256(environment, path).as_ref() == Some(digest) => Ok(()),
            Some(_) => Err(format!("{path} is not the file whose digest the row has")),
            None if is_fixed(path, environment, account) => Ok(()),
            None => Err(format!("the account can change {path}; add its digest to the row")),
        }
    }
}

/// SHA-256 of a file, hexadecimal; `None` if it cannot be read.
fn sha256(environment: &Environment, path: &str) -> Option<String> {
    let content = environment.read_script(path, PROGRAM).ok()?;
    Some(crate::hex(&Sha256::digest(&content)))
}

/// Whether the account can neither write a file nor put another one in its place.
fn is_fixed(path: &str, environment: &Environment, account: &Account) -> bool {
    let facts = environment.path(path, account);
    let file = facts.writable == Some(false) && facts.removable == Some(false) && !facts.mine;
    let mut above = std::path::Path::new(facts.resolved.as_str()).ancestors().skip(1);
    file && !facts.resolved.is_empty()
        && above.all(|folder| {
            let folder = environment.path(&folder.to_string_lossy(), account);
            !folder.mine && folder.writable == Some(false)
        })
}

impl Does {
    fn effect(self) -> (Verb, &'static str) {
        match self {
            Self::Read => (Verb::Read, ""),
            Self::Write => (Verb::Write, ""),
            Self::Send => (Verb::Send, "message"),
            Self::Pay => (Verb::Send, "payment"),
            Self::Delete => (Verb::Delete, ""),
        }
    }
}

fn subject(text: &Text) -> Result<Subject, &'static str> {
    match (&text.tool, &text.program) {
        (Some(tool), None) if !tool.is_empty() => {
            if !text.words.is_empty() || text.digest.is_some() {
                return Err("'words' and 'digest' belong to a program");
            }
            Ok(Subject::Tool { server: text.server.clone(), tool: tool.clone() })
        }
        (None, Some(program)) if program.starts_with('/') => {
            if text.server.is_some() || text.does.is_some() {
                return Err("'server' and 'does' belong to a tool");
            }
            Ok(Subject::Program { path: program.clone(), words: text.words.clone() })
        }
        (None, Some(_)) => Err("'program' must be the absolute path of its file"),
        _ => Err("say what it is about: either 'tool' or 'program'"),
    }
}
