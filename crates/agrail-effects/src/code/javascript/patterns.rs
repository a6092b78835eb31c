//! Assignments to names, members and patterns.

use super::{File, field, named};
use crate::code::expression::Expression;
use crate::tree::Node;

impl File<'_, '_, '_> {
    /// Assigns a value to what a pattern names.
    pub fn assign(&mut self, pattern: Node<'_>, value: Expression) {
        if !self.enter() {
            return;
        }
        match pattern.kind() {
            "identifier" | "shorthand_property_identifier_pattern" | "type_identifier" => {
                let name = self.of(pattern).to_owned();
                self.assign_name(&name, value);
            }
            "required_parameter" | "optional_parameter" | "parenthesized_expression" | "non_null_expression" => {
                let mut value = value;
                if let Some(default) = field(pattern, "value") {
                    let default = self.expression(default);
                    let inner = field(pattern, "pattern");
                    inner.into_iter().for_each(|inner| self.assign(inner, default.clone()));
                    value = Expression::Given(Box::new(value));
                }
                let inner = field(pattern, "pattern").or_else(|| pattern.named_child(0));
                inner.into_iter().for_each(|inner| self.assign(inner, value.clone()));
            }
            "assignment_pattern" | "object_assignment_pattern" => {
                let default = field(pattern, "right").map(|right| self.expression(right));
                if let Some(left) = field(pattern, "left") {
                    // `{a = 1}` takes the member `a`, as `{a}` does
                    let value = if pattern.kind() == "object_assignment_pattern" {
                        Expression::member(value, self.of(left))
                    } else {
                        value
                    };
                    self.assign(left, Expression::Given(Box::new(value)));
                    default.into_iter().for_each(|default| self.assign(left, default));
                }
            }
            "object_pattern" => named(pattern).into_iter().for_each(|part| self.assign_member_of(part, &value)),
            "array_pattern" => self.assign_elements(pattern, &value),
            "rest_pattern" => {
                pattern.named_child(0).into_iter().for_each(|inner| self.assign(inner, value.clone()));
            }
            "member_expression" | "subscript_expression" => match self.expression(pattern) {
                Expression::Member(object, key) => self.assign_member(*object, *key, value),
                // `module.exports = value`
                Expression::Unit(_) => self.exports("module.exports", value),
                _ => self.program().escapes.push(value),
            },
            _ => {
                self.expression(pattern);
                self.program().escapes.push(value);
            }
        }
        self.depth -= 1;
    }

    /// Assigns the elements of a list.
    fn assign_elements(&mut self, pattern: Node<'_>, value: &Expression) {
        let written = self.of(pattern).to_owned();
        // `[, b]` has a hole that is no node
        let holes = written.contains(",,") || written.trim_start_matches('[').trim_start().starts_with(',');
        for (at, part) in named(pattern).into_iter().enumerate() {
            let inner = if part.kind() == "rest_pattern" { part.named_child(0).unwrap_or(part) } else { part };
            let value = match part.kind() {
                "rest_pattern" if holes => Expression::List(vec![Expression::Spread(Box::new(value.clone()))]),
                "rest_pattern" => Expression::Tail(Box::new(value.clone()), at),
                _ if holes => Expression::Element(Box::new(value.clone())),
                _ => Expression::member(value.clone(), &at.to_string()),
            };
            self.assign(inner, value);
        }
    }

    fn assign_name(&mut self, name: &str, value: Expression) {
        match self.name(name) {
            Expression::Variable(variable) => self.program().assign(variable, value),
            // a global variable
            _ if self.reader.program.units.get(self.unit).is_some() => {
                let scope = self.scopes.first().and_then(|scope| scope.get(name)).copied();
                let variable = scope.unwrap_or_else(|| {
                    let variable = self.program().variable();
                    if let Some(scope) = self.scopes.first_mut() {
                        scope.insert(name.to_owned(), variable);
                    }
                    variable
                });
                self.program().assign(variable, Expression::Outside(name.into()));
                self.program().assign(variable, value);
            }
            _ => {}
        }
    }

    /// Assigns what a part of an object pattern takes from a value.
    fn assign_member_of(&mut self, part: Node<'_>, value: &Expression) {
        match part.kind() {
            "shorthand_property_identifier_pattern" => {
                let member = Expression::member(value.clone(), self.of(part));
                self.assign(part, member);
            }
            "pair_pattern" => {
                let key = field(part, "key").map_or(Expression::Unknown, |key| self.key(key));
                let member = Expression::Member(Box::new(value.clone()), Box::new(key));
                field(part, "value").into_iter().for_each(|inner| self.assign(inner, member.clone()));
            }
            _ => self.assign(part, value.clone()),
        }
    }

    /// Assigns a member of an object.
    fn assign_member(&mut self, object: Expression, key: Expression, value: Expression) {
        let own = self.unit;
        if let Expression::Member(outer, inner) = &object
            && matches!((&**outer, &**inner), (Expression::Outside(name), Expression::Text(key))
                if matches!(&**name, "process" | "Bun" | "import.meta") && &**key == "env")
        {
            self.program().environment.push((key, value));
            return;
        }
        match (&object, &key) {
            // `exports.name = ...`
            (Expression::Unit(unit), Expression::Text(name)) if *unit == own => return self.exports(name, value),
            // the members of another module change
            _ => {}
        }
        self.program().assigned.push((object, key.clone(), value.clone()));
        match key {
            Expression::Text(key) => self.program().assign_field(&key, value),
            // elements of a list
            _ => self.program().assign_field("", value),
        }
    }
}
