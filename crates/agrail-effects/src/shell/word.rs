//! Expands words, as far as they are constant.
//!
//! 1. Each part of a word appends to a text: quoted text literally, unquoted text with marks.
//! 2. [`UNKNOWN_SPAN`] replaces each part that is not constant.
//! 3. Unquoted expansions are split at blanks, braces multiply the word, and `~` becomes the home folder.

use super::braces::braces;
use super::parameter::spread;
use super::quoting::{QUOTED, ansi_c, push_quoted, unescape, unescape_double};
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Cause;
use crate::budget;
use crate::tree::Node;

/// Mark between fields.
const SPLIT: char = '\u{E001}';
/// Variables that name the folder in which a toolchain is installed.
const TOOLCHAINS: [&str; 10] = [
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "GOROOT",
    "GRADLE_HOME",
    "GRAALVM_HOME",
    "JAVA_HOME",
    "JDK_HOME",
    "JRE_HOME",
    "M2_HOME",
    "MAVEN_HOME",
];
/// Most fields of one word; if there are more, the result is [`UNKNOWN_SPAN`].
pub(super) const MAX_FIELDS: usize = 256;
/// Longest expanded word, in bytes.
const MAX_WORD: usize = 64 * 1024;

/// File descriptor of the first process substitution.
const FIRST_STREAM: usize = 63;

impl Shell<'_> {
    /// The content of `/dev/stdin` and similar paths, and of the path of a process substitution.
    pub(crate) fn stream(&self, path: &str) -> Option<Output> {
        let number = match path {
            "/dev/stdin" => 0,
            _ => {
                let folders = ["/dev/fd/", "/proc/self/fd/"];
                folders.iter().find_map(|folder| path.strip_prefix(folder))?.parse::<usize>().ok()?
            }
        };
        let unknown = || Output { piped: true, ..Output::default() };
        Some(match number {
            0 => Output { piped: true, ..self.stdin.clone() },
            _ => number.checked_sub(FIRST_STREAM).and_then(|at| self.streams.get(at).cloned()).unwrap_or_else(unknown),
        })
    }

    /// The fields to which a word expands, each with its alternatives as further fields.
    pub(crate) fn fields(&mut self, node: Node<'_>, source: &str) -> Vec<String> {
        self.marked_fields(node, source).iter().flat_map(|field| spread(field)).collect()
    }

    /// The fields to which a word expands; alternatives are marked.
    pub(crate) fn marked_fields(&mut self, node: Node<'_>, source: &str) -> Vec<String> {
        let mut text = String::new();
        self.expand(node, source, false, &mut text);
        if text.len() > MAX_WORD {
            self.unknown(Cause::Budget, "a word is too long", "shell");
            return vec![UNKNOWN_SPAN.to_string()];
        }
        // without arguments, `"$@"` is no word
        let raw = node.utf8_text(source.as_bytes()).unwrap_or_default();
        if text.is_empty()
            && (matches!(raw, "\"$@\"" | "\"${@}\"") || raw.starts_with("\"${") && raw.ends_with("[@]}\""))
        {
            return Vec::new();
        }
        let empty_expansion =
            text.is_empty() && matches!(node.kind(), "simple_expansion" | "expansion" | "command_substitution");
        let mut fields = Vec::new();
        for field in text.split(SPLIT) {
            if field.is_empty() && (empty_expansion || text.contains(SPLIT)) {
                continue;
            }
            for choice in braces(field) {
                fields.push(self.tilde_in_word(&choice));
                if fields.len() > MAX_FIELDS {
                    self.unknown(Cause::Budget, "too many words come of one", "shell");
                    return vec![UNKNOWN_SPAN.to_string()];
                }
            }
        }
        fields.iter().map(|f| f.chars().filter(|c| *c != QUOTED).collect()).collect()
    }

    /// The text to which a word expands if it is not split (assignments, heredocs, redirections).
    pub(crate) fn text(&mut self, node: Node<'_>, source: &str) -> String {
        let marked = self.marked(node, source);
        match spread(&marked).as_slice() {
            [one] => one.clone(),
            // it is unknown which of them
            several => format!("{UNKNOWN_SPAN}{}", several.join(" ")),
        }
    }

    /// The same text with its alternatives.
    pub(crate) fn marked(&mut self, node: Node<'_>, source: &str) -> String {
        let mut text = String::new();
        self.expand(node, source, true, &mut text);
        let text: String = text.chars().filter(|c| *c != QUOTED && *c != SPLIT).collect();
        // a `~` counts only unquoted and at the beginning
        if node.utf8_text(source.as_bytes()).is_ok_and(|raw| raw.starts_with('~')) { self.tilde(&text) } else { text }
    }

    /// Expands `~` at the beginning of a word. In a word such as `of=~/x`, which looks like an assignment, bash also expands
    /// it after the `=` and after each `:`.
    fn tilde_in_word(&self, word: &str) -> String {
        let name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match word.split_once('=').filter(|(left, value)| name(left) && value.contains('~')) {
            Some((left, value)) => {
                let parts: Vec<String> = value.split(':').map(|part| self.tilde(part)).collect();
                format!("{left}={}", parts.join(":"))
            }
            None => self.tilde(word),
        }
    }

    pub(crate) fn tilde(&self, text: &str) -> String {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", self.state.home),
            Some(rest) => {
                let (user, tail) = rest.split_once('/').map_or((rest, ""), |(u, t)| (u, t));
                match user {
                    "root" => format!("/root/{tail}"),
                    "+" => format!("./{tail}"),
                    _ if user.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)) => {
                        format!("/home/{user}/{tail}")
                    }
                    _ => text.to_owned(),
                }
            }
            None => text.to_owned(),
        }
    }

    fn expand(&mut self, node: Node<'_>, source: &str, quoted: bool, into: &mut String) {
        if into.len() > MAX_WORD || self.depth > super::MAX_DEPTH {
            into.push(UNKNOWN_SPAN);
            return;
        }
        let raw = node.utf8_text(source.as_bytes()).unwrap_or_default();
        match node.kind() {
            "word" | "command_name" if node.named_child_count() > 0 => self.children(node, source, quoted, into),
            // the parser has missed an expansion of the shell
            "word" | "$" if bare_expansion(raw) || cut_off(node, source) => {
                self.unknown(Cause::Parse, raw, "shell");
                into.push(UNKNOWN_SPAN);
            }
            "word"
            | "extglob_pattern"
            | "variable_name"
            | "number"
            | "test_operator"
            | "regex"
            | "special_variable_name" => unescape(raw, quoted, into),
            "raw_string" => push_quoted(raw.trim_matches('\''), into),
            "ansi_c_string" => {
                push_quoted(&ansi_c(raw.strip_prefix("$'").and_then(|r| r.strip_suffix('\'')).unwrap_or(raw)), into)
            }
            "string" | "translated_string" => self.double_quoted(node, source, into),
            "string_content" | "heredoc_content" => unescape_double(raw, into),
            "brace_expression" => into.push_str(raw),
            "simple_expansion" | "expansion" | "arithmetic_expansion" => {
                self.expand_variable(node, source, quoted, into)
            }
            "command_substitution" | "process_substitution" => self.expand_output(node, source, quoted, into),
            "concatenation" | "command_name" | "array" => self.children(node, source, quoted, into),
            _ if node.named_child_count() > 0 => self.children(node, source, quoted, into),
            _ => unescape(raw, quoted, into),
        }
    }

    /// Appends the values of `$NAME`, `${...}` and `$((...))`.
    fn expand_variable(&mut self, node: Node<'_>, source: &str, quoted: bool, into: &mut String) {
        let raw = node.utf8_text(source.as_bytes()).unwrap_or_default();
        match node.kind() {
            "simple_expansion" => {
                let name = raw.strip_prefix('$').unwrap_or(raw);
                let values = self.resplit(self.variable(name), quoted);
                push_values(&values, quoted, name == "@" && quoted, into);
            }
            "expansion" => {
                let values = self.braced(node, source, raw);
                let values = self.resplit(values, quoted);
                push_values(&values, quoted, raw.contains("[@]") || raw == "${@}", into);
            }
            _ => {
                self.walk_substitutions(node, source);
                self.arithmetic(raw);
                let inner = raw.trim_start_matches("$((").trim_end_matches("))").trim();
                match self.number(inner) {
                    Some(number) => into.push_str(&number.to_string()),
                    None => into.push(UNKNOWN_SPAN),
                }
            }
        }
    }

    /// Appends the output of `$(...)`, or the path of the stream of `<(...)`.
    fn expand_output(&mut self, node: Node<'_>, source: &str, quoted: bool, into: &mut String) {
        if node.kind() == "process_substitution" {
            let written = node.utf8_text(source.as_bytes()).is_ok_and(|raw| raw.starts_with('>'));
            // its input is not known yet
            let output = self.process(node, source, Output { piped: written, ..Output::default() });
            self.streams.push(Output { piped: true, ..output });
            into.push_str(&format!("/dev/fd/{}", FIRST_STREAM + self.streams.len() - 1));
            return;
        }
        let output = self.substitution(node, source);
        match (output.text, output.names) {
            (Some(text), _) => push_values(&[text.trim_end_matches('\n').to_owned()], quoted, false, into),
            (None, Some(names)) => {
                let values: Vec<String> = names.iter().map(|n| below(n)).collect();
                push_values(&values, quoted, true, into);
            }
            (None, None) => into.push(UNKNOWN_SPAN),
        }
    }

    fn children(&mut self, node: Node<'_>, source: &str, quoted: bool, into: &mut String) {
        self.depth += 1;
        let mut end = node.start_byte();
        for child in children(node) {
            // text between named parts belongs to the word (tree-sitter leaves some out)
            if let Some(gap) = source.get(end..child.start_byte()) {
                into.push_str(gap.trim());
            }
            self.expand(child, source, quoted, into);
            end = child.end_byte();
        }
        self.depth -= 1;
    }

    fn double_quoted(&mut self, node: Node<'_>, source: &str, into: &mut String) {
        self.depth += 1;
        let mut end = node.start_byte();
        for child in children(node) {
            if child.kind() != "\""
                && end > node.start_byte()
                && let Some(gap) = source.get(end..child.start_byte())
            {
                push_quoted(gap, into);
            }
            match child.kind() {
                "\"" | "$\"" | "$" => {
                    if child.kind() == "$" {
                        into.push('$');
                    }
                }
                _ => self.expand(child, source, true, into),
            }
            end = child.end_byte();
        }
        self.depth -= 1;
    }

    /// If the script sets its own separators, an unquoted value that contains one is split in ways not followed here.
    fn resplit(&self, values: Vec<String>, quoted: bool) -> Vec<String> {
        match self.state.variables.get("IFS").and_then(|v| v.first()) {
            Some(separators)
                if !quoted
                    && values
                        .iter()
                        .any(|v| v.contains(|c| separators.contains(c) || separators.contains(UNKNOWN_SPAN))) =>
            {
                let mut letters = separators.chars();
                let one = letters.next().filter(|c| letters.next().is_none() && c.is_ascii_punctuation());
                match (one, values.as_slice()) {
                    // an empty field at the end does not count
                    (Some(separator), [value]) if !value.contains([UNKNOWN_SPAN, ' ', '\t', '\n']) => {
                        let value = value.strip_suffix(separator).unwrap_or(value);
                        value.split(separator).map(str::to_owned).collect()
                    }
                    _ => vec![UNKNOWN_SPAN.to_string()],
                }
            }
            _ => values,
        }
    }

    /// The values of a variable; [`UNKNOWN_SPAN`] if it is not constant.
    pub(crate) fn variable(&self, name: &str) -> Vec<String> {
        if let Some(values) = self.state.variables.get(name) {
            return values.clone();
        }
        let one = |s: &str| vec![s.to_owned()];
        match name {
            "HOME" => one(&self.state.home),
            // the last background job
            "!" => one("%!"),
            "USER" | "LOGNAME" => one(&self.user),
            "PWD" => one(self.state.cwd.as_deref().filter(|c| !c.is_empty()).unwrap_or(&UNKNOWN_SPAN.to_string())),
            "IFS" => one(" "),
            "OSTYPE" if super::decided::SYSTEM == Some("Linux") => one("linux-gnu"),
            "SHELL" => one("/bin/bash"),
            // what nothing in the action assigns, the user's environment has: the folder of an installed toolchain
            name if TOOLCHAINS.contains(&name) => one("/usr"),
            "@" | "*" => self.state.arguments.clone().unwrap_or_else(|| one(&UNKNOWN_SPAN.to_string())),
            _ => one(&self.positional(name).unwrap_or_else(|| UNKNOWN_SPAN.to_string())),
        }
    }

    /// The value of `$1`, or the number of arguments for `$#`, if it is known.
    pub(super) fn positional(&self, name: &str) -> Option<String> {
        let arguments = self.state.arguments.as_ref()?;
        // a word that is not constant may be several words, or none
        let vague = |one: &String| one.starts_with(UNKNOWN_SPAN);
        if name == "#" {
            return (!arguments.iter().any(vague)).then(|| arguments.len().to_string());
        }
        let at = name.parse::<usize>().ok()?.checked_sub(1)?;
        match arguments.get(at) {
            Some(value) => (!arguments.iter().take(at).any(vague)).then(|| value.clone()),
            None => (!arguments.iter().any(vague)).then(String::new),
        }
    }

    fn braced(&mut self, node: Node<'_>, source: &str, raw: &str) -> Vec<String> {
        self.walk_substitutions(node, source);
        self.parameter(raw)
    }

    /// Interprets the commands inside a node whose value is not computed.
    pub(crate) fn walk_substitutions(&mut self, node: Node<'_>, source: &str) {
        if self.depth > super::MAX_DEPTH {
            self.unknown(Cause::Budget, "nested too deep", "shell");
            return;
        }
        self.depth += 1;
        // the node itself may be a substitution: a word of a declaration, the subject of `case`, an arithmetic command
        if matches!(node.kind(), "command_substitution" | "process_substitution") {
            self.substitution(node, source);
        } else if matches!(node.kind(), "regex" | "extglob_pattern") {
            // the parser does not parse a pattern; the shell expands it
            self.evaluated(node.utf8_text(source.as_bytes()).unwrap_or_default());
        } else {
            for child in children(node) {
                self.walk_substitutions(child, source);
            }
        }
        self.depth -= 1;
    }

    fn substitution(&mut self, node: Node<'_>, source: &str) -> Output {
        // `$(< file)` reads a file
        self.process(node, source, Output::default())
    }

    /// Interprets the commands in a substitution, with this input.
    pub(crate) fn process(&mut self, node: Node<'_>, source: &str, stdin: Output) -> Output {
        self.see(node);
        self.scoped(|shell| {
            let mut output = Output::silent();
            for child in children(node).into_iter().filter(Node::is_named) {
                let next = shell.statement(child, source, stdin.clone());
                output = super::syntax::join(output, next);
            }
            output
        })
    }
}

pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children().collect()
}

/// Whether a word ends with the `$` of an expansion.
fn cut_off(node: Node<'_>, source: &str) -> bool {
    let begins = |c: char| c.is_alphabetic() || matches!(c, '_' | '{' | '(');
    let (word, after) = (source.get(..node.end_byte()), source.get(node.end_byte()..));
    word.is_some_and(|word| word.ends_with('$') && !word.ends_with("\\$"))
        && after.is_some_and(|rest| rest.starts_with(begins))
}

/// Whether a word contains an unquoted `$` that begins an expansion.
fn bare_expansion(raw: &str) -> bool {
    let mut escaped = false;
    raw.chars().zip(raw.chars().skip(1)).any(|(c, next)| {
        let begins = c == '$' && !escaped && (next.is_alphabetic() || matches!(next, '_' | '{' | '('));
        escaped = c == '\\' && !escaped;
        begins
    })
}

/// A path for something below a path: the path and [`UNKNOWN_SPAN`].
pub(crate) fn below(path: &str) -> String {
    format!("{}/{UNKNOWN_SPAN}", path.trim_end_matches('/'))
}

fn push_values(values: &[String], quoted: bool, separate: bool, into: &mut String) {
    for (i, value) in values.iter().enumerate() {
        // the rest is unknown, and not left out: the text may be run, written or sent
        if budget::produces(value.len()) {
            into.push(UNKNOWN_SPAN);
            return;
        }
        if i > 0 {
            into.push(if quoted && !separate { ' ' } else { SPLIT });
        }
        if quoted {
            push_quoted(value, into);
        } else {
            for c in value.chars() {
                into.push(if c.is_whitespace() { SPLIT } else { c });
            }
        }
    }
}
