//! The configuration that was accepted last: a guard in front of an agent does not start with a weaker one.
//!
//! 1. What counts is kept in a file of the user's state folder, one for each configuration file with its `--set` options and
//!    variables ([`Standing`]). No setting moves it. The first configuration is accepted when a guard starts with it.
//! 2. A later one that is as strict or stricter is accepted, too. With a weaker one, hooks block and a service does not start;
//!    the message lists each weakness.
//! 3. A person accepts it with `agrail config accept`, which the audit log records.
//!
//! A policy whose text has changed counts as weaker, because nobody can tell.

use crate::settings::{Config, default_file};
use agrail::policy::Policy;
use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// What decides how strict a configuration is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Standing {
    /// The larger, the stricter.
    settings: BTreeMap<String, i64>,
    /// Digest of all policies.
    policies: String,
    /// Digests of the operator's policies that forbid.
    forbids: BTreeMap<String, String>,
    /// Digests of what lets more pass: policies that permit, rows about tools, functions of profiles, who may approve.
    permits: BTreeMap<String, String>,
    /// Where the databases and the log are.
    places: BTreeMap<String, PathBuf>,
}

/// The databases and the log that exist. Call this before a guard is opened, which creates missing files.
///
/// # Errors
/// If one of those that the accepted configuration had is gone or elsewhere, or its record cannot be read.
pub fn places(config: &Config) -> Result<BTreeMap<String, PathBuf>> {
    // in this order: another process may create the files and then the record
    let known = read(&file(config)?)?.unwrap_or_default();
    let places = existing(config);
    refuse(&Standing { places: places.clone(), ..known.clone() }.weaker_than(&known))?;
    Ok(places)
}

fn existing(config: &Config) -> BTreeMap<String, PathBuf> {
    let all = [
        ("the memory", config.memory_path()),
        ("the sessions", config.sessions_path()),
        ("the audit log", config.audit_folder()),
    ];
    all.into_iter().filter_map(|(name, path)| Some((name.to_owned(), path.ok()?.canonicalize().ok()?))).collect()
}

/// Refuses a configuration that is weaker than the accepted one; otherwise it becomes the accepted one.
///
/// # Errors
/// If it is weaker, or the record of the accepted one cannot be read or written.
pub fn check(config: &Config, policy: &Policy, places: BTreeMap<String, PathBuf>) -> Result<()> {
    let file = file(config)?;
    let known = read(&file)?;
    // what `places` found was compared with the record at that time; another process may have added to both since
    let mut places = places;
    for (name, path) in known.iter().flat_map(|known| &known.places) {
        places.entry(name.clone()).or_insert_with(|| path.clone());
    }
    let now = Standing::of(config, policy, places, known.as_ref())?;
    let Some(known) = known else { return write(&file, &now) };
    refuse(&now.weaker_than(&known))?;
    if now == known { Ok(()) } else { write(&file, &now) }
}

fn refuse(weaker: &[String]) -> Result<()> {
    if !weaker.is_empty() {
        bail!(
            "the configuration is weaker than the accepted one: {}; if this is intended, run 'agrail config accept' in a \
             terminal, with the same --config and --set",
            weaker.join("; ")
        );
    }
    Ok(())
}

/// Accepts the configuration as it is. `log` gets one line for each weakness, and may still refuse.
///
/// # Errors
/// If the configuration does not load, the record cannot be read or written, or `log` fails; then nothing is accepted.
pub fn accept(config: &Config, log: impl FnOnce(&[String]) -> Result<()>) -> Result<()> {
    let file = file(config)?;
    let policy = config.policy()?;
    let known = read(&file).ok().flatten();
    let now = Standing::of(config, &policy, existing(config), None)?;
    log(&known.map(|known| now.weaker_than(&known)).unwrap_or_default())?;
    write(&file, &now)
}

/// Accepts the row about a tool that a person has just written, and nothing else. `name`: of its file.
///
/// # Errors
/// If the rows or the record cannot be read, or the record cannot be written.
pub fn accept_row(config: &Config, name: &str) -> Result<()> {
    let file = file(config)?;
    let Some(mut known) = read(&file)? else { return Ok(()) };
    known.permits.extend(rows(config)?.into_iter().filter(|(row, _)| *row == format!("{ROW}{name}")));
    write(&file, &known)
}

/// Beginning of the names of rows.
const ROW: &str = "the row ";

impl Standing {
    /// `known`: the accepted one; its policies are not read again if no text has changed.
    fn of(config: &Config, policy: &Policy, places: BTreeMap<String, PathBuf>, known: Option<&Self>) -> Result<Self> {
        let mut standing = Self { settings: settings(config), places, ..Self::default() };
        policy.digest().clone_into(&mut standing.policies);
        let same = known.filter(|known| known.policies == standing.policies);
        let is_policy = |name: &str| name.starts_with("policy ");
        if let Some(known) = same {
            standing.forbids.clone_from(&known.forbids);
            standing.permits = known.permits.clone().into_iter().filter(|(name, _)| is_policy(name)).collect();
        } else {
            for rule in policy.rules().into_iter().filter(|rule| !rule.is_shipped()) {
                let name = format!("policy {} of {}", rule.id, rule.file);
                let text = digest(policy.text(&rule.id).unwrap_or_default().as_bytes());
                if rule.forbids { &mut standing.forbids } else { &mut standing.permits }.insert(name, text);
            }
        }
        let disabled = config.policy.disable.keys();
        standing.permits.extend(disabled.map(|id| (format!("policy.disable.{id}"), String::new())));
        standing.permits.extend(rows(config)?);
        let library = config.library()?.digest().to_owned();
        standing.permits.insert("the description of the functions of profiles".to_owned(), library);
        let token = config.approval_token_file().unwrap_or_default();
        standing.permits.insert("memory.approval_token_file".to_owned(), digest(token.as_os_str().as_encoded_bytes()));
        Ok(standing)
    }

    /// One line for each respect in which it is weaker.
    fn weaker_than(&self, known: &Self) -> Vec<String> {
        let now = |key: &str| self.settings.get(key).copied().unwrap_or_default();
        let settings = known.settings.iter().filter(|(key, was)| now(key) < **was);
        let mut weaker: Vec<String> = settings.map(|(key, _)| format!("{key} is less strict")).collect();
        for (name, was) in &known.forbids {
            match self.forbids.get(name) {
                None => weaker.push(format!("{name} is gone")),
                Some(is) if is != was => weaker.push(format!("{name} has changed")),
                Some(_) => {}
            }
        }
        for (name, is) in &self.permits {
            match known.permits.get(name) {
                None => weaker.push(format!("{name} is new")),
                Some(was) if is != was => weaker.push(format!("{name} has changed")),
                Some(_) => {}
            }
        }
        for (name, was) in &known.places {
            match self.places.get(name) {
                None => weaker.push(format!("{name} in {} is gone", was.display())),
                Some(is) if is != was => weaker.push(format!("{name} is in {} now", is.display())),
                Some(_) => {}
            }
        }
        weaker
    }
}

/// The settings that make a guard stricter, the stricter the larger.
fn settings(config: &Config) -> BTreeMap<String, i64> {
    let rank = |order: &[&str], value: &str| {
        order.iter().position(|one| *one == value).and_then(|place| i64::try_from(place).ok()).unwrap_or_default()
    };
    let model = match (&config.model.url, config.model.mode.as_deref()) {
        (None, _) => 0,
        (Some(_), Some("llm")) => 2,
        (Some(_), _) => 1,
    };
    let (guard, memory) = (&config.guard, &config.memory);
    let similarity = (memory.similarity.unwrap_or(0.8) * 1_000.0).clamp(0.0, 1_000.0);
    #[expect(clippy::cast_possible_truncation, reason = "0 to 1 000")]
    let similarity = similarity.round() as i64;
    [
        ("guard.on_failure", rank(&["ask", "deny"], &guard.on_failure)),
        ("guard.unknown_programs", rank(&["allow", "ask", "deny"], &guard.unknown_programs)),
        ("policy.projects", i64::from(config.policy.projects)),
        ("guard.learning", rank(&["episodes", "feedback", "frozen"], &guard.learning)),
        ("memory.off", i64::from(!memory.off)),
        ("memory.similarity", 1_000 - similarity),
        ("memory.neighbours", i64::try_from(memory.neighbours.unwrap_or(1)).unwrap_or(i64::MAX)),
        ("model.url or model.mode", model),
        ("model.judge", i64::from(config.model.judge)),
        ("audit.off", i64::from(!config.audit.off)),
        ("hook.shadow", i64::from(!config.hook.shadow)),
        ("hook.allow", i64::from(!config.hook.allow)),
        ("serve.shadow", i64::from(!config.serve.shadow)),
        ("serve.check_needs_token", i64::from(config.serve.check_needs_token)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

fn rows(config: &Config) -> Result<Vec<(String, String)>> {
    Ok(config.rows()?.into_iter().map(|row| (format!("{ROW}{}", row.file), digest(row.text.as_bytes()))).collect())
}

/// The file of this configuration: by its own file, the options and the variables that settings come from.
fn file(config: &Config) -> Result<PathBuf> {
    let mut name = Sha256::new();
    // a file that is deleted is the same configuration, weaker
    let path = config.file.clone().or_else(default_file).map(std::path::absolute).transpose()?;
    let mut variables: Vec<String> = std::env::vars()
        .filter(|(name, _)| name.starts_with("AGRAIL_") && name.contains("__"))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    variables.sort();
    let path = path.map(|path| path.display().to_string()).unwrap_or_default();
    for part in std::iter::once(&path).chain(&config.places.sets).chain(&variables) {
        name.update((part.len() as u64).to_le_bytes());
        name.update(part.as_bytes());
    }
    let name = hex(&name.finalize());
    Ok(config.accepted_folder()?.join(format!("{}.json", name.get(..16).unwrap_or(&name))))
}

fn read(file: &Path) -> Result<Option<Standing>> {
    let about = || format!("cannot read the accepted configuration {}", file.display());
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).with_context(about),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(about),
    }
}

fn write(file: &Path, standing: &Standing) -> Result<()> {
    let about = || format!("cannot write the accepted configuration {}", file.display());
    let folder = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(about)?;
    let mut draft = tempfile::NamedTempFile::new_in(folder).with_context(about)?;
    draft.write_all(&serde_json::to_vec(standing)?).with_context(about)?;
    draft.persist(file).map(|_| ()).with_context(about)
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
