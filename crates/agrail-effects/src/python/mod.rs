//! Effects of Python source on the system, found without running it.
//!
//! 1. tree-sitter parses the source; ERROR and MISSING nodes make the reading incomplete.
//! 2. The tree is interpreted abstractly (`values`): constants are followed through variables, functions, classes,
//!    containers, decoders and `exec`; a value that is not constant is a hole. Both branches of every `if` count.
//! 3. Each call to something outside the program is looked up in `calls.toml` (`table`) and becomes a [`Call`]. A name
//!    that the table lacks is `unknown`; it is never dropped.
//!    A [`Library`] adds the functions that the agent's host provides.
//! 4. A module is looked for in the folder of the program, the working folder and its `src`, before the table; it is
//!    interpreted once (`modules`). Of a module that is imported, functions count that the program calls or hands on. An
//!    installed package with the name of a module of the project is not told apart from it.
//! 5. Loops carry a weight, so that unbounded growth becomes `exhaust`.
//!
//! Size, nesting, steps and calls are bounded; a reading that reaches a bound is incomplete.

mod arguments;
mod builtins;
mod callbacks;
mod calls;
mod comprehensions;
mod data;
mod expressions;
#[cfg(test)]
mod file;
mod flow;
mod library;
mod members;
mod modules;
mod operators;
mod rounds;
mod row;
mod settings;
mod source;
mod special;
mod statements;
mod strings;
mod table;
mod values;
mod variables;

use crate::reading::{Call, LIBRARY, Loader, NoModules, Problems, Reading, quote};
use crate::tree::{self, Grammar};
use crate::tree::{Node, Tree};
use crate::{Cause, Detail, budget};
use foldhash::{HashMap, HashSet};
use modules::Modules;
use std::rc::Rc;
use table::{Entry, Table};
use values::{Class, Function, UNKNOWN_SPAN, Value};

pub(crate) use data::STATEMENT;
pub use library::Library;

/// The modules of Python itself.
const STANDARD: &str = include_str!("stdlib.txt");
/// Longest source that is parsed, in bytes.
const MAX_SOURCE: usize = 256 * 1024;
/// Deepest nesting of nodes that are interpreted.
const MAX_DEPTH: usize = 200;
/// Most steps: one per interpreted node, and one per 64 bytes of text built.
const MAX_STEPS: usize = 200_000;
/// Most calls that are reported.
const MAX_CALLS: usize = 2_000;
/// Most sources that are parsed, modules among them, and the deepest nesting of those that `exec` or `eval` runs.
const MAX_SOURCES: usize = 192;
const MAX_SOURCE_NESTING: usize = 6;

/// Where a program stands and runs.
pub struct Place<'t> {
    /// Its file; empty if it has none.
    pub path: &'t str,
    /// The working folder.
    pub folder: &'t str,
    /// The words after its name, if all are known.
    pub words: Option<&'t [String]>,
    /// The project's modules.
    pub loader: &'t dyn Loader,
}

impl Place<'static> {
    /// Source without a file, and no modules.
    pub(crate) const NONE: Self = Self { path: "", folder: "", words: None, loader: &NoModules };
}

/// Interprets Python source, which may call the functions of the host's library. Never fails: the reading contains
/// everything that could not be interpreted.
#[must_use]
pub fn extract_effects(source: &str, place: &Place<'_>, library: &Library) -> Reading {
    let Some(table) = table::table() else {
        return Reading::failed(Cause::Budget, "the table of calls does not decode");
    };
    let mut reader = Reader::new(table, library, Modules::new(place.path, place.folder, place.loader));
    if place.path.starts_with('/') {
        reader.assign_name("__file__", values::text(place.path));
    }
    if let Some(words) = place.words {
        reader.set_words(std::iter::once(place.path).chain(words.iter().map(String::as_str)));
    }
    reader.source(source, "source");
    reader.answered();
    reader.hand_on_arguments();
    reader.read_uncalled();
    note_walks(&mut reader.calls);
    Reading::new(reader.calls, reader.problems)
}

/// Notes that a change of what a recursive listing has found affects everything below its folder.
fn note_walks(calls: &mut [Call]) {
    let walked: HashSet<String> =
        calls.iter().filter(|call| call.role == "list" && call.recursive).map(|call| call.target.clone()).collect();
    for call in calls.iter_mut().filter(|call| matches!(call.role.as_str(), "delete" | "write" | "encrypt" | "move")) {
        let folder = call.target.split(UNKNOWN_SPAN).next().unwrap_or_default().trim_end_matches('/');
        call.recursive |= call.dynamic && walked.contains(folder);
    }
}

/// A parsed text: the source itself, or the argument of `exec`.
struct Source {
    text: String,
    tree: Tree,
}

impl Source {
    fn of(&self, node: Node<'_>) -> &str {
        node.utf8_text(self.text.as_bytes()).unwrap_or_default()
    }
}

/// How a block of statements ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    /// `return`, `raise`, `break`, `continue`: the rest of the block does not run.
    Stop,
}

/// A function call in progress.
struct Frame {
    function: (usize, usize),
    /// Scopes below this one belong to callers.
    base: usize,
    globals: HashSet<String>,
    nonlocals: HashSet<String>,
    returned: Option<Value>,
    yielded: Option<Value>,
    forks: usize,
}

struct Reader<'t> {
    table: &'t Table,
    /// Functions of the agent's host.
    library: &'t Library,
    calls: Vec<Call>,
    problems: Problems,
    sources: Vec<Rc<Source>>,
    /// Variables by scope; the first scope is the module's.
    scopes: Vec<HashMap<String, Value>>,
    frames: Vec<Frame>,
    /// Every assignment: scope, name, previous value. Branches are undone and merged with it.
    journal: Vec<(usize, String, Option<Value>)>,
    /// Defined functions, with their class, that were not called yet.
    defined: Vec<(Rc<Function>, Option<Rc<Class>>)>,
    called: HashSet<(usize, usize)>,
    starred: Vec<String>,
    /// Texts that the enclosing conditions compare with unknown values: names of processes.
    compared: Vec<String>,
    /// Whether the program has listed all processes.
    all_processes: bool,
    /// How often the current statement runs, as far as the enclosing loops show.
    weight: f64,
    /// Product of the lengths of the loops that are interpreted item by item.
    unrolled: usize,
    grown: HashMap<&'static str, f64>,
    /// The loops whose first round is interpreted.
    rounds: Vec<rounds::Round>,
    /// Whether this is the second pass over a loop body, in which growth is not counted again.
    again: bool,
    forks: usize,
    cwd: Option<String>,
    steps: usize,
    depth: usize,
    nested_sources: usize,
    /// Whether the source loads tables (`data`).
    loads: bool,
    modules: Modules<'t>,
    /// The words of the command line.
    arguments: arguments::Arguments,
    /// Functions that imported modules define, with their class.
    inner: Vec<(Rc<Function>, Option<Rc<Class>>)>,
}

impl<'t> Reader<'t> {
    fn new(table: &'t Table, library: &'t Library, modules: Modules<'t>) -> Self {
        Reader {
            table,
            library,
            calls: vec![],
            problems: Problems::default(),
            sources: vec![],
            scopes: vec![HashMap::default()],
            frames: vec![],
            journal: vec![],
            defined: vec![],
            called: HashSet::default(),
            starred: vec![],
            compared: vec![],
            all_processes: false,
            weight: 1.0,
            unrolled: 1,
            grown: HashMap::default(),
            rounds: vec![],
            again: false,
            forks: 0,
            cwd: None,
            steps: 0,
            depth: 0,
            nested_sources: 0,
            loads: false,
            modules,
            arguments: arguments::Arguments::default(),
            inner: vec![],
        }
    }

    /// The row of a name, or whether the name is known to be harmless. The host's functions do not replace known ones.
    fn find(&self, name: &str) -> Entry<'t> {
        match self.table.find(name) {
            Entry::Missing => self.library.row(name).map_or(Entry::Missing, Entry::Row),
            known => known,
        }
    }

    /// Parses and interprets a text in the current scope; returns the value of its last expression.
    fn source(&mut self, text: &str, what: &str) -> Value {
        if self.nested_sources >= MAX_SOURCE_NESTING {
            self.problems.add(Cause::Budget, "source within source is nested too deeply");
            return Value::Hole;
        }
        let Some(source) = self.parse(text, what) else { return Value::Hole };
        self.nested_sources += 1;
        let value = self.module(&source);
        self.nested_sources -= 1;
        value
    }

    /// Parses a text; nothing if it is too large.
    fn parse(&mut self, text: &str, what: &str) -> Option<Rc<Source>> {
        if text.len() > MAX_SOURCE || self.sources.len() >= MAX_SOURCES {
            self.problems.add(Cause::Budget, format!("{what} is too large"));
            return None;
        }
        let Some(tree) = tree::parse(Grammar::Python, text) else {
            self.problems.add(Cause::Budget, "the parser gave up");
            return None;
        };
        if tree.root_node().has_error() {
            self.problems.add(Cause::Parse, format!("{what} does not parse"))
        }
        let source = Rc::new(Source { text: text.into(), tree });
        self.sources.push(source.clone());
        Some(source)
    }

    /// Interprets the functions that nothing calls, with unknown arguments: other code may call them.
    fn read_uncalled(&mut self) {
        loop {
            let inner = std::mem::take(&mut self.inner);
            let (callable, other): (Vec<_>, Vec<_>) =
                inner.into_iter().partition(|(function, class)| self.may_be_called(function, class.as_ref()));
            self.inner = other;
            self.defined.extend(callable);
            let Some((function, class)) = self.defined.pop() else { return };
            if self.called.contains(&(function.source, function.start)) {
                continue;
            }
            self.call_unknown(&function, class);
        }
    }

    /// Counts steps; false if the budget is spent or the nesting is too deep.
    fn step(&mut self, cost: usize) -> bool {
        self.steps += cost;
        if self.steps > MAX_STEPS || budget::is_spent() {
            self.steps = self.steps.max(MAX_STEPS + 1);
            self.problems.add(Cause::Budget, "too many steps")
        }
        if self.depth > MAX_DEPTH {
            self.problems.add(Cause::Budget, "nested too deeply")
        }
        self.steps <= MAX_STEPS && self.depth <= MAX_DEPTH
    }

    /// Reports a call with this role for each possible text of the target.
    fn emit(&mut self, role: &str, target: &Value, recursive: bool, detail: Detail, via: &str) {
        for choice in target.choices() {
            self.emit_text(role, choice.show(), recursive, detail.clone(), via);
        }
    }

    fn emit_text(&mut self, role: &str, mut target: String, recursive: bool, detail: Detail, via: &str) {
        let on_path = matches!(
            role,
            "read"
                | "list"
                | "write"
                | "append"
                | "create"
                | "overwrite"
                | "delete"
                | "move"
                | "chmod"
                | "chown"
                | "link"
                | "link/to"
                | "linked"
                | "encrypt"
                | "execute"
                | "scriptfile:python"
        );
        if let Some(cwd) = &self.cwd {
            if on_path && !target.starts_with(['/', '~']) {
                target = values::join(cwd, &target)
            }
            if role == "script:bash" {
                target = format!("cd {} && {target}", quote(cwd))
            }
        }
        let dynamic = target.contains(UNKNOWN_SPAN);
        if self.weight >= 1e4 && dynamic && matches!(role, "write" | "create" | "append" | "link") {
            self.grow("inode", 1.0)
        }
        let call = Call { role: role.into(), target, recursive, dynamic, detail, via: via.into() };
        if self.calls.contains(&call) {
            return;
        }
        if self.calls.len() >= MAX_CALLS {
            return self.problems.add(Cause::Budget, "too many calls");
        }
        self.calls.push(call);
    }

    /// Reports a function that the table lacks: of an installed package, or of Python itself.
    fn library(&mut self, name: &str) {
        let root = name.split('.').next().unwrap_or_default();
        if !name.contains('.') || STANDARD.split_whitespace().any(|module| module == root) {
            return self.unknown(name);
        }
        self.unknown_as(LIBRARY, name);
    }

    fn unknown(&mut self, what: &str) {
        self.unknown_as("unknown", what);
    }

    fn unknown_as(&mut self, role: &str, what: &str) {
        if !self.calls.iter().any(|c| c.role == role && c.target == what) {
            self.calls.push(Call {
                role: role.into(),
                target: what.into(),
                recursive: false,
                dynamic: what.contains(UNKNOWN_SPAN),
                detail: Detail::None,
                via: what.into(),
            });
        }
    }

    /// Reports exhaustion if the total of a resource (bytes, files, processes) becomes too large; it grows by `amount`
    /// each time that the current statement runs.
    fn grow(&mut self, what: &'static str, amount: f64) {
        if self.again {
            return;
        }
        let total = self.grown.entry(what).or_default();
        *total += amount * self.weight;
        let limit = match what {
            "memory" => 1e8,
            "disk" => 1e9,
            "inode" => 1e4,
            _ => 1e3,
        };
        if *total >= limit {
            self.exhaust(what)
        }
    }

    fn exhaust(&mut self, what: &str) {
        if !self.calls.iter().any(|c| c.role == "exhaust" && c.target == what) {
            let via = if self.weight > 1.0 { "loop" } else { "allocation" };
            self.calls.push(Call {
                role: "exhaust".into(),
                target: what.into(),
                recursive: false,
                dynamic: false,
                detail: Detail::None,
                via: via.into(),
            });
        }
    }
}
