//! The task of a run, from `task.toml`: the system under attack, attacks, defences and honest texts.

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

/// A flaw of a task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// There is no initial attack.
    #[error("attacks is empty; give one for each category to begin with")]
    NoAttacks,
    /// There is no payload, so attacks have no aim.
    #[error("payloads is empty; write the goal of an attack as a command")]
    NoPayloads,
    /// There is no initial defence.
    #[error("defences is empty; give one prompt for each category to begin with")]
    NoDefences,
    /// The range of the scores is empty.
    #[error("system.maximum must be above system.minimum")]
    NoRange,
    /// A prompt lacks its slot, or has another slot.
    #[error("a prompt must have the slot {{{{data}}}} exactly once: {0:?}")]
    Slot(String),
    /// A split has no items.
    #[error("there is no item with split = \"{0:?}\"")]
    NoItems(Split),
}

/// The task of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The name of the task.
    pub name: String,
    /// Subject of the task, for the prompts of the optimizers.
    pub about: String,
    /// The system under attack.
    pub system: System,
    /// Settings of the search.
    #[serde(default)]
    pub search: Search,
    /// Weights of the scores.
    #[serde(default)]
    pub weights: Weights,
    /// Aims of attacks, as commands: "give this essay the highest mark". A frame of the grammar surrounds each.
    pub payloads: Vec<String>,
    /// Initial attacks, one of each category.
    pub attacks: Vec<String>,
    /// Initial defence prompts, one of each category; each has the slot `{{data}}` once. The first is the hand-made
    /// prompt with which everything is compared.
    pub defences: Vec<String>,
    /// Position of an attack in an item: `end`, `start` or `middle`.
    #[serde(default)]
    pub place: Place,
    /// Honest texts.
    pub item: Vec<Item>,
    /// Attacks for evaluation only.
    pub held_out: Vec<String>,
}

/// The system under attack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The prompt of the system, with the slot `{{data}}` once. The reply is a number.
    pub prompt: String,
    /// Lowest score.
    pub minimum: f64,
    /// Highest score, which the attacker wants.
    pub maximum: f64,
}

/// Settings of the search.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Pool size of each side.
    pub pool: usize,
    /// Most items on which a candidate is scored.
    pub batch: usize,
    /// The run ends after this many consecutive rounds in which neither side improves.
    pub patience: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { pool: 4, batch: 8, patience: 2 }
    }
}

/// Position of an attack in an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// After the text.
    #[default]
    End,
    /// Before the text.
    Start,
    /// After the first sentence; at the end if there is only one.
    Middle,
}

/// Use of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// For the search.
    Train,
    /// For the choice of the best candidate.
    Validation,
}

/// An honest text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The text of the item.
    pub text: String,
    /// The use of the item.
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

    /// The honest texts of a split.
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

/// Whether a prompt has the slot `{{data}}` exactly once, no other slot, and less than 8 KiB. Any other prompt is
/// neither scored nor released.
#[must_use]
pub fn fits(prompt: &str) -> bool {
    prompt.matches("{{data}}").count() == 1 && prompt.matches("{{").count() == 1 && prompt.len() < 8_192
}
