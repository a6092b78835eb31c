//! Operators: arithmetic, conditions, comparisons.

use super::statements::{field, fields, named};
use super::values::{UNKNOWN_SPAN, Value, binary, either, lift};
use super::{Reader, Source};
use crate::tree::Node;
use std::rc::Rc;

/// Texts that a condition compares with unknown values.
#[derive(Default)]
pub(super) struct Compared {
    /// Texts to which the value is equal if the condition holds.
    pub equal: Vec<String>,
    /// Texts from which it differs if the condition holds.
    pub unequal: Vec<String>,
}

/// Most texts taken from one comparison.
const MAX_COMPARED: usize = 8;

impl Reader<'_> {
    /// Evaluates a chain of operators. It leans to the left: its spine is walked iteratively instead of by recursion.
    pub(super) fn binary(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let mut spine = vec![node];
        while let Some(left) = spine.last().and_then(|n| field(*n, "left")).filter(|l| l.kind() == "binary_operator") {
            spine.push(left)
        }
        let first = spine.last().and_then(|n| field(*n, "left"));
        let mut value = first.map_or(Value::Hole, |n| self.expr(src, n));
        while let Some(node) = spine.pop() {
            let right = field(node, "right").map_or(Value::Hole, |r| self.expr(src, r));
            let op = field(node, "operator").map(|o| src.of(o)).unwrap_or_default();
            value = lift(&value, &right, |a, b| binary(op, a, b));
            if !self.step(1 + value.size() as usize / 64 % 1024) {
                return Value::Hole;
            }
        }
        value
    }

    pub(super) fn augmented(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else { return Value::Hole };
        let (before, by) = (self.expr(src, left), self.expr(src, right));
        let op = field(node, "operator").map(|o| src.of(o).trim_end_matches('=').to_string()).unwrap_or_default();
        if op == "+" && matches!(by, Value::Text(_) | Value::Bytes(_) | Value::List(_) | Value::Large(_)) {
            self.grow("memory", by.size() - 48.0)
        }
        // each round doubles the value
        if self.weight >= 30.0
            && (src.of(left) == src.of(right) && op == "+" || op == "*")
            && matches!(before, Value::Text(_) | Value::List(_) | Value::Many(_) | Value::Large(_))
        {
            self.exhaust("memory");
        }
        let value = lift(&before, &by, |a, b| binary(&op, a, b));
        self.step(value.size() as usize / 64 % 1024);
        self.assign(src, left, value.clone());
        value
    }

    pub(super) fn unary(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let value = field(node, "argument").map_or(Value::Hole, |a| self.expr(src, a));
        match (field(node, "operator").map(|o| src.of(o)), value) {
            (Some("-"), Value::Int(n)) => Value::Int(n.saturating_neg()),
            (Some("-"), Value::Float(x)) => Value::Float(-x),
            (Some("~"), Value::Int(n)) => Value::Int(!n),
            (Some("+"), v) => v,
            _ => Value::Hole,
        }
    }

    /// `a and b`, `a or b`: either value.
    pub(super) fn boolean(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let values = self.all(src, named(node)).into_iter().filter(|v| !matches!(v, Value::None));
        values.reduce(either).unwrap_or(Value::None)
    }

    pub(super) fn not(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let truth = self.all(src, named(node)).pop().and_then(|v| v.truth());
        truth.map_or(Value::Hole, |t| Value::Bool(!t))
    }

    pub(super) fn comparison(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let values = self.all(src, named(node));
        match (values.as_slice(), fields(node, "operators").first().map(|o| src.of(*o))) {
            ([Value::Int(a), Value::Int(b)], Some("==")) => Value::Bool(a == b),
            ([Value::Int(a), Value::Int(b)], Some("<")) => Value::Bool(a < b),
            ([Value::Int(a), Value::Int(b)], Some(">")) => Value::Bool(a > b),
            _ => Value::Hole,
        }
    }

    pub(super) fn conditional(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let parts = named(node);
        let [then, condition, other] = parts.as_slice() else { return Value::Hole };
        self.expr(src, *condition);
        let (a, b) = (self.expr(src, *then), self.expr(src, *other));
        either(a, b)
    }

    /// Collects the constant texts that a condition compares with an unknown value.
    pub(super) fn comparisons(&mut self, src: &Rc<Source>, condition: Node<'_>, found: &mut Compared) {
        let mut todo = vec![(condition, false)];
        while let Some((node, negated)) = todo.pop() {
            match node.kind() {
                "comparison_operator" => self.compared_texts(src, node, negated, found),
                "not_operator" => todo.extend(named(node).into_iter().map(|n| (n, !negated))),
                "boolean_operator" | "parenthesized_expression" => {
                    todo.extend(named(node).into_iter().map(|n| (n, negated)))
                }
                // any(name in line for ...)
                "call" => todo.extend(
                    field(node, "arguments")
                        .into_iter()
                        .filter(|a| a.kind() == "generator_expression")
                        .filter_map(|a| field(a, "body"))
                        .map(|n| (n, negated)),
                ),
                _ => {}
            }
        }
    }

    fn compared_texts(&mut self, src: &Rc<Source>, node: Node<'_>, negated: bool, found: &mut Compared) {
        let operators: Vec<&str> = fields(node, "operators").iter().map(|o| src.of(*o)).collect();
        if !matches!(operators.first(), Some(&("==" | "!=" | "in" | "not in" | "not" | "is"))) {
            return;
        }
        let values = self.all(src, named(node));
        let vague = |v: &Value| {
            matches!(v, Value::Hole | Value::Many(_) | Value::Local) || v.is_text() && v.show().contains(UNKNOWN_SPAN)
        };
        if !values.iter().any(vague) {
            return;
        }
        let negative = negated ^ operators.first().is_some_and(|o| o.starts_with("not") || *o == "!=");
        let into = if negative { &mut found.unequal } else { &mut found.equal };
        let texts = values.iter().flat_map(|v| match v {
            Value::List(l) => l.items.clone(),
            v => v.choices(),
        });
        let constant = |v: &Value| matches!(v, Value::Text(t) if !t.contains(UNKNOWN_SPAN) && !t.is_empty());
        into.extend(texts.filter(constant).map(|v| v.show()).take(MAX_COMPARED));
    }
}
