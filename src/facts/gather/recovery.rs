//! How what an effect destroys can be got back: from version control, by a tool that makes it again, or not at all.

use super::View;
use super::asked::{names_deletion, names_discard};
use super::names::is_below;
use crate::effect::{CHANGED, Verb};
use crate::machine::repository::{Loss, Repository, Wanted};
use crate::machine::{Class, PathFacts, class};
use crate::policy::{EffectFacts, Known, Recovery, TargetType};

/// Names of folders whose content tools make again.
const MADE_AGAIN: [&str; 21] = [
    "__pycache__",
    "build",
    "cache",
    "caches",
    "coverage",
    "dist",
    "log",
    "logs",
    "node_modules",
    "obj",
    "out",
    "output",
    "scratch",
    "target",
    "temp",
    "tmp",
    "trash",
    "vendor",
    "venv",
    "worktree",
    "worktrees",
];
/// Hidden names of the same kind.
const CACHES: [&str; 22] = [
    ".DS_Store",
    ".cache",
    ".coverage",
    ".eggs",
    ".gradle",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".nyc_output",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".sass-cache",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    ".vite",
    ".yarn",
];
/// Endings of files that tools make again.
const BUILT: [&str; 12] =
    [".o", ".a", ".so", ".pyc", ".class", ".log", ".tmp", ".swp", ".orig", ".rej", ".egg-info", ".tsbuildinfo"];

impl View<'_> {
    /// Sets what is known about the recovery of what the effect destroys.
    /// `path`: its constant part. `facts`: what was seen at it.
    pub(super) fn recover(&self, query: &mut EffectFacts, path: &str, facts: &PathFacts, real: Option<&str>) {
        let irreplaceable = |path: &str| self.is_irreplaceable(query, path);
        if !query.is_prefix && self.is_made(path) {
            query.recovery = Recovery::Made;
        } else if irreplaceable(path) || real.is_some_and(irreplaceable) {
            query.recovery = Recovery::Lost;
        } else if query.verb == Verb::Discard {
            (query.recovery, query.lost) = self.discarded(query, path, real.unwrap_or(path));
        } else if query.exists != Known::Yes || !query.class.is(Class::OwnHome) {
        } else if query.verb == Verb::Delete {
            (query.recovery, query.lost) = self.deleted(query, path, facts);
        } else if matches!(query.verb, Verb::Write | Verb::Append) {
            (query.recovery, query.lost) = self.rewritten(query, path, facts);
        }
    }

    /// The same for a path of which nothing is constant: it may be any in the repository around the working folder.
    pub(super) fn recover_unresolved(&self, query: &mut EffectFacts) {
        if query.verb != Verb::Discard {
            return;
        }
        query.recovery = Recovery::Unknown;
        if let Some((environment, work)) = self.environment.zip(self.work_tree(self.cwd)) {
            (query.recovery, query.lost) = self.discarded(query, &work, &self.look(environment, &work).resolved);
        }
    }

    /// What an effect of a version control system would throw away. `real`: the path without links around it.
    fn discarded(&self, query: &EffectFacts, path: &str, real: &str) -> (Recovery, String) {
        let (place, reference) = match path.split_once("/.git/").filter(|_| query.operation == "ref") {
            Some((work, name)) => (work, Some(name)),
            None => (real, None),
        };
        // a work tree that the action itself makes
        if self.environment.is_some_and(|environment| environment.is_there(place) == Some(false)) {
            return (Recovery::None, String::new());
        }
        let repository = self.environment.and_then(|e| Repository::around(e, &self.looks, place));
        let work = repository.as_ref().map_or("", |repository| repository.work.as_str());
        let named = names_discard(self.request, &query.operation, &query.name, work);
        let Some(repository) = repository else {
            return (if named { Recovery::Named } else { Recovery::Unknown }, String::new());
        };
        let loss = match (query.operation.as_str(), reference) {
            ("ref", Some(name)) if !query.is_prefix => repository.commits(name),
            ("changes", _) => repository.changes(place, false),
            ("uncommitted", _) => repository.changes(place, true),
            ("untracked", _) => self.untracked(&repository, place, false, true),
            ("unversioned", _) => self.untracked(&repository, place, true, true),
            ("ignored", _) => self.untracked(&repository, place, true, false),
            ("worktree", _) => repository.changes(place, true).and(|| self.untracked(&repository, place, true, true)),
            _ => Loss::Unseen,
        };
        // what the action itself adds, takes out or stashes before
        let other = query.operation == "ref" && reference != Some("refs/stash");
        if query.detail != CHANGED || other {
            return judged(loss, named);
        }
        let all = || repository.changes(place, true).and(|| self.untracked(&repository, place, false, true));
        judged(loss.and(all), named)
    }

    /// What deletes a folder of a project, or all of it.
    fn deleted(&self, query: &EffectFacts, path: &str, facts: &PathFacts) -> (Recovery, String) {
        let nothing = (Recovery::None, String::new());
        if query.target_type == TargetType::File && !query.is_prefix {
            return self.single(path, facts);
        }
        // a pattern for some names in a folder is not looked at
        let folder = !query.is_prefix && query.target_type == TargetType::Directory;
        let whole = query.recursive && (folder || query.is_prefix && query.name.ends_with("/*"));
        let Some(environment) = self.environment.filter(|_| whole && !self.is_made_again(path)) else { return nothing };
        let Some(repository) = Repository::around(environment, &self.looks, &facts.resolved) else {
            // a working folder without version control
            let cwd = self.cwd.trim_end_matches('/');
            let home = self.account.home.trim_end_matches('/');
            let around = cwd != home && (path == cwd || is_below(cwd, path));
            return if !around {
                nothing
            } else if names_deletion(self.request, path) {
                (Recovery::Named, String::new())
            } else {
                (Recovery::Lost, String::new())
            };
        };
        if repository.is_ignored(&self.account.home, &facts.resolved, true) {
            return (Recovery::Ignored, String::new());
        }
        let place = facts.resolved.as_str();
        let changes = repository.changes(place, true);
        if matches!(changes, Loss::Nothing) && self.is_born_here(place) {
            return (Recovery::Made, String::new());
        }
        let loss = changes.and(|| self.untracked(&repository, place, true, true));
        // with the work tree goes the repository itself
        let whole = folder && place == repository.work;
        let loss = loss.and(|| if whole { repository.only_here() } else { Loss::Nothing });
        judged(loss, names_deletion(self.request, path))
    }

    /// What a new content of a file destroys. An edit, by a tool or a program, is a part of the work on the file; a
    /// redirection of the shell knows nothing of what is there.
    fn rewritten(&self, query: &EffectFacts, path: &str, facts: &PathFacts) -> (Recovery, String) {
        let nothing = (Recovery::None, String::new());
        if query.target_type != TargetType::File || query.is_prefix {
            return nothing;
        }
        match self.single(path, facts) {
            lost if query.verb == Verb::Write && query.program == "shell" => lost,
            held @ (Recovery::Tracked, _) => held,
            _ => nothing,
        }
    }

    /// How the content of one file of a repository can be got back. Without a session nobody knows which content the agent
    /// itself has written, so nothing is looked at.
    fn single(&self, path: &str, facts: &PathFacts) -> (Recovery, String) {
        let nothing = (Recovery::None, String::new());
        if self.session.began.is_none() || self.is_made_again(path) {
            return nothing;
        }
        let repository = self.environment.and_then(|e| Repository::around(e, &self.looks, &facts.resolved));
        let Some(repository) = repository else { return nothing };
        let place = facts.resolved.as_str();
        let changes = repository.changes(place, true);
        if matches!(changes, Loss::Nothing) && self.is_born_here(place) {
            return (Recovery::Made, String::new());
        }
        let loss = changes.and(|| self.untracked(&repository, place, true, true));
        judged(loss, names_deletion(self.request, path))
    }

    fn untracked(&self, repository: &Repository<'_>, place: &str, ignored: bool, others: bool) -> Loss {
        let wanted = Wanted {
            home: self.account.home.trim_end_matches('/'),
            ignored,
            others,
            is_made_again: &is_made_again,
            is_kept: &is_kept,
        };
        repository.untracked(place, &wanted)
    }

    /// Whether tools make a path, or a folder around it in the home, again.
    fn is_made_again(&self, path: &str) -> bool {
        let home = self.account.home.trim_end_matches('/');
        path.strip_prefix(home).is_some_and(|inside| inside.split('/').any(is_made_again))
    }

    /// Whether an earlier call of the session has made the file or folder that is there now.
    fn is_made(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let now = || self.environment.and_then(|environment| environment.made_file(path));
        let made = &self.session.made;
        made.iter().any(|file| file.path == path) && now().is_some_and(|file| made.contains(&file))
    }

    /// Whether a file or folder came to be after the session began.
    fn is_born_here(&self, path: &str) -> bool {
        let made = || self.environment.and_then(|environment| environment.made_file(path.trim_end_matches('/')));
        let born = || made().map(|file| file.born.0.saturating_mul(1_000) + i64::from(file.born.1 / 1_000_000));
        self.session.began.is_some_and(|began| born().is_some_and(|born| born > began))
    }

    /// The folder of the repository around a path.
    fn work_tree(&self, path: &str) -> Option<String> {
        Some(Repository::around(self.environment?, &self.looks, path)?.work)
    }
}

/// What a loss means for a request that names it or does not.
fn judged(loss: Loss, named: bool) -> (Recovery, String) {
    match loss {
        Loss::Nothing => (Recovery::Tracked, String::new()),
        _ if named => (Recovery::Named, String::new()),
        Loss::Of(names, more) => (Recovery::Lost, names.join(", ") + if more { " and more" } else { "" }),
        Loss::Unseen => (Recovery::Unknown, String::new()),
    }
}

/// Whether tools make a file or folder of this name again.
pub(super) fn is_made_again(name: &str) -> bool {
    CACHES.contains(&name)
        || MADE_AGAIN.contains(&name.to_ascii_lowercase().as_str())
        || BUILT.iter().any(|ending| name.ends_with(ending))
}

/// Whether a file of this name holds what somebody wrote though version control ignores it: settings, credentials.
fn is_kept(name: &str) -> bool {
    let template = [".example", ".sample", ".template", ".dist"].iter().any(|ending| name.ends_with(ending));
    name.starts_with(".env") && !template || class::holds_credentials(name)
}
