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
    let mut open = vec![(Some(schema), arguments)];
    while let Some((schema, value)) = open.pop() {
        let part = |key: &str| schema.and_then(|schema| schema.get(key));
        match value {
            Value::Object(fields) => {
                let of = |name: &String| part("properties").and_then(|all| all.get(name));
                open.extend(fields.iter().map(|(name, value)| (of(name), value)));
            }
            Value::Array(items) => {
                let of = |place: usize| part("prefixItems").and_then(|all| all.get(place)).or_else(|| part("items"));
                open.extend(items.iter().enumerate().map(|(place, value)| (of(place), value)));
            }
            Value::String(text) => leaf(text, part("below"), home, resolved)?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    Ok(())
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
        return match real.is_empty() || real == path {
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
