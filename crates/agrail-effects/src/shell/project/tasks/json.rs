//! Scripts in `composer.json`, tasks in `deno.json`, commands of development containers.

use super::Step;
use foldhash::HashSet;
use serde_json::{Map, Value};

/// Events at which composer runs scripts, by the command.
const EVENTS: [(&str, &[&str]); 5] = [
    ("install", &["pre-install-cmd", "post-install-cmd", "pre-autoload-dump", "post-autoload-dump"]),
    ("update", &["pre-update-cmd", "post-update-cmd", "pre-autoload-dump", "post-autoload-dump"]),
    ("require", &["pre-update-cmd", "post-update-cmd", "pre-autoload-dump", "post-autoload-dump"]),
    ("dump-autoload", &["pre-autoload-dump", "post-autoload-dump"]),
    ("create-project", &["post-root-package-install", "post-create-project-cmd"]),
];

/// The lines of a script that is a text or a list.
fn lines(value: &Value) -> Vec<&str> {
    match value {
        Value::String(line) => vec![line],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        Value::Object(all) => all.values().flat_map(lines).collect(),
        _ => Vec::new(),
    }
}

fn parse(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text).ok()? {
        Value::Object(file) => Some(file),
        _ => None,
    }
}

/// The program that makes the templates of a `cdk.json`, and the one that builds it.
pub(super) fn cdk(text: &str) -> Option<Vec<Step>> {
    let file = parse(text)?;
    Some(["build", "app"].iter().filter_map(|key| file.get(*key)?.as_str()).map(Step::shell).collect())
}

/// The scripts that a command of composer runs: those of its events, or the one that it names.
pub(super) fn composer(text: &str, chosen: &[String]) -> Option<Vec<Step>> {
    let file = parse(text)?;
    let scripts = file.get("scripts")?.as_object()?;
    let command = chosen.first()?;
    let mut open: Vec<String> = match EVENTS.iter().find(|(name, _)| name == command) {
        Some((_, events)) => events.iter().rev().map(|event| (*event).to_owned()).collect(),
        None => chosen.iter().take(2).filter(|word| scripts.contains_key(*word)).cloned().collect(),
    };
    let (mut seen, mut steps) = (HashSet::default(), Vec::new());
    while let Some(name) = open.pop() {
        let Some(script) = scripts.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        for line in lines(script) {
            match line.strip_prefix('@') {
                Some(rest) if rest.starts_with("php ") || rest.starts_with("composer ") => {
                    steps.push(Step::shell(rest))
                }
                Some(rest) if rest.starts_with("putenv ") => {}
                Some(rest) => open.extend(rest.split_whitespace().next().map(str::to_owned)),
                // a function of a class of the project
                None if line.contains("::") && !line.contains(' ') => {}
                None => steps.push(Step::shell(line)),
            }
        }
    }
    Some(steps)
}

/// The task of a `deno.json` that the command names, after those that it needs; `deno task` also runs the scripts of a
/// `package.json`.
pub(super) fn deno(text: &str, chosen: &[String]) -> Option<Vec<Step>> {
    let file = parse(&without_comments(text))?;
    let tasks = file.get("tasks").or_else(|| file.get("scripts"))?;
    let (mut seen, mut steps) = (HashSet::default(), Vec::new());
    let mut open = vec![chosen.first()?.clone()];
    while let Some(name) = open.pop() {
        let Some(task) = tasks.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        let needs = task.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        open.extend(needs.filter_map(Value::as_str).map(str::to_owned));
        steps.extend(task.as_str().or_else(|| task.get("command")?.as_str()).map(Step::shell));
    }
    steps.reverse();
    Some(steps)
}

/// A text of JSON without its comments.
fn without_comments(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['"', '/']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = if from.starts_with("//") {
            from.find('\n').unwrap_or(from.len())
        } else if from.starts_with("/*") {
            from.find("*/").map_or(from.len(), |end| end + 2)
        } else {
            let text = if from.starts_with('"') { string(from) } else { 1 };
            out.push_str(from.get(..text).unwrap_or_default());
            text
        };
        rest = from.get(end..).unwrap_or_default();
    }
    out + rest
}

/// The length of the text in quotes at the beginning.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == '"' && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

/// The commands with which a development container begins; those on the host are first.
pub(super) fn devcontainer(text: &str) -> Option<Vec<Step>> {
    let file = parse(text)?;
    let line = |value: &Value| match value {
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(crate::reading::quote).collect();
            vec![Step::shell(words.join(" "))]
        }
        other => lines(other).into_iter().map(Step::shell).collect(),
    };
    Some(file.get("initializeCommand").map(line).unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_deno_have_comments_and_needs() {
        let file = "{ // tasks\n \"tasks\": {\"a\": {\"command\": \"b // \\\" c\", \"dependencies\": [\"d\", \"a\"]}, /* \" */ \
                    \"d\": \"e\"}}";
        let texts =
            |name: &str| deno(file, &[name.to_owned()]).map(|all| all.into_iter().map(|step| step.text).collect());
        assert_eq!(texts("a"), Some(vec!["e".to_owned(), "b // \" c".to_owned()]));
        assert_eq!(texts("f"), Some(Vec::new()));
    }

    #[test]
    fn scripts_run_by_event_and_name() {
        let file = r#"{"scripts": {"post-install-cmd": ["@php artisan x", "App\\Setup::run", "@clean"], "clean": "rm -rf c",
                       "test": "phpunit"}}"#;
        let texts = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            composer(file, &words).unwrap().into_iter().map(|step| step.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(&["install"]), ["php artisan x", "rm -rf c"]);
        assert_eq!(texts(&["run-script", "test"]), ["phpunit"]);
        assert_eq!(texts(&["test"]), ["phpunit"]);
        assert!(texts(&["show"]).is_empty());
    }
}
