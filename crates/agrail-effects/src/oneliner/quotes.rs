//! Texts, patterns and characters.

use super::description::Quote;
use super::lexer::{Lexer, Token};
use crate::UNKNOWN_SPAN;

impl Lexer<'_> {
    /// A text in one of the language's quotes, or a command line.
    pub fn quoted(&mut self) -> bool {
        let language = self.language;
        if let Some(mark) = language.command.filter(|mark| self.peek(0) == Some(*mark)) {
            self.at += 1;
            let quote = Quote { open: mark.into(), escapes: true, ..self.widest() };
            let text = self.text(&quote);
            self.tokens.push(Token::Command(text));
            return true;
        }
        let Some(quote) = language.quotes.iter().find(|quote| self.starts(&quote.open)) else { return false };
        // `r"..."`, `f"..."`, `main'x`: a word that changes the text
        let glued = self.at.checked_sub(1).and_then(|at| self.chars.get(at)).is_some_and(|c| self.is_word(*c));
        if glued && matches!(self.tokens.last(), Some(Token::Word(word)) if !language.keywords.contains(word)) {
            self.problem("a mark at the beginning of a text");
        }
        self.at += quote.open.chars().count();
        let text = self.text(quote);
        self.tokens.push(Token::Text(text));
        true
    }

    /// The quote with most code in it.
    pub fn widest(&self) -> Quote {
        self.language.quotes.iter().max_by_key(|quote| quote.code.len()).cloned().unwrap_or_default()
    }

    /// The text up to the end of its quote, which is consumed.
    pub fn text(&mut self, quote: &Quote) -> String {
        let end = quote.close.clone().unwrap_or_else(|| quote.open.clone());
        let mut text = String::new();
        while let Some(c) = self.peek(0) {
            if self.starts(&end) {
                self.at += end.chars().count();
                return text;
            }
            if c == '\\' && (quote.escapes || self.peek(1).is_some_and(|next| end.starts_with(next) || next == '\\')) {
                self.escaped(&mut text);
            } else if let Some(code) = quote.code.iter().find(|code| self.starts(code)) {
                self.at += code.chars().count();
                let close = match code.chars().last() {
                    Some('(') => ')',
                    Some('[') => ']',
                    _ => '}',
                };
                match self.home().filter(|length| self.peek(*length) == Some(close)) {
                    Some(length) => {
                        self.at += length + 1;
                        text.push('~');
                    }
                    None => {
                        self.code(close);
                        text.push(UNKNOWN_SPAN);
                    }
                }
            } else if quote.variables.contains(c)
                && self.peek(1).is_some_and(|c| c.is_alphanumeric() || "_&!.,/".contains(c))
            {
                self.at += 2;
                self.take(|c| c.is_alphanumeric() || c == '_');
                text.push(UNKNOWN_SPAN);
            } else {
                text.push(c);
                self.at += 1;
            }
        }
        self.problem("a text does not end");
        text
    }

    /// A backslash and what it escapes.
    fn escaped(&mut self, text: &mut String) {
        let next = self.peek(1).unwrap_or_default();
        self.at += 2;
        match next {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            // characters by number: the text is not followed
            'x' | 'u' | 'U' | 'N' | 'c' | '0'..='9' => text.push(UNKNOWN_SPAN),
            other => text.push(other),
        }
    }

    /// A regular expression where a value is expected.
    pub fn pattern(&mut self) -> bool {
        if self.peek(0) != Some('/') {
            return false;
        }
        if self.is_vague() {
            self.problem("a slash that may divide or begin a pattern");
        } else if !self.wants_value() {
            return false;
        }
        self.at += 1;
        let pattern = self.delimited('/');
        self.take(|c| c.is_ascii_lowercase());
        self.regular(&pattern, '/');
        self.tokens.push(Token::Pattern);
        true
    }

    /// What stands between here and the closing delimiter, which is consumed; brackets nest.
    pub fn delimited(&mut self, open: char) -> String {
        let close = closing(open);
        let (mut depth, mut text) = (0, String::new());
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' => {
                    text.push(c);
                    text.extend(self.peek(0));
                    self.at += 1;
                    continue;
                }
                c if c == close && depth == 0 => return text,
                c if c == close => depth -= 1,
                c if c == open && open != close => depth += 1,
                _ => {}
            }
            text.push(c);
        }
        self.problem("a pattern does not end");
        text
    }

    /// A regular expression, which may contain code.
    pub fn regular(&mut self, pattern: &str, delimiter: char) {
        if pattern.contains("(?{") || pattern.contains("(??{") {
            self.problem("code in a pattern");
        }
        let interpolates = self.widest();
        if delimiter != '\'' && interpolates.code.iter().any(|code| pattern.contains(code.as_str())) {
            self.interpolated(pattern);
        }
    }

    /// The text of a source part in which variables and code are replaced.
    pub fn interpolated(&mut self, part: &str) -> String {
        let end = '\u{1}';
        let quote = Quote { open: end.to_string(), escapes: true, ..self.widest() };
        let chars = std::mem::replace(&mut self.chars, part.chars().chain([end]).collect());
        let at = std::mem::take(&mut self.at);
        let text = self.text(&quote);
        (self.chars, self.at) = (chars, at);
        text
    }

    /// `[[text]]` and `[==[text]==]`, and comments in them.
    pub fn long_brackets(&mut self) -> bool {
        let comment = self.starts("--[");
        let begin = self.at + if comment { 2 } else { 0 };
        let level = self.chars.iter().skip(begin + 1).take_while(|c| **c == '=').count();
        if self.chars.get(begin) != Some(&'[') || self.chars.get(begin + 1 + level) != Some(&'[') {
            return false;
        }
        let end: String = format!("]{}]", "=".repeat(level));
        self.at = begin + 2 + level;
        let mut text = String::new();
        while self.at < self.chars.len() && !self.starts(&end) {
            text.extend(self.peek(0));
            self.at += 1;
        }
        if self.at >= self.chars.len() {
            self.problem("a text does not end");
        }
        self.at += level + 2;
        if !comment {
            self.tokens.push(Token::Text(text));
        }
        true
    }

    /// `%in%`.
    pub fn infix(&mut self) -> bool {
        if self.peek(0) != Some('%') {
            return false;
        }
        self.at += 1;
        let name = self.take(|c| c != '%' && c != '\n');
        self.at += 1;
        if !["%", "in", "/", "o", "*", "||", ">", ""].contains(&name.as_str()) && name != "%>" {
            self.problem("an operator with a name");
        }
        self.tokens.push(Token::Mark("%".into()));
        true
    }

    /// `'c'`, or `'` after a value.
    pub fn character(&mut self) -> bool {
        if self.peek(0) != Some('\'') {
            return false;
        }
        if !self.wants_value() {
            self.at += 1;
            self.tokens.push(Token::Pattern);
            return true;
        }
        let length = if self.peek(1) == Some('\\') { 2 } else { 1 };
        if self.peek(length + 1) != Some('\'') {
            self.problem("a quote that begins no character");
        }
        self.at += length + 2;
        self.tokens.push(Token::Number("0".into()));
        true
    }

    /// `%w[a b]`, `?c`, `:symbol`, here-documents.
    pub fn ruby(&mut self) -> bool {
        let vague = self.is_vague();
        let value = self.wants_value() || vague;
        match (self.peek(0), self.peek(1)) {
            (Some('%'), Some(kind)) if value && !kind.is_whitespace() && kind != '=' => self.percent(kind),
            (Some('?'), Some(next)) if value && !next.is_whitespace() => {
                self.problem("a character literal");
                false
            }
            (Some('<'), Some('<'))
                if value && self.peek(2).is_some_and(|c| "~-\"'`".contains(c) || c.is_alphabetic()) =>
            {
                // after the name of a variable it is an operator
                !vague && self.here_document() || {
                    self.problem("a here-document");
                    false
                }
            }
            (Some(':'), Some(next)) if value && (next.is_alphabetic() || next == '_') => {
                self.at += 1;
                let mut name = self.take(|c| c.is_alphanumeric() || c == '_');
                name.extend(self.peek(0).filter(|c| matches!(c, '?' | '!')));
                self.at += usize::from(name.ends_with(['?', '!']));
                // `&:name` calls it, `inject(:name)` may
                let spaces = self.chars.iter().skip(self.at).take_while(|c| **c == ' ').count();
                let key = self.peek(spaces) == Some('=') && self.peek(spaces + 1) == Some('>');
                if key {
                    self.tokens.push(Token::Label(name));
                } else {
                    self.tokens.push(Token::Open('('));
                    self.tokens.extend([Token::Member, Token::Word(name), Token::Close(')')]);
                }
                true
            }
            (Some(':'), Some('"')) if value => {
                self.problem("a symbol in quotes");
                false
            }
            (Some(':'), Some(c)) if value && "+*<=-".contains(c) => {
                self.at += 2;
                self.tokens.push(Token::Number("0".into()));
                true
            }
            _ => false,
        }
    }

    fn percent(&mut self, kind: char) -> bool {
        let word = matches!(kind, 'w' | 'i') && self.peek(2).is_some_and(|c| "[({<|/!".contains(c));
        if !word {
            self.problem("a literal with a percent sign");
            return false;
        }
        let open = self.peek(2).unwrap_or_default();
        self.at += 3;
        let text = self.delimited(open);
        self.tokens.push(Token::Open('['));
        for part in text.split_whitespace() {
            self.tokens.push(Token::Text(part.replace('\\', "")));
            self.tokens.push(Token::Mark(",".into()));
        }
        self.tokens.push(Token::Close(']'));
        true
    }
}

/// The delimiter that closes an opening one.
pub fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}
