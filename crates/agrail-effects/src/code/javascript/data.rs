//! Files of data. Modules: `require("./settings.json")`, `import settings from "./settings.json"`.

use crate::code::expression::Expression;
use serde_json::{Map, Value};

/// Longest file that is read, in bytes, and most values in it.
const LONGEST: usize = 64 * 1024;
const MOST: usize = 2_000;

/// The value of a file of JSON. `None` if it is no JSON, or too large.
pub(super) fn value(text: &str) -> Option<Expression> {
    let value: Value = (text.len() <= LONGEST).then(|| serde_json::from_str(text).ok())??;
    let mut left = MOST;
    of(&value, &mut left)
}

/// What a module of JSON exports.
pub(super) fn of_json(text: &str) -> Option<Expression> {
    let mut whole = value(text)?;
    // `import settings from` asks for the default
    let is_default =
        |(name, _): &(Expression, Expression)| matches!(name, Expression::Text(name) if &**name == "default");
    if let Expression::Record(members) = &mut whole
        && !members.iter().any(is_default)
    {
        let default = Expression::Record(members.clone());
        members.push((key("default"), default));
    }
    Some(whole)
}

fn of(value: &Value, left: &mut usize) -> Option<Expression> {
    *left = left.checked_sub(1)?;
    Some(match value {
        Value::Null => Expression::Plain,
        Value::Number(number) => Expression::text(&number.to_string()),
        Value::Bool(truth) => Expression::Truth(*truth),
        Value::String(text) => Expression::Text(text.as_str().into()),
        Value::Array(all) => Expression::List(all.iter().map(|one| of(one, left)).collect::<Option<_>>()?),
        Value::Object(all) => Expression::Record(members(all, left)?),
    })
}

fn members(all: &Map<String, Value>, left: &mut usize) -> Option<Vec<(Expression, Expression)>> {
    all.iter().map(|(name, value)| Some((key(name), of(value, left)?))).collect()
}

fn key(name: &str) -> Expression {
    Expression::Text(name.into())
}
