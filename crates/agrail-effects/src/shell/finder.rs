//! `find` and `xargs`: commands that run on each result.

use super::word::below;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Verb;
use crate::table::Options;

/// Most input words that are appended one by one; beyond it, they are not constant.
const MOST: usize = 64;
/// Tests of `find` that choose by name, so that not everything below a starting point is found.
const NAMES: [&str; 6] = ["-name", "-iname", "-path", "-ipath", "-regex", "-iregex"];
/// Tests that choose by something else.
const OTHERS: [&str; 10] =
    ["-empty", "-newer", "-mtime", "-atime", "-ctime", "-mmin", "-size", "-inum", "-user", "-perm"];
/// With one of these, the files of a home folder are few.
const WITH_FILES: [&str; 2] = ["-maxdepth", "-newermt"];

impl Shell<'_> {
    /// xargs and parallel: the words of the input are appended to a command or replace its placeholder.
    pub(crate) fn xargs(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let given = self.options(program, words);
        self.jobs(program, &given, stdin);
        let command = words.get(given.used..).unwrap_or_default();
        let mut replace = (program == "parallel").then(|| "{}".to_owned());
        for option in given.given.iter().filter(|option| matches!(option.name.as_str(), "-I" | "-i" | "--replace")) {
            replace = Some(option.value.clone().unwrap_or_else(|| "{}".to_owned()));
        }
        let incoming = incoming(&given, replace.is_some(), stdin);
        if command.is_empty() && program == "parallel" && stdin.piped {
            self.run_input("bash", program, &[], stdin);
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
            _ => command.iter().cloned().chain(incoming).collect(),
        };
        if stdin.network && command.first().is_some_and(|c| matches!(c.as_str(), "sh" | "bash")) {
            self.run_input("bash", program, &[], stdin);
        }
        let mut output = self.wrapped(program, &full, Output::default());
        if output.names.is_none() {
            output.names.clone_from(&stdin.names);
        }
        output
    }

    pub(crate) fn find(&mut self, words: &[String]) -> Output {
        let (mut starts, index) = starting_points(words);
        let expression = words.get(index..).unwrap_or_default();
        if expression.iter().any(|word| word == "-files0-from") {
            starts = vec![UNKNOWN_SPAN.to_string()];
        }
        let shallow = expression.windows(2).any(|w| matches!(w, [a, b] if a == "-maxdepth" && b == "0"));
        for start in &starts {
            let mut effect = self.at(Verb::List, start, "find");
            effect.recursive = !shallow;
            self.add(effect);
        }
        let home = format!("{}/", self.state.home);
        let is_wide = |start: &String| home.starts_with(&format!("{}/", self.path(start).trim_end_matches('/')));
        let wide = starts.iter().any(is_wide);
        let mut at = 0;
        while let Some((before, rest)) = expression.split_at_checked(at).filter(|(_, rest)| !rest.is_empty()) {
            let narrowed = is_narrowed(before, wide);
            let whole = shallow || !narrowed;
            let name = if wide { named(before) } else { None }.unwrap_or_default();
            let found = starts.iter().map(|s| if whole { s.clone() } else { below(s) + &name }).collect::<Vec<_>>();
            at += 1 + self.find_action(rest, &found, !narrowed);
        }
        Output { names: Some(starts.iter().map(|s| self.path(s)).collect()), ..Output::default() }
    }

    /// Adds the effects of an expression if it begins with an action; returns how many further words the action has.
    fn find_action(&mut self, expression: &[String], found: &[String], recursive: bool) -> usize {
        let Some((action, rest)) = expression.split_first() else { return 0 };
        match action.as_str() {
            "-delete" => {
                for path in found {
                    let mut effect = self.at(Verb::Delete, path, "find");
                    effect.recursive = recursive;
                    self.add(effect);
                }
                0
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                // a plus ends the command only directly after `{}`
                let ends = |at: usize, w: &String| {
                    let filled = at.checked_sub(1).and_then(|before| rest.get(before)).is_some_and(|w| w == "{}");
                    w == ";" || w == "\\" || (w == "+" && filled)
                };
                let length = rest.iter().enumerate().position(|(at, w)| ends(at, w)).unwrap_or(rest.len());
                for path in found {
                    let filled: Vec<String> = rest.iter().take(length).map(|w| w.replace("{}", path)).collect();
                    self.wrapped(&format!("find {action}"), &filled, Output::default());
                }
                length
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(file) = rest.first() {
                    let effect = self.at(Verb::Write, file, "find");
                    self.add(effect);
                }
                1
            }
            _ => 0,
        }
    }
}

/// Whether the tests before an action rule out most files below the starting points. `wide`: one of these is a home folder
/// or contains it; nearly everything there is a file, and more than a day old.
fn is_narrowed(before: &[String], wide: bool) -> bool {
    let mut depth = 0_usize;
    // those of the same alternative
    let ends = |word: &&String| {
        match word.as_str() {
            ")" | "\\)" => depth += 1,
            "(" | "\\(" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > 0 || !matches!(word.as_str(), "-o" | "-or" | ",")
    };
    let group = before.len() - before.iter().rev().take_while(ends).count();
    let tests = before.get(group..).unwrap_or_default();
    tests.iter().enumerate().any(|(at, test)| {
        let negated = at.checked_sub(1).and_then(|at| tests.get(at)).is_some_and(|word| word == "!" || word == "-not");
        let value = tests.get(at + 1).map_or("", String::as_str);
        match test.as_str() {
            "-type" => value != "d" && (!wide || tests.iter().any(|test| WITH_FILES.contains(&test.as_str()))),
            "-mindepth" => !wide,
            "-mtime" | "-atime" | "-ctime" if wide && matches!(value, "+0" | "+1") => false,
            "-nouser" => true,
            test => !negated && (NAMES.contains(&test) || OTHERS.contains(&test)),
        }
    })
}

/// The constant end of the names that the tests before an action choose, if there is only one such test: `.pdf` of
/// `-name '*.pdf'`, `/core` of `-name core`.
fn named(before: &[String]) -> Option<String> {
    let mut chosen = before.windows(2).filter(|two| matches!(two, [test, _] if test == "-name" || test == "-iname"));
    let ([test, value], None) = (chosen.next()?, chosen.next()) else { return None };
    let at = before.iter().position(|word| word == test)?;
    let negated = at.checked_sub(1).and_then(|at| before.get(at)).is_some_and(|word| word == "!" || word == "-not");
    let end = value.strip_prefix('*');
    let name = end.map_or_else(|| format!("/{value}"), str::to_owned);
    (!negated && !name.contains(['*', '?', '['])).then_some(name)
}

/// The words that `xargs` reads from its input.
fn incoming(options: &Options, lines: bool, stdin: &Output) -> Vec<String> {
    let mark = if options.has(&["-0", "--null"]) {
        Some("\0".to_owned())
    } else {
        options.value(&["--delimiter"]).map(super::quoting::ansi_c)
    };
    let words: Vec<String> = match (&stdin.text, &stdin.names, &mark) {
        (Some(_), _, Some(mark)) if mark.is_empty() => vec![UNKNOWN_SPAN.to_string()],
        (Some(text), _, Some(mark)) => {
            let parts = text.split(mark.as_str()).filter(|part| !part.is_empty());
            parts.take(MOST + 1).map(str::to_owned).collect()
        }
        (Some(text), _, None) if lines => text.lines().take(MOST + 1).map(str::to_owned).collect(),
        (Some(text), _, None) => text.split_whitespace().take(MOST + 1).map(str::to_owned).collect(),
        (None, Some(names), _) => names.iter().map(|n| below(n)).collect(),
        (None, None, _) => vec![UNKNOWN_SPAN.to_string()],
    };
    if words.len() > MOST { vec![UNKNOWN_SPAN.to_string()] } else { words }
}

/// The folders in which `find` starts, and the index of its expression.
fn starting_points(words: &[String]) -> (Vec<String>, usize) {
    let mut starts: Vec<String> = Vec::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        if matches!(word.as_str(), "-H" | "-L" | "-P" | "-d" | "-s" | "-x" | "-X" | "-E") || word.starts_with("-O") {
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
    (starts, index)
}
