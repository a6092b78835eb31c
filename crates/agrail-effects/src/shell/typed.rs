//! Programs that wait for typed input, on hosts that can type into a running program.
//!
//! A host that keeps a program running and sends keystrokes to it later (Codex: `write_stdin`) does not ask the guard
//! about them. So a program that would execute its typed input is unknown from the start.

use super::{Output, Shell};
use crate::Cause;

/// The target of the unknown effect.
pub const TYPED: &str = "what will be typed into it";
/// Programs that run typed commands whatever their arguments: editors, debuggers, connections, consoles.
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
/// Pagers: they do not wait if their output goes into a pipe.
const PAGERS: [&str; 5] = ["less", "more", "most", "man", "info"];
/// Arguments of terminal multiplexers that show a terminal.
const SHOW: [&str; 8] = ["new", "new-session", "attach", "attach-session", "a", "at", "-r", "-x"];

impl Shell<'_> {
    /// Adds an unknown effect if the host can type and the program would execute its typed input.
    pub(super) fn waits(&mut self, program: &str, stdin: &Output) {
        if self.around.typed() && !stdin.piped {
            self.unknown(Cause::Dynamic, TYPED, program);
        }
    }

    /// The same for programs that wait whatever their arguments.
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

/// Whether the program only displays information about itself or a list.
pub(super) fn is_question(arguments: &[String]) -> bool {
    arguments.iter().any(|word| matches!(word.as_str(), "--version" | "--help" | "-V" | "-h" | "-l" | "--list"))
}
