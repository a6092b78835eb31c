//! What the folders above a path permit: to pass through them, and to change their entries.

use super::probe::{LOOK, access, has_acl, name_of, open, stat};
use super::{Account, Environment, PathFacts};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::HashMap;

/// What is known of folders, for one account. Meant for one action, as permissions change.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// Whether the account may pass through a folder.
    passed: RefCell<HashMap<String, Option<bool>>>,
    parents: RefCell<HashMap<String, Parent>>,
    /// The kernel's name of a folder, without that of the root; empty where it lies outside. `None`: it cannot be opened.
    resolved: RefCell<HashMap<String, Option<String>>>,
}

/// A folder as the one that contains a path.
#[derive(Debug, Clone, Copy, Default)]
struct Parent {
    /// Whether it is there.
    exists: Option<bool>,
    /// Whether the account may change its entries.
    change: Option<bool>,
    /// Whether the account may remove only its own entries.
    sticky: bool,
}

impl Environment {
    /// Facts from the folder that contains the path: whether the path may be created, removed or renamed.
    pub(super) fn surroundings(&self, path: &str, who: &Account, folders: &Folders, facts: &mut PathFacts) {
        let parent = match path.trim_end_matches('/').rsplit_once('/') {
            Some(("", _)) | None => "/",
            Some((parent, _)) => parent,
        };
        let known = folders.parents.borrow().get(parent).copied();
        let found = known.unwrap_or_else(|| self.parent(parent, who, folders));
        folders.parents.borrow_mut().insert(parent.to_owned(), found);
        facts.parent = found.exists;
        if facts.exists == Some(false) {
            facts.creatable = found.change;
            return;
        }
        let foreign = found.sticky && facts.owner.is_some() && !facts.mine;
        facts.removable = if foreign { Some(false) } else { found.change };
    }

    /// Resolves a path that does not exist: its nearest existing folder is resolved, and the rest is appended.
    pub(super) fn made_at(&self, path: &str, who: &Account, folders: &Folders, facts: &mut PathFacts) {
        let mut folder = path.trim_end_matches('/');
        while let Some((above, _)) = folder.rsplit_once('/') {
            folder = above;
            let known = folders.resolved.borrow().get(above).cloned();
            let name = known.unwrap_or_else(|| self.name_of_folder(above));
            folders.resolved.borrow_mut().insert(above.to_owned(), name.clone());
            let Some(name) = name else { continue };
            if name.is_empty() {
                return;
            }
            let rest = path.get(above.len()..).unwrap_or_default();
            facts.resolved = crate::effect::shell::tidy(&format!("{}{rest}", name.trim_end_matches('/')));
            let (class, _) = self.class(&facts.resolved, who);
            if class.weight() > facts.class.weight() {
                facts.class = class;
            }
            return;
        }
    }

    fn name_of_folder(&self, folder: &str) -> Option<String> {
        let place = open(&self.inner.folder, if folder.is_empty() { "/" } else { folder }, LOOK).ok()?;
        let name = name_of(&place).unwrap_or_default();
        let below = name.strip_prefix(&self.inner.name);
        // the root itself
        Some(below.map_or_else(String::new, |rest| if rest.is_empty() { "/".to_owned() } else { rest.to_owned() }))
    }

    fn parent(&self, parent: &str, who: &Account, folders: &Folders) -> Parent {
        let place = match open(&self.inner.folder, parent, LOOK | OFlags::DIRECTORY) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR) => return Parent { exists: Some(false), ..Parent::default() },
            Err(_) => return Parent::default(),
        };
        let Ok(folder) = stat(&place) else { return Parent { exists: Some(true), ..Parent::default() } };
        let name = name_of(&place).and_then(|n| n.strip_prefix(&self.inner.name).map(str::to_owned));
        let enter = self.may_enter(&format!("{}/x", name.unwrap_or_else(|| parent.to_owned())), who, folders);
        let [_, write, _] = access(&folder, who);
        let change = match (write, enter) {
            (Some(false), _) if has_acl(&place) => None,
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        let sticky = u32::from(folder.stx_mode) & 0o1000 != 0 && !who.superuser && who.uid != Some(folder.stx_uid);
        Parent { exists: Some(true), change, sticky }
    }

    /// Whether the account may pass through every folder above a resolved path; `None`: not known.
    pub(super) fn may_enter(&self, resolved: &str, who: &Account, folders: &Folders) -> Option<bool> {
        if who.superuser {
            return Some(true);
        }
        let mut known = true;
        for (at, _) in resolved.match_indices('/').skip(1) {
            let folder = resolved.get(..at)?;
            let passed = folders.passed.borrow().get(folder).copied();
            let passed = passed.unwrap_or_else(|| self.may_pass(folder, who));
            folders.passed.borrow_mut().insert(folder.to_owned(), passed);
            match passed {
                Some(false) => return Some(false),
                Some(true) => {}
                None => known = false,
            }
        }
        known.then_some(true)
    }

    /// Whether the account may pass through one folder; `None`: not known.
    fn may_pass(&self, folder: &str, who: &Account) -> Option<bool> {
        let place = open(&self.inner.folder, folder, LOOK).ok()?;
        match access(&stat(&place).ok()?, who) {
            // an access control list may grant what the mode does not
            [_, _, Some(false)] if !has_acl(&place) => Some(false),
            [_, _, Some(true)] => Some(true),
            _ => None,
        }
    }
}
