//! Calls: arguments, functions of the program, methods, and names outside the program, which the table covers.

use super::row::{Place, Row, Special};
use super::special::Invocation;
use super::statements::{field, named};
use super::table::Entry;
use super::values::{self, Class, FIELDS, Function, UNKNOWN_SPAN, Value, either, list};
use super::{Frame, Reader, Source};
use crate::tree::Node;
use crate::{Attribute, Cause, Detail};
use foldhash::{HashMap, HashSet};
use std::rc::Rc;

/// Deepest nesting of calls between functions of the program.
const MAX_CALL_DEPTH: usize = 20;

/// The arguments of a call.
#[derive(Clone)]
pub(super) struct Args {
    pub pos: Vec<Value>,
    pub kw: Vec<(String, Value)>,
    /// Whether unknown arguments may follow: `*args` or `**kwargs` with unknown content.
    pub open: bool,
}

impl Args {
    pub fn at(&self, i: usize) -> Value {
        self.pos.get(i).cloned().unwrap_or(if self.open { Value::Hole } else { Value::None })
    }

    pub fn keyword(&self, name: &str) -> Option<Value> {
        self.kw.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone())
    }

    pub fn get(&self, i: usize, name: &str) -> Option<Value> {
        self.pos.get(i).cloned().or_else(|| self.keyword(name)).or(if self.open { Some(Value::Hole) } else { None })
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.pos.iter().chain(self.kw.iter().map(|(_, v)| v))
    }

    pub fn size(&self) -> f64 {
        self.values().map(Value::size).sum()
    }

    pub fn skip(&self, n: usize) -> Args {
        Args { pos: self.pos.iter().skip(n).cloned().collect(), kw: self.kw.clone(), open: self.open }
    }
}

impl Reader<'_> {
    pub(super) fn call(&mut self, src: &Rc<Source>, node: Node<'_>) -> Value {
        let Some(function) = field(node, "function") else { return Value::Hole };
        let callee = self.expr(src, function);
        let args = self.arguments(src, field(node, "arguments"));
        // a method may change its receiver
        if let (Value::Bound(receiver, name), Some(object)) = (&callee, field(function, "object"))
            && let Some(old) = receiver.items.first()
            && let Some(new) = self.changed(old, name, &args)
        {
            self.assign(src, object, new);
        }
        let shown = if matches!(
            function.kind(),
            "subscript" | "call" | "identifier" | "parenthesized_expression" | "conditional_expression"
        ) {
            "a computed function"
        } else {
            ""
        };
        self.call_value(&callee, args, shown)
    }

    fn arguments(&mut self, src: &Rc<Source>, node: Option<Node<'_>>) -> Args {
        let mut args = Args { pos: vec![], kw: vec![], open: false };
        let Some(node) = node else { return args };
        if node.kind() == "generator_expression" {
            return vec![self.expr(src, node)].into();
        }
        for arg in named(node) {
            match arg.kind() {
                "keyword_argument" => {
                    let value = field(arg, "value").map_or(Value::Hole, |v| self.expr(src, v));
                    if let Some(name) = field(arg, "name") {
                        args.kw.push((src.of(name).to_string(), value))
                    }
                }
                "list_splat" => match self.expr(src, arg).elements() {
                    Some(more) => args.pos.extend(more),
                    None => args.open = true,
                },
                "dictionary_splat" => {
                    let before = std::mem::replace(&mut self.arguments.spread, src.of(arg).starts_with("**vars("));
                    let spread = self.expr(src, arg);
                    self.arguments.spread = before;
                    match spread {
                        Value::Dict(d) => args
                            .kw
                            .extend(d.items.chunks(2).filter_map(|p| Some((p.first()?.show(), p.get(1)?.clone())))),
                        _ => args.open = true,
                    }
                }
                _ => {
                    let value = self.expr(src, arg);
                    args.pos.push(value)
                }
            }
        }
        args
    }

    /// Calls a value. `shown` is the text to report if nothing is known about the value.
    pub(super) fn call_value(&mut self, callee: &Value, args: Args, shown: &str) -> Value {
        self.depth += 1;
        let value = if self.step(1) { self.call_inner(callee, args, shown) } else { Value::Hole };
        self.depth -= 1;
        value
    }

    fn call_inner(&mut self, callee: &Value, args: Args, shown: &str) -> Value {
        match callee {
            Value::Any(choices) => choices
                .items
                .iter()
                .map(|c| self.call_value(c, args.clone(), shown))
                .reduce(either)
                .unwrap_or(Value::Hole),
            Value::Name(name) => self.call_name(name, args),
            Value::Function(f) => self.call_function(f, args),
            Value::Class(class) => self.instantiate(class, args),
            Value::Partial(p) => {
                let mut pos = p.items.clone();
                if pos.is_empty() {
                    return Value::Hole;
                }
                let function = pos.remove(0);
                pos.extend(args.pos);
                self.call_value(&function, Args { pos, ..args }, shown)
            }
            Value::Bound(receiver, name) => match receiver.items.first().cloned() {
                Some(receiver) => self.method(&receiver, name, args),
                None => Value::Hole,
            },
            Value::Instance(class, _) if class.members.contains_key("__call__") => {
                self.method(callee, "__call__", args)
            }
            Value::Hole if !shown.is_empty() => {
                self.escape(&args, shown);
                self.unknown(shown);
                Value::Hole
            }
            Value::Local => {
                self.escape(&args, shown);
                Value::Local
            }
            _ => Value::Hole,
        }
    }

    // --- functions and classes of the program

    pub(super) fn call_function(&mut self, function: &Rc<Function>, args: Args) -> Value {
        self.within(function.module, |reader| reader.call_here(function, args))
    }

    fn call_here(&mut self, function: &Rc<Function>, args: Args) -> Value {
        let id = (function.source, function.start);
        self.called.insert(id);
        let active = self.frames.iter().filter(|f| f.function == id).count();
        if let Some(frame) = self.frames.iter().find(|f| f.function == id)
            && active > 1
        {
            if self.forks > frame.forks {
                self.exhaust("process")
            }
            return Value::Hole;
        }
        if self.frames.len() >= MAX_CALL_DEPTH {
            self.problems.add(Cause::Budget, "calls nested too deeply");
            return Value::Hole;
        }
        let Some(src) = self.sources.get(function.source).cloned() else { return Value::Hole };
        let found = src.tree.root_node().named_descendant_for_byte_range(function.start, function.end);
        let Some(node) = found.filter(|n| matches!(n.kind(), "function_definition" | "lambda")) else {
            self.problems.add(Cause::Budget, "a function is not found");
            return Value::Hole;
        };
        let bound = self.bind(&src, node, args);
        let parameters: Vec<String> = if self.rounds.is_empty() { Vec::new() } else { bound.keys().cloned().collect() };
        let base = self.scopes.len();
        self.scopes.push(function.captured.clone());
        self.scopes.push(bound);
        let compared = std::mem::take(&mut self.compared);
        self.frames.push(Frame {
            function: id,
            base,
            globals: HashSet::default(),
            nonlocals: HashSet::default(),
            returned: None,
            yielded: None,
            forks: self.forks,
        });
        let result = self.apart(&parameters, |reader| match field(node, "body") {
            Some(body) if node.kind() == "lambda" => reader.expr(&src, body),
            Some(body) => {
                reader.block(&src, body);
                Value::None
            }
            None => Value::None,
        });
        let frame = self.frames.pop();
        self.compared = compared;
        self.scopes.truncate(base);
        match frame {
            Some(Frame { yielded: Some(v), .. }) => values::many(v),
            Some(Frame { returned: Some(v), .. }) => v,
            _ => result,
        }
    }

    fn bind(&mut self, src: &Rc<Source>, node: Node<'_>, args: Args) -> HashMap<String, Value> {
        let (mut bound, mut at) = (HashMap::default(), 0);
        let mut named_only = vec![];
        for parameter in field(node, "parameters").map(named).unwrap_or_default() {
            let inner = if parameter.kind() == "typed_parameter" {
                named(parameter).first().copied().unwrap_or(parameter)
            } else {
                parameter
            };
            let name = src.of(field(parameter, "name").unwrap_or(inner)).trim_start_matches('*').to_string();
            let value = match inner.kind() {
                "list_splat_pattern" => {
                    let rest = args.pos.get(at..).unwrap_or_default().to_vec();
                    at = usize::MAX;
                    if args.open { values::many(rest.into_iter().fold(Value::Hole, either)) } else { list(rest) }
                }
                "dictionary_splat_pattern" => {
                    let rest = args
                        .kw
                        .iter()
                        .filter(|(k, _)| !named_only.contains(k))
                        .flat_map(|(k, v)| [values::text(k), v.clone()]);
                    if args.open { Value::Hole } else { values::dict(rest.collect()) }
                }
                "keyword_separator" | "positional_separator" => continue,
                _ => {
                    let given = args.pos.get(at).cloned().or_else(|| args.keyword(&name));
                    at = at.saturating_add(1);
                    named_only.push(name.clone());
                    match (given, field(parameter, "value")) {
                        (Some(v), _) => v,
                        (None, Some(default)) => {
                            let v = self.expr(src, default);
                            if args.open { either(v, Value::Hole) } else { v }
                        }
                        (None, None) => Value::Hole,
                    }
                }
            };
            bound.insert(name, value);
        }
        bound
    }

    /// Interprets a function whose arguments are unknown.
    pub(super) fn call_unknown(&mut self, function: &Rc<Function>, class: Option<Rc<Class>>) {
        let mut pos = vec![];
        let is_static = self.sources.get(function.source).cloned().is_some_and(|src| {
            src.tree
                .root_node()
                .named_descendant_for_byte_range(function.start, function.end)
                .and_then(|n| n.parent())
                .is_some_and(|p| p.kind() == "decorated_definition" && src.of(p).starts_with("@staticmethod"))
        });
        if let Some(class) = class
            && !is_static
        {
            pos.push(Value::Instance(class, 0.0))
        }
        pos.extend(std::iter::repeat_n(Value::Local, 16));
        self.call_function(function, pos.into());
    }

    fn instantiate(&mut self, class: &Rc<Class>, args: Args) -> Value {
        let instance = Value::Instance(class.clone(), args.size());
        self.modules.made.insert(Rc::as_ptr(class));
        if let Some(init) = class.members.get("__init__").cloned() {
            let mut pos = vec![instance.clone()];
            pos.extend(args.pos);
            self.call_value(&init, Args { pos, ..args }, "__init__");
        } else {
            // a dataclass or named tuple
            for (name, value) in &args.kw {
                self.set_member(&class.name, name, value.clone())
            }
            let names = class.members.get(FIELDS).and_then(Value::elements).unwrap_or_default();
            for (name, value) in names.iter().zip(&args.pos) {
                self.set_member(&class.name, &name.show(), value.clone())
            }
            self.escape(&args, &class.name);
            if let Some(after) = class.members.get("__post_init__").cloned() {
                self.call_value(&after, vec![instance.clone()].into(), "__post_init__");
            }
        }
        instance
    }

    fn method(&mut self, receiver: &Value, name: &str, args: Args) -> Value {
        match receiver {
            Value::Any(choices) => {
                choices.items.iter().map(|c| self.method(c, name, args.clone())).reduce(either).unwrap_or(Value::Hole)
            }
            Value::Instance(class, _) | Value::Class(class) => match (class.members.get(name), &class.base) {
                (Some(member), _) => {
                    let (member, mut pos) = (member.clone(), vec![receiver.clone()]);
                    let is_static = matches!(&member, Value::Function(f) if self.is_static(f));
                    if is_static {
                        pos.clear()
                    }
                    pos.extend(args.pos);
                    self.call_value(&member, Args { pos, ..args }, name)
                }
                (None, Some(base)) if !base.is_empty() => {
                    let full = format!("{base}.{name}");
                    match self.find(&full) {
                        Entry::Row(row) => self.apply(row, &full, Some(receiver), args),
                        _ => {
                            self.escape(&args, name);
                            Value::Hole
                        }
                    }
                }
                _ => self.telling(receiver, name, args),
            },
            Value::Path(_) => self.method_of("pathlib.Path", receiver, name, args),
            Value::Object(kind, _) => self.method_of(&kind.clone(), receiver, name, args),
            Value::Text(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Dict(_)
            | Value::Many(_)
            | Value::Large(_)
            | Value::Int(_) => self.builtin_method(receiver, name, args),
            _ => self.telling(receiver, name, args),
        }
    }

    fn is_static(&self, f: &Function) -> bool {
        let Some(src) = self.sources.get(f.source) else { return false };
        let node = src.tree.root_node().named_descendant_for_byte_range(f.start, f.end);
        node.and_then(|n| n.parent())
            .is_some_and(|p| p.kind() == "decorated_definition" && src.of(p).starts_with("@staticmethod"))
    }

    fn method_of(&mut self, kind: &str, receiver: &Value, name: &str, args: Args) -> Value {
        let full = format!("{kind}.{name}");
        match self.find(&full) {
            Entry::Row(row) => self.apply(row, &full, Some(receiver), args),
            _ => self.plain_method(kind, receiver, name, args),
        }
    }

    /// Calls a method of an unknown value. It has an effect only if the table has a row for the method's name.
    pub(super) fn telling(&mut self, receiver: &Value, name: &str, args: Args) -> Value {
        let known = match self.find(&format!("?.{name}")) {
            Entry::Row(row) => self.apply(row, &format!(".{name}"), Some(&Value::Hole), args),
            _ => {
                self.escape(&args, name);
                Value::Hole
            }
        };
        if matches!(receiver, Value::Local) { Value::Local } else { known }
    }

    // --- names outside the program

    fn call_name(&mut self, name: &str, args: Args) -> Value {
        let name = self.table.canonical(name);
        if name.contains(UNKNOWN_SPAN) {
            self.unknown(&name);
            return Value::Hole;
        }
        let data = matches!(self.find(&name), Entry::Row(row) if row.special.is_some_and(Special::of_data_agent));
        if !data {
            self.given_rows(&name, &args);
        }
        if let Some(value) = self.builtin(&name, &args) {
            // a callback in a keyword argument is called for each item
            let acting = |v: &&Value| matches!(v, Value::Name(n) if acts(self.find(n)));
            let callbacks: Vec<Value> = args.kw.iter().map(|(_, v)| v).filter(acting).cloned().collect();
            for callback in callbacks {
                self.call_value(&callback, Args::unknown(), "");
            }
            return value;
        }
        if let Some(settings) = self.settings(&name, &args) {
            return settings;
        }
        match self.find(&name) {
            Entry::Row(row) => self.apply(row, &name, None, args),
            Entry::Harmless => {
                self.escape(&args, &name);
                let last = name.rsplit('.').next().unwrap_or_default();
                if self.table.is_module(&name) && !last.starts_with(char::is_uppercase)
                    || !name.contains('.')
                    || name.starts_with("os.")
                    || name.starts_with("psutil.")
                {
                    Value::Hole
                } else {
                    Value::Local
                }
            }
            Entry::Missing => {
                // `str.join(...)`, `Path.unlink(p)`: a method called through its class
                if let (Some((class, method)), Some(receiver)) = (name.rsplit_once('.'), args.pos.first().cloned())
                    && (self.table.builtins.contains(class) || class == "pathlib.Path")
                {
                    return self.method(&receiver, method, args.skip(1));
                }
                self.escape(&args, &name);
                self.library(&name);
                Value::Hole
            }
        }
    }

    fn place(&self, place: &Place, keyword: Option<&str>, args: &Args, receiver: Option<&Value>) -> Option<Value> {
        match place {
            Place::At(i) => args.get(*i, keyword.unwrap_or_default()),
            Place::Receiver => Some(match receiver {
                Some(Value::Object(_, target)) => (**target).clone(),
                Some(other) => other.clone(),
                None => Value::Hole,
            }),
            Place::Text(fixed) => Some(values::text(fixed)),
            Place::Keyword(name) => args.keyword(name),
        }
    }

    /// Reports the effects of a row of the table and returns the result of the call.
    pub(super) fn apply(&mut self, row: &Row, via: &str, receiver: Option<&Value>, args: Args) -> Value {
        if let Some(special) = row.special
            && let Some(value) = self.special(special, &Invocation { row, via, receiver, args: &args })
        {
            return value;
        }
        let given = row.target.as_ref().and_then(|t| self.place(t, row.keyword.as_deref(), &args, receiver));
        let target = match (given, &row.default) {
            (Some(Value::None) | None, Some(default)) => values::text(default),
            (Some(v), _) => v,
            (None, None) => {
                if row.optional {
                    Value::None
                } else {
                    Value::Hole
                }
            }
        };
        if !(row.role.is_empty() || row.optional && matches!(target, Value::None)) {
            let detail = row
                .detail
                .as_ref()
                .and_then(|d| self.place(d, None, &args, receiver))
                .map_or(Detail::None, |v| detail(&row.role, &v, &args));
            self.emit(&row.role, &target, row.recursive, detail, via);
            for part in &row.also {
                match self.place(&part.target, part.keyword.as_deref(), &args, receiver) {
                    Some(other) => self.emit(&part.role, &other, row.recursive, Detail::None, via),
                    None if !part.optional => self.emit(&part.role, &Value::Hole, row.recursive, Detail::None, via),
                    None => {}
                }
            }
        }
        self.escape(&args, via);
        self.returns(row, target)
    }

    pub(super) fn returns(&mut self, row: &Row, target: Value) -> Value {
        match row.returns.as_deref() {
            None => Value::Hole,
            Some("local") => Value::Local,
            Some(kind) => values::object(kind, target),
        }
    }
}

pub(super) fn acts(entry: Entry<'_>) -> bool {
    matches!(entry, Entry::Row(_))
}

/// The detail of an effect: mode in octal, owner as `uid:gid`, signal by name or number.
fn detail(role: &str, value: &Value, args: &Args) -> Detail {
    let attribute = match (role, value.int()) {
        ("chown", _) => {
            let shown = |v: Value| if matches!(v, Value::None) { String::new() } else { v.show() };
            Attribute::Owner(format!(
                "{}:{}",
                shown(args.get(1, "user").unwrap_or(Value::None)),
                shown(args.get(2, "group").unwrap_or(Value::None))
            ))
        }
        ("kill", _) => Attribute::Signal(value.show()),
        (_, Some(mode)) if role == "chmod" => Attribute::Mode(format!("{mode:o}")),
        _ => Attribute::Mode(value.show()),
    };
    Detail::Attributes(vec![attribute])
}
