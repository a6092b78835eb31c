//! The options that the help text of a program declares.

use super::declared::Declared;
use regex::Regex;
use serde_json::{Map, Value, json};

/// Longest help text that is read, in bytes.
const LONGEST: usize = 256 * 1024;

/// Reads the options of a help text: each line that begins with one, with the name of its value and the choices, if it
/// lists any.
pub(super) fn declared(help: &str) -> Declared {
    let mut declared = Declared::default();
    let Ok(name) = Regex::new(r"(?:^|[\s,|/\[])(--?[A-Za-z0-9][A-Za-z0-9_-]*)") else { return declared };
    for line in help.get(..help.floor_char_boundary(LONGEST)).unwrap_or_default().lines() {
        let line = line.trim_start();
        if !line.starts_with('-') {
            continue;
        }
        let (head, about) = line.split_once("  ").unwrap_or((line, ""));
        let names: Vec<&str> =
            name.captures_iter(head).filter_map(|found| found.get(1)).map(|found| found.as_str()).collect();
        let mut value = head.to_owned();
        names.iter().for_each(|name| value = value.replacen(name, "", 1));
        // each name may stand with the value: `-t TAG, --tag=TAG`
        let mut words: Vec<&str> = value.split([' ', '=']).map(|word| word.trim_matches(',')).collect();
        words.retain(|word| !word.is_empty());
        words.dedup();
        let value = words.join(" ");
        let value = value.trim_matches([' ', ',', '|', '/', '=', '[', ']']).to_owned();
        let schema = schema(&value, about);
        declared.properties.extend(names.into_iter().map(|name| (name.to_owned(), schema.clone())));
    }
    declared
}

/// The schema of an option: a switch if it has no value.
fn schema(value: &str, about: &str) -> Value {
    if value.is_empty() {
        return json!({"type": "boolean"});
    }
    let listed = |text: &str| -> Vec<String> {
        let words = text.split([',', '|']).map(|word| word.trim_matches([' ', '\'', '"', '`'])).map(str::to_owned);
        let words: Vec<String> = words.collect();
        let plain = words.len() > 1 && words.iter().all(|word| !word.is_empty() && !word.contains(' '));
        if plain { words } else { Vec::new() }
    };
    let mut choices = listed(value.trim_matches(['{', '}', '<', '>', '(', ')']));
    for sign in ["possible values:", "one of:", "choices:"] {
        if let Some((_, rest)) = about.split_once(sign).filter(|_| choices.is_empty()) {
            choices = listed(rest.split([']', ')', ';', '.']).next().unwrap_or_default());
        }
    }
    let mut schema = Map::from_iter([("type".to_owned(), json!("string"))]);
    if !choices.is_empty() {
        schema.insert("enum".to_owned(), json!(choices));
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_values_and_choices_are_read() {
        let help = "Usage: ship push [OPTIONS] FILE\n\nOptions:\n  -e, --env <ENV>        stage [possible values: dev, prod]\n      \
                    --wait             wait until done\n  -n NUMBER              how many\n  --mode {fast,slow}   speed\n  \
                    --tag=TAG, -t TAG    label\n  -h, --help  this text\nnot - an option\n";
        let found = declared(help).properties;
        assert_eq!(found.get("--env"), Some(&json!({"type": "string", "enum": ["dev", "prod"]})));
        assert_eq!(found.get("-e"), found.get("--env"));
        assert_eq!(found.get("--wait"), Some(&json!({"type": "boolean"})));
        assert_eq!(found.get("-n"), Some(&json!({"type": "string"})));
        assert_eq!(found.get("--mode"), Some(&json!({"type": "string", "enum": ["fast", "slow"]})));
        assert_eq!(found.get("-t"), Some(&json!({"type": "string"})));
        assert_eq!(found.get("--help"), Some(&json!({"type": "boolean"})));
        assert_eq!(found.len(), 9, "{found:?}");
    }
}
