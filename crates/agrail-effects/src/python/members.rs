//! Attributes, subscripts and environment variables.

use super::arguments::NAMESPACE;
use super::row::Constant;
use super::statements::{field, fields};
use super::values::{self, UNKNOWN_SPAN, Value, either, lift, many, text};
use super::{Reader, Source};
use crate::tree::Node;
use std::rc::Rc;

/// Modules that other modules import, which makes them attributes of the importing module.
const IMPORTED: [&str; 10] =
    ["os", "sys", "subprocess", "shutil", "codecs", "builtins", "socket", "ctypes", "pty", "importlib"];

impl Reader<'_> {
    pub(super) fn attribute(&mut self, object: &Value, name: &str) -> Value {
        match object {
            Value::Any(choices) => {
                choices.items.iter().map(|c| self.attribute(c, name)).reduce(either).unwrap_or(Value::Hole)
            }
            Value::Name(module) => self.attribute_of_name(module, name),
            Value::Module(_) if name == "__dict__" => object.clone(),
            Value::Module(module) => self.of_module(*module, name),
            Value::Instance(class, _) | Value::Class(class) => {
                let stored = self.variable(&(usize::MAX, format!("{}.{name}", class.name)));
                match (stored, class.members.get(name)) {
                    (Some(v), None) => v,
                    (Some(v), Some(member)) => either(member.clone(), v),
                    (None, Some(Value::Function(function))) if matches!(object, Value::Instance(..)) => {
                        if self.is_property(function) {
                            let getter = Value::Function(function.clone());
                            return self.call_value(&getter, vec![object.clone()].into(), name);
                        }
                        values::bound(object.clone(), name)
                    }
                    (None, Some(member)) => member.clone(),
                    (None, None) if name == "__class__" => Value::Class(class.clone()),
                    (None, None) if name.starts_with("__") => self.dunder(name),
                    (None, None) => values::bound(object.clone(), name),
                }
            }
            Value::Path(path) => self.path_attribute(path, name),
            Value::Object(kind, _) if &**kind == super::data::TABLE => {
                self.attribute_of_rows(object, name);
                values::bound(Value::Local, name)
            }
            Value::Object(kind, _) if &**kind == NAMESPACE => {
                if name == "__dict__" {
                    self.forget_parsed();
                }
                self.parsed(name).unwrap_or_else(|| values::bound(Value::Local, name))
            }
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

    /// The attribute of something outside the program.
    fn attribute_of_name(&mut self, module: &Rc<str>, name: &str) -> Value {
        if matches!(name, "__dict__") {
            return Value::Name(module.clone());
        }
        if (&**module, name) == ("sys", "argv")
            && let Some(words) = self.words()
        {
            return words;
        }
        // a module that another module imported
        if IMPORTED.contains(&name) && !module.is_empty() && !self.table.is_module(&format!("{module}.{name}")) {
            return Value::Name(name.into());
        }
        let full = self.table.canonical(&if module.is_empty() || &**module == "builtins" {
            name.to_string()
        } else {
            format!("{module}.{name}")
        });
        match self.table.constants.get(&full) {
            Some(Constant::Number(n)) => Value::Int(i128::from(*n)),
            Some(Constant::Text(s)) => text(s),
            _ => Value::Name(full.into()),
        }
    }

    /// Attributes that give access to arbitrary objects of the interpreter.
    pub(super) fn dunder(&mut self, name: &str) -> Value {
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

    pub(super) fn path_attribute(&mut self, path: &Rc<str>, name: &str) -> Value {
        let trimmed = path.trim_end_matches('/');
        let (parent, last) =
            trimmed.rsplit_once('/').map_or((".", trimmed), |(p, l)| (if p.is_empty() { "/" } else { p }, l));
        let open = last.contains(UNKNOWN_SPAN);
        match name {
            "parent" => {
                Value::Path(if open && parent == "." { UNKNOWN_SPAN.to_string().into() } else { parent.into() })
            }
            "parents" if open || path.is_empty() => many(Value::Path(UNKNOWN_SPAN.to_string().into())),
            "parents" => values::list(parents(trimmed).map(|parent| Value::Path(parent.into())).collect()),
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

    pub(super) fn subscript(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let base = field(node, "value").map_or(Value::Hole, |v| self.expr(src, v));
        let keys = fields(node, "subscript");
        if let [only] = keys.as_slice()
            && only.kind() == "slice"
        {
            let mut ends = [None, None, None];
            let mut at = 0;
            let mut known = true;
            for part in only.children() {
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
            self.every_column(&base, "[]");
            // of lists that branches fill, or a loop of unknown length, the places of the elements are not known
            let branched =
                matches!(&base, Value::Any(all) if all.items.iter().any(|v| v.elements().is_some() && !v.is_text()));
            return if known && !branched {
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
            (Value::Object(kind, _), _) if &**kind == super::data::TABLE => self.item_of_rows(base, key),
            (Value::Name(n), _) => match (&**n, key) {
                ("globals()" | "locals()", Value::Text(k)) => self.identifier(k),
                ("sys.modules", Value::Text(k)) => Value::Name(self.table.canonical(k).into()),
                ("os.environ", k) => environment(k),
                ("sys.argv", _) => values::hole_text(),
                (_, Value::Text(k)) => self.attribute(base, k),
                _ => Value::Hole,
            },
            (Value::Module(module), Value::Text(name)) => self.of_module(*module, name),
            (Value::Module(_), _) => Value::Name(UNKNOWN_SPAN.to_string().into()),
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
}

/// The value of an environment variable: only the home folder is known, as `~`.
pub(super) fn environment(key: &Value) -> Value {
    if key.show() == "HOME" { text("~") } else { values::hole_text() }
}

/// The folders above a path, from the nearest.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    fn up(path: &str) -> Option<&str> {
        match path.rsplit_once('/') {
            Some(("", "")) => None,
            Some(("", _)) => Some("/"),
            Some((parent, _)) => Some(parent),
            // above a part that is not known may be anything
            None => (path != "." && !path.contains(UNKNOWN_SPAN)).then_some("."),
        }
    }
    std::iter::successors(up(path), |path| up(path))
}
