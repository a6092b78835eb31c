//! Conversions between texts, numbers and bytes.

use crate::python::calls::Args;
use crate::python::strings::format_value;
use crate::python::values::{self, UNKNOWN_SPAN, Value, bytes_of, text};
use crate::reading::quote;
use std::rc::Rc;

/// Converts by the functions that are named after a type, and by those that read or write numbers.
pub(super) fn convert(name: &str, first: &Value, args: &Args) -> Option<Value> {
    Some(match name {
        "str" | "unicode" | "repr" | "os.fspath" | "os.fsdecode" | "os.fsencode" | "pathlib.PurePath.as_posix" => {
            shown(first, args, |shown| shown)
        }
        "shlex.quote" => shown(first, args, |shown| quote(&shown)),
        "int" => return integer(first, args),
        "float" => first.int().map_or(Value::Hole, |n| Value::Float(n as f64)),
        "bool" => first.truth().map_or(Value::Hole, Value::Bool),
        "len" => match first {
            Value::Text(t) if !t.contains(UNKNOWN_SPAN) => Value::Int(t.chars().count() as i128),
            v => v.elements().map_or(Value::Hole, |e| Value::Int(e.len() as i128)),
        },
        "chr" => values::chr(first),
        "ord" => match first {
            Value::Text(t) if !t.contains(UNKNOWN_SPAN) => {
                t.chars().next().map_or(Value::Hole, |c| Value::Int(i128::from(u32::from(c))))
            }
            _ => Value::Hole,
        },
        "hex" => first.int().map_or_else(values::hole_text, |n| text(format!("{n:#x}"))),
        "format" => text(format_value(first, &args.at(1).show())),
        "abs" | "round" => first.clone(),
        "bytes" | "bytearray" => match (first, bytes_of(first)) {
            (Value::Int(n), _) => Value::Large(*n as f64),
            (_, Some(b)) => Value::Bytes(b.into()),
            (Value::None, _) => Value::Bytes(Rc::from([])),
            _ => Value::Hole,
        },
        _ => return None,
    })
}

fn shown(first: &Value, args: &Args, finish: impl Fn(String) -> String) -> Value {
    match first {
        Value::None if args.pos.is_empty() => text(""),
        Value::Large(_) => first.clone(),
        _ => text(finish(first.show())),
    }
}

fn integer(first: &Value, args: &Args) -> Option<Value> {
    Some(match (first.int(), args.at(1).int()) {
        (_, Some(radix)) => i128::from_str_radix(
            first.show().trim_start_matches("0x").trim_start_matches("0o"),
            u32::try_from(radix).ok().filter(|r| (2..=36).contains(r))?,
        )
        .map_or(Value::Hole, Value::Int),
        (Some(n), _) => Value::Int(n),
        _ => first.show().trim().parse().map_or(Value::Hole, Value::Int),
    })
}
