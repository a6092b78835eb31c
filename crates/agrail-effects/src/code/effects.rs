//! The effects of all calls of a program.

use super::arguments::{Argument, Target};
use super::expression::{Expression, Program};
use super::links::EACH;
use super::row::{Row, Special};
use super::table::{Entry, Table};
use super::values::{Value, Values};
use super::{Call, Reading};
use crate::Cause;
use crate::reading::LIBRARY;
use crate::{Attribute, Detail, UNKNOWN_SPAN};
use std::collections::BTreeSet;

/// Most calls that are reported.
const MAX_CALLS: usize = 2_000;

/// Variables of the environment that change which files a program means, or what runs.
const VARIABLES: [&str; 12] = [
    "HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
    "ENV",
    "SHELL",
];
/// Functions that give members of their first argument other values.
const DEFINES: [&str; 6] = [
    "Object.assign",
    "Object.defineProperties",
    "Object.defineProperty",
    "Object.setPrototypeOf",
    "Reflect.defineProperty",
    "Reflect.set",
];
/// Roles whose target is a path.
const ON_PATH: [&str; 14] = [
    "read",
    "list",
    "write",
    "append",
    "create",
    "overwrite",
    "delete",
    "move",
    "chmod",
    "chown",
    "link",
    "link/to",
    "linked",
    "scriptfile:js",
];

/// Finds the effects of a program, and the files in JSON whose values it asks for and that were not read.
pub fn extract(program: &Program, table: &Table) -> (Reading, BTreeSet<String>) {
    let mut values = Values::new(program, table);
    values.settle();
    let mut reader = Effects { values, calls: Vec::new(), replaced: false };
    for at in 0..program.calls.len() {
        for target in reader.values.targets(at) {
            reader.call(&target);
        }
    }
    for expression in &program.escapes {
        reader.hand_on(expression);
    }
    // who called them gets what they return
    let links = &reader.values.links;
    for function in links.open.union(&links.handed).copied().collect::<Vec<usize>>() {
        let returned = program.functions.get(function).map(|function| function.returns.as_slice());
        returned.unwrap_or_default().iter().for_each(|expression| reader.hand_on(expression));
    }
    if reader.values.vague {
        program.fields.values().for_each(|expression| reader.hand_on(expression));
    }
    for (name, value) in &program.environment {
        reader.environment(name, value);
    }
    for (object, key, value) in &program.assigned {
        reader.assigned(object, key, value);
    }
    reader.folders();
    reader.listed();
    reader.linked();
    reader.rewritten();
    let mut problems = program.problems.clone();
    problems.append(reader.values.problems);
    let wanted = if reader.replaced { BTreeSet::new() } else { reader.values.wanted };
    (Reading::new(reader.calls, problems), wanted)
}

/// Collects the effects of a program.
pub struct Effects<'p> {
    pub values: Values<'p>,
    calls: Vec<Call>,
    /// Whether a member of something outside the program gets another value.
    replaced: bool,
}

impl<'p> Effects<'p> {
    /// Reports the effects of a call.
    fn call(&mut self, target: &Target<'p>) {
        // what a function of the table takes as `this`, it does not call
        let in_table = matches!(&target.callee, Value::Outside(name)
            if matches!(self.values.table.find(name), Entry::Row(_)));
        if let (Some(Argument::One(this) | Argument::Rest(this)), false) = (target.this, in_table) {
            self.hand_on(this);
        }
        match (&target.callee, &target.receiver, target.name.as_deref()) {
            (Value::Function(function), ..) => self.extra(*function, target),
            (Value::Outside(name), ..) => {
                let name = name.clone();
                if DEFINES.contains(&&*name) {
                    for value in self.values.argument(&target.arguments, 0).unwrap_or_default() {
                        if let Value::Outside(name) = value {
                            self.replaces(&name);
                        }
                    }
                }
                self.named(&name, target);
            }
            (_, Some(Value::Object(kind, _)), Some(method)) => {
                let name = format!("{kind}.{method}");
                match self.values.table.find(&name) {
                    Entry::Row(row) => self.apply(row, &name, target),
                    _ => self.arguments(target),
                }
            }
            // a built-in method of a list or an object may return or call what is in it
            (_, Some(Value::List(_) | Value::Record(_)), _) => {
                let each = usize::from(self.is_called_with_each(target));
                self.arguments_from(each, target);
                if let Some(object) = target.object {
                    self.hand_on(object);
                }
            }
            _ => self.arguments(target),
        }
    }

    /// Whether the first argument is a function that a list calls with each element, which is another call.
    fn is_called_with_each(&mut self, target: &Target<'p>) -> bool {
        let (Some(Value::List(_)), Some(Argument::One(callback))) = (&target.receiver, target.arguments.first()) else {
            return false;
        };
        let each = target.name.as_deref().is_some_and(|name| EACH.contains(&name));
        let callbacks = self.values.of(callback);
        each && callbacks.iter().all(|value| matches!(value, Value::Function(_) | Value::Outside(_)))
    }

    /// A call of a name outside the program.
    fn named(&mut self, name: &str, target: &Target<'p>) {
        match self.values.table.find(name) {
            Entry::Row(row) => self.apply(row, name, target),
            Entry::Harmless => self.arguments(target),
            Entry::Missing => {
                self.arguments(target);
                self.missing(name);
            }
        }
    }

    /// Arguments for which a function of the program has no parameter: `arguments` has them.
    fn extra(&mut self, function: usize, target: &Target<'p>) {
        let Some(own) = self.values.program.functions.get(function) else { return };
        let taken = match (self.values.program.uses_arguments, own.rest) {
            (true, _) => 0,
            (_, true) => return,
            _ => own.parameters.len(),
        };
        for argument in target.arguments.iter().skip(taken) {
            if let Argument::One(expression) | Argument::Rest(expression) = argument {
                self.hand_on(expression);
            }
        }
    }

    /// Arguments of a function outside the program.
    fn arguments(&mut self, target: &Target<'p>) {
        self.arguments_from(0, target);
    }

    fn arguments_from(&mut self, first: usize, target: &Target<'p>) {
        for argument in target.arguments.iter().skip(first) {
            if let Argument::One(expression) | Argument::Rest(expression) = argument {
                self.hand_on(expression);
            }
        }
    }

    /// Reports everything outside the program that an expression hands to where it is not followed.
    fn hand_on(&mut self, expression: &'p Expression) {
        for value in self.values.within(expression) {
            if let Value::Outside(name) = value {
                self.hand_on_name(&name);
            }
        }
    }

    fn hand_on_name(&mut self, name: &str) {
        match self.values.table.find(name) {
            Entry::Row(row) => {
                let target = Target {
                    callee: Value::Outside(name.into()),
                    receiver: None,
                    name: None,
                    arguments: vec![Argument::Unknown; 4],
                    this: None,
                    object: None,
                    unit: 0,
                    written: None,
                };
                self.apply(row, name, &target);
            }
            Entry::Harmless => {}
            Entry::Missing => self.missing(name),
        }
    }

    /// Reports the effects of a row.
    fn apply(&mut self, row: &Row, name: &str, target: &Target<'p>) {
        if let Some(special) = row.special {
            self.special(special, row, name, target);
            // the result is the first argument, and is followed
            let kept = usize::from(special == Special::Identity);
            return self.arguments_from(kept, target);
        }
        let recursive = self.is_recursive(row, target);
        if row.role == "scriptfile:js" && self.values.option(&target.arguments, "execPath").is_some() {
            self.unknown(&format!("the program of {name}"));
        }
        let given = row.target.as_ref().map(|place| self.values.place(place, target));
        let detail = row.detail.as_ref().and_then(|place| self.values.place(place, target));
        let detail = detail.map_or(Detail::None, |values| detail_of(&row.role, &super::fold::one(&values)));
        match given.flatten() {
            Some(values) if !row.role.is_empty() => self.emit_all(&row.role, &values, recursive, &detail, name),
            None if !row.role.is_empty() && !row.optional => {
                self.emit(&row.role, UNKNOWN_SPAN.to_string(), recursive, detail, name);
            }
            _ => {}
        }
        for part in &row.also {
            let values = self.values.place(&part.target, target).unwrap_or_else(|| vec![Value::Unknown]);
            self.emit_all(&part.role, &values, recursive, &Detail::None, name);
        }
        self.arguments(target);
    }

    /// Whether an effect reaches below its target. An option that is not constant may say so.
    fn is_recursive(&mut self, row: &Row, target: &Target<'p>) -> bool {
        match row.recursive.as_deref() {
            None => false,
            Some("always") => true,
            Some(key) => {
                let given = self.values.option(&target.arguments, key).unwrap_or_default();
                self.values.vague_options(&target.arguments)
                    || given.iter().any(|value| !matches!(value, Value::Truth(false)))
            }
        }
    }

    pub fn emit_all(&mut self, role: &str, values: &[Value<'p>], recursive: bool, detail: &Detail, via: &str) {
        for value in values {
            self.emit(role, value.show(), recursive, detail.clone(), via);
        }
    }

    pub fn emit(&mut self, role: &str, target: String, recursive: bool, detail: Detail, via: &str) {
        let target = if ON_PATH.contains(&role) { path_of(target) } else { target };
        // anything may be deleted
        let recursive = recursive || role == "delete" && target.starts_with(UNKNOWN_SPAN);
        let dynamic = target.contains(UNKNOWN_SPAN);
        let call = Call { role: role.into(), target, recursive, dynamic, detail, via: via.into() };
        // a function that is reached in two ways has two names
        let same =
            |known: &Call| known.role == call.role && known.target == call.target && known.recursive == call.recursive;
        if self.calls.iter().any(|known| same(known) && known.detail == call.detail) {
            return;
        }
        if self.calls.len() >= MAX_CALLS {
            return self.values.problems.add(Cause::Budget, "too many calls");
        }
        self.calls.push(call);
    }

    /// Reports a name that the table lacks: of an installed package, or of the language itself.
    fn missing(&mut self, name: &str) {
        let role = if name.starts_with("package ") { LIBRARY } else { "unknown" };
        self.emit(role, name.to_owned(), false, Detail::None, name);
    }

    pub fn unknown(&mut self, what: &str) {
        self.emit("unknown", what.to_owned(), false, Detail::None, what);
    }

    /// A program that changes its folder: its relative paths may be relative to any of them.
    fn folders(&mut self) {
        let folders: Vec<String> =
            self.calls.iter().filter(|call| call.role == "cwd").map(|call| call.target.clone()).collect();
        // each call may run more than once
        if folders.len() > 1 || folders.iter().any(|folder| folder.split('/').any(|part| part == "..")) {
            return self.unknown("which folder the program works in");
        }
        for folder in &folders {
            for call in self.calls.clone() {
                let target = match call.role.as_str() {
                    "script:bash" => format!("cd {} && {}", crate::reading::quote(folder), call.target),
                    role if ON_PATH.contains(&role) && !call.target.starts_with(['/', '~']) => {
                        format!("{}/{}", folder.trim_end_matches('/'), call.target)
                    }
                    _ => continue,
                };
                self.emit(&call.role, target, call.recursive, call.detail, &call.via);
            }
        }
    }

    /// Paths below a link that the program makes: those below its target.
    fn linked(&mut self) {
        let calls = self.calls.clone();
        for pair in calls.windows(2) {
            let [link, linked] = pair else { continue };
            if link.role != "link" || linked.role != "linked" {
                continue;
            }
            for call in &calls {
                let below = call.target.strip_prefix(&link.target).filter(|rest| rest.starts_with('/'));
                if let Some(below) = below.filter(|_| ON_PATH.contains(&call.role.as_str())) {
                    let target = format!("{}{below}", linked.target);
                    self.emit(&call.role, target, call.recursive, call.detail.clone(), &call.via);
                } else if call.role.starts_with("script:") && call.target.contains(&link.target) {
                    self.unknown("a command on a link that the program makes");
                }
            }
        }
    }

    /// Modules of the program that it changes before it may load them.
    fn rewritten(&mut self) {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let units: Vec<String> =
            self.values.program.units.iter().map(|unit| last(&unit.path)).filter(|name| !name.is_empty()).collect();
        let changes = ["write", "append", "overwrite", "link"];
        if self.calls.iter().any(|call| changes.contains(&call.role.as_str()) && units.contains(&last(&call.target))) {
            self.unknown("a module that the program changes");
        }
    }

    /// Entries of a folder that the program lists and then deletes or signals one by one: all of them.
    fn listed(&mut self) {
        let folders: Vec<String> =
            self.calls.iter().filter(|call| call.role == "list").map(|call| call.target.clone()).collect();
        for call in self.calls.clone() {
            if call.role == "kill"
                && call.dynamic
                && folders.iter().any(|folder| folder.trim_end_matches('/') == "/proc")
            {
                self.emit("kill", "-1".to_owned(), false, call.detail, &call.via);
            } else if call.role == "delete"
                && let Some((folder, "")) = call.target.split_once(UNKNOWN_SPAN)
                && folders.iter().any(|listed| listed.trim_end_matches('/') == folder.trim_end_matches('/'))
                && !folder.is_empty()
            {
                let folder = folder.trim_end_matches('/').to_owned();
                self.emit("delete", if folder.is_empty() { "/".into() } else { folder }, true, call.detail, &call.via);
            }
        }
    }

    /// An assignment to a member of an object: functions of the runtime, and what other modules export, may be replaced.
    fn assigned(&mut self, object: &'p Expression, key: &'p Expression, value: &'p Expression) {
        let key = super::fold::one(&self.values.settled(key));
        if matches!(key.as_str(), "__proto__" | "prototype") {
            self.values.problems.add(Cause::Dynamic, "the prototype of an object changes");
        }
        // a function of the program counts as called with anything; of a console, nobody expects an effect
        let mild = |value: &Value<'_>| {
            matches!(
                value,
                Value::Truth(_) | Value::Text(_) | Value::Texts(_) | Value::Plain | Value::Absent | Value::Function(_)
            )
        };
        let values = self.values.settled(value);
        let (all_mild, unknown) = (values.iter().all(mild), values.iter().all(|one| matches!(one, Value::Unknown)));
        for value in self.values.settled(object) {
            if let Value::Outside(name) = &value {
                self.replaces(name);
            }
            match value {
                Value::Outside(name) => match (&*name, key.as_str()) {
                    ("process", "exitCode" | "title") => {}
                    _ if all_mild => {}
                    ("console", _) if unknown => {}
                    (name, _) if name.ends_with(UNKNOWN_SPAN) => {}
                    _ => self.values.problems.add(Cause::Dynamic, format!("{name}.{key} changes")),
                },
                Value::Unit(_) => self.values.problems.add(Cause::Dynamic, "what another module exports changes"),
                _ => {}
            }
        }
    }

    /// Records that the program may replace a function of the runtime: the values that it reads are unknown from then on.
    fn replaces(&mut self, name: &str) {
        let first = name.split('.').next().unwrap_or_default();
        self.replaced |= !["console", "document", "exports", "module", "process"].contains(&first);
    }

    /// An assignment to a variable of the environment, which programs that it starts get.
    fn environment(&mut self, name: &'p Expression, value: &'p Expression) {
        let value = super::fold::one(&self.values.settled(value));
        for name in self.values.settled(name) {
            let shown = name.show();
            if VARIABLES.contains(&shown.as_str()) || shown.contains(UNKNOWN_SPAN) {
                self.unknown(&format!("process.env.{shown} changes"));
            }
            self.emit("variable", name.show(), false, Detail::Value(value.clone()), "process.env");
        }
    }
}

/// The path of a `file:` URL.
pub fn path_of(target: String) -> String {
    if !target.starts_with("file:") {
        return target;
    }
    let path = url::Url::parse(&target).ok().and_then(|url| url.to_file_path().ok());
    path.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| UNKNOWN_SPAN.to_string())
}

/// The detail of an effect: its mode in octal, or its owner.
fn detail_of(role: &str, text: &str) -> Detail {
    let number =
        text.strip_prefix("0o").and_then(|octal| u32::from_str_radix(octal, 8).ok()).or_else(|| text.parse().ok());
    let attribute = match (role, number) {
        ("chown", _) => Attribute::Owner(text.to_owned()),
        (_, Some(mode)) if text.starts_with("0o") || !text.starts_with('0') => Attribute::Mode(format!("{mode:o}")),
        _ => Attribute::Mode(text.to_owned()),
    };
    Detail::Attributes(vec![attribute])
}
