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
/// Filters whose output ends only when their input does.
const ENDLESS_THROUGH: &[&str] =
    &["cat", "tee", "tr", "base64", "sed", "awk", "grep", "gzip", "xz", "bzip2", "zstd", "od", "xxd", "rev"];

impl Shell<'_> {
    /// The output of a program whose effects are already added.
    pub(super) fn output_of(&mut self, program: &str, arguments: &[String], bound: &Bound, stdin: Output) -> Output {
        let passes = bound.passes_input;
        let mut output = Output { network: connects(bound) || (passes && stdin.network), ..Output::default() };
        let verbose = |word: &String| word.starts_with('-') && word.contains('v');
        if SILENT.contains(&program) && !arguments.iter().any(verbose) {
            output.text = Some(String::new());
        }
        output.endless = endless(program, arguments) || (stdin.endless && ENDLESS_THROUGH.contains(&program));
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
        if program == "mktemp" && !arguments.iter().any(|w| w.contains('/')) {
            output.text = Some(format!("/tmp/tmp.{UNKNOWN_SPAN}\n"));
        }
        if program == "uname" && matches!(arguments, [] | [_]) && arguments.iter().all(|word| word == "-s") {
            output.text = super::decided::SYSTEM.map(|system| format!("{system}\n"));
        }
        if program == "pwd" && arguments.is_empty() {
            let cwd = self.state.cwd.as_deref().filter(|cwd| cwd.starts_with('/'));
            output.text = cwd.map(|cwd| format!("{cwd}\n"));
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

/// Whether a program prints without end: `yes`, `cat /dev/zero`.
fn endless(program: &str, words: &[String]) -> bool {
    let source = |w: &String| matches!(w.as_str(), "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full");
    program == "yes" || (ENDLESS_THROUGH.contains(&program) && words.iter().any(source))
}
