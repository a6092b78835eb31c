//! Profiles: folders with the rules for one kind of agent.
//!
//! A profile contains `policy.cedar`, with its examples in `policy.examples.toml`, or `calls.toml`, which describes the
//! functions that the agent's host provides to its Python code, or both. The first release named two of them in
//! `policy.files`, without a folder; these names still work.

use crate::settings::source;
use crate::settled;
use agrail::effect::python::Library;
use agrail::policy::Source;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

const POLICY: &str = "policy.cedar";
const CALLS: &str = "calls.toml";

/// The profiles that need no folder: name, policies, examples, functions.
const NAMED: [(&str, &str, &str, &str); 2] = [
    (
        "ehr",
        include_str!("../../../eval/profiles/ehr/policy.cedar"),
        include_str!("../../../eval/profiles/ehr/policy.examples.toml"),
        include_str!("../../../eval/profiles/ehr/calls.toml"),
    ),
    (
        "web",
        include_str!("../../../eval/profiles/web/policy.cedar"),
        include_str!("../../../eval/profiles/web/policy.examples.toml"),
        "",
    ),
];

/// The names of the profiles that need no folder.
pub fn names() -> [&'static str; NAMED.len()] {
    NAMED.map(|(name, ..)| name)
}

/// The policies of the profile with this name, if there is one.
pub fn named_policy(name: &Path) -> Option<Source> {
    let (name, text, examples, _) = named(name)?;
    let (file, text, examples) = (format!("{name}.cedar"), (*text).to_owned(), Some((*examples).to_owned()));
    Some(Source { file, text, examples, organisation: false })
}

/// The functions of the profile with this name; none if there is no such profile.
///
/// # Errors
/// If the rows do not parse, which a test rules out.
pub fn named_library(name: &Path) -> Result<Library> {
    match named(name) {
        Some((_, _, _, calls)) if !calls.is_empty() => Ok(toml::from_str(calls)?),
        _ => Ok(Library::default()),
    }
}

fn named(name: &Path) -> Option<&'static (&'static str, &'static str, &'static str, &'static str)> {
    NAMED.iter().find(|(known, ..)| Path::new(known) == name)
}

/// The policies of a profile, if it has any.
///
/// # Errors
/// If a file cannot be read, or the folder contains neither policies nor functions.
pub fn policy(folder: &Path) -> Result<Option<Source>> {
    let (policy, calls) = files(folder)?;
    if policy.is_none() && calls.is_none() {
        bail!("the profile {} contains neither {POLICY} nor {CALLS}", folder.display());
    }
    policy.map(|file| source(&file)).transpose()
}

/// The functions that a profile describes. Their examples are verified.
///
/// # Errors
/// If the file cannot be read, is not valid, or an example has other effects.
pub fn library(folder: &Path) -> Result<Library> {
    let Some(file) = files(folder)?.1 else { return Ok(Library::default()) };
    let text = settled::text(&file, "the functions of a profile")?;
    let library: Library = toml::from_str(&text).with_context(|| file.display().to_string())?;
    library.verify().with_context(|| file.display().to_string())?;
    Ok(library)
}

fn files(folder: &Path) -> Result<(Option<PathBuf>, Option<PathBuf>)> {
    let file = |name: &str| settled::present(folder.join(name), "the file of a profile");
    Ok((file(POLICY)?, file(CALLS)?))
}
