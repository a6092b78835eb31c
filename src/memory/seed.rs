//! Checklists that ship with the engine or come from an operator (`memory-seeds/*.toml`).
//!
//! 1. A file is parsed, and its `match` and `not` examples are verified before anything is written.
//! 2. Ids derive from file and name, so seeding again changes nothing; a changed seed is a new version.
//! 3. What an operator quarantined or retired stays so.

use super::Memory;
use super::entry::{Authority, Entry, Key, LearnedCheck, Provenance, Status, Trigger, hex};
use super::error::MemoryError;
use super::store::{Head, Vector};
use crate::effect::Verb;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The shipped files.
const SHIPPED: &[(&str, &str)] = &[
    ("confidentiality.toml", include_str!("../../memory-seeds/confidentiality.toml")),
    ("integrity.toml", include_str!("../../memory-seeds/integrity.toml")),
    ("availability.toml", include_str!("../../memory-seeds/availability.toml")),
];

/// What seeding did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SeedReport {
    /// Seeds that were not there.
    pub added: usize,
    /// Seeds that have changed.
    pub updated: usize,
    /// Seeds that were there as they are.
    pub unchanged: usize,
    /// Seeds that an operator took out.
    pub withdrawn: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    seed: Vec<Seed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seed {
    name: String,
    natural: String,
    command: String,
    /// `verb class`, any one of which recalls it.
    triggers: Vec<String>,
    /// Effects that it must be recalled by.
    #[serde(rename = "match")]
    matches: Vec<String>,
    /// Effects that it must not be recalled by.
    not: Vec<String>,
    check: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    category: String,
    name: String,
    definition: String,
    #[serde(default)]
    required: bool,
}

impl Memory {
    /// Puts in what ships with the engine.
    ///
    /// # Errors
    /// As [`Memory::seed`].
    pub fn seed_shipped(&self) -> Result<SeedReport, MemoryError> {
        let mut sum = SeedReport::default();
        for (file, text) in SHIPPED {
            let report = self.seed(file, text)?;
            sum.added += report.added;
            sum.updated += report.updated;
            sum.unchanged += report.unchanged;
            sum.withdrawn += report.withdrawn;
        }
        Ok(sum)
    }

    /// Puts in the seeds of a TOML text; all of them or none.
    ///
    /// # Errors
    /// [`MemoryError::Seed`] with line and column, or with the example that does not hold.
    pub fn seed(&self, file: &str, text: &str) -> Result<SeedReport, MemoryError> {
        let wrong = |problem: String| MemoryError::Seed { file: file.to_owned(), problem };
        let parsed: File = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let mut wanted = Vec::with_capacity(parsed.seed.len());
        for seed in parsed.seed {
            wanted.push(entry(file, seed).map_err(wrong)?);
        }
        self.write(|w| {
            let mut report = SeedReport::default();
            for mut entry in wanted {
                match w.head(&entry.id) {
                    Err(MemoryError::NoSuchEntry { .. }) => {
                        (entry.created_ms, entry.updated_ms) = (w.now_ms, w.now_ms);
                        w.put(entry, &Vector::Keep(None), &format!("seed:{file}"), "seed")?;
                        report.added += 1;
                    }
                    Ok(Head { entry: old, .. }) if old.status != Status::Active => report.withdrawn += 1,
                    Ok(Head { entry: old, row, .. }) => {
                        let same = old.key == entry.key && old.triggers == entry.triggers && same_checks(&old, &entry);
                        if same {
                            report.unchanged += 1;
                            continue;
                        }
                        let row = if old.key == entry.key { row } else { None };
                        entry.created_ms = old.created_ms;
                        w.put(entry, &Vector::Keep(row), &format!("seed:{file}"), "seed")?;
                        report.updated += 1;
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(report)
        })
    }
}

fn same_checks(a: &Entry, b: &Entry) -> bool {
    let text = |e: &Entry| -> Vec<_> {
        e.checks.iter().map(|c| (c.category.clone(), c.name.clone(), c.definition.clone(), c.required)).collect()
    };
    text(a) == text(b)
}

fn entry(file: &str, seed: Seed) -> Result<Entry, String> {
    let mut triggers = seed.triggers.iter().map(|t| trigger(&seed.name, t)).collect::<Result<Vec<_>, _>>()?;
    triggers.sort();
    for (examples, expected) in [(&seed.matches, true), (&seed.not, false)] {
        if examples.is_empty() {
            return Err(format!("seed '{}' needs examples in both 'match' and 'not'", seed.name));
        }
        for example in examples {
            if triggers.contains(&trigger(&seed.name, example)?) != expected {
                let word = if expected { "is not recalled" } else { "is recalled" };
                return Err(format!("seed '{}' {word} by its example \"{example}\"", seed.name));
            }
        }
    }
    let id = hex(Sha256::new().chain_update(file).chain_update([0]).chain_update(&seed.name));
    let checks = seed.check.into_iter().map(|c| LearnedCheck {
        category: c.category,
        name: c.name,
        definition: c.definition,
        required: c.required,
        support: 1,
        conflict: 0,
    });
    Ok(Entry {
        id: format!("seed-{}", id.get(..20).unwrap_or(&id)),
        version: 0,
        parent: None,
        key: Key { natural: seed.natural, command: seed.command },
        checks: checks.collect(),
        authority: Authority::Seed,
        status: Status::Active,
        provenance: Provenance {
            taught_by: format!("seed:{file}:{}", seed.name),
            principal: "operator".to_owned(),
            project: None,
            tainted: false,
        },
        triggers,
        approval: None,
        created_ms: 0,
        updated_ms: 0,
    })
}

fn trigger(seed: &str, text: &str) -> Result<Trigger, String> {
    let Some((verb, class)) = text.split_once(' ') else {
        return Err(format!("seed '{seed}': \"{text}\" should be a verb and a class, e.g. \"delete system-config\""));
    };
    if Verb::parse(verb).is_none() {
        return Err(format!(
            "seed '{seed}': there is no verb \"{verb}\"; they are {}",
            Verb::ALL.map(Verb::as_str).join(", ")
        ));
    }
    Ok(Trigger { verb: verb.to_owned(), class: class.to_owned() })
}
