//! Files and commands that awk's statements write to and read from.

use super::arguments;
use super::lexer::Token;
use super::own::{Own, closed};

/// The effects of redirections: a role, and the text of its target.
pub fn find(own: &Own, tokens: &[Token]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let (mut at, mut prints) = (0, false);
    while at < tokens.len() {
        match tokens.get(at) {
            Some(Token::Word(word)) if matches!(word.as_str(), "print" | "printf") => {
                prints = true;
                // `print (a > b)` compares
                if tokens.get(at + 1) == Some(&Token::Open('(')) {
                    at = closed(tokens, at + 1);
                }
            }
            Some(Token::Break | Token::Close(_)) => prints = false,
            Some(Token::Open('(' | '[')) if prints => at = closed(tokens, at),
            Some(Token::Mark(mark)) => match (mark.as_str(), tokens.get(at + 1)) {
                (">", Some(Token::Mark(again))) if prints && again == ">" => {
                    at += 1;
                    found.push(("append", target(own, tokens, at + 1)));
                }
                (">", _) if prints => found.push(("write", target(own, tokens, at + 1))),
                ("|", Some(Token::Word(word))) if word == "getline" => {
                    found.push(("script:bash", source(own, tokens, at)));
                }
                ("|", Some(Token::Mark(again))) if again == "|" => at += 1,
                ("|", _) if prints => found.push(("script:bash", fed(&target(own, tokens, at + 1)))),
                _ => {}
            },
            Some(Token::Word(word)) if word == "getline" => found.extend(lines(own, tokens, at)),
            _ => {}
        }
        at += 1;
    }
    found
}

/// A command line that reads a text nobody knows, each of its commands may.
pub fn fed(command: &str) -> String {
    format!("echo {} | {{ {command}\n}}", crate::UNKNOWN_SPAN)
}

/// The text after a mark, up to the end of the statement.
fn target(own: &Own, tokens: &[Token], from: usize) -> String {
    arguments::text(own, tokens.get(from..arguments::statement(tokens, from)).unwrap_or_default())
}

/// The text before `| getline`.
fn source(own: &Own, tokens: &[Token], mark: usize) -> String {
    let before = tokens.get(..mark).unwrap_or_default();
    let value =
        |token: &&Token| matches!(token, Token::Text(_) | Token::Word(_) | Token::Variable(_) | Token::Number(_));
    let length = before.iter().rev().take_while(value).count();
    match length {
        0 => crate::UNKNOWN_SPAN.to_string(),
        _ => arguments::text(own, before.get(mark - length..).unwrap_or_default()),
    }
}

/// `getline < FILE`.
fn lines(own: &Own, tokens: &[Token], at: usize) -> Option<(&'static str, String)> {
    let variable = usize::from(matches!(tokens.get(at + 1), Some(Token::Word(_) | Token::Variable(_))));
    let mark = at + 1 + variable;
    (tokens.get(mark) == Some(&Token::Mark("<".into()))).then(|| {
        let end = match tokens.get(mark + 1) {
            Some(Token::Open('(')) => closed(tokens, mark + 1),
            _ => mark + 2,
        };
        ("read", arguments::text(own, tokens.get(mark + 1..end).unwrap_or_default()))
    })
}
