//! Expressions: literals, operators, attributes, subscripts, comprehensions.

use super::calls::Args;
use super::statements::{field, fields, named};
use super::strings::integer;
use super::values::{self, UNKNOWN_SPAN, Value, binary, either, lift, list, many, text};
use super::{Reader, Source};
use std::rc::Rc;
use tree_sitter::Node;

impl Reader {
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
            "parenthesized_expression" | "await" | "assignment_expression" => {
                self.all(src, named(node)).pop().unwrap_or(Value::Hole)
            }
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
            "unary_operator" => {
                let value = field(node, "argument").map_or(Value::Hole, |a| self.expr(src, a));
                match (field(node, "operator").map(|o| src.of(o)), value) {
                    (Some("-"), Value::Int(n)) => Value::Int(n.saturating_neg()),
                    (Some("-"), Value::Float(x)) => Value::Float(-x),
                    (Some("~"), Value::Int(n)) => Value::Int(!n),
                    (Some("+"), v) => v,
                    _ => Value::Hole,
                }
            }
            "boolean_operator" => {
                let values =
                    self.all(src, named(node)).into_iter().filter(|v| !matches!(v, Value::None)).collect::<Vec<_>>();
                values.into_iter().reduce(either).unwrap_or(Value::None)
            }
            "not_operator" => {
                let truth = self.all(src, named(node)).pop().and_then(|v| v.truth());
                truth.map_or(Value::Hole, |t| Value::Bool(!t))
            }
            "comparison_operator" => {
                let values = self.all(src, named(node));
                match (values.as_slice(), fields(node, "operators").first().map(|o| src.of(*o))) {
                    ([Value::Int(a), Value::Int(b)], Some(op)) => match op {
                        "==" => Value::Bool(a == b),
                        "<" => Value::Bool(a < b),
                        ">" => Value::Bool(a > b),
                        _ => Value::Hole,
                    },
                    _ => Value::Hole,
                }
            }
            "conditional_expression" => {
                let parts = named(node);
                let [then, condition, other] = parts.as_slice() else { return Value::Hole };
                self.expr(src, *condition);
                let (a, b) = (self.expr(src, *then), self.expr(src, *other));
                either(a, b)
            }
            "assignment" => {
                let value = field(node, "right").map(|r| self.expr(src, r));
                if let (Some(left), Some(value)) = (field(node, "left"), value.clone()) {
                    self.assign(src, left, value)
                }
                value.unwrap_or(Value::None)
            }
            "augmented_assignment" => self.augmented(src, node),
            "named_expression" => {
                let value = field(node, "value").map_or(Value::Hole, |v| self.expr(src, v));
                if let Some(name) = field(node, "name") {
                    self.assign(src, name, value.clone())
                }
                value
            }
            "as_pattern" => {
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
            "list_comprehension" | "set_comprehension" | "generator_expression" | "dictionary_comprehension" => {
                self.comprehension(src, node)
            }
            "lambda" => self.define(src, node, None),
            "yield" => {
                let value = self.all(src, named(node)).pop().unwrap_or(Value::None);
                if let Some(frame) = self.frames.last_mut() {
                    frame.yielded = Some(match frame.yielded.take() {
                        Some(old) => either(old, value),
                        None => value,
                    });
                }
                Value::Hole
            }
            "list_splat" | "keyword_argument" | "dictionary_splat" | "pair" => {
                self.all(src, named(node)).pop().unwrap_or(Value::Hole)
            }
            "comment" | "ellipsis" | "type" => Value::Local,
            _ => {
                self.all(src, named(node));
                Value::Hole
            }
        }
    }

    pub(super) fn identifier(&mut self, name: &str) -> Value {
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
                    if self.table.is_module(&full) || !matches!(self.table.find(&full), super::table::Entry::Missing) {
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

    /// Evaluates a chain of operators. It leans to the left: its spine is walked iteratively instead of by recursion.
    fn binary(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
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

    fn augmented(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
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

    fn comprehension(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let Some(body) = field(node, "body") else { return Value::Hole };
        let clauses: Vec<_> =
            named(node).into_iter().filter(|c| matches!(c.kind(), "for_in_clause" | "if_clause")).collect();
        let (mut out, mut open) = (vec![], None);
        let (weight, compared, unrolled) = (self.weight, self.compared.len(), self.unrolled);
        // a comprehension has its own names
        let own = |clause: &Node<'_>| field(*clause, "left").map(|left| src.of(left).to_owned());
        let names: Vec<String> = clauses.iter().filter_map(own).collect();
        let names = names.iter().flat_map(|left| left.split(|c: char| !c.is_alphanumeric() && c != '_'));
        let before: Vec<(String, Value)> =
            names.filter_map(|name| Some((name.to_owned(), self.lookup(name)?))).collect();
        self.clauses(src, &clauses, body, &mut out, &mut open);
        for (name, value) in before {
            self.assign_name(&name, value);
        }
        self.compared.truncate(compared);
        let times = self.weight / weight;
        (self.weight, self.unrolled) = (weight, unrolled);
        let is_dict = node.kind() == "dictionary_comprehension";
        match open {
            Some((value, count)) if count > 1.0 || times > 1.0 => {
                let size = value.size() * count;
                if node.kind() != "generator_expression" && size >= 1e8 {
                    self.exhaust("memory")
                }
                if is_dict { Value::Local } else { many(out.into_iter().fold(value, either)) }
            }
            Some((value, _)) => {
                if is_dict {
                    Value::Local
                } else {
                    many(out.into_iter().fold(value, either))
                }
            }
            None if is_dict => values::dict(out.iter().flat_map(|p| p.elements().unwrap_or_default()).collect()),
            None => list(out),
        }
    }

    fn clauses(
        &mut self,
        src: &Rc<Source>,
        clauses: &[Node<'_>],
        body: Node<'_>,
        out: &mut Vec<Value>,
        open: &mut Option<(Value, f64)>,
    ) {
        let Some((clause, rest)) = clauses.split_first() else {
            let value = match (field(body, "key"), field(body, "value")) {
                (Some(k), Some(v)) => {
                    let k = self.expr(src, k);
                    list(vec![k, self.expr(src, v)])
                }
                _ => self.expr(src, body),
            };
            // rows that a comprehension collects may be read completely
            self.every_column(&value, "comprehension");
            match open {
                Some((known, _)) => *known = either(known.clone(), value),
                None => out.push(value),
            }
            return;
        };
        if clause.kind() == "if_clause" {
            let conditions = named(*clause);
            let mut unequal = vec![];
            for condition in conditions {
                self.expr(src, condition);
                let mut equal = vec![];
                self.comparisons(src, condition, &mut equal, &mut unequal);
                self.compared.append(&mut equal);
            }
            // it is unknown which items pass
            if open.is_none() && out.is_empty() {
                let mut some = vec![];
                self.clauses(src, rest, body, &mut some, open);
                out.append(&mut some);
            } else {
                self.clauses(src, rest, body, out, open);
            }
            return;
        }
        let (Some(left), Some(right)) = (field(*clause, "left"), fields(*clause, "right").first().copied()) else {
            return;
        };
        let over = self.expr(src, right);
        let (items, element, count) = self.iterate(&over);
        match items {
            Some(items) if open.is_none() && self.unrolled * items.len().max(1) <= 512 => {
                self.unrolled *= items.len().max(1);
                for item in items {
                    self.assign(src, left, item);
                    self.clauses(src, rest, body, out, open);
                }
            }
            items => {
                let count = items.as_ref().map_or(count, |i| i.len() as f64).max(1.0);
                self.assign(src, left, items.and_then(|i| i.into_iter().reduce(either)).unwrap_or(element));
                self.weight *= count;
                let mut inner = vec![];
                let mut none = None;
                self.clauses(src, rest, body, &mut inner, &mut none);
                let (value, times) = none.unwrap_or((Value::Local, 1.0));
                let value = inner.into_iter().reduce(either).map_or(value.clone(), |v| v);
                *open = Some(match open.take() {
                    Some((old, n)) => (either(old, value), n.max(count * times)),
                    None => (value, count * times),
                });
            }
        }
    }

    /// Collects the constant texts that a condition compares with an unknown value.
    pub(super) fn comparisons(
        &mut self,
        src: &Rc<Source>,
        condition: Node<'_>,
        equal: &mut Vec<String>,
        unequal: &mut Vec<String>,
    ) {
        let mut todo = vec![(condition, false)];
        while let Some((node, negated)) = todo.pop() {
            match node.kind() {
                "comparison_operator" => {
                    let operators: Vec<&str> = fields(node, "operators").iter().map(|o| src.of(*o)).collect();
                    if !matches!(operators.first(), Some(&("==" | "!=" | "in" | "not in" | "not" | "is"))) {
                        continue;
                    }
                    let values = self.all(src, named(node));
                    let vague = |v: &Value| {
                        matches!(v, Value::Hole | Value::Many(_) | Value::Local)
                            || v.is_text() && v.show().contains(UNKNOWN_SPAN)
                    };
                    if !values.iter().any(vague) {
                        continue;
                    }
                    let negative = negated ^ operators.first().is_some_and(|o| o.starts_with("not") || *o == "!=");
                    let into: &mut Vec<String> = if negative { unequal } else { equal };
                    let texts = values.iter().flat_map(|v| match v {
                        Value::List(l) => l.items.clone(),
                        v => v.choices(),
                    });
                    into.extend(
                        texts
                            .filter(|v| matches!(v, Value::Text(t) if !t.contains(UNKNOWN_SPAN) && !t.is_empty()))
                            .map(|v| v.show())
                            .take(8),
                    );
                }
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
}

impl From<Vec<Value>> for Args {
    fn from(pos: Vec<Value>) -> Self {
        Args { pos, kw: vec![], open: false }
    }
}
