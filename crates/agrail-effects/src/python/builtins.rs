//! Functions and methods that only compute: they have no effect, but their results must be known.

use super::Reader;
use super::calls::Args;
use super::members::environment;
use super::strings::format_value;
use super::values::{self, UNKNOWN_SPAN, Value, bytes_of, either, lift, list, many, text};
use std::rc::Rc;

impl Reader {
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
        Some(match name {
            "str"
            | "unicode"
            | "os.fspath"
            | "os.fsdecode"
            | "repr"
            | "os.fsencode"
            | "shlex.quote"
            | "pathlib.PurePath.as_posix" => match &first {
                Value::None if args.pos.is_empty() => text(""),
                Value::Large(_) => first,
                _ if name == "shlex.quote" => text(super::calls::quote(&first.show())),
                _ => text(first.show()),
            },
            "int" => match (first.int(), args.at(1).int()) {
                (_, Some(radix)) => i128::from_str_radix(
                    first.show().trim_start_matches("0x").trim_start_matches("0o"),
                    u32::try_from(radix).ok().filter(|r| (2..=36).contains(r))?,
                )
                .map_or(Value::Hole, Value::Int),
                (Some(n), _) => Value::Int(n),
                _ => first.show().trim().parse().map_or(Value::Hole, Value::Int),
            },
            "float" => first.int().map_or(Value::Hole, |n| Value::Float(n as f64)),
            "bool" => first.truth().map_or(Value::Hole, Value::Bool),
            "len" => match &first {
                Value::Text(t) if !t.contains(UNKNOWN_SPAN) => Value::Int(t.chars().count() as i128),
                v => v.elements().map_or(Value::Hole, |e| Value::Int(e.len() as i128)),
            },
            "chr" => values::chr(&first),
            "ord" => match &first {
                Value::Text(t) if !t.contains(UNKNOWN_SPAN) => {
                    t.chars().next().map_or(Value::Hole, |c| Value::Int(i128::from(u32::from(c))))
                }
                _ => Value::Hole,
            },
            "hex" => first.int().map_or_else(values::hole_text, |n| text(format!("{n:#x}"))),
            "format" => text(format_value(&first, &args.at(1).show())),
            "abs" | "round" => first,
            "list" | "tuple" | "set" | "sorted" | "frozenset" | "reversed" | "collections.deque" | "iter" => {
                if let Value::Object(kind, _) = &first {
                    if &**kind == "endless" && name != "iter" {
                        self.exhaust("memory")
                    }
                    if name == "iter" {
                        return Some(first);
                    }
                }
                if name == "iter" && args.pos.len() == 2 {
                    return Some(values::object("endless", Value::None));
                }
                let (items, element, count) = self.iterate(&first);
                match items {
                    Some(mut items) => {
                        if name == "reversed" {
                            items.reverse()
                        }
                        if name == "sorted" {
                            items.sort_by_key(Value::show)
                        }
                        list(items)
                    }
                    None if args.pos.is_empty() => list(vec![]),
                    None if count > 1e6 => Value::Large(count * 8.0),
                    None => {
                        if matches!(first, Value::Large(_)) {
                            first
                        } else {
                            many(element)
                        }
                    }
                }
            }
            "dict" | "collections.OrderedDict" | "collections.defaultdict" => match &first {
                Value::Dict(_) => first,
                v => match v.elements() {
                    Some(pairs) => values::dict(pairs.iter().flat_map(|p| p.elements().unwrap_or_default()).collect()),
                    None => values::dict(args.kw.iter().flat_map(|(k, v)| [text(k), v.clone()]).collect()),
                },
            },
            "range" | "xrange" => {
                let (a, b, c) = (first, args.at(1), args.at(2));
                let parts = match args.pos.len() {
                    1 => vec![Value::Int(0), a, Value::Int(1)],
                    2 => vec![a, b, Value::Int(1)],
                    _ => vec![a, b, c],
                };
                values::object("range", list(parts))
            }
            "itertools.count" | "itertools.cycle" => values::object("endless", Value::None),
            "itertools.repeat" if args.pos.len() == 1 => values::object("endless", Value::None),
            "enumerate" => match first.elements() {
                Some(items) => {
                    list(items.into_iter().enumerate().map(|(i, v)| list(vec![Value::Int(i as i128), v])).collect())
                }
                None => many(list(vec![Value::Hole, self.iterate(&first).1])),
            },
            "zip" | "itertools.product" | "itertools.zip_longest" => {
                let all: Option<Vec<Vec<Value>>> = args.pos.iter().map(Value::elements).collect();
                match all {
                    Some(all) if name == "zip" => {
                        let n = all.iter().map(Vec::len).min().unwrap_or(0);
                        list((0..n).map(|i| list(all.iter().filter_map(|l| l.get(i).cloned()).collect())).collect())
                    }
                    _ => many(list(args.pos.iter().map(Value::element).collect())),
                }
            }
            "itertools.chain" => {
                args.pos.iter().cloned().reduce(|a, b| values::binary("+", &a, &b)).unwrap_or(Value::Hole)
            }
            "map" | "filter" if args.pos.len() == 2 => {
                let (items, element, _) = self.iterate(&args.at(1));
                let function = first;
                let call = |reader: &mut Self, v: Value| {
                    let out = if matches!(function, Value::None) {
                        Value::Hole
                    } else {
                        reader.call_value(&function, vec![v.clone()].into(), "a computed function")
                    };
                    if name == "map" { out } else { v }
                };
                match items {
                    Some(items) => list(items.into_iter().take(512).map(|v| call(self, v)).collect()),
                    None => many(call(self, element)),
                }
            }
            "next" => match self.iterate(&first) {
                (Some(items), ..) => items.first().cloned().unwrap_or(Value::Hole),
                (_, element, _) => element,
            },
            "max" | "min" | "random.choice" | "random.sample" | "random.choices" | "secrets.choice" => {
                if args.pos.len() == 1 || name.contains('.') { first.element() } else { Value::Hole }
            }
            "sum" => match first.elements() {
                Some(items) => items
                    .into_iter()
                    .reduce(|a, b| lift(&a, &b, |a, b| values::binary("+", a, b)))
                    .unwrap_or(Value::Int(0)),
                None => Value::Hole,
            },
            "bytes" | "bytearray" => match (&first, bytes_of(&first)) {
                (Value::Int(n), _) => Value::Large(*n as f64),
                (_, Some(b)) => Value::Bytes(b.into()),
                (Value::None, _) => Value::Bytes(Rc::from([])),
                _ => Value::Hole,
            },
            "bytes.fromhex" | "bytearray.fromhex" | "binascii.unhexlify" | "binascii.a2b_hex" => unhex(&first.show()),
            "base64.b64decode"
            | "base64.standard_b64decode"
            | "base64.urlsafe_b64decode"
            | "binascii.a2b_base64"
            | "base64.decodebytes" => base64(&first),
            "base64.b32decode" => bits(&first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5),
            "base64.b16decode" => unhex(&first.show()),
            "codecs.decode" | "codecs.encode" => recode(&first, &args.get(1, "encoding").unwrap_or(Value::None).show()),
            "getattr" => {
                let name = args.at(1);
                if name.show().contains(UNKNOWN_SPAN) {
                    return Some(if let Value::Name(n) = &first {
                        Value::Name(format!("{n}.{UNKNOWN_SPAN}").into())
                    } else {
                        Value::Hole
                    });
                }
                let found = self.attribute(&first, &name.show());
                if args.pos.len() > 2 && !matches!(first, Value::Name(_)) { either(found, args.at(2)) } else { found }
            }
            "vars" => first,
            "globals" | "locals" => Value::Name("globals()".into()),
            "super" => match self.lookup("self") {
                Some(Value::Instance(class, _)) => {
                    class.base.clone().map_or(Value::Local, |b| values::object(&b, Value::Hole))
                }
                _ => Value::Local,
            },
            "input" | "raw_input" => Value::Hole,
            "type" => Value::Local,
            "os.path.join" => args
                .pos
                .iter()
                .cloned()
                .reduce(|a, b| lift(&a, &b, |a, b| text(values::join(&a.show(), &b.show()))))
                .unwrap_or(Value::Hole),
            "os.path.expanduser" | "os.path.abspath" | "os.path.normpath" | "os.path.realpath" | "os.path.normcase" => {
                text(first.show())
            }
            "os.path.expandvars" => {
                let t = first.show().replace("${HOME}", "~").replace("$HOME", "~");
                text(if t.contains('$') { UNKNOWN_SPAN.to_string() } else { t })
            }
            "os.path.dirname" | "os.path.basename" | "os.path.splitext" => {
                let path = first.show();
                let path = path.as_str();
                let (dir, base) =
                    path.rsplit_once('/').map_or(("", path), |(d, b)| (if d.is_empty() { "/" } else { d }, b));
                let open = base.contains(UNKNOWN_SPAN) || base.is_empty();
                match name {
                    "os.path.dirname" => {
                        if path == UNKNOWN_SPAN.to_string() {
                            values::hole_text()
                        } else {
                            text(dir)
                        }
                    }
                    "os.path.basename" => {
                        if open {
                            values::hole_text()
                        } else {
                            text(base)
                        }
                    }
                    _ => match path.rfind('.').filter(|_| !open) {
                        Some(at) => list(vec![text(path.get(..at)?), text(path.get(at..)?)]),
                        None => list(vec![text(path), values::hole_text()]),
                    },
                }
            }
            "os.getenv" | "os.environ.get" => {
                let value = environment(&first);
                if args.pos.len() > 1 { either(args.at(1), value) } else { value }
            }
            "os.getcwd" | "os.getcwdb" => text(self.cwd.clone().unwrap_or_else(|| ".".into())),
            "pathlib.Path.cwd" => Value::Path(self.cwd.clone().unwrap_or_else(|| ".".into()).into()),
            "pathlib.Path.home" => Value::Path("~".into()),
            "pathlib.Path" | "pathlib.PurePath" | "pathlib.PurePosixPath" | "path.Path" => {
                let joined = args.pos.iter().map(Value::show).reduce(|a, b| values::join(&a, &b));
                Value::Path(
                    joined.unwrap_or_else(|| if args.open { UNKNOWN_SPAN.to_string() } else { ".".into() }).into(),
                )
            }
            "tempfile.gettempdir" => text("/tmp"),
            "getpass.getuser" | "os.getlogin" => values::hole_text(),
            "os.getpid" => values::object("own process", Value::None),
            "shlex.split" => {
                if first.is_text() && !first.show().contains(['\'', '"', '\\']) {
                    list(first.show().split_whitespace().map(text).collect())
                } else {
                    many(Value::Hole)
                }
            }
            "shlex.join" | "subprocess.list2cmdline" => text(super::special::command_line(&first)),
            "functools.partial" | "functools.partialmethod" => values::partial(args.pos.clone()),
            "functools.reduce" => {
                let items = args.at(1).elements()?;
                let start = args.pos.get(2).cloned();
                start
                    .into_iter()
                    .chain(items)
                    .reduce(|a, b| self.call_value(&first, vec![a, b].into(), ""))
                    .unwrap_or(Value::Hole)
            }
            "asyncio.run"
            | "asyncio.gather"
            | "typing.cast"
            | "copy.copy"
            | "copy.deepcopy"
            | "asyncio.create_task"
            | "tqdm.tqdm"
            | "contextlib.closing"
            | "functools.wraps" => args.pos.last().cloned().unwrap_or(Value::Hole),
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

    /// Computes methods of texts, bytes, lists and dictionaries.
    pub(super) fn builtin_method(&mut self, receiver: &Value, name: &str, args: Args) -> Value {
        let a = args.at(0);
        if name == "format" {
            self.given_rows(name, &args);
        }
        match (receiver, name) {
            (Value::Text(_), "join") => {
                let (items, element, _) = self.iterate(&a);
                match items {
                    Some(items) => {
                        self.step(items.len() / 8);
                        text(items.iter().map(Value::show).collect::<Vec<_>>().join(&receiver.show()))
                    }
                    None => {
                        if let Value::Many(_) = a {
                            text(element.show() + &UNKNOWN_SPAN.to_string())
                        } else {
                            values::hole_text()
                        }
                    }
                }
            }
            (Value::Bytes(sep), "join") => {
                match a.elements().map(|i| i.iter().map(bytes_of).collect::<Option<Vec<_>>>()) {
                    Some(Some(parts)) => Value::Bytes(parts.join(&**sep).into()),
                    _ => Value::Hole,
                }
            }
            (Value::Text(t), "format") => text(format_template(t, &args)),
            (Value::Text(t), "encode") => match a.show().to_lowercase().replace(['-', '_'], "").as_str() {
                "rot13" => recode(receiver, "rot13"),
                _ if t.contains(UNKNOWN_SPAN) => receiver.clone(),
                _ => Value::Bytes(t.as_bytes().into()),
            },
            (Value::Text(_) | Value::Bytes(_), "decode") => {
                recode(receiver, &args.get(0, "encoding").map_or("utf8".into(), |v| v.show()))
            }
            (Value::Bytes(b), "hex") => text(b.iter().map(|b| format!("{b:02x}")).collect::<String>()),
            (Value::Text(t), "split" | "rsplit" | "splitlines" | "partition" | "rpartition") => split(t, name, &args),
            (Value::Text(_) | Value::Bytes(_), _) => {
                let t = receiver.show();
                let changed = string_method(&t, name, &args);
                self.step(t.len() / 64);
                match (changed, receiver) {
                    (Some(t), Value::Bytes(_)) => Value::Bytes(t.into_bytes().into()),
                    (Some(t), _) => text(t),
                    (None, _) => {
                        self.escape(&args, name);
                        if matches!(name, "translate" | "center" | "ljust" | "rjust") {
                            values::hole_text()
                        } else {
                            Value::Hole
                        }
                    }
                }
            }
            (Value::Dict(_), "get" | "pop" | "setdefault") => {
                let found = self.item(receiver, &a);
                if args.pos.len() > 1 && matches!(found, Value::Hole) { args.at(1) } else { found }
            }
            (Value::Dict(d), "items") => list(d.items.chunks(2).map(|p| list(p.to_vec())).collect()),
            (Value::Dict(d), "values") => list(d.items.iter().skip(1).step_by(2).cloned().collect()),
            (Value::Dict(d), "keys") => list(d.items.iter().step_by(2).cloned().collect()),
            (Value::List(_) | Value::Many(_), "pop" | "popleft") => {
                if a.int().is_some() {
                    self.item(receiver, &a)
                } else {
                    self.item(receiver, &Value::Int(-1))
                }
            }
            (Value::List(_) | Value::Dict(_) | Value::Many(_) | Value::Large(_), "copy") => receiver.clone(),
            (Value::List(_) | Value::Dict(_) | Value::Many(_) | Value::Large(_), _) => {
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
            _ => Value::Hole,
        }
    }

    /// The new value of the receiver after a method that changes it in place; `None` if the method changes nothing.
    pub(super) fn changed(&mut self, receiver: &Value, name: &str, args: &Args) -> Option<Value> {
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
                Some(values::object(kind, super::special::address(&host)))
            }
            _ => None,
        }
    }
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

fn recode(v: &Value, codec: &str) -> Value {
    match codec.to_lowercase().replace(['-', '_'], "").as_str() {
        "rot13" => text(
            v.show()
                .chars()
                .map(|c| {
                    let turn = |base: u8| char::from((c as u8 - base + 13) % 26 + base);
                    match c {
                        'a'..='z' => turn(b'a'),
                        'A'..='Z' => turn(b'A'),
                        c => c,
                    }
                })
                .collect::<String>(),
        ),
        "hex" | "hexcodec" => unhex(&v.show()),
        "base64" | "base64codec" => base64(v),
        "unicodeescape" | "utf16" | "utf32" | "utf7" | "zlib" | "bz2" | "rawunicodeescape" | "idna" | "punycode"
        | "cp037" | "cp500" => values::hole_text(),
        _ if v.is_text() => text(v.show()),
        _ => Value::Hole,
    }
}

fn unhex(t: &str) -> Value {
    let digits: Vec<u8> = t
        .chars()
        .filter(|c| !c.is_whitespace())
        .map_while(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
        .collect();
    if t.contains(UNKNOWN_SPAN) || digits.len() % 2 == 1 {
        return Value::Hole;
    }
    Value::Bytes(digits.chunks(2).filter_map(|p| Some(p.first()? * 16 + p.get(1)?)).collect())
}

fn base64(v: &Value) -> Value {
    let standard = text(v.show().replace('-', "+").replace('_', "/"));
    bits(&standard, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6)
}

fn bits(v: &Value, alphabet: &str, width: u32) -> Value {
    let t = v.show();
    if t.contains(UNKNOWN_SPAN) {
        return Value::Hole;
    }
    let (mut out, mut held, mut count) = (vec![], 0u32, 0);
    for c in t.chars().take_while(|c| *c != '=') {
        let Some(digit) = alphabet.chars().position(|a| a == c).and_then(|d| u32::try_from(d).ok()) else { continue };
        held = (held << width | digit) & 0xffff;
        count += width;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(held >> count & 0xff).unwrap_or(0));
        }
    }
    Value::Bytes(out.into())
}
