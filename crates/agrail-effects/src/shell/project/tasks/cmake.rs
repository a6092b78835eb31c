//! `CMakeLists.txt`: commands that run while it is read or built, files that it removes or downloads.

use super::Step;
use crate::UNKNOWN_SPAN;
use crate::reading::quote;

/// Words that end the command line after `COMMAND`.
const KEYWORDS: [&str; 30] = [
    "COMMAND",
    "WORKING_DIRECTORY",
    "DEPENDS",
    "COMMENT",
    "VERBATIM",
    "BYPRODUCTS",
    "OUTPUT",
    "TARGET",
    "PRE_BUILD",
    "PRE_LINK",
    "POST_BUILD",
    "ALL",
    "USES_TERMINAL",
    "COMMAND_EXPAND_LISTS",
    "SOURCES",
    "MAIN_DEPENDENCY",
    "RESULT_VARIABLE",
    "RESULTS_VARIABLE",
    "OUTPUT_VARIABLE",
    "ERROR_VARIABLE",
    "OUTPUT_QUIET",
    "ERROR_QUIET",
    "OUTPUT_STRIP_TRAILING_WHITESPACE",
    "ERROR_STRIP_TRAILING_WHITESPACE",
    "COMMAND_ECHO",
    "COMMAND_ERROR_IS_FATAL",
    "ECHO_OUTPUT_VARIABLE",
    "ECHO_ERROR_VARIABLE",
    "TIMEOUT",
    "INPUT_FILE",
];
/// Commands whose arguments contain command lines.
const RUNS: [&str; 3] = ["execute_process", "add_custom_command", "add_custom_target"];

/// The command lines, and the effects on files as command lines.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (name, words) in calls(text) {
        if RUNS.contains(&name.as_str()) {
            steps.extend(lines(&words));
        } else if name == "file" {
            steps.extend(on_files(&words));
        }
    }
    steps
}

/// The command lines among the arguments: the words after each `COMMAND`.
fn lines(words: &[String]) -> Vec<Step> {
    let mut all = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| *word == "COMMAND") {
        let rest = words.get(at + 1..).unwrap_or_default();
        let line: Vec<&str> = rest.iter().map(String::as_str).take_while(|word| !KEYWORDS.contains(word)).collect();
        let line: Vec<String> = match line.as_slice() {
            // `cmake -E rm -rf x` is one of its own tools
            [cmake, "-E", tool, rest @ ..] if cmake.contains("cmake") || cmake.contains("CMAKE_COMMAND") => {
                tool_line(tool, rest)
            }
            line => line.iter().map(|word| quote(word)).collect(),
        };
        all.push(Step::shell(line.join(" ")));
    }
    all
}

fn tool_line(tool: &str, words: &[&str]) -> Vec<String> {
    let name = match tool {
        "copy" | "copy_if_different" => "cp",
        "copy_directory" => "cp -r",
        "remove" | "rm" => "rm",
        "remove_directory" => "rm -r",
        "rename" => "mv",
        "make_directory" => "mkdir -p",
        "create_symlink" => "ln -s",
        "env" => "env",
        _ => return Vec::new(),
    };
    std::iter::once(name.to_owned()).chain(words.iter().map(|word| quote(word))).collect()
}

/// `file(REMOVE_RECURSE ...)`, `file(DOWNLOAD URL FILE)`, `file(WRITE FILE ...)` and others like them.
fn on_files(words: &[String]) -> Option<Step> {
    let (what, rest) = words.split_first()?;
    let quoted = |count: usize| rest.iter().take(count).map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    let line = match what.as_str() {
        "REMOVE" => format!("rm -f {}", quoted(usize::MAX)),
        "REMOVE_RECURSE" => format!("rm -rf {}", quoted(usize::MAX)),
        "WRITE" | "APPEND" | "TOUCH" => format!("tee {}", quoted(1)),
        "READ" | "STRINGS" => format!("cat {}", quoted(1)),
        "DOWNLOAD" => format!("curl {} -o {}", quoted(1), rest.get(1).map(|file| quote(file)).unwrap_or_default()),
        "UPLOAD" => format!("curl -T {}", quoted(2)),
        _ => return None,
    };
    Some(Step::shell(line))
}

/// The commands of a text with their arguments; [`UNKNOWN_SPAN`] replaces the value of a variable.
fn calls(text: &str) -> Vec<(String, Vec<String>)> {
    let (mut all, mut name) = (Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '#' => drop(chars.by_ref().find(|c| *c == '\n')),
            '(' if !name.is_empty() => {
                let words = arguments(&mut chars);
                all.push((std::mem::take(&mut name).to_ascii_lowercase(), words));
            }
            c if c.is_alphanumeric() || c == '_' => name.push(c),
            c if c.is_whitespace() && chars.peek().is_some_and(|next| next.is_whitespace() || *next == '(') => {}
            _ => name.clear(),
        }
    }
    all
}

/// The words up to the closing parenthesis.
fn arguments(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Vec<String> {
    let (mut words, mut word, mut depth, mut quoted) = (Vec::new(), String::new(), 1, false);
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                quoted = !quoted;
                if !quoted {
                    words.push(std::mem::take(&mut word));
                }
            }
            '\\' => word.extend(chars.next()),
            '$' if chars.peek() == Some(&'{') || chars.peek() == Some(&'E') => {
                let name: String = chars.by_ref().skip_while(|c| *c != '{').skip(1).take_while(|c| *c != '}').collect();
                match name.as_str() {
                    "HOME" => word.push('~'),
                    "CMAKE_COMMAND" => word.push_str("cmake"),
                    "CMAKE_SOURCE_DIR" | "CMAKE_CURRENT_SOURCE_DIR" | "PROJECT_SOURCE_DIR" => word.push('.'),
                    "CMAKE_BINARY_DIR" | "CMAKE_CURRENT_BINARY_DIR" | "PROJECT_BINARY_DIR" => word.push_str("./build"),
                    _ => word.push(UNKNOWN_SPAN),
                }
            }
            _ if quoted => word.push(c),
            '#' => drop(chars.by_ref().find(|c| *c == '\n')),
            '(' | ')' => {
                depth = if c == '(' { depth + 1 } else { depth - 1 };
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                if depth == 0 {
                    break;
                }
            }
            c if c.is_whitespace() || c == ';' => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            c => word.push(c),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_run_while_it_is_read() {
        let file = "project(x C)\n# execute_process(COMMAND no)\nexecute_process(\n  COMMAND sh -c \"rm -rf $ENV{HOME}/x\"\n  \
                    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMAND git rev-parse HEAD OUTPUT_VARIABLE r)\nfile (REMOVE_RECURSE \
                    ${CMAKE_BINARY_DIR}/a)\nadd_custom_target(c COMMAND ${CMAKE_COMMAND} -E remove_directory d)\n";
        let texts: Vec<String> = steps(file).into_iter().map(|step| step.text).collect();
        assert_eq!(texts, ["sh -c 'rm -rf ~/x'", "git rev-parse HEAD", "rm -rf ./build/a", "rm -r d"]);
    }
}
