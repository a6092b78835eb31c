//! Interpreters of other languages: source on the command line, modules, scripts.

use super::command::quote_all;
use super::{Output, Shell};
use crate::table::Table;
use crate::{Cause, Verb};

impl Shell<'_> {
    /// Interprets python -c, perl -e and similar commands; otherwise a script file.
    pub(crate) fn interpreter(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let (language, inline): (&str, &[&str]) = match base {
            "python" | "pypy" => ("python", &["-c"]),
            "perl" => (
                "perl",
                &[
                    "-e", "-E", "-ne", "-pe", "-nle", "-lne", "-ple", "-lane", "-ane", "-pie", "-le", "-0pe", "-pi",
                    "-i",
                ],
            ),
            "ruby" => ("ruby", &["-e", "-ne", "-pe"]),
            "node" | "nodejs" | "deno" | "bun" => ("js", &["-e", "-p", "--eval", "--print", "-pe"]),
            "php" => ("php", &["-r"]),
            _ => return None,
        };
        let mut index = 0;
        let mut in_place = false;
        let mut ran = false;
        // interactive after its script
        if matches!(language, "python" | "js" | "php")
            && words.iter().any(|w| matches!(w.as_str(), "-i" | "-a" | "--interactive"))
        {
            self.waits(program, &Output::default());
        }
        while let Some(word) = words.get(index) {
            if language == "python"
                && let Some((letter, value)) = python_option(word)
            {
                let rest = words.get(index + 1..).unwrap_or_default();
                let (value, rest) = match value {
                    Some(value) => (value.to_owned(), rest),
                    None => (rest.first().cloned().unwrap_or_default(), rest.get(1..).unwrap_or_default()),
                };
                if letter == 'm' {
                    return Some(self.python_module(&value, rest));
                }
                self.script(language, &value, &format!("{program} -c"));
                return Some(Output::default());
            }
            if language != "python" && loads(word) {
                self.unknown(Cause::Arguments, &format!("{program} {word} loads code"), program);
            }
            if language == "perl"
                && word.starts_with('-')
                && word.contains('i')
                && !word.starts_with("-M")
                && !word.starts_with("-I")
            {
                in_place = true;
            }
            let inline_here = inline.contains(&word.as_str()) && word != "-i" && word != "-pi"
                || (language == "perl"
                    && word.starts_with('-')
                    && !word.starts_with("--")
                    && !word.starts_with("-M")
                    && !word.starts_with("-I")
                    && word.ends_with(['e', 'E']));
            if let Some(text) = glued(language, word).map(str::to_owned) {
                self.script(language, &text, &format!("{program} -e"));
                ran = true;
                if language == "python" {
                    return Some(Output::default());
                }
            } else if inline_here {
                index += 1;
                let text = words.get(index).cloned().unwrap_or_default();
                self.script(language, &text, &format!("{program} {}", word));
                ran = true;
                if language == "python" {
                    return Some(Output::default());
                }
            } else if language == "python" && word == "-m" {
                let module = words.get(index + 1).cloned().unwrap_or_default();
                return Some(self.python_module(&module, words.get(index + 2..).unwrap_or_default()));
            } else if word == "-" {
                break;
            } else if word.starts_with('-') {
                if matches!(word.as_str(), "-W" | "-X" | "-I" | "-M" | "-r" | "--require" | "-C") {
                    index += 1;
                }
            } else if ran {
                let mut effect = self.at(if in_place { Verb::Write } else { Verb::Read }, word, program);
                if in_place {
                    "in place".clone_into(&mut effect.detail);
                }
                self.add(effect);
            } else {
                let rest = words.get(index + 1..).unwrap_or_default().to_vec();
                return Some(self.run_file(word, &rest, Some(language)));
            }
            index += 1;
        }
        if !ran
            && !words.iter().any(|w| matches!(w.as_str(), "--version" | "-V" | "-v" | "--help" | "-h"))
            && (stdin.piped || words.iter().any(|w| w == "-"))
        {
            self.run_input(language, program, stdin);
        } else if !ran && !words.iter().any(|w| matches!(w.as_str(), "--version" | "-V" | "-v" | "--help" | "-h")) {
            self.waits(program, stdin);
        }
        Some(Output::default())
    }

    pub(crate) fn python_module(&mut self, module: &str, rest: &[String]) -> Output {
        match module {
            "http.server" | "SimpleHTTPServer" => {
                self.named(Verb::Listen, rest.first().map_or("8000", String::as_str), "python")
            }
            "timeit" => {
                // the arguments are the code to time
                for source in rest.iter().filter(|word| !word.starts_with('-')) {
                    self.script("python", source, "python -m timeit");
                }
            }
            "json.tool" | "this" | "calendar" | "platform" | "site" | "sysconfig" | "doctest" | "tokenize" | "ast"
            | "dis" => {}
            "venv" | "ensurepip" => {
                for path in rest.iter().filter(|w| !w.starts_with('-')) {
                    let effect = self.at(Verb::Create, path, "python");
                    self.add(effect);
                }
            }
            _ => {
                let words: Vec<String> = std::iter::once(module.to_owned()).chain(rest.iter().cloned()).collect();
                if Table::shipped().row(module).is_some() {
                    return self.wrapped("python -m", &words, Output::default());
                }
                self.unknown(Cause::Program, &format!("python -m {module} {}", quote_all(rest)), "python");
            }
        }
        Output::default()
    }
}

/// The option for source or for a module in a word of option letters, and its value if it is in the same word.
fn python_option(word: &str) -> Option<(char, Option<&str>)> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let at = letters.find(|c| !"bBdEhiIOPqsSuvx".contains(c))?;
    let letter = letters.get(at..)?.chars().next().filter(|c| matches!(c, 'c' | 'm'))?;
    Some((letter, letters.get(at + 1..).filter(|value| !value.is_empty())))
}

/// Whether an option makes perl, ruby or node load the code named by its value.
fn loads(word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-') else { return false };
    let plain =
        ["-Mstrict", "-Mwarnings", "-MData::Dumper", "-MList::Util", "-MPOSIX", "-MJSON::PP", "-rjson", "-ryaml"];
    (letters.starts_with(['M', 'm', 'r'])
        && !plain.contains(&word)
        && !plain.iter().any(|p| word.starts_with(&format!("{p}="))))
        || word.starts_with("--require")
        || word.starts_with("--import")
        || word.starts_with("--loader")
        || word.starts_with("--experimental-loader")
}

/// The source in `-e'print 1'`: an option for source with its value in the same word.
fn glued<'w>(language: &str, word: &'w str) -> Option<&'w str> {
    let letters = word.strip_prefix('-').filter(|l| !l.starts_with('-'))?;
    let (before, option) = match language {
        "perl" | "ruby" => ("nplaw0123456789", ['e', 'E']),
        "python" => ("BdEiIOPqsSuv", ['c', 'c']),
        "js" => ("", ['e', 'p']),
        "php" => ("n", ['r', 'r']),
        _ => return None,
    };
    let at = letters.find(|c| !before.contains(c))?;
    let rest = letters.get(at..)?.strip_prefix(option)?;
    // `-le` and similar words consist of option letters only
    (!rest.is_empty() && rest.chars().any(|c| !c.is_ascii_alphabetic())).then_some(rest)
}
