//! Imports and exports. A module of the project is read; the name of any other is a name outside the program.

use super::data::of_json;
use super::{File, field, named};
use crate::Cause;
use crate::code::expression::Expression;
use crate::code::{Loaded, folder};
use crate::tree::Node;

/// Endings that a specifier may leave out, and files that stand for a folder.
const ENDINGS: [&str; 14] = [
    "",
    ".ts",
    ".tsx",
    ".mts",
    ".cts",
    ".js",
    ".mjs",
    ".cjs",
    ".jsx",
    ".json",
    "/index.ts",
    "/index.tsx",
    "/index.js",
    "/index.mjs",
];

impl File<'_, '_, '_> {
    /// The value of a module.
    pub fn module(&mut self, specifier: &str) -> Expression {
        let name = specifier;
        if name.starts_with('#')
            || name.contains(['?', '%'])
            || name.contains(':')
                && !self.reader.table.is_own(name)
                && !name.starts_with("npm:")
                && !name.starts_with("jsr:")
        {
            self.program().problems.add(Cause::Dynamic, format!("cannot find the module {name}"));
            return Expression::Unknown;
        }
        if !name.starts_with(['.', '/']) {
            return Expression::Outside(self.reader.table.module(name).into());
        }
        let own = self.reader.program.units.get(self.unit).map(|unit| unit.path.clone()).unwrap_or_default();
        let path = if name.starts_with('/') { name.to_owned() } else { format!("{}/{name}", folder(&own)) };
        let path = crate::shell::tidy(&path);
        // `./a.js` may be compiled from `./a.ts`
        let typed = path.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
        let plain = ENDINGS.iter().map(|ending| format!("{path}{ending}"));
        let mut unreadable = false;
        for candidate in plain.chain(typed) {
            if let Some(unit) = self.reader.loaded.get(&candidate) {
                return Expression::Unit(*unit);
            }
            match self.reader.loader.load(&candidate) {
                Loaded::Text(text) if candidate.ends_with(".json") => {
                    if !self.reader.settings {
                        return Expression::Unknown;
                    }
                    self.reader.program.settings.push(candidate);
                    return of_json(&text).unwrap_or(Expression::Unknown);
                }
                Loaded::Text(text) => return Expression::Unit(self.reader.unit(&candidate, &text)),
                // a folder
                Loaded::Unreadable if candidate == path => unreadable = true,
                Loaded::Unreadable => {
                    self.program().problems.add(Cause::Dynamic, format!("cannot read {candidate}"));
                    return Expression::Unknown;
                }
                Loaded::Missing => {}
            }
        }
        if unreadable {
            self.program().problems.add(Cause::Dynamic, format!("cannot read {path}"));
            return Expression::Unknown;
        }
        // the program ends where it loads a file that is not there
        Expression::Plain
    }

    pub fn import(&mut self, node: Node<'_>) {
        if node.children().any(|child| child.kind() == "type") {
            return;
        }
        // `import fs = require("fs")`
        if let Some(clause) = named(node).into_iter().find(|child| child.kind() == "import_require_clause") {
            let source = field(clause, "source").map(|source| self.constant(source)).unwrap_or_default();
            let module = self.module(&source);
            clause.named_child(0).into_iter().for_each(|name| self.assign(name, module.clone()));
            return;
        }
        let Some(source) = field(node, "source") else { return };
        let source = self.constant(source);
        let module = self.module(&source);
        let clause = named(node).into_iter().find(|child| child.kind() == "import_clause");
        for part in clause.map(named).unwrap_or_default() {
            match part.kind() {
                "identifier" => self.assign(part, member(&module, "default")),
                "namespace_import" => {
                    part.named_child(0).into_iter().for_each(|name| self.assign(name, module.clone()));
                }
                "named_imports" => {
                    for one in named(part) {
                        let name = field(one, "name").map(|name| self.constant(name)).unwrap_or_default();
                        let local = field(one, "alias").or_else(|| field(one, "name"));
                        local.into_iter().for_each(|local| self.assign(local, member(&module, &name)));
                    }
                }
                _ => {}
            }
        }
    }

    pub fn export(&mut self, node: Node<'_>) {
        if let Some(source) = field(node, "source") {
            let source = self.constant(source);
            let module = self.module(&source);
            return self.export_from(node, &module);
        }
        let is_default = self
            .of(node)
            .trim_start()
            .strip_prefix("export")
            .is_some_and(|rest| rest.trim_start().starts_with("default"));
        if let Some(value) = field(node, "value") {
            let value = self.expression(value);
            return self.exports("default", value);
        }
        if let Some(declaration) = field(node, "declaration") {
            self.statement(declaration);
            let declared: Vec<Node<'_>> = match declaration.kind() {
                "lexical_declaration" | "variable_declaration" => {
                    declaration.named_children().filter_map(|declarator| field(declarator, "name")).collect()
                }
                _ => field(declaration, "name").into_iter().collect(),
            };
            return declared.into_iter().for_each(|name| self.export_names(name, is_default));
        }
        for clause in named(node) {
            match clause.kind() {
                "export_clause" => {
                    for one in named(clause) {
                        let name = field(one, "name").map(|name| self.constant(name)).unwrap_or_default();
                        let alias = field(one, "alias").map(|alias| self.constant(alias));
                        let value = self.name(&name);
                        self.exports(&alias.unwrap_or(name), value);
                    }
                }
                // `export = value`
                _ => {
                    let value = self.expression(clause);
                    self.exports("module.exports", value);
                }
            }
        }
    }

    fn export_from(&mut self, node: Node<'_>, module: &Expression) {
        let clauses: Vec<Node<'_>> = named(node)
            .into_iter()
            .filter(|child| matches!(child.kind(), "export_clause" | "namespace_export"))
            .collect();
        if clauses.is_empty() {
            let unit = self.unit;
            match module {
                Expression::Unit(other) => {
                    let other = *other;
                    self.program().units.get_mut(unit).into_iter().for_each(|unit| unit.passes.push(other));
                }
                // everything that a module outside the program exports
                other => self.exports("*", other.clone()),
            }
            return;
        }
        for clause in clauses {
            if clause.kind() == "namespace_export" {
                let name = clause.named_child(0).map(|name| self.constant(name)).unwrap_or_default();
                self.exports(&name, module.clone());
                continue;
            }
            for one in named(clause) {
                let name = field(one, "name").map(|name| self.constant(name)).unwrap_or_default();
                let alias = field(one, "alias").map(|alias| self.constant(alias));
                let value = member(module, &name);
                self.exports(&alias.unwrap_or(name), value);
            }
        }
    }

    fn export_names(&mut self, pattern: Node<'_>, is_default: bool) {
        let mut open = vec![pattern];
        while let Some(node) = open.pop() {
            match node.kind() {
                "identifier" | "shorthand_property_identifier_pattern" | "type_identifier" => {
                    let name = self.of(node).to_owned();
                    let value = self.name(&name);
                    self.exports(if is_default { "default" } else { &name }, value);
                }
                _ => open.extend(named(node)),
            }
        }
    }

    /// Adds what this file exports under a name.
    pub fn exports(&mut self, name: &str, value: Expression) {
        let unit = self.unit;
        if self.namespaces > 0 {
            return self.program().assign_field(name, value);
        }
        if let Some(unit) = self.program().units.get_mut(unit) {
            unit.exports.entry(name.to_owned()).or_default().push(value);
        }
    }
}

/// A member of a module.
fn member(module: &Expression, name: &str) -> Expression {
    match module {
        Expression::Unit(unit) => Expression::Export(*unit, name.into()),
        // the default export of a module that Node.js provides is the module itself
        Expression::Outside(_) if name == "default" => module.clone(),
        other => Expression::member(other.clone(), name),
    }
}
