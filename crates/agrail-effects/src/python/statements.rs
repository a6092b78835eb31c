//! Statements: assignments, branches, loops, definitions, imports.

use super::calls::{Args, acts};
use super::values::{self, FIELDS, Value, either};
use super::{Flow, Frame, Reader, Source};
use crate::Cause;
use crate::tree::Node;
use foldhash::{HashMap, HashSet};
use std::rc::Rc;

pub(super) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children().filter(|n| !matches!(n.kind(), "comment" | "line_continuation")).collect()
}

pub(super) fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

pub(super) fn fields<'t>(node: Node<'t>, name: &str) -> Vec<Node<'t>> {
    node.children_by_field_name(name).collect()
}

impl Reader<'_> {
    pub(super) fn module(&mut self, src: &Rc<Source>) -> Value {
        let root = src.tree.root_node();
        let statements = named(root);
        // `eval` needs the value of its only expression
        if let [only] = statements.as_slice()
            && only.kind() == "expression_statement"
        {
            return named(*only).first().map_or(Value::None, |e| self.expr(src, *e));
        }
        self.block(src, root);
        Value::None
    }

    pub(super) fn block(&mut self, src: &Rc<Source>, node: Node<'_>) -> Flow {
        let compared = self.compared.len();
        let mut flow = Flow::Next;
        for statement in named(node) {
            if flow == Flow::Stop && statement.kind() != "function_definition" {
                continue;
            }
            flow = self.statement(src, statement);
        }
        self.compared.truncate(compared);
        flow
    }

    pub(super) fn statement(&mut self, src: &Rc<Source>, node: Node<'_>) -> Flow {
        self.depth += 1;
        let flow = if self.step(1) { self.statement_inner(src, node) } else { Flow::Stop };
        self.depth -= 1;
        flow
    }

    fn statement_inner(&mut self, src: &Rc<Source>, node: Node<'_>) -> Flow {
        match node.kind() {
            "expression_statement" | "assert_statement" => {
                self.all(src, named(node));
            }
            "if_statement" => return self.if_statement(src, node),
            "for_statement" => self.for_statement(src, node),
            "while_statement" => self.while_statement(src, node),
            "try_statement" => self.try_statement(src, node),
            "except_clause" | "except_group_clause" | "finally_clause" | "else_clause" => self.handler(src, node),
            "with_statement" => return self.with_statement(src, node),
            "match_statement" => self.match_statement(src, node),
            "function_definition" => {
                self.define(src, node, None);
            }
            "decorated_definition" => self.decorated(src, node),
            "class_definition" => self.class(src, node),
            "return_statement" => {
                let value = named(node).first().map_or(Value::None, |e| self.expr(src, *e));
                if let Some(frame) = self.frames.last_mut() {
                    frame.returned = Some(match frame.returned.take() {
                        Some(old) => either(old, value),
                        None => value,
                    });
                }
                return Flow::Stop;
            }
            "raise_statement" => {
                self.all(src, named(node));
                return Flow::Stop;
            }
            "break_statement" | "continue_statement" => return Flow::Stop,
            "import_statement" => self.import(src, node),
            "import_from_statement" => self.import_from(src, node),
            "global_statement" | "nonlocal_statement" => self.declare(src, node),
            "print_statement" => {
                self.problems.add(Cause::Language, "Python 2");
                self.all(src, named(node));
            }
            "exec_statement" => {
                self.problems.add(Cause::Language, "Python 2");
                if let Some(code) = field(node, "code") {
                    let code = self.expr(src, code);
                    self.run_source(&code, "exec");
                }
            }
            "delete_statement" | "pass_statement" | "future_import_statement" | "type_alias_statement" | "comment" => {}
            // ERROR, and blocks in the place of a statement
            "ERROR" | "block" | "module" => return self.block(src, node),
            _ => {
                self.expr(src, node);
            }
        }
        Flow::Next
    }

    fn with_statement(&mut self, src: &Rc<Source>, node: Node<'_>) -> Flow {
        for item in named(node).iter().filter(|n| n.kind() == "with_clause").flat_map(|c| named(*c)) {
            if let Some(value) = field(item, "value") {
                self.expr(src, value);
            }
        }
        field(node, "body").map_or(Flow::Next, |body| self.block(src, body))
    }

    /// `global` and `nonlocal`.
    fn declare(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let names = named(node).into_iter().map(|n| src.of(n).to_string());
        if let Some(frame) = self.frames.last_mut() {
            if node.kind() == "global_statement" { frame.globals.extend(names) } else { frame.nonlocals.extend(names) }
        }
    }

    // --- definitions

    pub(super) fn define(&mut self, src: &Rc<Source>, node: Node<'_>, class: Option<&str>) -> Value {
        let source = self.sources.iter().position(|s| Rc::ptr_eq(s, src)).unwrap_or(0);
        let base = self.frames.last().map_or(0, |f| f.base).max(1);
        let captured: HashMap<String, Value> =
            self.scopes.iter().skip(base).flat_map(|s| s.iter().map(|(k, v)| (k.clone(), v.clone()))).collect();
        if !self.rounds.is_empty() {
            let text = src.of(node);
            captured.keys().filter(|name| text.contains(name.as_str())).for_each(|name| self.note_read(name));
        }
        let value = values::function(source, self.modules.current, (node.start_byte(), node.end_byte()), captured);
        if let (Value::Function(f), None) = (&value, class)
            && node.kind() != "lambda"
        {
            self.defined.push((f.clone(), None))
        }
        if let Some(parameters) = field(node, "parameters") {
            for default in named(parameters).iter().filter_map(|p| field(*p, "value")) {
                self.expr(src, default);
            }
            for kind in named(parameters).iter().filter_map(|p| field(*p, "type")) {
                self.all(src, named(kind));
            }
        }
        if let Some(kind) = field(node, "return_type") {
            self.all(src, named(kind));
        }
        if let Some(name) = field(node, "name") {
            self.assign_name(src.of(name), value.clone())
        }
        value
    }

    fn decorated(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let Some(definition) = field(node, "definition") else { return };
        self.statement(src, definition);
        for decorator in named(node).iter().filter(|n| n.kind() == "decorator").flat_map(|d| named(*d)) {
            let with = self.expr(src, decorator);
            let name = field(definition, "name").map(|n| src.of(n).to_string()).unwrap_or_default();
            if let Value::Name(outside) = &with
                && acts(self.find(outside))
            {
                self.call_value(&with, Args::unknown(), "a decorator");
            }
            if let (Value::Function(_), Some(value)) = (&with, self.lookup(&name)) {
                let wrapped = self.call_value(&with, vec![value].into(), "a decorator");
                if wrapped.callable() {
                    self.assign_name(&name, wrapped)
                }
            }
        }
    }

    fn class(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let (Some(name), Some(body)) = (field(node, "name"), field(node, "body")) else { return };
        let (mut base, mut members) = (None, HashMap::default());
        for parent in field(node, "superclasses").map(named).unwrap_or_default() {
            if parent.kind() == "keyword_argument" {
                continue;
            }
            match self.expr(src, parent) {
                Value::Class(c) => {
                    members.extend(c.members.clone());
                    base = base.or(c.base.clone())
                }
                Value::Name(n) => base = Some(n),
                _ => {}
            }
        }
        let frame = Frame {
            function: (usize::MAX, node.start_byte()),
            base: self.scopes.len(),
            globals: HashSet::default(),
            nonlocals: HashSet::default(),
            returned: None,
            yielded: None,
            forks: 0,
        };
        self.scopes.push(HashMap::default());
        self.frames.push(frame);
        let defined = self.defined.len();
        self.block(src, body);
        let methods = self.defined.split_off(defined.min(self.defined.len()));
        self.frames.pop();
        members.extend(self.scopes.pop().unwrap_or_default());
        // methods that the language itself calls
        let hooks = members
            .iter()
            .filter(|(name, value)| name.starts_with("__") && matches!(value, Value::Name(n) if acts(self.find(n))));
        for (name, _) in hooks.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>() {
            self.unknown(&format!("{name} is a function that acts"));
        }
        // the names of the fields in the order of the arguments, as the language calls them
        let inherited = members.get(FIELDS).and_then(Value::elements).unwrap_or_default();
        let own = named(body).into_iter().filter_map(|statement| statement.named_child(0));
        let is_field = |kind: Node<'_>| !src.of(kind).contains("ClassVar");
        let own = own.filter(|assignment| field(*assignment, "type").is_some_and(is_field));
        let own =
            own.filter(|assignment| !field(*assignment, "right").is_some_and(|v| src.of(v).contains("init=False")));
        let own = own.filter_map(|assignment| Some(values::text(src.of(field(assignment, "left")?))));
        members.insert(FIELDS.to_owned(), values::list(inherited.into_iter().chain(own).collect()));
        let name = src.of(name).to_string();
        let value = values::class(name.clone(), members, base);
        if let Value::Class(class) = &value {
            self.defined.extend(methods.into_iter().map(|(f, c)| (f, c.or_else(|| Some(class.clone())))));
            // unpickling an instance would call the function that these methods return
            for hook in ["__reduce__", "__reduce_ex__"] {
                let Some(method) = class.members.get(hook).cloned() else { continue };
                let itself = Value::Instance(class.clone(), 0.0);
                if let Some([to, with, ..]) = self.call_value(&method, vec![itself].into(), hook).elements().as_deref()
                {
                    self.call_value(to, with.elements().unwrap_or_default().into(), hook);
                }
            }
        }
        self.assign_name(&name, value);
    }

    // --- imports

    fn import(&mut self, src: &Rc<Source>, node: Node<'_>) {
        for item in fields(node, "name") {
            let alias = field(item, "alias").map(|alias| src.of(alias).to_owned());
            let written = field(item, "name").unwrap_or(item);
            let dotted: String = src.of(written).split_whitespace().collect();
            let root = dotted.split('.').next().unwrap_or_default().to_owned();
            let value = match (self.own_module(&dotted, None), &alias) {
                (Some((_, last)), Some(_)) => last,
                (Some((first, _)), None) => first,
                (None, Some(_)) => Value::Name(self.table.canonical(&dotted).into()),
                (None, None) => Value::Name(self.table.canonical(&root).into()),
            };
            self.assign_name(alias.as_deref().unwrap_or(&root), value);
        }
    }

    fn import_from(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let written: String =
            field(node, "module_name").map(|m| src.of(m).split_whitespace().collect()).unwrap_or_default();
        let all = named(node).iter().any(|n| n.kind() == "wildcard_import");
        let names: Vec<(String, String)> = fields(node, "name")
            .into_iter()
            .map(|item| {
                let of = |name: &str| src.of(field(item, name).unwrap_or(item)).to_owned();
                (of("name"), of("alias"))
            })
            .collect();
        let wanted = names.first().map(|(name, _)| name.as_str());
        let module = if written.starts_with('.') {
            self.relative_module(&written, wanted.unwrap_or_default())
        } else {
            let own = self.own_module(&written, wanted);
            own.map_or_else(|| Value::Name(written.as_str().into()), |(_, last)| last)
        };
        match module {
            Value::Module(module) if all => self.import_all(module),
            _ if all => self.starred.push(written),
            _ => {}
        }
        for (name, alias) in names {
            let value = match module {
                Value::Module(module) => self.import_name(module, &name),
                _ => self.attribute(&module, &name),
            };
            self.assign_name(&alias, value);
        }
    }
}
