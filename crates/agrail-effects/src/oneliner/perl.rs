//! Quoting words, handles and special variables of Perl.

use super::lexer::{Lexer, Token};
use super::quotes::closing;

impl Lexer<'_> {
    /// `q//`, `qw()`, `s///e`, `<FH>`, pod and here-documents.
    pub fn perl(&mut self) -> bool {
        let begins_line = self.at.checked_sub(1).and_then(|at| self.chars.get(at)).is_none_or(|c| *c == '\n');
        match (self.peek(0), self.peek(1)) {
            (Some('='), Some(next)) if begins_line && next.is_alphabetic() => {
                // documentation up to `=cut`
                let rest: String = self.chars.iter().skip(self.at).collect();
                let end = rest.find("\n=cut").map(|end| rest.get(..end + 5).unwrap_or_default().chars().count());
                self.at = end.map_or(self.chars.len(), |end| self.at + end);
                true
            }
            (Some('<'), Some('<'))
                if self.wants_value() || self.is_vague() || self.peek(2).is_some_and(|c| "\"'~".contains(c)) =>
            {
                let prints = |word: &String| matches!(word.as_str(), "print" | "printf" | "warn" | "die" | "return");
                let begins =
                    self.wants_value() || matches!(self.tokens.last(), Some(Token::Word(word)) if prints(word));
                // after a constant it is an operator
                begins && self.here_document() || {
                    self.problem("a here-document");
                    false
                }
            }
            (Some('<'), _) if self.wants_value() || self.is_vague() => self.handle(),
            (Some('?'), _) if self.is_vague() => {
                self.problem("a question mark after a name");
                false
            }
            (Some(c), _) if c.is_alphabetic() => self.quoting_word(),
            _ => false,
        }
    }

    /// `<STDIN>`, `<$fh>`, `<>`: reads a line.
    fn handle(&mut self) -> bool {
        let name: String =
            self.chars.iter().skip(self.at + 1).take_while(|c| c.is_alphanumeric() || "_$".contains(**c)).collect();
        let end = self.at + 1 + name.chars().count();
        if self.chars.get(end) == Some(&'>') {
            self.at = end + 1;
            self.tokens.push(Token::Pattern);
            return true;
        }
        if self.wants_value() {
            self.problem("an operator that lists files");
        }
        false
    }

    /// A quoting word with what it quotes.
    fn quoting_word(&mut self) -> bool {
        let word: String = self.chars.iter().skip(self.at).take_while(|c| self.is_word(**c)).collect();
        let quotes = matches!(word.as_str(), "q" | "qq" | "qw" | "qr" | "qx" | "m" | "s" | "y" | "tr");
        let before = self.tokens.last();
        // a key, a method, `-s $file`
        let tests = word == "s" && self.at.checked_sub(1).and_then(|at| self.chars.get(at)) == Some(&'-');
        if !quotes || tests || matches!(before, Some(Token::Member)) {
            return false;
        }
        let after = self.at + word.chars().count();
        let spaces = self.chars.iter().skip(after).take_while(|c| c.is_whitespace()).count();
        let Some(open) = self.chars.get(after + spaces).copied() else { return false };
        let arrow = open == '=' && self.chars.get(after + spaces + 1) == Some(&'>');
        if arrow
            || open == '}' && before == Some(&Token::Open('{'))
            || (spaces > 0 && open == '=')
            || ";)".contains(open)
            || open == ',' && spaces > 0
        {
            return false;
        }
        if spaces > 0 && (open == '#' || self.is_word(open)) {
            self.problem("a quoting word and a space");
        }
        self.at = after + spaces + 1;
        let text = self.delimited(open);
        match word.as_str() {
            "s" | "y" | "tr" => self.substitution(&word, &text, open),
            "m" | "qr" => {
                self.take(|c| c.is_ascii_lowercase());
                self.regular(&text, open);
                self.tokens.push(Token::Pattern);
            }
            "qw" => {
                self.tokens.push(Token::Open('['));
                for part in text.split_whitespace() {
                    self.tokens.push(Token::Text(part.replace('\\', "")));
                    self.tokens.push(Token::Mark(",".into()));
                }
                self.tokens.push(Token::Close(']'));
            }
            "q" => self.tokens.push(Token::Text(text.replace('\\', ""))),
            _ => {
                let text = if open == '\'' { text } else { self.interpolated(&text) };
                self.tokens.push(if word == "qx" { Token::Command(text) } else { Token::Text(text) });
            }
        }
        true
    }

    /// The second half of `s///`, `y///`.
    fn substitution(&mut self, word: &str, pattern: &str, open: char) {
        let mut second = open;
        if closing(open) != open {
            self.take(char::is_whitespace);
            second = self.peek(0).unwrap_or_default();
            self.at += 1;
            if self.is_word(second) || second == '#' {
                self.problem("a second delimiter that is a letter");
            }
        }
        let replacement = self.delimited(second);
        let flags = self.take(|c| c.is_ascii_lowercase());
        self.tokens.push(Token::Pattern);
        if word != "s" {
            return;
        }
        self.regular(pattern, open);
        match flags.matches('e').count() {
            0 if second != '\'' => drop(self.interpolated(&replacement)),
            0 => {}
            1 => self.code_of(&replacement),
            _ => self.problem("a replacement whose result is run"),
        }
    }
}
