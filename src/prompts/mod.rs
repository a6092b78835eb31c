//! Prompts: Markdown files with examples, and slots that are filled in one pass.
//!
//! 1. A file is a list of turns (`# system`, `# user`, `# assistant`); examples come first, the question last.
//! 2. Its slots (`{{name}}`) are checked when it is loaded: none may be missing, none may be unknown. A value is not
//!    searched for slots after it is filled in, so it cannot introduce a slot.
//! 3. A file in the operator's folder replaces the prompt of the same name. The fence of untrusted text is a slot
//!    (`data`), so a prompt without the fence does not load.
//!
//! Examples are short on purpose: few-shot prompts beat zero-shot prompts by far on small models, and each token is
//! paid for at every check.

use crate::llm::{Role, Turn};
use std::collections::BTreeMap;
use std::path::Path;

/// Name, text and slots of each shipped prompt.
const SHIPPED: &[(&str, &str, &[&str])] = &[
    ("paraphrase", include_str!("paraphrase.md"), &["data"]),
    ("analyze", include_str!("analyze.md"), &["criteria", "data"]),
    ("execute", include_str!("execute.md"), &["tools", "data"]),
    ("resume", include_str!("resume.md"), &["numbers", "data"]),
    ("confirm", include_str!("confirm.md"), &["data"]),
    ("judge", include_str!("judge.md"), &["data"]),
    ("reported", include_str!("reported.md"), &["data", "statement"]),
    ("single", include_str!("single.md"), &["criteria", "data"]),
    ("evolve-critic", include_str!("evolve-critic.md"), &["data"]),
    ("evolve-edit", include_str!("evolve-edit.md"), &["words", "data"]),
    ("evolve-explore", include_str!("evolve-explore.md"), &["data"]),
    ("research-plan", include_str!("research-plan.md"), &["data"]),
    ("research-read", include_str!("research-read.md"), &["data"]),
    ("research-write", include_str!("research-write.md"), &["data"]),
];

/// The safety criteria of AGrail: confidentiality, integrity, availability.
pub const UNIVERSAL: &str = include_str!("criteria-universal.md");

/// Longest prompt file, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Why a prompt cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The file cannot be read.
    #[error("the prompt {file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The problem.
        why: String,
    },
    /// The file does not have the form of a prompt.
    #[error("the prompt {file} is not usable: {why}")]
    Form {
        /// The file.
        file: String,
        /// The problem.
        why: String,
    },
    /// A slot has no value.
    #[error("the prompt {file} is not usable: no value for {slot}")]
    NoValue {
        /// The file or the name of the prompt.
        file: String,
        /// The slot.
        slot: String,
    },
}

/// All prompts.
#[derive(Debug, Clone)]
pub struct Prompts {
    known: BTreeMap<&'static str, Template>,
}

/// One prompt with its slots.
#[derive(Debug, Clone)]
pub struct Template {
    file: String,
    turns: Vec<(Role, Vec<Part>)>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Slot(String),
}

impl Prompts {
    /// The shipped prompts. A file in `folder` with the name of a prompt (`analyze.md`, ...) replaces it.
    ///
    /// # Errors
    /// [`PromptError`]
    pub fn load(folder: Option<&Path>) -> Result<Self, PromptError> {
        let mut known = BTreeMap::new();
        for &(name, shipped, slots) in SHIPPED {
            let own = folder.map(|f| f.join(format!("{name}.md")));
            // only a missing file falls back to the shipped prompt; an unreadable one is an error
            let absent = |file: &Path| {
                std::fs::symlink_metadata(file).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
            };
            let template = match own.filter(|file| !absent(file)) {
                None => Template::parse(name, shipped, slots)?,
                Some(file) => Template::parse(&file.display().to_string(), &load_prompt(&file)?, slots)?,
            };
            known.insert(name, template);
        }
        Ok(Self { known })
    }

    /// Whether the fixed text of a prompt contains `words`; the values of its slots do not count.
    #[must_use]
    pub fn says(&self, name: &str, words: &str) -> bool {
        let parts = self.known.get(name).into_iter().flat_map(|template| &template.turns).flat_map(|(_, parts)| parts);
        parts.filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None }).any(|t| t.contains(words))
    }

    /// The turns of a prompt with its slots filled.
    ///
    /// # Errors
    /// [`PromptError::Form`] if there is no such prompt, [`PromptError::NoValue`] if a value is missing.
    pub fn fill(&self, name: &str, values: &[(&str, &str)]) -> Result<Vec<Turn>, PromptError> {
        let unknown = || PromptError::Form { file: name.to_owned(), why: "there is no such prompt".to_owned() };
        self.known.get(name).ok_or_else(unknown)?.fill(values)
    }
}

impl Template {
    /// Parses a prompt; `file` is its name in errors.
    ///
    /// # Errors
    /// [`PromptError::Form`]
    pub fn parse(file: &str, text: &str, slots: &[&str]) -> Result<Self, PromptError> {
        let wrong = |why: String| PromptError::Form { file: file.to_owned(), why };
        let mut turns: Vec<(Role, String)> = Vec::new();
        for line in text.lines() {
            let role = match line.trim_end() {
                "# system" => Role::System,
                "# user" => Role::User,
                "# assistant" => Role::Assistant,
                _ => {
                    match turns.last_mut() {
                        Some((_, said)) => {
                            said.push_str(line);
                            said.push('\n');
                        }
                        None if line.trim().is_empty() => {}
                        None => return Err(wrong("it must begin with '# system' or '# user'".to_owned())),
                    }
                    continue;
                }
            };
            turns.push((role, String::new()));
        }
        if turns.last().is_none_or(|(role, _)| *role != Role::User) {
            return Err(wrong("its last turn must be '# user'".to_owned()));
        }
        let turns: Vec<(Role, Vec<Part>)> = turns.into_iter().map(|(role, said)| (role, parts(said.trim()))).collect();
        let mut found: Vec<&str> = Vec::new();
        for part in turns.iter().flat_map(|(_, parts)| parts) {
            if let Part::Slot(name) = part {
                if !slots.contains(&name.as_str()) {
                    return Err(wrong(format!("it has no slot {{{{{name}}}}}; it has {}", slots.join(", "))));
                }
                found.push(name);
            }
        }
        match slots.iter().find(|slot| found.iter().filter(|f| f == slot).count() != 1) {
            Some(slot) => Err(wrong(format!("the slot {{{{{slot}}}}} must appear exactly once"))),
            None => Ok(Self { file: file.to_owned(), turns }),
        }
    }

    /// The turns with the slots filled.
    ///
    /// # Errors
    /// [`PromptError::NoValue`]
    pub fn fill(&self, values: &[(&str, &str)]) -> Result<Vec<Turn>, PromptError> {
        let missing = |slot: &str| PromptError::NoValue { file: self.file.clone(), slot: slot.to_owned() };
        let value = |name: &str| values.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        let mut turns = Vec::with_capacity(self.turns.len());
        for (role, parts) in &self.turns {
            let mut text = String::new();
            for part in parts {
                match part {
                    Part::Text(said) => text.push_str(said),
                    Part::Slot(name) => {
                        text.push_str(value(name).ok_or_else(|| missing(name))?);
                    }
                }
            }
            turns.push(Turn { role: *role, text });
        }
        Ok(turns)
    }
}

fn parts(text: &str) -> Vec<Part> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        found.push(Part::Text(before.to_owned()));
        found.push(Part::Slot(name.trim().to_owned()));
        rest = behind;
    }
    found.push(Part::Text(rest.to_owned()));
    found
}

fn load_prompt(file: &Path) -> Result<String, PromptError> {
    let wrong = |why: String| PromptError::Unreadable { file: file.display().to_string(), why };
    let size = std::fs::metadata(file).map_err(|e| wrong(e.to_string()))?.len();
    if size > LONGEST {
        return Err(wrong(format!("it has {size} bytes, more than {LONGEST}")));
    }
    std::fs::read_to_string(file).map_err(|e| wrong(e.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn shipped_prompts_load_and_fill_once() {
        let prompts = Prompts::load(None).unwrap();
        let turns = prompts.fill("execute", &[("tools", ""), ("data", "{{tools}}")]).unwrap();
        assert_eq!(turns.last().unwrap().text, "{{tools}}", "a value brings no slot of its own");
        assert!(prompts.fill("execute", &[("data", "x")]).is_err(), "a value is missing");
        assert!(prompts.fill("nothing", &[]).is_err());
    }

    #[test]
    fn a_prompt_without_its_evidence_does_not_load() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("confirm.md");
        for (text, why) in [
            ("# user\nanswer true", "exactly once"),
            ("# user\n{{data}} {{data}}", "exactly once"),
            ("# user\n{{data}} {{other}}", "no slot"),
            ("{{data}}", "must begin"),
            ("# user\n{{data}}\n# assistant\nyes", "last turn"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = Prompts::load(Some(folder.path())).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("confirm.md"), "{error}");
        }
        std::fs::write(&file, "# user\nmine {{data}}").unwrap();
        let turns = Prompts::load(Some(folder.path())).unwrap().fill("confirm", &[("data", "x")]).unwrap();
        assert_eq!(turns.first().unwrap().text, "mine x");
    }
}
