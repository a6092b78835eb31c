//! Programs that wait for typed input, on hosts that can type into what runs.
//!
//! A host that keeps a program running and sends it keystrokes later (Codex: `write_stdin`) asks nobody about them. So a
//! program that would do what is typed is unknown from the start.

use super::{Output, Shell};
use crate::effect::Cause;

/// The name of the unknown effect.
pub(crate) const TYPED: &str = "what will be typed into it";
/// Programs that run commands that are typed into them, whatever they are given: editors, debuggers, connections, consoles.
const WAIT: [&str; 62] = [
    "vi",
    "vim",
    "vimdiff",
    "view",
    "nvim",
    "gvim",
    "ex",
    "ed",
    "red",
    "emacs",
    "nano",
    "pico",
    "micro",
    "joe",
    "mcedit",
    "hx",
    "helix",
    "top",
    "htop",
    "btop",
    "mc",
    "ranger",
    "nnn",
    "tig",
    "gdb",
    "lldb",
    "telnet",
    "nc",
    "netcat",
    "ncat",
    "ftp",
    "sftp",
    "lftp",
    "script",
    "expect",
    "dialog",
    "byobu",
    "mosh",
    "machinectl",
    "parted",
    "gdisk",
    "cfdisk",
    "fdisk",
    "nft",
    "virsh",
    "bluetoothctl",
    "smbclient",
    "rpcclient",
    "nslookup",
    "irb",
    "pry",
    "ghci",
    "jshell",
    "iex",
    "erl",
    "scala",
    "kotlin",
    "ipython",
    "bpython",
    "ptpython",
    "jdb",
    "octave",
];
/// Pagers: where they print into a pipe they do not wait.
const PAGERS: [&str; 5] = ["less", "more", "most", "man", "info"];
/// Multiplexers, and their commands that show a terminal.
const SHOW: [&str; 8] = ["new", "new-session", "attach", "attach-session", "a", "at", "-r", "-x"];

impl Shell<'_> {
    /// The program would do what is typed into it, if the host can type.
    pub(super) fn waits(&mut self, program: &str, stdin: &Output) {
        if self.around.typed() && !stdin.piped {
            self.unknown(Cause::Dynamic, TYPED, program);
        }
    }

    /// The same for programs that wait whatever they are given.
    pub(super) fn may_wait(&mut self, program: &str, arguments: &[String], stdin: &Output) {
        let has = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.as_str()));
        let waits = match program {
            "tmux" | "screen" => {
                let detached = arguments.iter().any(|word| word.starts_with("-d"));
                !detached && (arguments.is_empty() || has(&SHOW))
            }
            "top" if has(&["-b", "-bn1"]) => false,
            _ if PAGERS.contains(&program) => !self.piped && !has(&["-k", "-f", "-w"]),
            _ => WAIT.contains(&program),
        };
        if waits && !is_question(arguments) {
            self.waits(program, stdin);
        }
    }
}

/// The program only says something about itself or what there is.
pub(super) fn is_question(arguments: &[String]) -> bool {
    arguments.iter().any(|word| matches!(word.as_str(), "--version" | "--help" | "-V" | "-h" | "-l" | "--list"))
}
