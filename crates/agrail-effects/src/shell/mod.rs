//! Effects of shell scripts, found with a real parser (tree-sitter-bash).
//!
//! 1. [`syntax`] walks the syntax tree in the order of execution: lists, pipes, functions; `loops` and `redirect` have
//!    their own files. `branch` treats code that may not run, `decided` conditions that are certain, `state` holds the
//!    state that a child inherits. `respell` rewrites what the parser does not know.
//! 2. [`word`] expands words as far as they are constant: quotes, variables, `~`, braces, substitutions. `parameter`
//!    expands the forms of `${…}` with all their possible values.
//! 3. [`command`] looks a program up in the table of command semantics; `roles` adds the effects of its arguments, and
//!    [`special`] finds the method for a program with its own small language, such as sudo, env, xargs, `sh -c` or find
//!    -exec.
//! 4. `source` interprets code from streams and of other languages, `file` that of files, `foreign` source in languages without a parser, whose names may be
//!    `defined` in files of the project; `content` tracks the files that the action itself writes.
//! 5. `project` reads what belongs to a project: its programs, package scripts, makefiles, recipes and files that programs
//!    load. `container` reads images, compose files, manifests, and commands inside a container; `git` its settings and
//!    hooks.
//! 6. `input` gives values to what `read`, `mapfile` and `getopts` set, `output` to what commands print, `arithmetic` to
//!    counters.
//! 7. `written` reads the files that the action writes as what runs them would.
//! 8. `around` is what the caller shows of the machine, `seen` what an action has looked at already.
//! 9. Anything that does not parse, is not constant or exceeds a budget becomes an unknown effect in addition to the
//!    other effects.

mod amount;
mod arithmetic;
mod around;
mod braces;
mod branch;
mod builtins;
mod client;
pub mod command;
mod container;
mod content;
mod decided;
mod defined;
mod environment;
mod file;
mod finder;
mod flow;
mod foreign;
mod git;
mod grade;
mod input;
mod interpreter;
mod lines;
mod loops;
pub(crate) mod normal;
mod notebook;
mod output;
mod packed;
mod parameter;
mod privilege;
mod project;
mod quoting;
mod redirect;
mod registry;
mod respell;
mod roles;
mod search;
mod sed;
mod seen;
mod sh;
mod shown;
mod source;
pub mod special;
mod ssh;
mod state;
pub mod syntax;
mod text;
mod typed;
mod variable;
pub mod word;
mod wrappers;
mod written;

pub use around::{FileSource, Names, NoFiles, Providing, ReadError, Typing};
pub use quoting::QUOTED;
pub use registry::{is_public_registry, is_shared_host};
pub use seen::Seen;
pub use typed::TYPED;
pub use written::Later;
pub(crate) use written::{Place, Written};

use super::{Cause, Effect, Target, UNKNOWN_SPAN, Verb};
use crate::Kind;
use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};
use project::make::{MakefileKey, ReadMakefile};
use state::State;
use std::cell::RefCell;
use std::hash::BuildHasher as _;
use std::rc::Rc;

/// Longest script that is parsed, in bytes.
pub const MAX_SOURCE: usize = 256 * 1024;
/// Deepest nesting of scripts in scripts, functions and syntax.
const MAX_DEPTH: usize = 60;
/// Most commands that are interpreted.
const MAX_STEPS: usize = 4_000;
/// Most effects that are kept.
const MAX_EFFECTS: usize = 1_000;
/// Number of commands before a new one with which it is compared, so that the rounds of a loop are listed once.
pub(crate) const NEAR: usize = 64;
/// From this number of rounds, a loop that creates things exhausts a resource.
const MANY: u64 = 10_000;

/// The result of interpreting a script.
#[derive(Debug, Default, Clone)]
pub struct Reading {
    /// The effects in the order of discovery, without duplicates.
    pub effects: Vec<Effect>,
    /// Explanations of how the effects were found: unwrappings and lookups.
    pub steps: Vec<String>,
    /// Paths and digests of the scripts whose content was read.
    pub scripts: Vec<(String, String)>,
    /// What the files that the action writes do once something runs them.
    pub later: Vec<Later>,
    /// The commands that were interpreted, with those inside wrappers, scripts and functions: program and arguments. All of
    /// them: the number of steps is bounded, and beyond it the reading is unknown.
    pub commands: Vec<Vec<String>>,
}

/// The output of a command, as far as it matters to the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    /// The complete text, if it is constant.
    text: Option<String>,
    /// The absolute path of the file whose content it is, if an input is redirected from one.
    file: Option<String>,
    /// Paths, if the lines are names below them.
    names: Option<Vec<String>>,
    /// Whether it came from the network.
    network: bool,
    /// Whether it contains decoded text (base64, hex).
    decoded: bool,
    /// Whether it is endless.
    endless: bool,
    /// Whether it has a thousand lines or more.
    many: bool,
    /// Whether it is the input of a command (a pipe, a file, a heredoc) instead of a terminal.
    piped: bool,
    /// Whether only one simple command reads it.
    private: bool,
}

impl Output {
    /// Empty output. The default, in contrast, is unknown output.
    fn silent() -> Self {
        Self { text: Some(String::new()), ..Self::default() }
    }

    fn is_silent(&self) -> bool {
        self.text.as_deref() == Some("")
    }
}

/// What the folder of the project depends on: working folder, home, and the numbers of the states of files and links.
type RootKey = (Option<String>, String, u64, usize);

/// An abstract interpreter of shell scripts: it runs nothing and only records effects.
pub(crate) struct Shell<'a> {
    around: &'a dyn FileSource,
    user: String,
    state: State,
    /// The outputs of process substitutions; `stdin` is the input of the current command.
    streams: Vec<Output>,
    stdin: Output,
    /// The changes of the action to files that may be run.
    files: content::Files,
    /// Links that the script creates: path and target.
    links: Vec<(String, String)>,
    /// Names and addresses of remotes that this action adds to a repository.
    remotes: Vec<(String, String)>,
    /// Whether a part of the action changed the index or the stash of a repository.
    staged: bool,
    running: Vec<String>,
    /// For each function that runs, the states in which it may return early.
    returned: Vec<Vec<State>>,
    via: Vec<String>,
    /// Whether a script of `package.json` is being interpreted: programs that are not in the table and source in other
    /// languages then count as code of the project and its packages.
    packaged: bool,
    /// Whether what runs is a file of the project that the action has not changed, or the recipe of one.
    own_code: bool,
    /// How many times a `package.json` was read.
    packages: usize,
    /// Whether files are interpreted that settings name.
    naming: bool,
    /// Environments into which something else than their own tools puts files.
    spoiled: HashSet<String>,
    /// Whether a builder got source that is no file of the project.
    given_sources: bool,
    /// Whether the statements of a database client work on a database that holds nothing of value.
    scratch: bool,
    /// Names of the containers that the current part of a list makes if it succeeds.
    created: Vec<String>,
    /// The files that programs have loaded, each with all that decides on its effects.
    loaded: HashSet<String>,
    /// Files whose texts are suspect, and the files of each project by name.
    surveyed: HashSet<String>,
    indexes: HashMap<String, Rc<project::Index>>,
    /// What the files of the project have that the action does not change, by path and by the root below which their
    /// mentions were sought.
    searched: HashMap<(String, Option<String>), Vec<Rc<project::Searched>>>,
    /// Digests of all effects so far.
    pushed: HashMap<u64, usize>,
    hashing: RandomState,
    /// The folder of the project, and what it was found for.
    root: RefCell<Option<(RootKey, Option<Rc<str>>)>>,
    /// Files of packages that were parsed, by their content; `None`: they are no object.
    manifests: RefCell<HashMap<Vec<u8>, Option<Rc<project::Manifest>>>>,
    /// Makefiles that were read.
    makefiles: RefCell<HashMap<MakefileKey, Rc<ReadMakefile>>>,
    /// The verb of each effect so far, and whether it runs the code of the working folder.
    produced: Vec<(Verb, bool)>,
    /// How many parts around the current one may fail without ending the script.
    tolerant: usize,
    background: bool,
    /// Whether the output goes into a pipe instead of a terminal.
    piped: bool,
    /// The number of effects before the pipeline that is read.
    pipeline: Option<usize>,
    /// The number of effects before the last part of a list that was read.
    part: usize,
    repeat: u64,
    endless: bool,
    depth: usize,
    steps: usize,
    /// A last word that the parser left out, and the command to which it belongs.
    last_word: Option<(usize, String)>,
    /// What variables held that were set: secrets and outputs of programs.
    flows: HashMap<String, flow::Flow>,
    /// Number of the text that is being interpreted, and of all so far.
    text: usize,
    texts: usize,
    /// Whether something ran after which no condition is certain.
    unsettled: bool,
    /// The nodes that were interpreted, for each script in progress.
    seen: Vec<HashSet<usize>>,
    reading: Reading,
}

/// Interprets a shell script. If `cwd` is empty, relative paths are kept as written.
#[must_use]
pub fn extract_effects(source: &str, user: &str, home: &str, cwd: &str, around: &dyn FileSource) -> Reading {
    let mut shell = Shell::new(user, home, cwd, around);
    shell.source(source, Output::default());
    let written = shell.written();
    shell.reading.wait_for(written, Place { user, home, cwd, around });
    shell.reading
}

/// Interprets source in `bash` or `python`, including shell scripts that the source starts.
#[must_use]
pub fn read_source(
    language: &str,
    source: &str,
    user: &str,
    home: &str,
    cwd: &str,
    around: &dyn FileSource,
) -> Reading {
    let mut shell = Shell::new(user, home, cwd, around);
    shell.script(language, source, language);
    let written = shell.written();
    shell.reading.wait_for(written, Place { user, home, cwd, around });
    shell.reading
}

/// Builds the searches of texts.
pub(crate) fn warm() {
    project::warm();
}

impl<'a> Shell<'a> {
    fn new(user: &str, home: &str, cwd: &str, around: &'a dyn FileSource) -> Self {
        Self {
            around,
            user: user.to_owned(),
            state: State::new(home, cwd),
            streams: Vec::new(),
            stdin: Output::default(),
            files: content::Files::default(),
            links: Vec::new(),
            remotes: Vec::new(),
            staged: false,
            running: Vec::new(),
            via: Vec::new(),
            packaged: false,
            own_code: false,
            packages: 0,
            naming: false,
            spoiled: HashSet::default(),
            given_sources: false,
            scratch: false,
            created: Vec::new(),
            loaded: HashSet::default(),
            surveyed: HashSet::default(),
            indexes: HashMap::default(),
            searched: HashMap::default(),
            pushed: HashMap::default(),
            hashing: RandomState::default(),
            root: RefCell::default(),
            manifests: RefCell::default(),
            makefiles: RefCell::default(),
            produced: Vec::new(),
            tolerant: 0,
            background: false,
            piped: false,
            repeat: 1,
            pipeline: None,
            part: 0,
            endless: false,
            returned: Vec::new(),
            depth: 0,
            steps: 0,
            last_word: None,
            flows: HashMap::default(),
            text: 0,
            texts: 0,
            unsettled: false,
            seen: Vec::new(),
            reading: Reading::default(),
        }
    }
}

impl Shell<'_> {
    /// Adds an effect, with the wrappers and privileges around it, and notes that it changes files.
    pub(crate) fn add(&mut self, effect: Effect) {
        if effect.verb == Verb::Create && effect.program == "mkdir" && !effect.dynamic() {
            let above = |folder: &String| folder.rsplit_once('/').map(|(above, _)| above.to_owned());
            let folders = std::iter::successors(Some(effect.target.name().to_owned()), above);
            self.state.made.extend(folders.filter(|folder| !folder.is_empty()).take(MAX_DEPTH));
        }
        self.changes(&effect);
        self.note_run(&effect);
        self.push(effect);
    }

    /// Adds an effect whose changes to files are already noted.
    pub(crate) fn push(&mut self, mut effect: Effect) {
        effect.privileged |= self.state.privileged;
        effect.via = self.via.clone();
        if !matches!(effect.target, Target::Path(_)) && effect.cwd.is_empty() {
            let plain = |cwd: &&String| cwd.starts_with('/') && !cwd.contains(UNKNOWN_SPAN);
            effect.cwd = self.state.cwd.as_ref().filter(plain).cloned().unwrap_or_default();
        }
        self.forget_environments(&effect);
        // also those that are there already
        let here = effect.operation.is_empty() && Some(effect.target.name()) == self.state.cwd.as_deref();
        self.produced.push((effect.verb, effect.verb == Verb::Execute && here));
        // a digest shows which are new, and the place of most others, without a look at all
        let digest = self.hashing.hash_one(&effect);
        if let Some(place) = self.pushed.get(&digest)
            && (self.reading.effects.get(*place) == Some(&effect) || self.reading.effects.contains(&effect))
        {
            return;
        }
        if self.reading.effects.len() >= MAX_EFFECTS {
            self.reading.effects.truncate(MAX_EFFECTS - 1);
            effect = Effect::unknown(Cause::Budget, "too many effects", "shell");
        }
        self.exhaustion(&effect);
        // the link may be elsewhere than it seems (inside an existing folder): both targets are possible
        if let Target::Path(path) = &effect.target
            && effect.verb != Verb::Link
            && let Some(real) = self.through_links(path)
        {
            let other = Effect { target: Target::Path(real), ..effect.clone() };
            if !self.reading.effects.contains(&other) {
                self.reading.effects.push(other);
            }
        }
        self.pushed.insert(digest, self.reading.effects.len());
        self.reading.effects.push(effect);
    }

    pub(crate) fn unknown(&mut self, cause: Cause, what: &str, program: &str) {
        if self.is_packaged() && matches!(cause, Cause::Program | Cause::Language) {
            return self.step(|| format!("{what}: the project's own code, or that of one of its packages"));
        }
        self.surely_unknown(cause, what, program);
    }

    /// Whether the code is the project's own, so that its unknown names are those of the project or of its packages.
    pub(crate) fn is_packaged(&self) -> bool {
        self.packaged && !self.state.privileged
    }

    /// An unknown part of which it does not matter whose code it is.
    pub(crate) fn surely_unknown(&mut self, cause: Cause, what: &str, program: &str) {
        self.step(|| format!("unknown ({}): {what}", cause.as_str()));
        self.add(Effect::unknown(cause, what, program));
    }

    pub(crate) fn step(&mut self, text: impl FnOnce() -> String) {
        if self.reading.steps.len() < 200 {
            let indent = "  ".repeat(self.via.len().min(8));
            self.reading.steps.push(format!("{indent}{}", text()));
        }
    }

    /// Reports exhaustion if a loop that never ends, or has very many rounds, has this effect.
    fn exhaustion(&mut self, effect: &Effect) {
        if self.repeat < MANY && !self.endless {
            return;
        }
        let resource = match effect.verb {
            Verb::Create if effect.target.kind() == Kind::Path && effect.dynamic() => "inode",
            Verb::Write
                if effect.target.kind() == Kind::Path && effect.dynamic() && !harmless_sink(effect.target.name()) =>
            {
                "inode"
            }
            Verb::Append
                if effect.target.kind() == Kind::Path && !harmless_sink(effect.target.name()) && self.endless =>
            {
                "disk"
            }
            _ => return,
        };
        self.exhaust(resource, &effect.program.clone());
    }

    pub(crate) fn exhaust(&mut self, resource: &str, program: &str) {
        let mut effect = Effect::new(Verb::Exhaust, Target::Named(Kind::Resource, resource.to_owned()), program);
        effect.privileged = self.state.privileged;
        effect.via = self.via.clone();
        if !self.reading.effects.contains(&effect) {
            self.reading.effects.push(effect);
        }
    }

    /// The target of a path through links that this script created before; `None` if there are none.
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

    /// Makes a path absolute if the working directory is known, and removes `.` and `..` lexically.
    pub(crate) fn path(&self, written: &str) -> String {
        if self.state.cwd.as_deref() == Some("") {
            return written.to_owned();
        }
        if written.starts_with('/') {
            return tidy(written);
        }
        if written.starts_with(UNKNOWN_SPAN) {
            return written.to_owned();
        }
        match &self.state.cwd {
            Some(cwd) => tidy(&format!("{cwd}/{written}")),
            None => format!("{UNKNOWN_SPAN}/{written}"),
        }
    }

    /// Notes `ln TARGET LINK`: later paths through the link lead to the target.
    pub(crate) fn note_link(&mut self, target: &str, link: &str) {
        let link = self.path(link);
        let folder = link.rsplit_once('/').map_or("", |(folder, _)| folder);
        let target = if target.starts_with('/') { tidy(target) } else { tidy(&format!("{folder}/{target}")) };
        let plain = |p: &str| p.starts_with('/') && !p.contains(UNKNOWN_SPAN);
        if plain(&link) && plain(&target) && self.links.len() < 256 {
            // if the name is that of an existing folder, the link is created inside it
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

/// Removes `.`, `..` and repeated slashes from an absolute path, lexically. A `..` after a part that is not constant is
/// kept, because the part may be anything.
#[must_use]
pub fn tidy(path: &str) -> String {
    if is_tidy(path) {
        return path.to_owned();
    }
    // the root of a process of this machine is the root of the machine
    let own = path.strip_prefix("/proc/").and_then(|rest| rest.split_once("/root/")).filter(|(process, _)| {
        matches!(*process, "self" | "thread-self") || process.chars().all(|c| c.is_ascii_digit())
    });
    let path = own.map_or(path, |(_, rest)| rest);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| !p.contains(UNKNOWN_SPAN)) => {
                parts.pop();
            }
            ".." if parts.is_empty() => {}
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path certainly has no part to be left out.
fn is_tidy(path: &str) -> bool {
    let parts = path.as_bytes().windows(2);
    path.starts_with('/')
        && !path.starts_with("/proc/")
        && !path.ends_with('/')
        && !parts.into_iter().any(|pair| matches!(pair, b"//" | b"/."))
}
