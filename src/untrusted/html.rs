//! Finds the text of an HTML page that its reader does not see.
//!
//! 1. The page is read as a sequence of tokens (`tokens.rs`): no tree is built, so that deep nesting is cheap.
//! 2. Comments are collected, and attributes that browsers display only as a substitute or a hint: `alt`, `title`,
//!    `aria-label`.
//! 3. Text within an element that is hidden by its style, its kind, or a rule of the page's own style sheets is
//!    collected, until that element ends in a browser: an end tag that a browser ignores ends nothing.
//! 4. External style sheets are not loaded, and of each selector only the last class or id is matched.

mod hiding;
#[cfg(feature = "research")]
pub(crate) mod outline;
mod sheet;
mod style;
mod tokens;

use hiding::Hiding;
use html5gum::{StartTag, Token};
use sheet::sheets;
use std::ops::Range;
use style::{gone, plain, style};
use tokens::{VOID, lower, tokens};

/// How a text is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HiddenBy {
    /// A comment.
    Comment,
    /// An attribute such as `alt`, `title`, `aria-label`, `placeholder` or `content`.
    Attribute,
    /// `display: none`, `visibility: hidden`, `opacity: 0`, `hidden`, `aria-hidden`.
    Invisible,
    /// Positioned outside the window.
    OffScreen,
    /// In the colour of its background.
    SameColour,
    /// With a size of zero.
    ZeroSize,
}

/// A hidden text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// How it is hidden.
    pub why: HiddenBy,
    /// The text, with character references resolved.
    pub text: String,
    /// The place in the page, in bytes; for an attribute, that of the whole tag.
    pub span: Range<usize>,
}

/// Most hidden texts that are collected from one page.
const MOST: usize = 2_000;
/// Most bytes of all collected texts.
const BYTES: usize = 1 << 20;
const ATTRIBUTES: [&[u8]; 8] =
    [b"alt", b"title", b"aria-label", b"aria-description", b"placeholder", b"content", b"summary", b"data-prompt"];
/// Elements whose content browsers do not display.
const UNSHOWN: [&[u8]; 10] =
    [b"datalist", b"canvas", b"video", b"audio", b"noscript", b"template", b"svg", b"iframe", b"object", b"noembed"];
/// The hidden parts of a page.
#[derive(Debug, Clone, Default)]
pub struct Unshown {
    /// The hidden texts of at least three letters, in the order of the page.
    pub texts: Vec<Hidden>,
    /// Bytes of hidden text beyond the budget; the length of the page if its style sheets have too many hiding rules.
    pub unread: usize,
    /// Every hidden stretch of text, however short: byte ranges of the page.
    pub cuts: Vec<Range<usize>>,
}

/// The hidden texts of a page, in its order, and the bytes of hidden text beyond the budget.
#[must_use]
pub(crate) fn hidden(page: &str) -> (Vec<Hidden>, usize) {
    let found = unshown(page);
    (found.texts, found.unread)
}

/// Finds all hidden parts of a page.
#[must_use]
pub(crate) fn unshown(page: &str) -> Unshown {
    let sheets = sheets(page);
    let mut found = Found::default();
    let mut hiding: Option<Hiding> = None;
    for token in tokens(page) {
        match token {
            Token::Comment(comment) => {
                found.add(HiddenBy::Comment, &comment.value, comment.span.start..comment.span.end);
            }
            Token::String(text) => {
                if let Some(hiding) = &hiding {
                    found.cuts.push(text.span.start..text.span.end);
                    found.add(hiding.why, &text.value, text.span.start..text.span.end);
                }
            }
            Token::StartTag(tag) => {
                attributes(&tag, &mut found);
                // browsers ignore the slash of a self-closing tag unless the element is void
                let void = VOID.contains(&tag.name.as_slice());
                if !void && hiding.as_mut().is_none_or(|h| !h.starts(&tag.name)) {
                    let why = hides(&tag).or_else(|| sheets.hide(&tag).then_some(HiddenBy::Invisible));
                    hiding = why.map(|why| Hiding::new(why, &tag.name));
                }
            }
            Token::EndTag(tag) => {
                if hiding.as_mut().is_some_and(|h| !h.ends(&tag.name)) {
                    hiding = None;
                }
            }
            Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    let unread = found.unread + if sheets.lost { page.len() } else { 0 };
    Unshown { texts: found.kept, unread, cuts: found.cuts }
}

/// How the page element in some markup, or a form field inside it, is hidden from the user: by its kind, by attributes,
/// or by a style that makes it invisible or moves it out of the window. Colours and clipping do not count, because
/// designers use them on visible fields, and neither do file fields, which are commonly hidden behind a button. `None`
/// if nothing is hidden.
#[must_use]
pub(crate) fn unseen(element: &str) -> Option<HiddenBy> {
    let tags = tokens(element).filter_map(|token| match token {
        Token::StartTag(tag) => Some(tag),
        _ => None,
    });
    let hidden = |tag: StartTag<usize>| {
        let value = |name: &[u8]| lower(&tag, name);
        let kind = value(b"type").unwrap_or_default();
        if kind == "file" {
            return None;
        }
        let attribute = value(b"hidden").is_some() || value(b"aria-hidden").is_some_and(|v| v == "true");
        if attribute || kind == "hidden" {
            return Some(HiddenBy::Invisible);
        }
        gone(&plain(&value(b"style")?))
    };
    let field = |tag: &StartTag<usize>| [&b"input"[..], b"textarea", b"select"].contains(&tag.name.as_slice());
    tags.enumerate().filter(|(at, tag)| *at == 0 || field(tag)).take(MOST).find_map(|(_, tag)| hidden(tag))
}

#[derive(Default)]
struct Found {
    kept: Vec<Hidden>,
    cuts: Vec<Range<usize>>,
    bytes: usize,
    unread: usize,
}

impl Found {
    fn add(&mut self, why: HiddenBy, bytes: &[u8], span: Range<usize>) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim();
        if text.chars().filter(|c| c.is_alphabetic()).take(3).count() < 3 {
            return;
        }
        if self.kept.len() >= MOST || self.bytes + text.len() > BYTES {
            self.unread += text.len();
            return;
        }
        self.bytes += text.len();
        self.kept.push(Hidden { why, text: text.to_owned(), span });
    }
}

fn attributes(tag: &StartTag<usize>, found: &mut Found) {
    for (name, value) in &tag.attributes {
        if ATTRIBUTES.contains(&name.as_slice()) {
            found.add(HiddenBy::Attribute, &value.value, tag.span.start..tag.span.end);
        }
    }
}

/// How an element hides its content, by its kind, its attributes or its style; `None` if it does not.
fn hides(tag: &StartTag<usize>) -> Option<HiddenBy> {
    let value = |name: &[u8]| lower(tag, name);
    let closed = tag.name.as_slice() == b"dialog" && value(b"open").is_none();
    let kind = closed || UNSHOWN.contains(&tag.name.as_slice());
    if kind || value(b"hidden").is_some() || value(b"aria-hidden").is_some_and(|v| v == "true") {
        return Some(HiddenBy::Invisible);
    }
    style(&value(b"style")?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
