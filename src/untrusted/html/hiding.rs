//! Where a hidden element ends in a browser.

use super::HiddenBy;

/// Block elements: the end tag of an inline element does not close them.
const BLOCKS: [&[u8]; 37] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"center",
    b"details",
    b"dialog",
    b"dd",
    b"div",
    b"dl",
    b"dt",
    b"fieldset",
    b"figure",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"header",
    b"html",
    b"li",
    b"main",
    b"nav",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"table",
    b"tbody",
    b"td",
    b"th",
    b"tr",
    b"ul",
];
/// Most open elements within a hidden one whose names are tracked.
const DEPTH: usize = 500;

/// An element that hides its content.
pub(super) struct Hiding {
    pub(super) why: HiddenBy,
    /// Names of the open elements, itself first.
    open: Vec<Vec<u8>>,
    /// More elements are open than are tracked.
    lost: bool,
}

impl Hiding {
    /// An element that hides its content was opened.
    pub(super) fn new(why: HiddenBy, name: &[u8]) -> Self {
        Self { why, open: vec![name.to_vec()], lost: false }
    }

    /// Processes an end tag as the HTML standard does. Returns whether the hiding element is still open.
    pub(super) fn ends(&mut self, name: &[u8]) -> bool {
        if self.lost {
            return true;
        }
        let block = BLOCKS.contains(&name);
        let mut place = None;
        for (at, open) in self.open.iter().enumerate().rev() {
            if open.as_slice() == name {
                place = Some(at);
                break;
            }
            // the end tag of an inline element does not close a block within it
            if !block && BLOCKS.contains(&open.as_slice()) {
                break;
            }
        }
        if let Some(at) = place {
            self.open.truncate(at);
        }
        !self.open.is_empty()
    }

    /// Processes a start tag. Returns whether the hiding element is still open: a paragraph ends where a block begins.
    pub(super) fn starts(&mut self, name: &[u8]) -> bool {
        let paragraph = self.open.first().is_some_and(|root| root == b"p");
        if paragraph && BLOCKS.contains(&name) && self.open.iter().skip(1).all(|o| !BLOCKS.contains(&o.as_slice())) {
            return false;
        }
        if self.open.len() < DEPTH {
            self.open.push(name.to_vec());
        } else {
            // it is no longer known which end tag closes it: treat it as never closed
            self.lost = true;
        }
        true
    }
}
