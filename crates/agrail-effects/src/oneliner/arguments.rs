//! The arguments of a call.

use super::description::Syntax;
use super::language::Language;
use super::lexer::Token;
use super::own::{Own, closed};
use crate::UNKNOWN_SPAN;

/// Words that end a call without parentheses.
const ENDS: [&str; 12] =
    ["if", "unless", "while", "until", "for", "foreach", "do", "or", "and", "rescue", "then", "end"];

/// The arguments of the call of the word at `at`, each as its tokens. `None` without a call.
pub fn of<'t>(language: &Language, tokens: &'t [Token], at: usize) -> Option<Vec<&'t [Token]>> {
    let begin = at + 1;
    let inside = match tokens.get(begin) {
        Some(Token::Open('(')) => tokens.get(begin + 1..closed(tokens, begin))?,
        Some(Token::Break | Token::Close(_)) | None => return None,
        // `f{...}`, `f"..."`
        _ if language.has(Syntax::Spaced) || language.has(Syntax::Lua) => {
            let end = statement(tokens, begin);
            tokens.get(begin..end)?
        }
        _ => return None,
    };
    Some(split(inside))
}

/// The end of the statement that `begin` is in.
pub fn statement(tokens: &[Token], begin: usize) -> usize {
    let mut at = begin;
    loop {
        match tokens.get(at) {
            None | Some(Token::Break | Token::Close(_)) => return at,
            Some(Token::Word(word)) if ENDS.contains(&word.as_str()) => return at,
            Some(Token::Open(_)) => at = closed(tokens, at) + 1,
            _ => at += 1,
        }
    }
}

/// The parts between commas.
pub fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        match tokens.get(at) {
            Some(Token::Open(_)) => at = closed(tokens, at),
            Some(Token::Mark(mark)) if mark == "," => {
                parts.extend(tokens.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.extend(tokens.get(begin..).filter(|rest| !rest.is_empty()));
    parts
}

/// The items of a list, or the argument itself.
pub fn items(argument: &[Token]) -> Vec<&[Token]> {
    match argument {
        [Token::Open('[' | '('), .., Token::Close(_)] if closed(argument, 0) + 1 == argument.len() => {
            split(argument.get(1..argument.len() - 1).unwrap_or_default())
        }
        _ => vec![argument],
    }
}

/// The text of an argument; U+FFFC replaces each part that is not constant.
pub fn text(own: &Own, argument: &[Token]) -> String {
    let mut found = String::new();
    for token in argument {
        match token {
            Token::Text(text) | Token::Number(text) => found.push_str(text),
            Token::Mark(mark) if matches!(mark.as_str(), "." | "+" | ".." | "*") => {}
            Token::Break => {}
            Token::Word(name) | Token::Variable(name) if own.texts.contains_key(name) => {
                found.extend(own.texts.get(name).map(String::as_str));
            }
            _ if found.ends_with(UNKNOWN_SPAN) => {}
            _ => found.push(UNKNOWN_SPAN),
        }
    }
    found
}
