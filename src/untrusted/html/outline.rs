//! Title, links, depth and running text of a page.

use super::tokens::{VOID, attribute, tokens};
use html5gum::{EndTag, StartTag, Token};
use std::collections::HashMap;

/// What a page consists of, without its layout.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Its title.
    pub(crate) title: String,
    /// Text and target of each link, as written.
    pub(crate) links: Vec<(String, String)>,
    /// Its text without scripts and styles; a line break begins each block.
    pub(crate) text: String,
    /// Most elements that are open at once.
    pub(crate) depth: usize,
}

/// The state of the reader.
#[derive(Default)]
struct Reader {
    done: Outline,
    /// Number of open elements by name.
    open: HashMap<Vec<u8>, usize>,
    depth: usize,
    in_title: bool,
    silent: bool,
    link: Option<(String, String)>,
}

/// Reads a page token by token.
pub(crate) fn outline(page: &str) -> Outline {
    let mut reader = Reader::default();
    for token in tokens(page) {
        match token {
            Token::StartTag(tag) => reader.starts(&tag),
            Token::EndTag(tag) => reader.ends(&tag),
            Token::String(text) if !reader.silent => reader.says(&String::from_utf8_lossy(&text.value)),
            _ => {}
        }
    }
    reader.done
}

impl Reader {
    fn starts(&mut self, tag: &StartTag<usize>) {
        if !VOID.contains(&tag.name.as_slice()) {
            *self.open.entry(tag.name.to_vec()).or_default() += 1;
            self.depth += 1;
            self.done.depth = self.done.depth.max(self.depth);
        }
        match tag.name.as_slice() {
            b"title" => self.in_title = true,
            b"script" | b"style" | b"template" => self.silent = true,
            b"a" => {
                let target = attribute(tag, b"href").map(|value| String::from_utf8_lossy(value).into_owned());
                self.link = target.map(|target| (String::new(), target));
            }
            b"p" | b"br" | b"div" | b"li" | b"tr" => self.done.text.push('\n'),
            _ => {}
        }
    }

    fn ends(&mut self, tag: &EndTag<usize>) {
        // an end without its beginning ends nothing
        if let Some(count) = self.open.get_mut(tag.name.as_slice()).filter(|count| **count > 0) {
            *count -= 1;
            self.depth -= 1;
        }
        match tag.name.as_slice() {
            b"title" => self.in_title = false,
            b"script" | b"style" | b"template" => self.silent = false,
            b"a" => self.done.links.extend(self.link.take()),
            _ => {}
        }
    }

    fn says(&mut self, text: &str) {
        if self.in_title {
            self.done.title.push_str(text);
        } else {
            self.done.text.push_str(text);
        }
        if let Some((name, _)) = &mut self.link {
            name.push_str(text);
        }
    }
}
