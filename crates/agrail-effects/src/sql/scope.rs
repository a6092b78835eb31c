//! Resolves names to tables.

use super::{POSSIBLE, Reader};
use crate::{Cause, Verb};
use sqlparser::ast::{Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins};

/// The meaning of a name in a FROM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A table of the database.
    Table(String),
    /// A subquery, common table expression or function, with its columns if they are known. The tables that it reads
    /// count where they are written.
    Derived(Option<Vec<String>>),
}

/// One level of name resolution.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Alias or name, and its source.
    pub sources: Vec<(String, Source)>,
    /// Common table expressions of this query: name, columns, and the address of the body in memory.
    pub ctes: Vec<(String, Option<Vec<String>>, usize)>,
    /// How many of the next outer query's common table expressions are visible here.
    pub visible: Option<usize>,
    /// Whether this is the scope of a query: it contains common table expressions, and tables only for its ORDER BY.
    pub query: bool,
    /// Names of the result columns of a query.
    pub results: Vec<String>,
}

impl Reader {
    /// Finds a common table expression by name, innermost scope first.
    fn derived(&self, name: &str) -> Option<Option<Vec<String>>> {
        let mut limit = None;
        for scope in self.scopes.iter().rev().filter(|s| s.query) {
            let known = scope.ctes.get(..limit.unwrap_or(scope.ctes.len())).unwrap_or(&scope.ctes);
            if let Some((_, columns, _)) = known.iter().rev().find(|(known, ..)| known == name) {
                return Some(columns.clone());
            }
            limit = scope.visible;
        }
        None
    }

    /// The names of the tables in a FROM, with their sources.
    pub(super) fn sources(&mut self, from: &[TableWithJoins]) -> Vec<(String, Source)> {
        let mut sources = Vec::new();
        for item in from {
            for factor in std::iter::once(&item.relation).chain(item.joins.iter().map(|j| &j.relation)) {
                self.factor(factor, &mut sources);
            }
        }
        sources
    }

    fn factor(&mut self, factor: &TableFactor, sources: &mut Vec<(String, Source)>) {
        match factor {
            TableFactor::Table { name, alias, args, .. } => {
                let Some(table) = super::table_name(name) else {
                    return self.unknown(Cause::Dynamic, "the name of a table is computed");
                };
                let called = alias.as_ref().map_or_else(
                    || table.rsplit('.').next().unwrap_or_default().to_owned(),
                    |a| a.name.value.to_lowercase(),
                );
                let derived = (name.0.len() == 1).then(|| self.derived(&table)).flatten();
                if args.is_some() {
                    self.function(&table);
                    sources.push((called, Source::Derived(None)));
                } else if let Some(columns) = derived {
                    sources.push((called, Source::Derived(renamed(alias.as_ref(), columns))));
                } else {
                    if alias.as_ref().is_some_and(|a| !a.columns.is_empty()) {
                        // renamed columns: the assignment depends on the column order in the schema
                        self.column(Verb::Select, "", &table, "*");
                    }
                    self.table(Verb::Select, "", &table, false);
                    sources.push((called, Source::Table(table)));
                }
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let called = alias.as_ref().map(|a| a.name.value.to_lowercase()).unwrap_or_default();
                sources.push((called, Source::Derived(renamed(alias.as_ref(), columns(subquery)))));
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                if alias.is_some() {
                    self.unknown(Cause::Language, "a join that is renamed as a whole");
                }
                // the depth limit of the parser bounds this recursion
                let inner = self.sources(std::slice::from_ref(table_with_joins));
                sources.extend(inner);
            }
            TableFactor::UNNEST { alias, .. } => {
                let called = alias.as_ref().map(|a| a.name.value.to_lowercase()).unwrap_or_default();
                sources.push((called, Source::Derived(None)));
            }
            _ => {
                self.unknown(Cause::Language, "a source of rows that is not a table");
                sources.push((String::new(), Source::Derived(None)));
            }
        }
    }

    /// Reads a column that is written without its table.
    pub(super) fn bare(&mut self, column: &str) {
        let column = column.to_lowercase();
        let (mut definite, mut possible, mut open) = (None, Vec::new(), true);
        for scope in self.scopes.iter().rev().filter(|s| !s.query && !s.sources.is_empty()) {
            let tables: Vec<String> = scope
                .sources
                .iter()
                .filter_map(|(_, s)| if let Source::Table(table) = s { Some(table.clone()) } else { None })
                .collect();
            let (mut exposed, mut vague) = (false, false);
            for (_, source) in &scope.sources {
                if let Source::Derived(columns) = source {
                    exposed |= columns.as_ref().is_some_and(|c| c.contains(&column));
                    vague |= columns.is_none();
                }
            }
            // the name of a table stands for the whole row
            for (name, source) in &scope.sources {
                if let Source::Table(table) = source
                    && *name == column
                {
                    possible.push((table.clone(), "*".to_owned()));
                }
            }
            if definite.is_some() {
                possible.extend(tables.into_iter().map(|table| (table, column.clone())));
                continue;
            }
            if exposed || (vague && tables.is_empty()) {
                // a column of a subquery; the columns that the subquery reads count where they are written
                open = false;
                break;
            }
            match tables.as_slice() {
                [] => {}
                [one] if !vague => {
                    definite = Some(one.clone());
                    open = false;
                }
                several => {
                    possible.extend(several.iter().map(|table| (table.clone(), column.clone())));
                    break;
                }
            }
        }
        if let Some(table) = definite {
            self.column(Verb::Select, "", &table, &column);
        }
        if open {
            self.unknown(Cause::Dynamic, &format!("which table has the column {column}"));
        }
        for (table, column) in possible {
            self.column(Verb::Select, POSSIBLE, &table, &column);
        }
    }

    /// Applies a verb to a column that is written with its table, e.g. `t.a` or `schema.t.a`.
    pub(super) fn qualified(&mut self, verb: Verb, parts: &[String]) {
        let Some((column, table_parts)) = parts.split_last() else { return };
        let Some((first, deeper)) = table_parts.split_first() else {
            return match self.only_table() {
                Some(table) => self.column(verb, "", &table, column),
                None => self.unknown(Cause::Dynamic, &format!("which table has the column {column}")),
            };
        };
        let found = self
            .scopes
            .iter()
            .rev()
            .filter(|s| !s.query)
            .find_map(|s| s.sources.iter().find(|(name, _)| name == first));
        match (found.map(|(_, source)| source.clone()), deeper) {
            (Some(Source::Derived(_)), _) => {}
            (Some(Source::Table(table)), []) => self.column(verb, "", &table, column),
            // a field of a structured column, or a table with its schema: both are possible
            (Some(Source::Table(table)), [field, ..]) => {
                self.column(verb, "", &table, field);
                self.column(verb, POSSIBLE, &super::plain(table_parts), column);
            }
            (None, _) => self.column(verb, "", &super::plain(table_parts), column),
        }
    }

    /// The table of the innermost scope, if it has exactly one.
    fn only_table(&self) -> Option<String> {
        let scope = self.scopes.iter().rev().find(|s| !s.query && !s.sources.is_empty())?;
        match scope.sources.as_slice() {
            [(_, Source::Table(table))] => Some(table.clone()),
            _ => None,
        }
    }

    /// The tables of the innermost scope.
    pub(super) fn tables(&self) -> Vec<String> {
        let scope = self.scopes.iter().rev().find(|s| !s.query);
        let table = |source: &Source| if let Source::Table(table) = source { Some(table.clone()) } else { None };
        scope.map(|s| s.sources.iter().filter_map(|(_, source)| table(source)).collect()).unwrap_or_default()
    }

    /// `*`: every column of every table of this scope.
    pub(super) fn every_column(&mut self) {
        for table in self.tables() {
            self.column(Verb::Select, "", &table, "*");
        }
    }
}

fn renamed(alias: Option<&TableAlias>, columns: Option<Vec<String>>) -> Option<Vec<String>> {
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            // if there are fewer new names than columns, the other columns keep their names
            let mut names: Vec<String> = alias.columns.iter().map(|c| c.name.value.to_lowercase()).collect();
            let rest = columns?;
            names.extend(rest);
            Some(names)
        }
        _ => columns,
    }
}

/// The names of a query's columns, if all of them are written.
pub(super) fn columns(query: &Query) -> Option<Vec<String>> {
    first_select(&query.body)?
        .projection
        .iter()
        .map(|item| match item {
            SelectItem::UnnamedExpr(sqlparser::ast::Expr::Identifier(name)) => Some(vec![name.value.to_lowercase()]),
            SelectItem::UnnamedExpr(sqlparser::ast::Expr::CompoundIdentifier(names)) => {
                Some(names.last().map(|n| n.value.to_lowercase()).into_iter().collect())
            }
            SelectItem::UnnamedExpr(_) => Some(vec![]),
            SelectItem::ExprWithAlias { alias, .. } => Some(vec![alias.value.to_lowercase()]),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .map(|all| all.concat())
}

/// The SELECT that determines the names of a query's columns.
pub(super) fn first_select(body: &SetExpr) -> Option<&Select> {
    let mut body = body;
    loop {
        match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(query) => body = &query.body,
            _ => return None,
        }
    }
}
