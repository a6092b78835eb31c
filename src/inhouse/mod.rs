//! In-house tools: what an operator knows of a tool that the engine does not know.
//!
//! 1. A [`Row`](row::Row) describes the everyday calls of one tool of an MCP server or a framework, or of one program: what they
//!    do, and which arguments they have, as a JSON Schema. It is a TOML file that people write or edit; its examples are
//!    verified when it is loaded.
//! 2. A call that the row describes is known. The row answers what policies ask about the call as such; it never answers a
//!    forbid, an ask that is reserved for a person, or what they find about a path, an address or a table in the
//!    arguments.
//! 3. A person is asked about every other call of the tool, even if it would pass without the row.
//! 4. `schema.rs` compiles the arguments, `command.rs` turns the words of a command into such arguments, and
//!    `draft.rs` proposes a row from approved calls and from what the tool declares of itself (`declared.rs`, `help.rs`).

mod command;
mod declared;
mod draft;
mod guess;
mod help;
mod places;
mod row;
mod schema;
mod text;

pub(crate) use command::{loose, runs};
pub(crate) use declared::Declared;
pub(crate) use draft::{Seen, describes};
use row::Row;
pub use row::RowError;
pub(crate) use row::Subject;

use crate::action::Action;
use crate::effect::{self, Verb};
use crate::machine::{Account, Environment};
use crate::policy::Source;
use command::Script;
use sha2::{Digest, Sha256};

/// The rows of an operator.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<Row>,
    digest: String,
}

/// What a row says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The file of the row.
    pub file: String,
    /// What the call does, if the row describes it and says so.
    pub does: Option<(Verb, &'static str)>,
    /// Why the row does not describe it; `None` if it does.
    pub outside: Option<String>,
    /// The paths among the arguments of a described command for which the row gives folders.
    pub paths: Vec<String>,
    /// Whether other calls are denied instead of asked about.
    pub denies: bool,
}

/// The machine on which a call is made, as its account sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine<'a> {
    pub environment: &'a Environment,
    pub account: &'a Account,
}

impl Rows {
    /// Loads rows and verifies their examples.
    ///
    /// # Errors
    /// [`RowError`] with the file and the place.
    pub fn load(sources: &[Source]) -> Result<Self, RowError> {
        let rows = sources.iter().map(Row::parse).collect::<Result<Vec<_>, _>>()?;
        for (place, row) in rows.iter().enumerate() {
            if let Some(other) = rows.iter().take(place).find(|other| other.is_of_same(row)) {
                return Err(row.wrong(&format!("{} describes the same tool; keep one of them", other.file())));
            }
        }
        let mut hash = Sha256::new();
        for source in sources {
            hash.update(source.text.len().to_le_bytes());
            hash.update(&source.text);
        }
        let digest = if rows.is_empty() { String::new() } else { crate::hex(&hash.finalize()) };
        Ok(Self { rows, digest })
    }

    /// SHA-256 of the texts, hexadecimal; empty if there are none.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What a row says of a call of a tool; `None`: no row is about the tool.
    pub fn word(&self, action: &Action, machine: Option<Machine<'_>>) -> Option<Word> {
        let Action::ToolCall { server, tool, arguments } = action else { return None };
        let row = self.rows.iter().find(|row| row.is_about_tool(server.as_deref(), tool))?;
        Some(row.word(arguments, machine))
    }

    /// The programs of the rows that one of the commands runs.
    pub fn programs(&self, commands: &[Vec<String>], machine: Option<Machine<'_>>) -> Vec<String> {
        let Some(machine) = machine.filter(|_| !self.rows.is_empty()) else { return Vec::new() };
        let mut found: Vec<String> = self.rows.iter().filter_map(|row| row.program().map(str::to_owned)).collect();
        found.sort();
        found.dedup();
        let runs = |path: &String| {
            let name = path.rsplit('/').next().unwrap_or(path);
            commands
                .iter()
                .filter_map(|words| words.first())
                .any(|first| first == path || first == name && machine.environment.program(name).as_ref() == Some(path))
        };
        found.retain(runs);
        found
    }

    /// What the rows say of the commands that run a program. `name`: its name, or the path of its file; `None`: no row is
    /// about it.
    pub fn command_word(
        &self,
        name: &str,
        action: &Action,
        commands: &[Vec<String>],
        machine: Option<Machine<'_>>,
    ) -> Option<Word> {
        // a program that cannot be looked at may be another one
        let machine = machine.filter(|_| !self.rows.is_empty())?;
        let file = if name.starts_with('/') { name.to_owned() } else { machine.environment.program(name)? };
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.program() == Some(file.as_str())).collect();
        let first = rows.first()?;
        let denies = rows.iter().any(|row| row.denies());
        let strictest = |word: Word| Word { denies, ..word };
        let form = effect::normal(action, &machine.account.home);
        let script = Script { form: &form, commands };
        let calls = match script.calls(&file) {
            Ok(calls) => calls,
            Err(why) => return Some(strictest(first.said(Err(why)))),
        };
        let folder = script.folder();
        let mut said: Option<Word> = None;
        for words in calls {
            // the row with the most words of its own that the command begins with
            let row = rows.iter().filter(|row| row.begins(&words)).max_by_key(|row| row.words());
            let row = row.or(Some(first).filter(|_| words.len() == 1));
            let word = match row {
                Some(row) => row.command_word(&words, folder.as_deref(), machine),
                None => {
                    let said = first.said(Ok(()));
                    strictest(Word { outside: Some(format!("no row describes this subcommand of {file}")), ..said })
                }
            };
            if word.outside.is_some() {
                return Some(word);
            }
            let before = said.take().map(|before| before.paths).unwrap_or_default();
            said = Some(Word { paths: before.into_iter().chain(word.paths.clone()).collect(), ..word });
        }
        said
    }
}
