//! Effects of shell scripts, from a real parse (tree-sitter-bash).
//!
//! 1. [`syntax`] walks the syntax tree in the order of execution: lists, pipes, loops, functions, redirections.
//! 2. [`word`] expands words as far as they are constant: quotes, variables, `~`, braces, substitutions; `parameter` has
//!    the forms of `${…}`, with all that each may be.
//! 3. [`command`] unwraps what runs other commands (sudo, env, xargs, `sh -c`, find -exec ...) and looks
//!    the rest up in the table of command semantics.
//! 4. `source` reads what is run from files and streams; `content` knows what the action itself puts into files.
//! 5. Whatever did not parse, is not constant, or exceeds a budget becomes an unknown effect beside
//!    whatever effects were found.

mod branch;
mod builtin;
pub mod command;
mod content;
pub(crate) use content::CHANGED;
pub(crate) use typed::TYPED;
mod finder;
mod git;
mod interpreter;
mod make;
pub(crate) mod normal;
mod packages;
mod parameter;
mod sed;
mod source;
pub mod special;
mod ssh;
pub mod syntax;
mod text;
mod typed;
mod variable;
pub mod word;

use super::{Cause, Effect, HOLE, Target, Verb};
use std::collections::{HashMap, HashSet};

/// Longest script that is read, bytes.
pub const MAX_SOURCE: usize = 256 * 1024;
/// Deepest nesting of scripts in scripts, functions and syntax.
const MAX_DEPTH: usize = 60;
/// Most commands that are interpreted.
const MAX_STEPS: usize = 4_000;
/// Most effects that are kept.
const MAX_EFFECTS: usize = 1_000;
/// A loop of at least this many rounds that creates things exhausts a resource.
const MANY: u64 = 10_000;

/// What a shell knows before it runs: who, where, and which files it may look at.
pub trait Surroundings {
    /// The content of a script at an absolute path, at most `max` bytes.
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, Unread>;

    /// Is there a folder at an absolute path? `None`: not known.
    fn folder(&self, path: &str) -> Option<bool>;

    /// Can the host type into a program that it keeps running?
    fn typed(&self) -> bool {
        false
    }
}

/// The same surroundings, in a host that can type into a program that it keeps running.
pub struct Typing<'a>(pub &'a dyn Surroundings);

impl Surroundings for Typing<'_> {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, Unread> {
        self.0.script(path, max)
    }

    fn folder(&self, path: &str) -> Option<bool> {
        self.0.folder(path)
    }

    fn typed(&self) -> bool {
        true
    }
}

/// Why a script was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// In words.
    pub why: String,
    /// There is nothing at that path, or nowhere to look for it.
    pub nothing: bool,
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

/// Nothing can be read: scripts stay unknown.
pub struct Nowhere;

impl Surroundings for Nowhere {
    fn script(&self, _path: &str, _max: usize) -> Result<Vec<u8>, Unread> {
        Err(Unread { why: "no environment to read it from".to_owned(), nothing: true })
    }

    fn folder(&self, _path: &str) -> Option<bool> {
        None
    }
}

/// What was found in a script.
#[derive(Debug, Default, Clone)]
pub struct Reading {
    /// The effects, in order of discovery, without repetition.
    pub effects: Vec<Effect>,
    /// How they were found, for explanations: unwrappings and lookups.
    pub steps: Vec<String>,
    /// Digests and paths of scripts whose content was read.
    pub scripts: Vec<(String, String)>,
}

/// What a command prints, as far as it matters to the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    /// The whole text, where constant.
    text: Option<String>,
    /// The lines are names below these paths.
    names: Option<Vec<String>>,
    /// It came over the network.
    network: bool,
    /// Long strings are decoded in it (base64, hex).
    decoded: bool,
    /// It has no end.
    endless: bool,
    /// It is the input of a command (a pipe, a file, a heredoc), not a terminal.
    piped: bool,
}

impl Output {
    /// Nothing is printed; the default is that it is not known what is.
    fn silent() -> Self {
        Self { text: Some(String::new()), ..Self::default() }
    }

    fn is_silent(&self) -> bool {
        self.text.as_deref() == Some("")
    }
}

/// An interpreter that has no effects: it only notes those that a shell would have.
pub(crate) struct Shell<'a> {
    around: &'a dyn Surroundings,
    home: String,
    user: String,
    /// `None`: not known. Empty: paths stay as they are written.
    cwd: Option<String>,
    variables: HashMap<String, Vec<String>>,
    /// Names of variables that a shell hands on to its children.
    exported: HashSet<String>,
    /// All variables and functions are handed on, or some functions.
    exports_functions: bool,
    functions: HashMap<String, String>,
    aliases: HashMap<String, String>,
    /// What process substitutions print, and what the command reads that is looked at.
    streams: Vec<Output>,
    stdin: Output,
    /// Functions that may not be defined, as their definition may not have run.
    unsure: HashSet<String>,
    /// Variables that cannot be set again.
    readonly: HashSet<String>,
    /// What variables were before the functions that run made them their own.
    locals: Vec<HashMap<String, Option<Vec<String>>>>,
    /// What the action does to files that may be run.
    files: content::Files,
    /// Links that the script makes: path and what it leads to.
    links: Vec<(String, String)>,
    arguments: Vec<String>,
    running: Vec<String>,
    via: Vec<String>,
    privileged: bool,
    /// A script of `package.json`: what is not in the table or has no reader is code of the project and its packages.
    packaged: bool,
    /// How often a `package.json` was read.
    packages: usize,
    background: bool,
    /// What it prints goes into a pipe, and not to a terminal.
    piped: bool,
    repeat: u64,
    endless: bool,
    depth: usize,
    steps: usize,
    /// A last word of the command that is read next, which the parser left out.
    last_word: Option<String>,
    /// Nodes that were interpreted, for each script that is being read.
    seen: Vec<HashSet<usize>>,
    reading: Reading,
}

/// Reads a shell script. `cwd` empty leaves relative paths as they are written.
#[must_use]
pub fn read(source: &str, user: &str, home: &str, cwd: &str, around: &dyn Surroundings) -> Reading {
    let mut shell = Shell::new(user, home, cwd, around);
    shell.source(source, Output::default());
    shell.reading
}

/// Reads source in `bash` or `python`; a shell script that the source starts is read, too.
#[must_use]
pub fn read_source(
    language: &str,
    source: &str,
    user: &str,
    home: &str,
    cwd: &str,
    around: &dyn Surroundings,
) -> Reading {
    let mut shell = Shell::new(user, home, cwd, around);
    shell.script(language, source, language);
    shell.reading
}

impl<'a> Shell<'a> {
    fn new(user: &str, home: &str, cwd: &str, around: &'a dyn Surroundings) -> Self {
        Self {
            around,
            home: home.to_owned(),
            user: user.to_owned(),
            cwd: Some(cwd.to_owned()),
            variables: HashMap::new(),
            exported: HashSet::new(),
            exports_functions: false,
            functions: HashMap::new(),
            aliases: HashMap::new(),
            streams: Vec::new(),
            stdin: Output::default(),
            unsure: HashSet::new(),
            readonly: HashSet::new(),
            locals: Vec::new(),
            files: content::Files::default(),
            links: Vec::new(),
            arguments: Vec::new(),
            running: Vec::new(),
            via: Vec::new(),
            privileged: false,
            packaged: false,
            packages: 0,
            background: false,
            piped: false,
            repeat: 1,
            endless: false,
            depth: 0,
            steps: 0,
            last_word: None,
            seen: Vec::new(),
            reading: Reading::default(),
        }
    }
}

impl Shell<'_> {
    /// Adds an effect, with what surrounds it.
    pub(crate) fn add(&mut self, effect: Effect) {
        self.changes(&effect);
        self.push(effect);
    }

    /// Adds an effect of which it is known what it puts into files.
    pub(crate) fn push(&mut self, mut effect: Effect) {
        effect.privileged |= self.privileged;
        effect.via = self.via.clone();
        if self.reading.effects.contains(&effect) {
            return;
        }
        if self.reading.effects.len() >= MAX_EFFECTS {
            self.reading.effects.truncate(MAX_EFFECTS - 1);
            effect = Effect::unknown(Cause::Budget, "too many effects", "shell");
        }
        self.exhaustion(&effect);
        // the link may lie elsewhere than it seems (inside an existing folder): both are possible
        if let Target::Path(path) = &effect.target
            && effect.verb != Verb::Link
            && let Some(real) = self.through_links(path)
        {
            let other = Effect { target: Target::Path(real), ..effect.clone() };
            if !self.reading.effects.contains(&other) {
                self.reading.effects.push(other);
            }
        }
        self.reading.effects.push(effect);
    }

    pub(crate) fn unknown(&mut self, cause: Cause, what: &str, program: &str) {
        if self.packaged && !self.privileged && matches!(cause, Cause::Program | Cause::Language) {
            return self.step(|| format!("{what}: the project's own code, or that of one of its packages"));
        }
        self.step(|| format!("unknown ({}): {what}", cause.as_str()));
        self.add(Effect::unknown(cause, what, program));
    }

    pub(crate) fn step(&mut self, text: impl FnOnce() -> String) {
        if self.reading.steps.len() < 200 {
            let indent = "  ".repeat(self.via.len().min(8));
            self.reading.steps.push(format!("{indent}{}", text()));
        }
    }

    /// A loop that never ends or has very many rounds turns what it makes into exhaustion.
    fn exhaustion(&mut self, effect: &Effect) {
        if self.repeat < MANY && !self.endless {
            return;
        }
        let resource = match effect.verb {
            Verb::Create if effect.target.kind() == "path" && effect.dynamic() => "inode",
            Verb::Write
                if effect.target.kind() == "path" && effect.dynamic() && !harmless_sink(effect.target.name()) =>
            {
                "inode"
            }
            Verb::Append if effect.target.kind() == "path" && !harmless_sink(effect.target.name()) && self.endless => {
                "disk"
            }
            _ => return,
        };
        self.exhaust(resource, &effect.program.clone());
    }

    pub(crate) fn exhaust(&mut self, resource: &str, program: &str) {
        let mut effect = Effect::new(Verb::Exhaust, Target::Named("resource", resource.to_owned()), program);
        effect.privileged = self.privileged;
        effect.via = self.via.clone();
        if !self.reading.effects.contains(&effect) {
            self.reading.effects.push(effect);
        }
    }

    /// Where a path leads through the links that this script made before, if through any.
    fn through_links(&self, path: &str) -> Option<String> {
        let mut real = path.to_owned();
        for _ in 0..8 {
            let below = |(link, target): &(String, String)| {
                let rest = real.strip_prefix(link.as_str()).filter(|r| r.is_empty() || r.starts_with('/'))?;
                Some((link.len(), tidy(&format!("{target}{rest}"))))
            };
            match self.links.iter().filter_map(below).max() {
                Some((_, next)) if next != real => real = next,
                _ => break,
            }
        }
        (real != path).then_some(real)
    }

    /// Makes a path absolute where the working directory is known, and tidies `.` and `..` lexically.
    pub(crate) fn path(&self, written: &str) -> String {
        if self.cwd.as_deref() == Some("") {
            return written.to_owned();
        }
        if written.starts_with('/') {
            return tidy(written);
        }
        if written.starts_with(HOLE) {
            return written.to_owned();
        }
        match &self.cwd {
            Some(cwd) => tidy(&format!("{cwd}/{written}")),
            None => format!("{HOLE}/{written}"),
        }
    }

    /// Notes `ln TARGET LINK`: later paths through the link lead to the target.
    pub(crate) fn note_link(&mut self, target: &str, link: &str) {
        let link = self.path(link);
        let folder = link.rsplit_once('/').map_or("", |(folder, _)| folder);
        let target = if target.starts_with('/') { tidy(target) } else { tidy(&format!("{folder}/{target}")) };
        let plain = |p: &str| p.starts_with('/') && !p.contains(HOLE);
        if plain(&link) && plain(&target) && self.links.len() < 256 {
            // the link may also come to lie inside, if its name is that of a folder
            let inside = format!("{}/{}", link.trim_end_matches('/'), target.rsplit('/').next().unwrap_or_default());
            self.links.push((inside, target.clone()));
            self.links.push((link, target));
        }
    }

    pub(crate) fn at(&mut self, verb: Verb, path: &str, program: &str) -> Effect {
        Effect::new(verb, Target::Path(self.path(path)), program)
    }
}

fn harmless_sink(path: &str) -> bool {
    path.starts_with("/dev/")
}

/// Removes `.`, `..` and repeated slashes from an absolute path, lexically. A `..` after a part that is
/// not constant stays, as it may be anything.
#[must_use]
pub fn tidy(path: &str) -> String {
    // the root of a process of this machine is that of the machine
    let own = path.strip_prefix("/proc/").and_then(|rest| rest.split_once("/root/")).filter(|(process, _)| {
        matches!(*process, "self" | "thread-self") || process.chars().all(|c| c.is_ascii_digit())
    });
    let path = own.map_or(path, |(_, rest)| rest);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| !p.contains(HOLE)) => {
                parts.pop();
            }
            ".." if parts.is_empty() => {}
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
