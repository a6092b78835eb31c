//! Lists and objects, and what changes them.

use super::arguments::{Argument, Target};
use super::expression::Expression;
use super::values::{Value, Values, include};
use crate::UNKNOWN_SPAN;
use std::collections::{HashMap, HashSet};

/// Methods that add elements at the end of a list, and those that change its order or length.
const ADD: [&str; 1] = ["push"];
const CHANGE: [&str; 9] = ["unshift", "splice", "fill", "copyWithin", "reverse", "sort", "pop", "shift", "set"];
/// Functions that change the object that is their first argument.
const MERGE: [&str; 6] = [
    "Object.assign",
    "Object.defineProperty",
    "Object.defineProperties",
    "Object.setPrototypeOf",
    "Reflect.set",
    "Reflect.defineProperty",
];
/// Most additions to a list that are tried one by one.
const MAX_ADDED: usize = 6;

/// Changes of lists and objects, by the place of the literal that made them.
#[derive(Debug, Default)]
pub struct Changes<'p> {
    /// What is added at the end of a list, call by call.
    added: HashMap<usize, Vec<Vec<Argument<'p>>>>,
    calls: HashSet<(usize, usize)>,
    /// Lists whose order or length changes, and objects that get members from elsewhere.
    vague: HashSet<usize>,
}

impl<'p> Values<'p> {
    /// Notes that a call changes a list or an object.
    pub fn note_change(&mut self, target: &Target<'p>) {
        if let (Some(Value::List(items)), Some(name)) = (&target.receiver, target.name.as_deref()) {
            let place = items.as_ptr() as usize;
            let call = target.written.map_or(0, |written| written.as_ptr() as usize);
            if CHANGE.contains(&name) {
                self.changed |= self.changes.vague.insert(place);
            } else if ADD.contains(&name) && self.changes.calls.insert((place, call)) {
                self.changes.added.entry(place).or_default().push(target.arguments.clone());
                self.changed = true;
            }
        }
        if let Value::Outside(name) = &target.callee
            && MERGE.contains(&&**name)
        {
            for value in self.argument(&target.arguments, 0).unwrap_or_default() {
                match value {
                    Value::Record(items) if !items.is_empty() => {
                        self.changed |= self.changes.vague.insert(items.as_ptr() as usize);
                    }
                    Value::List(items) => self.changed |= self.changes.vague.insert(items.as_ptr() as usize),
                    _ => {}
                }
            }
        }
    }

    pub fn member_of_record(&mut self, items: &'p [(Expression, Expression)], key: &str) -> Vec<Value<'p>> {
        let place = (items.as_ptr() as usize, key.to_owned());
        // what it takes from itself adds nothing
        if !self.looked_up.insert(place.clone()) {
            return Vec::new();
        }
        let found = self.find_in_record(items, key);
        self.looked_up.remove(&place);
        found
    }

    fn find_in_record(&mut self, items: &'p [(Expression, Expression)], key: &str) -> Vec<Value<'p>> {
        let mut all = Vec::new();
        for (name, value) in items {
            match name {
                Expression::Text(name) if **name == *key => drop(include(&mut all, self.of(value))),
                Expression::Text(_) => {}
                Expression::Spread(_) => {
                    for value in self.of(value) {
                        include(&mut all, self.member_of(&value, key));
                    }
                }
                name => {
                    let other = |value: &Value<'_>| matches!(value, Value::Text(text) if !text.contains(UNKNOWN_SPAN) && **text != *key);
                    if !self.of(name).iter().all(other) {
                        include(&mut all, self.of(value));
                    }
                }
            }
        }
        include(&mut all, self.fields(key));
        if self.changes.vague.contains(&(items.as_ptr() as usize)) {
            include(&mut all, [Value::Unknown]);
        }
        if all.is_empty() { vec![Value::Plain] } else { all }
    }

    /// The element of a list at a position.
    pub fn at(&mut self, items: &'p [Expression], at: usize) -> Vec<Value<'p>> {
        let place = items.as_ptr() as usize;
        let plain = !items.iter().any(|item| matches!(item, Expression::Spread(_)));
        match items.get(at).filter(|_| plain && !self.changes.vague.contains(&place)) {
            Some(item) => {
                let mut all = self.of(item);
                include(&mut all, self.assigned());
                all
            }
            None => self.elements(items),
        }
    }

    /// The elements of a list from a position on.
    pub fn tail(&mut self, list: &'p Expression, from: usize) -> Vec<Value<'p>> {
        let mut all = Vec::new();
        for value in self.of(list) {
            let rest = match value {
                Value::List(items) if !self.is_changed(items) => match items.get(..from) {
                    Some(first) if !first.iter().any(|item| matches!(item, Expression::Spread(_))) => {
                        items.get(from..).map(Value::List)
                    }
                    None => Some(Value::List(&[])),
                    _ => None,
                },
                _ => None,
            };
            include(&mut all, [rest.unwrap_or(Value::Unknown)]);
        }
        all
    }

    /// Whether the literal at a place gets members from elsewhere.
    pub fn is_vague(&self, place: usize) -> bool {
        self.changes.vague.contains(&place)
    }

    fn is_changed(&self, items: &[Expression]) -> bool {
        let place = items.as_ptr() as usize;
        self.changes.vague.contains(&place) || self.changes.added.contains_key(&place)
    }

    /// What is assigned to elements of any list.
    fn assigned(&mut self) -> Vec<Value<'p>> {
        let program = self.program;
        self.count(program.fields.len());
        let mut all = Vec::new();
        for (key, expression) in &program.fields {
            if key.is_empty() || key == "length" || key.parse::<usize>().is_ok() {
                include(&mut all, self.of(expression));
            }
        }
        all
    }

    /// Any element of a list.
    pub fn element(&mut self, list: &'p Expression) -> Vec<Value<'p>> {
        let mut all = Vec::new();
        for value in self.of(list) {
            match value {
                Value::List(items) => drop(include(&mut all, self.elements(items))),
                Value::Record(items) => {
                    for (_, value) in items {
                        include(&mut all, self.of(value));
                    }
                }
                Value::Outside(_) => drop(include(&mut all, self.any_member(&value))),
                _ => drop(include(&mut all, [Value::Unknown])),
            }
        }
        all
    }

    /// The elements of a list, in any order.
    pub fn elements(&mut self, items: &'p [Expression]) -> Vec<Value<'p>> {
        let place = (items.as_ptr() as usize, String::new());
        if !self.looked_up.insert(place.clone()) {
            return Vec::new();
        }
        let found = self.find_elements(items);
        self.looked_up.remove(&place);
        found
    }

    fn find_elements(&mut self, items: &'p [Expression]) -> Vec<Value<'p>> {
        let mut all = self.assigned();
        for item in items {
            let new = match item {
                Expression::Spread(inner) => self.element(inner),
                item => self.of(item),
            };
            include(&mut all, new);
        }
        for arguments in self.changes.added.get(&(items.as_ptr() as usize)).cloned().unwrap_or_default() {
            let (values, more) = self.each(&arguments);
            for value in values {
                include(&mut all, value);
            }
            if more {
                include(&mut all, [Value::Unknown]);
            }
        }
        if items.is_empty() {
            include(&mut all, [Value::Unknown]);
        }
        all
    }

    /// The words that a list may be: as it is written, with each addition, with all of them. [`UNKNOWN_SPAN`] for what is
    /// not constant.
    pub fn words(&mut self, items: &'p [Expression]) -> Vec<Vec<String>> {
        let place = items.as_ptr() as usize;
        let unknown = vec![vec![UNKNOWN_SPAN.to_string()]];
        if self.changes.vague.contains(&place) || !self.assigned().is_empty() {
            return unknown;
        }
        if !self.looked_up.insert((place, "words".to_owned())) {
            return unknown;
        }
        let all = self.find_words(items);
        self.looked_up.remove(&(place, "words".to_owned()));
        all
    }

    /// The different words of a list that is spread into another; nothing as long as nothing is known of it.
    fn spread_words(&mut self, inner: &'p Expression) -> Option<Vec<Vec<String>>> {
        let values = self.of(inner);
        let mut lists = Vec::new();
        for value in &values {
            lists.extend(match value {
                Value::List(more) => self.words(more),
                _ => vec![vec![UNKNOWN_SPAN.to_string()]],
            });
        }
        lists.sort();
        lists.dedup();
        (!values.is_empty()).then_some(lists)
    }

    fn find_words(&mut self, items: &'p [Expression]) -> Vec<Vec<String>> {
        let place = items.as_ptr() as usize;
        let mut written: Vec<String> = Vec::new();
        let mut other: Vec<(usize, String)> = Vec::new();
        for item in items {
            match item {
                Expression::Spread(inner) => {
                    let Some(lists) = self.spread_words(inner) else { return Vec::new() };
                    match lists.as_slice() {
                        [only] => written.extend(only.iter().cloned()),
                        _ => written.push(UNKNOWN_SPAN.to_string()),
                    }
                }
                item => {
                    let values = self.of(item);
                    if values.is_empty() {
                        return Vec::new();
                    }
                    // a word that may be one of several
                    if let ([_, _] | [_, _, _], 0) = (values.as_slice(), other.len()) {
                        other = values.iter().skip(1).map(|value| (written.len(), value.show())).collect();
                        written.extend(values.first().map(Value::show));
                    } else {
                        written.push(super::fold::one(&values));
                    }
                }
            }
        }
        let mut additions = Vec::new();
        for arguments in self.changes.added.get(&place).cloned().unwrap_or_default() {
            let (values, more) = self.each(&arguments);
            let mut words: Vec<String> = values.iter().map(|values| super::fold::one(values)).collect();
            words.extend(more.then(|| UNKNOWN_SPAN.to_string()));
            additions.push(words);
        }
        let with = |more: &[String]| written.iter().chain(more).cloned().collect::<Vec<String>>();
        let mut all = vec![written.clone()];
        for (at, word) in other {
            let mut words = written.clone();
            if let Some(slot) = words.get_mut(at) {
                *slot = word;
            }
            all.push(words);
        }
        if additions.len() > 1 && additions.len() <= MAX_ADDED {
            all.extend(additions.iter().map(|words| with(words)));
        }
        if !additions.is_empty() {
            all.push(with(&additions.concat()));
        }
        if additions.len() > MAX_ADDED {
            all.push(with(&[UNKNOWN_SPAN.to_string()]));
        }
        all
    }
}
