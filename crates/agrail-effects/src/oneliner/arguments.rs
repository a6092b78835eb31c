//! The arguments of a call.

use super::OWN_FOLDER;
use super::description::Syntax;
use super::language::Language;
use super::lexer::Token;
use super::own::{Own, closed};
use crate::UNKNOWN_SPAN;

/// Words that end a call without parentheses.
const ENDS: [&str; 12] =
    ["if", "unless", "while", "until", "for", "foreach", "do", "or", "and", "rescue", "then", "end"];

/// Words of PHP that load a file, and need no parentheses.
const INCLUDES: [&str; 4] = ["require", "require_once", "include", "include_once"];

/// The arguments of the call of the word at `at`, each as its tokens. `None` without a call.
pub fn of<'t>(language: &Language, tokens: &'t [Token], at: usize) -> Option<Vec<&'t [Token]>> {
    let begin = at + 1;
    let inside = match tokens.get(begin) {
        Some(Token::Open('(')) => tokens.get(begin + 1..closed(tokens, begin))?,
        Some(Token::Break | Token::Close(_)) | None => return None,
        // `require 'x.php'`
        _ if matches!(tokens.get(at), Some(Token::Word(word)) if INCLUDES.contains(&word.as_str())) => {
            tokens.get(begin..statement(tokens, begin))?
        }
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
    let (mut found, mut at) = (String::new(), 0);
    while let Some(token) = argument.get(at) {
        if let Some((path, end)) = path_of_call(own, argument, at) {
            found.push_str(&path);
            at = end;
            continue;
        }
        match token {
            Token::Text(text) | Token::Number(text) => found.push_str(text),
            Token::Mark(mark) if matches!(mark.as_str(), "." | "+" | ".." | "*") => {}
            Token::Break => {}
            Token::Word(name) if matches!(name.as_str(), "__DIR__" | "__dir__") => found.push_str(OWN_FOLDER),
            Token::Word(name) | Token::Variable(name) if own.texts.contains_key(name) => {
                found.extend(own.texts.get(name).map(String::as_str));
            }
            _ if found.ends_with(UNKNOWN_SPAN) => {}
            _ => found.push(UNKNOWN_SPAN),
        }
        at += 1;
    }
    found
}

/// The path that a call at `at` makes of its arguments (`File.join(a, b)`), and where the call ends.
pub fn path_of_call(own: &Own, tokens: &[Token], at: usize) -> Option<(String, usize)> {
    let Some(Token::Word(first)) = tokens.get(at) else { return None };
    let (name, open) = match (tokens.get(at + 1), tokens.get(at + 2)) {
        (Some(Token::Member), Some(Token::Word(method))) => (format!("{first}.{method}"), at + 3),
        _ => (first.clone(), at + 1),
    };
    let (joins, same) = (own.joins.contains(&name), own.same.contains(&name));
    if !(joins || same) || tokens.get(open) != Some(&Token::Open('(')) {
        return None;
    }
    let close = closed(tokens, open);
    let parts = split(tokens.get(open + 1..close)?);
    let texts: Vec<String> = parts.into_iter().map(|part| text(own, part)).collect();
    let path = if joins { texts.join("/") } else { texts.first()?.clone() };
    Some((path, close + 1))
}
