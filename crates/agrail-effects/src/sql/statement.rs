//! The changes that statements make, and the scopes of their expressions.

use super::scope::Scope;
use super::{Reader, parts, table_name};
use crate::Kind;
use crate::{Cause, Effect, Target, Verb};
use sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, Delete, Expr, FromTable, Insert, ObjectName, ObjectType,
    OnConflictAction, OnInsert, Statement, TableObject, Update, UpdateTableFromKind,
};

impl Reader {
    /// Adds the changes of a statement and opens its scope.
    pub(super) fn statement(&mut self, statement: &Statement) {
        self.scopes.push(Scope::default());
        match statement {
            Statement::Query(_) | Statement::Explain { .. } => {}
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Truncate(truncate) => {
                truncate.table_names.iter().for_each(|t| self.named(Verb::Drop, "truncate", &t.name));
            }
            Statement::Drop { object_type, names, .. } => {
                let of_tables =
                    matches!(object_type, ObjectType::Table | ObjectType::View | ObjectType::MaterializedView);
                for name in names {
                    if of_tables {
                        self.named(Verb::Drop, "", name);
                    } else {
                        self.database(Verb::Drop, "", &format!("{object_type} {name}").to_lowercase());
                    }
                }
            }
            Statement::CreateTable(create) => self.named(Verb::Create, "", &create.name),
            Statement::CreateView(create) => self.named(Verb::Create, "", &create.name),
            Statement::CreateIndex(create) => self.named(Verb::Update, "alter", &create.table_name),
            Statement::AlterTable(alter) => self.named(Verb::Update, "alter", &alter.name),
            Statement::AlterView { name, .. } => self.named(Verb::Update, "alter", name),
            Statement::CreateSchema { .. } | Statement::CreateDatabase { .. } => {
                self.database(Verb::Create, "", "a schema or database");
            }
            Statement::Grant(_) | Statement::Revoke(_) | Statement::CreateRole(_) | Statement::AlterRole { .. } => {
                let rights = Target::Named(Kind::Privilege, "rights in the database".to_owned());
                self.add(Effect::new(Verb::Privilege, rights, super::PROGRAM));
            }
            Statement::StartTransaction { .. }
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::Savepoint { .. }
            | Statement::ShowTables { .. }
            | Statement::ShowColumns { .. }
            | Statement::ExplainTable { .. } => {}
            _ => self.unknown(Cause::Language, "a kind of database statement"),
        }
    }

    fn named(&mut self, verb: Verb, operation: &str, name: &ObjectName) {
        match table_name(name) {
            Some(table) => self.table(verb, operation, &table, false),
            None => self.unknown(Cause::Dynamic, "the name of a table is computed"),
        }
    }

    fn database(&mut self, verb: Verb, operation: &str, name: &str) {
        let mut effect = Effect::new(verb, Target::Named(Kind::Database, name.to_owned()), super::PROGRAM);
        operation.clone_into(&mut effect.operation);
        self.add(effect);
    }

    fn opened(&mut self, sources: Vec<(String, super::scope::Source)>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.sources.extend(sources);
        }
    }

    fn insert(&mut self, insert: &Insert) {
        let table = match &insert.table {
            TableObject::TableName(name) => table_name(name),
            _ => None,
        };
        let Some(table) = table else {
            return self.unknown(Cause::Language, "rows are put into something that is not a table");
        };
        if !insert.multi_table_into_clauses.is_empty() || insert.output.is_some() {
            self.unknown(Cause::Language, "an insert into several tables");
        }
        let columns: Vec<String> = insert.columns.iter().filter_map(|c| parts(c)?.pop()).collect();
        if columns.is_empty() && insert.assignments.is_empty() {
            self.column(Verb::Insert, "", &table, "*");
        }
        for column in columns {
            self.column(Verb::Insert, "", &table, &column);
        }
        if insert.replace_into || insert.overwrite {
            // a row with the same key is replaced
            self.column(Verb::Update, "", &table, "*");
        }
        let called = insert.table_alias.as_ref().map_or_else(
            || table.rsplit('.').next().unwrap_or_default().to_owned(),
            |alias| alias.alias.value.to_lowercase(),
        );
        let source = super::scope::Source::Table(table.clone());
        self.opened(vec![(called, source.clone()), ("excluded".to_owned(), super::scope::Source::Derived(None))]);
        self.assigned(Verb::Insert, &table, &insert.assignments);
        match &insert.on {
            Some(OnInsert::DuplicateKeyUpdate(assignments)) => self.assigned(Verb::Update, &table, assignments),
            Some(OnInsert::OnConflict(conflict)) => {
                if let OnConflictAction::DoUpdate(update) = &conflict.action {
                    self.assigned(Verb::Update, &table, &update.assignments);
                }
            }
            Some(_) => self.unknown(Cause::Language, "the conflict action of the insert"),
            None => {}
        }
        self.items(insert.returning.as_deref().unwrap_or_default());
    }

    fn assigned(&mut self, verb: Verb, table: &str, assignments: &[Assignment]) {
        for assignment in assignments {
            let names = match &assignment.target {
                AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                AssignmentTarget::Tuple(names) => names.as_slice(),
            };
            for name in names {
                match parts(name).and_then(|mut p| p.pop()) {
                    Some(column) => self.column(verb, "", table, &column),
                    None => self.unknown(Cause::Dynamic, "the name of a column is computed"),
                }
            }
        }
    }

    fn update(&mut self, update: &Update) {
        let targets = self.sources(std::slice::from_ref(&update.table));
        self.opened(targets);
        if let Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) = &update.from {
            // an unqualified name on the left is still a column of the target table
            let more = self.sources(from);
            self.joins(from);
            self.changed(update);
            self.opened(more);
        } else {
            self.changed(update);
        }
        self.joins(std::slice::from_ref(&update.table));
        if update.output.is_some() {
            self.unknown(Cause::Language, "an output clause");
        }
        self.items(update.returning.as_deref().unwrap_or_default());
    }

    fn changed(&mut self, update: &Update) {
        for assignment in &update.assignments {
            let names = match &assignment.target {
                AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                AssignmentTarget::Tuple(names) => names.as_slice(),
            };
            for name in names {
                match parts(name) {
                    Some(parts) => self.qualified(Verb::Update, &parts),
                    None => self.unknown(Cause::Dynamic, "the name of a column is computed"),
                }
            }
        }
        if all_rows(update.selection.as_ref()) && update.limit.is_none() {
            for table in self.tables() {
                self.table(Verb::Update, "rows", &table, true);
            }
        }
    }

    fn delete(&mut self, delete: &Delete) {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let sources = self.sources(from);
        self.opened(sources);
        self.joins(from);
        let named: Vec<String> = if delete.tables.is_empty() {
            self.tables()
        } else {
            let written: Vec<String> = delete.tables.iter().filter_map(table_name).collect();
            written.into_iter().map(|name| self.meant(&name)).collect()
        };
        if let Some(using) = &delete.using {
            let more = self.sources(using);
            self.joins(using);
            self.opened(more);
        }
        if named.is_empty() || delete.output.is_some() {
            self.unknown(Cause::Language, "rows of something that is not a table are deleted");
        }
        let every = all_rows(delete.selection.as_ref()) && delete.limit.is_none();
        for table in named {
            self.table(Verb::Delete, "rows", &table, every);
        }
        self.items(delete.returning.as_deref().unwrap_or_default());
    }

    /// The table to which an alias refers.
    fn meant(&self, name: &str) -> String {
        let known = self.scopes.iter().rev().find_map(|s| s.sources.iter().find(|(called, _)| called == name));
        match known {
            Some((_, super::scope::Source::Table(table))) => table.clone(),
            _ => name.to_owned(),
        }
    }
}

/// Whether all rows are affected: there is no condition, or one that is always true.
fn all_rows(selection: Option<&Expr>) -> bool {
    selection.is_none_or(always)
}

fn always(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => always(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => always(left) || always(right),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => always(left) && always(right),
        // equal expressions on both sides, or constants on both
        Expr::BinaryOp { left, right, .. } => {
            left == right || (matches!(**left, Expr::Value(_)) && matches!(**right, Expr::Value(_)))
        }
        Expr::Value(_) => true,
        _ => false,
    }
}
