//! JavaScript and TypeScript as a [`Program`].
//!
//! 1. Names belong to the function that declares them; a name that no enclosing function declares is outside the program.
//! 2. Statements are taken without their order: a variable holds everything that any of them assigns.
//! 3. Modules of the project are read, too ([`modules`]); other modules are names outside the program.

mod data;
mod declared;
mod expressions;
mod literals;
mod modules;
mod patterns;
mod statements;

use super::expression::{Expression, Program};
use super::table::Table;
use super::{Loader, MAX_DEPTH, MAX_NODES, MAX_SOURCE};
use crate::Cause;
use crate::budget;
use crate::tree::{self, Grammar};
use crate::tree::{Node, Tree};
use foldhash::HashMap;

/// Most files of one program.
const MAX_UNITS: usize = 64;

/// Turns source, or a file with this path, into a program. `settings`: whether modules in JSON have their values.
pub fn read(text: &str, path: &str, table: &Table, loader: &dyn Loader, settings: bool) -> Program {
    let (program, loaded) = (Program::default(), HashMap::default());
    let mut reader = Reader { table, program, loader, loaded, settings, nodes: 0, bytes: 0 };
    reader.unit(path, text);
    reader.program
}

/// The value of a file in JSON. `None` if it is no JSON, or too large.
pub fn data(text: &str) -> Option<Expression> {
    data::value(text)
}

struct Reader<'l> {
    table: &'l Table,
    program: Program,
    loader: &'l dyn Loader,
    /// The files that were read, by path.
    loaded: HashMap<String, usize>,
    settings: bool,
    nodes: usize,
    bytes: usize,
}

/// One file, while it is read.
struct File<'r, 'l, 's> {
    reader: &'r mut Reader<'l>,
    text: &'s str,
    unit: usize,
    /// Variables by name, of the enclosing functions.
    scopes: Vec<HashMap<String, usize>>,
    /// The enclosing functions.
    functions: Vec<usize>,
    /// Whether names that are being declared may mean something else outside of their block.
    shadows: bool,
    /// Whether `this` is an object of a class of the program that extends none: of each enclosing function and class.
    this: Vec<bool>,
    /// Whether the function that is read next is a method of a class.
    is_method: bool,
    /// Classes that extend what may be a class outside the program.
    foreign: Vec<usize>,
    /// How often the whole file was searched.
    searches: usize,
    /// Enclosing namespaces of TypeScript.
    namespaces: usize,
    depth: usize,
}

impl Reader<'_> {
    /// Reads a file; its index in [`Program::units`].
    fn unit(&mut self, path: &str, text: &str) -> usize {
        let unit = self.program.units.len();
        self.program.units.push(super::expression::Unit { path: path.to_owned(), ..Default::default() });
        if !path.is_empty() {
            self.loaded.insert(path.to_owned(), unit);
        }
        self.bytes += text.len();
        if self.bytes > MAX_SOURCE || unit >= MAX_UNITS {
            self.program.problems.add(Cause::Budget, "the program is too large");
            return unit;
        }
        let Some(tree) = parse(text, path) else {
            self.program.problems.add(Cause::Budget, "the parser gave up");
            return unit;
        };
        if tree.root_node().has_error() {
            let what = if path.is_empty() { "the source" } else { path };
            self.program.problems.add(Cause::Parse, format!("{what} does not parse"));
        }
        let mut file = File {
            reader: self,
            text,
            unit,
            scopes: vec![HashMap::default()],
            functions: Vec::new(),
            shadows: false,
            this: Vec::new(),
            is_method: false,
            foreign: Vec::new(),
            searches: 0,
            namespaces: 0,
            depth: 0,
        };
        // a module may load another, and so on
        stacker::maybe_grow(super::STACK.0, super::STACK.1, || {
            file.declare(tree.root_node());
            file.block(tree.root_node());
        });
        unit
    }
}

/// Parses source with the grammar that its path names; if that fails, with the other ones.
fn parse(text: &str, path: &str) -> Option<Tree> {
    let order = if [".ts", ".mts", ".cts"].iter().any(|ending| path.ends_with(ending)) {
        [Grammar::TypeScript, Grammar::Tsx, Grammar::JavaScript]
    } else if path.ends_with(".tsx") {
        [Grammar::Tsx, Grammar::TypeScript, Grammar::JavaScript]
    } else {
        [Grammar::JavaScript, Grammar::TypeScript, Grammar::Tsx]
    };
    let mut first = None;
    for grammar in order {
        let tree = tree::parse(grammar, text)?;
        if !tree.root_node().has_error() {
            return Some(tree);
        }
        first = first.or(Some(tree));
    }
    first
}

impl File<'_, '_, '_> {
    fn of(&self, node: Node<'_>) -> &str {
        node.utf8_text(self.text.as_bytes()).unwrap_or_default()
    }

    fn program(&mut self) -> &mut Program {
        &mut self.reader.program
    }

    /// Counts a node; whether it may be read.
    fn enter(&mut self) -> bool {
        self.reader.nodes += 1;
        self.depth += 1;
        if self.reader.nodes > MAX_NODES || budget::is_spent() {
            self.program().problems.add(Cause::Budget, "the program is too large");
            return false;
        }
        if self.depth > MAX_DEPTH {
            self.program().problems.add(Cause::Budget, "nested too deeply");
            return false;
        }
        true
    }

    /// The expression of a name: a variable, or a name outside the program.
    fn name(&mut self, name: &str) -> Expression {
        match self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            Some(variable) => Expression::Variable(*variable),
            None if matches!(name, "undefined" | "NaN" | "Infinity") => Expression::Plain,
            None => {
                self.program().uses_arguments |= name == "arguments";
                self.outside(name)
            }
        }
    }

    /// Names of a file that depend on its path.
    fn outside(&self, name: &str) -> Expression {
        let path = self.reader.program.units.get(self.unit).map_or("", |unit| unit.path.as_str());
        match name {
            "__dirname" if path.is_empty() => Expression::text("."),
            "__dirname" => Expression::text(super::folder(path)),
            "__filename" if path.is_empty() => Expression::Unknown,
            "__filename" => Expression::text(path),
            "exports" => Expression::Unit(self.unit),
            _ => Expression::Outside(name.into()),
        }
    }

    /// Adds a variable to the innermost function.
    fn add(&mut self, name: &str) -> usize {
        if let Some(known) = self.scopes.last().and_then(|scope| scope.get(name)) {
            return *known;
        }
        let elsewhere = self.shadows.then(|| self.name(name));
        let variable = self.program().variable();
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), variable);
        }
        match elsewhere {
            Some(Expression::Outside(name)) if !self.reader.table.knows(&name) => {}
            Some(elsewhere) => self.program().assign(variable, elsewhere),
            None => {}
        }
        variable
    }
}

/// The named children of a node, without comments.
fn named(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children().filter(|child| child.kind() != "comment").collect()
}

fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}
