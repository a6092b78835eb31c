//! Task files in Python (`noxfile.py`, `tasks.py`): commands that a task hands to its context.

use super::Step;
use crate::reading::quote;
use crate::tree::Node;
use crate::tree::{self, Grammar};

/// Methods of the context that run their arguments.
const RUNS: [&str; 6] = ["run", "run_always", "run_install", "sudo", "local", "shell"];

/// The command lines whose words are constant.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let Some(tree) = tree::parse(Grammar::Python, text) else { return Vec::new() };
    let mut steps = vec![Step { language: "python", text: text.to_owned(), folder: None }];
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        if node.kind() == "call" {
            steps.extend(line(node, text));
        }
        let below: Vec<Node<'_>> = node.children().collect();
        open.extend(below.into_iter().rev());
    }
    steps
}

/// A file of tests, and calls of its tests: functions named `test...`, methods of classes of tests.
pub(super) fn tests(text: &str) -> Vec<Step> {
    let mut calls = String::new();
    let mut class: Option<&str> = None;
    for line in text.lines() {
        let inner = line.trim_start();
        let name = |head: &str| inner.strip_prefix(head).and_then(|rest| rest.split(['(', ':', ' ']).next());
        if let Some(name) = name("class ") {
            class = (name.starts_with("Test") || line.contains("TestCase")).then_some(name);
        } else if let Some(name) = name("def ").or_else(|| name("async def ")) {
            let prepares = matches!(name, "setUp" | "setup_method" | "tearDown" | "teardown_method");
            match class.filter(|_| inner.len() < line.len()) {
                Some(class) if name.starts_with("test") || prepares => calls.push_str(&format!("{class}().{name}()\n")),
                None if name.starts_with("test") && inner.len() == line.len() => calls.push_str(&format!("{name}()\n")),
                _ => {}
            }
        }
    }
    vec![Step { language: "python", text: format!("{text}\n{calls}"), folder: None }]
}

/// The command line of `context.run("program", "argument")` or `context.run("a command line")`.
fn line(call: Node<'_>, text: &str) -> Option<Step> {
    let function = call.child_by_field_name("function").filter(|function| function.kind() == "attribute")?;
    let of = |node: Node<'_>| text.get(node.byte_range());
    let method = of(function.child_by_field_name("attribute")?)?;
    let context = of(function.child_by_field_name("object")?)?;
    if !RUNS.contains(&method) || matches!(context, "subprocess" | "os" | "asyncio") {
        return None;
    }
    let arguments = call.child_by_field_name("arguments")?;
    let words: Vec<String> = arguments
        .named_children()
        .take_while(|argument| argument.kind() == "string")
        .filter_map(|argument| literal(of(argument)?))
        .collect();
    let command = match words.as_slice() {
        [] => return None,
        [line] => line.clone(),
        words => words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
    };
    Some(Step::shell(if method == "sudo" { format!("sudo {command}") } else { command }))
}

/// The content of a plain text.
fn literal(text: &str) -> Option<String> {
    let text = text.trim_start_matches(['r', 'u']);
    let inner = ["\"\"\"", "'''", "\"", "'"].iter().find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark))?;
    Some(inner.replace("\\\"", "\"").replace("\\'", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_hand_commands_to_their_context() {
        let file = "@nox.session\ndef t(session):\n    session.install('x')\n    session.run('pytest', 'a b', *x)\n\n@task\ndef \
                    c(c):\n    c.run(\"rm -rf build\")\n    subprocess.run('no')\n";
        let texts: Vec<String> = steps(file).into_iter().skip(1).map(|step| step.text).collect();
        assert_eq!(texts, ["pytest 'a b'", "rm -rf build"]);
    }
}
