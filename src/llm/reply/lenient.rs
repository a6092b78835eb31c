//! Parses one JSON document leniently but without guessing.
//!
//! Allowed beyond JSON: one trailing comma, `//` and `#` comments, `True` `False` `None`, “curly” delimiters, raw line
//! breaks and tabs in strings, and a document that Python printed (single quotes; double ones only where Python would
//! use them). Anything else that is not JSON stops the parser.

use serde_json::{Map, Value};

/// Greatest nesting depth of a document.
pub(super) const DEPTH: usize = 64;

/// Where and why the parser stopped.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) at: usize,
    pub(super) why: String,
}

/// The document that starts at byte `at`, and the offset of the byte after its end.
///
/// If a strict JSON parser accepts the same bytes, both results must agree.
pub(super) fn parse_value(text: &str, at: usize) -> Result<(Value, usize), Stop> {
    let mut reader = Reader { text, at, python: None };
    let value = reader.value(0)?;
    let whole = text.get(at..reader.at).unwrap_or_default();
    match serde_json::from_str::<Value>(whole) {
        Ok(strict) if strict != value => Err(reader.stop("two readings differ")),
        _ => Ok((value, reader.at)),
    }
}

/// The offset of the first byte at or after `at` that is neither white space nor in a comment.
pub(super) fn blank(text: &str, at: usize) -> usize {
    let mut reader = Reader { text, at, python: None };
    reader.space();
    reader.at
}

/// At most 40 characters of `text`, fit for a message.
pub(super) fn quote(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Whether Python printed the document; `None` until its first string.
    python: Option<bool>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn stop(&self, why: &str) -> Stop {
        Stop { at: self.at, why: why.to_owned() }
    }

    /// The error for a missing token. At the end of the text it is always truncation.
    fn wanted(&self, what: &str) -> Stop {
        match self.peek() {
            None => self.stop("truncated document"),
            Some(c) => self.stop(&format!("{what} wanted, found {c:?}")),
        }
    }

    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let line = || rest.find('\n').unwrap_or(rest.len());
            match rest.chars().next() {
                Some(c) if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
                Some('#') => self.at += line(),
                Some('/') if rest.starts_with("//") => self.at += line(),
                _ => return,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        match self.peek() {
            Some('{' | '[') if depth >= DEPTH => Err(self.stop("nested too deeply")),
            Some('{') => self.object(depth + 1),
            Some('[') => self.array(depth + 1),
            Some('"' | '\'' | '“') => Ok(Value::String(self.string()?)),
            Some(c) if c.is_ascii_alphanumeric() || c == '-' => self.word(),
            _ => Err(self.wanted("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Stop> {
        let mut map = Map::new();
        self.next();
        self.space();
        while self.peek() != Some('}') {
            if !matches!(self.peek(), Some('"' | '\'' | '“')) {
                return Err(self.wanted("a quoted key"));
            }
            let key = self.string()?;
            self.space();
            if self.peek() != Some(':') {
                return Err(self.wanted("a colon"));
            }
            self.next();
            self.space();
            let value = self.value(depth)?;
            match map.get(&key) {
                Some(known) if *known != value => {
                    return Err(self.stop(&format!("key twice with different values: {}", quote(&key))));
                }
                Some(_) => {}
                None => drop(map.insert(key, value)),
            }
            self.comma('}')?;
        }
        self.next();
        Ok(Value::Object(map))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Stop> {
        let mut items = Vec::new();
        self.next();
        self.space();
        while self.peek() != Some(']') {
            items.push(self.value(depth)?);
            self.comma(']')?;
        }
        self.next();
        Ok(Value::Array(items))
    }

    /// Steps over a comma, or up to `close`.
    fn comma(&mut self, close: char) -> Result<(), Stop> {
        self.space();
        match self.peek() {
            Some(',') => {
                self.next();
                self.space();
                Ok(())
            }
            Some(c) if c == close => Ok(()),
            _ => Err(self.wanted("a comma or the end")),
        }
    }

    /// A literal or a number.
    fn word(&mut self) -> Result<Value, Stop> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "+-._".contains(c))).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ => match serde_json::from_str(word) {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(self.stop(&format!("not a value: {}", quote(word)))),
            },
        };
        self.at += end;
        Ok(value)
    }

    fn string(&mut self) -> Result<String, Stop> {
        let open = self.next();
        let python = *self.python.get_or_insert(open == Some('\''));
        let close = match open {
            Some('\'') if python => '\'',
            Some('"') => '"',
            Some('“') if !python => '”',
            _ => return Err(self.stop("mixed kinds of quotes")),
        };
        let mut out = String::new();
        loop {
            match self.next() {
                None => return Err(self.stop("truncated document")),
                Some(c) if c == close => break,
                Some('\\') => out.push(self.escape(python)?),
                Some('"' | '“') if close == '”' => return Err(self.stop("mixed kinds of quotes")),
                Some(c) if c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{7f}') => {
                    return Err(self.stop("control character in a string"));
                }
                Some(c) => out.push(c),
            }
        }
        if python && close == '"' && (!out.contains('\'') || out.contains('"')) {
            return Err(self.stop("mixed kinds of quotes"));
        }
        Ok(out)
    }

    fn escape(&mut self, python: bool) -> Result<char, Stop> {
        let Some(c) = self.next() else { return Err(self.stop("truncated document")) };
        Ok(match c {
            '"' | '\\' => c,
            '/' if !python => c,
            '\'' if python => c,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.unicode()?,
            'x' if python => self.scalar(2)?,
            'U' if python => self.scalar(8)?,
            _ => return Err(self.stop("unknown escape in a string")),
        })
    }

    fn unicode(&mut self) -> Result<char, Stop> {
        let high = self.hex(4)?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.stop("half a character in a string"));
        }
        if !self.rest().starts_with("\\u") {
            return Err(self.stop("half a character in a string"));
        }
        self.at += 2;
        let low = self.hex(4)?;
        let pair = (0xdc00..0xe000).contains(&low).then(|| 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
        pair.and_then(char::from_u32).ok_or_else(|| self.stop("half a character in a string"))
    }

    fn scalar(&mut self, digits: usize) -> Result<char, Stop> {
        let code = self.hex(digits)?;
        char::from_u32(code).ok_or_else(|| self.stop("half a character in a string"))
    }

    fn hex(&mut self, digits: usize) -> Result<u32, Stop> {
        let mut code = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else { return Err(self.wanted("a hex digit")) };
            code = (code & 0x0fff_ffff) << 4 | digit;
            self.next();
        }
        Ok(code)
    }
}
