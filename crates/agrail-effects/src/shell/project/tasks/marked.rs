//! Formats in which a mark in a line begins a command: `//go:generate`, a `Procfile`, `binding.gyp`.

use super::Step;

/// The commands behind `//go:generate`; `-command NAME WORDS` gives a name to the first words of later ones.
pub(super) fn go_generate(text: &str) -> Vec<Step> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut steps = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("//go:generate")) {
        let line = line.trim();
        if let Some((name, words)) = line.strip_prefix("-command ").and_then(|rest| rest.trim().split_once(' ')) {
            names.push((name, words));
            continue;
        }
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        steps.push(match names.iter().rev().find(|(name, _)| *name == first) {
            Some((_, words)) => Step::shell(format!("{words} {rest}").trim()),
            None => Step::shell(line),
        });
    }
    steps
}

/// The commands of a `Procfile`: `NAME: COMMAND`.
pub(super) fn procfile(text: &str) -> Vec<Step> {
    let line = |line: &str| {
        let (name, command) = line.split_once(':')?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        is_name.then(|| Step::shell(command.trim()))
    };
    text.lines().filter_map(line).collect()
}

/// The commands that node-gyp runs while it reads a file: `<!(COMMAND)`, `<!@(COMMAND)`.
pub(super) fn gyp(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for mark in ["<!(", "<!@("] {
        for after in text.split(mark).skip(1) {
            // a quote ends the text of the format, whatever the command is
            let line = after.split(['\'', '\n']).next().unwrap_or_default();
            let end = line.rfind(')').unwrap_or(line.len());
            steps.push(Step::shell(line.get(..end).unwrap_or_default().replace("\\\"", "\"")));
        }
    }
    steps
}

/// The command lines of the rules of a `build.ninja`.
pub(super) fn ninja(text: &str) -> Vec<Step> {
    let text = text.replace("$\n", " ");
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("command")?.trim_start().strip_prefix('='));
    let step = |line: &str| {
        let line = line.trim().replace("$$", "\u{1}");
        let mut parts = line.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = match part.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
                Some((_, rest)) => rest,
                None => part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
            };
            filled.push(crate::UNKNOWN_SPAN);
            filled.push_str(rest);
        }
        Step::shell(filled.replace('\u{1}', "$"))
    };
    lines.map(step).collect()
}

/// The commands that meson runs when it is set up: `run_command('sh', 'x.sh')`.
pub(super) fn meson(text: &str) -> Vec<Step> {
    let code: String = text.lines().map(|line| format!("{}\n", line.split('#').next().unwrap_or_default())).collect();
    let calls = code.split("run_command(").skip(1);
    let line = |call: &str| {
        let inside = call.split(')').next().unwrap_or_default();
        let words = inside.split(',').map(str::trim).take_while(|word| !word.contains(':'));
        let words = words.filter_map(|word| word.strip_prefix('\'')?.strip_suffix('\'')).map(crate::reading::quote);
        Step::shell(words.collect::<Vec<_>>().join(" "))
    };
    calls.map(line).collect()
}

/// The commands that terraform itself starts: those of `local-exec`, and programs of external data.
pub(super) fn terraform(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines();
    let (mut local, mut external) = (false, false);
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.ends_with('{') && !line.contains('=') {
            local = line.contains("\"local-exec\"");
            external |= line.starts_with("data \"external\"");
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let value = value.trim();
        match name.trim() {
            "command" if local => {
                let text = match value.trim_start_matches("<<").trim_start_matches('-') {
                    end if value.starts_with("<<") => {
                        let body: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != end).collect();
                        body.join("\n")
                    }
                    _ => value.trim_matches('"').replace("\\\"", "\""),
                };
                steps.push(Step::shell(super::fill(&text, "${", "}", |_| None)));
            }
            "program" if external => {
                external = false;
                let words: Vec<String> = value.split('"').skip(1).step_by(2).map(crate::reading::quote).collect();
                steps.push(Step::shell(words.join(" ")));
            }
            _ => {}
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terraform_starts_programs() {
        let file = "resource \"x\" \"y\" {\n  command = \"no\"\n  provisioner \"local-exec\" {\n    command = \"rm -rf \
                    ${path.module}/a\"\n  }\n}\ndata \"external\" \"z\" {\n  program = [\"sh\", \"-c\", \"a b\"]\n}\n";
        let rm = format!("rm -rf {}/a", crate::UNKNOWN_SPAN);
        assert_eq!(terraform(file), [Step::shell(rm), Step::shell("sh -c 'a b'")]);
    }

    #[test]
    fn meson_runs_commands() {
        let file = "project('x')\n# run_command('no')\nv = run_command('sh', 'a b.sh', check: true).stdout()\n";
        assert_eq!(meson(file), [Step::shell("sh 'a b.sh'")]);
    }

    #[test]
    fn ninja_rules_have_commands() {
        let file = "rule cc\n  command = gcc -c $in -o ${out} $\n    && echo $$HOME\nbuild a: cc b\n";
        let span = crate::UNKNOWN_SPAN;
        assert_eq!(ninja(file), [Step::shell(format!("gcc -c {span} -o {span}      && echo $HOME"))]);
    }

    #[test]
    fn marks_begin_commands() {
        assert_eq!(go_generate("package a\n//go:generate stringer -type=T\n"), [Step::shell("stringer -type=T")]);
        let named = "//go:generate -command y sh -c \"a b\"\n//go:generate y\n//go:generate y c\n";
        assert_eq!(go_generate(named), [Step::shell("sh -c \"a b\""), Step::shell("sh -c \"a b\" c")]);
        assert_eq!(procfile("web: node a.js\n# no: x y\n"), [Step::shell("node a.js")]);
        assert_eq!(gyp("{'x': ['<!@(node -p \"1\")']}"), [Step::shell("node -p \"1\"")]);
    }
}
