//! The normal form of an action, to which approvals are bound. Two actions with the same normal form do the same.

use super::shell::normal::normal as script;
use crate::Action;
use serde_json::{Map, Value, json};

/// The normal form of an action. For a shell command, see `shell/normal.rs`; for a tool call, its name and all its
/// arguments in any order; for any other action, the action itself. `home` is the working directory of a command that
/// names none.
#[must_use]
pub fn normal(action: &Action, home: &str) -> Value {
    let exact = || serde_json::to_value(action).unwrap_or_default();
    match action {
        Action::Shell { command, cwd } => {
            let cwd = cwd.as_ref().map_or(home.into(), |cwd| cwd.to_string_lossy());
            match script(command, &cwd) {
                Some(form) => json!({"shell": form}),
                None => json!({"cwd": cwd, "exactly": command}),
            }
        }
        Action::ToolCall { .. } => sorted(exact()),
        _ => exact(),
    }
}

/// The same value with the keys of its objects in alphabetical order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
