//! Everything that an expression may be.
//!
//! Variables and results of calls start empty; rounds add what their expressions may be, until nothing is added
//! ([`Values::settle`]). Texts that keep growing become unknown, so that this ends.

use super::expression::{Expression, Program};
use super::links::Links;
use super::objects::Changes;
use super::table::{Entry, Table};
use crate::reading::Problems;
use crate::{Cause, UNKNOWN_SPAN, budget};
use foldhash::HashSet;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Most texts, and most other values, of one expression.
const MAX_TEXTS: usize = 16;
const MAX_OTHERS: usize = 128;
/// Longest text that is kept, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// Longest dotted name.
const MAX_NAME: usize = 256;
/// Most values within one expression.
const MAX_WITHIN: usize = 4_096;
/// Most steps: one per expression that is evaluated.
const MAX_STEPS: usize = 300_000;
/// Most rounds.
const MAX_ROUNDS: usize = 64;

/// The elements of a list, or the members of an object.
#[derive(Debug)]
pub struct Items<'p, T> {
    /// Which literal of the program made it.
    pub place: usize,
    pub all: &'p [T],
}

impl<T> Copy for Items<'_, T> {}

impl<T> Clone for Items<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'p, T> Items<'p, T> {
    /// What a literal contains; an expression or a call is its place.
    pub fn of<L>(literal: &'p L, all: &'p [T]) -> Self {
        Items { place: std::ptr::from_ref(literal) as usize, all }
    }

    fn same(&self, other: &Self) -> bool {
        self.place == other.place && self.all.len() == other.all.len()
    }
}

/// What an expression may be.
#[derive(Debug, Clone)]
pub enum Value<'p> {
    Unknown,
    /// Calling it or its methods has no effect outside the program.
    Plain,
    /// `undefined`, or a member that an object does not have.
    Absent,
    /// An object that a class of the program made.
    This,
    Truth(bool),
    /// May contain [`UNKNOWN_SPAN`].
    Text(Rc<str>),
    /// More texts than are kept: how all of them begin.
    Texts(Rc<str>),
    List(Items<'p, Expression>),
    Record(Items<'p, (Expression, Expression)>),
    /// A canonical name outside the program.
    Outside(Rc<str>),
    Unit(usize),
    Function(usize),
    /// An object of a known kind, and its target.
    Object(Rc<str>, Rc<str>),
}

/// The kind of an object that stands for the content of its target, as a text.
pub const CONTENT: &str = "content";
/// That of the value of a file in JSON, and that of a list of names.
pub const DATA: &str = "data";
pub const LIST: &str = "list";
/// That of a command that runs; its target is the command line.
const CHILD: &str = "child";

impl Value<'_> {
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Unknown, Value::Unknown)
            | (Value::Plain, Value::Plain)
            | (Value::Absent, Value::Absent)
            | (Value::This, Value::This) => true,
            (Value::Texts(a), Value::Texts(b)) => a == b,
            (Value::Truth(a), Value::Truth(b)) => a == b,
            (Value::Text(a), Value::Text(b)) | (Value::Outside(a), Value::Outside(b)) => a == b,
            (Value::List(a), Value::List(b)) => a.same(b),
            (Value::Record(a), Value::Record(b)) => a.same(b),
            (Value::Unit(a), Value::Unit(b)) | (Value::Function(a), Value::Function(b)) => a == b,
            (Value::Object(a, x), Value::Object(b, y)) => a == b && x == y,
            _ => false,
        }
    }

    /// As a text, with [`UNKNOWN_SPAN`] for what is not constant.
    pub fn show(&self) -> String {
        match self {
            Value::Object(kind, _) if matches!(&**kind, CONTENT | CHILD) => UNKNOWN_SPAN.to_string(),
            Value::Text(text) | Value::Object(_, text) => text.to_string(),
            Value::Texts(begin) => format!("{begin}{UNKNOWN_SPAN}"),
            Value::Truth(truth) => truth.to_string(),
            _ => UNKNOWN_SPAN.to_string(),
        }
    }
}

/// Finds values of a program's expressions.
pub struct Values<'p> {
    pub program: &'p Program,
    pub table: &'p Table,
    pub links: Links,
    pub changes: Changes<'p>,
    /// What each variable may hold, and each call return.
    variables: Vec<Vec<Value<'p>>>,
    results: Vec<Vec<Value<'p>>>,
    /// Exports that are being looked up.
    active: HashSet<usize>,
    /// Members that are being looked up: place of the object or list, and key. An object may be spread into itself.
    pub looked_up: HashSet<(usize, String)>,
    pub changed: bool,
    /// Whether a method may run on an object that no class of the program made, or members come from elsewhere.
    pub loose: bool,
    steps: usize,
    /// Whether a member with an unknown key was read from an object that is not known.
    pub vague: bool,
    /// Files whose values in JSON the program asks for, and that were not read.
    pub wanted: BTreeSet<String>,
    pub problems: Problems,
}

/// Adds values, each once; whether any is new. Of too many texts, only how they begin is kept.
pub fn include<'p>(all: &mut Vec<Value<'p>>, new: impl IntoIterator<Item = Value<'p>>) -> bool {
    let mut added = false;
    let mut texts = all.iter().filter(|known| matches!(known, Value::Text(_))).count();
    for value in new {
        let begin = all.iter().find_map(|known| match known {
            Value::Texts(begin) => Some(begin.clone()),
            _ => None,
        });
        let told = begin.is_some_and(|begin| match &value {
            Value::Text(text) | Value::Texts(text) => text.starts_with(&*begin),
            _ => false,
        });
        if told || all.iter().any(|known| known.same(&value)) {
            continue;
        }
        added = true;
        texts += usize::from(matches!(value, Value::Text(_)));
        all.push(value);
        let many = all.iter().any(|known| matches!(known, Value::Texts(_)));
        if texts > MAX_TEXTS || many && texts > 0 {
            combine(all);
            texts = 0;
        }
    }
    added
}

/// Replaces all texts by how they begin.
fn combine(all: &mut Vec<Value<'_>>) {
    let mut begin: Option<String> = None;
    for value in all.iter() {
        let (Value::Text(text) | Value::Texts(text)) = value else { continue };
        let text = text.split(UNKNOWN_SPAN).next().unwrap_or_default();
        let same =
            |begin: &String| begin.chars().zip(text.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
        begin = Some(begin.as_ref().map_or_else(|| text.to_owned(), same));
    }
    all.retain(|known| !matches!(known, Value::Text(_) | Value::Texts(_)));
    all.push(Value::Texts(begin.unwrap_or_default().into()));
}

impl<'p> Values<'p> {
    pub fn new(program: &'p Program, table: &'p Table) -> Self {
        Values {
            program,
            table,
            links: Links::default(),
            changes: Changes::default(),
            variables: program.variables.iter().map(|_| Vec::new()).collect(),
            results: program.calls.iter().map(|_| Vec::new()).collect(),
            active: HashSet::default(),
            looked_up: HashSet::default(),
            changed: false,
            loose: ["__proto__", "prototype"]
                .iter()
                .any(|key| program.fields.contains_key(*key) || program.keys.contains(*key)),
            steps: 0,
            vague: false,
            wanted: BTreeSet::new(),
            problems: Problems::default(),
        }
    }

    /// Finds the values of all variables and calls. What nothing gives a value may be anything.
    pub fn settle(&mut self) {
        self.rounds();
        for values in self.variables.iter_mut().chain(&mut self.results).filter(|values| values.is_empty()) {
            values.push(Value::Unknown);
        }
        self.rounds();
    }

    fn rounds(&mut self) {
        let program = self.program;
        for _ in 0..MAX_ROUNDS {
            self.changed = false;
            for (variable, expressions) in program.variables.iter().enumerate() {
                for expression in expressions {
                    let found = self.of(expression);
                    self.give(variable, found);
                }
            }
            for at in 0..program.calls.len() {
                self.settle_call(at);
            }
            self.link_escapes();
            if !self.changed {
                return;
            }
            if self.steps > MAX_STEPS || budget::is_spent() {
                break;
            }
        }
        self.problems.add(Cause::Budget, "too much to follow");
    }

    fn settle_call(&mut self, at: usize) {
        for target in self.targets(at) {
            let found = match target.callee {
                Value::Function(function) => self.returned(function),
                _ => self.fold(&target),
            };
            if let Some(result) = self.results.get_mut(at) {
                self.changed |= include(result, found);
            }
            self.link(&target);
        }
    }

    /// Adds to what a variable may hold.
    pub fn give(&mut self, variable: usize, values: Vec<Value<'p>>) {
        let Some(held) = self.variables.get_mut(variable) else { return };
        self.changed |= include(held, values);
        if held.len() > MAX_TEXTS + MAX_OTHERS {
            self.problems.add(Cause::Budget, "too many values to follow");
        }
    }

    /// What a function of the program returns.
    fn returned(&mut self, function: usize) -> Vec<Value<'p>> {
        let program = self.program;
        let Some(function) = program.functions.get(function) else { return vec![Value::Unknown] };
        let mut all = Vec::new();
        if function.class || function.returns.is_empty() {
            all.push(Value::Plain);
        }
        for returned in &function.returns {
            include(&mut all, self.of(returned));
        }
        all
    }

    /// Counts steps that are small.
    pub fn count(&mut self, small: usize) {
        self.steps += small / 16;
    }

    /// Everything that an expression may be, as far as it is found so far.
    pub fn of(&mut self, expression: &'p Expression) -> Vec<Value<'p>> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.problems.add(Cause::Budget, "too much to follow");
            return vec![Value::Unknown];
        }
        stacker::maybe_grow(crate::code::STACK.0, crate::code::STACK.1, || self.find(expression))
    }

    fn find(&mut self, expression: &'p Expression) -> Vec<Value<'p>> {
        match expression {
            Expression::Unknown => vec![Value::Unknown],
            Expression::Plain => vec![Value::Plain],
            Expression::Absent => vec![Value::Absent],
            Expression::This => vec![Value::This],
            Expression::Given(inner) => {
                self.of(inner).into_iter().filter(|value| !matches!(value, Value::Absent)).collect()
            }
            Expression::Truth(truth) => vec![Value::Truth(*truth)],
            Expression::Text(text) => vec![Value::Text(text.clone())],
            Expression::Join(parts) => self.join(parts),
            Expression::List(items) => vec![Value::List(Items::of(expression, items))],
            Expression::Record(items) => vec![Value::Record(Items::of(expression, items))],
            Expression::Spread(inner) => self.of(inner),
            Expression::Variable(variable) => self.variables.get(*variable).cloned().unwrap_or_default(),
            Expression::Outside(name) => vec![self.outside(name)],
            Expression::Unit(unit) => vec![Value::Unit(*unit)],
            Expression::Export(unit, name) => self.export(*unit, name),
            Expression::Member(object, key) => self.member(object, key),
            Expression::Element(list) => self.element(list),
            Expression::Tail(list, from) => self.tail(list, *from),
            Expression::Either(values) => {
                let mut all = Vec::new();
                for value in values {
                    include(&mut all, self.of(value));
                }
                all
            }
            Expression::Function(function) => vec![Value::Function(*function)],
            Expression::Call(call) => self.results.get(*call).cloned().unwrap_or_default(),
        }
    }

    /// As [`Self::of`], after everything is found: at least one value.
    pub fn settled(&mut self, expression: &'p Expression) -> Vec<Value<'p>> {
        let found = self.of(expression);
        if found.is_empty() { vec![Value::Unknown] } else { found }
    }

    pub fn outside(&self, name: &str) -> Value<'p> {
        let name = self.table.canonical(name);
        match self.table.constant(&name) {
            Some(text) => Value::Text(text.into()),
            None if name.len() > MAX_NAME => {
                let end = name.char_indices().take_while(|(at, _)| *at < MAX_NAME).last().map_or(0, |(at, _)| at);
                Value::Outside(format!("{}.{UNKNOWN_SPAN}", name.get(..end).unwrap_or_default()).into())
            }
            None => Value::Outside(name.into()),
        }
    }

    fn join(&mut self, parts: &'p [Expression]) -> Vec<Value<'p>> {
        let mut texts = vec![String::new()];
        let mut numbers = true;
        for part in parts {
            let values = self.of(part);
            numbers &= values.iter().all(|value| matches!(value, Value::Text(text) if text.parse::<f64>().is_ok()));
            texts =
                texts.iter().flat_map(|text| values.iter().map(move |value| text.clone() + &value.show())).collect();
            texts.sort();
            texts.dedup();
            if texts.len() > MAX_TEXTS || texts.iter().any(|text| text.len() > MAX_TEXT) {
                texts = vec![UNKNOWN_SPAN.to_string()];
            }
        }
        // a sum
        if numbers && parts.len() > 1 && !texts.is_empty() {
            return vec![Value::Unknown];
        }
        texts.into_iter().map(|text| Value::Text(merged(&text).into())).collect()
    }

    pub fn export(&mut self, unit: usize, name: &str) -> Vec<Value<'p>> {
        if !self.active.insert(unit) {
            return Vec::new();
        }
        let program = self.program;
        let mut all = Vec::new();
        if let Some(unit) = program.units.get(unit) {
            for expression in unit.exports.get(name).into_iter().flatten() {
                include(&mut all, self.of(expression));
            }
            for whole in unit.exports.get("module.exports").into_iter().flatten() {
                for value in self.of(whole) {
                    match name {
                        "default" => drop(include(&mut all, [value])),
                        _ => drop(include(&mut all, self.member_of(&value, name))),
                    }
                }
            }
            for outside in unit.exports.get("*").into_iter().flatten() {
                for value in self.of(outside) {
                    include(&mut all, self.member_of(&value, name));
                }
            }
            for other in &unit.passes {
                include(&mut all, self.export(*other, name));
            }
        }
        include(&mut all, self.fields(name));
        self.active.remove(&unit);
        all
    }

    fn member(&mut self, object: &'p Expression, key: &'p Expression) -> Vec<Value<'p>> {
        let objects = self.of(object);
        let keys = self.of(key);
        let mut all = Vec::new();
        for object in &objects {
            for key in &keys {
                let found = match key {
                    Value::Text(key) if !key.contains(UNKNOWN_SPAN) => self.member_of(object, key),
                    _ => self.any_member(object),
                };
                include(&mut all, found);
            }
        }
        all
    }

    /// The member of a value with a known key.
    pub fn member_of(&mut self, object: &Value<'p>, key: &str) -> Vec<Value<'p>> {
        match object {
            Value::Outside(name) => {
                let full = format!("{name}.{key}");
                vec![self.outside(&full)]
            }
            Value::Unit(unit) => self.export(*unit, key),
            Value::Record(items) => self.member_of_record(*items, key),
            Value::List(items) if key.parse::<usize>().is_ok() => {
                self.at(*items, key.parse::<usize>().unwrap_or(usize::MAX))
            }
            Value::This if self.is_own_member(key) => {
                let mut all = self.fields(key);
                let methods = self.program.methods.get(key).into_iter().flatten();
                include(&mut all, methods.map(|function| Value::Function(*function)));
                all
            }
            Value::Object(kind, _) if self.table.constant(&format!("{kind}.{key}")).is_some() => {
                vec![self.outside(&format!("{kind}.{key}"))]
            }
            _ => {
                let mut all = self.fields(key);
                let methods = self.program.methods.get(key).into_iter().flatten();
                include(&mut all, methods.map(|function| Value::Function(*function)));
                let told = format!("?.{key}");
                if matches!(self.table.find(&told), Entry::Row(_)) {
                    all.push(Value::Outside(told.into()));
                }
                include(&mut all, [Value::Unknown]);
                all
            }
        }
    }

    /// Whether a member of `this` is only what the program's classes make it.
    fn is_own_member(&self, key: &str) -> bool {
        let program = self.program;
        let known = program.fields.contains_key(key) || program.methods.contains_key(key);
        known && !self.loose && !program.keys.contains(key) && !program.keys.contains("")
    }

    /// Any member of a value.
    pub fn any_member(&mut self, object: &Value<'p>) -> Vec<Value<'p>> {
        match object {
            Value::Outside(name) if name.ends_with(UNKNOWN_SPAN) => vec![object.clone()],
            Value::Outside(name) => vec![Value::Outside(format!("{name}.{UNKNOWN_SPAN}").into())],
            Value::Unit(unit) => {
                let program = self.program;
                let mut all = vec![Value::Unknown];
                for expression in program.units.get(*unit).into_iter().flat_map(|unit| unit.exports.values()).flatten()
                {
                    include(&mut all, self.of(expression));
                }
                all
            }
            Value::Record(items) => {
                let mut all = self.fields("");
                for (_, value) in items.all {
                    include(&mut all, self.of(value));
                }
                include(&mut all, [Value::Unknown]);
                all
            }
            Value::List(items) => self.elements(*items),
            _ => {
                self.vague = true;
                let mut all = self.fields("");
                include(&mut all, [Value::Unknown]);
                all
            }
        }
    }

    /// What is assigned to members with this key, or to any member.
    pub fn fields(&mut self, key: &str) -> Vec<Value<'p>> {
        let program = self.program;
        let mut all = Vec::new();
        for key in if key.is_empty() { vec![""] } else { vec![key, ""] } {
            if let Some(expression) = program.fields.get(key) {
                include(&mut all, self.of(expression));
            }
        }
        all
    }

    /// Everything that an expression may be or contain, lists and objects opened.
    pub fn within(&mut self, expression: &'p Expression) -> Vec<Value<'p>> {
        let mut all = self.of(expression);
        let mut seen = HashSet::default();
        let mut at = 0;
        while let Some(value) = all.get(at).cloned() {
            at += 1;
            let items: Vec<&'p Expression> = match value {
                Value::List(items) if seen.insert(items.place) => items.all.iter().collect(),
                Value::Record(items) if seen.insert(items.place) => items.all.iter().map(|(_, item)| item).collect(),
                Value::Unit(unit) if seen.insert(unit) => {
                    let unit = self.program.units.get(unit);
                    unit.into_iter().flat_map(|unit| unit.exports.values()).flatten().collect()
                }
                _ => continue,
            };
            for item in items {
                let inner = self.of(item);
                all.extend(
                    inner
                        .into_iter()
                        .filter(|value| !matches!(value, Value::Text(_) | Value::Texts(_) | Value::Unknown)),
                );
            }
            if all.len() > MAX_WITHIN {
                self.problems.add(Cause::Budget, "too many values to follow");
                break;
            }
        }
        all
    }
}

/// A text in which unknown parts that follow each other are one.
pub fn merged(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for c in text.chars() {
        if c != UNKNOWN_SPAN || !made.ends_with(UNKNOWN_SPAN) {
            made.push(c);
        }
    }
    made
}
