//! Branches and loops: both sides of a branch count, and loops carry a weight.

use super::operators::Compared;
use super::rounds::Round;
use super::statements::{field, fields, named};
use super::values::{self, Value, either, many};
use super::{Flow, Reader, Source};
use crate::tree::Node;
use foldhash::HashMap;
use std::rc::Rc;

/// Assumed rounds of an endless loop: at full speed, paced by `sleep`, waiting for an event.
const ENDLESS: f64 = 1e9;
const PACED: f64 = 1e4;
const WAITING: f64 = 100.0;
/// Most rounds of nested loops that are interpreted one by one.
pub(super) const MAX_UNROLLED: usize = 512;

pub(super) fn sorted(made: HashMap<(usize, String), Option<Value>>) -> Vec<((usize, String), Option<Value>)> {
    let mut made: Vec<_> = made.into_iter().collect();
    made.sort_by(|a, b| a.0.cmp(&b.0));
    made
}

pub(super) fn l_element(items: &[Value]) -> Value {
    values::any(items.iter().take(9).cloned().collect())
}

/// The possible values of a variable after some rounds of a loop that turned `a` into `b`.
pub(super) fn widen(a: Value, b: Value) -> Value {
    match (&a, &b) {
        _ if a.same(&b) => a,
        (Value::Text(x), Value::Text(y)) => {
            let common: String = x.chars().zip(y.chars()).take_while(|(p, q)| p == q).map(|(p, _)| p).collect();
            values::text(common + &values::UNKNOWN_SPAN.to_string())
        }
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => Value::Hole,
        (Value::List(x), Value::List(y)) => many(either(l_element(&x.items), l_element(&y.items))),
        (Value::Name(_) | Value::Function(_) | Value::Class(_), _) => either(a, b),
        _ => either(either(a, b), Value::Hole),
    }
}

/// Whether the block ends in a jump.
pub(super) fn ends(block: Node<'_>) -> bool {
    named(block).last().is_some_and(|n| {
        matches!(n.kind(), "continue_statement" | "return_statement" | "break_statement" | "raise_statement")
    })
}

pub(super) fn mentions_name(node: Node<'_>) -> bool {
    find(node, &mut |n| matches!(n.kind(), "identifier" | "call"), &|_| false)
}

/// Searches for a node without recursion. Nodes for which `skip` is true are left out with everything below them.
pub(super) fn find(node: Node<'_>, wanted: &mut dyn FnMut(Node<'_>) -> bool, skip: &dyn Fn(Node<'_>) -> bool) -> bool {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if wanted(node) {
            return true;
        }
        if !skip(node) {
            todo.extend(named(node))
        }
    }
    false
}

pub(super) fn callee<'s>(src: &'s Source, node: Node<'_>) -> Option<&'s str> {
    if node.kind() != "call" {
        return None;
    }
    src.of(field(node, "function")?).rsplit('.').next()
}

/// Whether an endless loop can end: `break`, `return`, `yield` or exit, except in the handler of an interrupt or of a
/// system error.
fn leaves(src: &Source, body: Node<'_>) -> bool {
    let inner = |n: Node<'_>| {
        matches!(n.kind(), "function_definition" | "class_definition" | "lambda")
            || n.kind() == "except_clause"
                && ["KeyboardInterrupt", "MemoryError", "OSError", "BlockingIOError"]
                    .iter()
                    .any(|e| src.of(n).lines().next().is_some_and(|l| l.contains(e)))
    };
    let exits = |n: Node<'_>| {
        matches!(n.kind(), "return_statement" | "yield" | "raise_statement" | "await")
            || matches!(callee(src, n), Some("exit" | "quit" | "_exit" | "abort"))
    };
    let breaks = |n: Node<'_>| n.kind() == "break_statement";
    find(body, &mut |n| exits(n), &inner)
        || find(body, &mut |n| breaks(n), &|n| inner(n) || matches!(n.kind(), "while_statement" | "for_statement"))
}

/// The assumed number of rounds of an endless loop.
fn pace(src: &Source, body: Node<'_>) -> f64 {
    let waits = |n: Node<'_>| {
        matches!(
            callee(src, n),
            Some(
                "input"
                    | "raw_input"
                    | "recv"
                    | "recvfrom"
                    | "accept"
                    | "readline"
                    | "wait"
                    | "select"
                    | "poll"
                    | "communicate"
                    | "serve_forever"
                    | "run_forever"
            )
        ) || matches!(callee(src, n), Some("get" | "join"))
            && field(n, "arguments").is_some_and(|a| named(a).is_empty())
    };
    if find(body, &mut |n| waits(n), &|_| false) {
        return WAITING;
    }
    if find(body, &mut |n| callee(src, n) == Some("sleep"), &|_| false) { PACED } else { ENDLESS }
}

/// Whether the body only computes: no call waits or has an effect.
fn idle(src: &Source, body: Node<'_>) -> bool {
    !find(
        body,
        &mut |n| {
            n.kind() == "call"
                && !callee(src, n).is_some_and(|c| {
                    matches!(
                        c,
                        "sqrt"
                            | "pow"
                            | "sin"
                            | "cos"
                            | "sum"
                            | "range"
                            | "len"
                            | "abs"
                            | "factorial"
                            | "random"
                            | "sha256"
                            | "md5"
                            | "hexdigest"
                    )
                })
        },
        &|_| false,
    )
}

impl Reader<'_> {
    /// Undoes all assignments since `mark` and returns the values they had made.
    pub(super) fn undo(&mut self, mark: usize) -> HashMap<(usize, String), Option<Value>> {
        let mut made = HashMap::default();
        while self.journal.len() > mark {
            let Some((scope, name, old)) = self.journal.pop() else { break };
            let Some(variables) = self.variables(scope) else { continue };
            let now = match old {
                Some(old) => variables.insert(name.clone(), old),
                None => variables.remove(&name),
            };
            made.entry((scope, name)).or_insert(now);
        }
        made
    }

    /// Interprets parts each of which may run or not; `None` means that none of the others runs. Returns whether all
    /// parts end in a jump.
    pub(super) fn branches(&mut self, src: &Rc<Source>, parts: &[Option<Node<'_>>]) -> bool {
        let mut all = vec![];
        let mut all_stop = true;
        for part in parts {
            let mark = self.journal.len();
            all_stop &= self.uncertain(|reader| part.is_some_and(|p| reader.statement(src, p) == Flow::Stop));
            all.push(self.undo(mark));
        }
        let around = parts.len() == 1;
        let mut names: Vec<(usize, String)> = all.iter().flat_map(|m| m.keys().cloned()).collect();
        names.sort();
        names.dedup();
        for key in names {
            let before = self.variable(&key);
            let mut value: Option<Value> = if around { before.clone() } else { None };
            if around || all.iter().any(|made| !made.contains_key(&key)) {
                self.note_read(&key.1);
            }
            for made in &all {
                let made = made.get(&key).cloned().unwrap_or_else(|| before.clone());
                value = match (value, made) {
                    (Some(a), Some(b)) => Some(either(a, b)),
                    (a, b) => a.or(b),
                };
            }
            if let Some(value) = value {
                self.assign_in(key.0, &key.1, value)
            }
        }
        all_stop
    }

    /// The value of `__name__ == "__main__"`, which is false in a module that is imported.
    fn is_main(&mut self, src: &Rc<Source>, condition: Node<'_>) -> Option<bool> {
        let sides = named(condition);
        let [name, main] = sides.as_slice() else { return None };
        let equal = field(condition, "operators").is_some_and(|operator| src.of(operator) == "==");
        let imported = src.of(*name) == "__name__" && equal && self.modules.current != 0;
        let name = self.identifier("__name__").show();
        (imported && !name.contains(values::UNKNOWN_SPAN)).then(|| name == self.expr(src, *main).show())
    }

    pub(super) fn if_statement(&mut self, src: &Rc<Source>, node: Node<'_>) -> Flow {
        let (Some(condition), Some(body)) = (field(node, "condition"), field(node, "consequence")) else {
            return Flow::Next;
        };
        let truth = self.expr(src, condition);
        let constant = match condition.kind() {
            "true" | "false" | "integer" => truth.truth(),
            "comparison_operator" => self.is_main(src, condition),
            _ => None,
        };
        let mut compared = Compared::default();
        self.comparisons(src, condition, &mut compared);
        let before = self.compared.len();
        self.compared.append(&mut compared.equal);
        let mut parts = vec![];
        if constant != Some(false) {
            parts.push(Some(body))
        }
        let mut has_else = false;
        if constant != Some(true) {
            for other in fields(node, "alternative") {
                if let Some(c) = field(other, "condition") {
                    self.expr(src, c);
                    self.comparisons(src, c, &mut compared);
                    self.compared.append(&mut compared.equal);
                }
                has_else |= other.kind() == "else_clause";
                parts.push(field(other, "consequence").or_else(|| field(other, "body")));
            }
            if !has_else {
                parts.push(None)
            }
        }
        let only_body = parts.len() == 1 || !has_else && parts.len() == 2;
        let stops = if let [Some(one)] = parts.as_slice() {
            self.statement(src, *one) == Flow::Stop
        } else {
            self.branches(src, &parts)
        };
        self.compared.truncate(before);
        // `if name != "x": continue`: the code after it runs only for x
        if only_body && ends(body) {
            self.compared.append(&mut compared.unequal)
        }
        if stops && (has_else || constant.is_some()) { Flow::Stop } else { Flow::Next }
    }

    pub(super) fn try_statement(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let caught = named(node).iter().any(|part| part.kind().starts_with("except"));
        for part in named(node) {
            if part.kind() == "block" && caught {
                // an exception may leave the block before its end
                self.branches(src, &[None, Some(part)]);
            } else if part.kind() == "block" {
                self.block(src, part);
            } else {
                self.branches(src, &[Some(part)]);
            }
        }
    }

    /// A clause of `try`: a handler, `else` or `finally`.
    pub(super) fn handler(&mut self, src: &Rc<Source>, node: Node<'_>) {
        for part in named(node) {
            if part.kind() == "block" {
                self.block(src, part);
                continue;
            }
            let alias = if part.kind() == "as_pattern" { field(part, "alias") } else { field(node, "alias") };
            if let Some(name) = alias {
                self.assign_name(src.of(name), Value::Local)
            }
        }
    }

    pub(super) fn match_statement(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let subject = fields(node, "subject").first().map_or(Value::Hole, |s| self.expr(src, *s));
        let cases: Vec<Node<'_>> = field(node, "body").map(named).unwrap_or_default();
        let mut parts = vec![None];
        for case in cases.iter().filter(|c| c.kind() == "case_clause") {
            for pattern in named(*case).iter().filter(|n| n.kind() == "case_pattern") {
                for name in named(*pattern).iter().filter(|n| n.kind() == "dotted_name") {
                    self.note_read(src.of(*name));
                    self.assign_name(src.of(*name), subject.clone())
                }
            }
            if let Some(guard) = field(*case, "guard") {
                self.all(src, named(guard));
            }
            parts.push(field(*case, "consequence"));
        }
        self.branches(src, &parts);
    }

    pub(super) fn for_statement(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let (Some(left), Some(right), Some(body)) = (field(node, "left"), field(node, "right"), field(node, "body"))
        else {
            return;
        };
        let over = self.expr(src, right);
        let (items, element, count) = self.iterate(&over);
        match items {
            Some(items) if self.unrolled * items.len().max(1) <= MAX_UNROLLED => {
                let outer = self.unrolled;
                self.unrolled *= items.len().max(1);
                for item in items {
                    if self.steps > super::MAX_STEPS {
                        break;
                    }
                    self.assign(src, left, item);
                    // `continue` may skip a part of the body; later rounds see the changes of earlier ones
                    self.statement(src, body);
                }
                self.unrolled = outer;
            }
            items => {
                let count = items.map_or(count, |i| i.len() as f64);
                let count = if count >= ENDLESS && leaves(src, body) { 1.0 } else { count };
                self.repeat(src, body, count, |reader| reader.assign(src, left, element.clone()));
            }
        }
        if let Some(other) = field(node, "alternative") {
            self.branches(src, &[Some(other)]);
        }
    }

    pub(super) fn while_statement(&mut self, src: &Rc<Source>, node: Node<'_>) {
        let (Some(condition), Some(body)) = (field(node, "condition"), field(node, "body")) else { return };
        let truth = self.expr(src, condition);
        if truth.truth() == Some(false) && matches!(condition.kind(), "false" | "integer") {
            return;
        }
        let constant = matches!(
            condition.kind(),
            "true" | "integer" | "not_operator" | "string" | "parenthesized_expression" | "comparison_operator"
        ) && !mentions_name(condition)
            && truth.truth() != Some(false);
        let count = if constant {
            if leaves(src, body) { 1.0 } else { pace(src, body) }
        } else {
            // `while i < 10**9`
            let bound = if condition.kind() == "comparison_operator" {
                named(condition).last().map(|n| self.expr(src, *n))
            } else {
                None
            };
            bound.and_then(|b| b.int()).map_or(1.0, |n| (n as f64).clamp(1.0, ENDLESS))
        };
        if constant && count >= ENDLESS && idle(src, body) {
            self.exhaust("cpu")
        }
        self.repeat(src, body, count, |_| {});
        if let Some(other) = field(node, "alternative") {
            self.branches(src, &[Some(other)]);
        }
    }

    /// Interprets a body whose rounds differ: once as it is, then with the variables changed by the first round
    /// widened, unless no round begins with a value of the one before.
    pub(super) fn repeat(&mut self, src: &Rc<Source>, body: Node<'_>, count: f64, mut bind: impl FnMut(&mut Self)) {
        let (weight, again, around) = (self.weight, self.again, self.around());
        self.weight *= count.max(1.0);
        let mark = self.journal.len();
        self.rounds.push(Round::default());
        self.uncertain(|reader| {
            bind(reader);
            reader.statement(src, body)
        });
        let made = self.undo(mark);
        let round = self.rounds.pop().unwrap_or_default();
        let mut carried = self.around() != around;
        for (key, value) in sorted(made) {
            let before = self.variable(&key);
            carried |= self.is_carried(&round, &key, before.as_ref(), value.as_ref());
            let vague = match (before, value) {
                (Some(a), Some(b)) => widen(a, b),
                (a, b) => a.or(b).unwrap_or(Value::Hole),
            };
            self.note_read(&key.1);
            self.assign_in(key.0, &key.1, vague);
        }
        if carried {
            self.again = true;
            self.another_round(src, body, bind);
        }
        (self.weight, self.again) = (weight, again);
    }

    fn another_round(&mut self, src: &Rc<Source>, body: Node<'_>, mut bind: impl FnMut(&mut Self)) {
        let mark = self.journal.len();
        self.uncertain(|reader| {
            bind(reader);
            reader.statement(src, body)
        });
        for (key, value) in sorted(self.undo(mark)) {
            let before = self.variable(&key);
            let joined = match (before, value) {
                (Some(a), Some(b)) => either(a, b),
                (a, b) => a.or(b).unwrap_or(Value::Hole),
            };
            self.assign_in(key.0, &key.1, joined);
        }
    }

    /// The values of a loop variable: all items if they are known; otherwise an element and the number of items.
    pub(super) fn iterate(&mut self, over: &Value) -> (Option<Vec<Value>>, Value, f64) {
        // a row is a smaller table: its columns count where they are used
        let rows = |v: &Value| matches!(v, Value::Object(kind, _) if &**kind == super::data::TABLE);
        if rows(over) || matches!(over, Value::Any(choices) if choices.items.iter().all(rows)) {
            return (None, over.clone(), 1.0);
        }
        self.every_column(over, "iteration");
        if let Value::Object(kind, of) = over {
            match (&**kind, of.elements().as_deref()) {
                ("range", Some([start, stop, step])) => {
                    let (Some(a), Some(b), Some(s)) = (start.int(), stop.int(), step.int()) else {
                        return (None, Value::Hole, 1.0);
                    };
                    let n = if s > 0 {
                        (b - a + s - 1) / s
                    } else if s < 0 {
                        (a - b - s - 1) / -s
                    } else {
                        0
                    }
                    .max(0);
                    if n > MAX_UNROLLED as i128 {
                        return (None, Value::Hole, n as f64);
                    }
                    return (Some((0..n).map(|i| Value::Int(a + i * s)).collect()), Value::Hole, n as f64);
                }
                ("endless", _) => return (None, Value::Hole, ENDLESS),
                ("file", _) => return (None, values::hole_text(), 1.0),
                _ => {}
            }
        }
        let count = if let Value::Large(n) = over { n / 8.0 } else { 1.0 };
        (over.elements(), over.element(), count)
    }
}
