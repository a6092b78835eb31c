//! Effects of Python source on the system, found without running it.
//!
//! 1. tree-sitter parses the source; ERROR and MISSING nodes make the reading incomplete.
//! 2. The tree is interpreted abstractly (`values`): constants are followed through variables, functions, classes,
//!    containers, decoders and `exec`; a value that is not constant is a hole. Both branches of every `if` count.
//! 3. Each call to something outside the program is looked up in `calls.toml` (`table`) and becomes a [`Call`]. A name
//!    that the table lacks is `unknown`; it is never dropped.
//!    A [`Library`] adds the functions that the agent's host provides.
//! 4. Loops carry a weight, so that unbounded growth becomes `exhaust`.
//!
//! Size, nesting, steps and calls are bounded; a reading that reaches a bound is incomplete.

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
mod operators;
mod row;
mod source;
mod special;
mod statements;
mod strings;
mod table;
mod values;
mod variables;

use crate::Detail;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use table::{Entry, Table};
use tree_sitter::{Node, Parser, Tree};
use values::{Class, Function, UNKNOWN_SPAN, Value};

pub(crate) use calls::quote;
pub(crate) use data::STATEMENT;
pub use library::Library;

/// Longest source that is parsed, in bytes.
const MAX_SOURCE: usize = 256 * 1024;
/// Deepest nesting of nodes that are interpreted.
const MAX_DEPTH: usize = 200;
/// Most steps: one per interpreted node, and one per 64 bytes of text built.
const MAX_STEPS: usize = 200_000;
/// Most calls that are reported.
const MAX_CALLS: usize = 2_000;
/// Most sources that are parsed because `exec` or `eval` runs them, and their deepest nesting.
const MAX_SOURCES: usize = 32;
const MAX_SOURCE_NESTING: usize = 6;

/// One effect of the source on something outside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// A role in the notation of `commands/README.md`: `delete`, `kill:process`, `script:bash`, `unknown`.
    pub role: String,
    /// Path, URL or command text; U+FFFC replaces each part that is not constant.
    pub target: String,
    /// Whether paths below the target are affected, too.
    pub recursive: bool,
    /// Whether a part of the target is not constant.
    pub dynamic: bool,
    /// Mode in octal, signal or owner.
    pub detail: Detail,
    /// Name of the called function: `os.remove`.
    pub via: String,
}

/// All calls of a source, as far as they can be found.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The calls with effects.
    pub calls: Vec<Call>,
    /// Whether the whole source was parsed and interpreted within the bounds.
    pub complete: bool,
    /// Why the reading is incomplete.
    pub problems: Vec<String>,
}

/// Interprets Python source, which may call the functions of the host's library. Never fails: the reading contains
/// everything that could not be interpreted.
#[must_use]
pub fn extract_effects(source: &str, library: &Library) -> Reading {
    let Some(table) = table::table() else {
        return Reading { problems: vec!["the table of calls does not decode".into()], ..Reading::default() };
    };
    let mut reader = Reader::new(table, library);
    reader.source(source, "source");
    reader.answered();
    reader.read_uncalled();
    Reading { complete: reader.problems.is_empty(), calls: reader.calls, problems: reader.problems }
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
    problems: Vec<String>,
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
    /// How often the current statement runs, as far as the enclosing loops show.
    weight: f64,
    /// Product of the lengths of the loops that are interpreted item by item.
    unrolled: usize,
    grown: HashMap<&'static str, f64>,
    /// Whether this is the second pass over a loop body, in which growth is not counted again.
    again: bool,
    forks: usize,
    cwd: Option<String>,
    steps: usize,
    depth: usize,
    nested_sources: usize,
    /// Whether the source loads tables (`data`).
    loads: bool,
}

impl<'t> Reader<'t> {
    fn new(table: &'t Table, library: &'t Library) -> Self {
        Reader {
            table,
            library,
            calls: vec![],
            problems: vec![],
            sources: vec![],
            scopes: vec![HashMap::new()],
            frames: vec![],
            journal: vec![],
            defined: vec![],
            called: HashSet::new(),
            starred: vec![],
            compared: vec![],
            weight: 1.0,
            unrolled: 1,
            grown: HashMap::new(),
            again: false,
            forks: 0,
            cwd: None,
            steps: 0,
            depth: 0,
            nested_sources: 0,
            loads: false,
        }
    }

    /// The row of a name, or whether the name is known to be harmless. The host's functions do not replace known ones.
    fn find(&self, name: &str) -> Entry<'t> {
        match self.table.find(name) {
            Entry::Missing => self.library.row(name).map_or(Entry::Missing, Entry::Row),
            known => known,
        }
    }

    fn problem(&mut self, text: &str) {
        if !self.problems.iter().any(|p| p == text) && self.problems.len() < 16 {
            self.problems.push(text.into())
        }
    }

    /// Parses and interprets a text in the current scope; returns the value of its last expression.
    fn source(&mut self, text: &str, what: &str) -> Value {
        if text.len() > MAX_SOURCE || self.sources.len() >= MAX_SOURCES || self.nested_sources >= MAX_SOURCE_NESTING {
            self.problem("source too large or nested too deeply");
            return Value::Hole;
        }
        let mut parser = Parser::new();
        let tree =
            parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok().and_then(|()| parser.parse(text, None));
        let Some(tree) = tree else {
            self.problem("the parser does not start");
            return Value::Hole;
        };
        if tree.root_node().has_error() {
            self.problem(&format!("{what} does not parse"))
        }
        let source = Rc::new(Source { text: text.into(), tree });
        self.sources.push(source.clone());
        self.nested_sources += 1;
        let at = self.sources.len() - 1;
        let value = self.module(&source, at);
        self.nested_sources -= 1;
        value
    }

    /// Interprets the functions that nothing calls, with unknown arguments: other code may call them.
    fn read_uncalled(&mut self) {
        while let Some((function, class)) = self.defined.pop() {
            if self.called.contains(&(function.source, function.start)) {
                continue;
            }
            self.call_unknown(&function, class);
        }
    }

    /// Counts steps; false if the budget is spent or the nesting is too deep.
    fn step(&mut self, cost: usize) -> bool {
        self.steps += cost;
        if self.steps > MAX_STEPS {
            self.problem("too many steps")
        }
        if self.depth > MAX_DEPTH {
            self.problem("nested too deeply")
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
                target = format!("cd {} && {target}", calls::quote(cwd))
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
            return self.problem("too many calls");
        }
        self.calls.push(call);
    }

    fn unknown(&mut self, what: &str) {
        if !self.calls.iter().any(|c| c.role == "unknown" && c.target == what) {
            self.calls.push(Call {
                role: "unknown".into(),
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
