//! Bounds of a policy text, verified before it is parsed.
//!
//! Cedar's parser, validator and evaluator call themselves for each bracket and operator inside another. A text that nests
//! deep enough would end the process, and with it the guard.

use super::load::{PolicyError, Source};

/// Deepest nesting of brackets.
const DEEP: usize = 32;
/// Most operators of one policy, each sign and each opening bracket counted. Commas and colons are none: a set may have any
/// number of elements.
const OPERATORS: usize = 1_000;
/// The same for a policy of a project, and for its file as a whole: checks read it, and the time grows with their square.
const OF_PROJECT: (usize, usize) = (250, 2_000);
/// Bytes of stack that parsing and validating need within these bounds, with a margin, and those of the new stack.
const STACK: (usize, usize) = (12 << 20, 16 << 20);
/// Words that are operators.
const WORDS: [&str; 9] = ["if", "then", "else", "in", "is", "has", "like", "when", "unless"];

/// Runs what parses or validates policies within these bounds, with enough stack.
pub(super) fn roomy<T>(reads: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK.0, STACK.1, reads)
}

/// Verifies the bounds of a text.
///
/// # Errors
/// [`PolicyError::Deep`] with the line.
pub(super) fn verify(source: &Source) -> Result<(), PolicyError> {
    bounded(source, OPERATORS, usize::MAX)
}

/// The same for the text of a project.
///
/// # Errors
/// [`PolicyError::Deep`] with the line.
pub(super) fn verify_project(source: &Source) -> Result<(), PolicyError> {
    bounded(source, OF_PROJECT.0, OF_PROJECT.1)
}

fn bounded(source: &Source, most: usize, in_all: usize) -> Result<(), PolicyError> {
    let (mut deep, mut operators, mut all) = (0_usize, 0_usize, 0_usize);
    let text = source.text.as_str();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (length, token) = token(rest);
        match token {
            Token::Opens => {
                deep += 1;
                operators += 1;
                all += 1;
            }
            Token::Closes => deep = deep.saturating_sub(1),
            Token::Ends => operators = 0,
            Token::Operator => {
                operators += 1;
                all += 1;
            }
            Token::Other => {}
        }
        if deep > DEEP || operators > most || all > in_all {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            return Err(PolicyError::Deep { file: source.file.clone(), line });
        }
        at += length;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Token {
    Opens,
    Closes,
    /// The end of a policy.
    Ends,
    Operator,
    Other,
}

/// The length in bytes of the first token of a text that is not empty, and what it is.
fn token(rest: &str) -> (usize, Token) {
    let while_true = |keep: &dyn Fn(char) -> bool| rest.find(|c: char| !keep(c)).unwrap_or(rest.len());
    let first = rest.chars().next().unwrap_or_default();
    match first {
        '"' => (string(rest), Token::Other),
        '/' if rest.starts_with("//") => (rest.find(['\n', '\r']).unwrap_or(rest.len()), Token::Other),
        '(' | '[' | '{' => (1, Token::Opens),
        ')' | ']' | '}' => (1, Token::Closes),
        ';' => (1, Token::Ends),
        ',' | ':' => (1, Token::Other),
        _ if first.is_whitespace() => (while_true(&char::is_whitespace), Token::Other),
        _ if first.is_alphanumeric() || first == '_' => {
            let length = while_true(&|c| c.is_alphanumeric() || c == '_');
            let operator = WORDS.contains(&rest.get(..length).unwrap_or_default());
            (length, if operator { Token::Operator } else { Token::Other })
        }
        _ => (first.len_utf8(), Token::Operator),
    }
}

/// The length of the text in quotation marks with which this begins; one without an end has no parser to fear.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(condition: &str) -> bool {
        let text = format!("forbid (principal, action, resource) when {{ {condition} }};");
        verify(&Source { file: "x".to_owned(), text, examples: None, organisation: false }).is_ok()
    }

    #[test]
    fn nesting_is_bounded_wherever_it_hides() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{a: ", "}"), ("!(", ")")] {
            assert!(passes(&format!("{}true{}", open.repeat(20), close.repeat(20))), "{open}");
            assert!(!passes(&format!("{}true{}", open.repeat(40), close.repeat(40))), "{open}");
        }
        for operator in [" && true", " || true", " + 1", ".a", "[\"a\"]", " == true", ".contains(1)", "} unless {true"]
        {
            assert!(passes(&format!("true{}", operator.repeat(100))), "{operator}");
            assert!(!passes(&format!("true{}", operator.repeat(2_000))), "{operator}");
        }
        assert!(!passes(&format!("{} true", "if true then false else".repeat(2_000))));
        // what a text says is no operator, and a quotation mark in one does not end it
        assert!(passes(&format!("context.line == \"{}\"", "((&&".repeat(2_000))));
        assert!(!passes(&format!("context.line == \"a\\\\\" {}", "&& true".repeat(2_000))));
        assert!(passes(&format!("context.line == \"a\\\" {}\"", "&& true".repeat(2_000))));
        assert!(!passes(&format!("true // ; \"\n {}", "&& true // ;\n".repeat(2_000))));
        assert!(!passes(&format!("true //\r {}", "&& true".repeat(2_000))), "a comment ends there, too");
        assert!(passes(&format!("[{}].contains(resource.name)", "\"name\", ".repeat(20_000))));
        assert!(passes(&format!("resource in [{}]", "Folder::\"name\", ".repeat(20_000))));
    }

    #[test]
    fn the_file_of_a_project_is_bounded_as_a_whole() {
        let policy = format!("forbid (principal, action, resource) when {{ 1 {} == 1 }};\n", "+ 1".repeat(200));
        let of = |count: usize| Source {
            file: "x".to_owned(),
            text: policy.repeat(count),
            examples: None,
            organisation: false,
        };
        assert!(verify_project(&of(5)).is_ok() && verify(&of(50)).is_ok());
        assert!(matches!(verify_project(&of(50)), Err(PolicyError::Deep { line: 10, .. })));
    }
}
