//! Which commits only one reference keeps.

use super::{Looks, Loss, Repository, text};
use crate::machine::Environment;
use gix_index::hash::Kind;
use gix_ref::file::log::iter::forward;
use gix_ref::packed;
use std::collections::BTreeSet;
use std::io::Read as _;

/// Most references of a repository that are looked at.
const MOST: usize = 10_000;
/// Longest commit that is read, in bytes, as it lies in the repository.
const COMMIT: usize = 64 * 1024;
/// Deepest folder of references.
const DEEPEST: usize = 16;

/// A repository elsewhere that the settings name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    pub name: String,
    pub address: String,
    /// Whether something was fetched from it or pushed to it.
    pub used: bool,
}

/// The remotes of the repository around a folder, one for each of their addresses.
pub(crate) fn remotes(environment: &Environment, looks: &Looks, folder: &str) -> Vec<Remote> {
    let Some(repository) = Repository::around(environment, looks, folder) else { return Vec::new() };
    let settings = text(environment, &format!("{}/config", repository.common)).unwrap_or_default();
    let packed = repository.packed().unwrap_or_default();
    let (mut all, mut section) = (Vec::new(), None);
    for line in settings.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let name = head.strip_prefix("remote").and_then(|rest| rest.trim().strip_prefix('"'));
            section = name.and_then(|name| name.strip_suffix("\"]")).map(str::to_owned);
        } else if let (Some(name), Some((key, value))) = (&section, line.split_once('='))
            && matches!(key.trim().to_ascii_lowercase().as_str(), "url" | "pushurl")
        {
            let tracked = format!("refs/remotes/{name}/");
            let there = environment.entries(&format!("{}/{tracked}", repository.common), false);
            let used = !there.entries.is_empty() || packed.iter().any(|(reference, _)| reference.starts_with(&tracked));
            all.push(Remote { name: name.clone(), address: value.trim().trim_matches('"').to_owned(), used });
        }
    }
    all
}

impl Repository<'_> {
    /// Whether the repository has no commit yet, by the reference that `HEAD` names.
    pub(super) fn is_unborn(&self) -> bool {
        let Some(head) = text(self.environment, &format!("{}/HEAD", self.git)) else { return false };
        head.trim().strip_prefix("ref:").is_some_and(|name| self.tip(name.trim()) == Some(None))
    }

    /// The commit of a reference (`refs/heads/main`), hexadecimal, if there is such a reference; `None`: it could not be
    /// seen.
    fn tip(&self, name: &str) -> Option<Option<String>> {
        let loose = format!("{}/{name}", self.common);
        if self.environment.is_there(&loose)? {
            return Some(Some(text(self.environment, &loose)?.trim().to_owned()));
        }
        Some(self.packed()?.into_iter().find(|(known, _)| known == name).map(|(_, id)| id))
    }

    /// The references that lie in one file; `None`: not all could be read.
    fn packed(&self) -> Option<Vec<(String, String)>> {
        let path = format!("{}/packed-refs", self.common);
        if !self.environment.is_there(&path)? {
            return Some(Vec::new());
        }
        let content = text(self.environment, &path)?;
        let all = packed::Iter::new(content.as_bytes(), Kind::Sha1).ok()?;
        let known = |one: packed::Reference<'_>| (one.name.as_bstr().to_string(), one.target.to_string());
        let all: Vec<(String, String)> = all.take(MOST + 1).map(|one| one.ok().map(known)).collect::<Option<_>>()?;
        (all.len() <= MOST).then_some(all)
    }

    /// Every reference with its commit; `None`: not all could be read.
    fn references(&self) -> Option<Vec<(String, String)>> {
        let mut all = Vec::new();
        let mut folders = vec![("refs".to_owned(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let listing = self.environment.entries(&format!("{}/{folder}", self.common), false);
            if !listing.complete || depth > DEEPEST {
                return None;
            }
            for entry in listing.entries {
                self.looks.entry()?;
                let name = format!("{folder}/{}", entry.name);
                if entry.folder {
                    folders.push((name, depth + 1));
                } else {
                    let id = text(self.environment, &format!("{}/{name}", self.common))?;
                    all.push((name, id.trim().to_owned()));
                }
            }
        }
        let loose: BTreeSet<String> = all.iter().map(|(name, _)| name.clone()).collect();
        all.extend(self.packed()?.into_iter().filter(|(name, _)| !loose.contains(name)));
        Some(all)
    }

    /// What is lost if a reference (`refs/heads/x`, `refs/stash`) is deleted or moved: its commits, unless another
    /// reference is or was at the same one.
    pub(crate) fn commits(&self, name: &str) -> Loss {
        let tip = match self.tip(name) {
            Some(Some(tip)) => tip,
            Some(None) if !self.is_unusual() && !self.is_unborn() => return Loss::Nothing,
            _ => return Loss::Unseen,
        };
        let Some(all) = self.references() else { return Loss::Unseen };
        let elsewhere = |(other, id): &(String, String)| other != name && (*id == tip || self.was_at(other, &tip));
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        let what = if name == "refs/stash" { "stashed changes".to_owned() } else { format!("commits of {short}") };
        if all.iter().any(elsewhere) { Loss::Nothing } else { Loss::Of(vec![what], false) }
    }

    /// The branches whose commit no remote has, and the stash.
    pub(crate) fn only_here(&self) -> Loss {
        let Some(all) = self.references() else { return Loss::Unseen };
        let remote = |(name, _): &&(String, String)| name.starts_with("refs/remotes/");
        let there = |id: &String| all.iter().filter(remote).any(|(name, tip)| tip == id || self.was_at(name, id));
        let own = all.iter().filter(|(name, id)| name.starts_with("refs/heads/") && !there(id));
        let mut names: Vec<String> =
            own.map(|(name, _)| format!("commits of {}", name.trim_start_matches("refs/heads/"))).collect();
        if all.iter().any(|(name, _)| name == "refs/stash") {
            names.push("stashed changes".to_owned());
        }
        Loss::of(names)
    }

    /// The tree of the last commit; `None` if there is none, or it lies in a pack.
    pub(super) fn head_tree(&self) -> Option<String> {
        let head = text(self.environment, &format!("{}/HEAD", self.git))?;
        let commit = match head.trim().strip_prefix("ref:") {
            Some(name) => self.tip(name.trim())??,
            None => head.trim().to_owned(),
        };
        let (folder, name) = commit.split_at_checked(2)?;
        let path = format!("{}/objects/{folder}/{name}", self.common);
        let packed = self.environment.read_script(&path, COMMIT).ok()?;
        let mut object = String::new();
        flate2::read::ZlibDecoder::new(packed.as_slice()).take(512).read_to_string(&mut object).ok()?;
        let tree = object.strip_prefix("commit ")?.split_once('\0')?.1.strip_prefix("tree ")?;
        tree.get(..commit.len()).map(str::to_owned)
    }

    /// Whether a reference was at a commit, by its log.
    fn was_at(&self, name: &str, commit: &str) -> bool {
        let log = text(self.environment, &format!("{}/logs/{name}", self.common)).unwrap_or_default();
        forward(log.as_bytes()).filter_map(Result::ok).any(|line| line.new_oid == commit)
    }
}
