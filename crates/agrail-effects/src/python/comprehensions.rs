//! Comprehensions and generator expressions.

use super::flow::MAX_UNROLLED;
use super::operators::Compared;
use super::statements::{field, fields, named};
use super::values::{self, Value, either, list, many};
use super::{Reader, Source};
use crate::tree::Node;
use std::rc::Rc;

/// The items that a comprehension has made so far.
#[derive(Default)]
struct Made {
    out: Vec<Value>,
    /// An element and the number of elements, if the items are not known one by one.
    open: Option<(Value, f64)>,
}

impl Reader<'_> {
    pub(super) fn comprehension(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let Some(body) = field(node, "body") else { return Value::Hole };
        let clauses: Vec<_> =
            named(node).into_iter().filter(|c| matches!(c.kind(), "for_in_clause" | "if_clause")).collect();
        let mut made = Made::default();
        let (weight, compared, unrolled) = (self.weight, self.compared.len(), self.unrolled);
        // a comprehension has its own names
        let own = |clause: &Node<'_>| field(*clause, "left").map(|left| src.of(left).to_owned());
        let names: Vec<String> = clauses.iter().filter_map(own).collect();
        let names = names.iter().flat_map(|left| left.split(|c: char| !c.is_alphanumeric() && c != '_'));
        let before: Vec<(String, Value)> =
            names.filter_map(|name| Some((name.to_owned(), self.lookup(name)?))).collect();
        self.uncertain(|reader| reader.clauses(src, &clauses, body, &mut made));
        for (name, value) in before {
            self.note_read(&name);
            self.assign_name(&name, value);
        }
        self.compared.truncate(compared);
        let times = self.weight / weight;
        (self.weight, self.unrolled) = (weight, unrolled);
        let is_dict = node.kind() == "dictionary_comprehension";
        let Made { out, open } = made;
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

    fn clauses(&mut self, src: &Rc<Source>, clauses: &[Node<'_>], body: Node<'_>, made: &mut Made) {
        match clauses.split_first() {
            None => self.collect(src, body, made),
            Some((clause, rest)) if clause.kind() == "if_clause" => self.filter(src, *clause, rest, body, made),
            Some((clause, rest)) => self.each(src, *clause, rest, body, made),
        }
    }

    fn collect(&mut self, src: &Rc<Source>, body: Node<'_>, made: &mut Made) {
        let value = match (field(body, "key"), field(body, "value")) {
            (Some(k), Some(v)) => {
                let k = self.expr(src, k);
                list(vec![k, self.expr(src, v)])
            }
            _ => self.expr(src, body),
        };
        // rows that a comprehension collects may be read completely
        self.every_column(&value, "comprehension");
        match &mut made.open {
            Some((known, _)) => *known = either(known.clone(), value),
            None => made.out.push(value),
        }
    }

    fn filter(&mut self, src: &Rc<Source>, clause: Node<'_>, rest: &[Node<'_>], body: Node<'_>, made: &mut Made) {
        for condition in named(clause) {
            self.expr(src, condition);
            let mut compared = Compared::default();
            self.comparisons(src, condition, &mut compared);
            self.compared.append(&mut compared.equal);
        }
        self.clauses(src, rest, body, made);
    }

    fn each(&mut self, src: &Rc<Source>, clause: Node<'_>, rest: &[Node<'_>], body: Node<'_>, made: &mut Made) {
        let (Some(left), Some(right)) = (field(clause, "left"), fields(clause, "right").first().copied()) else {
            return;
        };
        let over = self.expr(src, right);
        let (items, element, count) = self.iterate(&over);
        match items {
            Some(items) if made.open.is_none() && self.unrolled * items.len().max(1) <= MAX_UNROLLED => {
                self.unrolled *= items.len().max(1);
                for item in items {
                    self.assign(src, left, item);
                    self.clauses(src, rest, body, made);
                }
            }
            items => {
                let count = items.as_ref().map_or(count, |i| i.len() as f64).max(1.0);
                self.assign(src, left, items.and_then(|i| i.into_iter().reduce(either)).unwrap_or(element));
                self.weight *= count;
                let mut inner = Made::default();
                self.clauses(src, rest, body, &mut inner);
                let (value, times) = inner.open.unwrap_or((Value::Local, 1.0));
                let value = inner.out.into_iter().reduce(either).unwrap_or(value);
                made.open = Some(match made.open.take() {
                    Some((old, n)) => (either(old, value), n.max(count * times)),
                    None => (value, count * times),
                });
            }
        }
    }
}
