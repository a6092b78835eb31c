//! The names that a function declares.

use super::{File, field, named};
use crate::tree::Node;

/// Nodes that begin a function of their own.
pub const FUNCTIONS: [&str; 7] = [
    "function_declaration",
    "generator_function_declaration",
    "function_expression",
    "generator_function",
    "arrow_function",
    "method_definition",
    "class_static_block",
];

/// Nodes whose declarations are not those of the whole function.
const BLOCKS: [&str; 9] = [
    "statement_block",
    "for_statement",
    "for_in_statement",
    "switch_body",
    "catch_clause",
    "class_body",
    "class",
    "internal_module",
    "module",
];

impl File<'_, '_, '_> {
    /// Declares everything that a node declares in the innermost function, however deep.
    ///
    /// A name that a block declares is one of the whole function here. Outside of the block it may be another one, so
    /// that the variable also holds what the name means there.
    pub fn declare(&mut self, root: Node<'_>) {
        let mut open = vec![(root, false)];
        while let Some((node, inner)) = open.pop() {
            let inner = inner || node != root && BLOCKS.contains(&node.kind());
            let before = std::mem::replace(&mut self.shadows, inner && !is_hoisted(node));
            self.declare_one(node);
            self.shadows = before;
            if node == root || !FUNCTIONS.contains(&node.kind()) {
                open.extend(named(node).into_iter().map(|child| (child, inner)));
            }
        }
    }

    fn declare_one(&mut self, node: Node<'_>) {
        match node.kind() {
            "variable_declarator" => self.bind_names(field(node, "name")),
            "catch_clause" => self.bind_names(field(node, "parameter")),
            // `for (const x of xs)`; without a keyword the name is declared elsewhere
            "for_in_statement" if field(node, "kind").is_some() => self.bind_names(field(node, "left")),
            "import_specifier" => self.bind_names(field(node, "alias").or_else(|| field(node, "name"))),
            "import_clause" | "namespace_import" | "import_require_clause" => {
                named(node).into_iter().filter(|child| child.kind() == "identifier").for_each(|name| {
                    self.bind_names(Some(name));
                });
            }
            "function_declaration"
            | "generator_function_declaration"
            | "class_declaration"
            | "abstract_class_declaration"
            | "enum_declaration"
            | "internal_module"
            | "module"
            | "import_alias" => self.bind_names(field(node, "name").or_else(|| node.named_child(0))),
            _ => {}
        }
    }

    /// Declares the names of a pattern.
    pub fn bind_names(&mut self, pattern: Option<Node<'_>>) {
        let Some(pattern) = pattern else { return };
        let mut open = vec![pattern];
        while let Some(node) = open.pop() {
            match node.kind() {
                "identifier" | "shorthand_property_identifier_pattern" | "type_identifier" => {
                    let name = self.of(node).to_owned();
                    self.add(&name);
                }
                "pair_pattern" => open.extend(field(node, "value")),
                "assignment_pattern" | "object_assignment_pattern" => open.extend(field(node, "left")),
                "required_parameter" | "optional_parameter" => open.extend(field(node, "pattern")),
                _ => open.extend(named(node)),
            }
        }
    }
}

/// Whether a declaration is one of the whole function: `var`.
fn is_hoisted(node: Node<'_>) -> bool {
    node.kind() == "variable_declarator" && node.parent().is_some_and(|parent| parent.kind() == "variable_declaration")
}
