//! Statements: what they assign, import, export, and which functions they define.

use super::{File, field, named};
use crate::Cause;
use crate::code::expression::{Expression, Function};
use crate::tree::Node;

/// Nodes of types, which nothing runs.
const TYPES: [&str; 18] = [
    "interface_declaration",
    "type_alias_declaration",
    "type_annotation",
    "type_arguments",
    "type_parameters",
    "function_signature",
    "method_signature",
    "abstract_method_signature",
    "index_signature",
    "property_signature",
    "implements_clause",
    "accessibility_modifier",
    "override_modifier",
    "asserts_annotation",
    "type_predicate_annotation",
    "hash_bang_line",
    "empty_statement",
    "debugger_statement",
];

/// Longest list whose loop is read element by element, and most bytes that are read so.
const MAX_UNROLLED: usize = 16;
/// Most loops of a file whose list is looked for.
const MAX_SEARCHES: usize = 32;
const MAX_UNROLLED_BYTES: usize = 32 * 1024;

impl File<'_, '_, '_> {
    /// Reads the statements of a block.
    pub fn block(&mut self, node: Node<'_>) {
        named(node).into_iter().for_each(|child| self.statement(child));
    }

    pub fn statement(&mut self, node: Node<'_>) {
        if !self.enter() {
            return;
        }
        match node.kind() {
            kind if TYPES.contains(&kind) => {}
            // declared elsewhere
            "ambient_declaration" => {}
            "lexical_declaration" | "variable_declaration" | "export_clause" | "labeled_statement" => self.block(node),
            "variable_declarator" => {
                if let Some(value) = field(node, "value") {
                    let value = self.expression(value);
                    field(node, "name").into_iter().for_each(|name| self.assign(name, value.clone()));
                }
            }
            "for_in_statement" => self.each(node),
            "import_statement" => self.import(node),
            "export_statement" => self.export(node),
            "function_declaration" | "generator_function_declaration" => {
                let function = self.function(node);
                field(node, "name").into_iter().for_each(|name| self.assign(name, function.clone()));
            }
            "class_declaration" | "abstract_class_declaration" => {
                let class = self.class(node);
                field(node, "name").into_iter().for_each(|name| self.assign(name, class.clone()));
            }
            "return_statement" => {
                let value = node.named_child(0).map_or(Expression::Plain, |value| self.expression(value));
                self.returns(value);
            }
            "throw_statement" => {
                let value = node.named_child(0).map_or(Expression::Plain, |value| self.expression(value));
                self.program().escapes.push(value);
            }
            "with_statement" => {
                self.program().problems.add(Cause::Dynamic, "names in a `with` statement are not known");
                self.block(node);
            }
            "catch_clause" => {
                let parameter = field(node, "parameter");
                parameter.into_iter().for_each(|parameter| self.assign(parameter, Expression::Unknown));
                self.block(node);
            }
            "statement_block"
            | "if_statement"
            | "else_clause"
            | "for_statement"
            | "while_statement"
            | "do_statement"
            | "switch_statement"
            | "switch_body"
            | "switch_case"
            | "switch_default"
            | "try_statement"
            | "finally_clause"
            | "expression_statement" => self.block(node),
            "break_statement" | "continue_statement" | "statement_identifier" => {}
            _ => self.rare(node),
        }
        self.depth -= 1;
    }

    /// Other declarations, and expressions.
    fn rare(&mut self, node: Node<'_>) {
        match node.kind() {
            "class_static_block" => field(node, "body").into_iter().for_each(|body| self.block(body)),
            "enum_declaration" => self.enumeration(node),
            "internal_module" | "module" => {
                self.namespaces += 1;
                field(node, "body").into_iter().for_each(|body| self.block(body));
                self.namespaces -= 1;
                field(node, "name").into_iter().for_each(|name| self.assign(name, Expression::Plain));
            }
            _ => drop(self.expression(node)),
        }
    }

    /// `for (const x of xs)`, `for (const key in object)`.
    fn each(&mut self, node: Node<'_>) {
        if let Some(items) = self.listed(node) {
            return items.into_iter().for_each(|item| self.once(node, item));
        }
        let right = field(node, "right").map_or(Expression::Unknown, |right| self.expression(right));
        let value = match field(node, "operator").map(|operator| self.of(operator).to_owned()).as_deref() {
            Some("of") => Expression::Element(Box::new(right)),
            _ => Expression::Unknown,
        };
        field(node, "left").into_iter().for_each(|left| self.assign(left, value.clone()));
        field(node, "body").into_iter().for_each(|body| self.statement(body));
    }

    /// The elements of a short list that stands in the loop, or in a constant that only the loop uses.
    fn listed<'t>(&mut self, node: Node<'t>) -> Option<Vec<Node<'t>>> {
        let body = field(node, "body")?;
        let declared = field(node, "kind").is_some_and(|kind| matches!(self.of(kind), "const" | "let"));
        if !declared || self.of(field(node, "operator")?) != "of" || self.of(body).contains("var ") {
            return None;
        }
        let right = field(node, "right")?;
        let list = match right.kind() {
            "array" => right,
            "identifier" => self.only_use(right)?,
            _ => return None,
        };
        let items = named(list);
        let short = items.len() <= MAX_UNROLLED && items.len() * self.of(body).len() <= MAX_UNROLLED_BYTES;
        (short && !items.iter().any(|item| item.kind() == "spread_element")).then_some(items)
    }

    /// The list that a constant holds, if nothing but this node uses it.
    fn only_use<'t>(&mut self, used: Node<'t>) -> Option<Node<'t>> {
        self.searches += 1;
        if self.searches > MAX_SEARCHES {
            return None;
        }
        let mut root = used;
        while let Some(parent) = root.parent() {
            root = parent;
        }
        let (mut found, mut times, mut open) = (None, 0, vec![root]);
        while let Some(node) = open.pop() {
            let is_name = matches!(node.kind(), "identifier" | "shorthand_property_identifier");
            if is_name && self.of(node) == self.of(used) {
                times += 1;
                let declarator = node.parent().filter(|parent| parent.kind() == "variable_declarator");
                let constant = |declarator: &Node<'_>| {
                    declarator.parent().is_some_and(|parent| self.of(parent).starts_with("const"))
                };
                let value = declarator.filter(constant).and_then(|declarator| field(declarator, "value"));
                found = found.or(value.filter(|value| value.kind() == "array"));
            }
            open.extend(named(node));
        }
        found.filter(|_| times == 2)
    }

    /// Reads the body of a loop for one element.
    fn once(&mut self, node: Node<'_>, item: Node<'_>) {
        let value = self.expression(item);
        self.scopes.push(Default::default());
        if let Some(left) = field(node, "left") {
            self.bind_names(Some(left));
            self.assign(left, value);
        }
        if let Some(body) = field(node, "body") {
            self.declare(body);
            self.statement(body);
        }
        self.scopes.pop();
    }

    /// `return`; at the top of a file nothing takes the value.
    pub fn returns(&mut self, value: Expression) {
        let function = self.functions.last().copied();
        match function.and_then(|at| self.program().functions.get_mut(at)) {
            Some(function) => function.returns.push(value),
            None => self.program().escapes.push(value),
        }
    }

    /// Defines a function.
    pub fn function(&mut self, node: Node<'_>) -> Expression {
        let at = self.program().functions.len();
        self.program().functions.push(Function::default());
        let inherited = node.kind() == "arrow_function" && self.this.last() == Some(&true);
        let of_class = std::mem::take(&mut self.is_method) && self.this.last() == Some(&true);
        self.this.push(inherited || of_class);
        self.scopes.push(Default::default());
        self.functions.push(at);
        // a function expression knows its own name
        if matches!(node.kind(), "function_expression" | "generator_function")
            && let Some(name) = field(node, "name")
        {
            self.bind_names(Some(name));
            self.assign(name, Expression::Function(at));
        }
        self.parameters(node, at);
        if let Some(body) = field(node, "body") {
            self.declare(body);
            if body.kind() == "statement_block" {
                self.block(body);
            } else {
                let value = self.expression(body);
                self.returns(value);
            }
        }
        self.this.pop();
        self.functions.pop();
        self.scopes.pop();
        Expression::Function(at)
    }

    fn parameters(&mut self, node: Node<'_>, at: usize) {
        let list = match (field(node, "parameter"), field(node, "parameters")) {
            (Some(single), _) => vec![single],
            (_, Some(list)) => named(list),
            _ => Vec::new(),
        };
        list.iter().for_each(|parameter| self.bind_names(Some(*parameter)));
        for parameter in list {
            named(parameter).into_iter().filter(|part| part.kind() == "decorator").for_each(|part| self.escaping(part));
            let variable = self.program().variable();
            let rest = parameter.kind() == "rest_pattern"
                || field(parameter, "pattern").is_some_and(|pattern| pattern.kind() == "rest_pattern");
            if let Some(function) = self.program().functions.get_mut(at) {
                function.parameters.push(variable);
                function.rest |= rest;
            }
            self.assign(parameter, Expression::Variable(variable));
            // `constructor(private name: string)`
            let inner = field(parameter, "pattern").filter(|_| has_modifier(parameter));
            if let Some(name) = inner.map(|inner| self.of(inner).to_owned()) {
                self.program().assign_field(&name, Expression::Variable(variable));
            }
        }
    }

    /// Defines a class: a function that makes an object.
    pub fn class(&mut self, node: Node<'_>) -> Expression {
        let at = self.program().functions.len();
        self.program().functions.push(Function { class: true, ..Function::default() });
        self.this.push(!named(node).iter().any(|part| part.kind() == "class_heritage"));
        for part in named(node) {
            if part.kind() == "class_heritage" {
                named(part).into_iter().for_each(|base| self.inherits(base, at));
            } else if part.kind() == "decorator" {
                self.escaping(part);
            }
        }
        for member in field(node, "body").map(named).unwrap_or_default() {
            self.class_member(member, at);
        }
        self.this.pop();
        Expression::Function(at)
    }

    /// A class that it extends: what its constructor gets.
    fn inherits(&mut self, base: Node<'_>, class: usize) {
        let base = if base.kind() == "extends_clause" { field(base, "value").unwrap_or(base) } else { base };
        if base.kind() == "implements_clause" {
            return;
        }
        let value = self.expression(base);
        if !matches!(value, Expression::Function(_) | Expression::Variable(_)) {
            self.foreign.push(class);
        }
        // without a constructor of its own, it hands on whatever it gets
        let unit = self.unit;
        self.program().call(value, vec![Expression::Spread(Box::new(Expression::Unknown))], unit);
        if let Some(function) = self.program().functions.get_mut(class) {
            function.class = true;
        }
    }

    fn class_member(&mut self, member: Node<'_>, class: usize) {
        match member.kind() {
            "method_definition" => {
                self.is_method = true;
                let function = self.function(member);
                let key = field(member, "name").map_or(Expression::Unknown, |name| self.key(name));
                let name = match &key {
                    Expression::Text(name) => name.to_string(),
                    _ => String::new(),
                };
                match super::literals::accessor(member) {
                    Some("get") => {
                        let unit = self.unit;
                        let value = self.program().call(function, Vec::new(), unit);
                        self.program().assign_field(&name, value);
                    }
                    Some(_) => self.setter(&name, function),
                    None => {
                        if let (Expression::Function(at), true) = (&function, self.foreign.contains(&class)) {
                            let at = *at;
                            self.program().overrides.push(at);
                        }
                        self.method(&key, &function, Some(class));
                    }
                }
            }
            "field_definition" | "public_field_definition" => {
                let Some(value) = field(member, "value") else { return };
                let value = self.expression(value);
                let name = field(member, "property").or_else(|| field(member, "name"));
                let key = match name.map_or(Expression::Unknown, |name| self.key(name)) {
                    Expression::Text(key) => key.to_string(),
                    _ => String::new(),
                };
                self.program().assign_field(&key, value);
            }
            "class_static_block" => {
                self.scopes.push(Default::default());
                self.declare(member);
                self.statement(member);
                self.scopes.pop();
            }
            kind if TYPES.contains(&kind) => {}
            _ => self.escaping(member),
        }
    }

    /// A setter: its parameter is what is assigned to the member.
    pub fn setter(&mut self, name: &str, function: Expression) {
        self.program().assign_field(name, Expression::Plain);
        let field = self.program().fields.get(name).cloned();
        let Expression::Function(at) = function else { return };
        let parameter = self.program().functions.get(at).and_then(|own| own.parameters.first().copied());
        if let (Some(parameter), Some(field)) = (parameter, field) {
            self.program().assign(parameter, field);
        }
        self.program().escapes.push(function);
    }

    /// Notes a method: calls find it by its name, and a class by its constructor.
    pub fn method(&mut self, key: &Expression, function: &Expression, class: Option<usize>) {
        let Expression::Function(at) = function else { return };
        let name = match key {
            Expression::Text(name) => name.to_string(),
            _ => String::new(),
        };
        if let ("constructor", Some(class)) = (name.as_str(), class) {
            let program = self.program();
            let made = program.functions.get(*at).map(|own| (own.parameters.clone(), own.rest, own.returns.clone()));
            if let (Some((parameters, rest, returns)), Some(class)) = (made, program.functions.get_mut(class)) {
                (class.parameters, class.rest, class.returns) = (parameters, rest, returns);
            }
            return;
        }
        self.program().methods.entry(name).or_default().push(*at);
    }

    fn enumeration(&mut self, node: Node<'_>) {
        let mut items = Vec::new();
        for member in field(node, "body").map(named).unwrap_or_default() {
            let (name, value) = match member.kind() {
                "enum_assignment" => (field(member, "name"), field(member, "value")),
                _ => (Some(member), None),
            };
            let value = value.map_or(Expression::Plain, |value| self.expression(value));
            items.push((name.map_or(Expression::Unknown, |name| self.key(name)), value));
        }
        field(node, "name").into_iter().for_each(|name| self.assign(name, Expression::Record(items.clone())));
    }
}

fn has_modifier(parameter: Node<'_>) -> bool {
    parameter.children().any(|child| matches!(child.kind(), "accessibility_modifier" | "readonly"))
}
