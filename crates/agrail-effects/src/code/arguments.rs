//! What a call calls, and with what.

use super::expression::{Call, Expression};
use super::links::EACH;
use super::table::Entry;
use super::values::{Value, Values};
use crate::UNKNOWN_SPAN;

/// Options that change what a call does.
const OPTIONS: [&str; 10] = ["recursive", "cwd", "shell", "input", "stdio", "stdin", "env", "args", "cmd", "execPath"];

/// An argument of a call.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'p> {
    One(&'p Expression),
    /// The elements of a list.
    Rest(&'p Expression),
    /// Any element of a list, one in each call.
    Each(&'p Expression),
    Unknown,
}

/// One of the functions that a call may call.
#[derive(Debug, Clone)]
pub struct Target<'p> {
    pub callee: Value<'p>,
    /// The object whose method it is, and the name of the method.
    pub receiver: Option<Value<'p>>,
    pub name: Option<String>,
    /// The expression of that object.
    pub object: Option<&'p Expression>,
    pub arguments: Vec<Argument<'p>>,
    /// The object that `call`, `apply` or `bind` makes `this`.
    pub this: Option<Argument<'p>>,
    /// The call, if all arguments that it gives are the function's.
    pub written: Option<&'p Call>,
    /// The file in which it stands.
    pub unit: usize,
}

impl<'p> Values<'p> {
    /// All functions that a call may call.
    pub fn targets(&mut self, at: usize) -> Vec<Target<'p>> {
        let mut all = Vec::new();
        for target in self.find_targets(at) {
            // `const run = require("./run")`
            if let Value::Unit(unit) = target.callee {
                let callees = self.export(unit, "default");
                all.extend(callees.into_iter().map(|callee| Target { callee, ..target.clone() }));
            } else {
                all.push(target);
            }
        }
        all
    }

    fn find_targets(&mut self, at: usize) -> Vec<Target<'p>> {
        let program = self.program;
        let Some(call) = program.calls.get(at) else { return Vec::new() };
        let arguments: Vec<Argument<'p>> = call
            .arguments
            .iter()
            .map(|argument| match argument {
                Expression::Spread(list) => Argument::Rest(list),
                one => Argument::One(one),
            })
            .collect();
        let Expression::Member(object, key) = &call.callee else {
            let callees = self.of(&call.callee);
            return callees.into_iter().map(|callee| plain(callee, arguments.clone(), call)).collect();
        };
        let mut all = Vec::new();
        for receiver in self.of(object) {
            for key in self.of(key) {
                let name = match &key {
                    Value::Text(key) if !key.contains(UNKNOWN_SPAN) => Some(key.to_string()),
                    _ => None,
                };
                if let Some(target) = self.borrowed(&receiver, name.as_deref(), &arguments, call) {
                    all.push(target);
                    continue;
                }
                all.extend(self.handed_each(object, &receiver, name.as_deref(), &arguments, call));
                let mut callees = self.callees(&receiver, &key);
                // a promise has no members of its own here, and nothing is exported under an unknown name
                let promise = matches!(name.as_deref(), Some("then" | "catch" | "finally"));
                if promise && !matches!(callees.as_slice(), [Value::Function(_)]) {
                    callees = vec![Value::Unknown];
                }
                if callees.is_empty() {
                    callees.push(Value::Unknown);
                }
                all.extend(callees.into_iter().map(|callee| Target {
                    receiver: Some(receiver.clone()),
                    object: Some(object),
                    name: name.clone(),
                    ..plain(callee, arguments.clone(), call)
                }));
            }
        }
        all
    }

    /// Functions outside the program that a method of a list calls with each element.
    fn handed_each(
        &mut self,
        list: &'p Expression,
        receiver: &Value<'p>,
        name: Option<&str>,
        arguments: &[Argument<'p>],
        call: &'p Call,
    ) -> Vec<Target<'p>> {
        let (Value::List(_), Some(Argument::One(callback))) = (receiver, arguments.first()) else { return Vec::new() };
        if !name.is_some_and(|name| EACH.contains(&name)) {
            return Vec::new();
        }
        let outside = self.of(callback).into_iter().filter(|value| matches!(value, Value::Outside(_)));
        let target = |callee| Target { written: None, ..plain(callee, vec![Argument::Each(list)], call) };
        outside.map(target).collect()
    }

    /// A function that `call`, `apply` or `bind` calls.
    fn borrowed(
        &mut self,
        receiver: &Value<'p>,
        name: Option<&str>,
        arguments: &[Argument<'p>],
        call: &'p Call,
    ) -> Option<Target<'p>> {
        let name = name.filter(|name| matches!(*name, "call" | "bind" | "apply"))?;
        match receiver {
            // `Reflect.apply` is a function of its own
            Value::Outside(outside) if !matches!(self.table.find(&format!("{outside}.{name}")), Entry::Missing) => None,
            Value::Function(_) | Value::Outside(_) => {
                if matches!(receiver, Value::Function(_)) {
                    self.loosen();
                }
                let rest = match (name, arguments.get(1)) {
                    ("apply", Some(Argument::One(list))) => vec![Argument::Rest(list)],
                    ("apply", Some(_)) => vec![Argument::Unknown],
                    ("apply", None) => Vec::new(),
                    ("bind", _) => arguments.iter().skip(1).copied().chain([Argument::Unknown]).collect(),
                    _ => arguments.iter().skip(1).copied().collect(),
                };
                let this = arguments.first().copied();
                Some(Target { this, written: None, ..plain(receiver.clone(), rest, call) })
            }
            _ => None,
        }
    }

    fn callees(&mut self, receiver: &Value<'p>, key: &Value<'p>) -> Vec<Value<'p>> {
        match key {
            // the constructor of any function runs source
            Value::Text(key) if &**key == "constructor" && !matches!(receiver, Value::Outside(_)) => {
                vec![self.outside("Function")]
            }
            Value::Text(key) if !key.contains(UNKNOWN_SPAN) => self.member_of(receiver, key),
            _ => self.any_member(receiver),
        }
    }

    /// The arguments one by one, as far as spread lists are known; whether there may be more.
    pub fn each(&mut self, arguments: &[Argument<'p>]) -> (Vec<Vec<Value<'p>>>, bool) {
        let mut all = Vec::new();
        for argument in arguments {
            match argument {
                Argument::One(expression) => all.push(self.of(expression)),
                Argument::Each(list) => all.push(self.element(list)),
                Argument::Rest(list) => match self.of(list).as_slice() {
                    [] => {}
                    [Value::List(items)] if !items.all.iter().any(|item| matches!(item, Expression::Spread(_))) => {
                        all.extend(items.all.iter().map(|item| self.of(item)));
                    }
                    _ => return (all, true),
                },
                Argument::Unknown => return (all, true),
            }
        }
        (all, false)
    }

    /// The values of an argument; nothing if it is left out.
    pub fn argument(&mut self, arguments: &[Argument<'p>], at: usize) -> Option<Vec<Value<'p>>> {
        if let (Some(Argument::One(expression)), true) =
            (arguments.get(at), arguments.iter().take(at).all(|before| matches!(before, Argument::One(_))))
        {
            return Some(self.of(expression));
        }
        let (mut all, more) = self.each(arguments);
        match all.len() {
            known if at < known => Some(all.swap_remove(at)),
            _ => more.then(|| vec![Value::Unknown]),
        }
    }

    /// Whether an argument after the first may be an object whose members are not known: options.
    pub fn vague_options(&mut self, arguments: &[Argument<'p>]) -> bool {
        let (values, more) = self.each(arguments);
        let assigned =
            OPTIONS.iter().any(|key| self.program.fields.contains_key(*key)) || self.program.fields.contains_key("");
        more || values.iter().skip(1).flatten().any(|value| match value {
            Value::Record(items) => {
                let merged = self.merged_into(items.place);
                self.is_vague(items.place)
                    || merged.iter().any(|object| {
                        !matches!(object, Value::Record(_) | Value::Plain | Value::Absent | Value::Truth(_))
                    })
            }
            Value::Plain | Value::Absent | Value::Truth(_) => assigned,
            Value::Text(_) | Value::Texts(_) | Value::List(_) | Value::Function(_) => false,
            Value::Outside(name) => !name.starts_with("process."),
            Value::Unknown | Value::This | Value::Unit(_) | Value::Object(..) => true,
        })
    }

    /// The values of a member of an object in the last arguments; nothing if no object names it, unknown if an object is
    /// not known.
    pub fn option(&mut self, arguments: &[Argument<'p>], key: &str) -> Option<Vec<Value<'p>>> {
        let mut found = None;
        for values in self.each(arguments).0 {
            for value in values {
                let Value::Record(items) = value else { continue };
                let values = self.named_in_record(items, key);
                if !values.is_empty() {
                    found.get_or_insert_with(Vec::new).extend(values);
                }
            }
        }
        found
    }
}

fn plain<'p>(callee: Value<'p>, arguments: Vec<Argument<'p>>, call: &'p Call) -> Target<'p> {
    Target {
        callee,
        receiver: None,
        name: None,
        object: None,
        arguments,
        this: None,
        written: Some(call),
        unit: call.unit,
    }
}
