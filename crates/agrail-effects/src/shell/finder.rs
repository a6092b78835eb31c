//! `find` and `xargs`: commands that run on each result.

use super::word::below;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Verb;

/// Most input words that are appended one by one; beyond it, they are not constant.
const MOST: usize = 64;

impl Shell<'_> {
    /// xargs and parallel: the words of the input are appended to a command or replace its placeholder.
    pub(crate) fn xargs(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let given = Self::options(program, words);
        let command = words.get(given.used..).unwrap_or_default();
        let mut replace = (program == "parallel").then(|| "{}".to_owned());
        for option in given.given.iter().filter(|option| matches!(option.name.as_str(), "-I" | "-i" | "--replace")) {
            replace = Some(option.value.clone().unwrap_or_else(|| "{}".to_owned()));
        }
        let mark = if given.has(&["-0", "--null"]) {
            Some("\0".to_owned())
        } else {
            given.value(&["--delimiter"]).map(super::quoting::ansi_c)
        };
        let mut incoming: Vec<String> = match (&stdin.text, &stdin.names) {
            (Some(_), _) if mark.as_deref() == Some("") => vec![UNKNOWN_SPAN.to_string()],
            (Some(text), _) if mark.is_some() => {
                let parts = text.split(mark.as_deref().unwrap_or("\0")).filter(|part| !part.is_empty());
                parts.take(MOST + 1).map(str::to_owned).collect()
            }
            (Some(text), _) if replace.is_some() => text.lines().take(MOST + 1).map(str::to_owned).collect(),
            (Some(text), _) => text.split_whitespace().take(MOST + 1).map(str::to_owned).collect(),
            (None, Some(names)) => names.iter().map(|n| below(n)).collect(),
            (None, None) => vec![UNKNOWN_SPAN.to_string()],
        };
        if incoming.len() > MOST {
            incoming = vec![UNKNOWN_SPAN.to_string()];
        }
        if command.is_empty() && program == "parallel" && stdin.piped {
            self.run_input("bash", program, stdin);
        }
        if command.is_empty() {
            return Output { names: stdin.names.clone(), ..Output::default() };
        }
        let full: Vec<String> = match &replace {
            Some(mark) if !mark.is_empty() && command.iter().any(|w| w.contains(mark.as_str())) => {
                let filled = |value: &String| -> Vec<String> {
                    command.iter().map(|w| w.replace(mark.as_str(), value)).collect()
                };
                for value in incoming.iter().skip(1) {
                    self.wrapped(program, &filled(value), Output::default());
                }
                filled(incoming.first().unwrap_or(&UNKNOWN_SPAN.to_string()))
            }
            _ => command.iter().cloned().chain(incoming.clone()).collect(),
        };
        if stdin.network && command.first().is_some_and(|c| matches!(c.as_str(), "sh" | "bash")) {
            self.run_input("bash", program, stdin);
        }
        let mut output = self.wrapped(program, &full, Output::default());
        if output.names.is_none() {
            output.names.clone_from(&stdin.names);
        }
        output
    }

    pub(crate) fn find(&mut self, words: &[String]) -> Output {
        let mut starts: Vec<String> = Vec::new();
        let mut index = 0;
        while let Some(word) = words.get(index) {
            if matches!(word.as_str(), "-H" | "-L" | "-P" | "-d" | "-s" | "-x" | "-X" | "-E") || word.starts_with("-O")
            {
                index += 1;
            } else if word == "-D" || (word == "-f" && starts.is_empty()) {
                index += 2;
            } else if word.starts_with(['-', '(', ')', '!', ',']) {
                break;
            } else {
                starts.push(word.clone());
                index += 1;
            }
        }
        if starts.is_empty() {
            starts.push(".".to_owned());
        }
        let expression = words.get(index..).unwrap_or_default();
        if expression.iter().any(|word| word == "-files0-from") {
            starts = vec![UNKNOWN_SPAN.to_string()];
        }
        let shallow = expression.windows(2).any(|w| matches!(w, [a, b] if a == "-maxdepth" && b == "0"));
        let files_only = expression.windows(2).any(|w| matches!(w, [a, b] if a == "-type" && b != "d"));
        let narrowed = files_only
            || expression.iter().any(|w| {
                matches!(
                    w.as_str(),
                    "-name"
                        | "-iname"
                        | "-path"
                        | "-ipath"
                        | "-regex"
                        | "-iregex"
                        | "-empty"
                        | "-mindepth"
                        | "-newer"
                        | "-mtime"
                        | "-atime"
                        | "-ctime"
                        | "-mmin"
                        | "-size"
                        | "-inum"
                        | "-user"
                        | "-perm"
                        | "-nouser"
                )
            });
        for start in &starts {
            let mut effect = self.at(Verb::List, start, "find");
            effect.recursive = !shallow;
            self.add(effect);
        }
        let found: Vec<String> =
            starts.iter().map(|s| if shallow || !narrowed { s.clone() } else { below(s) }).collect();
        let mut at = 0;
        while let Some(word) = expression.get(at) {
            match word.as_str() {
                "-delete" => {
                    for path in &found {
                        let mut effect = self.at(Verb::Delete, path, "find");
                        effect.recursive = !narrowed;
                        self.add(effect);
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let rest = expression.get(at + 1..).unwrap_or_default();
                    // a plus ends the command only directly after `{}`
                    let ends = |at: usize, w: &String| {
                        let filled = at.checked_sub(1).and_then(|before| rest.get(before)).is_some_and(|w| w == "{}");
                        w == ";" || w == "\\" || (w == "+" && filled)
                    };
                    let length = rest.iter().enumerate().position(|(at, w)| ends(at, w)).unwrap_or(rest.len());
                    let command: Vec<String> = rest.iter().take(length).cloned().collect();
                    for path in &found {
                        let filled: Vec<String> = command.iter().map(|w| w.replace("{}", path)).collect();
                        self.wrapped(&format!("find {word}"), &filled, Output::default());
                    }
                    at += length;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = expression.get(at + 1) {
                        let effect = self.at(Verb::Write, file, "find");
                        self.add(effect);
                    }
                    at += 1;
                }
                _ => {}
            }
            at += 1;
        }
        Output { names: Some(starts.iter().map(|s| self.path(s)).collect()), ..Output::default() }
    }
}
