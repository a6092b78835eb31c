//! `mix.exs`: the aliases of a project, each a list of tasks.

use super::Step;

/// Deepest aliases of aliases.
const DEEPEST: usize = 8;

/// The command lines of the chosen alias. Functions among its tasks are code of the project.
pub(super) fn steps(text: &str, chosen: &[String]) -> Vec<Step> {
    let Some((name, words)) = chosen.split_first() else { return Vec::new() };
    let mut steps = Vec::new();
    follow(text, name, words, &mut vec![name.clone()], &mut steps);
    steps
}

fn follow(text: &str, name: &str, words: &[String], within: &mut Vec<String>, steps: &mut Vec<Step>) {
    let Some(tasks) = alias(text, name) else { return };
    for task in tasks {
        let first = task.split_whitespace().next().unwrap_or_default().to_owned();
        if let Some(command) = task.strip_prefix("cmd ") {
            steps.push(Step::shell(command));
        } else if alias(text, &first).is_some() && !within.contains(&first) {
            if within.len() < DEEPEST {
                within.push(first.clone());
                follow(text, &first, words, within, steps);
                within.pop();
            }
        } else {
            // its own name means the task behind the alias
            let task = if first == name { format!("{task} {}", words.join(" ")) } else { task };
            steps.push(Step::shell(format!("mix {}", task.trim())));
        }
    }
}

/// The tasks of an alias: `name: ["task --flag", ...]`, `"a.name": "task"`.
fn alias(text: &str, name: &str) -> Option<Vec<String>> {
    // of other lists with names, such as dependencies, a value is no list of texts
    let (_, aliases) = text.split_once("aliases do").or_else(|| text.split_once("aliases: ["))?;
    let value = [format!("\"{name}\":"), format!("{name}:")].iter().find_map(|key| {
        let at = aliases.match_indices(key.as_str()).find(|(at, _)| {
            let before = aliases.get(..*at).and_then(|before| before.chars().next_back());
            before.is_none_or(|c| c.is_whitespace() || matches!(c, '[' | ','))
        })?;
        aliases.get(at.0 + key.len()..)
    })?;
    let value = value.trim_start();
    let list = match value.strip_prefix('[') {
        Some(list) => list.split(']').next().unwrap_or_default(),
        None => value.lines().next().unwrap_or_default(),
    };
    // what stands between quotes
    Some(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::steps;

    const TEXT: &str = r#"
  defp aliases do
    [
      setup: ["deps.get", "ecto.setup"],
      "ecto.setup": ["ecto.create", "run priv/repo/seeds.exs"],
      test: ["ecto.create --quiet", "test"],
      ci: ["format --check-formatted", "cmd npm test", &check/1, "setup"],
      loop: ["loop2"],
      loop2: ["loop"]
    ]
  end
"#;

    fn lines(chosen: &[&str]) -> Vec<String> {
        let chosen: Vec<String> = chosen.iter().map(|word| (*word).to_owned()).collect();
        steps(TEXT, &chosen).into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn an_alias_is_its_tasks() {
        let ci = [
            "mix format --check-formatted",
            "npm test",
            "mix deps.get",
            "mix ecto.create",
            "mix run priv/repo/seeds.exs",
        ];
        assert_eq!(lines(&["ci"]), ci);
        assert_eq!(lines(&["test", "a_test.exs"]), ["mix ecto.create --quiet", "mix test a_test.exs"]);
        assert_eq!(lines(&["loop"]), ["mix loop"]);
        assert!(lines(&["compile"]).is_empty() && lines(&[]).is_empty());
    }
}
