//! Results of calls that are constant if their arguments are.

use super::arguments::Target;
use super::row::{Place, Special};
use super::table::Entry;
use super::values::{CONTENT, DATA, LIST, Value, Values, include};
use crate::UNKNOWN_SPAN;
use crate::shell::tidy;
use base64::Engine;

/// Longest text that a call makes.
const MAX_TEXT: usize = 64 * 1024;
/// Most paths that one call makes.
const MAX_PATHS: usize = 48;

impl<'p> Values<'p> {
    /// The result of a call of a function outside the program.
    pub fn fold(&mut self, target: &Target<'p>) -> Vec<Value<'p>> {
        match (&target.callee, &target.receiver, target.name.as_deref()) {
            (Value::Outside(name), ..) => self.known(&name.clone(), target),
            (_, Some(content @ Value::Object(kind, _)), Some("toString" | "trim")) if &**kind == CONTENT => {
                vec![content.clone()]
            }
            (_, Some(Value::Object(kind, _)), Some(method)) => self.known(&format!("{kind}.{method}"), target),
            (_, Some(Value::Text(text)), Some(method)) => self.method_of_text(&text.clone(), method, target),
            (_, Some(Value::List(items)), Some("join")) => {
                let separator = self.argument(&target.arguments, 0);
                let separator = separator.map_or(",".to_owned(), |values| one(&values));
                self.words(*items).iter().map(|words| text(&words.join(&separator))).collect()
            }
            (_, Some(Value::List(items)), Some("filter" | "slice" | "toSorted" | "toReversed")) => {
                self.chosen(*items, target.written)
            }
            (_, Some(Value::List(_)), Some("map")) => {
                let callbacks = self.argument(&target.arguments, 0).unwrap_or_default();
                self.mapped(&callbacks)
            }
            _ => vec![Value::Unknown],
        }
    }

    fn known(&mut self, name: &str, target: &Target<'p>) -> Vec<Value<'p>> {
        let Entry::Row(row) = self.table.find(name) else { return vec![Value::Unknown] };
        if let Some(special) = row.special
            && let Some(found) = self.folded(special, target)
        {
            return found;
        }
        let Some(kind) = &row.returns else { return vec![Value::Unknown] };
        if kind == LIST {
            let program = self.program;
            return self.of(&program.some.0);
        }
        let places = match row.target.as_ref() {
            // nothing is known of the argument yet
            Some(place) => match self.place(place, target) {
                Some(values) if values.is_empty() => return Vec::new(),
                values => values.unwrap_or_default(),
            },
            None => Vec::new(),
        };
        let texts: Vec<String> = places.iter().map(Value::show).collect();
        match texts.as_slice() {
            [_, ..] if kind.as_str() == DATA && !self.is_read_plainly(target) => vec![Value::Unknown],
            texts @ [_, ..] if kind.as_str() == DATA => self.data(texts.iter().map(|path| Some(path.as_str()))),
            [] => vec![Value::Object(kind.as_str().into(), "".into())],
            texts => texts.iter().map(|target| Value::Object(kind.as_str().into(), target.as_str().into())).collect(),
        }
    }

    /// Whether the arguments after the first are texts: an encoding.
    fn is_read_plainly(&mut self, target: &Target<'p>) -> bool {
        let (values, more) = self.each(&target.arguments);
        !more && values.iter().skip(1).flatten().all(|value| matches!(value, Value::Text(_)))
    }

    /// The values that files in JSON have, as far as they were read; `None`: no file.
    fn data<'t>(&mut self, paths: impl Iterator<Item = Option<&'t str>>) -> Vec<Value<'p>> {
        let (program, mut all) = (self.program, Vec::new());
        for path in paths {
            let known = path.and_then(|path| program.data.get(path));
            include(&mut all, known.map_or_else(|| vec![Value::Unknown], |value| self.of(value)));
            if let (Some(path), None) = (path, known) {
                self.wanted.insert(path.to_owned());
            }
        }
        all
    }

    /// The values at a place of a call; nothing if the argument is left out.
    pub fn place(&mut self, place: &Place, target: &Target<'p>) -> Option<Vec<Value<'p>>> {
        match place {
            Place::At(at) => self.argument(&target.arguments, *at),
            Place::Receiver => Some(match &target.receiver {
                Some(Value::Object(_, text)) => vec![Value::Text(text.clone())],
                Some(other) => vec![other.clone()],
                None => vec![Value::Unknown],
            }),
            Place::Text(fixed) => Some(vec![text(fixed)]),
            Place::Option(key) => self.option(&target.arguments, key),
        }
    }

    fn folded(&mut self, special: Special, target: &Target<'p>) -> Option<Vec<Value<'p>>> {
        let first =
            |values: &mut Self| values.argument(&target.arguments, 0).map_or(String::new(), |values| one(&values));
        Some(match special {
            Special::Environment => vec![Value::Outside("process.env".into())],
            Special::Require => vec![Value::Outside("require".into())],
            Special::Variable => self.each_text(target, |name| match name {
                "HOME" => "~".to_owned(),
                _ => UNKNOWN_SPAN.to_string(),
            }),
            Special::Module => {
                let module = first(self);
                if !self.table.is_own(&module) {
                    return None;
                }
                vec![self.outside(&self.table.module(&module))]
            }
            Special::Text => {
                let name = match &target.callee {
                    Value::Outside(name) => name.clone(),
                    _ => return None,
                };
                let Entry::Row(row) = self.table.find(&name) else { return None };
                row.target.as_ref().and_then(|place| self.place(place, target))?
            }
            // a reviver may change the values
            Special::Data if target.arguments.len() != 1 => return None,
            Special::Data => {
                let texts = self.argument(&target.arguments, 0).unwrap_or_else(|| vec![Value::Unknown]);
                let path = |value: &Value<'p>| match value {
                    Value::Object(kind, path) if &**kind == CONTENT => Some(path.clone()),
                    _ => None,
                };
                let paths: Vec<_> = texts.iter().map(path).collect();
                self.data(paths.iter().map(Option::as_deref))
            }
            Special::Identity => self.argument(&target.arguments, 0)?,
            Special::Join | Special::Resolve => self.paths(special == Special::Resolve, target),
            Special::Dirname => self.each_text(target, |path| {
                path.trim_end_matches('/').rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned()
            }),
            Special::Basename => self
                .each_text(target, |path| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()),
            Special::UrlPath => self.each_text(target, |url| url.strip_prefix("file://").unwrap_or(url).to_owned()),
            // a new name that begins like this
            Special::Temporary => self.each_text(target, |begin| format!("{begin}{UNKNOWN_SPAN}")),
            Special::Characters => {
                let (codes, more) = self.each(&target.arguments);
                let unknown = more.then_some(UNKNOWN_SPAN);
                let decode = |values: &Vec<Value<'p>>| one(values).parse().ok().and_then(char::from_u32);
                let made = codes.iter().map(|values| decode(values).unwrap_or(UNKNOWN_SPAN)).chain(unknown);
                vec![text(&made.collect::<String>())]
            }
            Special::Decode => vec![decoded(&first(self), "base64")],
            Special::Buffer => {
                let encoding = self.argument(&target.arguments, 1).map_or("utf8".to_owned(), |values| one(&values));
                vec![decoded(&first(self), &encoding)]
            }
            _ => return None,
        })
    }

    /// The first argument, changed; each of its values.
    fn each_text(&mut self, target: &Target<'p>, change: impl Fn(&str) -> String) -> Vec<Value<'p>> {
        let values = self.argument(&target.arguments, 0).unwrap_or_else(|| vec![Value::Unknown]);
        values.iter().map(|value| text(&change(&value.show()))).collect()
    }

    /// The paths that arguments make: each combination of their values.
    fn paths(&mut self, absolute: bool, target: &Target<'p>) -> Vec<Value<'p>> {
        let (parts, more) = self.each(&target.arguments);
        let mut paths = vec![String::new()];
        for values in parts.into_iter().chain(more.then(|| vec![Value::Unknown])) {
            let shown: Vec<String> = values.iter().map(Value::show).collect();
            paths = paths.iter().flat_map(|path| shown.iter().map(|part| longer(path, part, absolute))).collect();
            paths.sort();
            paths.dedup();
            if paths.len() > MAX_PATHS {
                return vec![Value::Text(UNKNOWN_SPAN.to_string().into())];
            }
        }
        paths.iter().map(|path| text(&unknown_below(&tidy_relative(path)))).collect()
    }

    fn method_of_text(&mut self, receiver: &str, method: &str, target: &Target<'p>) -> Vec<Value<'p>> {
        let argument = |values: &mut Self, at| values.argument(&target.arguments, at).map(|values| one(&values));
        vec![match method {
            "toString" | "valueOf" | "normalize" if argument(self, 0).is_none_or(|kind| kind.starts_with("utf")) => {
                text(receiver)
            }
            "trim" => text(receiver.trim()),
            "trimStart" => text(receiver.trim_start()),
            "slice" | "substring" => {
                let bound = |given: Option<String>| given.map(|bound| bound.parse::<i64>().ok());
                let (from, to) = (bound(argument(self, 0)), bound(argument(self, 1)));
                part(receiver, from.unwrap_or(Some(0)), to, method == "slice")
            }
            "trimEnd" => text(receiver.trim_end()),
            "toLowerCase" => text(&receiver.to_lowercase()),
            "toUpperCase" => text(&receiver.to_uppercase()),
            "concat" => {
                let mut made = receiver.to_owned();
                for at in 0..target.arguments.len() {
                    made.push_str(&argument(self, at).unwrap_or_default());
                }
                text(&made)
            }
            "replace" | "replaceAll" => match (argument(self, 0), argument(self, 1)) {
                (Some(from), Some(to)) if ![&from, &to, receiver].iter().any(|text| text.contains(UNKNOWN_SPAN)) => {
                    let times = if method == "replace" { 1 } else { usize::MAX };
                    if to.contains('$') { Value::Unknown } else { text(&receiver.replacen(from.as_str(), &to, times)) }
                }
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }]
    }
}

/// The only value as a text; [`UNKNOWN_SPAN`] if there are several or none.
pub fn one(values: &[Value<'_>]) -> String {
    match values {
        [value] => value.show(),
        _ => UNKNOWN_SPAN.to_string(),
    }
}

fn text<'p>(made: &str) -> Value<'p> {
    if made.len() > MAX_TEXT { Value::Unknown } else { Value::Text(made.into()) }
}

/// A part of a text. A bound that is given and not constant is `None`.
fn part<'p>(whole: &str, from: Option<i64>, to: Option<Option<i64>>, from_end: bool) -> Value<'p> {
    let (Some(from), false) = (from, to == Some(None) || whole.contains(UNKNOWN_SPAN)) else { return Value::Unknown };
    let units: Vec<u16> = whole.encode_utf16().collect();
    let length = i64::try_from(units.len()).unwrap_or(i64::MAX);
    let place = |bound: i64| if bound < 0 && from_end { (length + bound).max(0) } else { bound.clamp(0, length) };
    let (mut from, mut to) = (place(from), place(to.flatten().unwrap_or(length)));
    if from > to {
        (from, to) = if from_end { (to, to) } else { (to, from) };
    }
    let range = usize::try_from(from).unwrap_or_default()..usize::try_from(to).unwrap_or_default();
    units.get(range).and_then(|units| String::from_utf16(units).ok()).map_or(Value::Unknown, |made| text(&made))
}

/// A path in which unknown parts that follow each other are one: it may have any depth.
fn unknown_below(path: &str) -> String {
    let doubled = format!("{UNKNOWN_SPAN}/{UNKNOWN_SPAN}");
    let mut path = path.to_owned();
    while path.contains(&doubled) {
        path = path.replace(&doubled, &UNKNOWN_SPAN.to_string());
    }
    path
}

/// A path and one more part of it.
fn longer(path: &str, part: &str, absolute: bool) -> String {
    match part {
        part if absolute && part.starts_with(['/', '~']) || path.is_empty() => part.to_owned(),
        part => format!("{path}/{part}"),
    }
}

/// A path without `.` and `..`, as far as they follow known parts; a relative one stays relative.
fn tidy_relative(path: &str) -> String {
    if path.starts_with('/') {
        return tidy(path);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != ".." && !last.contains(UNKNOWN_SPAN)) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// The text that another one encodes.
fn decoded<'p>(encoded: &str, encoding: &str) -> Value<'p> {
    if encoded.contains(UNKNOWN_SPAN) {
        return Value::Unknown;
    }
    let bytes = match encoding.to_ascii_lowercase().as_str() {
        "utf8" | "utf-8" | "ascii" => Some(encoded.as_bytes().to_vec()),
        "base64" | "base64url" => {
            let plain: String = encoded
                .chars()
                .filter(|c| !c.is_whitespace() && *c != '=')
                .map(|c| match c {
                    '-' => '+',
                    '_' => '/',
                    c => c,
                })
                .collect();
            base64::engine::general_purpose::STANDARD_NO_PAD.decode(plain).ok()
        }
        "hex" => (0..encoded.len() / 2)
            .map(|at| encoded.get(2 * at..2 * at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
            .collect(),
        _ => None,
    };
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Value::Unknown, |made| text(&made))
}
