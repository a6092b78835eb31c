//! Literals: texts, templates, objects, lists.

use super::{File, field, named};
use crate::Cause;
use crate::code::expression::Expression;
use crate::tree::Node;

impl File<'_, '_, '_> {
    /// The text of a string, or of a name that stands for itself; empty if it is not constant.
    pub fn constant(&mut self, node: Node<'_>) -> String {
        match node.kind() {
            "string" => named(node).into_iter().map(|part| self.part(part)).collect(),
            _ => self.of(node).to_owned(),
        }
    }

    /// A part of a string or template.
    fn part(&self, node: Node<'_>) -> String {
        let text = self.of(node);
        if node.kind() == "escape_sequence" { unescape(text) } else { text.to_owned() }
    }

    /// A key of an object or class.
    pub fn key(&mut self, node: Node<'_>) -> Expression {
        match node.kind() {
            "computed_property_name" => node.named_child(0).map_or(Expression::Unknown, |inner| self.expression(inner)),
            _ => Expression::text(&self.constant(node)),
        }
    }

    pub fn template(&mut self, node: Node<'_>) -> Expression {
        let mut parts = Vec::new();
        for part in named(node) {
            parts.push(match part.kind() {
                "template_substitution" => {
                    part.named_child(0).map_or(Expression::Unknown, |inner| self.expression(inner))
                }
                _ => Expression::text(&self.part(part)),
            });
        }
        match parts.len() {
            0 => Expression::text(""),
            _ => Expression::Join(parts),
        }
    }

    pub fn list(&mut self, node: Node<'_>) -> Expression {
        Expression::List(named(node).into_iter().map(|item| self.item(item)).collect())
    }

    /// An element of a list, or an argument.
    pub fn item(&mut self, node: Node<'_>) -> Expression {
        if node.kind() == "spread_element" {
            let inner = node.named_child(0).map_or(Expression::Unknown, |inner| self.expression(inner));
            return Expression::Spread(Box::new(inner));
        }
        self.expression(node)
    }

    /// Notes a member of an object: calls find a method by its name; loops find `[Symbol.iterator]`.
    fn member_with(&mut self, key: &Expression, value: &Expression) {
        match key {
            Expression::Text(key) if &**key == "__proto__" => {
                self.program().problems.add(Cause::Dynamic, "the prototype of an object changes")
            }
            Expression::Text(_) => {}
            _ => self.program().escapes.push(value.clone()),
        }
        self.method(key, value, None);
    }

    pub fn object(&mut self, node: Node<'_>) -> Expression {
        let mut items = Vec::new();
        for item in named(node) {
            match item.kind() {
                "pair" => {
                    let key = field(item, "key").map_or(Expression::Unknown, |key| self.key(key));
                    let value = field(item, "value").map_or(Expression::Unknown, |value| self.expression(value));
                    self.member_with(&key, &value);
                    items.push((key, value));
                }
                "shorthand_property_identifier" => {
                    let name = self.of(item).to_owned();
                    items.push((Expression::text(&name), self.name(&name)));
                }
                "method_definition" => {
                    let function = self.function(item);
                    let key = field(item, "name").map_or(Expression::Unknown, |name| self.key(name));
                    match accessor(item) {
                        Some("get") => {
                            let unit = self.unit;
                            items.push((key, self.program().call(function, Vec::new(), unit)));
                        }
                        Some(_) => {
                            let name = match &key {
                                Expression::Text(name) => name.to_string(),
                                _ => String::new(),
                            };
                            self.setter(&name, function);
                        }
                        None => {
                            self.member_with(&key, &function);
                            items.push((key, function));
                        }
                    }
                }
                "spread_element" => {
                    let Expression::Spread(inner) = self.item(item) else { continue };
                    items.push((Expression::Spread(Box::new(Expression::Unknown)), *inner));
                }
                _ => self.escaping(item),
            }
        }
        for (key, _) in &items {
            let key = match key {
                Expression::Text(key) => key.to_string(),
                _ => String::new(),
            };
            self.program().keys.insert(key);
        }
        Expression::Record(items)
    }
}

/// `get` or `set` before the name of a method.
pub fn accessor(method: Node<'_>) -> Option<&'static str> {
    method.children().find_map(|child| match child.kind() {
        "get" => Some("get"),
        "set" => Some("set"),
        _ => None,
    })
}

/// The character of an escape sequence.
fn unescape(text: &str) -> String {
    let body = text.strip_prefix('\\').unwrap_or(text);
    let code = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).map(String::from);
    let octal = |digits: &str| u32::from_str_radix(digits, 8).ok().and_then(char::from_u32).map(String::from);
    let found = match body.chars().next() {
        Some('n') => Some("\n".to_owned()),
        Some('t') => Some("\t".to_owned()),
        Some('r') => Some("\r".to_owned()),
        Some('b') => Some("\u{8}".to_owned()),
        Some('f') => Some("\u{c}".to_owned()),
        Some('v') => Some("\u{b}".to_owned()),
        Some('\n' | '\r' | '\u{2028}' | '\u{2029}') => Some(String::new()),
        Some('x') => code(body.get(1..).unwrap_or_default()),
        Some('u') => code(body.get(1..).unwrap_or_default().trim_start_matches('{').trim_end_matches('}')),
        Some('0'..='7') => octal(body),
        _ => Some(body.to_owned()),
    };
    found.unwrap_or_else(|| crate::UNKNOWN_SPAN.to_string())
}
