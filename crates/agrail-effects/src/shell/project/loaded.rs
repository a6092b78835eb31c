//! Files of the project that a program runs as code: settings that are programs (`eslint.config.js`, `conftest.py`), recipes
//! of task runners (`justfile`, `tox.ini`), build scripts (`build.rs`, `CMakeLists.txt`), tests.
//!
//! The row of the program lists them in `loads`. That the program runs code of the project is an effect of the row, and
//! most of what such code does is known only at run time. So a part that is unknown, and a target that is not constant,
//! do not count here; what the code certainly does to a constant target counts as if the command itself did it.

use super::tasks;
use crate::shell::braces::braces;
use crate::shell::content::Content;
use crate::shell::{MAX_SOURCE, MAX_STEPS, Output, Shell, UNKNOWN_SPAN, file, tidy};
use crate::table::Bound;
use crate::{Cause, Effect, Verb};

/// Most files of one command that are read, and their length together, in bytes. Code beyond it is code of the project
/// that nobody has read.
const MOST: usize = 24;
const LONGEST: usize = 48 * 1024;
/// Most folders in which a pattern looks for files.
const LOOKED_AT: usize = 64;
/// How many commands the files of one program may run.
const STEPS: usize = 500;
/// How many folders above the working folder a pattern with `^` looks in.
const ABOVE: usize = 6;
/// Most relative paths in a file of settings that are looked at.
const MENTIONED: usize = 64;
/// Most files that one file of settings names.
const NAMED: usize = 8;
/// Languages of settings, which may name files of code by their paths.
const CONFIGURES: [&str; 5] = ["settings", "js", "python", "ruby", "pylintrc"];
/// Languages by the endings of their files.
const CODE: [(&[&str], &str); 5] = [
    (&["js", "cjs", "mjs", "ts", "cts", "mts"], "js"),
    (&["py"], "python"),
    (&["rb"], "ruby"),
    (&["sh", "bash"], "bash"),
    (&["php"], "php"),
];
/// Folders with code of others.
const FOREIGN: [&str; 6] = ["node_modules", "vendor", "target", "dist", "build", "venv"];

impl Shell<'_> {
    /// Interprets the files that a program runs, as its row lists them.
    pub(in crate::shell) fn load_files(&mut self, program: &str, bound: &Bound) {
        if bound.loads.is_empty() || bound.dry {
            return;
        }
        self.scoped(|shell| {
            if let Some(folder) = bound.folder() {
                shell.work_in(folder);
            }
            let mut left = LONGEST;
            let mut files: Vec<(&str, String)> = Vec::new();
            for (language, pattern) in &bound.loads {
                let found = shell.loaded_paths(pattern);
                if !pattern.contains('*') {
                    found.iter().for_each(|path| shell.too_long(path, program));
                }
                files.extend(found.into_iter().map(|path| (language.as_str(), path)));
            }
            for (language, path) in files.into_iter().take(MOST) {
                shell.load_file(program, language, &path, &bound.operands, &mut left);
            }
            Output::default()
        });
    }

    /// Interprets a file that an argument names, in a format of recipes.
    pub(in crate::shell) fn load_operand(&mut self, format: &str, written: &str, program: &str) {
        let path = self.path(written);
        if path.contains(UNKNOWN_SPAN) || written.contains("://") {
            return;
        }
        let mut left = LONGEST;
        if self.around.folder(&path) == Some(true) {
            for file in self.files_like(&path, "*.*").into_iter().take(MOST) {
                self.load_file(program, format, &file, &[], &mut left);
            }
        } else {
            self.load_file(program, format, &path, &[], &mut left);
        }
    }

    /// Interprets the file at a path, if there is one.
    pub(in crate::shell) fn load_path(&mut self, program: &str, language: &str, path: &str) {
        self.too_long(path, program);
        self.load_file(program, language, path, &[], &mut { LONGEST });
    }

    /// The files that a pattern means: `NAME`, `^NAME` (in the nearest folder that has it, up to the root of the project),
    /// `DIR/*.js`, `**/NAME`, each with braces.
    pub(super) fn loaded_paths(&self, pattern: &str) -> Vec<String> {
        let (above, pattern) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
        let here = self.path(".");
        if here.contains(UNKNOWN_SPAN) || !here.starts_with('/') {
            return Vec::new();
        }
        let up = |folder: &String| folder.rsplit_once('/').map(|(up, _)| up.to_owned()).filter(|up| !up.is_empty());
        let folders = std::iter::successors(Some(here), up).take(if above { ABOVE } else { 1 });
        let within = |folder: String| {
            let patterns = braces(pattern);
            let found: Vec<String> = patterns.iter().flat_map(|one| self.files_like(&folder, one)).collect();
            (!found.is_empty()).then_some(found)
        };
        folders.take_while(|folder| *folder != self.state.home || !above).find_map(within).unwrap_or_default()
    }

    /// The files below a folder that a pattern matches.
    pub(super) fn files_like(&self, folder: &str, pattern: &str) -> Vec<String> {
        let (places, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let mut folders = vec![folder.to_owned()];
        for part in places.split('/').filter(|part| !part.is_empty()) {
            folders = if part == "**" {
                self.folders_below(folders)
            } else {
                folders.iter().map(|folder| tidy(&format!("{folder}/{part}"))).collect()
            };
        }
        let there =
            |path: &String| self.contents(path) != [Content::Before(path.clone())] || !self.around.is_missing(path);
        if !name.contains(['*', '?', '[']) {
            let all = folders.iter().map(|folder| tidy(&format!("{folder}/{name}")));
            return all.filter(there).take(MOST).collect();
        }
        let Ok(matcher) = glob::Pattern::new(name) else { return Vec::new() };
        let mut found = Vec::new();
        for folder in folders {
            let names = self.file_names(&folder);
            found.extend(names.iter().filter(|name| matcher.matches(name)).map(|name| format!("{folder}/{name}")));
            if found.len() > MOST {
                break;
            }
        }
        found
    }

    /// Folders and all folders below them, without those that hold code of others.
    fn folders_below(&self, mut open: Vec<String>) -> Vec<String> {
        open.reverse();
        let mut all = Vec::new();
        while let Some(folder) = open.pop() {
            if all.len() >= LOOKED_AT {
                break;
            }
            let mut names = self.around.names(&folder).unwrap_or_default().folders;
            names.retain(|name| !name.starts_with('.') && !FOREIGN.contains(&name.as_str()));
            names.sort();
            open.extend(names.iter().rev().map(|name| format!("{folder}/{name}")));
            all.push(folder);
        }
        all
    }

    /// Reports a file that the program certainly loads and that is too long to be read.
    fn too_long(&mut self, path: &str, program: &str) {
        let long = |content: &Vec<u8>| content.len() > LONGEST;
        if self.read_contents(path).is_ok_and(|contents| contents.iter().any(long)) {
            self.surely_unknown(Cause::Budget, &format!("{path} is too long"), program);
        }
    }

    /// Interprets one such file.
    fn load_file(&mut self, program: &str, language: &str, path: &str, operands: &[String], left: &mut usize) {
        // recipes of the project are code of the project
        let own = tasks::is_format(language) && self.is_untouched(path);
        for content in self.contents(path) {
            let bytes = match content {
                Content::Before(at) => self.around.script(&at, MAX_SOURCE).ok(),
                Content::Text(text) => Some(text.as_bytes().to_vec()),
                Content::Downloaded => {
                    self.downloaded(program);
                    None
                }
                // the row says that it runs what the action has brought or made
                Content::Brought | Content::By(_) => None,
            };
            let Some(bytes) = bytes.filter(|bytes| !bytes.contains(&0)) else { continue };
            if bytes.len() > *left || self.via.iter().any(|outer| outer == path) {
                self.step(|| format!("{path} is code of the project that was not read"));
                continue;
            }
            *left -= bytes.len();
            let digest = file::digest(&bytes);
            let place = self.state.cwd.as_deref().unwrap_or_default();
            let once = format!("{language} {path} {place} {} {digest} {operands:?}", self.state.privileged);
            if !self.loaded.insert(once) {
                continue;
            }
            self.reading.scripts.push((path.to_owned(), digest));
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.step(|| format!("{program} runs {path}"));
            let by_line = (language == "bash").then(|| file::shebang(&text)).flatten();
            let language = by_line.as_deref().unwrap_or(language);
            let run = |shell: &mut Self| {
                // only recipes are chosen by the operands
                let operands = if tasks::is_format(language) { operands } else { &[] };
                shell.named_as(path, language);
                shell.with_arguments(operands, |shell| {
                    // a hook gets arguments of which nothing is known
                    if language == "bash" {
                        shell.state.arguments = None;
                    }
                    shell.script(language, &text, path)
                });
            };
            self.certain(|shell| if own { shell.as_own_code(true, run) } else { run(shell) });
            if CONFIGURES.contains(&language) {
                self.named_files(program, path, &text, left);
            }
        }
    }

    /// Interprets the files of code that settings name by their paths: plugins, set-up files.
    fn named_files(&mut self, program: &str, settings: &str, text: &str, left: &mut usize) {
        if self.naming {
            return;
        }
        let folder = settings.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let part = |c: char| !(c.is_ascii_alphanumeric() || "_./@-".contains(c));
        let mut seen = foldhash::HashSet::default();
        let relative = |name: &&str| name.contains('/') && !name.starts_with('/') && !name.starts_with('@');
        let names = text.split(part).filter(relative).filter(|name| seen.insert(*name)).take(MENTIONED);
        let code: Vec<(&str, String)> =
            names.filter_map(|name| self.named_code(&tidy(&format!("{folder}/{name}")))).take(NAMED).collect();
        self.naming = true;
        for (language, path) in code {
            self.load_file(program, language, &path, &[], left);
        }
        self.naming = false;
    }

    /// The file of code that a path names, perhaps without its ending, and its language.
    fn named_code(&self, path: &str) -> Option<(&'static str, String)> {
        let of_ending = |path: &str| {
            let (_, ending) = path.rsplit_once('.')?;
            CODE.iter().find(|(endings, _)| endings.contains(&ending)).map(|(_, language)| *language)
        };
        if let Some(language) = of_ending(path) {
            return Some((language, path.to_owned()));
        }
        // `./plugins/inline`
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let bare = path.rsplit('/').next().is_some_and(|name| !name.is_empty() && name.chars().all(is_name));
        let there = |path: &String| !self.around.is_missing(path);
        let endings = [".js", ".cjs", ".mjs", ".ts", "/index.js", ".rb"];
        let found = bare.then(|| endings.iter().map(|ending| format!("{path}{ending}")).find(there)).flatten()?;
        Some((of_ending(&found)?, found))
    }

    /// Interprets code of the project in a child, and keeps only its certain effects on constant targets.
    pub(in crate::shell) fn certain(&mut self, run: impl FnOnce(&mut Self)) {
        let before = self.reading.effects.len();
        let (files, steps) = (self.files.clone(), self.steps);
        let packaged = std::mem::replace(&mut self.packaged, true);
        self.steps = steps.max(MAX_STEPS - STEPS);
        self.scoped(|shell| {
            run(shell);
            Output::default()
        });
        (self.files, self.steps, self.packaged) = (files, steps, packaged);
        let own = self.reading.effects.split_off(before.min(self.reading.effects.len()));
        let root = self.project_root().unwrap_or_else(|| self.path("."));
        self.reading.effects.extend(own.into_iter().filter(|effect| is_certain(effect, &root)));
    }

    /// Interprets the steps of a recipe, each in a shell of its own.
    pub(in crate::shell) fn tasks(&mut self, format: &str, text: &str, how: &str) -> Option<Output> {
        let chosen = self.state.arguments.clone().unwrap_or_default();
        let steps = tasks::steps(format, text, &chosen)?;
        self.certain(|shell| steps.iter().for_each(|step| shell.task(step, how)));
        Some(Output::default())
    }

    fn task(&mut self, step: &tasks::Step, how: &str) {
        drop(self.child(how, |shell| {
            match step.folder.as_deref() {
                Some(tasks::BESIDE) => shell.work_in(how.rsplit_once('/').map_or(".", |(folder, _)| folder)),
                Some(folder) => shell.work_in(folder),
                None => {}
            }
            shell.with_arguments(&[], |shell| shell.script(step.language, &step.text, how))
        }));
    }
}

/// Whether an effect of code of the project counts: it certainly happens, to a target that is known, or to something in a
/// folder outside of the project.
fn is_certain(effect: &Effect, root: &str) -> bool {
    // variables and ports of a program that ends with the command
    let own = matches!(effect.verb, Verb::Variable | Verb::Listen | Verb::Limit | Verb::Connect);
    if effect.verb == Verb::Unknown || own {
        // what comes after the bound may do anything
        return effect.verb == Verb::Unknown && effect.operation == Cause::Budget.as_str();
    }
    let name = effect.target.name();
    let Some((folder, _)) = name.split_once(UNKNOWN_SPAN) else { return true };
    let changes =
        matches!(effect.verb, Verb::Read | Verb::Delete | Verb::Write | Verb::Overwrite | Verb::Encrypt | Verb::Chmod);
    let elsewhere =
        |folder: &str| !format!("{folder}/").starts_with(&format!("{root}/")) && !folder.starts_with("/tmp");
    let is_folder = folder.starts_with('/') && folder.ends_with('/') && (folder.len() > 1 || effect.program == "find");
    changes && is_folder && elsewhere(folder.trim_end_matches('/'))
}
