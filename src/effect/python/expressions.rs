//! Expressions: literals, operators, attributes, subscripts, comprehensions.

use super::calls::Args;
use super::statements::{field, fields, named};
use super::values::{self, HOLE, Value, binary, either, lift, list, many, text};
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

    fn identifier(&mut self, name: &str) -> Value {
        if let Some(value) = self.lookup(name) {
            // a process picked by name from all of them
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

    /// A chain of operators leans to the left, so its spine is walked, not recursed into.
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
        // doubling
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

    pub(super) fn attribute(&mut self, object: &Value, name: &str) -> Value {
        match object {
            Value::Any(choices) => {
                choices.items.iter().map(|c| self.attribute(c, name)).reduce(either).unwrap_or(Value::Hole)
            }
            Value::Name(module) => {
                if matches!(name, "__dict__") {
                    return object.clone();
                }
                let full = self.table.canonical(&if module.is_empty() || &**module == "builtins" {
                    name.to_string()
                } else {
                    format!("{module}.{name}")
                });
                match self.table.constants.get(&full) {
                    Some(toml::Value::Integer(n)) => Value::Int(i128::from(*n)),
                    Some(toml::Value::String(s)) => text(s),
                    _ => Value::Name(full.into()),
                }
            }
            Value::Instance(class, _) | Value::Class(class) => {
                let stored = self.lookup(&format!("{}.{name}", class.name));
                match (stored, class.members.get(name)) {
                    (Some(v), None) => v,
                    (Some(v), Some(member)) => either(member.clone(), v),
                    (None, Some(member))
                        if matches!(object, Value::Instance(..)) && matches!(member, Value::Function(_)) =>
                    {
                        values::bound(object.clone(), name)
                    }
                    (None, Some(member)) => member.clone(),
                    (None, None) if name == "__class__" => Value::Class(class.clone()),
                    (None, None) if name.starts_with("__") => self.dunder(name),
                    (None, None) => values::bound(object.clone(), name),
                }
            }
            Value::Path(path) => self.path_attribute(path, name),
            Value::Object(kind, target) => match (&**kind, name) {
                ("psutil.Process", "pid") => object.clone(),
                ("psutil.Process", "info") => Value::Hole,
                ("file" | "tempfile.TemporaryDirectory", "name") => (**target).clone(),
                (_, "pid") if !matches!(**target, Value::Text(_)) => object.clone(),
                _ => values::bound(object.clone(), name),
            },
            _ if name.starts_with("__") => self.dunder(name),
            _ => values::bound(object.clone(), name),
        }
    }

    /// Attributes that lead out of a value to whatever the interpreter holds.
    fn dunder(&mut self, name: &str) -> Value {
        if matches!(
            name,
            "__subclasses__"
                | "__globals__"
                | "__builtins__"
                | "__code__"
                | "__getattribute__"
                | "__base__"
                | "__bases__"
                | "__mro__"
                | "__import__"
                | "__loader__"
        ) {
            self.unknown(name);
        }
        Value::Hole
    }

    fn path_attribute(&mut self, path: &Rc<str>, name: &str) -> Value {
        let trimmed = path.trim_end_matches('/');
        let (parent, last) =
            trimmed.rsplit_once('/').map_or((".", trimmed), |(p, l)| (if p.is_empty() { "/" } else { p }, l));
        let open = last.contains(HOLE);
        match name {
            "parent" => Value::Path(if open && parent == "." { HOLE.to_string().into() } else { parent.into() }),
            "parents" => many(Value::Path(HOLE.to_string().into())),
            "name" if !open => text(last),
            "stem" if !open => text(last.rsplit_once('.').filter(|(s, _)| !s.is_empty()).map_or(last, |(s, _)| s)),
            "suffix" if !open => {
                text(last.rfind('.').filter(|i| *i > 0).and_then(|i| last.get(i..)).unwrap_or_default())
            }
            "name" | "stem" | "suffix" | "anchor" | "drive" => values::hole_text(),
            "path" => text(&**path),
            _ => values::bound(Value::Path(path.clone()), name),
        }
    }

    fn subscript(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let base = field(node, "value").map_or(Value::Hole, |v| self.expr(src, v));
        let keys = fields(node, "subscript");
        if let [only] = keys.as_slice()
            && only.kind() == "slice"
        {
            let mut ends = [None, None, None];
            let (mut at, mut cursor) = (0, only.walk());
            let mut known = true;
            for part in only.children(&mut cursor) {
                if part.kind() == ":" {
                    at += 1;
                    continue;
                }
                let value = self.expr(src, part).int();
                known &= value.is_some();
                if let Some(end) = ends.get_mut(at) {
                    *end = value
                }
            }
            let [start, stop, step] = ends;
            return if known {
                lift(&base, &Value::None, |v, _| values::slice(v, start, stop, step.unwrap_or(1)))
            } else if base.is_text() {
                values::hole_text()
            } else {
                many(base.element())
            };
        }
        let key = keys.first().map_or(Value::Hole, |k| self.expr(src, *k));
        self.item(&base, &key)
    }

    pub(super) fn item(&mut self, base: &Value, key: &Value) -> Value {
        match (base, key) {
            (Value::Any(c), _) => {
                c.items.clone().iter().map(|c| self.item(c, key)).reduce(either).unwrap_or(Value::Hole)
            }
            (Value::Name(n), _) => match (&**n, key) {
                ("globals()" | "locals()", Value::Text(k)) => self.identifier(k),
                ("sys.modules", Value::Text(k)) => Value::Name(self.table.canonical(k).into()),
                ("os.environ", k) => environment(k),
                ("sys.argv", _) => values::hole_text(),
                (_, Value::Text(k)) => self.attribute(base, k),
                _ => Value::Hole,
            },
            (Value::Dict(d), _) => {
                let exact =
                    d.items.chunks(2).rev().find(|p| p.first().is_some_and(|k| k.same(key))).and_then(|p| p.get(1));
                let any = || values::any(d.items.iter().skip(1).step_by(2).take(9).cloned().collect());
                exact.cloned().unwrap_or_else(any)
            }
            (Value::List(l), k) => {
                let at = k
                    .int()
                    .map(|i| if i < 0 { i + l.items.len() as i128 } else { i })
                    .and_then(|i| usize::try_from(i).ok());
                at.map_or_else(|| base.element(), |i| l.items.get(i).cloned().unwrap_or(Value::Hole))
            }
            (Value::Text(_), Value::Int(i)) => {
                values::slice(base, Some(*i), if *i == -1 { None } else { Some(i + 1) }, 1)
            }
            (Value::Text(_), _) => values::hole_text(),
            (Value::Bytes(b), k) => k
                .int()
                .and_then(|i| usize::try_from(i).ok())
                .and_then(|i| b.get(i))
                .map_or(Value::Local, |b| Value::Int(i128::from(*b))),
            (Value::Many(v), _) => (**v).clone(),
            (Value::Instance(c, _), _) if c.members.contains_key("__getitem__") => {
                self.call_value(&values::bound(base.clone(), "__getitem__"), vec![key.clone()].into(), "__getitem__")
            }
            _ => Value::Hole,
        }
    }

    fn comprehension(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let Some(body) = field(node, "body") else { return Value::Hole };
        let clauses: Vec<_> =
            named(node).into_iter().filter(|c| matches!(c.kind(), "for_in_clause" | "if_clause")).collect();
        let (mut out, mut open) = (vec![], None);
        let (weight, compared, unrolled) = (self.weight, self.compared.len(), self.unrolled);
        self.clauses(src, &clauses, body, &mut out, &mut open);
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
            // which items pass is not known
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

    /// Constant texts to which a condition compares something that is not known.
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
                            || v.is_text() && v.show().contains(HOLE)
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
                            .filter(|v| matches!(v, Value::Text(t) if !t.contains(HOLE) && !t.is_empty()))
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

    fn string(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let mut out = Value::Text("".into());
        let mut prefix = String::new();
        for part in named(node) {
            let piece = match part.kind() {
                "string_start" => {
                    prefix = src.of(part).trim_end_matches(['"', '\'']).to_ascii_lowercase();
                    continue;
                }
                "string_content" => {
                    let raw = src.of(part);
                    let raw =
                        if prefix.contains('f') { raw.replace("{{", "{").replace("}}", "}") } else { raw.to_string() };
                    text(if prefix.contains('r') { raw } else { unescape(&raw) })
                }
                "interpolation" => {
                    let value = field(part, "expression").map_or(Value::Hole, |e| self.expr(src, e));
                    let spec = field(part, "format_specifier").map(|s| src.of(s).trim_start_matches(':').to_string());
                    value
                        .choices()
                        .iter()
                        .map(|v| text(format_value(v, spec.as_deref().unwrap_or_default())))
                        .reduce(either)
                        .unwrap_or(Value::Hole)
                }
                _ => continue,
            };
            out = lift(&out, &piece, |a, b| binary("+", a, b));
        }
        match out {
            Value::Text(t) if prefix.contains('b') => Value::Bytes(
                t.chars()
                    .flat_map(|c| match u8::try_from(u32::from(c)) {
                        Ok(b) => vec![b],
                        Err(_) => c.to_string().into_bytes(),
                    })
                    .collect(),
            ),
            v => v,
        }
    }
}

/// A variable of the environment: only the home folder is known, as `~`.
pub(super) fn environment(key: &Value) -> Value {
    if key.show() == "HOME" { text("~") } else { values::hole_text() }
}

fn integer(digits: &str) -> Value {
    let digits = digits.replace('_', "").to_ascii_lowercase();
    let digits = digits.trim_end_matches('l');
    let radix = |p: &str, r| digits.strip_prefix(p).and_then(|d| i128::from_str_radix(d, r).ok());
    let octal = digits
        .strip_prefix('0')
        .filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|d| i128::from_str_radix(d, 8).ok());
    radix("0x", 16)
        .or_else(|| radix("0o", 8))
        .or_else(|| radix("0b", 2))
        .or(octal)
        .or_else(|| digits.parse().ok())
        .map_or(Value::Local, Value::Int)
}

/// `format(value, spec)` for the plain forms.
pub(super) fn format_value(value: &Value, spec: &str) -> String {
    if spec.is_empty() {
        return value.show();
    }
    let (zero, rest) = spec.strip_prefix('0').map_or((false, spec), |r| (true, r));
    let kind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let width = rest.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
    let Some(n) = value.int().filter(|_| width < 64) else {
        return if spec == "s" { value.show() } else { HOLE.into() };
    };
    let digits = match kind {
        "" | "d" => n.to_string(),
        "x" => format!("{n:x}"),
        "X" => format!("{n:X}"),
        "o" => format!("{n:o}"),
        "b" => format!("{n:b}"),
        "c" => return values::chr(value).show(),
        _ => return HOLE.into(),
    };
    if zero { format!("{digits:0>width$}") } else { format!("{digits:>width$}") }
}

/// Escape sequences of a string literal.
fn unescape(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let mut chars = rest.get(at + 1..).unwrap_or_default().chars();
        let code = |chars: &std::str::Chars<'_>, radix, max| {
            let digits: String = chars.as_str().chars().take_while(|c| c.is_digit(radix)).take(max).collect();
            (u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32), digits.len())
        };
        let (c, used) = match chars.clone().next() {
            Some('n') => (Some('\n'), 1),
            Some('t') => (Some('\t'), 1),
            Some('r') => (Some('\r'), 1),
            Some('a') => (Some('\x07'), 1),
            Some('b') => (Some('\x08'), 1),
            Some('f') => (Some('\x0c'), 1),
            Some('v') => (Some('\x0b'), 1),
            Some('\n') => (None, 1),
            Some('0'..='7') => code(&chars, 8, 3),
            Some(k @ ('x' | 'u' | 'U')) => {
                chars.next();
                let (c, n) = code(
                    &chars,
                    16,
                    match k {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    },
                );
                (c.or(Some(HOLE)), n + 1)
            }
            Some('N') => (Some(HOLE), 1),
            Some(c @ ('\\' | '\'' | '"')) => (Some(c), 1),
            _ => (Some('\\'), 0),
        };
        out.extend(c);
        rest = rest.get(at + 1 + used..).unwrap_or_default();
    }
    out + rest
}

impl From<Vec<Value>> for Args {
    fn from(pos: Vec<Value>) -> Self {
        Args { pos, kw: vec![], open: false }
    }
}
