//! Names that the source itself defines, and texts that its variables have.

use super::arguments::path_of_call;
use super::description::Syntax;
use super::language::Language;
use super::lexer::Token;
use crate::UNKNOWN_SPAN;
use foldhash::{HashMap, HashSet};

/// What the source defines.
#[derive(Debug, Default)]
pub struct Own {
    /// Variables and parameters.
    pub names: HashSet<String>,
    /// Functions.
    pub functions: HashSet<String>,
    /// Variables that have one constant text.
    pub texts: HashMap<String, String>,
    /// Names that get values in other ways than an assignment of their own.
    loose: HashSet<String>,
    /// Functions that make a path of their arguments, and those that return the path that they get.
    pub joins: HashSet<String>,
    pub same: HashSet<String>,
}

/// Finds all definitions.
pub fn find(language: &Language, tokens: &[Token]) -> Own {
    let mut own = Own { joins: language.joins.clone(), same: language.same.clone(), ..Own::default() };
    let mut values: HashMap<String, Vec<Option<String>>> = HashMap::default();
    let (mut lists, mut done) = (Lists::default(), 0);
    for (at, token) in tokens.iter().enumerate() {
        if at < done {
            continue;
        }
        if let Some((all, end)) = each_constant(language, tokens, at) {
            done = end;
            for (name, text) in all {
                own.names.insert(name.clone());
                values.entry(name).or_default().push(Some(text));
            }
            continue;
        }
        match token {
            Token::Word(word) if language.functions.contains(word) => own.function(language, tokens, at),
            Token::Word(word) if language.binders.contains(word) => own.bound(tokens, at + 1),
            Token::Word(name) | Token::Variable(name) => {
                let end = indexed(tokens, at + 1);
                if own.assigns(language, tokens, at, end, name, &mut lists) {
                    let text = constant(tokens, end + 1).or_else(|| joined(&own, tokens, end + 1));
                    let text = text.filter(|_| end == at + 1);
                    values.entry(name.clone()).or_default().push(text);
                } else if loosens(language, tokens, at, &mut lists) {
                    values.entry(name.clone()).or_default().push(None);
                }
            }
            Token::Mark(mark) if mark == "|" => own.parameters(tokens, at),
            _ => {}
        }
    }
    if language.has(Syntax::Values) {
        own.texts = values
            .into_iter()
            .filter_map(|(name, mut all)| match (all.pop(), all.is_empty()) {
                (Some(Some(text)), true) if !own.loose.contains(&name) => Some((name, text)),
                _ => None,
            })
            .collect();
    }
    own
}

impl Own {
    /// Whether a name gets a value here, alone or in a list.
    fn assigns(
        &mut self,
        language: &Language,
        tokens: &[Token],
        at: usize,
        end: usize,
        name: &str,
        lists: &mut Lists,
    ) -> bool {
        let assign = |at: usize| matches!(tokens.get(at), Some(Token::Mark(mark)) if language.assigns.contains(mark));
        if assign(end) {
            self.names.insert(name.to_owned());
            // `f = function(x)`, `f = x -> x`
            if matches!(tokens.get(end + 1), Some(Token::Word(word)) if language.functions.contains(word)) {
                self.functions.insert(name.to_owned());
            }
            return true;
        }
        // `f(x) = ...`
        if let (Some(Token::Open('(')), Token::Word(_)) = (tokens.get(at + 1), tokens.get(at).unwrap_or(&Token::Break))
        {
            let close = closed(tokens, at + 1);
            let short = language.name == "julia" && assign(close + 1);
            if short && tokens.get(at.wrapping_sub(1)).is_none_or(|before| *before == Token::Break) {
                self.functions.insert(name.to_owned());
                self.words(tokens.get(at + 2..close).unwrap_or_default());
            }
        }
        // `a, b = ...`
        let next = lists.end(tokens, end);
        // `x -> ...`
        let lambda = language.name == "julia" && is_mark(tokens, end, "->");
        if lambda || next > end && assign(next) {
            self.names.insert(name.to_owned());
            self.loose.insert(name.to_owned());
        }
        false
    }

    fn words(&mut self, tokens: &[Token]) {
        for token in tokens {
            if let Token::Word(word) | Token::Label(word) | Token::Variable(word) = token {
                self.loose.insert(word.clone());
                self.names.insert(word.clone());
            }
        }
    }

    /// The name and the parameters of a function at its keyword.
    fn function(&mut self, language: &Language, tokens: &[Token], at: usize) {
        let mut next = at + 1;
        while let Some(Token::Word(name)) = tokens.get(next) {
            if !language.is_taken(name) {
                self.functions.insert(name.clone());
            }
            next += 1;
            if tokens.get(next) == Some(&Token::Member) {
                next += 1;
            }
        }
        if matches!(tokens.get(next), Some(Token::Open('('))) {
            let close = closed(tokens, next);
            self.words(tokens.get(next..close).unwrap_or_default());
        }
    }

    /// Names up to the mark or word after which their values follow.
    fn bound(&mut self, tokens: &[Token], from: usize) {
        let end = |token: &Token| match token {
            Token::Word(word) => word == "in",
            Token::Variable(_) | Token::Open('(') | Token::Close(')') => false,
            Token::Mark(mark) => mark != ",",
            _ => true,
        };
        let rest = tokens.get(from..).unwrap_or_default();
        let length = rest.iter().position(end).unwrap_or(rest.len());
        let names = rest.get(..length).unwrap_or_default();
        // `local x = "text"` is an assignment
        match names {
            [Token::Word(name)] => drop(self.names.insert(name.clone())),
            [Token::Variable(_)] => {}
            _ => self.words(names),
        }
    }

    /// Parameters of a block: `{ |a, b| ... }`.
    fn parameters(&mut self, tokens: &[Token], at: usize) {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let begins = match before {
            Some(Token::Word(word)) => word == "do",
            before => before == Some(&Token::Open('{')),
        };
        let inside = tokens.get(at + 1..).unwrap_or_default();
        if begins
            && let Some(length) = inside.iter().position(|token| matches!(token, Token::Mark(mark) if mark == "|"))
        {
            self.words(inside.get(..length).unwrap_or_default());
        }
    }
}

/// The last list of names that was looked at, because each of its names asks for the same end.
#[derive(Debug, Default)]
struct Lists {
    /// Where the names of the list end, and the end of the last one.
    names: HashSet<usize>,
    last: usize,
    /// The first bracket that closes, or end of a statement, at or after the first index.
    stop: Option<(usize, Option<usize>)>,
}

impl Lists {
    /// The end of the list `a, b, c` from the end of one of its names.
    fn end(&mut self, tokens: &[Token], end: usize) -> usize {
        if self.names.contains(&end) {
            return self.last;
        }
        self.names.clear();
        self.last = end;
        self.names.insert(end);
        while is_mark(tokens, self.last, ",") && matches!(tokens.get(self.last + 1), Some(Token::Word(_))) {
            self.last = indexed(tokens, self.last + 2);
            self.names.insert(self.last);
        }
        self.last
    }

    /// The first bracket that closes, or end of a statement, from an index that does not go back.
    fn stop(&mut self, tokens: &[Token], at: usize) -> Option<usize> {
        match self.stop {
            Some((from, stop)) if from <= at && stop.is_none_or(|stop| at <= stop) => stop,
            _ => {
                let ends = |token: &Token| matches!(token, Token::Close(_) | Token::Break);
                let stop = tokens.iter().skip(at).position(ends).map(|length| at + length);
                self.stop = Some((at, stop));
                stop
            }
        }
    }
}

fn is_mark(tokens: &[Token], at: usize, mark: &str) -> bool {
    matches!(tokens.get(at), Some(Token::Mark(other)) if other == mark)
}

/// Whether a variable may get a value here other than by an assignment: in a list, as a reference, in a loop.
fn loosens(language: &Language, tokens: &[Token], at: usize, lists: &mut Lists) -> bool {
    let mark = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
        Some(Token::Mark(mark)) => mark.as_str(),
        _ => "",
    };
    let before = at.checked_sub(1);
    let loop_word = matches!(before.and_then(|at| tokens.get(at)), Some(Token::Word(word)) if matches!(word.as_str(), "as" | "for" | "foreach"));
    let listed = lists.stop(tokens, at).filter(|stop| matches!(tokens.get(*stop), Some(Token::Close(')' | ']'))));
    let list = listed.is_some_and(|close| mark(Some(close + 1)) == "=");
    // `split(text, parts)` may give its argument a value, but no function of Lua does
    let handed = mark(Some(at + 1)) == "," && language.name != "lua";
    loop_word
        || list
        || handed
        || matches!(mark(before), "&" | "\\" | "=>")
        || matches!(mark(Some(at + 1)), "=~" | "<<")
}

/// Names at the beginning of a statement that each get a constant text, `a, b = "x", "y"`, and where their values end.
fn each_constant(language: &Language, tokens: &[Token], at: usize) -> Option<(Vec<(String, String)>, usize)> {
    let begins = at.checked_sub(1).is_none_or(|before| tokens.get(before) == Some(&Token::Break));
    let binds = matches!(tokens.get(at), Some(Token::Word(word)) if language.binders.contains(word));
    let (mut names, mut next) = (Vec::new(), at + usize::from(binds));
    if !begins {
        return None;
    }
    while let Some(Token::Word(name)) = tokens.get(next) {
        names.push(name.clone());
        next += 1;
        if !is_mark(tokens, next, ",") {
            break;
        }
        next += 1;
    }
    if names.len() < 2 || !["=", ":="].iter().any(|mark| is_mark(tokens, next, mark)) {
        return None;
    }
    let mut all = Vec::new();
    for name in names {
        let text = constant(tokens, next + 1)?;
        all.push((name, text));
        next += 2;
    }
    let ends = matches!(tokens.get(next), None | Some(Token::Break));
    ends.then_some((all, next))
}

/// The constant text of a statement.
fn constant(tokens: &[Token], at: usize) -> Option<String> {
    let ends = matches!(tokens.get(at + 1), None | Some(Token::Break | Token::Close(_)))
        || matches!(tokens.get(at + 1), Some(Token::Mark(mark)) if mark == ",");
    match tokens.get(at)? {
        Token::Text(text) if ends => Some(text.clone()),
        _ => None,
    }
}

/// The path that a statement joins from constant parts: `File.join("a", "b")`.
fn joined(own: &Own, tokens: &[Token], at: usize) -> Option<String> {
    let (path, end) = path_of_call(own, tokens, at)?;
    let ends = matches!(tokens.get(end), None | Some(Token::Break | Token::Close(_)));
    (ends && !path.contains(UNKNOWN_SPAN)).then_some(path)
}

/// The index after `[...]` and members that follow a name.
fn indexed(tokens: &[Token], mut at: usize) -> usize {
    loop {
        match (tokens.get(at), tokens.get(at + 1)) {
            (Some(Token::Open('[')), _) => at = closed(tokens, at) + 1,
            (Some(Token::Member), Some(Token::Word(_))) => at += 2,
            _ => return at,
        }
    }
}

/// The index of the bracket that closes the one at `open`.
pub fn closed(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Whether a word that is not called is a variable, a constant or a text in this language.
pub fn is_bare(language: &Language, tokens: &[Token], at: usize, word: &str) -> bool {
    let upper = || word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase);
    match tokens.get(at + 1) {
        Some(Token::Open('(')) => false,
        _ if language.has(Syntax::Bare) || language.has(Syntax::Upper) && upper() => true,
        // a name that Perl does not know is a text
        None | Some(Token::Break | Token::Close(_) | Token::Mark(_)) => language.has(Syntax::Perl),
        _ => false,
    }
}
