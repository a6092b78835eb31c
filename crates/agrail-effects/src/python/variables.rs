//! Variables: scopes, assignments, attributes of instances.

use super::arguments::NAMESPACE;
use super::flow::l_element;
use super::statements::{field, named};
use super::table::Entry;
use super::values::{self, Value, either, many};
use super::{Reader, Source};
use crate::Detail;
use crate::tree::Node;
use std::rc::Rc;

impl Reader<'_> {
    pub(super) fn lookup(&self, name: &str) -> Option<Value> {
        let base = self.frames.last().map_or(0, |f| f.base);
        let own = self.scopes.iter().skip(base.max(1)).rev().find_map(|s| s.get(name));
        let callers = || self.scopes.iter().take(base).rev().find_map(|s| s.get(name));
        let found = own.or_else(|| self.scopes.first().and_then(|s| s.get(name)));
        // a variable of a caller does not replace a function of the language
        let known = || self.table.builtins.contains(name) || !matches!(self.table.find(name), Entry::Missing);
        found.or_else(|| callers().filter(|_| !known())).cloned()
    }

    pub(super) fn assign_name(&mut self, name: &str, value: Value) {
        let top = self.scopes.len() - 1;
        let frame = self.frames.last();
        let scope = if frame.is_some_and(|f| f.globals.contains(name)) {
            0
        } else if frame.is_some_and(|f| f.nonlocals.contains(name)) {
            self.scopes.iter().take(top).rposition(|s| s.contains_key(name)).unwrap_or(top)
        } else {
            top
        };
        self.assign_in(scope, name, value);
    }

    pub(super) fn assign_in(&mut self, scope: usize, name: &str, value: Value) {
        let key = self.key_of(scope);
        self.note_written(name);
        if let Some(variables) = self.variables(key) {
            let old = variables.insert(name.to_string(), value);
            self.journal.push((key, name.to_string(), old));
        }
    }

    /// Assigns to a name, attribute, subscript or pattern.
    pub(super) fn assign(&mut self, src: &Rc<Source>, left: Node<'_>, value: Value) {
        self.depth += 1;
        if self.step(1) {
            self.assign_inner(src, left, value)
        }
        self.depth -= 1;
    }

    fn assign_inner(&mut self, src: &Rc<Source>, left: Node<'_>, value: Value) {
        match left.kind() {
            "identifier" => self.assign_name(src.of(left), value),
            "attribute" => self.assign_attribute(src, left, value),
            "subscript" => self.assign_item(src, left, value),
            "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" | "list" | "expression_list" => {
                let parts = named(left);
                let values = value
                    .elements()
                    .filter(|v| v.len() == parts.len() && !parts.iter().any(|p| p.kind() == "list_splat_pattern"));
                for (i, part) in parts.iter().enumerate() {
                    let one = values.as_ref().and_then(|v| v.get(i).cloned()).unwrap_or_else(|| value.element());
                    self.assign(src, *part, one);
                }
            }
            "list_splat_pattern" | "as_pattern_target" | "parenthesized_expression" => {
                for part in named(left) {
                    self.assign(src, part, value.clone())
                }
            }
            _ => {}
        }
    }

    fn assign_attribute(&mut self, src: &Rc<Source>, left: Node<'_>, value: Value) {
        let (Some(object), Some(name)) = (field(left, "object"), field(left, "attribute")) else { return };
        match self.expr(src, object) {
            Value::Instance(class, _) | Value::Class(class) => self.set_member(&class.name, src.of(name), value),
            Value::Name(n) if (&*n, src.of(name)) == ("sys", "argv") && self.words().is_some() => {
                self.replace_words(value);
            }
            Value::Object(kind, _) if &*kind == NAMESPACE => self.set_member(NAMESPACE, src.of(name), value),
            Value::Name(n) if self.table.is_module(&n) || n.is_empty() || &*n == "builtins" => {
                self.unknown(&format!("{n}.{} is replaced", src.of(name)))
            }
            Value::Module(module) => self.set_in_module(module, src.of(name), value),
            _ => {}
        }
    }

    fn assign_item(&mut self, src: &Rc<Source>, left: Node<'_>, value: Value) {
        let (Some(object), Some(key)) = (field(left, "value"), field(left, "subscript")) else { return };
        let (base, key) = (self.expr(src, object), self.expr(src, key));
        self.grow("memory", if matches!(key, Value::Int(_)) { 0.0 } else { value.size() });
        match base {
            Value::Name(n) if &*n == "os.environ" => {
                self.emit("variable", &key, false, Detail::Value(value.show()), "os.environ")
            }
            Value::Name(n) if matches!(&*n, "globals()" | "locals()") => self.assign_in(0, &key.show(), value),
            Value::Dict(d) => {
                let mut items = d.items.clone();
                let at = items.chunks(2).position(|p| p.first().is_some_and(|k| k.same(&key)));
                match at.and_then(|i| items.get_mut(2 * i + 1)) {
                    Some(slot) => *slot = value,
                    None => items.extend([key, value]),
                }
                self.assign(src, object, values::dict(items));
            }
            Value::List(l) => {
                let mut items = l.items.clone();
                let slot = key.int().and_then(|i| usize::try_from(i).ok()).and_then(|i| items.get_mut(i));
                let known = slot.map(|s| *s = value.clone()).is_some();
                let changed = if known { values::list(items) } else { many(either(l_element(&items), value)) };
                self.assign(src, object, changed);
            }
            _ => {}
        }
    }

    /// Sets an attribute. All instances of a class share it, so that a new value is added to its possible values.
    pub(super) fn set_member(&mut self, class: &str, name: &str, value: Value) {
        let key = format!("{class}.{name}");
        self.set_in_module(0, &key, value);
    }
}
