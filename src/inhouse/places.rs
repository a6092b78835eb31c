//! Where the paths among the arguments of a call lead.

use super::text::is_below;
use serde_json::Value;

/// Whether no path among the arguments leads through a link to somewhere else than the row says. `resolved`: a path after
/// all its links, empty if that is not known.
pub(super) fn lead(
    schema: &Value,
    arguments: &Value,
    home: &str,
    resolved: &dyn Fn(&str) -> String,
) -> Result<(), String> {
    walk(schema, arguments, |text, below| leaf(text, below, home, resolved))
}

/// Calls a function with each text among the arguments and the folders that the row gives for it.
fn walk(
    schema: &Value,
    arguments: &Value,
    mut each: impl FnMut(&str, Option<&Value>) -> Result<(), String>,
) -> Result<(), String> {
    let mut open = vec![(Some(schema), arguments)];
    while let Some((schema, value)) = open.pop() {
        let part = |key: &str| schema.and_then(|schema| schema.get(key));
        match value {
            Value::Object(fields) => {
                let other = part("additionalProperties");
                let of = |name: &String| part("properties").and_then(|all| all.get(name)).or(other);
                open.extend(fields.iter().map(|(name, value)| (of(name), value)));
            }
            Value::Array(items) => {
                let of = |place: usize| part("prefixItems").and_then(|all| all.get(place)).or_else(|| part("items"));
                open.extend(items.iter().enumerate().map(|(place, value)| (of(place), value)));
            }
            Value::String(text) => each(text, part("below"))?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    Ok(())
}

/// The paths among the arguments that the row says where they lie.
pub(super) fn paths(schema: &Value, arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let each = |text: &str, below: Option<&Value>| {
        found.extend(below.map(|_| text.to_owned()));
        Ok(())
    };
    // it collects and never fails
    let _ = walk(schema, arguments, each);
    found
}

fn leaf(text: &str, below: Option<&Value>, home: &str, resolved: &dyn Fn(&str) -> String) -> Result<(), String> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => text.to_owned(),
    };
    if !path.starts_with('/') {
        return Ok(());
    }
    let real = resolved(&path);
    let folders: Vec<&str> = below.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if folders.is_empty() {
        return match real.is_empty() || real.trim_end_matches('/') == path.trim_end_matches('/') {
            true => Ok(()),
            false => Err(format!("{path} leads to {real}")),
        };
    }
    let folders: Vec<String> = folders
        .into_iter()
        .flat_map(|folder| [folder.to_owned(), resolved(folder)])
        .filter(|folder| !folder.is_empty())
        .collect();
    match is_below(&real, &folders) {
        true => Ok(()),
        false if real.is_empty() => Err(format!("it is not known where {path} leads")),
        false => Err(format!("{path} leads to {real}")),
    }
}
