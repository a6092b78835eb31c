//! Jupyter notebooks: the code of all cells as one source.
//!
//! The cells of a notebook in Python share one interpreter, so they are one program. Lines and cells that IPython hands to
//! a shell become calls of `os.system`, and magics that only affect display are dropped. Any other magic becomes a
//! call that no reader knows.

use serde_json::Value;

/// Kernels, by the beginning of their names before a version, and their languages.
const KERNELS: [(&str, &str); 5] =
    [("python", "python"), ("ir", "r"), ("julia", "julia"), ("bash", "bash"), ("deno", "js")];
/// Cell magics whose cell is Python; the words after them matter to IPython alone.
const SAME: [&str; 4] = ["capture", "prun", "time", "timeit"];
/// Cell magics whose cell only is shown.
const SHOWN: [&str; 6] = ["HTML", "SVG", "html", "latex", "markdown", "svg"];
/// Cell magics whose cell a shell runs.
const SHELLS: [&str; 4] = ["bash", "sh", "!", "script bash"];
/// Line magics that only affect display or show information.
const INERT: [&str; 14] = [
    "autoreload",
    "colors",
    "config",
    "lsmagic",
    "matplotlib",
    "page",
    "pdoc",
    "pinfo",
    "precision",
    "pwd",
    "pylab",
    "who",
    "who_ls",
    "whos",
];
/// Line magics that are programs.
const PROGRAMS: [&str; 10] = ["cat", "conda", "cp", "ls", "mamba", "mkdir", "mv", "pip", "rm", "uv"];
/// The name under which the source knows the module `os`.
const OS: &str = "__import__('os')";

/// The language of a notebook, and its source. The kernel decides which language runs, whatever else the notebook says.
/// `None` if it is no notebook, or one for another kernel.
pub(super) fn source(text: &str) -> Option<(&'static str, String)> {
    let book: Value = serde_json::from_str(text).ok()?;
    let kernel = book.get("metadata").and_then(|metadata| metadata.get("kernelspec")?.get("name"));
    let kernel = kernel.map_or(Some("python"), Value::as_str)?.to_lowercase();
    let (_, language) = KERNELS.iter().find(|(begin, _)| {
        let version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || "-._".contains(c));
        kernel.strip_prefix(begin).is_some_and(version)
    })?;
    let cells = book.get("cells")?.as_array()?;
    let code = cells.iter().filter(|cell| cell.get("cell_type").and_then(Value::as_str) == Some("code"));
    let texts = code.map(|cell| cell.get("source").map(lines_of).unwrap_or_default());
    let parts: Vec<String> = texts.map(|cell| if *language == "python" { python(&cell) } else { cell }).collect();
    Some((language, parts.join("\n")))
}

/// The text of a cell, which is one string or a list of lines.
fn lines_of(source: &Value) -> String {
    match source {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// A cell as plain Python.
fn python(cell: &str) -> String {
    let cell = cell.trim_start_matches(['\n', '\r']);
    let (first, rest) = cell.split_once('\n').unwrap_or((cell, ""));
    let Some(magic) = first.trim().strip_prefix("%%") else { return lines(cell) };
    let (name, words) = magic.split_once(' ').unwrap_or((magic, ""));
    match name {
        _ if SAME.contains(&name) => lines(rest),
        _ if SHOWN.contains(&name) => String::new(),
        _ if SHELLS.iter().any(|shell| magic == *shell || magic.starts_with(&format!("{shell} "))) => system(rest),
        "writefile" | "file" => {
            let (mode, path) = words.strip_prefix("-a ").map_or(("w", words), |path| ("a", path));
            format!("open({}, '{mode}').write({})", quoted(path.trim()), quoted(rest))
        }
        _ => unknown("run_cell_magic", magic),
    }
}

fn lines(cell: &str) -> String {
    let mut out = Vec::new();
    let mut all = cell.lines();
    while let Some(line) = all.next() {
        let begin = line.trim_start();
        let indent = line.get(..line.len() - begin.len()).unwrap_or_default();
        if !is_special(begin) {
            // `object?` asks for help
            let asks = begin.starts_with('?') || begin.ends_with('?') && !begin.contains(['#', '\'', '"']);
            if !asks {
                out.push(line.to_owned());
            }
            continue;
        }
        let mut whole = begin.to_owned();
        while let Some(open) = whole.strip_suffix('\\') {
            whole = format!("{open} {}", all.next().unwrap_or_default().trim_start());
        }
        out.push(format!("{indent}{}", line_of(&whole)));
    }
    out.join("\n")
}

/// Whether IPython does something else with a line than Python.
fn is_special(line: &str) -> bool {
    line.starts_with(['!', '%', ',', ';', '/']) || assigned(line).is_some() || is_magic(line)
}

/// Whether a line is a magic without its mark: `cd data`, `pip install x`.
fn is_magic(line: &str) -> bool {
    let Some((name, words)) = line.split_once(' ') else { return false };
    let word = words.trim_start();
    let operator = word
        .starts_with([',', '&', '^', '|', '*', '/', '+', '-', '=', '(', '.', '[', ':', '<', '>', '!', '%'])
        || ["is ", "not ", "in ", "and ", "or ", "if "].iter().any(|operator| word.starts_with(operator));
    (PROGRAMS.contains(&name) || matches!(name, "cd" | "env" | "run" | "sx" | "system"))
        && !word.is_empty()
        && !operator
}

/// The target and the command of `name = !command` or `name = %magic words`.
fn assigned(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let value = value.trim_start();
    value.starts_with(['!', '%']).then_some((name.trim(), value))
}

fn line_of(line: &str) -> String {
    if let Some((name, value)) = assigned(line) {
        return match value.strip_prefix('!') {
            Some(command) => format!("{name} = {OS}.popen({}).read().splitlines()", template(command)),
            None => format!("{name} = {}", line_of(value)),
        };
    }
    if let Some(command) = line.strip_prefix('!') {
        return system(command.trim_start_matches('!'));
    }
    if line.starts_with([',', ';', '/']) {
        return unknown("run_cell", line);
    }
    let magic = line.trim_start_matches('%');
    let (name, words) = magic.split_once(char::is_whitespace).unwrap_or((magic, ""));
    match name {
        _ if INERT.contains(&name) => "pass".to_owned(),
        _ if PROGRAMS.contains(&name) => system(magic),
        "cd" => format!("{OS}.chdir({})", template(words.trim())),
        "env" | "set_env" => match words.split_once('=') {
            Some((name, value)) => format!("{OS}.environ[{}] = {}", quoted(name.trim()), template(value.trim())),
            None => "pass".to_owned(),
        },
        "load_ext" | "reload_ext" => match words.trim() {
            "autoreload" | "dotenv" | "tensorboard" => "pass".to_owned(),
            module => format!("import {module}"),
        },
        "run" => system(&format!("python {words}")),
        "sx" | "system" => system(words),
        "time" | "timeit" | "prun" => words.to_owned(),
        _ => unknown("run_line_magic", magic),
    }
}

fn system(command: &str) -> String {
    format!("{OS}.system({})", template(command))
}

fn unknown(method: &str, magic: &str) -> String {
    format!("get_ipython().{method}({})", quoted(magic))
}

/// A text in which IPython replaces `{name}` by the value of a variable.
fn template(text: &str) -> String {
    let text = text.trim();
    let prefix = if text.contains('{') { "f" } else { "" };
    format!("{prefix}{}", quoted(text))
}

/// A text as a literal of Python.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::source;
    use serde_json::json;

    fn python(cells: &[&str]) -> String {
        let cells: Vec<_> = cells.iter().map(|text| json!({"cell_type": "code", "source": text})).collect();
        let book = json!({"metadata": {"kernelspec": {"name": "python3"}}, "cells": cells});
        let (language, text) = source(&book.to_string()).unwrap();
        assert_eq!(language, "python");
        text
    }

    #[test]
    fn cells_are_one_program() {
        assert_eq!(python(&["a = 1\n", "print(a)"]), "a = 1\nprint(a)");
        let book = json!({"metadata": {"kernelspec": {"name": "ir"}}, "cells": [
            {"cell_type": "markdown", "source": ["rm -rf ~"]},
            {"cell_type": "code", "source": ["x <- 1\n", "print(x)"]},
        ]});
        assert_eq!(source(&book.to_string()).unwrap(), ("r", "x <- 1\nprint(x)".to_owned()));
    }

    #[test]
    fn what_a_shell_runs_is_a_call() {
        assert_eq!(python(&["if a:\n    !ls \\\n  -l {b}"]), "if a:\n    __import__('os').system(f\"ls  -l {b}\")");
        assert_eq!(python(&["%%bash\nrm -r x\n"]), "__import__('os').system(\"rm -r x\")");
        assert_eq!(python(&["%pip install a"]), "__import__('os').system(\"pip install a\")");
        assert_eq!(python(&["\n%%sh\na"]), "__import__('os').system(\"a\")");
        assert_eq!(python(&["cd a\ncd = 1\nrm - 1"]), "__import__('os').chdir(\"a\")\ncd = 1\nrm - 1");
        assert_eq!(python(&["a, b = !c"]), "a, b = __import__('os').popen(\"c\").read().splitlines()");
        assert_eq!(python(&["!rm {a}/b ${C}"]), "__import__('os').system(f\"rm {a}/b ${C}\")");
        assert_eq!(python(&["f = !ls"]), "f = __import__('os').popen(\"ls\").read().splitlines()");
        assert_eq!(python(&["%%writefile a.py\nb\n"]), "open(\"a.py\", 'w').write(\"b\\n\")");
    }

    #[test]
    fn magics_are_left_out_or_unknown() {
        assert_eq!(python(&["%matplotlib inline\n%time f(1)\n?f\nf?\nb"]), "pass\nf(1)\nb");
        assert_eq!(python(&["%%time\na()"]), "a()");
        assert_eq!(python(&["%%perl\nunlink a"]), "get_ipython().run_cell_magic(\"perl\")");
        assert_eq!(python(&["/f x"]), "get_ipython().run_cell(\"/f x\")");
        assert_eq!(python(&["%odd thing"]), "get_ipython().run_line_magic(\"odd thing\")");
    }

    #[test]
    fn a_text_that_is_no_notebook_has_no_source() {
        assert_eq!(source("{"), None);
        // what it says of its language does not change what runs
        let book = json!({"metadata": {"language_info": {"name": "ftp"}}, "cells": []});
        assert_eq!(source(&book.to_string()).unwrap().0, "python");
        let book = json!({"metadata": {"kernelspec": {"name": "odd"}}, "cells": []});
        assert_eq!(source(&book.to_string()), None);
        assert_eq!(source("[NaN]"), None);
    }
}
