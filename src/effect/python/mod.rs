//! What Python source does to the system, found without running it.
//!
//! 1. tree-sitter parses the source; ERROR and MISSING nodes make the reading incomplete.
//! 2. The tree is interpreted abstractly (`values`): constants are followed through variables, functions,
//!    classes, containers, decoders and `exec`; what is not constant is a hole. Both branches of every `if` count.
//! 3. Each call of something outside the program is looked up in `calls.toml` (`table`) and becomes a [`Call`].
//!    A name that the table lacks is `unknown`, never nothing.
//! 4. Loops carry a weight, so that what grows without bound is `exhaust`.
//!
//! Size, nesting, steps and calls are bounded; running into a bound makes the reading incomplete.

mod builtins;
mod calls;
mod data;
mod expressions;
mod flow;
mod members;
mod special;
mod statements;
mod strings;
mod table;
mod values;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use tree_sitter::{Node, Parser, Tree};
use values::{Class, Function, HOLE, Value};

/// Longest source that is read, in bytes.
const MAX_SOURCE: usize = 256 * 1024;
/// Deepest nesting of what is interpreted.
const MAX_DEPTH: usize = 200;
/// Nodes interpreted, plus one for each 64 bytes of text built.
const MAX_STEPS: usize = 200_000;
/// Calls reported.
const MAX_CALLS: usize = 2_000;
/// Sources read because `exec` or `eval` runs them, and how deep they nest.
const MAX_SOURCES: usize = 32;
const MAX_SOURCE_NESTING: usize = 6;

/// One thing that the source does to something outside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// As in `src/effect/commands/README.md`: `delete`, `kill:process`, `script:bash`, `unknown`.
    pub role: String,
    /// Path, URL, command text; U+FFFC stands for each part that is not constant.
    pub target: String,
    /// Below the target too.
    pub recursive: bool,
    /// The target is not fully constant.
    pub dynamic: bool,
    /// Mode in octal, signal, owner.
    pub detail: Option<String>,
    /// What was called: `os.remove`.
    pub via: String,
}

/// All that a source does, as far as it can be seen.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The calls with effects.
    pub calls: Vec<Call>,
    /// Everything was parsed and interpreted within the bounds.
    pub complete: bool,
    /// Why it is not complete.
    pub problems: Vec<String>,
}

/// Reads Python source. Never fails: what is not understood is in the reading.
#[must_use]
pub fn read(source: &str) -> Reading {
    let Some(table) = table::table() else {
        return Reading { problems: vec!["the table of calls does not parse".into()], ..Reading::default() };
    };
    let mut reader = Reader::new(table);
    reader.source(source, "source");
    reader.answered();
    reader.read_uncalled();
    Reading { complete: reader.problems.is_empty(), calls: reader.calls, problems: reader.problems }
}

/// A parsed text: the source itself or what `exec` is given.
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
    /// `return`, `raise`, `break`, `continue`: what follows in the block is not reached.
    Stop,
}

/// A function call under way.
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

struct Reader {
    table: &'static table::Table,
    calls: Vec<Call>,
    problems: Vec<String>,
    sources: Vec<Rc<Source>>,
    /// Variables: the first scope is the module's.
    scopes: Vec<HashMap<String, Value>>,
    frames: Vec<Frame>,
    /// Every assignment: scope, name, value before. Branches are undone and merged with it.
    journal: Vec<(usize, String, Option<Value>)>,
    /// Functions defined, with their class, until they are called.
    defined: Vec<(Rc<Function>, Option<Rc<Class>>)>,
    called: HashSet<(usize, usize)>,
    starred: Vec<String>,
    /// Texts that the conditions around this point compare unknown values to: names of processes.
    compared: Vec<String>,
    /// How often this point runs, as far as enclosing loops tell.
    weight: f64,
    /// Product of the loops that are being walked item by item.
    unrolled: usize,
    grown: HashMap<&'static str, f64>,
    /// Second pass over a loop body: growth is not counted twice.
    again: bool,
    forks: usize,
    cwd: Option<String>,
    steps: usize,
    depth: usize,
    nested_sources: usize,
    /// It loads tables: `data`.
    loads: bool,
}

impl Reader {
    fn new(table: &'static table::Table) -> Self {
        Reader {
            table,
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

    fn problem(&mut self, text: &str) {
        if !self.problems.iter().any(|p| p == text) && self.problems.len() < 16 {
            self.problems.push(text.into())
        }
    }

    /// Parses and interprets a text in the present scope; the value is that of its last expression.
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

    /// Functions that nothing calls in sight are read with unknown arguments: someone may call them.
    fn read_uncalled(&mut self) {
        while let Some((function, class)) = self.defined.pop() {
            if self.called.contains(&(function.source, function.start)) {
                continue;
            }
            self.call_unknown(&function, class);
        }
    }

    /// Counts a step; false when the budget is spent or nesting is too deep.
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

    /// Reports what `role` does to each text that `target` may be.
    fn emit(&mut self, role: &str, target: &Value, recursive: bool, detail: Option<String>, via: &str) {
        for choice in target.choices() {
            self.emit_text(role, choice.show(), recursive, detail.clone(), via);
        }
    }

    fn emit_text(&mut self, role: &str, mut target: String, recursive: bool, detail: Option<String>, via: &str) {
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
        let dynamic = target.contains(HOLE);
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
                dynamic: what.contains(HOLE),
                detail: None,
                via: what.into(),
            });
        }
    }

    /// Something takes `amount` more (bytes, files, processes) each time this point runs.
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
                detail: None,
                via: via.into(),
            });
        }
    }
}
