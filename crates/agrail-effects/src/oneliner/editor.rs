//! Scripts of line editors: ed, ex, and the commands of vi.

use crate::reading::{Call, Problem, Reading};
use crate::{Cause, Detail};

/// The effects of a script beyond those on the file that is edited. `ex` also knows commands in words.
pub fn extract_effects(script: &str, ex: bool) -> Reading {
    let mut found = Reading::default();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        let command = line.trim().trim_start_matches(':');
        if inserts(command, ex) {
            // text up to a line with a dot
            for text in lines.by_ref() {
                if text == "." {
                    break;
                }
            }
            continue;
        }
        let mut rest = command;
        while !rest.is_empty() {
            let (part, after) = first(rest, ex);
            rest = after;
            match read(part.trim(), ex) {
                Ok(call) => found.calls.extend(call),
                Err(Unread) => {
                    let what = format!("the editor's command {}", part.trim());
                    found.problems.push(Problem { cause: Cause::Language, what });
                }
            }
        }
    }
    found
}

/// The first command of a line, and what follows: a bar may also stand in a pattern.
fn first(line: &str, ex: bool) -> (&str, &str) {
    if ex {
        for (at, _) in line.match_indices('|') {
            if let (Some(part), Some(rest)) = (line.get(..at), line.get(at + 1..))
                && read(part.trim(), ex).is_ok()
            {
                return (part, rest);
            }
        }
    }
    (line, "")
}

/// A command that is not read.
struct Unread;

/// Whether lines of text follow.
fn inserts(command: &str, ex: bool) -> bool {
    let command = without_address(command);
    matches!(command, "a" | "i" | "c") || ex && matches!(command, "append" | "insert" | "change")
}

/// The command after its addresses: numbers, `$`, `.`, `%`, patterns.
fn without_address(command: &str) -> &str {
    let mut rest = command.trim_start();
    loop {
        let Some(first) = rest.chars().next() else { return rest };
        rest = match first {
            '0'..='9' | '$' | '.' | '%' | ',' | ';' | '+' | '-' | ' ' => rest.get(1..).unwrap_or_default(),
            '\'' => rest.get(2..).unwrap_or_default(),
            '/' | '?' => match end_of(rest, first) {
                Some(end) => rest.get(end..).unwrap_or_default(),
                None => return "",
            },
            _ => return rest,
        };
    }
}

/// The index after the delimiter that ends the part which begins at index 1.
fn end_of(text: &str, delimiter: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == delimiter && !escaped {
            return Some(at + c.len_utf8());
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

/// Reads one command.
fn read(command: &str, ex: bool) -> Result<Option<Call>, Unread> {
    let rest = without_address(command);
    let Some(first) = rest.chars().next() else { return Ok(None) };
    let after = rest.get(first.len_utf8()..).unwrap_or_default();
    if matches!(first, 's' | 'g' | 'v' | '&')
        && after.chars().next().is_some_and(|c| c.is_ascii_punctuation() && c != '!' || first == '&')
    {
        return pattern(first, after, ex);
    }
    if first == '!' {
        return Ok(Some(call("script:bash", after.trim())));
    }
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    let argument = rest.get(word.len()..).unwrap_or_default().trim_start_matches('!').trim();
    let file = |role: &str| match argument.strip_prefix('!') {
        _ if argument.is_empty() => Ok(None),
        Some(line) => Ok(Some(call("script:bash", line))),
        None if argument.contains(['%', '#', '`', '$', '*']) => Err(Unread),
        None => Ok(Some(call(role, argument.trim_start_matches(">>").trim()))),
    };
    match word.as_str() {
        "w" | "W" | "wq" | "x" | "write" | "saveas" | "sav" | "up" | "update" | "wqa" | "wa" | "xa" | "xit" => {
            // `w !COMMAND` pipes, `w! FILE` overwrites
            match rest.get(word.len()..).unwrap_or_default().strip_prefix(" !") {
                Some(line) => Ok(Some(call("script:bash", line))),
                None => file("write"),
            }
        }
        "r" | "e" | "E" | "f" | "read" | "edit" | "ex" => {
            match rest.get(word.len()..).unwrap_or_default().trim().strip_prefix('!') {
                Some(line) if !line.is_empty() && word.starts_with('r') => Ok(Some(call("script:bash", line))),
                _ => file("read"),
            }
        }
        "p" | "n" | "l" | "d" | "q" | "Q" | "j" | "u" | "k" | "m" | "t" | "y" | "H" | "h" | "P" | "z" | "pu" | "co"
        | "s" | "wn" => Ok(None),
        "quit" | "qa" | "qall" | "print" | "number" | "delete" | "join" | "move" | "copy" | "yank" | "put" | "undo"
        | "nohlsearch" | "noh" | "sort" | "retab" | "version" | "ver" | "echo" | "set" | "syntax" | "undojoin"
        | "marks" | "registers" | "normal" | "norm"
            if ex && is_mild(&word, argument) =>
        {
            Ok(None)
        }
        _ => Err(Unread),
    }
}

/// Whether a command in words does no more than edit: options that name programs, and expressions, may do more.
fn is_mild(word: &str, argument: &str) -> bool {
    match word {
        "set" => argument.split_whitespace().all(|option| {
            let name = option.split(['=', '+', '?', '!', '&']).next().unwrap_or_default();
            let name = name.strip_prefix("no").unwrap_or(name);
            [
                "ff",
                "fileformat",
                "ts",
                "tabstop",
                "sw",
                "shiftwidth",
                "et",
                "expandtab",
                "nu",
                "number",
                "ic",
                "ignorecase",
                "tw",
                "textwidth",
                "eol",
                "fixeol",
                "fenc",
                "fileencoding",
                "bomb",
                "binary",
                "hls",
                "hlsearch",
                "wrap",
                "list",
                "ai",
                "magic",
                "compatible",
                "cp",
                "sts",
                "softtabstop",
                "gdefault",
            ]
            .contains(&name)
        }),
        // a line of normal mode may be any command
        "normal" | "norm" => !argument.contains([':', '!', '@', '\u{1b}', '\r', '=', '"', 'q', 'Q', 'Z', 'g', 'K']),
        "echo" => argument.chars().all(|c| c.is_ascii_alphanumeric() || "\"' .,".contains(c)),
        "sort" | "retab" => !argument.contains('!'),
        _ => true,
    }
}

/// `s/a/b/`, `g/re/command`.
fn pattern(first: char, after: &str, ex: bool) -> Result<Option<Call>, Unread> {
    let delimiter = after.chars().next().ok_or(Unread)?;
    if first == '&' {
        return Ok(None);
    }
    if delimiter == '|' {
        return Err(Unread);
    }
    let Some(end) = end_of(after, delimiter) else { return Err(Unread) };
    let rest = after.get(end..).unwrap_or_default();
    if first != 's' {
        return read(rest, ex);
    }
    // `\=` is an expression of vim
    let begin = format!("{delimiter}{rest}");
    let replacement_end = end_of(&begin, delimiter).unwrap_or(begin.len());
    let replacement = begin.get(..replacement_end).unwrap_or_default();
    if ex && replacement.contains("\\=") {
        return Err(Unread);
    }
    let flags = begin.get(replacement_end..).unwrap_or_default().trim();
    match flags.chars().all(|c| "gIicenp&r0123456789l#".contains(c)) {
        true => Ok(None),
        false => Err(Unread),
    }
}

fn call(role: &str, target: &str) -> Call {
    Call {
        role: role.into(),
        target: target.trim().to_owned(),
        recursive: false,
        dynamic: false,
        detail: Detail::None,
        via: "the editor's script".into(),
    }
}
