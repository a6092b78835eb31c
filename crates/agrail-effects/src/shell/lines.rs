//! Ends of lines that the parser takes for blanks.
//!
//! In some scripts, for example `a | b | tee c` with `rm d` and `ls &> e` on the next lines, the parser joins a command
//! with the lines after it, so that their commands look like arguments. A shell ends a command with its line.

use super::syntax::parse;
use super::word::children;
use crate::budget::{self, Cost};
use crate::tree::{Node, Tree};
use foldhash::HashMap;
use std::cell::RefCell;

/// Longest text whose tree is remembered, in bytes, and most trees: a script runs the same lines again and again.
const REMEMBERED: usize = 2048;
const MOST_REMEMBERED: usize = 512;
/// Attempts to end joined lines; each ends all that the tree shows.
const ROUNDS: usize = 8;

/// Nodes in which an unquoted end of line ends the command.
const ONE_LINE: [&str; 5] =
    ["command", "declaration_command", "unset_command", "variable_assignments", "file_redirect"];

/// A text with its ends of lines, its tree, and what they cost.
type Remembered = ((String, Tree), Cost);

/// The text with a `;` where the parser joins two lines, and its tree. `None` if the parser gives up or still joins them.
pub(super) fn parse_lines(text: String) -> Option<(String, Tree)> {
    thread_local! {
        static PARSED: RefCell<HashMap<String, Remembered>> = RefCell::default();
    }
    if text.len() > REMEMBERED {
        return parse_all_lines(text);
    }
    if let Some((known, cost)) = PARSED.with_borrow(|parsed| parsed.get(&text).cloned()) {
        return (!budget::charges(cost)).then_some(known);
    }
    let (result, cost) = budget::costing(|| parse_all_lines(text.clone()));
    let result = result?;
    PARSED.with_borrow_mut(|parsed| {
        if parsed.len() >= MOST_REMEMBERED {
            parsed.clear();
        }
        parsed.insert(text, (result.clone(), cost));
    });
    Some(result)
}

fn parse_all_lines(mut text: String) -> Option<(String, Tree)> {
    for _ in 0..ROUNDS {
        let tree = parse(&text)?;
        let joined = joined_lines(tree.root_node(), &text);
        if joined.is_empty() {
            return Some((text, tree));
        }
        for at in joined.into_iter().rev() {
            text.insert(at, ';');
        }
    }
    None
}

/// The ends of the words after which the tree takes the end of a line for a blank, in ascending order.
fn joined_lines(root: Node<'_>, text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut work = vec![root];
    while let Some(node) = work.pop() {
        // most nodes are on one line
        let (first, last) = node.rows();
        if first == last {
            continue;
        }
        let mut parts = children(node);
        if ONE_LINE.contains(&node.kind()) {
            parts.retain(|part| part.kind() != "comment");
            let ends =
                |a: &Node<'_>, b: &Node<'_>| ends_line(text.get(a.end_byte()..b.start_byte()).unwrap_or_default());
            let gaps = parts.iter().zip(parts.iter().skip(1));
            found.extend(gaps.filter(|(a, b)| ends(a, b)).map(|(a, _)| a.end_byte()));
        }
        work.extend(parts);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a line ends between two parts, by a line end that no `\` takes away.
fn ends_line(between: &str) -> bool {
    let (mut escaped, mut comment) = (false, false);
    for c in between.chars() {
        if c == '\n' && (comment || !escaped) {
            return true;
        }
        comment |= c == '#';
        escaped = c == '\\' && !escaped;
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_its_line() {
        let joined = "cat a | sort | tee b\nrm c\nls d &> e\n".to_owned();
        assert_eq!(parse_lines(joined).unwrap().0, "cat a | sort | tee b;\nrm c;\nls d &> e\n");
        let noted = "t=1 u=2 # a\\\n[ -h y ]\n".to_owned();
        assert_eq!(parse_lines(noted).unwrap().0, "t=1 u=2; # a\\\n[ -h y ]\n");
        let looped = "cat a | sort | tee b\ncd d && for i in 1; do rm c; done\n".to_owned();
        assert_eq!(parse_lines(looped).unwrap().0, "cat a | sort | tee b;\ncd d && for i in 1; do rm c; done\n");
    }

    #[test]
    fn what_the_shell_joins_stays_joined() {
        for text in
            ["cat a \\\n  b\n", "x=(\n 1\n 2\n)\n", "cat <<E > f\nline\nE\nls\n", "a |\n b &&\n c\n", "f \"1\n2\" 3\n"]
        {
            assert_eq!(parse_lines(text.to_owned()).unwrap().0, text);
        }
    }
}
