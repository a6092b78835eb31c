//! What the readers of programming languages find in a source.

use crate::{Cause, Detail, UNKNOWN_SPAN};

/// Most problems of one source that are kept.
const MAX_PROBLEMS: usize = 16;

/// One effect of the source on something outside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// A role in the notation of `commands/README.md`: `delete`, `kill:process`, `script:bash`, `unknown`.
    pub role: String,
    /// Path, URL or command text; U+FFFC replaces each part that is not constant.
    pub target: String,
    /// Whether paths below the target are affected, too.
    pub recursive: bool,
    /// Whether a part of the target is not constant.
    pub dynamic: bool,
    /// Mode in octal, signal or owner.
    pub detail: Detail,
    /// Name of the called function: `os.remove`.
    pub via: String,
}

/// Role of a call of a function of an installed package that the table lacks.
pub(crate) const LIBRARY: &str = "library";

/// Roles of a module that a source loads by its name, and of a folder in which it looks for modules.
pub(crate) const MODULE: &str = "module";
pub(crate) const MODULE_FOLDER: &str = "module/folder";

/// Where the modules of a program come from.
pub trait Loader {
    /// The content of the file at an absolute path.
    fn load(&self, path: &str) -> Loaded;
}

/// A module of the program.
pub enum Loaded {
    /// Its content.
    Text(String),
    /// There is no such file.
    Missing,
    /// It cannot be read, or its content is not constant.
    Unreadable,
}

/// Why a source is not read completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether it does not parse, reaches a bound, or depends on what is known only at run time.
    pub cause: Cause,
    /// What it is about, in words.
    pub what: String,
}

/// All problems of a source, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn add(&mut self, cause: Cause, what: impl Into<String>) {
        let problem = Problem { cause, what: what.into() };
        if !self.0.contains(&problem) && self.0.len() < MAX_PROBLEMS {
            self.0.push(problem);
        }
    }

    pub(crate) fn append(&mut self, more: Self) {
        more.0.into_iter().for_each(|problem| self.add(problem.cause, problem.what));
    }
}

/// All calls of a source, as far as they can be found.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The calls with effects.
    pub calls: Vec<Call>,
    /// Why the reading is incomplete; empty if the whole source was parsed and interpreted within the bounds.
    pub problems: Vec<Problem>,
}

impl Reading {
    pub(crate) fn new(calls: Vec<Call>, problems: Problems) -> Self {
        Reading { calls, problems: problems.0 }
    }

    /// The reading of a source that cannot be read at all.
    pub(crate) fn failed(cause: Cause, what: &str) -> Self {
        Reading { calls: Vec::new(), problems: vec![Problem { cause, what: what.to_owned() }] }
    }

    /// Whether the whole source was parsed and interpreted within the bounds.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }
}

/// What a language's table says of a dotted name outside the program.
pub(crate) enum Entry<'t, R> {
    Row(&'t R),
    /// It has no effect.
    Harmless,
    /// The table lacks it.
    Missing,
}

/// No modules.
pub(crate) struct NoModules;

impl Loader for NoModules {
    fn load(&self, _: &str) -> Loaded {
        Loaded::Missing
    }
}

/// Quotes a word for a shell.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~".contains(c) || c == UNKNOWN_SPAN;
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
