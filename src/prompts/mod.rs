//! Prompts: Markdown files with examples, and slots that are filled in one pass.
//!
//! 1. A file is a list of turns (`# system`, `# user`, `# assistant`); examples come first, the question last. The first
//!    turn of an example may name its family of actions (`# user: files`), so that an experiment can leave the family
//!    out that it measures, and a tool that it calls (`# user: services, calls os`): such an example is used only where
//!    that tool is offered.
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
    turns: Vec<Saying>,
}

/// One turn.
#[derive(Debug, Clone)]
struct Saying {
    role: Role,
    /// The example that it belongs to.
    example: Option<Example>,
    parts: Vec<Part>,
}

/// What an example is about.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Example {
    /// The family of actions: `files`, `services`, `messages`, ...
    family: String,
    /// The tool that it calls.
    calls: Option<String>,
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
        let parts = self.known.get(name).into_iter().flat_map(|template| &template.turns).flat_map(|said| &said.parts);
        parts.filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None }).any(|t| t.contains(words))
    }

    /// The families of actions that examples are from.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        let turns = self.known.values().flat_map(|template| &template.turns);
        turns.filter_map(|said| said.example.as_ref()).map(|example| example.family.as_str())
    }

    /// The same prompts without the examples of a family of actions.
    #[must_use]
    pub fn without(mut self, family: &str) -> Self {
        for template in self.known.values_mut() {
            template.turns.retain(|said| said.example.as_ref().is_none_or(|example| example.family != family));
        }
        self
    }

    /// The turns of a prompt with its slots filled, without examples that call a tool.
    ///
    /// # Errors
    /// [`PromptError::Form`] if there is no such prompt, [`PromptError::NoValue`] if a value is missing.
    pub fn fill(&self, name: &str, values: &[(&str, &str)]) -> Result<Vec<Turn>, PromptError> {
        self.offering(&[], name, values)
    }

    /// The turns of a prompt with its slots filled. Of the examples that call a tool, those that call one of `tools` are
    /// used.
    ///
    /// # Errors
    /// [`PromptError::Form`] if there is no such prompt, [`PromptError::NoValue`] if a value is missing.
    pub(crate) fn offering(
        &self,
        tools: &[&str],
        name: &str,
        values: &[(&str, &str)],
    ) -> Result<Vec<Turn>, PromptError> {
        let unknown = || PromptError::Form { file: name.to_owned(), why: "there is no such prompt".to_owned() };
        self.known.get(name).ok_or_else(unknown)?.offering(tools, values)
    }
}

impl Template {
    /// Parses a prompt; `file` is its name in errors.
    ///
    /// # Errors
    /// [`PromptError::Form`]
    pub fn parse(file: &str, text: &str, slots: &[&str]) -> Result<Self, PromptError> {
        let wrong = |why: String| PromptError::Form { file: file.to_owned(), why };
        let mut turns: Vec<(Role, Option<Example>, String)> = Vec::new();
        for line in text.lines() {
            let Some((role, example)) = heading(line).map_err(wrong)? else {
                match turns.last_mut() {
                    Some((.., said)) => {
                        said.push_str(line);
                        said.push('\n');
                    }
                    None if line.trim().is_empty() => {}
                    None => return Err(wrong("it must begin with '# system' or '# user'".to_owned())),
                }
                continue;
            };
            let example = example.or_else(|| turns.last().and_then(|(_, example, _)| example.clone()));
            turns.push((role, example, String::new()));
        }
        match turns.last_mut() {
            // the question is no example
            Some((Role::User, example, _)) => *example = None,
            _ => return Err(wrong("its last turn must be '# user'".to_owned())),
        }
        let said = |(role, example, said): (Role, Option<Example>, String)| Saying {
            role,
            example,
            parts: parts(said.trim()),
        };
        let turns: Vec<Saying> = turns.into_iter().map(said).collect();
        let mut found: Vec<&str> = Vec::new();
        for said in &turns {
            for part in &said.parts {
                let Part::Slot(name) = part else { continue };
                if !slots.contains(&name.as_str()) {
                    return Err(wrong(format!("it has no slot {{{{{name}}}}}; it has {}", slots.join(", "))));
                }
                if said.example.is_some() {
                    return Err(wrong(format!("the slot {{{{{name}}}}} is in an example, which may be left out")));
                }
                found.push(name);
            }
        }
        match slots.iter().find(|slot| found.iter().filter(|f| f == slot).count() != 1) {
            Some(slot) => Err(wrong(format!("the slot {{{{{slot}}}}} must appear exactly once"))),
            None => Ok(Self { file: file.to_owned(), turns }),
        }
    }

    /// The turns with the slots filled, without examples that call a tool.
    ///
    /// # Errors
    /// [`PromptError::NoValue`]
    pub fn fill(&self, values: &[(&str, &str)]) -> Result<Vec<Turn>, PromptError> {
        self.offering(&[], values)
    }

    /// The turns with the slots filled, where `tools` are offered.
    fn offering(&self, tools: &[&str], values: &[(&str, &str)]) -> Result<Vec<Turn>, PromptError> {
        let missing = |slot: &str| PromptError::NoValue { file: self.file.clone(), slot: slot.to_owned() };
        let value = |name: &str| values.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        let offered = |example: &Example| example.calls.as_deref().is_none_or(|tool| tools.contains(&tool));
        let mut turns = Vec::with_capacity(self.turns.len());
        for said in self.turns.iter().filter(|said| said.example.as_ref().is_none_or(offered)) {
            let mut text = String::new();
            for part in &said.parts {
                match part {
                    Part::Text(said) => text.push_str(said),
                    Part::Slot(name) => {
                        text.push_str(value(name).ok_or_else(|| missing(name))?);
                    }
                }
            }
            turns.push(Turn { role: said.role, text });
        }
        Ok(turns)
    }
}

/// The role and the example that a heading names; `None` for any other line.
fn heading(line: &str) -> Result<Option<(Role, Option<Example>)>, String> {
    let line = line.trim_end();
    let (name, about) = line.split_once(':').map_or((line, None), |(name, about)| (name, Some(about)));
    let role = match name {
        "# system" => Role::System,
        "# user" => Role::User,
        "# assistant" => Role::Assistant,
        _ => return Ok(None),
    };
    let Some(about) = about else { return Ok(Some((role, None))) };
    let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let (family, calls) = match about.split_once(',') {
        Some((family, tool)) => (family.trim(), Some(tool.trim().strip_prefix("calls ").unwrap_or_default().trim())),
        None => (about.trim(), None),
    };
    if role != Role::User || !word(family) || !calls.is_none_or(word) {
        return Err(format!(
            "'{line}' is no heading; an example begins with '# user: FAMILY' or '# user: FAMILY, calls TOOL'"
        ));
    }
    Ok(Some((role, Some(Example { family: family.to_owned(), calls: calls.map(str::to_owned) }))))
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
    fn examples_follow_the_tools_and_leave_a_family_out() {
        let prompts = Prompts::load(None).unwrap();
        let said = |prompts: &Prompts, tools: &[&str]| {
            let turns = prompts.offering(tools, "execute", &[("tools", ""), ("data", "?")]).unwrap();
            turns.into_iter().map(|turn| turn.text).collect::<Vec<String>>()
        };
        let (with, other, without) = (said(&prompts, &["os"]), said(&prompts, &["web"]), said(&prompts, &[]));
        let calls = |turns: &[String]| turns.iter().filter(|text| text.contains(r#""tool":"os""#)).count();
        assert_eq!((calls(&with), calls(&other), calls(&without)), (1, 0, 0));
        assert_eq!((with.len() - without.len(), with.len() % 2, without.len() % 2), (4, 0, 0), "turns alternate");
        let fewer = said(&prompts.without("messages"), &["os"]);
        assert!(with.len() - fewer.len() == 2 && !fewer.iter().any(|text| text.contains("post(channel")));
        assert_eq!(fewer.last().unwrap(), "?");
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
            ("# user: files\n{{data}}\n# assistant\nyes\n# user\nno", "left out"),
            ("# user: \nx\n# assistant\nyes\n# user\n{{data}}", "no heading"),
            ("# user: files, os\nx\n# assistant\nyes\n# user\n{{data}}", "no heading"),
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
