//! Effects of database statements: the tables and columns that they read and change.
//!
//! 1. `sqlparser` parses the text. Dialects disagree about strings and comments; a text with such a mark is parsed in
//!    both dialects, and all effects count.
//! 2. The tree is walked with a stack of scopes (`walk`, `scope`): aliases, joins, subqueries, common table
//!    expressions. Targets are of kind `column` (`table.column`, or `table.*` for every column) and `table`, in lower
//!    case.
//! 3. No schema is available. A column without its table belongs to the only table of its scope; it may also belong to
//!    a table of an outer scope, which is an effect with the operation `possible`. If it may belong to one of several
//!    tables, it is unknown.
//! 4. Text that does not parse, is too large or nested too deeply, or has no interpretation here is unknown; it is
//!    never dropped.

mod functions;
mod scope;
mod statement;
mod walk;

use super::{Cause, Effect, Target, UNKNOWN_SPAN, Verb};
use crate::Kind;
use sqlparser::ast::{ObjectName, ObjectNamePart, Visit as _};
use sqlparser::dialect::{Dialect, GenericDialect, MySqlDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Tokenizer;

/// Longest text that is parsed, in bytes.
pub const MAX_SOURCE: usize = 64 * 1024;
/// Most tokens. Chains of operators nest as deeply as they are long.
const MAX_TOKENS: usize = 20_000;
/// Deepest nesting of parentheses and subqueries.
const MAX_DEPTH: usize = 50;
/// Stack in bytes for the tree of the longest chain, because a tree is dropped recursively.
const STACK: usize = 64 * 1024 * 1024;
/// Most effects that are kept.
const MAX_EFFECTS: usize = 1_000;
/// Operation of an effect that depends on the schema: the name may be that of a table of an outer scope.
pub const POSSIBLE: &str = "possible";
/// The program name in effects of statements.
const PROGRAM: &str = "the statement";

/// The effects of one or several statements. Never fails: text that cannot be interpreted is unknown.
#[must_use]
pub fn extract_effects(text: &str) -> Vec<Effect> {
    if text.len() > MAX_SOURCE {
        return vec![Effect::unknown(Cause::Budget, "a database statement", PROGRAM)];
    }
    let mut effects = Vec::new();
    let constant = text.replace(UNKNOWN_SPAN, "?");
    if constant.len() != text.len() {
        effects.push(Effect::unknown(Cause::Dynamic, "parts of the statement are not constant", PROGRAM));
    }
    // a comment, an escape or a string in one database may be a statement in another
    let mut dialects: Vec<&dyn Dialect> = vec![&GenericDialect {}];
    if constant.contains(['\\', '#', '`']) || constant.contains("/*") {
        dialects.push(&MySqlDialect {});
    }
    for dialect in dialects {
        for effect in stacker::grow(STACK, || parsed(&constant, dialect)) {
            if !effects.contains(&effect) {
                effects.push(effect);
            }
        }
    }
    effects
}

/// Whether a text is one or several statements, as far as the parser can tell.
#[must_use]
pub fn parses(text: &str) -> bool {
    text.len() <= MAX_SOURCE
        && !text.contains(UNKNOWN_SPAN)
        && stacker::grow(STACK, || statements(text, &GenericDialect {}).is_ok_and(|all| !all.is_empty()))
}

fn statements(text: &str, dialect: &dyn Dialect) -> Result<Vec<sqlparser::ast::Statement>, ParserError> {
    let tokens = Tokenizer::new(dialect, text).tokenize_with_location()?;
    if tokens.len() > MAX_TOKENS {
        return Err(ParserError::RecursionLimitExceeded);
    }
    Parser::new(dialect).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens).parse_statements()
}

fn parsed(text: &str, dialect: &dyn Dialect) -> Vec<Effect> {
    let statements = match statements(text, dialect) {
        Ok(statements) => statements,
        Err(ParserError::RecursionLimitExceeded) => {
            return vec![Effect::unknown(Cause::Budget, "a database statement", PROGRAM)];
        }
        Err(_) => return vec![Effect::unknown(Cause::Parse, "a database statement", PROGRAM)],
    };
    let mut reader = Reader::default();
    for statement in &statements {
        // the visitor never breaks off
        let _ = statement.visit(&mut reader);
    }
    reader.effects
}

/// The state of the walk over the tree.
#[derive(Default)]
struct Reader {
    effects: Vec<Effect>,
    scopes: Vec<scope::Scope>,
    /// Expressions of an ORDER BY that name a column of the result, by their address in memory.
    results: foldhash::HashSet<usize>,
}

impl Reader {
    fn add(&mut self, effect: Effect) {
        if self.effects.contains(&effect) || self.effects.len() > MAX_EFFECTS {
            return;
        }
        if self.effects.len() == MAX_EFFECTS {
            self.effects.push(Effect::unknown(Cause::Budget, "too many columns", PROGRAM));
            return;
        }
        self.effects.push(effect);
    }

    fn unknown(&mut self, cause: Cause, what: &str) {
        self.add(Effect::unknown(cause, what, PROGRAM));
    }

    /// Adds an effect of a verb on a table; `every` means on all of its rows or columns.
    fn table(&mut self, verb: Verb, operation: &str, table: &str, every: bool) {
        let mut effect = Effect::new(verb, Target::Named(Kind::Table, table.to_owned()), PROGRAM);
        operation.clone_into(&mut effect.operation);
        effect.recursive = every;
        self.add(effect);
    }

    fn column(&mut self, verb: Verb, operation: &str, table: &str, column: &str) {
        let mut effect = Effect::new(verb, Target::Named(Kind::Column, format!("{table}.{column}")), PROGRAM);
        operation.clone_into(&mut effect.operation);
        self.add(effect);
    }
}

/// The name of a table in lower case, without the schema that every database has; `None` if it is computed.
fn table_name(name: &ObjectName) -> Option<String> {
    let parts = parts(name)?;
    Some(plain(&parts))
}

fn parts(name: &ObjectName) -> Option<Vec<String>> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Some(ident.value.to_lowercase()),
            ObjectNamePart::Function(_) => None,
        })
        .collect()
}

fn plain(parts: &[String]) -> String {
    match parts {
        [schema, table] if ["public", "main", "dbo"].contains(&schema.as_str()) => table.clone(),
        _ => parts.join("."),
    }
}
