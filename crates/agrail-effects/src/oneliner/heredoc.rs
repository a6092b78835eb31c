//! Here-documents of Ruby and Perl: `<<~ID`, `<<-"ID"`, `<<'ID'`.

use super::description::Quote;
use super::lexer::{Lexer, Token};

/// Most here-documents of one source.
const MOST: usize = 64;
/// Stands at the end of a body while it is read; no source has it.
const END: char = '\u{f8ff}';

/// The beginning of a here-document.
struct Opening {
    name: String,
    /// The character around the name.
    quote: Option<char>,
    /// Whether the last line may be indented.
    indented: bool,
    /// Characters of the opening.
    length: usize,
}

impl Lexer<'_> {
    /// A here-document that begins here, as a text; its body is taken out of the lines below. A mark without a body is
    /// none.
    pub fn here_document(&mut self) -> bool {
        let opening = self.opening();
        let body = opening.as_ref().and_then(|opening| self.body(opening));
        let (Some(opening), Some((begin, end, after))) = (opening, body) else { return false };
        let text: Vec<char> = self.chars.get(begin..end).unwrap_or_default().to_vec();
        self.documents += 1;
        if text.contains(&END) || self.documents > MOST {
            return false;
        }
        drop(self.chars.drain(begin..after));
        self.at += opening.length;
        drop(self.chars.splice(self.at..self.at, text.into_iter().chain([END])));
        let plain = Quote { open: "'".into(), ..Quote::default() };
        let quote = if opening.quote == Some('\'') { plain } else { Quote { escapes: true, ..self.widest() } };
        let text = self.text(&Quote { close: Some(END.into()), ..quote });
        self.tokens.push(if opening.quote == Some('`') { Token::Command(text) } else { Token::Text(text) });
        true
    }

    fn opening(&self) -> Option<Opening> {
        let mut at = 2;
        let indented = self.peek(at).is_some_and(|c| matches!(c, '~' | '-'));
        at += usize::from(indented);
        let quote = self.peek(at).filter(|c| matches!(c, '\'' | '"' | '`'));
        at += usize::from(quote.is_some());
        let within = |c: &char| c.is_alphanumeric() || *c == '_' || quote.is_some() && *c == ' ';
        let name: String = self.chars.iter().skip(self.at + at).copied().take_while(within).collect();
        at += name.chars().count();
        if quote.is_some() && self.peek(at) != quote {
            return None;
        }
        at += usize::from(quote.is_some());
        (!name.trim().is_empty()).then_some(Opening { name, quote, indented, length: at })
    }

    /// The begin and the end of the body, and of its last line, as indices of characters.
    fn body(&self, opening: &Opening) -> Option<(usize, usize, usize)> {
        let line_end = |from: usize| {
            let rest = self.chars.get(from..).unwrap_or_default();
            rest.iter().position(|c| *c == '\n').map_or(self.chars.len(), |at| from + at)
        };
        let begin = line_end(self.at) + 1;
        let mut at = begin;
        while at < self.chars.len() {
            let end = line_end(at);
            let line: String = self.chars.get(at..end).unwrap_or_default().iter().collect();
            let line = if opening.indented { line.trim_start() } else { line.as_str() };
            if line.trim_end_matches('\r') == opening.name {
                return Some((begin, at, (end + 1).min(self.chars.len())));
            }
            at = end + 1;
        }
        None
    }
}
