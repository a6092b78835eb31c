//! What can be read on a page, apart from what it hides.
//!
//! 1. Text that a page hides from people ([`crate::untrusted::html`]) is taken out and kept apart.
//! 2. The rest becomes plain text (`html2text`; its own reading of style sheets is not used, since a hostile one makes it
//!    run for ever), in the form in which it can be seen:
//!    invisible characters are gone, letters in disguise are plain.
//! 3. That text is cut into numbered passages, a paragraph's sentences each. Those that order their reader are
//!    withheld: no model sees them, and nothing can be cited from them.
//! 4. Links are candidates, no more.

use super::contract::content;
use super::fetch::Fetched;
use crate::canonical::mapped::mapped;
use crate::injection::{Detector, Report, SIGNALS};
use crate::provenance::{addresses, demands};
use crate::untrusted::html::outline::outline;
use crate::untrusted::html::{Hidden, HiddenBy, Unshown, unshown};
use crate::untrusted::segment::{Budget, segments};
use serde::Serialize;
use std::ops::Range;
use url::Url;

/// Elements within one another beyond which a page is not laid out, but read as running text.
const DEPTH: usize = 400;
/// Links that are kept of one page.
const LINKS: usize = 200;
/// Characters of a title or the text of a link.
const NAME: usize = 120;
/// Bytes that the detector is given at a time.
const CHUNK: usize = 4_096;
/// Passages of one page.
const PASSAGES: usize = 4_000;
/// Hidden texts that are quoted, and how much of each, in characters.
const QUOTED: (usize, usize) = (20, 200);

/// A page as it is read. All of it was written by someone else.
#[derive(Debug, Clone)]
pub struct Page {
    /// Where it came from.
    pub url: String,
    /// Its title, or its URL.
    pub title: String,
    /// What can be seen of it, in its canonical form. Spans are bytes of this text.
    pub text: String,
    /// Its passages, in order.
    pub passages: Vec<Passage>,
    /// What it hides from people: why, and the beginning of it.
    pub hidden: Vec<(String, String)>,
    /// Where it leads to: text and absolute URL.
    pub links: Vec<(String, String)>,
    /// It is longer than what was fetched.
    pub cut: bool,
    /// Bytes of its text beyond the passages that are kept.
    pub unread: usize,
}

/// A sentence of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Bytes of the page's text.
    pub span: Range<usize>,
    /// Why no model sees it, if it is withheld.
    pub withheld: Option<&'static str>,
}

/// Why a page is not read. None of it is, then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// Laying it out panicked.
    #[error("it cannot be laid out")]
    Layout,
    /// The detector cannot tell all of its encoded or hidden texts apart.
    #[error("it has more encoded or hidden texts in it than can be told apart")]
    TooManyTexts,
    /// It hides more texts than the limit.
    #[error("it hides more than can be kept apart")]
    HidesTooMuch,
}

impl Page {
    /// What a passage says.
    #[must_use]
    pub fn says(&self, passage: &Passage) -> &str {
        self.text.get(passage.span.clone()).unwrap_or_default()
    }

    /// Passages that may be read, with their numbers from 1.
    pub fn readable(&self) -> impl Iterator<Item = (usize, &Passage)> {
        self.passages.iter().enumerate().map(|(at, p)| (at + 1, p)).filter(|(_, p)| p.withheld.is_none())
    }

    /// Everything that was fetched, hidden texts too: what provenance has to know.
    #[must_use]
    pub fn everything(&self) -> String {
        let hidden: String = self.hidden.iter().map(|(_, text)| format!("\n<!-- {text} -->")).collect();
        format!("{}\n\n{}{hidden}", self.title, self.text)
    }

    /// Reads a page. `steps`: the goal asks how something is done, so that imperatives may be what is wanted.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn read(fetched: Fetched, detector: &Detector, steps: bool) -> Result<Self, PageError> {
        let laid_out = tokio::task::spawn_blocking(move || lay_out(fetched)).await;
        let mut page = laid_out.map_err(|_| PageError::Layout)??;
        // what the guard will be told of the page has to be readable as a whole, or it could allow nothing any more
        if detector.scan(&page.everything()).unread_bytes > 0 {
            return Err(PageError::TooManyTexts);
        }
        let mut barred = Vec::new();
        for chunk in chunks(&page.text) {
            let part = page.text.get(chunk.clone()).unwrap_or_default();
            let report = match detector.examine(&[part]).await.pop() {
                Some(report) => report,
                None => detector.scan(part),
            };
            if report.unread_bytes > 0 {
                return Err(PageError::TooManyTexts);
            }
            barred.extend(suspects(&report, chunk));
        }
        page.passages = passages(&page.text, &barred, steps);
        page.unread = segments(&page.text, &Budget { segments: PASSAGES, ..Budget::default() }).unread;
        if odd(&page, detector) {
            page.title.clone_from(&page.url);
        }
        Ok(page)
    }
}

/// A title that the readable text of its page does not bear out, word for word, or that orders its reader.
fn odd(page: &Page, detector: &Detector) -> bool {
    let text: String = page.readable().map(|(_, p)| format!("{} ", page.says(p))).collect();
    !content(&page.title).is_subset(&content(&text)) || demands(&page.title) || detector.scan(&page.title).flagged
}

/// Stretches of whole paragraphs, each small enough that every order in it is reported.
fn chunks(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut start) = (Vec::new(), 0);
    while start < text.len() {
        let mut end = text.floor_char_boundary((start + CHUNK).min(text.len()));
        if end < text.len() {
            end = text.get(start..end).and_then(|t| t.rfind('\n')).map_or(end, |at| start + at + 1);
        }
        let end = end.max(start + 1);
        found.push(start..end);
        start = end;
    }
    found
}

/// What the detector finds in a chunk, in bytes of the page; all of it if there is more than it reports.
fn suspects(report: &Report, chunk: Range<usize>) -> Vec<Range<usize>> {
    if report.signals.len() >= SIGNALS {
        return vec![chunk];
    }
    let strong = report.signals.iter().filter(|s| s.score >= report.threshold || s.covert);
    strong.map(|s| s.span.start + chunk.start..s.span.end + chunk.start).collect()
}

fn lay_out(fetched: Fetched) -> Result<Page, PageError> {
    let Fetched { url, kind, text: source, cut } = fetched;
    let base = Url::parse(&url).ok();
    let mut page = Page {
        url,
        cut,
        title: String::new(),
        text: String::new(),
        passages: Vec::new(),
        hidden: Vec::new(),
        links: Vec::new(),
        unread: 0,
    };
    let text = if kind.contains("html") {
        let Unshown { texts, unread, mut cuts } = unshown(&source);
        if unread > 0 {
            return Err(PageError::HidesTooMuch);
        }
        page.hidden = (texts.iter().filter(|h| h.why != HiddenBy::Attribute).take(QUOTED.0))
            .map(|h| (why(h.why).to_owned(), short(&h.text, QUOTED.1)))
            .collect();
        cuts.extend(texts.iter().filter(|h| replaced(&source, h)).map(|h| h.span.clone()));
        let seen = without(&source, cuts);
        let outline = outline(&seen);
        page.title = short(&mapped(&outline.title).0.text, NAME);
        page.links = links(outline.links, base.as_ref());
        if outline.depth > DEPTH { outline.text } else { rendered(&seen).unwrap_or(outline.text) }
    } else {
        source
    };
    page.text = mapped(&text).0.text.into_owned();
    if page.title.is_empty() {
        page.title.clone_from(&page.url);
    }
    Ok(page)
}

/// An attribute of an element that is nothing but its attributes, such as a picture.
fn replaced(source: &str, hidden: &Hidden) -> bool {
    let tag = source.get(hidden.span.clone()).unwrap_or_default().to_ascii_lowercase();
    hidden.why == HiddenBy::Attribute && ["<img", "<meta", "<input", "<area"].iter().any(|name| tag.starts_with(name))
}

fn without(source: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_by_key(|s| s.start);
    let (mut kept, mut at) = (String::with_capacity(source.len()), 0);
    for span in spans {
        kept.push_str(source.get(at..span.start.max(at)).unwrap_or_default());
        at = at.max(span.end);
    }
    kept.push_str(source.get(at..).unwrap_or_default());
    kept
}

/// Plain text, one paragraph a line.
fn rendered(source: &str) -> Option<String> {
    let lay_out = || {
        html2text::config::plain_no_decorate()
            .link_footnotes(false)
            .raw_mode(true)
            .no_link_wrapping()
            .allow_width_overflow()
            .string_from_read(source.as_bytes(), 1_000_000)
            .ok()
    };
    // deep pages use up the stack, odd ones may make the library panic
    let guarded = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(lay_out)).ok().flatten();
    stacker::maybe_grow(1 << 20, 64 << 20, guarded)
}

/// The links of a page to other pages: text and absolute URL.
fn links(links: Vec<(String, String)>, base: Option<&Url>) -> Vec<(String, String)> {
    let absolute = |(text, target): (String, String)| {
        let url = without_fragment(base?.join(target.trim()).ok()?);
        url.starts_with("http").then(|| (short(&text, NAME), url))
    };
    links.into_iter().filter_map(absolute).take(LINKS).collect()
}

fn without_fragment(mut url: Url) -> String {
    url.set_fragment(None);
    url.to_string()
}

/// The passages of a text. What orders its reader is withheld, with the rest of its paragraph if the detector says so,
/// and with the paragraph after it where the order ends in a colon.
fn passages(text: &str, suspects: &[Range<usize>], steps: bool) -> Vec<Passage> {
    let cut = segments(text, &Budget { segments: PASSAGES, ..Budget::default() });
    let paragraph = |at: usize| {
        let start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |p| p + 1);
        let end = text.get(at..).and_then(|t| t.find('\n')).map_or(text.len(), |p| at + p);
        start..end
    };
    let asks = |sentence: &str| if steps { addresses(sentence) } else { demands(sentence) };
    let orders = cut.kept.iter().filter(|s| asks(text.get((*s).clone()).unwrap_or_default())).cloned();
    let mut barred: Vec<Range<usize>> = Vec::new();
    for (span, whole) in suspects.iter().cloned().map(|s| (s, true)).chain(orders.map(|s| (s, false))) {
        let mut bar = if whole { paragraph(span.start).start..paragraph(span.end).end } else { span };
        if text.get(bar.clone()).is_some_and(|t| t.trim_end().ends_with(':')) {
            let rest = text.get(bar.end..).unwrap_or_default();
            let next = bar.end + rest.len() - rest.trim_start().len();
            bar.end = paragraph(next).end;
        }
        barred.push(bar);
    }
    // merged, so that each passage is looked up and not compared with all
    barred.sort_by_key(|b| b.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for bar in barred {
        match merged.last_mut() {
            Some(last) if bar.start <= last.end => last.end = last.end.max(bar.end),
            _ => merged.push(bar),
        }
    }
    let covered = |span: &Range<usize>| {
        let after = merged.partition_point(|b| b.start < span.end);
        after.checked_sub(1).and_then(|at| merged.get(at)).is_some_and(|b| span.start < b.end)
    };
    let mut found: Vec<Passage> = Vec::new();
    for mut span in cut.kept {
        // the layout marks headings and items
        let marks = text.get(span.clone()).map_or(0, |t| t.len() - t.trim_start_matches(['#', '*', '>', ' ']).len());
        span.start += marks;
        let withheld = covered(&span).then_some("it tells its reader what to do");
        found.push(Passage { span, withheld });
    }
    found
}

fn why(why: HiddenBy) -> &'static str {
    match why {
        HiddenBy::Comment => "a comment",
        HiddenBy::Attribute => "an attribute",
        HiddenBy::Invisible => "invisible",
        HiddenBy::OffScreen => "outside the window",
        HiddenBy::SameColour => "in the colour of its background",
        HiddenBy::ZeroSize => "without a size",
    }
}

/// One line, at most `most` characters, nothing that a terminal would obey.
pub(super) fn short(text: &str, most: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().filter(|c| !c.is_control()));
        if words.len() > most * 4 {
            break;
        }
    }
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}
