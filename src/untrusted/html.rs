//! Finds the text of an HTML page that its reader does not see.
//!
//! 1. The page is read as a sequence of tokens: no tree is built, so that deep nesting is cheap.
//! 2. Comments are collected, and attributes that browsers display only as a substitute or a hint: `alt`, `title`,
//!    `aria-label`.
//! 3. Text within an element that is hidden by its style, its kind, or a rule of the page's own style sheets is
//!    collected, until that element ends in a browser: an end tag that a browser ignores ends nothing.
//! 4. External style sheets are not loaded, and of each selector only the last class or id is matched.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use std::collections::HashSet;
use std::ops::Range;

/// How a text is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unseen {
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
    pub why: Unseen,
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
/// Two colours look the same if each channel differs by less than this.
const NEAR: u8 = 24;
/// Elements without an end tag.
pub(crate) const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"param", b"source",
    b"track", b"wbr",
];

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
pub fn hidden(page: &str) -> (Vec<Hidden>, usize) {
    let found = unshown(page);
    (found.texts, found.unread)
}

/// An element that hides its content.
struct Hiding {
    why: Unseen,
    /// Names of the open elements, itself first.
    open: Vec<Vec<u8>>,
    /// More elements are open than are tracked.
    lost: bool,
}

impl Hiding {
    /// Processes an end tag as the HTML standard does. Returns whether the hiding element is still open.
    fn ends(&mut self, name: &[u8]) -> bool {
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
    fn starts(&mut self, name: &[u8]) -> bool {
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

/// Finds all hidden parts of a page.
#[must_use]
pub(crate) fn unshown(page: &str) -> Unshown {
    let sheets = sheets(page);
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut found = Found::default();
    let mut hiding: Option<Hiding> = None;
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::Comment(comment) => {
                found.add(Unseen::Comment, &comment.value, comment.span.start..comment.span.end);
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
                    let why = hides(&tag).or_else(|| sheets.hide(&tag).then_some(Unseen::Invisible));
                    hiding = why.map(|why| Hiding { why, open: vec![tag.name.to_vec()], lost: false });
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
pub fn unseen(element: &str) -> Option<Unseen> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let tags = Tokenizer::new_with_emitter(element, emitter).filter_map(|token| match token {
        Ok(Token::StartTag(tag)) => Some(tag),
        Ok(_) => None,
    });
    let hidden = |tag: StartTag<usize>| {
        let value = |name: &[u8]| {
            let found = tag.attributes.iter().find(|(known, _)| known.as_slice() == name);
            found.map(|(_, value)| String::from_utf8_lossy(&value.value).to_ascii_lowercase())
        };
        let kind = value(b"type").unwrap_or_default();
        if kind == "file" {
            return None;
        }
        let attribute = value(b"hidden").is_some() || value(b"aria-hidden").is_some_and(|v| v == "true");
        if attribute || kind == "hidden" {
            return Some(Unseen::Invisible);
        }
        gone(&plain(&value(b"style")?))
    };
    let field = |tag: &StartTag<usize>| [&b"input"[..], b"textarea", b"select"].contains(&tag.name.as_slice());
    tags.enumerate().filter(|(at, tag)| *at == 0 || field(tag)).take(MOST).find_map(|(_, tag)| hidden(tag))
}

/// Classes and ids that the page's own style sheets hide.
#[derive(Default)]
struct Sheets {
    names: HashSet<String>,
    /// There are more names than are tracked.
    lost: bool,
}

impl Sheets {
    fn hide(&self, tag: &StartTag<usize>) -> bool {
        let value = |wanted: &[u8]| tag.attributes.iter().find(|(name, _)| name.as_slice() == wanted).map(|(_, v)| v);
        let has = |sign: char, text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            text.split_whitespace().any(|name| self.names.contains(&format!("{sign}{name}")))
        };
        !self.names.is_empty()
            && (value(b"class").is_some_and(|v| has('.', &v.value)) || value(b"id").is_some_and(|v| has('#', &v.value)))
    }
}

/// A style sheet without its comments, which may occur anywhere; an unterminated comment extends to the end.
fn without_comments(sheet: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(sheet.len()), sheet);
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// Parses every style element of a page, in linear time, for rules that hide elements, by their last class or id.
fn sheets(page: &str) -> Sheets {
    let mut found = Sheets::default();
    if !page.as_bytes().windows(6).any(|start| start.eq_ignore_ascii_case(b"<style")) {
        return found;
    }
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut inside = false;
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => inside = tag.name.as_slice() == b"style",
            Token::EndTag(_) => inside = false,
            Token::String(text) if inside => {
                let text = without_comments(&String::from_utf8_lossy(&text));
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

#[derive(Default)]
struct Found {
    kept: Vec<Hidden>,
    cuts: Vec<Range<usize>>,
    bytes: usize,
    unread: usize,
}

impl Found {
    fn add(&mut self, why: Unseen, bytes: &[u8], span: Range<usize>) {
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
            found.add(Unseen::Attribute, &value.value, tag.span.start..tag.span.end);
        }
    }
}

/// How an element hides its content, by its kind, its attributes or its style; `None` if it does not.
fn hides(tag: &StartTag<usize>) -> Option<Unseen> {
    let value = |wanted: &[u8]| {
        tag.attributes
            .iter()
            .find(|(name, _)| name.as_slice() == wanted)
            .map(|(_, value)| String::from_utf8_lossy(&value.value).to_ascii_lowercase())
    };
    let closed = tag.name.as_slice() == b"dialog" && value(b"open").is_none();
    let kind = closed || UNSHOWN.contains(&tag.name.as_slice());
    if kind || value(b"hidden").is_some() || value(b"aria-hidden").is_some_and(|v| v == "true") {
        return Some(Unseen::Invisible);
    }
    style(&value(b"style")?)
}

/// Declarations in lower case, without comments and white space.
fn plain(declarations: &str) -> String {
    let plain = without_comments(declarations).to_ascii_lowercase();
    plain.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The effective value of a property: the last important one, or else the last one.
fn property<'a>(style: &'a str, name: &str) -> Option<&'a str> {
    let of = || style.split(';').filter_map(|part| part.split_once(':')).filter(|(n, _)| *n == name).map(|(_, v)| v);
    let important = of().filter_map(|value| value.strip_suffix("!important")).next_back();
    important.or_else(|| of().next_back())
}

fn number(value: &str) -> Option<f32> {
    value.trim_end_matches(|c: char| c.is_alphabetic() || c == '%').parse().ok()
}

fn zero(value: &str) -> bool {
    number(value).is_some_and(|n| n.abs() < 0.02)
}

/// How [`plain`] declarations hide a whole element, whatever its content; `None` if they do not.
fn gone(style: &str) -> Option<Unseen> {
    let far = |v: &str| number(v).is_some_and(|n| n <= -400.0 || (n <= -50.0 && v.ends_with(['w', 'h', '%'])));
    let property = |name: &str| property(style, name);
    if property("display").is_some_and(|v| v.starts_with("none"))
        || property("visibility").is_some_and(|v| v.starts_with("hidden") || v.starts_with("collapse"))
        || property("opacity").is_some_and(zero)
    {
        return Some(Unseen::Invisible);
    }
    let places = ["left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"];
    places.iter().any(|name| property(name).is_some_and(far)).then_some(Unseen::OffScreen)
}

/// How declarations hide the content of an element; `None` if they do not.
fn style(declarations: &str) -> Option<Unseen> {
    let style = plain(declarations);
    let property = |name: &str| property(&style, name);
    if gone(&style) == Some(Unseen::Invisible)
        || property("clip-path").is_some_and(|v| v != "none")
        || property("transform").is_some_and(|v| v.contains("scale(0") || v.contains("(-"))
    {
        return Some(Unseen::Invisible);
    }
    let small = |v: &str| number(v).is_some_and(|n| n.abs() <= 1.0);
    let clipped = property("overflow").is_some_and(|v| v.starts_with("hidden"));
    if property("font-size").is_some_and(|v| zero(v) || matches!(v, "1px" | "1pt"))
        || (clipped && (property("height").is_some_and(small) || property("width").is_some_and(small)))
    {
        return Some(Unseen::ZeroSize);
    }
    if gone(&style).is_some() || property("clip").is_some_and(|v| v.starts_with("rect(0")) {
        return Some(Unseen::OffScreen);
    }
    let colour = property("color")?;
    if matches!(colour, "transparent" | "rgba(0,0,0,0)" | "rgba(255,255,255,0)") {
        return Some(Unseen::SameColour);
    }
    let ground = property("background-color").or_else(|| property("background")).unwrap_or("#fff");
    let same = match (channels(colour), channels(ground)) {
        (Some(one), Some(other)) => one.iter().zip(other).all(|(a, b)| a.abs_diff(b) < NEAR),
        _ => colour == ground,
    };
    same.then_some(Unseen::SameColour)
}

/// Red, green and blue of a colour written as numbers, `black` or `white`; `None` for other notations.
fn channels(colour: &str) -> Option<[u8; 3]> {
    let digits = match colour {
        "white" => "ffffff",
        "black" => "000000",
        hex => match hex.strip_prefix('#') {
            Some(digits) => digits,
            None => {
                let inside = hex.strip_prefix("rgba(").or_else(|| hex.strip_prefix("rgb("))?.trim_end_matches(')');
                let mut numbers = inside.split(',').map(|n| n.parse::<u8>().ok());
                return Some([numbers.next()??, numbers.next()??, numbers.next()??]);
            }
        },
    };
    let wide: String = match digits.len() {
        3 | 4 => digits.chars().take(3).flat_map(|c| [c, c]).collect(),
        _ => digits.to_owned(),
    };
    let channel = |at: usize| u8::from_str_radix(wide.get(at..at + 2)?, 16).ok();
    Some([channel(0)?, channel(2)?, channel(4)?])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn check(page: &str, want: &[(Unseen, &str)]) {
        let (found, unread) = hidden(page);
        let got: Vec<(Unseen, &str)> = found.iter().map(|h| (h.why, h.text.as_str())).collect();
        assert_eq!((got.as_slice(), unread), (want, 0), "{page}");
    }

    #[test]
    fn each_way_of_hiding_is_found() {
        check("<p>seen</p><!-- a comment -->", &[(Unseen::Comment, "a comment")]);
        check("<img alt='do this'> text", &[(Unseen::Attribute, "do this")]);
        check(
            "<div style='display:none'>one<br><div>two</div></div>three",
            &[(Unseen::Invisible, "one"), (Unseen::Invisible, "two")],
        );
        check("<b hidden>away</b>back", &[(Unseen::Invisible, "away")]);
        check("<i style='position:absolute; left: -9999px'>far</i>", &[(Unseen::OffScreen, "far")]);
        check("<i style='color:#FFFFFF'>pale</i>", &[(Unseen::SameColour, "pale")]);
        check("<i style='color: black; background:#000'>dark</i>", &[(Unseen::SameColour, "dark")]);
        check("<i style='font-size:0'>tiny</i>", &[(Unseen::ZeroSize, "tiny")]);
        check("<i style='color:red'>plain</i> and text", &[]);
    }

    #[test]
    fn hidden_text_matches_what_browsers_hide() {
        let lie = &[(Unseen::Invisible, "a lie")][..];
        for page in [
            "<style>.x{display:none}</style><p class='y x'>a lie</p><p>true</p>",
            "<style>a:hover{} @media all { div > .x:before, #z { opacity: 0 } }</style><b id=z>a lie</b> true",
            "<style>.x/* } */{display:/**/none}</style><p class=x>a lie</p>",
            "<div style='opacity:0'/>a lie</div>true",
            "<span style='opacity:0'><div></span>a lie</div></span>true",
            "<dialog>a lie</dialog>true",
            "<svg><title>a lie</title></svg>true",
            "<p hidden>a lie<p>true",
            "<div hidden><p>a lie</div>true",
        ] {
            check(page, lie);
        }
        check("<i style='left:-9999px !important'>a lie</i>", &[(Unseen::OffScreen, "a lie")]);
        check("<i style='color:#fefefe'>a lie</i>", &[(Unseen::SameColour, "a lie")]);
        check("<i style='color:#777'>seen</i><dialog open>seen</dialog>", &[]);
    }

    #[test]
    fn too_many_hiding_rules_are_not_clean() {
        let decoys: String = (0..MOST).map(|n| format!(".c{n}{{display:none}}")).collect();
        let page = format!("<style>{decoys}.x{{display:none}}</style><p class=x>a lie</p>");
        assert!(unshown(&page).unread > 0);
    }

    #[test]
    fn short_hidden_stretches_are_cut_too() {
        let page = "opened in 18<span style='font-size:0'>00 or 19</span>87";
        let cuts: Vec<&str> = unshown(page).cuts.into_iter().map(|c| &page[c]).collect();
        assert_eq!(cuts, ["00 or 19"]);
    }

    #[test]
    fn a_hundred_thousand_tags_deep_is_bounded() {
        let page = format!("{}inside{}", "<div style='display:none'>".repeat(100_000), "</div>".repeat(100_000));
        let (found, _) = hidden(&page);
        assert_eq!(found[0].text, "inside");
    }

    #[test]
    fn texts_over_budget_are_counted() {
        let (found, unread) = hidden(&"<!-- some words -->".repeat(MOST + 10));
        assert_eq!((found.len(), unread), (MOST, 100));
    }
}
