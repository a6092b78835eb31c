//! The normal form of a script, to which approvals are bound.
//!
//! 1. The syntax tree without comments, blanks and line ends. Constant words lose their quotes.
//! 2. The options of a known program with their full names ([`Row::normal`](crate::table::Row::normal)).
//! 3. The working directory; `cd /DIR && COMMAND` becomes `COMMAND` in `/DIR`.
//!
//! Everything else is kept: two scripts with the same normal form do the same.

use super::lines::parse_lines;
use super::quoting::{QUOTED, push_quoted, unescape, unescape_double};
use super::syntax::problem;
use super::tidy;
use super::word::children;
use crate::table::Table;
use crate::tree::Node;
use serde_json::{Value, json};

/// Deepest nesting of the syntax tree.
const DEEP: usize = 60;

/// The normal form; `None` if the script does not parse or is nested too deeply.
pub(crate) fn normal(source: &str, cwd: &str) -> Option<Value> {
    let (text, tree) = parse_lines(format!("{}\n", source.trim()))?;
    if problem(tree.root_node()).is_some() {
        return None;
    }
    // a `&` after a command is kept as a separate part
    let skipped = |node: &Node<'_>| matches!(node.kind(), "comment" | ";" | "\n");
    let mut statements: Vec<Node<'_>> = children(tree.root_node()).into_iter().filter(|node| !skipped(node)).collect();
    let mut cwd = tidy(cwd);
    if let [only] = statements.as_slice()
        && let Some((folder, rest)) = entered(*only, &text)
    {
        (cwd, statements) = (folder, vec![rest]);
    }
    let statements: Option<Vec<Value>> = statements.into_iter().map(|node| form(node, &text, 0)).collect();
    Some(json!({"cwd": cwd, "run": statements?}))
}

/// Folder and rest of `cd /DIR && REST`.
fn entered<'t>(node: Node<'t>, source: &str) -> Option<(String, Node<'t>)> {
    let parts = children(node);
    let [first, and, rest] = parts.as_slice() else { return None };
    if node.kind() != "list" || and.kind() != "&&" || first.kind() != "command" {
        return None;
    }
    let words: Vec<String> = named(*first).into_iter().map(|word| constant(word, source)).collect::<Option<_>>()?;
    match words.as_slice() {
        [cd, folder] if cd == "cd" && folder.starts_with('/') && plain(folder) => Some((tidy(folder), *rest)),
        _ => None,
    }
}

/// Whether a word contains neither a pattern nor quoted characters that would form one.
fn plain(word: &str) -> bool {
    !word.contains(|c: char| "*?[]{},~\\".contains(c) || c == QUOTED)
}

fn form(node: Node<'_>, source: &str, depth: usize) -> Option<Value> {
    if depth > DEEP {
        return None;
    }
    if node.kind() == "command" {
        return command(node, source, depth);
    }
    if let Some(word) = constant(node, source) {
        return Some(json!({ "word": word }));
    }
    let raw = node.utf8_text(source.as_bytes()).ok()?;
    if node.child_count() == 0 {
        return Some(json!(raw));
    }
    let mut parts = vec![json!(node.kind())];
    let mut end = node.start_byte();
    for child in children(node) {
        // text between two parts that the tree leaves out
        let between = source.get(end..child.start_byte())?.trim();
        if !between.is_empty() {
            parts.push(json!(between));
        }
        end = child.end_byte();
        if !matches!(child.kind(), "comment" | ";" | "\n") {
            parts.push(form(child, source, depth + 1)?);
        }
    }
    let after = source.get(end..node.end_byte())?.trim();
    if !after.is_empty() {
        parts.push(json!(after));
    }
    Some(Value::Array(parts))
}

/// The form of a simple command: assignments and redirections unchanged, then its words with options in normal form.
fn command(node: Node<'_>, source: &str, depth: usize) -> Option<Value> {
    let mut words: Vec<Option<String>> = Vec::new();
    let (mut raw, mut beside) = (Vec::new(), Vec::new());
    for child in children(node) {
        let word =
            child.is_named() && !matches!(child.kind(), "variable_assignment") && !child.kind().ends_with("_redirect");
        if word {
            words.push(constant(child, source).map(|word| inner_tildes(&word)));
            raw.push(form(child, source, depth + 1)?);
        } else {
            beside.push(form(child, source, depth + 1)?);
        }
    }
    let words: Option<Vec<String>> = words.into_iter().collect();
    let listed = words.as_ref().and_then(|words| words.split_first()).and_then(|(name, arguments)| {
        let row = Table::shipped().row(name)?;
        let mut all = vec![name.clone()];
        all.extend(row.normal(arguments));
        Some(all)
    });
    Some(match listed {
        Some(words) => json!({"beside": beside, "words": words}),
        None => json!({"beside": beside, "raw": raw}),
    })
}

/// The text of a constant word, with a mark before each quoted character that would otherwise belong to a pattern.
fn constant(node: Node<'_>, source: &str) -> Option<String> {
    let raw = node.utf8_text(source.as_bytes()).ok()?;
    let mut text = String::new();
    match node.kind() {
        "command_name" | "concatenation" => {
            let parts = children(node);
            let whole = parts.iter().map(|part| part.end_byte() - part.start_byte()).sum::<usize>() == raw.len();
            for part in parts.iter().filter(|_| whole) {
                text.push_str(&constant(*part, source)?);
            }
            return whole.then_some(text);
        }
        "word" | "number" if node.named_child_count() == 0 && !raw.contains(['$', '`']) => {
            unescape(raw, false, &mut text);
        }
        "raw_string" => push_quoted(raw.strip_prefix('\'')?.strip_suffix('\'')?, &mut text),
        "string" if children(node).iter().all(|part| matches!(part.kind(), "\"" | "string_content")) => {
            let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
            if inner.contains(['$', '`']) {
                return None;
            }
            unescape_double(inner, &mut text);
        }
        _ => return None,
    }
    Some(text)
}

/// A word without the marks before quoted tildes that would not be expanded without quotes either: only one at the beginning
/// or after `:` or `=` would.
fn inner_tildes(word: &str) -> String {
    let mut found = String::with_capacity(word.len());
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        let inner = found.chars().last().is_some_and(|before| !":=".contains(before));
        if !(c == QUOTED && chars.peek() == Some(&'~') && inner) {
            found.push(c);
        }
    }
    found
}

fn named(node: Node<'_>) -> Vec<Node<'_>> {
    children(node).into_iter().filter(|child| child.is_named() && child.kind() != "comment").collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        normal(one, "/w").unwrap() == normal(other, "/w").unwrap()
    }

    #[test]
    fn spelling_does_not_change_the_normal_form() {
        for (one, other) in [
            ("pip  install   requests", "pip install requests"),
            ("git push -f origin 'main'", "git push --force origin main # now"),
            ("cd /srv && deployctl status", "cd /srv   &&  deployctl 'status'"),
            ("a; b", "a\nb\n"),
            ("cat < x | wc -l", "cat  <x|wc -l"),
            ("git reset --hard 'HEAD~1'", "git reset --hard HEAD~1"),
        ] {
            assert!(same(one, other), "{one} | {other}");
        }
        assert_eq!(normal("cd /srv && ls", "/w"), normal("ls", "/srv/"));
    }

    #[test]
    fn different_actions_have_different_forms() {
        for (one, other) in [
            ("a && b", "a || b"),
            ("a; b", "a & b"),
            ("a | b", "a |& b"),
            ("(a)", "{ a; }"),
            ("a > x", "a >> x"),
            ("a 2> x", "a > x"),
            ("A=1 a", "a"),
            ("A=1 a", "A=2 a"),
            ("rm '*'", "rm *"),
            ("rm \\*", "rm *"),
            ("rm ~", "rm '~'"),
            ("rm a=~", "rm 'a=~'"),
            ("echo \"$x\"", "echo '$x'"),
            ("echo $x", "echo \"$x\""),
            ("a $(b)", "a $(c)"),
            ("a <<E\n1\nE", "a <<E\n2\nE"),
            ("a <<E\n$x\nE", "a <<'E'\n$x\nE"),
            ("if a; then b; fi", "if b; then a; fi"),
            ("cd /srv; ls", "ls"),
            ("cd /srv || ls", "cd /srv && ls"),
            ("cd \"$d\" && ls", "cd /srv && ls"),
            ("deployctl status", "deployctl status --reset"),
            ("deployctl status", "/tmp/deployctl status"),
            ("frob -f x", "frob --force x"),
            ("! a", "a"),
            ("time a", "a"),
            ("echo a b", "echo 'a b'"),
            ("cat a# b", "cat a"),
        ] {
            assert!(!same(one, other), "{one} | {other}");
        }
        assert_ne!(normal("ls", "/a"), normal("ls", "/b"));
        assert!(normal("echo 'a", "/w").is_none() && normal("for in", "/w").is_none());
    }
}
