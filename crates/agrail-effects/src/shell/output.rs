//! The output of a program with a row, as far as it matters to the next command.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Verb;
use crate::role::Role;
use crate::table::Bound;

/// Filters that pass on names unchanged.
const FILTERS: &[&str] = &[
    "grep", "egrep", "fgrep", "sort", "head", "tail", "uniq", "tac", "shuf", "tee", "cat", "awk", "gawk", "comm", "sed",
];
/// Programs that print nothing.
const SILENT: [&str; 18] = [
    ":", "[", "chgrp", "chmod", "chown", "cp", "false", "install", "ln", "mkdir", "mv", "rm", "rmdir", "sleep", "test",
    "touch", "true", "truncate",
];

/// How many folders above the working folder may be that of the repository.
const ABOVE: usize = 16;
/// Longest content of a file that counts as an output, in bytes.
const SHORT: usize = 256;
/// Longest sequence of numbers.
const MANY_NUMBERS: i64 = 64;

impl Shell<'_> {
    /// The output of a program whose effects are already added.
    pub(super) fn output_of(&mut self, program: &str, arguments: &[String], bound: &Bound, stdin: Output) -> Output {
        let passes = bound.passes_input;
        let mut output = Output { network: connects(bound) || (passes && stdin.network), ..Output::default() };
        let verbose = |word: &String| word.starts_with('-') && word.contains('v');
        if SILENT.contains(&program) && !arguments.iter().any(verbose) {
            output.text = Some(String::new());
        }
        output.endless = self.is_endless(program, arguments, &stdin);
        output.many = has_many_lines(program, arguments, &stdin);
        if output.endless && program == "tee" && arguments.iter().any(|w| !w.starts_with('-')) {
            self.exhaust("disk", program);
        }
        // `cat -` reads its input, like `cat` without arguments
        let of_files = |(r, v, _): &(Role, String, Option<usize>)| {
            matches!(r, Role::Act { verb: Verb::Read, .. }) && !matches!(v.as_str(), "-" | "/dev/stdin")
        };
        if passes && !bound.arguments.iter().any(of_files) {
            output.text = stdin.text;
            output.decoded = stdin.decoded;
        }
        if let Some(text) = self.computed(program, arguments) {
            output.text = Some(format!("{text}\n"));
        }
        if program == "mktemp" {
            let is_template = |word: &&String| {
                let constant = word.trim_end_matches('X');
                word.len() >= constant.len() + 3 && word.contains('/') && !word.starts_with('-')
            };
            let template = arguments.iter().find(is_template);
            output.text = match template {
                Some(template) => Some(format!("{}{UNKNOWN_SPAN}\n", template.trim_end_matches('X'))),
                None if arguments.iter().any(|word| word.contains('/')) => output.text,
                None => Some(format!("/tmp/tmp.{UNKNOWN_SPAN}\n")),
            };
        }
        if program == "uname" && matches!(arguments, [] | [_]) && arguments.iter().all(|word| word == "-s") {
            output.text = super::decided::SYSTEM.map(|system| format!("{system}\n"));
        }
        if let ("which", Some(found)) = (program, found(arguments)) {
            output.text = Some(format!("/usr/bin/{found}\n"));
        }
        if FILTERS.contains(&program) {
            output.names = stdin.names;
            output.network |= stdin.network;
        }
        if matches!(program, "ls" | "dir") {
            let named: Vec<String> = bound
                .arguments
                .iter()
                .filter(|(r, _, _)| matches!(r, Role::Act { .. }))
                .map(|(_, v, _)| self.path(v))
                .collect();
            // a pattern that only files match is printed as it is written
            let files =
                |path: &String| path.rsplit('/').next().is_some_and(|name| name.contains('*') && name.contains("."));
            if !named.is_empty() && named.iter().all(files) && arguments.iter().all(|word| !word.starts_with('-')) {
                output.text = Some(arguments.iter().map(|word| format!("{word}\n")).collect());
                return output;
            }
            output.names = Some(if named.is_empty() { vec![self.path(".")] } else { named });
        }
        output
    }
}

impl Shell<'_> {
    /// What a program prints that computes names of files, or names what is known here.
    pub(super) fn computed(&self, program: &str, arguments: &[String]) -> Option<String> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match (program, words.as_slice()) {
            ("pwd", [] | ["-P" | "-L"]) => self.state.cwd.clone().filter(|cwd| cwd.starts_with('/')),
            ("dirname", ["--", path] | [path]) => Some(folder_of(path)?.to_owned()),
            ("basename", ["--", path] | [path]) => last_part(path).map(str::to_owned),
            ("basename", [path, suffix] | ["-s", suffix, path]) if !path.starts_with('-') => {
                let name = last_part(path)?;
                Some(name.strip_suffix(suffix).filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned())
            }
            ("realpath", ["-m" | "-e" | "-s", path] | [path]) | ("readlink", ["-f" | "-e" | "-m", path]) => {
                let path = self.path(path);
                // on the way to it, everything has to be there still
                let gone = self.reading.effects.iter().any(|effect| matches!(effect.verb, Verb::Delete | Verb::Move));
                if !path.starts_with('/') || path.contains(UNKNOWN_SPAN) || gone {
                    return None;
                }
                let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
                let within = self.around.folder(folder) == Some(true);
                self.around.resolved(&path).or_else(|| within.then(|| path.clone()))
            }
            ("go", ["env", "GOPATH"]) if !self.state.variables.contains_key("GOPATH") => {
                Some(format!("{}/go", self.state.home))
            }
            ("git", ["rev-parse", "--show-toplevel"]) => self.repository(),
            ("whoami", []) | ("id", ["-un" | "-nu"]) => Some(self.user.clone()).filter(|_| !self.state.privileged),
            ("seq", [last]) => sequence("1", last),
            ("seq", [first, last]) => sequence(first, last),
            ("cat", [path]) if !path.starts_with('-') => self.short_text(path),
            _ => None,
        }
    }

    /// The folder of the repository around the working folder.
    pub(super) fn repository(&self) -> Option<String> {
        let cwd = self.state.cwd.clone().filter(|cwd| cwd.starts_with('/'))?;
        let above = |folder: &String| folder.rsplit_once('/').map(|(above, _)| above.to_owned());
        let mut folders = std::iter::successors(Some(cwd), above).take(ABOVE).filter(|folder| !folder.is_empty());
        folders.find(|folder| {
            let git = format!("{folder}/.git");
            self.around.folder(&git) == Some(true) || !self.around.is_missing(&git)
        })
    }

    /// The content of a file with one short line, without its end.
    pub(super) fn short_text(&self, path: &str) -> Option<String> {
        let contents = self.read_contents(&self.path(path)).ok()?;
        let [content] = contents.as_slice() else { return None };
        let text = std::str::from_utf8(content).ok()?.trim_end_matches('\n');
        (text.len() <= SHORT && !text.contains('\n')).then(|| text.to_owned())
    }
}

/// The folder of a path, as `dirname` prints it.
fn folder_of(path: &str) -> Option<&str> {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        _ if path.is_empty() || path.starts_with('-') => None,
        _ if trimmed.is_empty() => Some("/"),
        // a part that is not constant may contain folders
        Some((_, last)) if last.contains(UNKNOWN_SPAN) => None,
        Some((folder, _)) => {
            Some(Some(folder.trim_end_matches('/')).filter(|folder| !folder.is_empty()).unwrap_or("/"))
        }
        None if trimmed.contains(UNKNOWN_SPAN) => None,
        None => Some("."),
    }
}

/// The last part of a path, as `basename` prints it.
fn last_part(path: &str) -> Option<&str> {
    let trimmed = path.trim_end_matches('/');
    if path.is_empty() || path.starts_with('-') {
        return None;
    }
    let last = trimmed.rsplit('/').next().unwrap_or_default();
    if trimmed.is_empty() {
        return Some("/");
    }
    // a part that is not constant may contain folders
    (!last.contains(UNKNOWN_SPAN)).then_some(last)
}

/// The numbers that `seq` prints, if they are few.
fn sequence(first: &str, last: &str) -> Option<String> {
    let (first, last) = (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?);
    if last.checked_sub(first)? > MANY_NUMBERS {
        return None;
    }
    Some((first..=last).map(|number| number.to_string()).collect::<Vec<_>>().join("\n"))
}

/// Whether a program prints a thousand lines or more.
fn has_many_lines(program: &str, arguments: &[String], stdin: &Output) -> bool {
    match program {
        "seq" => super::loops::sequence(arguments).is_some_and(|lines| lines >= super::amount::JOBS),
        "cat" | "shuf" | "sort" | "tac" | "tee" => stdin.many && arguments.iter().all(|word| !word.starts_with("-n")),
        _ => false,
    }
}

/// The only program for which `which` looks.
fn found(arguments: &[String]) -> Option<&str> {
    let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c));
    match arguments {
        [name] if plain(name) && !name.starts_with(['-', '.']) => Some(name),
        _ => None,
    }
}

/// Whether the command opens a connection.
pub(super) fn connects(bound: &Bound) -> bool {
    let connects = |role: &Role| matches!(role, Role::Act { verb: Verb::Connect, .. });
    bound.arguments.iter().any(|(role, _, _)| connects(role)) || bound.fixed.iter().any(|(role, _)| connects(role))
}
