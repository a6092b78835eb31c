//! Reads options from a completion spec of `@withfig/autocomplete`, evaluated to JSON by Node.js.

use super::manual::{Arity, Documented, Manual};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Prints the default export of a module as JSON; functions and what they would generate are left out.
const PRINT: &str = "import(process.argv[1]).then(m => { const seen = new WeakSet(); process.stdout.write(JSON.stringify(m.default, (k, v) => { if (typeof v === 'object' && v) { if (seen.has(v)) return undefined; seen.add(v) } return typeof v === 'function' ? undefined : v })) })";

/// The options and subcommands of a spec file.
pub fn parse_fig(file: &Path) -> Result<Manual> {
    let output = Command::new("timeout")
        .args(["20", "node", "-e", PRINT])
        .arg(file.canonicalize()?)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .context("cannot start node")?;
    if !output.status.success() {
        bail!("{}: node cannot evaluate it", file.display());
    }
    let spec: Value =
        serde_json::from_slice(&output.stdout).with_context(|| format!("{}: not a spec", file.display()))?;
    Ok(parse_spec(&spec, 0))
}

fn parse_spec(spec: &Value, depth: usize) -> Manual {
    let mut manual = Manual::default();
    if depth > 6 {
        return manual;
    }
    for option in list(spec.get("options")) {
        let names: Vec<String> = names(option).into_iter().filter(|name| name.starts_with('-')).collect();
        if names.is_empty() {
            continue;
        }
        let arguments = list(option.get("args"));
        let arity = match arguments.first() {
            None => Arity::None,
            Some(first) if first.get("isOptional").and_then(Value::as_bool) == Some(true) => Arity::Optional,
            Some(_) => Arity::Required,
        };
        let mut value = arguments.iter().filter_map(|one| one.get("name")?.as_str()).collect::<Vec<_>>().join(" ");
        if arguments.iter().any(|one| one.get("template").is_some_and(|t| t.to_string().contains("file"))) {
            value.push_str(" FILE");
        }
        let mut about = text(option.get("description"));
        if option.get("isDangerous").and_then(Value::as_bool) == Some(true) {
            about.push_str(" (delete)");
        }
        manual.add(Documented { names, arity, value, about });
    }
    for sub in list(spec.get("subcommands")) {
        let inner = parse_spec(sub, depth + 1);
        for name in names(sub) {
            manual.subs.entry(name).or_default().merge(inner.clone());
        }
    }
    manual
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().chars().take(200).collect()
}

/// A field that holds one thing or a list of them.
fn list(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one @ Value::Object(_)) => vec![one],
        _ => Vec::new(),
    }
}

fn names(item: &Value) -> Vec<String> {
    match item.get("name") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn specs_name_options_and_nested_subcommands() {
        let spec = json!({"name": "frob", "options": [{"name": ["-v", "--verbose"]}, {"name": "f", "args": {}}],
            "subcommands": [{"name": ["push", "p"], "options": {"name": "--tag", "args": {"name": "tag", "isOptional": true}}}]});
        let manual = parse_spec(&spec, 0);
        assert_eq!(manual.options.len(), 1, "a letter without a dash is no option");
        assert_eq!(manual.subs["p"].options[0].arity, Arity::Optional);
    }
}
