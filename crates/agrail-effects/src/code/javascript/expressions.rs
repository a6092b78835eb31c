//! Expressions: the value of each, and the calls in it.

use super::declared::FUNCTIONS;
use super::{File, field, named};
use crate::code::expression::Expression;
use crate::tree::Node;

impl File<'_, '_, '_> {
    /// Reads an expression.
    pub fn expression(&mut self, node: Node<'_>) -> Expression {
        if !self.enter() {
            return Expression::Unknown;
        }
        let value = stacker::maybe_grow(crate::code::STACK.0, crate::code::STACK.1, || self.value(node));
        self.depth -= 1;
        value
    }

    fn value(&mut self, node: Node<'_>) -> Expression {
        match node.kind() {
            "identifier" | "shorthand_property_identifier" => {
                let name = self.of(node).to_owned();
                self.name(&name)
            }
            "string" => Expression::text(&self.constant(node)),
            "template_string" => self.template(node),
            "number" => Expression::text(self.of(node)),
            kind @ ("true" | "false") => Expression::Truth(kind == "true"),
            "this" if self.this.last() == Some(&true) => Expression::This,
            "null" | "regex" | "this" | "super" => Expression::Plain,
            "undefined" => Expression::Absent,
            "array" => self.list(node),
            "object" => self.object(node),
            "call_expression" | "new_expression" => self.call(node),
            "member_expression" | "subscript_expression" => self.member(node),
            "class" => self.class(node),
            kind if FUNCTIONS.contains(&kind) => self.function(node),
            "assignment_expression" | "augmented_assignment_expression" => self.assignment(node),
            "binary_expression" => self.binary(node),
            "ternary_expression" => self.either(node, &["consequence", "alternative"]),
            // the last of several, or the only one; types are not values
            "parenthesized_expression"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression"
            | "await_expression"
            | "instantiation_expression" => {
                let mut children = named(node).into_iter();
                children.next().map_or(Expression::Unknown, |inner| self.expression(inner))
            }
            "type_assertion" | "sequence_expression" => {
                let mut value = Expression::Plain;
                for child in named(node).into_iter().filter(|child| child.kind() != "type_arguments") {
                    value = self.expression(child);
                }
                value
            }
            "meta_property" => Expression::Outside(self.of(node).into()),
            "spread_element" => self.item(node),
            "import" => Expression::Outside("import".into()),
            _ => self.rare_value(node),
        }
    }

    /// Numbers that are computed, and what is handed to where it is not followed.
    fn rare_value(&mut self, node: Node<'_>) -> Expression {
        match node.kind() {
            "yield_expression" => {
                for child in named(node) {
                    let value = self.expression(child);
                    self.returns(Expression::List(vec![value]));
                }
                Expression::Unknown
            }
            "unary_expression"
                if self.of(node).starts_with('-')
                    && node.named_child(0).is_some_and(|inner| inner.kind() == "number") =>
            {
                Expression::text(self.of(node))
            }
            // `i++`: some other number
            "update_expression" => {
                field(node, "argument").into_iter().for_each(|counter| self.assign(counter, Expression::Plain));
                Expression::Plain
            }
            "unary_expression" => {
                named(node).into_iter().for_each(|child| drop(self.expression(child)));
                Expression::Plain
            }
            _ => {
                self.escaping(node);
                Expression::Unknown
            }
        }
    }

    /// Reads a node whose parts are handed to where they are not followed.
    pub fn escaping(&mut self, node: Node<'_>) {
        for child in named(node) {
            if child.kind().ends_with("_statement") || child.kind().ends_with("_declaration") {
                self.statement(child);
            } else if node.kind().starts_with("jsx_")
                && child.kind() == "identifier"
                && self.of(child).starts_with(|first: char| first.is_lowercase())
            {
                // an element of a page
            } else if child.named_child_count() > 0 || child.kind() == "identifier" {
                let value = self.expression(child);
                self.program().escapes.push(value);
            }
        }
    }

    fn either(&mut self, node: Node<'_>, parts: &[&str]) -> Expression {
        field(node, "condition").into_iter().for_each(|condition| drop(self.expression(condition)));
        let values = parts.iter().filter_map(|part| field(node, part)).collect::<Vec<_>>();
        Expression::Either(values.into_iter().map(|value| self.expression(value)).collect())
    }

    fn binary(&mut self, node: Node<'_>) -> Expression {
        let operator = field(node, "operator").map(|operator| self.of(operator).to_owned()).unwrap_or_default();
        let mut sides = Vec::new();
        // `a + b + c + ...` nests to the left, as deep as it is long
        let mut rest = Some(node);
        while let Some(inner) = rest.take() {
            sides.extend(field(inner, "right"));
            match field(inner, "left") {
                Some(left)
                    if left.kind() == "binary_expression"
                        && field(left, "operator").is_some_and(|inner| self.of(inner) == operator) =>
                {
                    rest = Some(left);
                }
                left => sides.extend(left),
            }
        }
        sides.reverse();
        let sides: Vec<Expression> = sides.into_iter().map(|side| self.expression(side)).collect();
        match operator.as_str() {
            "+" => Expression::Join(sides),
            "||" | "&&" | "??" => Expression::Either(sides),
            _ => Expression::Plain,
        }
    }

    fn assignment(&mut self, node: Node<'_>) -> Expression {
        let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else { return Expression::Unknown };
        let right = self.expression(right);
        let value = match field(node, "operator").map(|operator| self.of(operator).to_owned()).as_deref() {
            Some("+=") => Expression::Join(vec![self.expression(left), right]),
            None | Some("||=" | "&&=" | "??=") => right,
            Some(_) => Expression::Plain,
        };
        self.assign(left, value.clone());
        value
    }

    fn member(&mut self, node: Node<'_>) -> Expression {
        let object = field(node, "object").map_or(Expression::Unknown, |object| self.expression(object));
        let key = match (field(node, "property"), field(node, "index")) {
            (Some(name), _) => Expression::text(self.of(name)),
            (_, Some(index)) => self.expression(index),
            _ => Expression::Unknown,
        };
        if matches!(&key, Expression::Text(key) if &**key == "stdin") && !matches!(object, Expression::Outside(_)) {
            self.program().pipes = true;
        }
        match (&object, &key) {
            (Expression::Outside(name), Expression::Text(key)) if &**name == "module" && &**key == "exports" => {
                Expression::Unit(self.unit)
            }
            (Expression::Outside(name), Expression::Text(key)) if &**name == "import.meta" => self.meta(key),
            _ => Expression::Member(Box::new(object), Box::new(key)),
        }
    }

    /// `import.meta.dir` and the like.
    fn meta(&mut self, key: &str) -> Expression {
        match key {
            "dir" | "dirname" => self.outside("__dirname"),
            "path" | "filename" | "url" => self.outside("__filename"),
            "main" => Expression::Plain,
            _ => Expression::member(Expression::Outside("import.meta".into()), key),
        }
    }

    fn call(&mut self, node: Node<'_>) -> Expression {
        let callee = field(node, "function").or_else(|| field(node, "constructor"));
        // `await (x)` outside of a function parses as a call
        if callee.is_some_and(|callee| self.of(callee) == "await") {
            let inner = field(node, "arguments").and_then(|list| list.named_child(0));
            return inner.map_or(Expression::Unknown, |inner| self.expression(inner));
        }
        let callee = callee.map_or(Expression::Unknown, |callee| self.expression(callee));
        let arguments = match field(node, "arguments") {
            Some(template) if template.kind() == "template_string" => {
                // a function of the program gets the values one by one, after the texts
                let whole = self.template(template);
                let parts = match &whole {
                    Expression::Join(parts) => parts.clone(),
                    _ => Vec::new(),
                };
                // in which order does not matter
                [whole, Expression::Spread(Box::new(Expression::Unknown))].into_iter().chain(parts).collect()
            }
            Some(list) => named(list).into_iter().map(|argument| self.item(argument)).collect(),
            None => Vec::new(),
        };
        if let (Expression::Outside(name), Some(Expression::Text(specifier))) = (&callee, arguments.first())
            && matches!(&**name, "require" | "import")
        {
            let specifier = specifier.to_string();
            return self.module(&specifier);
        }
        let unit = self.unit;
        self.program().call(callee, arguments, unit)
    }
}
