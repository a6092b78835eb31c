//! `tox.ini` and the sections of tox in `setup.cfg`: the commands of the environments.

use super::{Step, fill};

/// Keys whose lines are commands.
const KEYS: [&str; 3] = ["commands_pre", "commands", "commands_post"];

/// The commands of the chosen environments; of all if none is chosen or an environment has none of its own.
pub(super) fn steps(text: &str, chosen: &[String]) -> Vec<Step> {
    let mut all = Vec::new();
    let (mut of_tox, mut of_commands) = (false, false);
    for line in text.lines() {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            (of_tox, of_commands) = (section.trim_start_matches("tox:").starts_with("testenv"), false);
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            if !line.trim().is_empty() && !line.starts_with(['#', ';']) {
                of_commands = of_tox && KEYS.contains(&key.trim());
            }
            if of_commands && line.contains('=') {
                all.push(value.to_owned());
            }
        } else if of_commands {
            all.push(line.to_owned());
        }
    }
    let given = chosen.join(" ");
    // lines that depend on an environment begin with its name
    let factor = |line: &str| match line.split_once(':') {
        Some((names, rest)) if rest.starts_with(' ') && !names.contains([' ', '/']) => rest.trim().to_owned(),
        _ => line.to_owned(),
    };
    let joined = all.join("\n").replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| Step::shell(substituted(factor(line).trim_start_matches(['-', '!', ' ']), &given))).collect()
}

/// The source that pylint runs when it starts.
pub(super) fn pylintrc(text: &str) -> Vec<Step> {
    let value = |line: &str| {
        let value = line.trim().strip_prefix("init-hook")?.trim_start().strip_prefix(['=', ':'])?.trim();
        let bare = ["\"", "'"].iter().find_map(|mark| value.strip_prefix(mark)?.strip_suffix(mark)).unwrap_or(value);
        Some(Step { language: "python", text: bare.to_owned(), folder: None })
    };
    text.lines().filter_map(value).collect()
}

fn substituted(line: &str, given: &str) -> String {
    fill(line, "{", "}", |name| match name.split_once(':').unwrap_or((name, "")) {
        ("posargs", default) => Some(if given.is_empty() { default.to_owned() } else { given.to_owned() }),
        ("toxinidir" | "tox_root", _) => Some(".".to_owned()),
        ("env", "HOME") => Some("~".to_owned()),
        ("/", _) => Some("/".to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UNKNOWN_SPAN;

    #[test]
    fn environments_have_commands() {
        let file = "[tox]\nenvlist = py, lint\n[testenv]\ndeps = pytest\ncommands_pre = python -m x\ncommands =\n    # \
                    all\n    pytest {posargs:tests}\n    - rm {envtmpdir}/x \\\n      y\n    lint: flake8\npassenv =\n    \
                    HOME\n[flake8]\ncommands = no\n";
        let texts: Vec<String> = steps(file, &[]).into_iter().map(|step| step.text).collect();
        let tmp = format!("rm {UNKNOWN_SPAN}/x        y");
        assert_eq!(texts, ["python -m x", "pytest tests", tmp.as_str(), "flake8"]);
    }
}
