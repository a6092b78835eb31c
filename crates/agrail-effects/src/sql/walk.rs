//! The walk over the tree, which visits every expression in its scope.

use super::scope::{Scope, columns};
use super::{Reader, parts};
use crate::{Cause, Verb};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinConstraint, JoinOperator, OrderBy,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor,
    TableWithJoins, Visitor,
};
use std::ops::ControlFlow;

/// The address of a node in memory, which identifies it.
fn place<T>(node: &T) -> usize {
    std::ptr::from_ref(node).addr()
}

impl Visitor for Reader {
    type Break = std::convert::Infallible;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Self::Break> {
        self.statement(statement);
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, _statement: &Statement) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        // a body in a WITH sees only the common table expressions before it, unless the list is recursive
        let outer = self.scopes.iter().rev().find(|s| s.query);
        let visible = outer.and_then(|s| s.ctes.iter().position(|(_, _, at)| *at == place(query)));
        let mut scope = Scope { query: true, ..Scope::default() };
        if let Some(with) = &query.with {
            for cte in &with.cte_tables {
                let named: Vec<String> = cte.alias.columns.iter().map(|c| c.name.value.to_lowercase()).collect();
                let columns = if named.is_empty() { columns(&cte.query) } else { Some(named) };
                let at = if with.recursive { 0 } else { place(&*cte.query) };
                scope.ctes.push((cte.alias.name.value.to_lowercase(), columns, at));
            }
        }
        scope.visible = visible;
        self.scopes.push(scope);
        if !query.pipe_operators.is_empty() {
            self.unknown(Cause::Language, "a pipe of query operators");
        }
        let mut body = Some(&*query.body);
        while let Some(found) = body {
            body = match found {
                SetExpr::SetOperation { left, right, .. } => {
                    self.whole_table(right);
                    Some(left)
                }
                other => {
                    self.whole_table(other);
                    None
                }
            };
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        let sources = self.sources(&select.from);
        self.scopes.push(Scope { sources, ..Scope::default() });
        self.joins(&select.from);
        self.items(&select.projection);
        if select.into.is_some() {
            self.unknown(Cause::Language, "a query that stores its result");
        }
        if !select.lateral_views.is_empty() {
            self.unknown(Cause::Language, "a lateral view");
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        let done = self.scopes.pop();
        // for the ORDER BY that follows; the first SELECT of a union names the result columns
        if let (Some(done), Some(query)) = (done, self.scopes.last_mut().filter(|s| s.query))
            && query.sources.is_empty()
            && query.results.is_empty()
        {
            query.sources = done.sources;
            query.results = select
                .projection
                .iter()
                .filter_map(|item| match item {
                    SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
                    _ => None,
                })
                .collect();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_order_by(&mut self, order: &OrderBy) -> ControlFlow<Self::Break> {
        // an ORDER BY lies outside of the SELECT whose tables it names
        let scope = self.scopes.last().filter(|s| s.query);
        let (sources, results) = scope.map(|s| (s.sources.clone(), s.results.clone())).unwrap_or_default();
        self.scopes.push(Scope { sources, ..Scope::default() });
        if let OrderByKind::Expressions(expressions) = &order.kind {
            for item in expressions {
                if let Expr::Identifier(name) = &item.expr
                    && results.contains(&name.value.to_lowercase())
                {
                    self.results.insert(place(&item.expr));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_order_by(&mut self, _order: &OrderBy) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Identifier(name) if !self.results.contains(&place(expr)) => self.bare(&name.value),
            Expr::CompoundIdentifier(names) => self.qualified(Verb::Select, &lower(names)),
            Expr::Wildcard(_) => self.every_column(),
            Expr::QualifiedWildcard(name, _) => self.every_column_of(parts(name)),
            Expr::Function(function) => self.called(function),
            Expr::CompoundFieldAccess { .. } => {
                self.unknown(Cause::Language, "a field of a structured column");
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn lower(names: &[Ident]) -> Vec<String> {
    names.iter().map(|n| n.value.to_lowercase()).collect()
}

impl Reader {
    /// `TABLE t` as a query.
    fn whole_table(&mut self, body: &SetExpr) {
        if let SetExpr::Table(table) = body {
            match (&table.table_name, &table.schema_name) {
                (Some(table), None) => self.column(Verb::Select, "", &table.to_lowercase(), "*"),
                (Some(table), Some(schema)) => {
                    let name = super::plain(&[schema.to_lowercase(), table.to_lowercase()]);
                    self.column(Verb::Select, "", &name, "*");
                }
                (None, _) => self.unknown(Cause::Language, "a table without a name"),
            }
        }
    }

    /// Reads the columns that joins compare without an expression.
    pub(super) fn joins(&mut self, from: &[TableWithJoins]) {
        for item in from {
            if let TableFactor::NestedJoin { table_with_joins, .. } = &item.relation {
                self.joins(std::slice::from_ref(table_with_joins));
            }
            for join in &item.joins {
                if let TableFactor::NestedJoin { table_with_joins, .. } = &join.relation {
                    self.joins(std::slice::from_ref(table_with_joins));
                }
                let constraint = match &join.join_operator {
                    JoinOperator::Join(c)
                    | JoinOperator::Inner(c)
                    | JoinOperator::Left(c)
                    | JoinOperator::LeftOuter(c)
                    | JoinOperator::Right(c)
                    | JoinOperator::RightOuter(c)
                    | JoinOperator::FullOuter(c)
                    | JoinOperator::CrossJoin(c)
                    | JoinOperator::Semi(c)
                    | JoinOperator::LeftSemi(c)
                    | JoinOperator::RightSemi(c)
                    | JoinOperator::Anti(c)
                    | JoinOperator::LeftAnti(c)
                    | JoinOperator::RightAnti(c)
                    | JoinOperator::StraightJoin(c)
                    | JoinOperator::AsOf { constraint: c, .. } => c,
                    JoinOperator::CrossApply | JoinOperator::OuterApply => &JoinConstraint::None,
                    JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
                        self.unknown(Cause::Language, "an array join");
                        continue;
                    }
                };
                match constraint {
                    JoinConstraint::Using(names) => {
                        for column in names.iter().filter_map(parts).filter_map(|p| p.last().cloned()) {
                            for table in self.tables() {
                                self.column(Verb::Select, "", &table, &column);
                            }
                        }
                    }
                    JoinConstraint::Natural => self.unknown(Cause::Dynamic, "which columns a natural join compares"),
                    JoinConstraint::On(_) | JoinConstraint::None => {}
                }
            }
        }
    }

    /// Reads the columns of each star in a result list.
    pub(super) fn items(&mut self, items: &[SelectItem]) {
        for item in items {
            match item {
                SelectItem::Wildcard(_) => self.every_column(),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    self.every_column_of(parts(name));
                }
                _ => {}
            }
        }
    }

    fn every_column_of(&mut self, table: Option<Vec<String>>) {
        match table {
            Some(mut parts) => {
                parts.push("*".to_owned());
                self.qualified(Verb::Select, &parts);
            }
            None => self.unknown(Cause::Dynamic, "the name of a table is computed"),
        }
    }

    fn called(&mut self, function: &Function) {
        match super::table_name(&function.name) {
            Some(name) => self.function(&name),
            None => self.unknown(Cause::Dynamic, "the name of a function is computed"),
        }
        // a star as argument is no expression; count(*) only reads rows, which the effect on the table already covers
        if let FunctionArguments::List(list) = &function.args {
            for argument in &list.args {
                let (FunctionArg::Unnamed(value)
                | FunctionArg::Named { arg: value, .. }
                | FunctionArg::ExprNamed { arg: value, .. }) = argument;
                match value {
                    FunctionArgExpr::QualifiedWildcard(name) => self.every_column_of(parts(name)),
                    FunctionArgExpr::Wildcard if super::table_name(&function.name).as_deref() != Some("count") => {
                        self.every_column();
                    }
                    _ => {}
                }
            }
        }
    }

    /// Calls a function by name. A function that is not known to be pure may do anything.
    pub(super) fn function(&mut self, name: &str) {
        if !super::functions::computes(name) {
            self.unknown(Cause::Program, &format!("{name}()"));
        }
    }
}
