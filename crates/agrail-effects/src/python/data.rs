//! Calls of data agents, which load, filter and read tables by name. The rows of a library (`special = "data ..."`)
//! name the functions; here they are called `load_table`, `filter_rows`, `get_value` and `run_sql`.
//!
//! 1. `load_table('t')` returns a table, `filter_rows(db, 'a=1||max(b)')` some of its rows, `get_value(db, 'a, mean')`
//!    values of a column, `run_sql('select ...')` the result of a statement. A table is an object of kind [`TABLE`].
//! 2. Every column that is named counts, including those of conditions, which reveal something about the rows. Any
//!    other use of a table (printing, iterating, indexing) reads `t.*`, every column.
//! 3. If a table or column is not constant, [`UNKNOWN_SPAN`] takes its place, and the caller turns it into an unknown
//!    effect.
//!
//! Only free names count. A function with such a name that the source defines or imports is treated like any other
//! function.

use super::Reader;
use super::calls::Args;
use super::row::Special;
use super::special::Invocation;
use super::values::{self, UNKNOWN_SPAN, Value, text};
use crate::Detail;

/// Role of a complete SQL statement: one that does not parse is unknown.
pub const STATEMENT: &str = "script:statement";

/// Kind of object: rows of a table. Its target is the name of the table.
pub(super) const TABLE: &str = "rows of a table";

/// Words for aggregate functions.
const AGGREGATES: [&str; 12] =
    ["mean", "avg", "max", "min", "sum", "list", "count", "median", "len", "unique", "first", "last"];

/// Attributes of a table that reveal nothing about its columns.
const SIZES: [&str; 3] = ["empty", "shape", "size"];

/// Functions that reveal only the number of rows, or whether there are any.
const COUNTING: [&str; 5] = ["len", "bool", "isinstance", "type", "id"];

impl Reader<'_> {
    /// Interprets a call of a data agent. `None`: the row of the call applies.
    pub(super) fn data(&mut self, special: Special, call: &Invocation<'_>) -> Option<Value> {
        let Invocation { row, via, args, .. } = *call;
        Some(match special {
            Special::DataLoad => {
                let tables = args.get(0, "table").unwrap_or(Value::Hole);
                self.loads = true;
                let mut loaded = Vec::new();
                for table in tables.choices() {
                    let name = constant(&table).map_or_else(|| UNKNOWN_SPAN.to_string(), |n| n.trim().to_lowercase());
                    self.emit_text("select:table", name.clone(), false, Detail::None, via);
                    loaded.push(values::object(TABLE, text(name)));
                }
                values::any(loaded)
            }
            Special::DataFilter => {
                let rows = args.get(0, "data").unwrap_or(Value::Hole);
                self.columns(&rows, &args.get(1, "condition").unwrap_or(Value::Hole), conditions, via);
                tables_of(&rows).map_or(Value::Hole, |_| rows)
            }
            Special::DataValue => {
                let rows = args.get(0, "data").unwrap_or(Value::Hole);
                self.columns(&rows, &args.get(1, "column").unwrap_or(Value::Hole), listed, via);
                Value::Local
            }
            // its name means nothing in a program that reads no data
            Special::DataHelp if !self.reads_data() => {
                self.unknown(via);
                Value::Hole
            }
            Special::DataHelp => Value::Local,
            Special::DataSql => {
                let statement = args.get(0, row.keyword.as_deref().unwrap_or_default()).unwrap_or(Value::Hole);
                self.emit(STATEMENT, &statement, false, Detail::None, via);
                self.escape(args, via);
                Value::Local
            }
            _ => return None,
        })
    }

    /// Whether a source mentions a function that reads data.
    fn reads_data(&self) -> bool {
        let mut readers = self.library.readers();
        readers.any(|name| self.sources.iter().any(|source| source.text.contains(name)))
    }

    /// Reports the columns named by a text, for every table to which the rows may belong.
    fn columns(&mut self, rows: &Value, named: &Value, parse: fn(&str) -> Vec<String>, via: &str) {
        let tables = tables_of(rows).unwrap_or_else(|| vec![UNKNOWN_SPAN.to_string()]);
        for choice in named.choices() {
            let shown = if choice.is_text() { choice.show() } else { UNKNOWN_SPAN.to_string() };
            for column in parse(&shown) {
                for table in &tables {
                    self.emit_text("select:column", format!("{table}.{column}"), false, Detail::None, via);
                }
            }
        }
    }

    /// Reports that every column of the rows may be read, because they are neither filtered nor counted.
    pub(super) fn every_column(&mut self, value: &Value, via: &str) {
        match value {
            Value::Object(kind, table) if &**kind == TABLE => {
                self.emit_text("select:column", format!("{}.*", table.show()), false, Detail::None, via);
            }
            Value::Any(choices) => choices.items.iter().for_each(|choice| self.every_column(choice, via)),
            _ => {}
        }
    }

    /// Reports the columns that a function may read of rows among its arguments, either directly or in a list.
    pub(super) fn given_rows(&mut self, name: &str, args: &Args) {
        if !self.loads || COUNTING.contains(&name) {
            return;
        }
        for value in args.pos.iter().chain(args.kw.iter().map(|(_, v)| v)) {
            self.every_column(value, name);
            if let Value::List(list) = value {
                list.items.iter().for_each(|item| self.every_column(item, name));
            }
        }
    }

    /// Reports the columns in the variable `answer`, which such an agent returns.
    pub(super) fn answered(&mut self) {
        if let Some(answer) = self.scopes.first().and_then(|s| s.get("answer")).cloned() {
            self.given_rows("answer", &vec![answer].into());
        }
    }

    /// Interprets `db.name`.
    pub(super) fn attribute_of_rows(&mut self, rows: &Value, name: &str) {
        if !SIZES.contains(&name) {
            self.every_column(rows, name);
        }
    }

    /// Interprets `db['a']`.
    pub(super) fn item_of_rows(&mut self, rows: &Value, key: &Value) -> Value {
        let keys = key.elements().filter(|_| matches!(key, Value::List(_))).unwrap_or_else(|| key.choices());
        let names: Option<Vec<String>> = keys.iter().map(constant).collect();
        match (names, tables_of(rows)) {
            (Some(names), Some(tables)) => {
                for (table, name) in tables.iter().flat_map(|t| names.iter().map(move |n| (t, n))) {
                    let column = format!("{table}.{}", name.to_lowercase());
                    self.emit_text("select:column", column, false, Detail::None, "[]");
                }
            }
            _ => self.every_column(rows, "[]"),
        }
        Value::Local
    }
}

fn constant(value: &Value) -> Option<String> {
    match value {
        Value::Text(t) if !t.contains(UNKNOWN_SPAN) && !t.trim().is_empty() => Some(t.to_string()),
        _ => None,
    }
}

/// The tables to which rows may belong; `None` if the value may be anything else.
fn tables_of(rows: &Value) -> Option<Vec<String>> {
    rows.choices()
        .iter()
        .filter(|choice| !matches!(choice, Value::None))
        .map(|choice| match choice {
            Value::Object(kind, table) if &**kind == TABLE => Some(table.show()),
            _ => None,
        })
        .collect()
}

/// The name of a column; [`UNKNOWN_SPAN`] if the text is not a name.
fn column(text: &str) -> String {
    let inner = text.trim().trim_matches(['\'', '"', '`', '[', ']', ' ']);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    if inner == "*" || (!inner.is_empty() && inner.chars().all(plain)) {
        // `table.column`: the table is known, keep the column
        inner.rsplit('.').next().unwrap_or(inner).to_lowercase()
    } else {
        UNKNOWN_SPAN.to_string()
    }
}

/// The argument of `max(a)`; any other text unchanged.
fn aggregated(text: &str) -> &str {
    match text.split_once('(') {
        Some((function, rest)) if AGGREGATES.contains(&function.trim().to_lowercase().as_str()) => {
            rest.trim_end().strip_suffix(')').unwrap_or(rest)
        }
        _ => text,
    }
}

/// The columns of `a=1||b>=2||max(c)`.
fn conditions(text: &str) -> Vec<String> {
    text.split("||")
        .flat_map(|part| part.split("&&"))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let lower = part.to_ascii_lowercase();
            let words = [" like ", " in ", " not ", " is ", " between "];
            let symbol = part.find(['=', '<', '>', '!']);
            let end = words.iter().filter_map(|w| lower.find(w)).chain(symbol).min();
            column(aggregated(part.get(..end.unwrap_or(part.len())).unwrap_or(part).trim()))
        })
        .collect()
}

/// The columns of `a`, `a, mean`, `[a, b]` or `max(a)`.
fn listed(text: &str) -> Vec<String> {
    let mut columns = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let name = column(aggregated(part));
        if columns.is_empty() || !AGGREGATES.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    if columns.is_empty() { vec![UNKNOWN_SPAN.to_string()] } else { columns }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::python::Library;

    #[test]
    fn conditions_name_their_columns() {
        assert_eq!(conditions("id=4||Max(taken)"), ["id", "taken"]);
        assert_eq!(conditions("at >= 2100-01-01 || name like x%||n in [1, 2]"), ["at", "name", "n"]);
        assert_eq!(conditions("name=a = b"), ["name"]);
        assert_eq!(conditions(&format!("id={UNKNOWN_SPAN}")), ["id"]);
        assert_eq!(conditions(&format!("{UNKNOWN_SPAN}=1")), [UNKNOWN_SPAN.to_string()]);
        assert_eq!(conditions(&UNKNOWN_SPAN.to_string()), [UNKNOWN_SPAN.to_string()]);
    }

    #[test]
    fn values_name_their_columns() {
        assert_eq!(listed("price"), ["price"]);
        assert_eq!(listed("price, mean"), ["price"]);
        assert_eq!(listed("[price, name]"), ["price", "name"]);
        assert_eq!(listed("max(price)"), ["price"]);
        assert_eq!(listed("max"), ["max"]);
        assert_eq!(listed(""), [UNKNOWN_SPAN.to_string()]);
    }

    const LIBRARY: &str = r#"
        call = [
            { name = "load_table", special = "data load" },
            { name = "filter_rows", special = "data filter" },
            { name = "get_value", special = "data value" },
            { name = "run_sql", special = "data sql" },
            { name = "calendar", special = "data help" },
        ]"#;

    fn calls(source: &str) -> Vec<String> {
        let library: Library = toml::from_str(LIBRARY).unwrap();
        let reading = crate::python::extract_effects(source, &crate::python::Place::NONE, &library);
        assert!(reading.is_complete(), "{:?}", reading.problems);
        reading.calls.iter().map(|c| format!("{} {}", c.role, c.target)).collect()
    }

    #[test]
    fn rows_are_followed_into_functions_and_loops() {
        let source = "def one(t, c):\n    return get_value(filter_rows(load_table(t), 'id=%d' % 4), c)\nfor c in ['a', 'b']:\n    print(one('goods', c))\n";
        let found = calls(source);
        for want in ["select:table goods", "select:column goods.id", "select:column goods.a", "select:column goods.b"] {
            assert!(found.contains(&want.to_string()), "{found:?}");
        }
        assert_eq!(found.len(), 4, "{found:?}");
        let found = calls("d = load_table('a')\nif x:\n    d = load_table('b')\nget_value(d, f\"{'n'}ame\")\n");
        assert!(found.contains(&"select:column a.name".into()) && found.contains(&"select:column b.name".into()));
    }

    #[test]
    fn other_uses_of_rows_read_every_column() {
        for use_ in [
            "print(d)",
            "for r in d:\n    print(r)",
            "d.iloc[0]",
            "d.to_dict()",
            "list(d)",
            "answer = [r for r in d]",
            "d[0]",
            "answer = d",
            "x = f'{d}'",
            "x = '{}'.format(d)",
        ] {
            let found = calls(&format!("d = load_table('goods')\n{use_}\n"));
            assert!(found.contains(&"select:column goods.*".into()), "{use_}: {found:?}");
        }
        assert_eq!(calls("d = load_table('goods')\nn = len(d)\nif d.empty:\n    n = 0\n"), ["select:table goods"]);
        let found = calls("for row in load_table('goods'):\n    if row['price'] > 3:\n        n = 1\n");
        assert_eq!(
            found,
            ["select:table goods", "select:column goods.price"],
            "a row is read by the columns that are used"
        );
        assert!(
            calls("d = load_table('goods')\nx = d['price'].tolist()\n").contains(&"select:column goods.price".into())
        );
    }

    #[test]
    fn non_constant_names_become_unknown_spans() {
        for source in [
            "load_table(input())",
            "get_value(x, 'a')",
            "get_value(load_table('t'), input())",
            "filter_rows(load_table('t'), y)",
        ] {
            assert!(calls(source).iter().any(|c| c.contains(UNKNOWN_SPAN)), "{source}");
        }
    }

    #[test]
    fn own_functions_replace_data_functions() {
        assert_eq!(calls("def load_table(t):\n    return [1]\nx = load_table('goods')\n"), Vec::<String>::new());
        let found = calls("import os\nload_table('goods')\nos.remove('/a')\n");
        assert_eq!(found, ["select:table goods", "delete /a"]);
        assert!(calls("calendar('-1 day')").iter().any(|c| c.starts_with("unknown")));
        assert_eq!(calls("d = calendar('-1 day')\nload_table('goods')"), ["select:table goods"]);
        assert_eq!(calls("x = run_sql('select a from b')"), ["script:statement select a from b"]);
    }

    #[test]
    fn library_does_not_replace_known_functions() {
        let library: Library =
            toml::from_str("call = [{ name = \"os.remove\", role = \"read\", target = 0 }]").unwrap();
        let reading =
            crate::python::extract_effects("import os\nos.remove('/a')", &crate::python::Place::NONE, &library);
        assert_eq!(reading.calls[0].role, "delete");
        assert!(toml::from_str::<Library>("call = [{ name = \"f\", role = \"remvoe\" }]").is_err());
        assert!(toml::from_str::<Library>("call = [{ name = \"f\", special = \"data laod\" }]").is_err());
        let wrong = "call = [{ name = \"f\", special = \"data load\", examples = [[\"f('a')\", \"delete a\"]] }]";
        assert!(toml::from_str::<Library>(wrong).unwrap().verify().is_err());
    }
}
