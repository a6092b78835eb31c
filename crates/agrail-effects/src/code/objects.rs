//! Lists and objects, and what changes them.

use super::arguments::{Argument, Target};
use super::expression::{Call, Expression};
use super::values::{Items, Value, Values, include};
use crate::UNKNOWN_SPAN;
use foldhash::{HashMap, HashSet};

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
/// Functions that run a method on another object, or make objects in other ways than `new`.
const MAKES: [&str; 3] = ["Reflect.apply", "Reflect.construct", "Object.create"];
/// Most additions to a list that are tried one by one.
const MAX_ADDED: usize = 6;

/// Changes of lists and objects, by the place of the literal that made them.
#[derive(Debug, Default)]
pub struct Changes<'p> {
    /// What is added at the end of a list, call by call.
    added: HashMap<usize, Vec<Vec<Argument<'p>>>>,
    /// Objects whose members become members of this one.
    merged: HashMap<usize, Vec<Argument<'p>>>,
    calls: HashSet<(usize, usize)>,
    /// Lists whose order or length changes, and objects that get members from elsewhere.
    vague: HashSet<usize>,
}

impl<'p> Values<'p> {
    /// Notes that a call changes a list or an object.
    pub fn note_change(&mut self, target: &Target<'p>) {
        if let (Some(Value::List(items)), Some(name)) = (&target.receiver, target.name.as_deref()) {
            let place = items.place;
            let call = target.written.map_or(0, |call| std::ptr::from_ref(call) as usize);
            if CHANGE.contains(&name) {
                self.changed |= self.changes.vague.insert(place);
            } else if ADD.contains(&name) && self.changes.calls.insert((place, call)) {
                self.changes.added.entry(place).or_default().push(target.arguments.clone());
                self.changed = true;
            }
        }
        if let Value::Outside(name) = &target.callee
            && (MAKES.contains(&&**name) || name.ends_with(UNKNOWN_SPAN) && name.starts_with(['O', 'R']))
        {
            self.loosen();
        }
        if let Value::Outside(name) = &target.callee
            && MERGE.contains(&&**name)
        {
            let call = target.written.map_or(0, |call| std::ptr::from_ref(call) as usize);
            for value in self.argument(&target.arguments, 0).unwrap_or_default() {
                let (Value::Record(Items { place, .. }) | Value::List(Items { place, .. })) = value else {
                    self.loosen();
                    continue;
                };
                if &**name == "Object.assign" {
                    let new = self.changes.calls.insert((place, call));
                    self.changed |= new;
                    let more = target.arguments.iter().skip(1).copied().filter(|_| new);
                    self.changes.merged.entry(place).or_default().extend(more);
                } else {
                    self.changed |= self.changes.vague.insert(place);
                }
            }
        }
    }

    /// Notes that objects of classes may get members from elsewhere, or methods run on other objects.
    pub fn loosen(&mut self) {
        self.changed |= !self.loose;
        self.loose = true;
    }

    /// What a member of an object may be.
    pub fn member_of_record(&mut self, items: Items<'p, (Expression, Expression)>, key: &str) -> Vec<Value<'p>> {
        let found = self.named_in_record(items, key);
        if found.is_empty() { vec![Value::Absent] } else { found }
    }

    /// As [`Self::member_of_record`]; nothing if the object has no such member.
    pub fn named_in_record(&mut self, items: Items<'p, (Expression, Expression)>, key: &str) -> Vec<Value<'p>> {
        let place = (items.place, key.to_owned());
        // a member that an object takes from itself is no new value
        if !self.looked_up.insert(place.clone()) {
            return Vec::new();
        }
        let found = self.find_in_record(items, key);
        self.looked_up.remove(&place);
        found
    }

    fn find_in_record(&mut self, items: Items<'p, (Expression, Expression)>, key: &str) -> Vec<Value<'p>> {
        let mut all = Vec::new();
        for (name, value) in items.all {
            match name {
                Expression::Text(name) if **name == *key => drop(include(&mut all, self.of(value))),
                Expression::Text(_) => {}
                Expression::Spread(_) => {
                    for value in self.of(value) {
                        include(&mut all, self.named_in(&value, key));
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
        for object in self.merged_into(items.place) {
            include(&mut all, self.named_in(&object, key));
        }
        include(&mut all, self.fields(key));
        if self.changes.vague.contains(&items.place) {
            include(&mut all, [Value::Unknown]);
        }
        all
    }

    /// The element of a list at a position.
    pub fn at(&mut self, items: Items<'p, Expression>, at: usize) -> Vec<Value<'p>> {
        let place = items.place;
        let plain = !items.all.iter().any(|item| matches!(item, Expression::Spread(_)));
        match items.all.get(at).filter(|_| plain && !self.changes.vague.contains(&place)) {
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
            let Value::List(items) = value else {
                include(&mut all, [Value::Unknown]);
                continue;
            };
            match (items.all.get(..from), items.all.get(from..)) {
                (Some(first), Some(rest)) if !first.iter().any(|item| matches!(item, Expression::Spread(_))) => {
                    include(&mut all, [Value::List(Items { all: rest, ..items })]);
                }
                // it may begin among elements that are spread or added
                _ => drop(include(&mut all, [Value::List(items), Value::Unknown])),
            }
        }
        all
    }

    /// The member of a value that is spread or merged into an object; nothing if it has no such member.
    fn named_in(&mut self, object: &Value<'p>, key: &str) -> Vec<Value<'p>> {
        match object {
            Value::Record(items) => self.named_in_record(*items, key),
            Value::Plain | Value::Absent | Value::Truth(_) => self.fields(key),
            object => self.member_of(object, key),
        }
    }

    /// The objects whose members become members of the one at a place.
    pub fn merged_into(&mut self, place: usize) -> Vec<Value<'p>> {
        let mut all = Vec::new();
        for argument in self.changes.merged.get(&place).cloned().unwrap_or_default() {
            let objects = match argument {
                Argument::One(object) => self.of(object),
                Argument::Rest(list) | Argument::Each(list) => self.element(list),
                Argument::Unknown => vec![Value::Unknown],
            };
            include(&mut all, objects);
        }
        all
    }

    /// Whether the literal at a place gets members from elsewhere.
    pub fn is_vague(&self, place: usize) -> bool {
        self.changes.vague.contains(&place)
    }

    /// A list of some elements of another one, for a call; not known if elements are added to that one.
    pub fn chosen(&mut self, items: Items<'p, Expression>, call: Option<&'p Call>) -> Vec<Value<'p>> {
        let Some(call) = call else { return vec![Value::Unknown] };
        let chosen = Items::of(call, items.all);
        self.changed |= self.changes.vague.insert(chosen.place);
        let more = self.changes.added.contains_key(&items.place).then_some(Value::Unknown);
        [Value::List(chosen)].into_iter().chain(more).collect()
    }

    /// The list of what functions of the program return.
    pub fn mapped(&mut self, callbacks: &[Value<'p>]) -> Vec<Value<'p>> {
        let program = self.program;
        let mut all = Vec::new();
        for callback in callbacks {
            let function = match callback {
                Value::Function(at) => program.functions.get(*at).filter(|function| !function.returns.is_empty()),
                _ => None,
            };
            all.push(match function {
                Some(function) => {
                    let items = Items::of(function, &function.returns);
                    self.changed |= self.changes.vague.insert(items.place);
                    Value::List(items)
                }
                None => Value::Unknown,
            });
        }
        all
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
                    for (_, value) in items.all {
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
    pub fn elements(&mut self, items: Items<'p, Expression>) -> Vec<Value<'p>> {
        let place = (items.place, String::new());
        if !self.looked_up.insert(place.clone()) {
            return Vec::new();
        }
        let found = self.find_elements(items);
        self.looked_up.remove(&place);
        found
    }

    fn find_elements(&mut self, items: Items<'p, Expression>) -> Vec<Value<'p>> {
        let mut all = self.assigned();
        for item in items.all {
            let new = match item {
                Expression::Spread(inner) => self.element(inner),
                item => self.of(item),
            };
            include(&mut all, new);
        }
        for arguments in self.changes.added.get(&items.place).cloned().unwrap_or_default() {
            let (values, more) = self.each(&arguments);
            for value in values {
                include(&mut all, value);
            }
            if more {
                include(&mut all, [Value::Unknown]);
            }
        }
        if items.all.is_empty() {
            include(&mut all, [Value::Unknown]);
        }
        all
    }

    /// The words that a list may be: as it is written, with each addition, with all of them. [`UNKNOWN_SPAN`] for what is
    /// not constant.
    pub fn words(&mut self, items: Items<'p, Expression>) -> Vec<Vec<String>> {
        let place = items.place;
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
                Value::List(more) => self.words(*more),
                _ => vec![vec![UNKNOWN_SPAN.to_string()]],
            });
        }
        lists.sort();
        lists.dedup();
        (!values.is_empty()).then_some(lists)
    }

    fn find_words(&mut self, items: Items<'p, Expression>) -> Vec<Vec<String>> {
        let place = items.place;
        let mut written: Vec<String> = Vec::new();
        let mut other: Vec<(usize, String)> = Vec::new();
        for item in items.all {
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
