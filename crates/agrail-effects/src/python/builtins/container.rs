//! Methods of lists, sets and dictionaries, and how methods change their receiver.

use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::values::{self, Value, either, list, many};

impl Reader<'_> {
    /// Computes a method of a list, dictionary or other collection.
    pub(super) fn collection_method(&mut self, receiver: &Value, name: &str, args: Args) -> Value {
        let a = args.at(0);
        match (receiver, name) {
            (Value::Dict(_), "get" | "pop" | "setdefault") => {
                let found = self.item(receiver, &a);
                if args.pos.len() > 1 && matches!(found, Value::Hole) { args.at(1) } else { found }
            }
            (Value::Dict(d), "items") => list(d.items.chunks(2).map(|p| list(p.to_vec())).collect()),
            (Value::Dict(d), "values") => list(d.items.iter().skip(1).step_by(2).cloned().collect()),
            (Value::Dict(d), "keys") => list(d.items.iter().step_by(2).cloned().collect()),
            (Value::List(_) | Value::Many(_), "pop" | "popleft") => {
                let last = Value::Int(-1);
                self.item(receiver, if a.int().is_some() { &a } else { &last })
            }
            (_, "copy") => receiver.clone(),
            _ => {
                if matches!(name, "append" | "add" | "insert" | "appendleft" | "extend" | "update") {
                    let size = args.pos.last().map_or(0.0, |v| v.size());
                    self.grow("memory", size);
                }
                if name != "append" {
                    self.escape(&args, name)
                }
                match receiver {
                    Value::Many(e) if matches!(**e, Value::Hole) => self.telling(&Value::Hole, name, args),
                    _ => Value::None,
                }
            }
        }
    }

    /// The new value of the receiver after a method that changes it in place; `None` if the method changes nothing.
    pub(in crate::python) fn changed(&mut self, receiver: &Value, name: &str, args: &Args) -> Option<Value> {
        let a = args.at(0);
        match (receiver, name) {
            (Value::List(l), "append" | "add" | "appendleft") => {
                let mut items = l.items.clone();
                self.step(items.len() / 16);
                items.push(a);
                Some(list(items))
            }
            (Value::List(_), "extend" | "update") => Some(values::binary(
                "+",
                receiver,
                &if a.elements().is_some() { list(a.elements()?) } else { many(a.element()) },
            ))
            .map(|v| if matches!(v, Value::Hole) { many(Value::Hole) } else { v }),
            (Value::List(l), "reverse") => Some(list(l.items.iter().rev().cloned().collect())),
            (Value::List(l), "insert") => Some(match a.int().and_then(|i| usize::try_from(i).ok()) {
                Some(at) => {
                    let mut items = l.items.clone();
                    items.insert(at.min(l.items.len()), args.at(1));
                    list(items)
                }
                None => many(either(receiver.element(), args.at(1))),
            }),
            (Value::List(_), "pop" | "remove" | "sort" | "clear" | "popleft" | "discard" | "rotate") => {
                Some(many(receiver.element()))
            }
            (Value::Many(e), "append" | "add" | "insert") => {
                Some(many(either((**e).clone(), args.pos.last().cloned().unwrap_or(Value::Hole))))
            }
            (Value::Dict(d), "update" | "setdefault") => match a {
                Value::Dict(other) => Some(values::dict(d.items.iter().chain(&other.items).cloned().collect())),
                key if name == "setdefault" => {
                    Some(values::dict(d.items.iter().cloned().chain([key, args.at(1)]).collect()))
                }
                _ => Some(Value::Local),
            },
            (Value::Object(kind, _), "connect" | "connect_ex") if !kind.starts_with("sqlite") => {
                let host = args
                    .pos
                    .first()
                    .cloned()
                    .or_else(|| args.keyword("hostname"))
                    .or_else(|| args.keyword("host"))
                    .unwrap_or(Value::Hole);
                Some(values::object(kind, crate::python::special::address(&host)))
            }
            _ => None,
        }
    }
}
