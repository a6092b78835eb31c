//! What can be read on a page, apart from what it hides.
//!
//! 1. Text that a page hides from people ([`crate::untrusted::html`]) is taken out and kept apart.
//! 2. The rest becomes plain text (`html2text`, style sheets included), in the form in which it can be seen:
//!    invisible characters are gone, letters in disguise are plain.
//! 3. That text is cut into numbered passages, a paragraph's sentences each. Those that order their reader are
//!    withheld: no model sees them, and nothing can be cited from them.
//! 4. Links are candidates, no more.

use super::fetch::Fetched;
use crate::canonical::mapped::mapped;
use crate::injection::{Detector, RULES_THRESHOLD, Report};
use crate::provenance::demands;
use crate::untrusted::html::{Unseen, hidden};
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
}

/// A sentence of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Bytes of the page's text.
    pub span: Range<usize>,
    /// Why no model sees it, if it is withheld.
    pub withheld: Option<&'static str>,
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
    pub async fn read(fetched: Fetched, detector: &Detector, steps: bool) -> Self {
        let laid_out = tokio::task::spawn_blocking(move || lay_out(fetched)).await;
        let Ok(mut page) = laid_out else { return Self::empty() };
        let report = match detector.examine(&[page.text.as_str()]).await.pop() {
            Some(report) => report,
            None => detector.scan(&page.text),
        };
        page.passages = passages(&page.text, &report, steps);
        page
    }

    fn empty() -> Self {
        let (url, title, text) = (String::new(), String::new(), String::new());
        Self { url, title, text, passages: Vec::new(), hidden: Vec::new(), links: Vec::new(), cut: false }
    }
}

fn lay_out(fetched: Fetched) -> Page {
    let Fetched { url, kind, text: source, cut } = fetched;
    let base = Url::parse(&url).ok();
    let mut page = Page { url, cut, ..Page::empty() };
    let text = if kind.contains("html") {
        let (found, unread) = hidden(&source);
        page.hidden =
            (found.iter().take(QUOTED.0)).map(|h| (why(h.why).to_owned(), short(&h.text, QUOTED.1))).collect();
        if unread > 0 {
            page.hidden.push(("over the limit".to_owned(), format!("{unread} bytes of hidden text")));
        }
        let seen = without(&source, found.iter().filter(|h| leaves(&source, h.why, &h.span)).map(|h| h.span.clone()));
        let walked = walk(&seen, base.as_ref());
        page.title = short(&walked.title, NAME);
        page.links = walked.links;
        if walked.depth > DEPTH { walked.running } else { rendered(&seen).unwrap_or(walked.running) }
    } else {
        source
    };
    page.text = mapped(&text).0.text.into_owned();
    if page.title.is_empty() {
        page.title.clone_from(&page.url);
    }
    page
}

/// Whether a hidden text, or the tag that carries it, can be left out without changing anything else.
fn leaves(source: &str, why: Unseen, span: &Range<usize>) -> bool {
    let tag = source.get(span.clone()).unwrap_or_default().to_ascii_lowercase();
    match why {
        Unseen::Attribute => ["<img", "<meta", "<input", "<area"].iter().any(|name| tag.starts_with(name)),
        _ => true,
    }
}

fn without(source: &str, spans: impl Iterator<Item = Range<usize>>) -> String {
    let mut spans: Vec<Range<usize>> = spans.collect();
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
            .use_doc_css()
            .string_from_read(source.as_bytes(), 1_000_000)
            .ok()
    };
    // deep pages use up the stack, odd ones may make the library panic
    let guarded = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(lay_out)).ok().flatten();
    stacker::maybe_grow(1 << 20, 64 << 20, guarded)
}

#[derive(Default)]
struct Walked {
    title: String,
    links: Vec<(String, String)>,
    running: String,
    depth: usize,
}

/// Title, links, depth and running text, token by token.
fn walk(source: &str, base: Option<&Url>) -> Walked {
    use html5gum::{DefaultEmitter, Token, Tokenizer};
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut done = Walked::default();
    let (mut depth, mut in_title, mut silent) = (0_usize, false, false);
    let mut link: Option<(String, String)> = None;
    for token in Tokenizer::new_with_emitter(source, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                depth += usize::from(!tag.self_closing);
                done.depth = done.depth.max(depth);
                match tag.name.as_slice() {
                    b"title" => in_title = true,
                    b"script" | b"style" | b"template" => silent = true,
                    b"a" => {
                        let href = tag.attributes.iter().find(|(name, _)| name.as_slice() == b"href");
                        let href = href.map(|(_, value)| String::from_utf8_lossy(&value.value).into_owned());
                        let target = href.and_then(|h| base.and_then(|b| b.join(h.trim()).ok()));
                        link = target.map(|url| (String::new(), without_fragment(url)));
                    }
                    b"p" | b"br" | b"div" | b"li" | b"tr" => done.running.push('\n'),
                    _ => {}
                }
            }
            Token::EndTag(tag) => {
                depth = depth.saturating_sub(1);
                match tag.name.as_slice() {
                    b"title" => in_title = false,
                    b"script" | b"style" | b"template" => silent = false,
                    b"a" => {
                        let fit = |l: &(String, String)| l.1.starts_with("http") && done.links.len() < LINKS;
                        done.links.extend(link.take().filter(fit).map(|(text, url)| (short(&text, NAME), url)));
                    }
                    _ => {}
                }
            }
            Token::String(text) if !silent => {
                let text = String::from_utf8_lossy(&text);
                if in_title {
                    done.title.push_str(&text);
                } else {
                    done.running.push_str(&text);
                }
                if let Some((name, _)) = &mut link {
                    name.push_str(&text);
                }
            }
            _ => {}
        }
    }
    done
}

fn without_fragment(mut url: Url) -> String {
    url.set_fragment(None);
    url.to_string()
}

/// The passages of a text. What orders its reader is withheld, with the rest of its paragraph if the detector says so,
/// and with the paragraph after it where the order ends in a colon.
fn passages(text: &str, report: &Report, steps: bool) -> Vec<Passage> {
    let cut = segments(text, &Budget { segments: PASSAGES, ..Budget::default() });
    let paragraph = |at: usize| {
        let start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |p| p + 1);
        let end = text.get(at..).and_then(|t| t.find('\n')).map_or(text.len(), |p| at + p);
        start..end
    };
    let mut barred: Vec<Range<usize>> = Vec::new();
    let strong = report.signals.iter().filter(|s| s.score >= RULES_THRESHOLD || s.covert).map(|s| s.span.clone());
    let orders = cut.kept.iter().filter(|s| !steps && demands(text.get((*s).clone()).unwrap_or_default())).cloned();
    for (span, whole) in strong.map(|s| (s, true)).chain(orders.map(|s| (s, false))) {
        let mut bar = if whole { paragraph(span.start) } else { span };
        if text.get(bar.clone()).is_some_and(|t| t.trim_end().ends_with(':')) {
            let rest = text.get(bar.end..).unwrap_or_default();
            let next = bar.end + rest.len() - rest.trim_start().len();
            bar.end = paragraph(next).end;
        }
        barred.push(bar);
    }
    let covered = |span: &Range<usize>| barred.iter().any(|b| b.start < span.end && span.start < b.end);
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

fn why(why: Unseen) -> &'static str {
    match why {
        Unseen::Comment => "a comment",
        Unseen::Attribute => "an attribute",
        Unseen::Invisible => "invisible",
        Unseen::OffScreen => "outside the window",
        Unseen::SameColour => "in the colour of its background",
        Unseen::ZeroSize => "without a size",
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
