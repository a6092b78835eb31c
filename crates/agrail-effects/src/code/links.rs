//! Which arguments reach which parameters.

use super::arguments::{Argument, Target};
use super::expression::Expression;
use super::values::{Items, Value, Values};
use foldhash::HashSet;

/// Methods that call a function with each element of their list.
pub const EACH: [&str; 8] = ["forEach", "map", "filter", "find", "findIndex", "some", "every", "flatMap"];

/// Functions that may be called with anything.
#[derive(Debug, Default)]
pub struct Links {
    pub open: HashSet<usize>,
    /// Functions whose results are handed to where they are not followed.
    pub handed: HashSet<usize>,
}

impl<'p> Values<'p> {
    /// Gives the arguments of a call to the parameters of the functions that get them.
    pub fn link(&mut self, target: &Target<'p>) {
        self.note_change(target);
        if let Value::Function(function) = target.callee {
            return self.link_own(function, target);
        }
        let is_list = matches!(target.receiver, Some(Value::List(_)));
        let each = is_list && target.name.as_deref().is_some_and(|name| EACH.contains(&name));
        for (position, argument) in target.arguments.iter().enumerate() {
            if let Argument::One(expression) | Argument::Rest(expression) = argument {
                match target.receiver {
                    Some(Value::List(items)) if each && position == 0 => self.link_each(items, expression),
                    // the function gets what the promise holds
                    Some(_) if position == 0 && target.name.as_deref() == Some("then") => {
                        self.link_then(target, expression);
                    }
                    _ => self.open_all(expression),
                }
            }
        }
        if let Some(Argument::One(this)) = target.this {
            self.open_all(this);
        }
    }

    /// A call of a function of the program.
    fn link_own(&mut self, function: usize, target: &Target<'p>) {
        let program = self.program;
        let Some(own) = program.functions.get(function) else { return };
        let (values, more) = self.each(&target.arguments);
        for (position, parameter) in own.parameters.iter().enumerate() {
            if own.rest && position + 1 == own.parameters.len() {
                let rest = target.written.and_then(|call| Some(Items::of(call, call.arguments.get(position..)?)));
                let rest = rest.map(Value::List);
                let unknown = (more || rest.is_none()).then_some(Value::Unknown);
                self.give(*parameter, rest.into_iter().chain(unknown).collect());
            } else if let Some(values) = values.get(position) {
                self.give(*parameter, values.clone());
            } else if more {
                // of spread arguments, any may arrive anywhere
                for argument in &target.arguments {
                    if let Argument::Rest(list) = argument {
                        let elements = self.element(list);
                        self.give(*parameter, elements);
                    } else if let Argument::One(one) = argument {
                        let value = self.of(one);
                        self.give(*parameter, value);
                    }
                }
                self.give(*parameter, vec![Value::Unknown]);
            }
        }
    }

    /// A method of a list that calls a function with each element.
    fn link_each(&mut self, items: Items<'p, Expression>, callback: &'p Expression) {
        let program = self.program;
        for value in self.of(callback) {
            let Value::Function(function) = value else { continue };
            self.links.handed.insert(function);
            let Some(own) = program.functions.get(function) else { continue };
            for (position, parameter) in own.parameters.iter().enumerate() {
                let given = if position == 0 { self.elements(items) } else { vec![Value::Unknown] };
                self.give(*parameter, given);
            }
        }
    }

    /// A function that gets what a promise holds.
    fn link_then(&mut self, target: &Target<'p>, callback: &'p Expression) {
        let held = target.object.map(|object| self.of(object)).unwrap_or_default();
        for value in self.of(callback) {
            let Value::Function(function) = value else { continue };
            let first = self.program.functions.get(function).and_then(|own| own.parameters.first());
            if let Some(parameter) = first.copied() {
                self.give(parameter, held.clone());
            }
        }
        self.open_all(callback);
    }

    /// Opens the functions that the program hands to where they are not followed.
    pub fn link_escapes(&mut self) {
        let program = self.program;
        program.escapes.iter().for_each(|expression| self.open_all(expression));
        program.fields.values().for_each(|expression| self.open_all(expression));
        program.overrides.iter().for_each(|function| self.open(*function));
        if self.vague {
            program.methods.values().flatten().for_each(|function| self.open(*function));
        }
    }

    /// Opens all functions that an expression may be or contain.
    fn open_all(&mut self, expression: &'p Expression) {
        for value in self.within(expression) {
            if let Value::Function(function) = value {
                self.open(function);
            }
        }
    }

    /// Notes that a function may be called with anything.
    fn open(&mut self, function: usize) {
        let program = self.program;
        let Some(own) = program.functions.get(function) else { return };
        if self.links.open.insert(function) {
            self.changed = true;
            own.parameters.iter().for_each(|parameter| self.give(*parameter, vec![Value::Unknown]));
        }
        let inner: Vec<Value<'p>> = own.returns.iter().flat_map(|returned| self.within(returned)).collect();
        for value in inner {
            if let Value::Function(inner) = value
                && !self.links.open.contains(&inner)
            {
                self.open(inner);
            }
        }
    }
}
