//! Splits source into words, texts, variables and marks.

use super::description::Syntax;
use super::language::Language;
use crate::Cause;
use crate::reading::Problems;

/// Deepest nesting of code within texts.
const MAX_DEPTH: usize = 16;

/// A part of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A name without a sigil, its parts separated by dots.
    Word(String),
    /// A variable with its sigil.
    Variable(String),
    /// A text; U+FFFC replaces each part that is not constant.
    Text(String),
    Number(String),
    /// A command line that runs.
    Command(String),
    Pattern,
    /// A key or the name of an argument.
    Label(String),
    /// The mark between an object and its member.
    Member,
    Open(char),
    Close(char),
    Mark(String),
    /// The end of a statement.
    Break,
}

/// The tokens of a source.
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub problems: Problems,
}

/// Splits a source.
pub fn lex(language: &Language, source: &str) -> Lexed {
    let mut lexer = Lexer {
        language,
        chars: source.chars().collect(),
        at: 0,
        tokens: Vec::new(),
        within: Vec::new(),
        problems: Problems::default(),
        brackets: Vec::new(),
        ended: Token::Break,
        depth: 0,
        documents: 0,
    };
    lexer.all();
    let mut tokens = lexer.tokens;
    tokens.push(Token::Break);
    tokens.append(&mut lexer.within);
    Lexed { tokens, problems: lexer.problems }
}

/// The state of the splitting.
pub struct Lexer<'l> {
    pub language: &'l Language,
    pub chars: Vec<char>,
    pub at: usize,
    pub tokens: Vec<Token>,
    /// Tokens of code within texts.
    within: Vec<Token>,
    problems: Problems,
    /// Open brackets, and whether the closing one ends a value: not in `if (x) /re/`, not a block.
    brackets: Vec<(char, bool)>,
    /// What the last closed bracket was, as a token after which a value is expected or not.
    ended: Token,
    depth: usize,
    /// How many here-documents were read.
    pub documents: usize,
}

impl Lexer<'_> {
    pub fn problem(&mut self, what: &str) {
        self.problems.add(Cause::Language, format!("{}: {what}", self.language.name));
    }

    pub fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub fn starts(&self, mark: &str) -> bool {
        !mark.is_empty() && mark.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    /// The characters up to the first that is not accepted.
    pub fn take(&mut self, accept: impl Fn(char) -> bool) -> String {
        let text: String = self.chars.iter().skip(self.at).take_while(|c| accept(**c)).collect();
        self.at += text.chars().count();
        text
    }

    pub fn is_word(&self, c: char) -> bool {
        self.language.is_word(c)
    }

    fn all(&mut self) {
        while self.at < self.chars.len() {
            self.next();
        }
        if !self.brackets.is_empty() {
            self.problem("a bracket is not closed");
        }
    }

    /// Whether a value follows, so that `/` cannot divide.
    pub fn wants_value(&self) -> bool {
        match self.tokens.last() {
            None | Some(Token::Break | Token::Mark(_) | Token::Open(_) | Token::Label(_)) => true,
            Some(Token::Word(word)) => self.language.keywords.contains(word),
            Some(Token::Close(_)) => self.ended == Token::Break,
            _ => false,
        }
    }

    /// Whether only a parser knows if a value follows: after a name that may be a call without parentheses, and a block.
    pub fn is_vague(&self) -> bool {
        match self.tokens.last() {
            Some(Token::Word(word)) => !self.language.keywords.contains(word) && !self.language.has(Syntax::Divides),
            Some(Token::Close('}')) => self.ended == Token::Break && !self.language.has(Syntax::Divides),
            _ => false,
        }
    }

    /// The length of a way to write the user's folder that begins here.
    pub fn home(&self) -> Option<usize> {
        let inside =
            self.at.checked_sub(1).and_then(|at| self.chars.get(at)).is_some_and(|c| self.is_word(*c) || *c == '.');
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let homes = self.language.homes.iter().filter(|home| !inside && rest.starts_with(home));
        homes.map(Vec::len).find(|length| rest.get(*length).is_none_or(|next| !self.is_word(*next)))
    }

    fn next(&mut self) {
        let Some(c) = self.peek(0) else { return };
        if let Some(length) = self.home() {
            self.at += length;
            return self.tokens.push(Token::Text("~".to_owned()));
        }
        if c == '\n' || c == ';' && !self.language.comments.iter().any(|mark| mark == ";") {
            // named arguments of Julia
            let named =
                c == ';' && self.language.name == "julia" && self.brackets.last().is_some_and(|(open, _)| *open == '(');
            self.tokens.push(if named { Token::Mark(",".to_owned()) } else { Token::Break });
            self.at += 1;
        } else if c.is_whitespace() {
            self.at += 1;
        } else if c == '\\' && self.peek(1) == Some('\n') {
            self.at += 2;
        } else if self.comment() || self.special() || self.quoted() || self.variable() || self.word() {
        } else if c.is_ascii_digit() {
            let exponent = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let mut number = self.take(exponent);
            if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
                self.at += 1;
                number = format!("{number}.{}", self.take(exponent));
            }
            self.tokens.push(Token::Number(number));
        } else {
            self.mark(c);
        }
    }

    fn comment(&mut self) -> bool {
        let language = self.language;
        if let Some([begin, end]) = language.blocks.iter().find(|[begin, _]| self.starts(begin)) {
            self.at += begin.chars().count();
            while self.at < self.chars.len() && !self.starts(end) {
                self.at += 1;
            }
            self.at += end.chars().count();
            return true;
        }
        if language.comments.iter().any(|mark| self.starts(mark)) {
            self.take(|c| c != '\n');
            return true;
        }
        false
    }

    /// What only this language has.
    fn special(&mut self) -> bool {
        let language = self.language;
        (language.has(Syntax::Perl) && self.perl())
            || (language.has(Syntax::Ruby) && self.ruby())
            || (language.has(Syntax::Lua) && self.long_brackets())
            || (language.has(Syntax::Infix) && self.infix())
            || (language.has(Syntax::Characters) && self.character())
            || (language.has(Syntax::Patterns) && self.pattern())
    }

    /// A variable with its sigil: `$x`, `@list`, `$_`, `$0`, `$!`.
    fn variable(&mut self) -> bool {
        let Some(sigil) = self.peek(0).filter(|c| self.language.sigils.contains(*c)) else { return false };
        let binary = matches!(sigil, '%' | '&') && !(self.wants_value() || self.is_vague());
        if binary {
            return false;
        }
        let begin = self.at;
        let sigils = self.language.sigils.clone();
        self.take(|c| sigils.contains(c));
        if sigil == '$'
            && self.peek(0) == Some('#')
            && self.peek(1).is_some_and(|c| c == '{' || c == '$' || self.is_word(c))
        {
            self.at += 1;
            self.take(|c| c == '$');
        }
        let name = self.take(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
        let special = name.is_empty()
            && self.at == begin + 1
            && sigil == '$'
            && self.peek(0).is_some_and(|c| c.is_ascii_punctuation() && !matches!(c, '{' | '(' | '['));
        if special {
            self.at +=
                1 + usize::from(self.peek(0) == Some('^') && self.peek(1).is_some_and(|c| c.is_ascii_uppercase()));
        }
        let written: String = self.chars.iter().skip(begin).take(self.at - begin).collect();
        // `&name` calls, `@{ ... }` is code
        if let Some(called) = written.strip_prefix('&') {
            self.tokens.push(Token::Mark("&".into()));
            if !called.is_empty() {
                self.tokens.push(Token::Word(called.to_owned()));
            }
        } else if let Some(name) = written.strip_suffix("::") {
            self.tokens.push(Token::Variable(name.to_owned()));
            self.problem("a package is used as a variable");
        } else {
            self.tokens.push(Token::Variable(written));
        }
        true
    }

    fn word(&mut self) -> bool {
        if !self.peek(0).is_some_and(|c| !c.is_ascii_digit() && self.is_word(c)) {
            return false;
        }
        let language = self.language;
        let mut word = self.take(|c| language.is_word(c));
        let perl = self.language.has(Syntax::Perl);
        while perl && self.starts("::") && self.peek(2).is_some_and(|c| self.is_word(c)) {
            self.at += 2;
            word = format!("{word}.{}", self.take(|c| language.is_word(c)));
        }
        if self.language.has(Syntax::Ruby) && self.peek(1) != Some('=') && matches!(self.peek(0), Some('?' | '!')) {
            word.extend(self.peek(0));
            self.at += 1;
        }
        let label = match self.peek(0) {
            Some('}') => {
                perl && self.tokens.last() == Some(&Token::Open('{'))
                    && self.brackets.last().is_some_and(|(_, value)| *value)
            }
            Some(':') => {
                self.language.has(Syntax::Ruby)
                    && self.peek(1) != Some(':')
                    && self.tokens.last() != Some(&Token::Mark("?".into()))
            }
            _ => {
                let spaces = self.chars.iter().skip(self.at).take_while(|c| c.is_whitespace()).count();
                let follows = |mark: &str| mark.chars().enumerate().all(|(n, c)| self.peek(spaces + n) == Some(c));
                perl && follows("=>") || self.language.has(Syntax::Bare) && follows("=>")
            }
        };
        self.tokens.push(if label { Token::Label(word) } else { Token::Word(word) });
        true
    }

    fn mark(&mut self, c: char) {
        let language = self.language;
        if let Some(mark) = language.members.iter().find(|mark| self.starts(mark)) {
            let mut after = self.chars.iter().skip(self.at + mark.chars().count()).skip_while(|c| c.is_whitespace());
            if after.next().is_some_and(|c| c.is_alphabetic() || *c == '_') {
                self.at += mark.chars().count();
                return self.tokens.push(Token::Member);
            }
        }
        self.at += 1;
        match c {
            '(' | '[' | '{' => {
                let controls = matches!(self.tokens.last(), Some(Token::Word(word)) if matches!(word.as_str(), "if" | "while" | "for" | "foreach" | "unless" | "until" | "elsif"));
                let before = self.at.checked_sub(2).and_then(|at| self.chars.get(at));
                let subscript = c == '{'
                    && before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ']' | '}' | '>'))
                    && !matches!(self.tokens.last(), Some(Token::Word(_) | Token::Pattern));
                self.brackets.push((c, subscript || c == '[' || c == '(' && !controls));
                self.tokens.push(Token::Open(c));
            }
            ')' | ']' | '}' => self.close(c),
            _ => {
                let mut mark = String::from(c);
                if c == '-' && self.peek(0) == Some('>') {
                    self.at += 1;
                    mark.push('>');
                }
                // marks of assignments are one token
                if let Some(assigns) =
                    language.assigns.iter().filter(|a| a.starts_with(c)).find(|assigns| {
                        assigns.chars().skip(1).enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
                    })
                {
                    self.at += assigns.chars().count() - 1;
                    mark.clone_from(assigns);
                } else if c == '/' && self.peek(0) == Some('/') && language.has(Syntax::Perl) {
                    // the first value that is defined
                    self.at += 1;
                    mark.push('/');
                }
                let compares = mark == "=" && matches!(self.peek(0), Some('=' | '~' | '>'));
                if compares || matches!(c, '=' | '!' | '<' | '>') && self.peek(0) == Some('=') && mark.len() == 1 {
                    mark.extend(self.peek(0));
                    self.at += 1;
                }
                self.tokens.push(Token::Mark(mark));
            }
        }
    }

    fn close(&mut self, c: char) {
        let pair = |open: char| matches!((open, c), ('(', ')') | ('[', ']') | ('{', '}'));
        match self.brackets.pop() {
            Some((open, value)) if pair(open) => {
                self.ended = if value { Token::Pattern } else { Token::Break };
            }
            _ => self.problem("a bracket is not opened"),
        }
        self.tokens.push(Token::Close(c));
    }

    /// Reads code within a text: up to the bracket that closes it, which is consumed.
    pub fn code(&mut self, close: char) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.problem("code is nested too deeply in texts");
            self.at = self.chars.len();
        }
        let outer = (std::mem::take(&mut self.tokens), std::mem::take(&mut self.brackets));
        let mut closed = false;
        while let (false, Some(c)) = (closed, self.peek(0)) {
            closed = c == close && self.brackets.is_empty();
            if closed { self.at += 1 } else { self.next() }
        }
        if !closed {
            self.problem("code in a text does not end");
        }
        let mut inner = std::mem::replace(&mut self.tokens, outer.0);
        self.brackets = outer.1;
        self.within.push(Token::Break);
        self.within.append(&mut inner);
        self.within.push(Token::Break);
        self.depth -= 1;
    }

    /// Reads text as code of its own: the replacement of `s///e`.
    pub fn code_of(&mut self, text: &str) {
        let (chars, at) = (std::mem::replace(&mut self.chars, text.chars().chain(['}']).collect()), self.at);
        self.at = 0;
        self.code('}');
        if self.at < self.chars.len() {
            self.problem("code in a text does not end where the text ends");
        }
        (self.chars, self.at) = (chars, at);
    }
}
