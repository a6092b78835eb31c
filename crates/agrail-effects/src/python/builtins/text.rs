//! Methods of texts and bytes.

use super::codec::recode;
use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::strings::format_value;
use crate::python::values::{self, UNKNOWN_SPAN, Value, bytes_of, list, many, text};

impl Reader<'_> {
    /// Computes a method of a text.
    pub(super) fn text_method(&mut self, t: &str, receiver: &Value, name: &str, args: &Args) -> Value {
        match name {
            "join" => self.join(receiver, &args.at(0)),
            "format" => text(format_template(t, args)),
            "encode" => match args.at(0).show().to_lowercase().replace(['-', '_'], "").as_str() {
                "rot13" => recode(receiver, "rot13"),
                _ if t.contains(UNKNOWN_SPAN) => receiver.clone(),
                _ => Value::Bytes(t.as_bytes().into()),
            },
            "decode" => decode(receiver, args),
            "split" | "rsplit" | "splitlines" | "partition" | "rpartition" => split(t, name, args),
            _ => self.changed_text(t, name, args).map_or_else(|vague| vague, text),
        }
    }

    /// Computes a method of bytes.
    pub(super) fn bytes_method(&mut self, bytes: &[u8], receiver: &Value, name: &str, args: &Args) -> Value {
        match name {
            "join" => match args.at(0).elements().map(|i| i.iter().map(bytes_of).collect::<Option<Vec<_>>>()) {
                Some(Some(parts)) => Value::Bytes(parts.join(bytes).into()),
                _ => Value::Hole,
            },
            "decode" => decode(receiver, args),
            "hex" => text(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()),
            _ => match self.changed_text(&receiver.show(), name, args) {
                Ok(changed) => Value::Bytes(changed.into_bytes().into()),
                Err(vague) => vague,
            },
        }
    }

    fn join(&mut self, separator: &Value, over: &Value) -> Value {
        let (items, element, _) = self.iterate(over);
        match items {
            Some(items) => {
                self.step(items.len() / 8);
                text(items.iter().map(Value::show).collect::<Vec<_>>().join(&separator.show()))
            }
            None if matches!(over, Value::Many(_)) => text(element.show() + &UNKNOWN_SPAN.to_string()),
            None => values::hole_text(),
        }
    }

    /// The text that a method returns; `Err` if only the kind of the result is known.
    fn changed_text(&mut self, t: &str, name: &str, args: &Args) -> Result<String, Value> {
        let changed = string_method(t, name, args);
        self.step(t.len() / 64);
        changed.ok_or_else(|| {
            self.escape(args, name);
            let padded = matches!(name, "translate" | "center" | "ljust" | "rjust");
            if padded { values::hole_text() } else { Value::Hole }
        })
    }
}

fn decode(receiver: &Value, args: &Args) -> Value {
    recode(receiver, &args.get(0, "encoding").map_or("utf8".into(), |v| v.show()))
}

fn string_method(t: &str, name: &str, args: &Args) -> Option<String> {
    let arg = |i| args.pos.get(i).map(Value::show);
    let set = arg(0).unwrap_or_else(|| " \t\r\n".into());
    let in_set = |c: char| set.contains(c) && c != UNKNOWN_SPAN;
    Some(match name {
        "lower" | "casefold" => t.to_lowercase(),
        "upper" => t.to_uppercase(),
        "strip" => t.trim_matches(in_set).into(),
        "lstrip" => t.trim_start_matches(in_set).into(),
        "rstrip" => t.trim_end_matches(in_set).into(),
        "replace" if !t.contains(UNKNOWN_SPAN) => t.replace(&arg(0)?, &arg(1)?),
        "replace" => UNKNOWN_SPAN.to_string(),
        "removeprefix" => t.strip_prefix(&*arg(0)?).unwrap_or(t).into(),
        "removesuffix" => t.strip_suffix(&*arg(0)?).unwrap_or(t).into(),
        "swapcase" => {
            t.chars().map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
        }
        "title" | "capitalize" => {
            let mut start = true;
            t.chars()
                .map(|c| {
                    let out = if start { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
                    start = name == "title" && !c.is_alphabetic();
                    out
                })
                .collect()
        }
        "zfill" => format!(
            "{t:0>width$}",
            width = args.at(0).int().and_then(|n| usize::try_from(n).ok()).filter(|n| *n < 4096)?
        ),
        "format_map" | "expandtabs" | "tostring" => UNKNOWN_SPAN.to_string(),
        _ => return None,
    })
}

fn split(t: &str, name: &str, args: &Args) -> Value {
    if t.contains(UNKNOWN_SPAN) {
        return many(values::hole_text());
    }
    let by = args.get(0, "sep").filter(|v| !matches!(v, Value::None)).map(|v| v.show());
    let most = args.get(1, "maxsplit").and_then(|v| v.int()).and_then(|n| usize::try_from(n).ok());
    list(match (name, by.as_deref(), most) {
        ("splitlines", ..) => t.lines().map(text).collect(),
        (_, Some(""), _) => return Value::Hole,
        ("partition" | "rpartition", Some(by), _) => {
            match if name == "partition" { t.split_once(by) } else { t.rsplit_once(by) } {
                Some((a, b)) => vec![text(a), text(by), text(b)],
                None => vec![text(t), text(""), text("")],
            }
        }
        ("split", Some(by), Some(n)) => t.splitn(n + 1, by).map(text).collect(),
        ("rsplit", Some(by), Some(n)) => {
            let mut v: Vec<_> = t.rsplitn(n + 1, by).map(text).collect();
            v.reverse();
            v
        }
        (_, Some(by), None) => t.split(by).map(text).collect(),
        (_, None, None) => t.split_whitespace().map(text).collect(),
        _ => return many(values::hole_text()),
    })
}

fn format_template(template: &str, args: &Args) -> String {
    let (mut out, mut rest, mut next) = (String::new(), template, 0);
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(rest.get(..at).unwrap_or_default());
        let tail = rest.get(at + 1..).unwrap_or_default();
        if rest.get(at..at + 2).is_some_and(|d| d == "{{" || d == "}}") {
            out.push_str(tail.get(..1).unwrap_or_default());
            rest = tail.get(1..).unwrap_or_default();
            continue;
        }
        let Some((inside, after)) = tail.split_once('}').filter(|_| rest.get(at..=at) == Some("{")) else {
            rest = tail;
            continue;
        };
        let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
        let value = match name.parse::<usize>() {
            Ok(i) => args.pos.get(i).cloned(),
            Err(_) if name.is_empty() => {
                next += 1;
                args.pos.get(next - 1).cloned()
            }
            Err(_) => args.keyword(name),
        };
        out.push_str(&value.map_or(UNKNOWN_SPAN.to_string(), |v| format_value(&v, spec)));
        rest = after;
    }
    out + rest
}
