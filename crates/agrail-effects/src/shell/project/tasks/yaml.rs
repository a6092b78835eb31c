//! `Taskfile.yml`, hooks of pre-commit and lefthook.

use super::{Step, fill};
use foldhash::HashSet;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

type Object = Map<String, Value>;

fn parse(text: &str) -> Option<Object> {
    match serde_saphyr::from_str(text).ok()? {
        Value::Object(file) => Some(file),
        _ => None,
    }
}

/// The commands of the chosen tasks of a `Taskfile.yml`, with those that they need.
pub(super) fn taskfile(text: &str, chosen: &[String]) -> Option<Vec<Step>> {
    let file = parse(text)?;
    let tasks = file.get("tasks")?.as_object()?;
    let mut steps = Vec::new();
    let globals = variables(file.get("vars"), &BTreeMap::new(), &mut steps);
    let mut open: Vec<String> = chosen.iter().filter(|word| tasks.contains_key(*word)).rev().cloned().collect();
    if chosen.is_empty() {
        open.push("default".to_owned());
    }
    let mut seen = HashSet::default();
    while let Some(name) = open.pop() {
        let Some(task) = tasks.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        let own = match task {
            Value::Object(task) => variables(task.get("vars"), &globals, &mut steps),
            _ => globals.clone(),
        };
        for one in commands(task) {
            match one {
                Command::Line(line) => steps.push(Step {
                    folder: task.get("dir").and_then(Value::as_str).map(|folder| filled(folder, &own)),
                    ..Step::shell(filled(line, &own))
                }),
                Command::Task(name) => open.push(name.to_owned()),
            }
        }
    }
    Some(steps)
}

enum Command<'v> {
    Line(&'v str),
    Task(&'v str),
}

/// What a task runs: its commands, the tasks that it needs, and the conditions that it looks at.
fn commands(task: &Value) -> Vec<Command<'_>> {
    let Value::Object(keys) = task else { return list(Some(task)).into_iter().filter_map(command).collect() };
    let needs = list(keys.get("deps")).into_iter().filter_map(|need| match need {
        Value::String(name) => Some(Command::Task(name)),
        other => command(other),
    });
    let conditions = ["preconditions", "status"].iter().flat_map(|key| list(keys.get(*key)));
    let lines = conditions.chain(list(keys.get("cmds"))).chain(list(keys.get("cmd")));
    needs.chain(lines.filter_map(command)).collect()
}

fn list(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(all)) => all.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    }
}

fn command(value: &Value) -> Option<Command<'_>> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    match value {
        Value::String(line) => Some(Command::Line(line)),
        _ => text("task")
            .map(Command::Task)
            .or_else(|| text("cmd").or_else(|| text("sh")).or_else(|| text("defer")).map(Command::Line)),
    }
}

/// Variables, in addition to those outside; one that a command computes has no value, and its command is a step.
fn variables(
    value: Option<&Value>,
    outer: &BTreeMap<String, String>,
    steps: &mut Vec<Step>,
) -> BTreeMap<String, String> {
    let mut all = outer.clone();
    for (name, value) in value.and_then(Value::as_object).into_iter().flatten() {
        match value {
            Value::String(text) => {
                let text = filled(text, &all);
                all.insert(name.clone(), text);
            }
            Value::Number(number) => drop(all.insert(name.clone(), number.to_string())),
            other => {
                all.remove(name);
                steps.extend(other.get("sh").and_then(Value::as_str).map(Step::shell));
            }
        }
    }
    all
}

fn filled(text: &str, variables: &BTreeMap<String, String>) -> String {
    fill(text, "{{", "}}", |name| variables.get(name.strip_prefix('.')?).cloned())
}

/// The hooks of a `.goreleaser.yml`, before all and around each build.
pub(super) fn goreleaser(text: &str) -> Option<Vec<Step>> {
    let file = parse(text)?;
    let builds = list(file.get("builds"));
    let around = builds.iter().filter_map(|build| build.get("hooks"));
    let around = around.flat_map(|hooks| list(hooks.get("pre")).into_iter().chain(list(hooks.get("post"))));
    let hooks = file.get("before").and_then(|before| before.get("hooks"));
    let step = |hook: &Value| {
        let line = hook.as_str().or_else(|| hook.get("cmd")?.as_str())?;
        let folder = hook.get("dir").and_then(Value::as_str).map(str::to_owned);
        Some(Step { folder, ..Step::shell(fill(line, "{{", "}}", |_| None)) })
    };
    Some(list(hooks).into_iter().chain(around).filter_map(step).collect())
}

/// The commands of the hooks that a `.pre-commit-config.yaml` itself defines.
pub(super) fn pre_commit(text: &str) -> Option<Vec<Step>> {
    let file = parse(text)?;
    let repositories = file.get("repos")?.as_array()?;
    let local = repositories.iter().filter(|one| one.get("repo").and_then(Value::as_str) == Some("local"));
    let hooks = local.filter_map(|one| one.get("hooks")?.as_array()).flatten();
    let entry = |hook: &Value| {
        let entry = hook.get("entry")?.as_str()?;
        let arguments = hook.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let runs = !matches!(hook.get("language").and_then(Value::as_str), Some("pygrep" | "fail"));
        let line = std::iter::once(entry.to_owned()).chain(arguments.map(crate::reading::quote));
        runs.then(|| Step::shell(line.collect::<Vec<_>>().join(" ")))
    };
    Some(hooks.filter_map(entry).collect())
}

/// The commands of all hooks of a `lefthook.yml`.
pub(super) fn lefthook(text: &str) -> Option<Vec<Step>> {
    let file = parse(text)?;
    let mut lines = Vec::new();
    for hook in file.values() {
        for key in ["commands", "jobs"] {
            let jobs: Vec<&Value> = match hook.get(key) {
                Some(Value::Object(all)) => all.values().collect(),
                Some(Value::Array(all)) => all.iter().collect(),
                _ => Vec::new(),
            };
            lines.extend(jobs.iter().filter_map(|job| job.get("run")?.as_str()));
        }
    }
    Some(lines.iter().map(|line| Step::shell(fill(line, "{", "}", |_| None))).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_with_their_needs() {
        let file = "version: '3'\nvars:\n  OUT: dist\n  REV: {sh: git rev-parse HEAD}\ntasks:\n  default:\n    deps: \
                    [clean]\n    cmds:\n      - go build -o {{.OUT}}/app\n      - task: note\n  clean: rm -rf {{.OUT}}\n  \
                    note:\n    dir: docs\n    cmd: echo {{.REV}}\n";
        let all: Vec<String> = taskfile(file, &[]).unwrap().into_iter().map(|step| step.text).collect();
        let note = format!("echo {}", crate::UNKNOWN_SPAN);
        assert_eq!(all, ["git rev-parse HEAD", "go build -o dist/app", note.as_str(), "rm -rf dist"]);
        let one = taskfile(file, &["note".to_owned()]).unwrap();
        assert_eq!(one.last().unwrap().folder.as_deref(), Some("docs"));
        assert!(taskfile("tasks: [", &[]).is_none());
    }

    #[test]
    fn hooks_run_entries() {
        let file = "repos:\n- repo: https://x.example/y\n  hooks: [{id: z}]\n- repo: local\n  hooks:\n  - id: a\n    entry: \
                    scripts/check.sh\n    args: [-x, a b]\n    language: script\n  - {id: b, entry: TODO, language: pygrep}\n";
        let all: Vec<String> = pre_commit(file).unwrap().into_iter().map(|step| step.text).collect();
        assert_eq!(all, ["scripts/check.sh -x 'a b'"]);
        let file = "pre-commit:\n  commands:\n    lint: {run: eslint {staged_files}}\n";
        assert!(lefthook(file).is_none());
        let file = "pre-commit:\n  commands:\n    lint:\n      run: eslint {staged_files}\n";
        assert_eq!(lefthook(file).unwrap(), [Step::shell(format!("eslint {}", crate::UNKNOWN_SPAN))]);
    }
}
