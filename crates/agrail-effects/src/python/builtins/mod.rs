//! Functions and methods that only compute: they have no effect, but their results must be known.

mod codec;
mod container;
mod convert;
mod iterate;
mod object;
mod path;
mod text;

use super::Reader;
use super::calls::Args;
use super::values::{Value, either};

impl Reader<'_> {
    /// Computes a built-in function by name; `None` if it is none of them.
    pub(super) fn builtin(&mut self, name: &str, args: &Args) -> Option<Value> {
        let first = args.at(0);
        if let Value::Any(choices) = &first
            && !matches!(name, "print" | "isinstance")
            && args.pos.len() <= 2
        {
            let mut all = choices
                .items
                .iter()
                .map(|c| {
                    let mut one = args.clone();
                    if let Some(slot) = one.pos.first_mut() {
                        *slot = c.clone()
                    }
                    self.builtin(name, &one)
                })
                .collect::<Option<Vec<_>>>()?;
            let last = all.pop()?;
            return Some(all.into_iter().fold(last, either));
        }
        convert::convert(name, &first, args)
            .or_else(|| self.collection(name, &first, args))
            .or_else(|| codec::decode(name, &first, args))
            .or_else(|| self.reflected(name, &first, args))
            .or_else(|| self.path(name, &first, args))
            .or_else(|| object::words(name, &first))
            .or_else(|| object::sized(name, &first, args))
    }

    /// Computes methods of texts, bytes, lists and dictionaries.
    pub(super) fn builtin_method(&mut self, receiver: &Value, name: &str, args: Args) -> Value {
        if name == "format" {
            self.given_rows(name, &args);
        }
        match receiver {
            Value::Text(t) => self.text_method(t, receiver, name, &args),
            Value::Bytes(bytes) => self.bytes_method(bytes, receiver, name, &args),
            Value::List(_) | Value::Dict(_) | Value::Many(_) | Value::Large(_) => {
                self.collection_method(receiver, name, args)
            }
            _ => Value::Hole,
        }
    }
}
