//! The possible contents of files when they are run: an action may write, copy or download a file and then run it.
//!
//! 1. For each file that the action changes, all its possible contents are kept: the content before the action, a text,
//!    a download, or the output of some program.
//! 2. A change may fail, not happen, or happen later: it adds a possible content and replaces none.
//! 3. If a file is run, all its possible contents are parsed. The output of a program cannot be parsed and is unknown.
//!
//! 4. What a program brings from elsewhere (an archive, a clone, a patch; `content` of its row) may be any file of the
//!    folder to which it writes.
//!
//! Not followed: names that lead to the same file by links that existed before, and files that change because another
//! state of the same repository is checked out.

use super::{Output, ReadError, Shell, UNKNOWN_SPAN, tidy};
use crate::Kind;
use crate::role::Role;
use crate::table::Bound;
use crate::{Effect, Target, Verb};
use foldhash::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most files whose changes are followed; beyond it, any file may have been changed.
const FILES: usize = 256;
/// Most possible contents of one file.
const CHOICES: usize = 8;

/// A possible content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// The content of that path before the action.
    Before(String),
    /// This text.
    Text(Arc<str>),
    /// A download from the network.
    Downloaded,
    /// The output of that program.
    By(String),
    /// What an archive, a repository or a patch has in its place.
    Brought,
}

/// The changes that the action has made to files so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Files {
    files: HashMap<String, Vec<Content>>,
    /// Folders that were copied or moved: destination and source.
    trees: Vec<(String, String)>,
    /// Constant beginnings of changed paths that are not constant; an empty one if any file may have been changed.
    vague: Vec<String>,
    /// Folders, with a slash at their end, in which anything may have come from elsewhere.
    brought: Vec<String>,
    version: Version,
}

/// The number of a state of the changes: two with the same number are equal. It is no part of them.
#[derive(Debug, Clone, Copy, Default, Eq)]
pub(crate) struct Version(u64);

impl PartialEq for Version {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Version {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Files {
    /// The number of this state: as long as it is the same, nothing has changed.
    pub(crate) fn version(&self) -> u64 {
        self.version.0
    }

    /// Whether the action has changed no file.
    fn is_unchanged(&self) -> bool {
        self.version.0 == 0
    }

    /// The files with possible contents of their own.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &[Content])> {
        self.files.iter().map(|(path, contents)| (path.as_str(), contents.as_slice()))
    }

    fn of(&self, path: &str) -> Vec<Content> {
        let mut all = self.files.get(path).cloned().unwrap_or_else(|| {
            let moved = self.trees.iter().filter_map(|(to, from)| Some(format!("{from}{}", below(path, to)?)));
            let mut all = vec![Content::Before(path.to_owned())];
            for from in moved {
                include(&mut all, Content::Before(from));
            }
            all
        });
        if self.vague.iter().any(|begin| path.starts_with(begin)) {
            include(&mut all, Content::By("a change of a path that is not constant".to_owned()));
        }
        if self.brought.iter().any(|folder| path.starts_with(folder)) {
            include(&mut all, Content::Brought);
        }
        all
    }

    /// Adds possible contents of a file.
    fn include(&mut self, path: &str, content: &[Content]) {
        self.version = Version::next();
        if let Some((begin, _)) = path.split_once(UNKNOWN_SPAN) {
            return self.lose(begin);
        }
        if path.starts_with("/dev/") {
            return;
        }
        let mut all = self.of(path);
        content.iter().for_each(|new| include(&mut all, new.clone()));
        if all.len() > CHOICES {
            all = vec![Content::By("more than one program".to_owned())];
        }
        if self.files.len() < FILES || self.files.contains_key(path) {
            self.files.insert(path.to_owned(), all);
        } else {
            self.lose("");
        }
    }

    /// Notes that any file whose path begins like this may have been changed.
    fn lose(&mut self, begin: &str) {
        self.version = Version::next();
        let begin = if self.vague.len() < FILES { begin } else { "" };
        if !self.vague.iter().any(|known| begin.starts_with(known)) {
            self.vague.push(begin.to_owned());
        }
    }
}

fn include(all: &mut Vec<Content>, new: Content) {
    if !all.contains(&new) {
        all.push(new);
    }
}

/// The rest of a path after a folder, including the slash; empty for the folder itself, `None` if the path lies
/// elsewhere.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder.trim_end_matches('/')).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn base(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

impl Shell<'_> {
    /// Notes that a file has exactly this text.
    pub(super) fn has_written(&mut self, path: &str, text: &str) {
        self.files.version = Version::next();
        self.files.files.insert(path.to_owned(), vec![Content::Text(text.into())]);
    }

    /// Whether the action has changed no file and made no link.
    pub(super) fn changes_nothing(&self) -> bool {
        self.files.is_unchanged() && self.links.is_empty()
    }

    /// All possible contents of a file at this point.
    pub(crate) fn contents(&self, path: &str) -> Vec<Content> {
        if self.changes_nothing() {
            return vec![Content::Before(path.to_owned())];
        }
        let mut all = self.files.of(path);
        if let Some(real) = self.through_links(path) {
            self.files.of(&real).into_iter().for_each(|content| include(&mut all, content));
        }
        if all.len() > 1 {
            // if there was no file before, only the new contents are possible
            all.retain(|c| !matches!(c, Content::Before(at) if self.around.is_missing(at)));
        }
        if all.is_empty() { vec![Content::Before(path.to_owned())] } else { all }
    }

    /// The names of the files in a folder as the action leaves it, in order.
    pub(crate) fn file_names(&self, folder: &str) -> Vec<String> {
        let mut names = self.around.names(folder).unwrap_or_default().files;
        let written = self.files.files.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        names.extend(written.filter(|name| !name.contains('/')).map(str::to_owned));
        names.sort();
        names.dedup();
        names
    }

    /// All possible contents of a file at this point, if they can be read.
    pub(crate) fn read_contents(&self, path: &str) -> Result<Vec<Vec<u8>>, ReadError> {
        let read = |content| match content {
            Content::Before(at) => self.around.script(&at, super::MAX_SOURCE),
            Content::Text(text) => Ok(text.as_bytes().to_vec()),
            Content::Brought => Err(ReadError::Brought),
            Content::Downloaded | Content::By(_) => Err(ReadError::Changed),
        };
        self.contents(path).into_iter().map(read).collect()
    }

    /// Whether the action changes files of which nobody knows the content, or that other programs than these write.
    pub(crate) fn changes_sources(&self, by: impl Fn(&str) -> bool) -> bool {
        let other = |content: &Content| match content {
            Content::By(program) => !by(program),
            Content::Before(_) => false,
            Content::Text(_) | Content::Downloaded | Content::Brought => true,
        };
        let written = self.files.files.values().flatten().any(other);
        let vague = self.files.vague.iter().any(|begin| begin.is_empty());
        written || vague || !self.files.brought.is_empty() || !self.files.trees.is_empty()
    }

    /// Whether the action itself puts a file at exactly this path.
    pub(crate) fn puts(&self, path: &str) -> bool {
        self.files.files.contains_key(path)
    }

    /// Whether certainly nothing is at a path yet: its folder is there, or is made by the action.
    pub(crate) fn is_new(&self, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let there = folder.is_empty() || self.around.folder(folder) == Some(true) || self.is_made(folder);
        there && self.around.is_missing(path)
    }

    /// Whether nothing is at a path before the action, and it can be made only by a change whose path is not constant.
    pub(crate) fn is_hardly_made(&self, path: &str) -> bool {
        let brought = self.files.brought.iter().any(|folder| path.starts_with(folder));
        let moved = self.files.trees.iter().any(|(to, _)| below(path, to).is_some());
        // the beginning of its name says that it is made there; a typed copy or a download is not chosen by a program
        let partly = |begin: &String| !begin.is_empty() && !begin.ends_with('/') && path.starts_with(begin.as_str());
        let near = self.files.vague.iter().any(|begin| partly(begin) || begin.contains("site-packages"))
            || self.reading.effects.iter().any(|effect| {
                let typed = effect.via.is_empty() && effect.dynamic();
                matches!(effect.verb, Verb::Connect | Verb::Send)
                    || typed && matches!(effect.verb, Verb::Write | Verb::Overwrite | Verb::Move | Verb::Link)
            });
        !brought && !moved && !near && !self.files.files.contains_key(path) && self.around.is_missing(path)
    }

    /// Notes that an effect changes a file; the new content is unknown here.
    pub(crate) fn changes(&mut self, effect: &Effect) {
        let Target::Path(path) = &effect.target else { return };
        if effect.keep || !matches!(effect.verb, Verb::Write | Verb::Append | Verb::Overwrite) {
            return;
        }
        let by = Content::By(effect.program.clone());
        for name in &effect.incoming {
            self.put(&tidy(&format!("{path}/{name}")), std::slice::from_ref(&by), Verb::Overwrite);
        }
        self.put(path, &[by], effect.verb);
    }

    /// Notes that a file received this output, which the program printed or got as its input.
    pub(crate) fn put_output(&mut self, path: &str, output: &Output, verb: Verb, program: &str) {
        let content = match &output.text {
            _ if output.network => Content::Downloaded,
            Some(text) if text.len() <= super::MAX_SOURCE => Content::Text(text.as_str().into()),
            _ => Content::By(program.to_owned()),
        };
        self.put(path, &[content], verb);
    }

    fn put(&mut self, path: &str, content: &[Content], verb: Verb) {
        let content = if verb == Verb::Append { self.appended(path, content) } else { content.to_vec() };
        if let Some(real) = self.through_links(path) {
            self.files.include(&real, &content);
        }
        // a new file may be one that others mention
        if !self.files.files.contains_key(path) {
            self.indexes.clear();
            self.searched.clear();
        }
        self.files.include(path, &content);
    }

    fn appended(&self, path: &str, content: &[Content]) -> Vec<Content> {
        let mut all = Vec::new();
        for old in self.contents(path) {
            let old = match old {
                Content::Before(at) => match self.around.script(&at, super::MAX_SOURCE) {
                    Ok(bytes) => Content::Text(String::from_utf8_lossy(&bytes).into()),
                    Err(unread) if unread.is_missing() => Content::Text("".into()),
                    Err(_) => Content::By("its earlier content".to_owned()),
                },
                other => other,
            };
            for new in content {
                let both = match (&old, new) {
                    (Content::Text(old), Content::Text(new)) => Content::Text(format!("{old}{new}").into()),
                    (Content::Downloaded, _) | (_, Content::Downloaded) => Content::Downloaded,
                    (Content::Text(_), new) => new.clone(),
                    (old, _) => old.clone(),
                };
                include(&mut all, both);
            }
        }
        all
    }

    /// Notes the contents of the files that a command writes, as far as its arguments determine them: copies,
    /// downloads, and the input of `tee`. They replace the contents derived from the effects alone; `before` is the
    /// state without those.
    pub(crate) fn carries(&mut self, program: &str, bound: &Bound, stdin: &Output, network: bool, before: Files) {
        let (mut sources, mut places, mut written, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (role, value, _) in &bound.arguments {
            match role {
                Role::Copy | Role::Act { verb: Verb::Move, .. } => sources.push(value),
                Role::Into | Role::Mirror => places.push(self.path(value)),
                Role::Act { verb: Verb::Connect | Verb::Send, .. } => {
                    // query and fragment are not part of the file name
                    names.push(base(value.split(['?', '#']).next().unwrap_or_default()));
                }
                Role::Act { verb: verb @ (Verb::Write | Verb::Append | Verb::Overwrite), kind: Kind::Path, .. } => {
                    written.push((self.path(value), *verb));
                }
                _ => {}
            }
        }
        if bound.dry || bound.keep {
            return;
        }
        if program == "tee" {
            self.files = before;
            written.iter().for_each(|(path, verb)| self.put_output(path, stdin, *verb, program));
        } else if network {
            let fixed = bound.fixed.iter().filter(|(r, _)| matches!(r, Role::Act { verb: Verb::Overwrite, .. }));
            let folders: Vec<String> = fixed
                .map(|(_, folder)| self.path(folder))
                .chain(written.iter().map(|(path, _)| path.clone()))
                .collect();
            self.files = before;
            for path in folders.iter().flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}"))) {
                self.put(&tidy(&path), &[Content::Downloaded], Verb::Write);
            }
            written.iter().for_each(|(path, verb)| self.put(path, &[Content::Downloaded], *verb));
        } else if !places.is_empty() && !sources.iter().any(|source| super::roles::remote_host(source).is_some()) {
            self.files = before;
            for to in &places {
                for source in &sources {
                    let from = self.path(source);
                    let content = self.contents(&from);
                    let inside = tidy(&format!("{to}/{}", base(source)));
                    for way in [inside.as_str(), to.as_str()] {
                        self.tree(way, &from);
                        self.put(way, &content, Verb::Overwrite);
                    }
                }
            }
        }
    }

    /// Notes that the folders to which a command writes may contain anything: an archive, a repository, a patch says what.
    pub(crate) fn note_brought(&mut self, bound: &Bound, from: usize) {
        if !bound.brings || bound.dry {
            return;
        }
        let connects = |role: &Role| matches!(role, Role::Act { verb: Verb::Connect, .. });
        let sources = bound.arguments.iter().filter(|(role, _, _)| connects(role));
        let names: Vec<&str> = sources.map(|(_, value, _)| base(value).trim_end_matches(".git")).collect();
        let cwd = self.path(".");
        let effects: Vec<Effect> = self.reading.effects.get(from..).unwrap_or_default().to_vec();
        // `tar x` without a folder
        if bound.brings_here
            && !effects.iter().any(|effect| matches!(effect.verb, Verb::Create | Verb::Write | Verb::Overwrite))
        {
            self.bring(&cwd);
        }
        for effect in &effects {
            let Target::Path(path) = &effect.target else { continue };
            let path = path.trim_end_matches('/');
            match (effect.verb, self.around.folder(path)) {
                // a new folder, named like what it comes from
                (Verb::Create, Some(true)) => names.iter().for_each(|name| self.bring(&format!("{path}/{name}"))),
                (Verb::Create, _) | (Verb::Write | Verb::Overwrite, Some(true)) => self.bring(path),
                _ => {}
            }
        }
    }

    fn bring(&mut self, folder: &str) {
        let folder = format!("{}/", folder.split(UNKNOWN_SPAN).next().unwrap_or_default().trim_end_matches('/'));
        if self.files.brought.len() >= FILES {
            return self.files.lose("");
        }
        if !self.files.brought.contains(&folder) {
            self.files.version = Version::next();
            self.files.brought.push(folder);
        }
    }

    /// Adds an unknown effect if a command runs the code of a folder to which this action has brought something.
    pub(crate) fn note_run(&mut self, effect: &Effect) {
        let folder = match (&effect.target, effect.verb) {
            (Target::Path(path), Verb::Execute) => path.clone(),
            (Target::Named(Kind::Package, path), Verb::Install) if path.starts_with(['.', '/', '~']) => self.path(path),
            _ => return,
        };
        let below = format!("{}/", folder.trim_end_matches('/'));
        if self.files.brought.iter().any(|brought| below.starts_with(brought.as_str())) {
            self.unread(&folder, ReadError::Brought, &effect.program);
        }
    }

    /// Notes that a folder may have been copied or moved.
    fn tree(&mut self, to: &str, from: &str) {
        if from.contains(UNKNOWN_SPAN) || self.files.trees.len() >= FILES {
            return self.files.lose(to);
        }
        if let Some((begin, _)) = to.split_once(UNKNOWN_SPAN) {
            return self.files.lose(begin);
        }
        let known: Vec<(String, Vec<Content>)> = self
            .files
            .files
            .iter()
            .filter_map(|(path, content)| {
                Some((format!("{to}{}", below(path, from).filter(|r| !r.is_empty())?), content.clone()))
            })
            .collect();
        for (path, content) in known {
            self.files.include(&path, &content);
        }
        self.files.version = Version::next();
        self.files.trees.push((to.to_owned(), from.to_owned()));
    }
}
