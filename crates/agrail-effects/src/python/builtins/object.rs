//! Reflection, wrappers around functions and values, and everything of which only the size matters.

use crate::python::Reader;
use crate::python::arguments::NAMESPACE;
use crate::python::calls::Args;
use crate::python::special::command_line;
use crate::python::values::{self, UNKNOWN_SPAN, Value, either, list, many, text};

impl Reader<'_> {
    /// Computes a function that reflects on values or wraps them.
    pub(super) fn reflected(&mut self, name: &str, first: &Value, args: &Args) -> Option<Value> {
        Some(match name {
            "getattr" => self.attribute_by_name(first, args),
            "vars" if is_parsed(first) => self.all_parsed(),
            "vars" => first.clone(),
            "setattr" if is_parsed(first) => {
                match args.at(1) {
                    Value::Text(name) if !name.contains(UNKNOWN_SPAN) => self.set_member(NAMESPACE, &name, args.at(2)),
                    _ => self.forget_parsed(),
                }
                Value::None
            }
            "globals" | "locals" => Value::Name("globals()".into()),
            "super" => match self.identifier("self") {
                Value::Instance(class, _) => {
                    class.base.clone().map_or(Value::Local, |b| values::object(&b, Value::Hole))
                }
                _ => Value::Local,
            },
            "input" | "raw_input" => Value::Hole,
            "type" => Value::Local,
            "functools.partial" | "functools.partialmethod" => values::partial(args.pos.clone()),
            "asyncio.run"
            | "asyncio.gather"
            | "typing.cast"
            | "copy.copy"
            | "copy.deepcopy"
            | "asyncio.create_task"
            | "tqdm.tqdm"
            | "contextlib.closing"
            | "functools.wraps" => args.pos.last().cloned().unwrap_or(Value::Hole),
            _ => return None,
        })
    }

    fn attribute_by_name(&mut self, first: &Value, args: &Args) -> Value {
        let name = args.at(1).show();
        if name.contains(UNKNOWN_SPAN) {
            return match first {
                Value::Name(n) => Value::Name(format!("{n}.{UNKNOWN_SPAN}").into()),
                Value::Module(_) => Value::Name(UNKNOWN_SPAN.to_string().into()),
                _ => Value::Hole,
            };
        }
        let found = self.attribute(first, &name);
        if args.pos.len() > 2 && !matches!(first, Value::Name(_)) { either(found, args.at(2)) } else { found }
    }
}

/// Whether a value is the arguments that the program has parsed.
fn is_parsed(value: &Value) -> bool {
    matches!(value, Value::Object(kind, _) if &**kind == NAMESPACE)
}

/// The words of a command line, and a command line of words.
pub(super) fn words(name: &str, first: &Value) -> Option<Value> {
    Some(match name {
        "shlex.split" if first.is_text() && !first.show().contains(['\'', '"', '\\']) => {
            list(first.show().split_whitespace().map(text).collect())
        }
        "shlex.split" => many(Value::Hole),
        "shlex.join" | "subprocess.list2cmdline" => text(command_line(first)),
        _ => return None,
    })
}

/// Arrays and random bytes, of which only the size is known.
pub(super) fn sized(name: &str, first: &Value, args: &Args) -> Option<Value> {
    Some(match name {
        "numpy.zeros" | "numpy.ones" | "numpy.empty" | "numpy.full" | "numpy.random.rand" | "numpy.arange" => {
            let shape = first.elements().unwrap_or_else(|| args.pos.clone());
            let n = shape.iter().filter_map(Value::int).map(|n| n as f64).product::<f64>();
            if n >= 1e7 { Value::Large(n * 8.0) } else { Value::Local }
        }
        "os.urandom" | "random.randbytes" | "secrets.token_bytes" => {
            first.int().map_or(Value::Hole, |n| Value::Large(n as f64))
        }
        _ => return None,
    })
}
