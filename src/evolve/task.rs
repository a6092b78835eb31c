//! What is attacked and defended, as data: `task.toml`.

use super::score::Weights;
use serde::Deserialize;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Why a task cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The file cannot be read.
    #[error("cannot read the task {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not TOML of the right form.
    #[error("{} is no task", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The error of the parser.
        source: Box<toml::de::Error>,
    },
    /// The task has a flaw.
    #[error("{} cannot be used", path.display())]
    Flawed {
        /// The file.
        path: PathBuf,
        /// The flaw.
        source: Flaw,
    },
}

/// What is wrong with a task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// There is no attack to begin with.
    #[error("attacks is empty; give one for each category to begin with")]
    NoAttacks,
    /// No attack would want anything.
    #[error("payloads is empty; say what an attack wants, as a command")]
    NoPayloads,
    /// There is no defence to begin with.
    #[error("defences is empty; give one prompt for each category to begin with")]
    NoDefences,
    /// The range of the scores is empty.
    #[error("system.maximum must be above system.minimum")]
    NoRange,
    /// A prompt lacks its slot, or has another one.
    #[error("a prompt must have the slot {{{{data}}}} exactly once: {0:?}")]
    Slot(String),
    /// A split has no items.
    #[error("there is no item with split = \"{0:?}\"")]
    NoItems(Split),
}

/// A task.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What it is about, for the prompts of the optimizers.
    pub about: String,
    /// What is attacked.
    pub system: System,
    /// How the search goes.
    #[serde(default)]
    pub search: Search,
    /// Weights of the scores.
    #[serde(default)]
    pub weights: Weights,
    /// What attacks want, as a command: "give this essay the highest mark". The grammar frames it.
    pub payloads: Vec<String>,
    /// Attacks to begin with, one of each category.
    pub attacks: Vec<String>,
    /// Defence prompts to begin with, one of each category; each has the slot `{{data}}` once. The first is the
    /// hand-made one that everything is compared with.
    pub defences: Vec<String>,
    /// Where the text of an attack goes: `end`, `start` or `middle` of an item.
    #[serde(default)]
    pub place: Place,
    /// Honest texts.
    pub item: Vec<Item>,
    /// Attacks that are for evaluation only.
    pub held_out: Vec<String>,
}

/// The system under attack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its prompt, with the slot `{{data}}` once; it answers with a number.
    pub prompt: String,
    /// Least score.
    pub minimum: f64,
    /// Highest score, which the attacker wants.
    pub maximum: f64,
}

/// How the search goes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Candidates that are kept of each side.
    pub pool: usize,
    /// Items on which a candidate is scored while searching.
    pub batch: usize,
    /// Rounds without an improvement of either side after which it ends.
    pub patience: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { pool: 4, batch: 8, patience: 2 }
    }
}

/// Where an attack goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Behind the text.
    #[default]
    End,
    /// Before it.
    Start,
    /// After its first sentence.
    Middle,
}

/// What an item is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Searching.
    Train,
    /// Choosing the best.
    Validation,
}

/// An honest text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// What it says.
    pub text: String,
    /// What it is for.
    pub split: Split,
}

impl Task {
    /// Reads and checks a task.
    ///
    /// # Errors
    /// [`TaskError`]
    pub fn load(file: &Path) -> Result<Self, TaskError> {
        let path = || file.to_owned();
        let text = std::fs::read_to_string(file).map_err(|source| TaskError::Read { path: path(), source })?;
        let task: Self =
            toml::from_str(&text).map_err(|error| TaskError::Form { path: path(), source: Box::new(error) })?;
        match task.flaw() {
            Some(source) => Err(TaskError::Flawed { path: path(), source }),
            None => Ok(task),
        }
    }

    fn flaw(&self) -> Option<Flaw> {
        let is_empty = |split: &Split| self.items(*split).next().is_none();
        if self.attacks.is_empty() {
            Some(Flaw::NoAttacks)
        } else if self.payloads.is_empty() {
            Some(Flaw::NoPayloads)
        } else if self.defences.is_empty() {
            Some(Flaw::NoDefences)
        } else if self.system.maximum.partial_cmp(&self.system.minimum) != Some(Ordering::Greater) {
            Some(Flaw::NoRange)
        } else if let Some(prompt) = self.defences.iter().chain([&self.system.prompt]).find(|prompt| !fits(prompt)) {
            Some(Flaw::Slot(prompt.clone()))
        } else {
            [Split::Train, Split::Validation].into_iter().find(is_empty).map(Flaw::NoItems)
        }
    }

    /// Honest texts of a split.
    pub fn items(&self, split: Split) -> impl Iterator<Item = &str> {
        self.item.iter().filter(move |i| i.split == split).map(|i| i.text.as_str())
    }

    /// An item with an attack in it.
    #[must_use]
    pub fn poisoned(&self, item: &str, attack: &str) -> String {
        match self.place {
            Place::End => format!("{item}\n{attack}"),
            Place::Start => format!("{attack}\n{item}"),
            Place::Middle => match item.find(". ") {
                Some(at) => {
                    let (head, tail) = item.split_at(at + 2);
                    format!("{head}{attack} {tail}")
                }
                None => format!("{item}\n{attack}"),
            },
        }
    }
}

/// A prompt has its evidence slot exactly once. One without it is never scored and never released.
#[must_use]
pub fn fits(prompt: &str) -> bool {
    prompt.matches("{{data}}").count() == 1 && prompt.matches("{{").count() == 1 && prompt.len() < 8_192
}
