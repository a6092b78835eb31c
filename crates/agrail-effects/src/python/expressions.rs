//! Expressions: literals, operators, attributes, subscripts, comprehensions.

use super::calls::Args;
use super::statements::{field, named};
use super::strings::integer;
use super::values::{self, Value, binary, either, lift, list, many, text};
use super::{Reader, Source};
use crate::tree::Node;
use std::rc::Rc;

impl Reader<'_> {
    pub(super) fn expr(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        self.depth += 1;
        let value = if self.step(1) { self.expr_inner(src, node) } else { Value::Hole };
        self.depth -= 1;
        if let Value::Large(n) = value
            && n >= 1e8
        {
            self.exhaust("memory")
        }
        value
    }

    pub(super) fn all(&mut self, src: &Rc<Source>, nodes: Vec<Node<'_>>) -> Vec<Value> {
        nodes.into_iter().map(|n| self.expr(src, n)).collect()
    }

    fn expr_inner(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        match node.kind() {
            "identifier" => self.identifier(src.of(node)),
            "string" => self.string(src, node),
            "concatenated_string" => {
                let parts = self.all(src, named(node));
                parts.into_iter().reduce(|a, b| lift(&a, &b, |a, b| binary("+", a, b))).unwrap_or(Value::Hole)
            }
            "integer" => integer(src.of(node)),
            "float" => src.of(node).replace('_', "").parse().map_or(Value::Local, Value::Float),
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "none" => Value::None,
            "list" | "tuple" | "set" | "expression_list" => self.items(src, node),
            "parenthesized_expression"
            | "await"
            | "assignment_expression"
            | "list_splat"
            | "keyword_argument"
            | "dictionary_splat"
            | "pair" => self.all(src, named(node)).pop().unwrap_or(Value::Hole),
            "dictionary" => self.dictionary(src, node),
            "attribute" => {
                let Some(name) = field(node, "attribute") else { return Value::Hole };
                let object = field(node, "object").map_or(Value::Hole, |o| self.expr(src, o));
                self.attribute(&object, src.of(name))
            }
            "call" => self.call(src, node),
            "subscript" => self.subscript(src, node),
            "slice" => {
                self.all(src, named(node));
                Value::Local
            }
            "binary_operator" => self.binary(src, node),
            "unary_operator" => self.unary(src, node),
            "boolean_operator" => self.boolean(src, node),
            "not_operator" => self.not(src, node),
            "comparison_operator" => self.comparison(src, node),
            "conditional_expression" => self.conditional(src, node),
            "assignment" => self.assignment(src, node),
            "augmented_assignment" => self.augmented(src, node),
            "named_expression" => self.named_expression(src, node),
            "as_pattern" => self.as_pattern(src, node),
            "list_comprehension" | "set_comprehension" | "generator_expression" | "dictionary_comprehension" => {
                self.comprehension(src, node)
            }
            "lambda" => self.define(src, node, None),
            "yield" => self.yield_(src, node),
            "comment" | "ellipsis" | "type" => Value::Local,
            _ => {
                self.all(src, named(node));
                Value::Hole
            }
        }
    }

    fn assignment(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let value = field(node, "right").map(|r| self.expr(src, r));
        if let (Some(left), Some(value)) = (field(node, "left"), value.clone()) {
            self.assign(src, left, value)
        }
        value.unwrap_or(Value::None)
    }

    fn named_expression(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let value = field(node, "value").map_or(Value::Hole, |v| self.expr(src, v));
        if let Some(name) = field(node, "name") {
            self.note_read(src.of(name));
            self.assign(src, name, value.clone())
        }
        value
    }

    fn as_pattern(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let value = named(node).first().map_or(Value::Hole, |v| self.expr(src, *v));
        let entered = match &value {
            Value::Instance(c, _) => match c.members.get("__enter__") {
                Some(enter) => self.call_value(&enter.clone(), vec![value.clone()].into(), "__enter__"),
                None => value.clone(),
            },
            Value::Object(kind, target) if &**kind == "tempfile.TemporaryDirectory" => (**target).clone(),
            _ => value.clone(),
        };
        if let Some(alias) = field(node, "alias") {
            self.assign(src, alias, entered)
        }
        value
    }

    fn yield_(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let value = self.all(src, named(node)).pop().unwrap_or(Value::None);
        if let Some(frame) = self.frames.last_mut() {
            frame.yielded = Some(match frame.yielded.take() {
                Some(old) => either(old, value),
                None => value,
            });
        }
        Value::Hole
    }

    pub(super) fn identifier(&mut self, name: &str) -> Value {
        self.note_read(name);
        if let Some(value) = self.lookup(name) {
            // a process that a condition selects by its name
            if let (Value::Object(kind, target), Some(_)) = (&value, self.compared.first())
                && &**kind == "psutil.Process"
                && matches!(**target, Value::Hole)
            {
                return values::object("psutil.Process", self.compared_names());
            }
            return value;
        }
        match name {
            "__name__" => text("__main__"),
            "__file__" => values::hole_text(),
            "__builtins__" => Value::Name("builtins".into()),
            _ => {
                for module in self.starred.clone() {
                    let full = self.table.canonical(&format!("{module}.{name}"));
                    if self.table.is_module(&full) || !matches!(self.find(&full), super::table::Entry::Missing) {
                        return self.attribute(&Value::Name(module.into()), name);
                    }
                }
                Value::Name(name.into())
            }
        }
    }

    pub(super) fn compared_names(&self) -> Value {
        values::any(self.compared.iter().map(text).collect())
    }

    fn items(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let (mut out, mut open) = (vec![], None);
        for item in named(node) {
            let value = self.expr(src, item);
            if item.kind() != "list_splat" {
                out.push(value);
                continue;
            }
            match value.elements() {
                Some(more) => out.extend(more),
                None => open = Some(value.element()),
            }
        }
        match open {
            Some(more) => many(out.into_iter().fold(more, either)),
            None => list(out),
        }
    }

    fn dictionary(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let mut out = vec![];
        for pair in named(node) {
            match (field(pair, "key"), field(pair, "value")) {
                (Some(key), Some(value)) => out.extend([self.expr(src, key), self.expr(src, value)]),
                _ => match self.expr(src, pair) {
                    Value::Dict(d) => out.extend(d.items.iter().cloned()),
                    _ => out.extend([Value::Hole, Value::Hole]),
                },
            }
        }
        values::dict(out)
    }
}

impl From<Vec<Value>> for Args {
    fn from(pos: Vec<Value>) -> Self {
        Args { pos, kw: vec![], open: false }
    }
}
