//! Whether the user's request or only what was read explains an action.

use super::claim::Claim;
use super::demand::delegates;
use super::pieces::pieces;
use super::read::{Piece, Seen};
use super::spans::{Words, holds, identifying, named, plain, stems};
use crate::embed::{EmbedError, Embedder, similarity};
use std::collections::BTreeSet;

/// How much better what was read has to explain an action than the request does, in cosine.
const MARGIN: f32 = 0.1;
/// What explains an action is at least this similar to it, in cosine.
const FLOOR: f32 = 0.3;
/// The same where the request leaves it to a text what is to be done.
const DELEGATED: f32 = 0.35;
/// How much it counts, in cosine, that all values stand in one and none in the other.
const VALUES: f32 = 0.1;
/// Pieces of what was read, and of the request, that are compared by meaning.
const COMPARED: (usize, usize) = (4, 2);

/// Pieces that are looked at between two looks at the time.
const AT_ONCE: usize = 256;

/// How an action stands to the request and to what was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stand {
    /// Nothing that was read asks for anything.
    Free,
    /// The request explains it at least as well as what was read.
    Explained { request: f32, read: f32 },
    /// Only what was read explains this value.
    Tainted { value: String, quote: Piece, delegated: bool },
    /// What was read explains it better than the request.
    Swayed { request: f32, read: f32, quote: Piece },
    /// The request is not known, or does not explain what is typed, and something that was read asks for things.
    Open { why: &'static str, quote: Piece },
}

/// Weighs an action. Without an embedder, meanings are compared by their words.
pub(super) async fn weigh(
    claim: &Claim,
    request: &str,
    seen: &Seen,
    embedder: Option<&dyn Embedder>,
) -> Result<Stand, EmbedError> {
    let Some(first) = seen.orders().next() else { return Ok(Stand::Free) };
    let asked = plain(request);
    let delegated = delegates(request);
    if let Some((value, quote)) = tainted(claim, &asked, seen).await {
        return Ok(Stand::Tainted { value, quote, delegated: delegated && claim.reads });
    }
    if asked.is_empty() {
        return Ok(Stand::Open { why: "what the user asked for is not known", quote: first.clone() });
    }
    if claim.typed {
        return typed(claim, request, seen, embedder).await;
    }
    if claim.description.is_empty() {
        // nothing tainted was found, which explains nothing
        return Ok(Stand::Free);
    }
    let near: Vec<&Piece> = seen.pieces.iter().filter(|p| p.near).collect();
    let near = likeliest(&claim.description, near, |p| &p.text, COMPARED.0);
    let mut ours = vec![request];
    ours.extend(likeliest(&claim.description, pieces(request), |p| p, COMPARED.1));
    let theirs: Vec<&str> = near.iter().map(|p| p.text.as_str()).collect();
    let by_request = best(&claim.description, &ours, embedder).await?.1;
    let (place, by_read) = best(&claim.description, &theirs, embedder).await?;
    let said: String = seen.pieces.iter().filter(|p| p.object).flat_map(|p| [p.plain.as_str(), "\n"]).collect();
    let bonus = VALUES * (share(claim, &said).await - share(claim, &asked).await);
    let floor = if delegated { DELEGATED } else { FLOOR };
    Ok(match near.get(place) {
        Some(quote) if by_read > floor && by_read - by_request + bonus > MARGIN => {
            Stand::Swayed { request: by_request, read: by_read, quote: (*quote).clone() }
        }
        _ if claim.values.is_empty() && specific(request) => {
            Stand::Open { why: "the call carries nothing of what the request names", quote: first.clone() }
        }
        _ => Stand::Explained { request: by_request, read: by_read },
    })
}

/// The request names one thing: in quotation marks, or by an address, a path or a number.
fn specific(request: &str) -> bool {
    let quoted = |mark: char| request.matches(mark).count() >= 2;
    let marks = |c: char| ",;!?()'\"".contains(c);
    let code = |word: &str| {
        word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(char::is_alphabetic) && word.len() >= 6
    };
    quoted('"')
        || quoted('\'')
        || request
            .split_whitespace()
            .map(|w| w.trim_matches(marks))
            .any(|w| code(w) || identifying(w.trim_end_matches('.')))
}

/// A value that names one thing, that stands by an order, and neither in the request nor in what else was read.
async fn tainted(claim: &Claim, asked: &str, seen: &Seen) -> Option<(String, Piece)> {
    let verbatim = (claim.verbatim.len() >= 5).then_some(&claim.verbatim);
    for value in claim.named.iter().chain(verbatim) {
        if holds(asked, value) || (claim.reads && named(asked, value)) {
            continue;
        }
        // a deadline can only pass where something waits
        tokio::task::yield_now().await;
        let mut ordered = None;
        let mut elsewhere = false;
        for piece in &seen.pieces {
            if holds(&piece.plain, value) {
                elsewhere |= !piece.object;
                ordered = ordered.or_else(|| piece.object.then(|| piece.clone()));
            }
        }
        if let Some(quote) = ordered.filter(|_| !elsewhere) {
            return Some((value.clone(), quote));
        }
    }
    None
}

/// What is typed into a page: words of the request, something near it in meaning, or something that a text wants.
async fn typed(
    claim: &Claim,
    request: &str,
    seen: &Seen,
    embedder: Option<&dyn Embedder>,
) -> Result<Stand, EmbedError> {
    let asked = stems(request);
    let own = stems(&claim.description);
    let explained = |read: f32| Stand::Explained { request: 1.0, read };
    if !own.is_empty() && own.iter().all(|stem| asked.contains(stem)) {
        return Ok(explained(0.0));
    }
    // a page that gives orders is not believed in the rest either
    for some in seen.pieces.chunks(AT_ONCE) {
        tokio::task::yield_now().await;
        let holder = some.iter().find(|piece| {
            let said = stems(&piece.text);
            own.iter().all(|stem| said.contains(stem))
        });
        if let Some(quote) = holder {
            return Ok(Stand::Swayed { request: 0.0, read: 1.0, quote: quote.clone() });
        }
    }
    if own.iter().any(|stem| asked.contains(stem)) {
        return Ok(explained(0.0));
    }
    let near = best(&claim.description, &[request], embedder).await?.1;
    let first = seen.orders().next();
    Ok(match first {
        Some(quote) if near < FLOOR => {
            Stand::Open { why: "the request does not explain what is typed", quote: quote.clone() }
        }
        _ => explained(near),
    })
}

/// The share of the values that stand in a text.
async fn share(claim: &Claim, text: &str) -> f32 {
    let mut found = 0;
    for value in &claim.values {
        tokio::task::yield_now().await;
        found += usize::from(holds(text, value));
    }
    let count = |n: usize| f32::from(u16::try_from(n).unwrap_or(u16::MAX));
    count(found) / count(claim.values.len().max(1))
}

/// The texts that share most words with a description.
fn likeliest<T>(description: &str, texts: Vec<T>, text: impl Fn(&T) -> &str, most: usize) -> Vec<T> {
    let wanted = stems(description);
    let mut ranked: Vec<(f64, T)> = texts.into_iter().map(|t| (overlap(&wanted, text(&t)), t)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(most);
    ranked.into_iter().map(|(_, t)| t).collect()
}

fn overlap(wanted: &BTreeSet<String>, text: &str) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let (all, shared) = Words::of(text).overlap(wanted);
    count(shared) / (3.0 + count(all).sqrt())
}

/// The text nearest in meaning and how near it is.
async fn best(description: &str, texts: &[&str], embedder: Option<&dyn Embedder>) -> Result<(usize, f32), EmbedError> {
    let scores: Vec<f32> = match embedder {
        Some(embedder) => {
            let all: Vec<&str> = std::iter::once(description).chain(texts.iter().copied()).collect();
            let vectors = embedder.embed(&all).await?;
            let Some((own, others)) = vectors.split_first() else { return Ok((0, 0.0)) };
            others.iter().map(|vector| similarity(own, vector)).collect()
        }
        None => texts.iter().map(|text| common(description, text)).collect(),
    };
    let best = scores.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    Ok(best.unwrap_or((0, 0.0)))
}

/// The cosine of two texts as sets of words.
fn common(a: &str, b: &str) -> f32 {
    let (a, b) = (stems(a), stems(b));
    let count = |n: usize| f32::from(u16::try_from(n).unwrap_or(u16::MAX));
    count(a.intersection(&b).count()) / (count(a.len()) * count(b.len())).sqrt().max(1.0)
}
