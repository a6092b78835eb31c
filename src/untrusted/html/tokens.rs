//! The one reader of HTML: a page as a sequence of tokens.
//!
//! No tree is built, so that deep nesting is cheap, and so that each token keeps its place in the page.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// Elements without an end tag.
pub(super) const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"param", b"source",
    b"track", b"wbr",
];

/// The tokens of a page, with their places in bytes. Scripts and styles are text, as in a browser.
pub(super) fn tokens(page: &str) -> impl Iterator<Item = Token<usize>> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(page, emitter).map(|Ok(token)| token)
}

/// The value of an attribute, with character references resolved; `None` if the tag does not have it.
pub(super) fn attribute<'a>(tag: &'a StartTag<usize>, name: &[u8]) -> Option<&'a [u8]> {
    tag.attributes.iter().find(|(known, _)| known.as_slice() == name).map(|(_, value)| &**value.value)
}

/// The value of an attribute in lower case.
pub(super) fn lower(tag: &StartTag<usize>, name: &[u8]) -> Option<String> {
    attribute(tag, name).map(|value| String::from_utf8_lossy(value).to_ascii_lowercase())
}
