//! A second look at what a program loads from the project, in whatever language it is.
//!
//! No reader follows every language and every way in which a tool finds its files. So the texts near a program that runs
//! code of the project are searched for what such code seldom names: private files, files that decide what runs later,
//! accounts and protections of the machine, addresses without a name. The files are those of the working folder and of
//! folders of settings, and all that these mention by name. A text that names such a thing and has the means to use it is
//! reported. A finding here is never a reason to allow anything.

use super::sources;
use super::suspect::is_suspect;
use crate::role::Role;
use crate::shell::{MAX_SOURCE, Shell, tidy};
use crate::table::Bound;
use crate::{Effect, Target, Verb};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Most files that are searched, their length together in bytes, and over how many mentions they are found.
const MOST: usize = 64;
const LONGEST: usize = 256 * 1024;
const MENTIONS: usize = 3;
/// Most folders of the project whose files can be found by a mention.
const FOLDERS: usize = 48;
/// Most folders below one with settings.
const SETTLED: usize = 6;
/// Most files that one word mentions.
const MENTIONED: usize = 4;
/// Shortest name that counts as a mention without its folder or ending.
const SHORTEST: usize = 4;
/// Folders with settings that tools read without a mention.
const SETTINGS: [&str; 8] = ["_plugins", "buildSrc", "cmake", "config", "gradle", "hooks", "project", "tasks"];
/// Folders with code of others, or with products.
const FOREIGN: [&str; 9] =
    [".git", ".venv", "__pycache__", "build", "dist", "node_modules", "target", "vendor", "venv"];
/// Endings of texts and data, in which nothing runs.
const DATA: [&str; 24] = [
    "adoc", "bmp", "css", "csv", "gif", "html", "ico", "jpeg", "jpg", "less", "lock", "log", "md", "pdf", "png", "po",
    "rst", "scss", "snap", "sum", "svg", "tsv", "txt", "woff2",
];

impl Shell<'_> {
    /// Searches what a program may load from the project. `words`: its arguments.
    pub(in crate::shell) fn survey(&mut self, program: &str, words: &[String], bound: &Bound) {
        let runs = |role: &Role| matches!(role, Role::Act { verb: Verb::Execute | Verb::Install, .. });
        if bound.loads.is_empty() && !bound.fixed.iter().any(|(role, value)| runs(role) && value == ".") {
            return;
        }
        let Some(root) = self.project_root() else { return };
        let mut folders = vec![self.path("."), root.clone()];
        // `docs` of `sphinx-build docs`, `-chdir=infra`
        let named = words.iter().map(|word| word.rsplit('=').next().unwrap_or(word)).filter(|word| !word.is_empty());
        let named: Vec<String> = named.map(|word| self.path(word)).filter(|path| path.starts_with(&root)).collect();
        let (below, mut seeds): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|path| self.around.folder(path) == Some(true));
        folders.extend(below);
        folders.retain(|folder| folder.starts_with('/'));
        let mut seen = HashSet::new();
        folders.retain(|folder| seen.insert(folder.clone()));
        for folder in &folders {
            seeds.extend(self.texts_in(folder));
            let hidden = self.around.folders(folder).unwrap_or_default();
            let hidden = hidden.iter().map(String::as_str).filter(|name| name.starts_with('.'));
            for settings in hidden.filter(|name| !FOREIGN.contains(name)).chain(SETTINGS) {
                let folders = self.below(vec![tidy(&format!("{folder}/{settings}"))], SETTLED);
                seeds.extend(folders.iter().flat_map(|folder| self.texts_in(folder)));
            }
        }
        seeds.extend(bound.loads.iter().flat_map(|(_, pattern)| self.loaded_paths(pattern)));
        self.survey_files(program, &root, seeds, MENTIONS);
        folders.iter().for_each(|folder| self.survey_sources(folder, words));
    }

    /// Searches the settings of package managers in a folder, and scripts that name their packages, for sources that
    /// nobody has chosen.
    fn survey_sources(&mut self, folder: &str, words: &[String]) {
        let mut paths: Vec<String> = sources::FILES.iter().map(|name| format!("{folder}/{name}")).collect();
        let scripts = words.iter().filter(|word| word.ends_with(".py"));
        paths.extend(scripts.map(|word| self.path(word)));
        for path in paths {
            self.survey_source(&path, &path);
        }
    }

    /// Searches one file of settings of a package manager. `like`: the name of a file of the same format.
    pub(in crate::shell) fn survey_source(&mut self, path: &str, like: &str) {
        if let Ok(bytes) = self.around.script(path, MAX_SOURCE) {
            self.sources_of(path, like, &String::from_utf8_lossy(&bytes));
        }
    }

    fn sources_of(&mut self, path: &str, like: &str, text: &str) {
        for address in sources::foreign(like, text) {
            if self.surveyed.insert(format!("{path} {address}")) {
                self.packages_from(&address, path.rsplit('/').next().unwrap_or(path));
            }
        }
    }

    /// Searches a file of the project that is run, and what it mentions unless a reader follows that.
    pub(in crate::shell) fn survey_file(&mut self, program: &str, path: &str, followed: bool) {
        if let Some(root) = self.project_root() {
            self.survey_files(program, &root, vec![path.to_owned()], if followed { 0 } else { MENTIONS });
        }
    }

    fn survey_files(&mut self, program: &str, root: &str, seeds: Vec<String>, mentions: usize) {
        let index = match self.indexes.get(root) {
            Some(index) => Rc::clone(index),
            None => {
                let index = Rc::new(Index::new(self, root));
                self.indexes.insert(root.to_owned(), Rc::clone(&index));
                index
            }
        };
        let (mut seen, mut left) = (HashSet::new(), LONGEST);
        let mut open: Vec<(String, usize)> = seeds.into_iter().map(|path| (path, 0)).collect();
        let mut at = 0;
        while let Some((path, depth)) = open.get(at).cloned() {
            at += 1;
            if seen.len() >= MOST || left == 0 {
                return self.step(|| "not every file that the project mentions was searched".to_owned());
            }
            if !seen.insert(path.clone()) {
                continue;
            }
            let Ok(bytes) = self.around.script(&path, MAX_SOURCE) else { continue };
            if bytes.contains(&0) {
                continue;
            }
            left = left.saturating_sub(bytes.len());
            let text = String::from_utf8_lossy(&bytes);
            self.sources_of(&path, &path, &text);
            // scripts of a package are read where they are run
            if !path.ends_with("/package.json") && is_suspect(&text) && self.surveyed.insert(path.clone()) {
                let mut effect = Effect::new(Verb::Execute, Target::Path(path.clone()), program);
                "suspect".clone_into(&mut effect.operation);
                self.add(effect);
            }
            if depth < mentions {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                open.extend(index.mentioned(&text, folder).into_iter().map(|path| (path, depth + 1)));
            }
        }
    }

    /// The texts of a folder in which something may run.
    fn texts_in(&self, folder: &str) -> Vec<String> {
        let mut names = self.around.files(folder).unwrap_or_default();
        names.sort();
        names.iter().filter(|name| may_run(name)).map(|name| format!("{folder}/{name}")).collect()
    }

    /// Folders and those below them, at most so many.
    fn below(&self, mut open: Vec<String>, most: usize) -> Vec<String> {
        let mut at = 0;
        while at < open.len() && open.len() < most {
            let folder = open.get(at).cloned().unwrap_or_default();
            let mut names = self.around.folders(&folder).unwrap_or_default();
            names.sort();
            let own = names.iter().filter(|name| !FOREIGN.contains(&name.as_str()));
            open.extend(own.map(|name| format!("{folder}/{name}")));
            at += 1;
        }
        open.truncate(most);
        open
    }
}

/// Whether something may run in a file with that name. Makefiles are read by their own reader.
fn may_run(name: &str) -> bool {
    name.rsplit_once('.').is_none_or(|(_, ending)| !DATA.contains(&ending))
        && !name.ends_with("-lock.json")
        && !matches!(name, "Makefile" | "makefile" | "GNUmakefile")
}

/// The files of a project, by their names and by their folders.
pub(in crate::shell) struct Index {
    by_name: HashMap<String, Vec<String>>,
    by_folder: HashMap<String, Vec<String>>,
}

impl Index {
    fn new(shell: &Shell<'_>, root: &str) -> Self {
        let mut index = Self { by_name: HashMap::new(), by_folder: HashMap::new() };
        for folder in shell.below(vec![root.to_owned()], FOLDERS) {
            let files = shell.texts_in(&folder);
            for path in &files {
                let name = path.rsplit('/').next().unwrap_or_default();
                let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
                let whole = name.rsplit_once('.').map_or(name, |(before, _)| before);
                for name in HashSet::from([name, stem, whole]) {
                    index.by_name.entry(name.to_owned()).or_default().push(path.clone());
                }
            }
            index.by_folder.insert(folder, files);
        }
        index
    }

    /// The files that a text in a folder mentions: by path, by name, or by the folder that they are in.
    fn mentioned(&self, text: &str, folder: &str) -> Vec<String> {
        let part = |c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c));
        let mut words = HashSet::new();
        let mut found = Vec::new();
        for word in text.split(part).filter(|word| word.len() >= SHORTEST) {
            if !words.insert(word) {
                continue;
            }
            if word.contains('/') {
                let path = tidy(&format!("{folder}/{word}"));
                for folder in [format!("{path}/src"), path] {
                    found.extend(self.by_folder.get(&folder).into_iter().flatten().take(MENTIONED).cloned());
                }
            } else if let Some((_, last)) = word.rsplit_once('.').filter(|(_, last)| last.len() >= SHORTEST) {
                // `tests.support.timing`
                found.extend(self.by_name.get(last).into_iter().flatten().take(MENTIONED).cloned());
            }
            let name = word.trim_matches(['.', '/']).rsplit('/').next().unwrap_or_default();
            if name.len() >= SHORTEST {
                found.extend(self.by_name.get(name).into_iter().flatten().take(MENTIONED).cloned());
            }
        }
        found
    }
}
