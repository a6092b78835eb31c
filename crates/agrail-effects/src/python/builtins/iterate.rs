//! Functions that build, combine and reduce collections and iterators.

use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::values::{self, Value, lift, list, many, text};

/// Most items to which `map` and `filter` apply their function one by one.
const MAX_MAPPED: usize = 512;

impl Reader<'_> {
    /// Computes a function on collections.
    pub(super) fn collection(&mut self, name: &str, first: &Value, args: &Args) -> Option<Value> {
        Some(match name {
            "list" | "tuple" | "set" | "sorted" | "frozenset" | "reversed" | "collections.deque" => {
                self.collected(name, first, args)
            }
            "iter" => match first {
                Value::Object(..) => first.clone(),
                _ if args.pos.len() == 2 => values::object("endless", Value::None),
                _ => self.collected(name, first, args),
            },
            "dict" | "collections.OrderedDict" | "collections.defaultdict" => match first {
                Value::Dict(_) => first.clone(),
                v => match v.elements() {
                    Some(pairs) => values::dict(pairs.iter().flat_map(|p| p.elements().unwrap_or_default()).collect()),
                    None => values::dict(args.kw.iter().flat_map(|(k, v)| [text(k), v.clone()]).collect()),
                },
            },
            "range" | "xrange" => range(first, args),
            "itertools.count" | "itertools.cycle" => values::object("endless", Value::None),
            "itertools.repeat" if args.pos.len() == 1 => values::object("endless", Value::None),
            "enumerate" => match first.elements() {
                Some(items) => {
                    list(items.into_iter().enumerate().map(|(i, v)| list(vec![Value::Int(i as i128), v])).collect())
                }
                None => many(list(vec![Value::Hole, self.iterate(first).1])),
            },
            "zip" | "itertools.product" | "itertools.zip_longest" => zip(name, args),
            "itertools.chain" => {
                args.pos.iter().cloned().reduce(|a, b| values::binary("+", &a, &b)).unwrap_or(Value::Hole)
            }
            "map" | "filter" if args.pos.len() == 2 => self.mapped(name, first, args),
            "next" => match self.iterate(first) {
                (Some(items), ..) => items.first().cloned().unwrap_or(Value::Hole),
                (_, element, _) => element,
            },
            "random.choice" | "random.sample" | "random.choices" | "secrets.choice" => first.element(),
            "max" | "min" => {
                if args.pos.len() == 1 {
                    first.element()
                } else {
                    Value::Hole
                }
            }
            "sum" => first.elements().map_or(Value::Hole, |items| {
                let add = |a: Value, b: Value| lift(&a, &b, |a, b| values::binary("+", a, b));
                items.into_iter().reduce(add).unwrap_or(Value::Int(0))
            }),
            "functools.reduce" => {
                let items = args.at(1).elements()?;
                let start = args.pos.get(2).cloned();
                let call = |a, b| self.call_value(first, vec![a, b].into(), "");
                start.into_iter().chain(items).reduce(call).unwrap_or(Value::Hole)
            }
            _ => return None,
        })
    }

    /// A list of the items of a value.
    fn collected(&mut self, name: &str, first: &Value, args: &Args) -> Value {
        if matches!(first, Value::Object(kind, _) if &**kind == "endless") {
            self.exhaust("memory")
        }
        let (items, element, count) = self.iterate(first);
        match items {
            Some(mut items) => {
                match name {
                    "reversed" => items.reverse(),
                    "sorted" => items.sort_by_key(Value::show),
                    _ => {}
                }
                list(items)
            }
            None if args.pos.is_empty() => list(vec![]),
            None if count > 1e6 => Value::Large(count * 8.0),
            None if matches!(first, Value::Large(_)) => first.clone(),
            None => many(element),
        }
    }

    fn mapped(&mut self, name: &str, function: &Value, args: &Args) -> Value {
        let (items, element, _) = self.iterate(&args.at(1));
        let call = |reader: &mut Self, v: Value| {
            let out = match function {
                Value::None => Value::Hole,
                _ => reader.call_value(function, vec![v.clone()].into(), "a computed function"),
            };
            if name == "map" { out } else { v }
        };
        match items {
            Some(items) => list(items.into_iter().take(MAX_MAPPED).map(|v| call(self, v)).collect()),
            None => many(call(self, element)),
        }
    }
}

fn range(first: &Value, args: &Args) -> Value {
    let (a, b, c) = (first.clone(), args.at(1), args.at(2));
    let parts = match args.pos.len() {
        1 => vec![Value::Int(0), a, Value::Int(1)],
        2 => vec![a, b, Value::Int(1)],
        _ => vec![a, b, c],
    };
    values::object("range", list(parts))
}

fn zip(name: &str, args: &Args) -> Value {
    let all: Option<Vec<Vec<Value>>> = args.pos.iter().map(Value::elements).collect();
    match all {
        Some(all) if name == "zip" => {
            let n = all.iter().map(Vec::len).min().unwrap_or(0);
            list((0..n).map(|i| list(all.iter().filter_map(|l| l.get(i).cloned()).collect())).collect())
        }
        _ => many(list(args.pos.iter().map(Value::element).collect())),
    }
}
