//! Seeds: checklists that ship with the engine (`memory-seeds/*.toml`) or come from an operator.
//!
//! 1. A file is parsed, and its `match` and `not` examples are verified, before anything is written.
//! 2. Ids derive from file and name, so that seeding is idempotent. A changed seed becomes a new version, which keeps
//!    the changes that lessons made.
//! 3. A seed that an operator has quarantined or retired stays so.

use super::Memory;
use super::entry::{Authority, Entry, Key, LearnedCheck, Provenance, Status, Trigger};
use super::error::{MemoryError, SeedProblem};
use super::store::{Vector, Write};
use crate::digest::finish;
use crate::effect::Verb;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The shipped files: name and content.
const SHIPPED: &[(&str, &str)] = &[
    ("confidentiality.toml", include_str!("../../memory-seeds/confidentiality.toml")),
    ("integrity.toml", include_str!("../../memory-seeds/integrity.toml")),
    ("availability.toml", include_str!("../../memory-seeds/availability.toml")),
];

/// The result of seeding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SeedReport {
    /// Number of new seeds.
    pub added: usize,
    /// Number of changed seeds.
    pub updated: usize,
    /// Number of unchanged seeds.
    pub unchanged: usize,
    /// Number of seeds that an operator has quarantined or retired; they are skipped.
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
    /// Effects, each as `verb class`; any one of them recalls the seed.
    triggers: Vec<String>,
    /// Examples of effects that must recall the seed.
    #[serde(rename = "match")]
    matches: Vec<String>,
    /// Examples of effects that must not recall the seed.
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
    /// Adds the seeds that ship with the engine.
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

    /// Adds the seeds of a TOML text: all of them or none. `file`: its name.
    ///
    /// # Errors
    /// [`MemoryError::Seed`] with line and column, or with the example that fails.
    pub fn seed(&self, file: &str, text: &str) -> Result<SeedReport, MemoryError> {
        let wrong = |problem: SeedProblem| MemoryError::Seed { file: file.to_owned(), problem };
        let parsed: File = toml::from_str(text).map_err(|error| wrong(error.into()))?;
        let mut wanted = Vec::with_capacity(parsed.seed.len());
        for seed in parsed.seed {
            wanted.push(entry(file, seed).map_err(wrong)?);
        }
        let mut names: Vec<&str> = wanted.iter().map(|entry| entry.id.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
            return Err(wrong(SeedProblem::SameName));
        }
        self.write(|w| {
            let mut report = SeedReport::default();
            for seed in wanted {
                let name = seed.key.natural.clone();
                put(w, file, seed, &mut report).map_err(|error| match error {
                    MemoryError::Refused(why) => wrong(SeedProblem::Refused { seed: name, why }),
                    other => other,
                })?;
            }
            Ok(report)
        })
    }
}

fn put(w: &mut Write<'_>, file: &str, mut seed: Entry, report: &mut SeedReport) -> Result<(), MemoryError> {
    let who = format!("seed:{file}");
    let (head, before) = match w.head(&seed.id) {
        Ok(head) => (head, w.last_by(&seed.id, &who)?),
        Err(MemoryError::NoSuchEntry { .. }) => {
            (seed.created_ms, seed.updated_ms) = (w.now_ms, w.now_ms);
            w.put(seed, &Vector::Keep(None), &who, "seed")?;
            report.added += 1;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if matches!(head.entry.status, Status::Quarantined | Status::Retired) {
        report.withdrawn += 1;
        return Ok(());
    }
    let row = if head.entry.key == seed.key { head.row } else { None };
    seed.created_ms = head.entry.created_ms;
    match before {
        Some(before) if same(&before, &seed) => {
            report.unchanged += 1;
            return Ok(());
        }
        Some(before) => keep_lessons(&before, &head.entry, &mut seed),
        // the entry came from an import, and the seed overrides it
        None => {}
    }
    w.put(seed, &Vector::Keep(row), &who, "seed")?;
    report.updated += 1;
    Ok(())
}

fn same(a: &Entry, b: &Entry) -> bool {
    let equal = |(a, b): (&LearnedCheck, &LearnedCheck)| same_check(a, b);
    a.key == b.key
        && a.triggers == b.triggers
        && a.checks.len() == b.checks.len()
        && a.checks.iter().zip(&b.checks).all(equal)
}

/// Whether two checks are equal, except for support and conflict.
fn same_check(a: &LearnedCheck, b: &LearnedCheck) -> bool {
    named(a, b) && a.definition == b.definition && a.required == b.required
}

fn named(a: &LearnedCheck, b: &LearnedCheck) -> bool {
    a.category == b.category && a.name == b.name
}

/// Carries over the changes that lessons made in the current version (`head`) since the last seeding (`before`).
fn keep_lessons(before: &Entry, head: &Entry, seed: &mut Entry) {
    seed.status = head.status;
    seed.checks.retain_mut(|check| {
        let untouched = before.checks.iter().any(|old| same_check(old, check));
        let Some(now) = head.checks.iter().find(|now| named(now, check)) else { return !untouched };
        if untouched {
            check.clone_from(now);
        }
        (check.support, check.conflict) = (now.support, now.conflict);
        true
    });
    let is_new = |check: &&LearnedCheck| !before.checks.iter().any(|old| named(old, check));
    for check in head.checks.iter().filter(is_new) {
        if !seed.checks.iter().any(|c| named(c, check)) {
            seed.checks.push(check.clone());
        }
    }
    for trigger in head.triggers.iter().filter(|t| !before.triggers.contains(t)) {
        if !seed.triggers.contains(trigger) {
            seed.triggers.push(trigger.clone());
        }
    }
}

fn entry(file: &str, seed: Seed) -> Result<Entry, SeedProblem> {
    let mut triggers = seed.triggers.iter().map(|t| trigger(&seed.name, t)).collect::<Result<Vec<_>, _>>()?;
    triggers.sort();
    for (examples, expected) in [(&seed.matches, true), (&seed.not, false)] {
        if examples.is_empty() {
            return Err(SeedProblem::NoExamples { seed: seed.name });
        }
        for example in examples {
            if triggers.contains(&trigger(&seed.name, example)?) != expected {
                let example = example.clone();
                return Err(match expected {
                    true => SeedProblem::NotRecalled { seed: seed.name, example },
                    false => SeedProblem::Recalled { seed: seed.name, example },
                });
            }
        }
    }
    if seed.check.is_empty() {
        return Err(SeedProblem::NoCheck { seed: seed.name });
    }
    for (at, check) in seed.check.iter().enumerate() {
        if seed.check.iter().take(at).any(|c| c.category == check.category && c.name == check.name) {
            let (check, category) = (check.name.clone(), check.category.clone());
            return Err(SeedProblem::SameCheck { seed: seed.name, check, category });
        }
    }
    let id = finish(Sha256::new().chain_update(file).chain_update([0]).chain_update(&seed.name));
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
        condition: None,
        created_ms: 0,
        updated_ms: 0,
    })
}

fn trigger(seed: &str, text: &str) -> Result<Trigger, SeedProblem> {
    let Some((verb, class)) = text.split_once(' ').filter(|(_, class)| !class.trim().is_empty()) else {
        return Err(SeedProblem::NotATrigger { seed: seed.to_owned(), text: text.to_owned() });
    };
    if verb.parse::<Verb>().is_err() {
        let verbs = Verb::ALL.iter().map(|verb| verb.as_str()).collect::<Vec<_>>().join(", ");
        return Err(SeedProblem::NoSuchVerb { seed: seed.to_owned(), verb: verb.to_owned(), verbs });
    }
    Ok(Trigger { verb: verb.to_owned(), class: class.to_owned() })
}
