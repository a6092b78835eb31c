//! Source in languages without a parser here: text processing is harmless if no word of it acts.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::{Cause, Verb};

/// For each language, the words with which source starts programs or accesses files.
const ACTS: [(&str, &[&str]); 5] = [
    (
        "awk",
        &[
            "system",
            "getline",
            "> \"",
            ">\"",
            "| \"",
            "|\"",
            "|&",
            "@load",
            "@include",
            "print >",
            "print>",
            "print $0 >",
            "print $0>",
        ],
    ),
    (
        "perl",
        &[
            "system", "exec", "`", "qx", "unlink", "open", "rename", "rmdir", "mkdir", "chmod", "chown", "kill",
            "fork", "socket", "eval", "require", "do ", "link", "syscall", "use ", "IO::", "->", "opendir", "utime",
            "truncate",
        ],
    ),
    (
        "ruby",
        &[
            "system",
            "exec",
            "`",
            "%x",
            "File",
            "Dir",
            "FileUtils",
            "IO.",
            "open",
            "Process",
            "fork",
            "spawn",
            "eval",
            "require",
            "Socket",
            "send",
            "Net::",
            "Kernel",
        ],
    ),
    (
        "php",
        &[
            "system", "exec", "`", "passthru", "popen", "unlink", "file", "open", "eval", "curl", "include", "require",
            "mail", "chmod", "rename", "copy", "mkdir", "rmdir", "socket", "$_",
        ],
    ),
    (
        "sql",
        &[
            "drop",
            "delete",
            "update",
            "insert",
            "alter",
            "truncate",
            "copy",
            "outfile",
            "load_file",
            "exec",
            "create",
            "grant",
            "revoke",
            "attach",
            ".shell",
            ".system",
            "\\!",
            "do ",
            "call",
            "set ",
            "into",
            "system",
            "source ",
            "tee ",
            "pager ",
        ],
    ),
];
/// Calls of several languages that run a command line, and the character that ends it.
const RUNS: [(&str, char); 4] = [("system(", ')'), ("exec(", ')'), ("`", '`'), ("os.execute(", ')')];
/// Marks at the beginning of a line with which a database client runs a shell.
const ESCAPES: [&str; 7] = ["\\!", ".shell ", ".system ", "system ", "shell ", "host ", "!"];

impl Shell<'_> {
    /// Interprets lines with which a client runs a shell: `\! rm`, `.shell rm`, `!rm`.
    pub(super) fn escapes(&mut self, text: &str, how: &str) {
        for line in text.lines().map(str::trim_start) {
            if let Some(command) = ESCAPES.iter().find_map(|mark| line.strip_prefix(mark)) {
                self.nested(how, command, Output::default());
            }
        }
    }

    /// Interprets a language without a parser here: constant text that clearly starts commands is parsed as shell.
    pub(crate) fn foreign(&mut self, language: &str, text: &str, how: &str) {
        if language == "sed" {
            return self.sed(text, how);
        }
        for (head, tail) in RUNS {
            for part in text.split(head).skip(1) {
                let inner = part.split(tail).next().unwrap_or_default().trim().trim_matches(['"', '\'']);
                if !inner.is_empty() && inner.len() < part.len() {
                    self.nested(&format!("{how} {head}"), inner, Output::default());
                }
            }
        }
        if !is_harmless(language, text) {
            self.unknown(Cause::Language, &format!("{language} source"), how);
        }
    }

    /// Interprets a sed script.
    fn sed(&mut self, text: &str, how: &str) {
        let sed = super::sed::parse_script(text);
        for command in &sed.commands {
            self.nested(how, command, Output::default());
        }
        for (files, verb) in [(&sed.writes, Verb::Write), (&sed.reads, Verb::Read)] {
            for file in files {
                let effect = self.at(verb, file, how);
                self.add(effect);
            }
        }
        if sed.opaque {
            self.unknown(Cause::Language, "sed runs generated text, or its script has no parser", how);
        }
    }
}

/// Whether a one-liner for text processing neither starts programs nor accesses files.
fn is_harmless(language: &str, text: &str) -> bool {
    let Some((_, acts)) = ACTS.iter().find(|(name, _)| *name == language) else { return false };
    if language == "sql" && text.lines().any(|line| line.trim_start().starts_with(['\\', '.']) && !shows(line)) {
        return false;
    }
    if language == "awk" && puts_out(text) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let text = if language == "sql" { lower.as_str() } else { text };
    !text.contains(UNKNOWN_SPAN) && !acts.iter().any(|a| text.contains(a))
}

/// Whether a command of a database client only displays information.
fn shows(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    match word.strip_prefix('\\') {
        Some(name) => {
            let name = name.trim_end_matches('+');
            !line.contains('|')
                && (name.starts_with('d') || matches!(name, "l" | "x" | "q" | "timing" | "conninfo" | "encoding"))
        }
        None => [
            ".tables",
            ".schema",
            ".headers",
            ".header",
            ".mode",
            ".databases",
            ".indexes",
            ".quit",
            ".exit",
            ".help",
            ".show",
            ".width",
            ".nullvalue",
            ".timeout",
            ".stats",
            ".fullschema",
            ".dbinfo",
        ]
        .contains(&word),
    }
}

/// Whether the output of an awk program goes to a file or to another program.
fn puts_out(text: &str) -> bool {
    let (mut quoted, mut escaped, mut depth, mut prints) = (false, false, 0_u32, false);
    let mut word = String::new();
    let chars: Vec<char> = text.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        if quoted {
            quoted = *c != '"' || escaped;
            escaped = *c == '\\' && !escaped;
            continue;
        }
        if c.is_alphanumeric() || *c == '_' {
            word.push(*c);
            continue;
        }
        prints |= matches!(word.as_str(), "print" | "printf");
        word.clear();
        match c {
            '"' => quoted = true,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ';' | '\n' | '}' => prints = false,
            '>' if prints && depth == 0 => return true,
            '|' if prints && depth == 0 => {
                let or = chars.get(at + 1) == Some(&'|') || at.checked_sub(1).and_then(|b| chars.get(b)) == Some(&'|');
                if !or {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
