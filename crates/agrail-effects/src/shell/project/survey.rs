//! A second look at what a program loads from the project, in whatever language it is.
//!
//! No reader follows every language and every way in which a tool finds its files. So the texts near a program that runs
//! code of the project are searched for what such code seldom names: private files, files that decide what runs later,
//! accounts and protections of the machine, addresses without a name. The files are those of the working folder and of
//! folders of settings, and all that these mention by name. A text that names such a thing and has the means to use it is
//! reported. A finding here is never a reason to allow anything.

use super::index::{HIDDEN, Index, mentions};
use super::registries;
use super::text::Text;
use crate::role::Role;
use crate::shell::{Shell, UNKNOWN_SPAN, tidy};
use crate::table::Bound;
use crate::{Cause, Effect, Target, Verb};
use foldhash::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// Most files that are searched, their length together in bytes, and over how many mentions they are found.
const MOST: usize = 64;
const LONGEST: usize = 256 * 1024;
const MENTIONS: usize = 3;
/// Most folders below one with settings.
const SETTLED: usize = 6;
/// Folders with settings that tools read without a mention.
const SETTINGS: [&str; 8] = ["_plugins", "buildSrc", "cmake", "config", "gradle", "hooks", "project", "tasks"];
/// Endings of code that runs only where something names it.
pub(super) const CODE: [&str; 31] = [
    "bash", "c", "cc", "cpp", "cs", "dart", "ex", "go", "h", "hs", "ipynb", "java", "jl", "js", "jsx", "kt", "lua",
    "php", "pl", "ps1", "py", "r", "rb", "rs", "scala", "sh", "sql", "swift", "ts", "tsx", "zig",
];

/// One of the possible contents of a file.
pub(in crate::shell) struct Searched {
    text: Arc<Text>,
    /// The files that it mentions: by path, by name, by the name of a module, or by the folder that they are in.
    mentioned: Vec<String>,
}

/// Whether a text is suspect, and the sources of packages that it names.
pub(in crate::shell) fn survey_text(path: &str, text: &str) -> (bool, Vec<String>) {
    let text = Text::of(path, text.as_bytes());
    (text.found.suspect, text.foreign.clone())
}

impl Shell<'_> {
    /// Searches what a program may load from the project. `words`: its arguments.
    pub(in crate::shell) fn survey(&mut self, program: &str, words: &[String], bound: &Bound) {
        let runs = |role: &Role| matches!(role, Role::Act { verb: Verb::Execute | Verb::Install, .. });
        if bound.loads.is_empty() && !bound.fixed.iter().any(|(role, value)| runs(role) && value == ".") {
            return;
        }
        let Some(root) = self.project_root() else { return };
        let below_root = format!("{root}/");
        let mut folders = vec![self.path("."), root.clone()];
        // `docs` of `sphinx-build docs`, `-chdir=infra`
        let named = words.iter().map(|word| word.rsplit('=').next().unwrap_or(word)).filter(|word| !word.is_empty());
        let named: Vec<String> =
            named.map(|word| self.path(word)).filter(|path| path.starts_with(&below_root)).collect();
        let (below, named): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|path| self.around.folder(path) == Some(true));
        let mut loaded: Vec<String> = bound.loads.iter().flat_map(|(_, pattern)| self.loaded_paths(pattern)).collect();
        loaded.extend(named);
        // first, so that many other files hide none of them
        self.survey_files(program, &root, loaded, MENTIONS);
        let mut seeds = Vec::new();
        folders.extend(below);
        folders.retain(|folder| folder.starts_with('/'));
        let mut seen = HashSet::default();
        folders.retain(|folder| seen.insert(folder.clone()));
        let own = format!(".{program}");
        for folder in &folders {
            seeds.extend(self.texts_in(folder).into_iter().filter(|path| !is_code(path)));
            for settings in HIDDEN.into_iter().chain([own.as_str()]).chain(SETTINGS) {
                let folders = self.below(vec![tidy(&format!("{folder}/{settings}"))], SETTLED);
                seeds.extend(folders.iter().flat_map(|folder| self.texts_in(folder)));
            }
        }
        self.survey_files(program, &root, seeds, MENTIONS);
        folders.iter().for_each(|folder| self.survey_registries(folder, words));
    }

    /// Searches the settings of package managers in a folder, and scripts that name their packages, for sources that
    /// nobody has chosen.
    fn survey_registries(&mut self, folder: &str, words: &[String]) {
        let mut paths: Vec<String> = registries::files().map(|name| format!("{folder}/{name}")).collect();
        let scripts = words.iter().filter(|word| word.ends_with(".py"));
        paths.extend(scripts.map(|word| self.path(word)));
        for path in paths {
            // those that the action does not change say the same again
            if !self.untouched(&path) || self.surveyed.insert(format!("sources of {path}")) {
                self.survey_sources(&path);
            }
        }
    }

    fn survey_sources(&mut self, path: &str) {
        for bytes in self.read_contents(path).unwrap_or_default() {
            self.registries_of(path, registries::foreign(path, &String::from_utf8_lossy(&bytes)));
        }
    }

    /// Searches a file of settings that a variable names, in any format. One that cannot be read may name any source.
    pub(in crate::shell) fn survey_settings(&mut self, written: &str, name: &str) {
        let path = self.path(written);
        if written.is_empty() || path.starts_with("/dev/") {
            return;
        }
        if path.contains(UNKNOWN_SPAN) {
            return self.unknown(Cause::Dynamic, "the file of settings is not constant", name);
        }
        match self.read_contents(&path) {
            Ok(contents) => {
                for bytes in contents {
                    self.registries_of(&path, registries::foreign("pip.conf", &String::from_utf8_lossy(&bytes)));
                }
            }
            Err(unread) if unread.is_missing() => {}
            Err(unread) => self.unread(&path, unread, name),
        }
    }

    fn registries_of(&mut self, path: &str, addresses: Vec<String>) {
        for address in addresses {
            if self.surveyed.insert(format!("{path} {address}")) {
                self.packages_from(&address, path.rsplit('/').next().unwrap_or(path));
            }
        }
    }

    /// Searches a file of the project that runs. `followed`: a reader follows what the file loads, so only the file itself
    /// is searched.
    pub(in crate::shell) fn survey_file(&mut self, program: &str, path: &str, followed: bool) {
        if let Some(root) = self.project_root() {
            self.survey_files(program, &root, vec![path.to_owned()], if followed { 0 } else { MENTIONS });
        }
    }

    fn survey_files(&mut self, program: &str, root: &str, seeds: Vec<String>, mentions: usize) {
        let (mut seen, mut left) = (HashSet::default(), LONGEST);
        let mut open: Vec<(String, usize, bool)> = seeds.into_iter().map(|path| (path, 0, false)).collect();
        let mut at = 0;
        while let Some((path, depth, used)) = open.get(at).cloned() {
            at += 1;
            if seen.len() >= MOST || left == 0 {
                return self.step(|| "not every file that the project mentions was searched".to_owned());
            }
            if seen.contains(&(path.clone(), true)) || !seen.insert((path.clone(), used)) {
                continue;
            }
            let uses = is_code(&path) || is_build(&path);
            for Searched { text, mentioned } in self.searched(&path, root, depth < mentions).iter().map(AsRef::as_ref) {
                left = left.saturating_sub(text.length);
                self.registries_of(&path, text.foreign.clone());
                // settings name it, and the code that names them uses it
                let suspect = text.found.suspect || used && text.found.names;
                // scripts of a package are read where they are run
                if !path.ends_with("/package.json") && suspect && self.surveyed.insert(path.clone()) {
                    let mut effect = Effect::new(Verb::Execute, Target::Path(path.clone()), program);
                    "suspect".clone_into(&mut effect.operation);
                    self.add(effect);
                }
                open.extend(mentioned.iter().map(|path| (path.clone(), depth + 1, uses)));
            }
        }
    }

    /// What the possible contents of a file have. A file that the action does not change is searched once.
    fn searched(&mut self, path: &str, root: &str, mentioned: bool) -> Vec<Rc<Searched>> {
        let key = (path.to_owned(), mentioned.then(|| root.to_owned()));
        let untouched = self.untouched(path);
        if let Some(known) = self.searched.get(&key).filter(|_| untouched) {
            return known.clone();
        }
        let index = mentioned.then(|| self.index(root));
        let contents = self.read_contents(path).unwrap_or_default();
        let search = |bytes: &Vec<u8>| {
            let text = Text::of(path, bytes);
            let mentioned = index.as_ref().map(|index| mentions(path, &text, index)).unwrap_or_default();
            Rc::new(Searched { text, mentioned })
        };
        let texts: Vec<Rc<Searched>> = contents.iter().filter(|bytes| !bytes.contains(&0)).map(search).collect();
        if untouched {
            self.searched.insert(key, texts.clone());
        }
        texts
    }

    /// The files of the project below a root.
    fn index(&mut self, root: &str) -> Rc<Index> {
        if let Some(index) = self.indexes.get(root) {
            return Rc::clone(index);
        }
        let index = Rc::new(Index::new(self, root));
        self.indexes.insert(root.to_owned(), Rc::clone(&index));
        index
    }
}

fn is_code(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| CODE.contains(&ending))
}

/// Whether a file is the description of a build in a language of its own.
fn is_build(path: &str) -> bool {
    path.ends_with("/CMakeLists.txt") || [".cmake", ".gradle", ".groovy"].iter().any(|end| path.ends_with(end))
}
