//! Programs that wait for typed input, on hosts that can type into what runs.
//!
//! A host that keeps a program running and sends it keystrokes later (Codex: `write_stdin`) asks nobody about them. So a
//! program that would do what is typed is unknown from the start.

use super::{Output, Shell};
use crate::effect::Cause;

/// Programs that run commands that are typed into them, whatever they are given: editors, pagers, debuggers, multiplexers,
/// connections.
const WAIT: [&str; 39] = [
    "vi", "vim", "vimdiff", "view", "nvim", "gvim", "ex", "ed", "red", "emacs", "nano", "pico", "micro", "joe",
    "mcedit", "less", "more", "most", "man", "info", "top", "htop", "mc", "ranger", "nnn", "gdb", "lldb", "telnet",
    "nc", "netcat", "ncat", "ftp", "sftp", "lftp", "tmux", "screen", "script", "expect", "dialog",
];

impl Shell<'_> {
    /// The program would do what is typed into it, if the host can type.
    pub(super) fn waits(&mut self, program: &str, stdin: &Output) {
        if self.around.typed() && !stdin.piped {
            self.unknown(Cause::Dynamic, "what will be typed into it", program);
        }
    }

    /// The same for programs that wait whatever they are given.
    pub(super) fn may_wait(&mut self, program: &str, arguments: &[String], stdin: &Output) {
        let asked = |word: &String| matches!(word.as_str(), "--version" | "--help" | "-V" | "-h");
        if WAIT.contains(&program) && !arguments.iter().any(asked) {
            self.waits(program, stdin);
        }
    }
}
