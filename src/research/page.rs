//! Separates the readable text of a page from its hidden text.
//!
//! 1. Text that is hidden from human readers ([`crate::untrusted::html`]) is removed and kept separately.
//! 2. `html2text` converts the rest to plain text, which is then brought into canonical form: without invisible
//!    characters, and with plain letters in place of homoglyphs. The style sheet support of `html2text` is not used,
//!    because a hostile style sheet makes it run forever.
//! 3. The text is cut into numbered passages, the sentences of its paragraphs. Passages that give instructions to their
//!    reader are withheld: no model sees them, and no claim can cite them.
//! 4. Links are only candidates for further reading.

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

/// Maximum nesting depth of a page that is laid out; a deeper page is read as running text.
const DEPTH: usize = 400;
/// Maximum number of links that are kept of one page.
const LINKS: usize = 200;
/// Maximum length of a title or of the text of a link, in characters.
const NAME: usize = 120;
/// Maximum size of a text that the detector examines at a time, in bytes.
const CHUNK: usize = 4_096;
/// Maximum number of passages of one page.
const PASSAGES: usize = 4_000;
/// Maximum number of hidden texts that are quoted, and maximum length of each quotation, in characters.
const QUOTED: (usize, usize) = (20, 200);

/// An analysed page. All of its content is untrusted.
#[derive(Debug, Clone)]
pub struct Page {
    /// URL of the page, after redirects.
    pub url: String,
    /// Title of the page, or its URL if the title is missing or suspicious.
    pub title: String,
    /// Visible text in canonical form. Spans are byte ranges of this text.
    pub text: String,
    /// Passages in the order of the text.
    pub passages: Vec<Passage>,
    /// Hidden texts: how each is hidden, and its beginning.
    pub hidden: Vec<(String, String)>,
    /// Links: text and absolute URL.
    pub links: Vec<(String, String)>,
    /// Whether the page exceeds the size limit and was cut.
    pub cut: bool,
    /// Bytes at the end of the text beyond the maximum number of passages.
    pub unread: usize,
}

/// A passage of a page: one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Byte range of [`Page::text`].
    pub span: Range<usize>,
    /// Reason for withholding the passage from every model; `None` if it is not withheld.
    pub withheld: Option<&'static str>,
}

/// Reason for rejecting a whole page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The layout panicked.
    #[error("it cannot be laid out")]
    Layout,
    /// The page has more encoded or hidden texts than the detector can analyse.
    #[error("it has more encoded or hidden texts in it than can be told apart")]
    TooManyTexts,
    /// The page has more hidden text than the limit.
    #[error("it hides more than can be kept apart")]
    HidesTooMuch,
}

impl Page {
    /// The text of a passage.
    #[must_use]
    pub fn says(&self, passage: &Passage) -> &str {
        self.text.get(passage.span.clone()).unwrap_or_default()
    }

    /// The passages that are not withheld, with their numbers from 1.
    pub fn readable(&self) -> impl Iterator<Item = (usize, &Passage)> {
        self.passages.iter().enumerate().map(|(at, p)| (at + 1, p)).filter(|(_, p)| p.withheld.is_none())
    }

    /// Title, text and hidden texts: the observation for the provenance check.
    #[must_use]
    pub fn everything(&self) -> String {
        let hidden: String = self.hidden.iter().map(|(_, text)| format!("\n<!-- {text} -->")).collect();
        format!("{}\n\n{}{hidden}", self.title, self.text)
    }

    /// Analyses a fetched page. `steps`: whether the goal asks for instructions, so that imperatives are expected.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn from_fetched(fetched: Fetched, detector: &Detector, steps: bool) -> Result<Self, PageError> {
        let laid_out = tokio::task::spawn_blocking(move || lay_out(fetched)).await;
        let mut page = laid_out.map_err(|_| PageError::Layout)??;
        // if the guard could not analyse the whole observation of this page, it would allow no further action
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

/// Whether a title has a content word that the readable text lacks, or gives instructions to its reader.
fn odd(page: &Page, detector: &Detector) -> bool {
    let text: String = page.readable().map(|(_, p)| format!("{} ", page.says(p))).collect();
    !content(&page.title).is_subset(&content(&text)) || demands(&page.title) || detector.scan(&page.title).flagged
}

/// Cuts a text into chunks, if possible of whole paragraphs, so small that the detector reports every instruction.
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

/// The detector's findings in a chunk, as byte ranges of the page's text; the whole chunk if the detector reached its
/// maximum number of signals.
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

/// Whether a hidden text is an attribute of an element without content, such as an image.
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

/// Converts HTML to plain text, one paragraph per line.
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
    // deep pages exhaust the stack, and unusual pages can make the library panic
    let guarded = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(lay_out)).ok().flatten();
    stacker::maybe_grow(1 << 20, 64 << 20, guarded)
}

/// The HTTP links of a page: text and absolute URL.
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

/// Cuts a text into passages and withholds instructions to its reader. A finding of the detector (`suspects`) withholds
/// its whole paragraph. After an instruction that ends in a colon, the rest of its paragraph is withheld, too, or the
/// next paragraph if there is no rest.
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
    // merged, so that a binary search suffices for each passage
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
        // the layout puts marks before headings, list items and quotations
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

/// Shortens a text to one line of at most `most` characters, without control characters that a terminal would obey.
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
