//! The classes and ids that a page's own style sheets hide.
//!
//! External style sheets are not loaded, and of each selector only the last class or id is matched.

use super::MOST;
use super::style::{style, without_comments};
use super::tokens::{attribute, tokens};
use html5gum::{StartTag, Token};
use std::collections::HashSet;

/// Classes and ids that the page's own style sheets hide.
#[derive(Default)]
pub(super) struct Sheets {
    names: HashSet<String>,
    /// There are more names than are tracked.
    pub(super) lost: bool,
}

impl Sheets {
    pub(super) fn hide(&self, tag: &StartTag<usize>) -> bool {
        let has = |sign: char, text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            text.split_whitespace().any(|name| self.names.contains(&format!("{sign}{name}")))
        };
        !self.names.is_empty()
            && (attribute(tag, b"class").is_some_and(|v| has('.', v))
                || attribute(tag, b"id").is_some_and(|v| has('#', v)))
    }
}

/// Parses every style element of a page, in linear time, for rules that hide elements, by their last class or id.
pub(super) fn sheets(page: &str) -> Sheets {
    let mut found = Sheets::default();
    if !page.as_bytes().windows(6).any(|start| start.eq_ignore_ascii_case(b"<style")) {
        return found;
    }
    let mut inside = false;
    for token in tokens(page) {
        match token {
            Token::StartTag(tag) => inside = tag.name.as_slice() == b"style",
            Token::EndTag(_) => inside = false,
            Token::String(text) if inside => {
                let text = without_comments(&String::from_utf8_lossy(&text.value));
                for rule in text.split('}') {
                    let mut parts = rule.rsplitn(2, '{');
                    let (body, selectors) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                    // within @media the selector follows another brace
                    let selectors = selectors.rsplit('{').next().unwrap_or_default();
                    if style(body).is_none() {
                        continue;
                    }
                    if found.names.len() >= MOST {
                        // it is no longer known which elements are hidden
                        found.lost = true;
                        return found;
                    }
                    for selector in selectors.split(',') {
                        let last =
                            selector.split([' ', '>', '+', '~', '\n']).rfind(|s| !s.is_empty()).unwrap_or_default();
                        if let Some(at) = last.rfind(['.', '#']) {
                            let name = last.get(at..).unwrap_or_default();
                            found.names.insert(name.split([':', '[']).next().unwrap_or_default().to_owned());
                        }
                    }
                }
            }
            _ => {}
        }
    }
    found
}
